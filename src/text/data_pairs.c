/* Pairs of lines, from files or made up; see data.h. */
#include "text/data_kinds.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "text/tasks.h"

#include <stdlib.h>

/* The text of both corpora. */
typedef struct texts {
    att_pair_text train, valid; /* valid is empty where pairs are held out of train */
    bool held;
} texts;

/* ---- getting the text */

static att_status make_texts(texts *out, const att_settings *settings, att_error *err)
{
    out->train.both.name = "training strings";
    out->valid.both.name = "validation strings";
    return att_task_make(&out->train.both.text, &out->valid.both.text, settings, err);
}

static att_status load_texts(texts *out, const att_settings *settings, att_error *err)
{
    const att_pair_files train = { settings->train, settings->source, settings->target,
                                   settings->align };
    const att_pair_files valid = { settings->valid, settings->valid_source, settings->valid_target,
                                   NULL };
    if (!train.both && !(train.source && train.target))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "there is nothing to train on: give train, or source and target");
    ATT_TRY(att_pair_text_load(&out->train, &train, err));
    out->held = !valid.both && !valid.source;
    return out->held ? ATT_OK : att_pair_text_load(&out->valid, &valid, err);
}

static const char *name_of(const att_pair_text *text)
{
    return text->both.name ? text->both.name : text->source.name;
}

/* ---- reading it */

/* Closes both, and the corpus that was read with them. With subwords the corpus is read again: only
 * then is it known how many tokens a line has. */
static att_status close_vocabularies(att_data *out, const att_settings *settings, bool *again,
                                     att_error *err)
{
    int32_t *source = NULL, *target = NULL;
    bool joint = out->source_words == out->target_words;
    att_status status = att_data_close_words(out->source_words, &source, settings, err);
    if (status == ATT_OK && !joint)
        status = att_data_close_words(out->target_words, &target, settings, err);
    *again = !source || !(joint || target);
    if (status == ATT_OK && !*again)
        att_corpus_close(&out->train, source, joint ? source : target);
    att_free(source);
    att_free(target);
    return status;
}

static const char *noun(const att_pair_reading *reading)
{
    return reading->labels ? "sentences" : "pairs";
}

static att_status refuse_empty(const att_corpus *corpus, const att_pair_reading *reading,
                               const char *name, const char *what, att_error *err)
{
    if (corpus->pairs > 0)
        return ATT_OK;
    if (corpus->facts.lines == 0)
        return att_fail(err, ATT_BAD_INPUT, name, "has no %s to %s on", noun(reading), what);
    return att_fail(err, ATT_BAD_INPUT, name,
                    "has no %s to %s on: all %lld lines have an empty side or more tokens than "
                    "max-length",
                    noun(reading), what, (long long)corpus->facts.lines);
}

static att_pair_reading reading_of(const texts *from, const att_settings *settings,
                                   att_vocab *source, att_vocab *target)
{
    bool made = !att_settings_from_files(settings);
    return (att_pair_reading){ .source = source,
                               .target = target,
                               .max_length = made ? 0 : settings->max_length,
                               .hold_out = from->held ? settings->hold_out : 0,
                               .seed = (uint64_t)settings->data_seed,
                               .labels = att_settings_kind(settings) == ATT_KIND_LABEL };
}

static att_status read_train(att_data *out, const texts *from, const att_settings *settings,
                             att_error *err)
{
    att_pair_reading how = reading_of(from, settings, out->source_words, out->target_words);
    how.count = true;
    ATT_TRY(att_corpus_read(&out->train, &from->train, &how, err));
    ATT_TRY(refuse_empty(&out->train, &how, name_of(&from->train), "train", err));
    bool again;
    ATT_TRY(close_vocabularies(out, settings, &again, err));
    if (!again)
        return ATT_OK;
    att_corpus_free(&out->train);
    how.count = false;
    ATT_TRY(att_corpus_read(&out->train, &from->train, &how, err));
    return refuse_empty(&out->train, &how, name_of(&from->train), "train", err);
}

static att_status read_valid(att_corpus *out, const texts *from, const att_settings *settings,
                             att_vocab *source, att_vocab *target, bool keep_text, att_error *err)
{
    att_pair_reading how = reading_of(from, settings, source, target);
    how.keep_text = keep_text;
    how.held = from->held;
    const att_pair_text *valid = from->held ? &from->train : &from->valid;
    ATT_TRY(att_corpus_read(out, valid, &how, err));
    if (from->held && out->facts.lines == 0)
        return att_fail(err, ATT_BAD_INPUT, name_of(valid),
                        "is too small to hold %s out of: hold-out %g left none; give valid",
                        noun(&how), settings->hold_out);
    return refuse_empty(out, &how, name_of(valid), "validate", err);
}

/* ---- what both corpora share */

