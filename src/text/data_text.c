/* A text to go on with, for a language model; see data.h. Nothing of it is dropped: what its tokens
 * stand for is the text again, ends of lines and spaces among them. */
#include "text/data_kinds.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "text/chunks.h"
#include "text/tokens.h"
#include "text/utf8.h"
#include "text/vocab_words.h"

#include <inttypes.h>
#include <string.h>

#define BYTE_MARK "\xEF\xBB\xBF"

/* A part of a file. */
typedef struct part {
    const char *name, *text;
    size_t length;
    bool byte_mark; /* was there, and is left out */
} part;

/* ---- parts */

static part whole_of(const struct att_named_text *file, att_tokens tokens)
{
    part all = { .name = file->name, .text = file->text.data, .length = file->text.length };
    size_t mark = strlen(BYTE_MARK);
    all.byte_mark =
        tokens != ATT_TOKENS_BYTE && all.length >= mark && memcmp(all.text, BYTE_MARK, mark) == 0;
    if (all.byte_mark) {
        all.text += mark;
        all.length -= mark;
    }
    return all;
}

/* Cuts the end off a text, where a line ends if one does near there. */
static part cut_end(part *all, double share)
{
    size_t at = all->length - (size_t)((double)all->length * share);
    const char *end = at < all->length ? memchr(all->text + at, '\n', all->length - at) : NULL;
    size_t near = all->length / 100 + 1;
    if (end && (size_t)(end - all->text) - at <= near)
        at = (size_t)(end - all->text) + 1;
    while (at < all->length && ((unsigned char)all->text[at] & 0xC0) == 0x80)
        at++; /* not inside a character */
    part cut = { .name = all->name, .text = all->text + at, .length = all->length - at };
    all->length = at;
    return cut;
}

/* ---- reading */

/* Names the line and the byte of what is no text. */
static att_status check_text(const part *from, att_error *err)
{
    size_t good = att_line_good(from->text, from->length);
    if (good == from->length)
        return ATT_OK;
    int line = 1;
    for (size_t i = 0; i < good; i++)
        line += from->text[i] == '\n';
    return att_fail_at(err, ATT_BAD_INPUT, from->name, line, 0, NULL,
                       "byte %zu of the file, 0x%02X, is %s; tokens byte take any",
                       good + 1 + (from->byte_mark ? strlen(BYTE_MARK) : 0),
                       (unsigned char)from->text[good], from->text[good] ? "not UTF-8" : "no text");
}

static int64_t count_characters(const part *from)
{
    if (att_line_good(from->text, from->length) != from->length)
        return (int64_t)from->length;
    att_splitter splitter = {
        .text = from->text, .length = from->length, .tokens = ATT_TOKENS_CHAR, .whole = true
    };
    const char *token;
    size_t length;
    int64_t count = 0;
    while (att_split_next(&splitter, &token, &length))
        count++;
    return count;
}

static int64_t count_unknown(const int32_t *ids, size_t count)
{
    int64_t unknown = 0;
    for (size_t i = 0; i < count; i++)
        unknown += ids[i] == ATT_ID_UNKNOWN;
    return unknown;
}

/* The corpus takes the numbers over. */
static att_status hand_over(att_corpus *out, att_ids *ids, const part *from, att_error *err)
{
    int64_t count = (int64_t)ids->count;
    *out = (att_corpus){ .pairs = 1, .target.ids = ids->items };
    *ids = (att_ids){ 0 };
    out->source.at = att_alloc_zero(2, sizeof *out->source.at);
    out->target.at = att_alloc_zero(2, sizeof *out->target.at);
    if (!out->source.at || !out->target.at)
        return att_fail_memory(err);
    out->target.at[1] = count;
    out->facts.lines = 1;
    out->facts.target = (att_side_facts){ .tokens = count, .least = count, .most = count };
    out->facts.characters = count_characters(from);
    out->facts.byte_mark = from->byte_mark;
    return ATT_OK;
}

static att_status read_part(att_corpus *out, const part *from, att_vocab *words, bool count,
                            const char *what, att_error *err)
{
    if (att_vocab_tokens(words) != ATT_TOKENS_BYTE)
        ATT_TRY(check_text(from, err));
    att_ids ids = { 0 };
    att_status status =
        att_vocab_split(words, count, SIZE_MAX, &ids, from->text, from->length, err);
    if (status == ATT_OK && ids.count < 2)
        status = att_fail(err, ATT_BAD_INPUT, from->name,
                          "has %zu token%s to %s on, and two are the least", ids.count,
                          ids.count == 1 ? "" : "s", what);
    if (status == ATT_OK)
        status = hand_over(out, &ids, from, err);
    if (status == ATT_OK && !count)
        out->facts.target.unknown = count_unknown(out->target.ids, (size_t)out->target.at[1]);
    att_ids_free(&ids);
    return status;
}

