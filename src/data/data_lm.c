/* Data of language models: a text. Nothing of it is dropped: its tokens, which include spaces and
 * line ends, decode to the same text. */
#include "data/data_loaders.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/string.h"
#include "data/batch_lm.h"
#include "text/pretokenizer.h"
#include "text/utf8.h"

#include <inttypes.h>
#include <string.h>

#define UTF8_BOM "\xEF\xBB\xBF"

/* A part of a text file. */
typedef struct text_slice {
    const char *name, *text;
    size_t length;
    bool has_bom; /* there was a byte order mark, which is not part of `text` */
} text_slice;

/* ---- parts of a text */

static text_slice whole_text(const struct att_text_file *file, att_tokenizer_kind tokens)
{
    text_slice all = { .name = file->name, .text = file->text.data, .length = file->text.length };
    size_t mark = strlen(UTF8_BOM);
    all.has_bom =
        tokens != ATT_TOKENIZER_BYTE && all.length >= mark && memcmp(all.text, UTF8_BOM, mark) == 0;
    if (all.has_bom) {
        all.text += mark;
        all.length -= mark;
    }
    return all;
}

/* Splits the end off a text, at a line end if there is one within 1 % of the length. */
static text_slice split_off_end(text_slice *all, const att_settings *settings)
{
    double fraction = att_data_valid_part(settings);
    size_t at = all->length - (size_t)((double)all->length * fraction);
    const char *end = at < all->length ? memchr(all->text + at, '\n', all->length - at) : NULL;
    size_t near = all->length / 100 + 1;
    if (end && (size_t)(end - all->text) - at <= near)
        at = (size_t)(end - all->text) + 1;
    while (at < all->length && ((unsigned char)all->text[at] & 0xC0) == 0x80)
        at++; /* not inside a character */
    text_slice rest = { .name = all->name, .text = all->text + at, .length = all->length - at };
    if (settings->valid_fraction > 0)
        all->length = at;
    return rest;
}

/* ---- reading */

/* Refuses text that is not UTF-8 and names the line and the byte. */
static att_status check_text(const text_slice *from, att_error *err)
{
    size_t good = att_line_valid_prefix(from->text, from->length);
    if (good == from->length)
        return ATT_OK;
    int line = 1;
    for (size_t i = 0; i < good; i++)
        line += from->text[i] == '\n';
    return att_fail_at(err, ATT_BAD_INPUT, from->name, line, 0, NULL,
                       "byte %zu of the file, 0x%02X, is %s; tokens byte accepts any bytes",
                       good + 1 + (from->has_bom ? strlen(UTF8_BOM) : 0),
                       (unsigned char)from->text[good],
                       from->text[good] ? "not UTF-8" : "not text");
}

static int64_t count_characters(const text_slice *from)
{
    if (att_line_valid_prefix(from->text, from->length) != from->length)
        return (int64_t)from->length;
    att_pretokenizer splitter = {
        .text = from->text, .length = from->length, .kind = ATT_TOKENIZER_CHAR, .whole_text = true
    };
    const char *token;
    size_t length;
    int64_t count = 0;
    while (att_pretokenizer_next(&splitter, &token, &length))
        count++;
    return count;
}

static int64_t count_unknown(const int32_t *ids, size_t count)
{
    int64_t unknown = 0;
    for (size_t i = 0; i < count; i++)
        unknown += ids[i] == ATT_ID_UNK;
    return unknown;
}

/* The corpus takes ownership of the ids. */
static att_status move_to_corpus(att_corpus *out, att_ids *ids, const text_slice *from,
                                 att_error *err)
{
    int64_t count = (int64_t)ids->count;
    *out = (att_corpus){ .pairs = 1, .target.ids = ids->items };
    *ids = (att_ids){ 0 };
    out->source.offsets = att_alloc_zero(2, sizeof *out->source.offsets);
    out->target.offsets = att_alloc_zero(2, sizeof *out->target.offsets);
    if (!out->source.offsets || !out->target.offsets)
        return att_fail_memory(err);
    out->target.offsets[1] = count;
    out->stats.lines = 1;
    out->stats.target =
        (att_sequence_stats){ .tokens = count, .min_length = count, .max_length = count };
    out->stats.characters = count_characters(from);
    out->stats.has_bom = from->has_bom;
    return ATT_OK;
}

/* Reads a part of a text with a final vocabulary; or, if `counted` is given, with that one, whose
 * tokens are counted and get provisional ids. */
static att_status read_slice(att_corpus *out, const text_slice *from, const att_vocab *vocab,
                             att_vocab *counted, const char *purpose, att_error *err)
{
    if (att_vocab_tokenizer_kind(vocab) != ATT_TOKENIZER_BYTE)
        ATT_TRY(check_text(from, err));
    att_ids ids = { 0 };
    att_status status =
        counted ? att_vocab_count_line(counted, SIZE_MAX, &ids, from->text, from->length, err)
                : att_vocab_encode(vocab, NULL, &ids, from->text, from->length, err);
    if (status == ATT_OK && ids.count < 2)
        status = att_fail(err, ATT_BAD_INPUT, from->name,
                          "has %zu token%s to %s on, expected at least 2", ids.count,
                          ids.count == 1 ? "" : "s", purpose);
    if (status == ATT_OK)
        status = move_to_corpus(out, &ids, from, err);
    if (status == ATT_OK && !counted)
        out->stats.target.unknown_tokens =
            count_unknown(out->target.ids, (size_t)out->target.offsets[1]);
    att_ids_free(&ids);
    return status;
}