static uint64_t hash_source(const att_corpus *corpus, int64_t pair)
{
    int64_t length;
    const int32_t *ids = att_side_get(&corpus->source, pair, &length);
    return att_hash(ids, (size_t)length * sizeof *ids);
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* By hash alone: two sources in 2^64 taken for one would not spoil a figure of a report. */
static att_status count_seen(att_data *data, att_error *err)
{
    const att_corpus *train = &data->train, *valid = &data->valid;
    uint64_t *hashes = att_alloc((size_t)train->pairs, sizeof *hashes);
    if (!hashes)
        return att_fail_memory(err);
    for (int64_t p = 0; p < train->pairs; p++)
        hashes[p] = hash_source(train, p);
    qsort(hashes, (size_t)train->pairs, sizeof *hashes, by_value);
    for (int64_t p = 0; p < valid->pairs; p++) {
        uint64_t wanted = hash_source(valid, p);
        data->seen_source +=
            bsearch(&wanted, hashes, (size_t)train->pairs, sizeof wanted, by_value) != NULL;
    }
    att_free(hashes);
    return ATT_OK;
}

/* ---- all of it */

static att_status get_texts(texts *out, const att_settings *settings, att_error *err)
{
    return att_settings_from_files(settings) ? load_texts(out, settings, err)
                                             : make_texts(out, settings, err);
}

static void free_texts(texts *from)
{
    att_pair_text_free(&from->train);
    att_pair_text_free(&from->valid);
}

static att_status load(att_data *out, texts *from, const att_settings *settings, att_error *err)
{
    bool lower = settings->lower, labels = out->kind == ATT_KIND_LABEL;
    ATT_TRY(att_vocab_new(&out->source_words, (att_tokens)settings->source_tokens, lower, err));
    if (settings->joint)
        out->target_words = out->source_words;
    else
        ATT_TRY(att_vocab_new(&out->target_words, (att_tokens)settings->target_tokens,
                              lower && !labels, err));
    ATT_TRY(get_texts(from, settings, err));
    ATT_TRY(read_train(out, from, settings, err));
    bool keep_text = settings->best_by == ATT_BEST_BY_BLEU;
    ATT_TRY(read_valid(&out->valid, from, settings, out->source_words, out->target_words, keep_text,
                       err));
    out->held_out = from->held ? out->valid.pairs : 0;
    return count_seen(out, err);
}

static att_status load_pairs(att_data *out, const att_settings *settings, att_error *err)
{
    texts from = { 0 };
    att_status status = load(out, &from, settings, err);
    free_texts(&from);
    return status;
}

/* Those of one file. A reading that does not count leaves vocabularies as they are. */
static att_status read_file(att_corpus *out, const att_data_reading *how, att_error *err)
{
    const att_pair_reading reading = { .source = (att_vocab *)(uintptr_t)how->source,
                                       .target = (att_vocab *)(uintptr_t)how->target,
                                       .keep_text = how->keep_text,
                                       .labels =
                                           att_settings_kind(how->settings) == ATT_KIND_LABEL };
    const att_pair_files files = { .both = how->path };
    att_pair_text text = { 0 };
    att_status status = att_pair_text_load(&text, &files, err);
    if (status == ATT_OK)
        status = att_corpus_read(out, &text, &reading, err);
    if (status == ATT_OK && out->pairs == 0)
        status = att_fail(err, ATT_BAD_INPUT, how->path, "has no %s to measure on", noun(&reading));
    att_pair_text_free(&text);
    return status;
}

static att_status read_pairs(att_corpus *out, const att_data_reading *how, att_error *err)
{
    if (how->path)
        return read_file(out, how, err);
    texts from = { 0 };
    att_status status = get_texts(&from, how->settings, err);
    if (status == ATT_OK)
        status = read_valid(out, &from, how->settings, (att_vocab *)(uintptr_t)how->source,
                            (att_vocab *)(uintptr_t)how->target, how->keep_text, err);
    free_texts(&from);
    return status;
}

static att_status batch_pairs(att_batches **out, const att_corpus *corpus,
                              const att_settings *settings, int64_t tokens, uint64_t seed,
                              att_error *err)
{
    (void)settings;
    return att_batches_new(out, corpus, tokens, seed, err);
}

/* ---- labels: pairs whose targets are one of a list */

static att_status load_labels(att_data *out, const att_settings *settings, att_error *err)
{
    ATT_TRY(load_pairs(out, settings, err));
    int32_t labels = att_vocab_size(out->target_words) - ATT_ID_FIRST;
    if (labels > 1)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, settings->train ? settings->train : settings->target,
                    "has but one label, '%s': there is nothing to tell apart",
                    att_vocab_word(out->target_words, ATT_ID_FIRST));
}

const att_data_kind att_data_of_labels = {
    .load = load_labels,
    .read = read_pairs,
    .batches = batch_pairs,
    .report = att_labels_report,
};

const att_data_kind att_data_of_pairs = {
    .load = load_pairs,
    .read = read_pairs,
    .batches = batch_pairs,
    .report = att_pairs_report,
};