static att_status read_train(att_data *out, const part *from, const att_settings *settings,
                             att_error *err)
{
    ATT_TRY(read_part(&out->train, from, out->target_words, true, "train", err));
    int32_t *final;
    ATT_TRY(att_data_close_words(out->target_words, &final, settings, err));
    if (final)
        att_corpus_close(&out->train, NULL, final);
    att_free(final);
    if (final || att_vocab_tokens(out->target_words) == ATT_TOKENS_BYTE)
        return ATT_OK;
    att_corpus_free(&out->train);
    return read_part(&out->train, from, out->target_words, false, "train", err);
}

/* ---- the calls of the kind */

static att_status load_parts(att_data *out, struct att_named_text files[2],
                             const att_settings *settings, att_error *err)
{
    ATT_TRY(att_named_text_load(&files[0], settings->train, err));
    ATT_TRY(att_named_text_load(&files[1], settings->valid, err));
    att_tokens tokens = (att_tokens)settings->tokens;
    part train = whole_of(&files[0], tokens);
    part valid =
        settings->valid ? whole_of(&files[1], tokens) : cut_end(&train, settings->hold_out);
    ATT_TRY(read_train(out, &train, settings, err));
    if (valid.length == 0 && !settings->valid)
        return att_fail(err, ATT_BAD_INPUT, train.name,
                        "has nothing left to validate on: give valid, or a hold-out above 0");
    ATT_TRY(read_part(&out->valid, &valid, out->target_words, false, "validate", err));
    out->held_out = settings->valid ? 0 : 1;
    return ATT_OK;
}

static att_status load_text(att_data *out, const att_settings *settings, att_error *err)
{
    ATT_TRY(att_vocab_new(&out->target_words, (att_tokens)settings->tokens, settings->lower, err));
    att_vocab_take_texts(out->target_words);
    struct att_named_text files[2] = { 0 };
    att_status status = load_parts(out, files, settings, err);
    att_text_free(&files[0].text);
    att_text_free(&files[1].text);
    return status;
}

static att_status read_text(att_corpus *out, const att_data_reading *how, att_error *err)
{
    const att_settings *settings = how->settings;
    att_tokens tokens = att_vocab_tokens(how->target);
    const char *own = settings->valid ? settings->valid : settings->train;
    struct att_named_text file;
    if (!how->path && !own)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no text to measure on: give a file");
    ATT_TRY(att_named_text_load(&file, how->path ? how->path : own, err));
    part from = whole_of(&file, tokens);
    if (!how->path && !settings->valid)
        from = cut_end(&from, settings->hold_out);
    /* A reading that does not count leaves the vocabulary as it is. */
    att_status status =
        read_part(out, &from, (att_vocab *)(uintptr_t)how->target, false, "measure", err);
    att_text_free(&file.text);
    return status;
}

static att_status batch_text(att_batches **out, const att_corpus *corpus,
                             const att_settings *settings, int64_t tokens, uint64_t seed,
                             att_error *err)
{
    bool carried = settings->family == ATT_FAMILY_RECURRENT;
    return att_chunks_new(out, corpus, &(att_chunking){ tokens, settings->chunk, carried, seed },
                          err);
}

/* ---- the report */

static att_status report_part(att_text *out, const char *name, const att_corpus *corpus,
                              const char *more)
{
    const att_corpus_facts *facts = &corpus->facts;
    return att_text_print(out, "%-12s%" PRId64 " characters, %" PRId64 " tokens%s\n", name,
                          facts->characters, facts->target.tokens, more);
}

static att_status report_text(att_text *out, const att_data *data)
{
    const att_side_facts *train = &data->train.facts.target, *valid = &data->valid.facts.target;
    ATT_TRY(report_part(out, "training", &data->train, ""));
    ATT_TRY(report_part(out, "validation", &data->valid,
                        data->held_out ? ", the end of the training file" : ""));
    ATT_TRY(att_text_print(out, "%-12s%s, %d known\n", "tokens",
                           att_tokens_name(att_vocab_tokens(data->target_words)),
                           att_vocab_size(data->target_words) - ATT_ID_FIRST));
    if (train->unknown > 0 || valid->unknown > 0)
        ATT_TRY(att_text_print(out,
                               "%-12sunknown: %" PRId64 " in training, %" PRId64 " in validation\n",
                               "", train->unknown, valid->unknown));
    ATT_TRY(att_corpus_remarks(out, "training", &data->train));
    return att_corpus_remarks(out, "validation", &data->valid);
}

const att_data_kind att_data_of_text = {
    .load = load_text,
    .read = read_text,
    .batches = batch_text,
    .report = report_text,
};