static att_status read_train(att_data *out, const text_slice *from, const att_settings *settings,
                             att_error *err)
{
    if (att_data_keeps_vocab(out))
        return read_slice(&out->train, from, out->target_vocab, NULL, "train", err);
    ATT_TRY(read_slice(&out->train, from, out->target_vocab, out->target_vocab, "train", err));
    int32_t *final;
    ATT_TRY(att_data_finish_vocab(out->target_vocab, &final, settings, err));
    if (final)
        att_corpus_renumber(&out->train, NULL, final);
    att_free(final);
    if (out->initial) {
        ATT_TRY(att_data_extend_vocab(&out->target_vocab, out->initial->target, &out->added_target,
                                      err));
        final = NULL;
    }
    if (final || att_vocab_tokenizer_kind(out->target_vocab) == ATT_TOKENIZER_BYTE)
        return ATT_OK;
    att_corpus_free(&out->train);
    return read_slice(&out->train, from, out->target_vocab, NULL, "train", err);
}

/* ---- the calls of the kind */

static att_status load_slices(att_data *out, struct att_text_file files[2],
                              const att_settings *settings, att_error *err)
{
    ATT_TRY(att_text_file_load(&files[0], settings->train, err));
    ATT_TRY(att_text_file_load(&files[1], settings->valid, err));
    att_tokenizer_kind tokens = (att_tokenizer_kind)settings->tokens;
    text_slice train = whole_text(&files[0], tokens);
    text_slice valid =
        settings->valid ? whole_text(&files[1], tokens) : split_off_end(&train, settings);
    ATT_TRY(read_train(out, &train, settings, err));
    if (valid.length == 0 && !settings->valid)
        return att_fail(err, ATT_BAD_INPUT, train.name,
                        "has nothing left to validate on: give valid, or another valid-fraction");
    ATT_TRY(read_slice(&out->valid, &valid, out->target_vocab, NULL, "validate", err));
    out->valid_in_train = !settings->valid && settings->valid_fraction == 0;
    out->held_out = !settings->valid && !out->valid_in_train;
    return ATT_OK;
}

static att_status load_text(att_data *out, att_settings *settings, att_error *err)
{
    ATT_TRY(att_data_start_vocab(&out->target_vocab, out,
                                 out->initial ? out->initial->target : NULL,
                                 (att_tokenizer_kind)settings->tokens, settings->lowercase, err));
    if (!att_data_keeps_vocab(out))
        att_vocab_set_whole_text(out->target_vocab);
    struct att_text_file files[2] = { 0 };
    att_status status = load_slices(out, files, settings, err);
    att_string_free(&files[0].text);
    att_string_free(&files[1].text);
    return status;
}

static att_status read_text(att_corpus *out, const att_data_read_options *options, att_error *err)
{
    const att_settings *settings = options->settings;
    att_tokenizer_kind tokens = att_vocab_tokenizer_kind(options->target_vocab);
    const char *own = settings->valid ? settings->valid : settings->train;
    struct att_text_file file;
    if (!options->path && !own)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the model does not name its validation text: name a file");
    ATT_TRY(att_text_file_load(&file, options->path ? options->path : own, err));
    text_slice from = whole_text(&file, tokens);
    if (!options->path && !settings->valid)
        from = split_off_end(&from, settings);
    att_status status = read_slice(out, &from, options->target_vocab, NULL, "evaluate", err);
    att_string_free(&file.text);
    return status;
}

static att_status make_batches(att_batches **out, const att_corpus *corpus,
                               const att_settings *settings, int64_t tokens, uint64_t seed,
                               att_error *err)
{
    bool carry_state = settings->architecture == ATT_ARCHITECTURE_RNN;
    return att_lm_batches_new(
        out, corpus,
        &(att_lm_batches_options){ .batch_tokens = tokens,
                                   .sequence_length = settings->sequence_length,
                                   .carry_state = carry_state,
                                   .seed = seed },
        err);
}

/* ---- report */

static att_status report_slice(att_string *out, const char *name, const att_corpus *corpus,
                               const char *more)
{
    const att_corpus_stats *stats = &corpus->stats;
    return att_string_printf(out, "%-12s%" PRId64 " characters, %" PRId64 " tokens%s\n", name,
                             stats->characters, stats->target.tokens, more);
}

static att_status report_text(att_string *out, const att_data *data)
{
    const att_sequence_stats *train = &data->train.stats.target, *valid = &data->valid.stats.target;
    ATT_TRY(report_slice(out, "training", &data->train, ""));
    ATT_TRY(report_slice(out, "validation", &data->valid,
                         data->held_out         ? ", the end of the training file"
                         : data->valid_in_train ? ", the end of the training file, trained on too"
                                                : ""));
    ATT_TRY(
        att_string_printf(out, "%-12s%s, vocabulary size %d\n", "tokens",
                          att_tokenizer_specs[att_vocab_tokenizer_kind(data->target_vocab)].unit,
                          att_vocab_size(data->target_vocab)));
    if (train->unknown_tokens > 0 || valid->unknown_tokens > 0)
        ATT_TRY(att_string_printf(
            out, "%-12sunknown tokens: %" PRId64 " in training, %" PRId64 " in validation\n", "",
            train->unknown_tokens, valid->unknown_tokens));
    ATT_TRY(att_corpus_warnings(out, "training", &data->train));
    return att_corpus_warnings(out, "validation", &data->valid);
}

const att_data_loader att_lm_data = {
    .load = load_text,
    .read = read_text,
    .batches = make_batches,
    .report = report_text,
};
