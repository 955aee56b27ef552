/* Preparing the text of a language model, a part at a time. The parts are cut where the text has a
 * border of tokens anyway, so that the tokens are those of the whole text. See prepare.h. */
#include "data/prepare.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/string.h"
#include "text/pretokenizer.h"
#include "text/utf8.h"

#include <string.h>

#define UTF8_BOM "\xEF\xBB\xBF"

/* A text without a place to cut is read into memory up to this size. */
static const size_t MAX_PART = (size_t)256 << 20;

/* ---- where a text may be cut */

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Bytes may be cut anywhere, but characters, which are counted too, may not.
 *
 * Pieces of BPE and words end where the kind of character changes (pretokenizer.h): after a line
 * end that a letter, a digit or a space follows, and before a space that follows a letter or a
 * digit. Both are borders of grapheme clusters and of composition (NFC) too, and so is the place
 * after any line end. */
static bool can_cut(const char *text, size_t length, size_t at, att_tokenizer_kind kind)
{
    uint32_t next;
    if (text[at] == ' ' && is_letter_or_digit(text[at - 1]))
        return true;
    if (text[at - 1] != '\n')
        return false;
    if (kind != ATT_TOKENIZER_WORD && kind != ATT_TOKENIZER_BPE)
        return ((unsigned char)text[at] & 0xC0) != 0x80;
    return att_utf8_decode(&next, text + at, length - at) > 0 &&
           (next == ' ' || (next < 0x80 && is_letter_or_digit((char)next)) ||
            att_utf8_identifier_start(next));
}

/* The last place to cut a text, 0 if there is none. */
static size_t find_cut(const char *text, size_t length, att_tokenizer_kind kind)
{
    enum { MAX_CHARACTER = 4 }; /* the character behind the cut must be complete */
    for (size_t at = length > MAX_CHARACTER ? length - MAX_CHARACTER : 0; at > 0; at--)
        if (can_cut(text, length, at, kind))
            return at;
    return 0;
}

/* ---- a range of a text, part by part */

typedef struct text_range {
    att_text_stream *from;
    att_tokenizer_kind kind;
    bool is_raw;                        /* it may be cut anywhere: nothing is encoded */
    int64_t left;                       /* bytes that are still to be read; -1: to the end */
    att_string bytes;                   /* the part, and what follows it */
    size_t used;                        /* the length of the part */
    int64_t bytes_before, lines_before; /* of the part, in the file */
} text_range;

static void end_part(text_range *range)
{
    att_string *bytes = &range->bytes;
    for (size_t i = 0; i < range->used; i++)
        range->lines_before += bytes->data[i] == '\n';
    range->bytes_before += (int64_t)range->used;
    if (range->used > 0)
        memmove(bytes->data, bytes->data + range->used, bytes->length - range->used);
    bytes->length -= range->used;
    range->used = 0;
}

/* The next part is bytes[0, used); *found is false at the end. */
static att_status next_part(text_range *range, bool *found, att_error *err)
{
    size_t wanted = att_prepare_part_size();
    end_part(range);
    while (range->used == 0) {
        size_t before = range->bytes.length;
        size_t size = wanted > before ? wanted - before : wanted;
        if (range->left >= 0)
            size = (size_t)att_min_i64((int64_t)size, range->left);
        ATT_TRY(att_text_stream_read(range->from, &range->bytes, size, err));
        size_t got = range->bytes.length - before;
        range->left -= range->left >= 0 ? (int64_t)got : 0;
        bool at_end = range->left == 0 || got < size;
        range->used = at_end || range->is_raw
                          ? range->bytes.length
                          : find_cut(range->bytes.data, range->bytes.length, range->kind);
        if (at_end)
            break;
        bool is_huge = range->used == 0 && range->bytes.length > MAX_PART;
        if (is_huge && range->kind == ATT_TOKENIZER_BYTE)
            range->used = range->bytes.length;
        else if (is_huge)
            return att_fail_at(err, ATT_BAD_INPUT, att_text_stream_name(range->from),
                               (int)range->lines_before + 1, 0, NULL,
                               "has no white space to cut it at in %zu bytes", range->bytes.length);
        wanted *= range->used == 0 ? 2 : 1;
    }
    *found = range->used > 0;
    return ATT_OK;
}

/* Moves to byte `begin` of the text behind a byte order mark. */
static att_status start_range(text_range *range, const att_prepare_corpus *from, int64_t begin,
                              int64_t length, att_tokenizer_kind kind, att_error *err)
{
    *range = (text_range){ .from = from->source, .kind = kind, .is_raw = true };
    ATT_TRY(att_text_stream_rewind(from->source, err));
    begin += from->has_bom ? (int64_t)strlen(UTF8_BOM) : 0;
    range->left = begin;
    for (bool found = begin > 0; found;)
        ATT_TRY(next_part(range, &found, err));
    end_part(range);
    range->is_raw = false;
    range->left = length;
    return ATT_OK;
}

/* ---- training and validation */

/* Bytes of a text without its byte order mark. */
static att_status measure_text(int64_t *length, att_prepare_corpus *from, att_tokenizer_kind kind,
                               att_error *err)
{
    text_range range = { .from = from->source, .is_raw = true, .left = -1 };
    bool found = true;
    att_status status = att_text_stream_rewind(from->source, err);
    for (*length = 0; status == ATT_OK;) {
        status = next_part(&range, &found, err);
        if (status != ATT_OK || !found)
            break;
        if (*length == 0)
            from->has_bom = kind != ATT_TOKENIZER_BYTE && range.used >= strlen(UTF8_BOM) &&
                            memcmp(range.bytes.data, UTF8_BOM, strlen(UTF8_BOM)) == 0;
        *length += (int64_t)range.used;
    }
    if (from->has_bom)
        *length -= (int64_t)strlen(UTF8_BOM);
    att_string_free(&range.bytes);
    return status;
}

/* The place from which the end of a text is split off, byte by byte. */
typedef struct split_search {
    int64_t near;   /* a line end counts up to here */
    int64_t passed; /* bytes seen */
    int64_t after;  /* bytes up to behind the line end, 0: there was none */
    int64_t inside; /* bytes behind it, or from the start, that continue a character */
    bool counts;    /* all of them did so far */
} split_search;

/* Returns whether the place is known. */
static bool search_byte(split_search *search, unsigned char byte)
{
    search->counts = search->counts && (byte & 0xC0) == 0x80;
    search->inside += search->counts;
    if (search->after == 0 && byte == '\n' && search->passed <= search->near) {
        search->after = search->passed + 1;
        search->inside = 0;
        search->counts = true;
        search->passed++;
        return false;
    }
    search->passed++;
    return !search->counts && (search->after > 0 || search->passed > search->near);
}

/* The end of a text is split off at a line end, if there is one within 1 % of the length, and not
 * inside a character: as data_lm.c does. */
static att_status find_split(int64_t *at, const att_prepare_corpus *from, int64_t length,
                             double fraction, att_error *err)
{
    text_range range;
    split_search search = { .near = length / 100 + 1, .counts = true };
    *at = length - (int64_t)((double)length * fraction);
    att_status status = start_range(&range, from, *at, -1, ATT_TOKENIZER_BYTE, err);
    for (bool found = true, known = false; status == ATT_OK && found && !known;) {
        status = next_part(&range, &found, err);
        for (size_t i = 0; status == ATT_OK && i < range.used && !known; i++)
            known = search_byte(&search, (unsigned char)range.bytes.data[i]);
    }
    *at += search.after + search.inside;
    att_string_free(&range.bytes);
    return status;
}

static att_status split_texts(att_prepare_run *run, att_error *err)
{
    att_tokenizer_kind kind = (att_tokenizer_kind)run->settings->tokens;
    att_progress_scope scope;
    att_status status = ATT_OK;
    att_progress_begin(&scope, "measuring", att_prepare_size(run->train, run->train_count));
    for (size_t i = 0; i < run->train_count && status == ATT_OK; i++) {
        att_prepare_corpus *from = &run->train[i];
        int64_t length, at;
        status = measure_text(&length, from, kind, err);
        from->train_bytes = length;
        if (status == ATT_OK && !run->valid) {
            status = find_split(&at, from, length, att_data_valid_part(run->settings), err);
            from->valid_bytes = length - at;
            from->train_bytes = run->settings->valid_fraction > 0 ? at : length;
        }
        if (status == ATT_OK)
            status = att_progress_step(att_prepare_size(run->train, i + 1), err);
    }
    if (status == ATT_OK && run->valid)
        status = measure_text(&run->valid->valid_bytes, run->valid, kind, err);
    return att_progress_end(&scope, status, err);
}

/* ---- a pass */

typedef struct text_pass {
    att_prepare_run *run;
    att_token_split split;
    bool counts; /* else it encodes */
    att_tokenizer_state state;
    int64_t tokens, characters, bytes, unknown;
    bool is_bytes; /* some of it is not UTF-8: characters are bytes */
} text_pass;

/* Refuses text that is not UTF-8 and names the line and the byte. */
static att_status check_text(const text_range *range, att_error *err)
{
    const char *text = range->bytes.data;
    size_t good = att_line_valid_prefix(text, range->used);
    if (good == range->used)
        return ATT_OK;
    int64_t line = range->lines_before + 1;
    for (size_t i = 0; i < good; i++)
        line += text[i] == '\n';
    return att_fail_at(err, ATT_BAD_INPUT, att_text_stream_name(range->from), (int)line, 0, NULL,
                       "byte %lld of the file, 0x%02X, is %s; tokens byte accepts any bytes",
                       (long long)(range->bytes_before + (int64_t)good + 1),
                       (unsigned char)text[good], text[good] ? "not UTF-8" : "not text");
}

static int64_t count_characters(text_pass *pass, const text_range *range)
{
    if (pass->is_bytes || att_line_valid_prefix(range->bytes.data, range->used) != range->used) {
        pass->is_bytes = true;
        return 0;
    }
    att_pretokenizer splitter = { .text = range->bytes.data,
                                  .length = range->used,
                                  .kind = ATT_TOKENIZER_CHAR,
                                  .whole_text = true };
    const char *token;
    size_t length;
    int64_t count = 0;
    while (att_pretokenizer_next(&splitter, &token, &length))
        count++;
    return count;
}

static att_status use_part(text_pass *pass, const text_range *range, att_ids *ids, att_error *err)
{
    att_prepare_run *run = pass->run;
    att_vocab *vocab = run->data.target_vocab;
    const char *text = range->bytes.data;
    ids->count = 0;
    if (pass->counts) {
        ATT_TRY(att_vocab_count_line(vocab, SIZE_MAX, ids, text, range->used, err));
        return att_vocab_prune(vocab, run->count_limit, &run->pruned[1], err);
    }
    ATT_TRY(att_vocab_encode(vocab, &pass->state, ids, text, range->used, err));
    pass->tokens += (int64_t)ids->count;
    pass->bytes += (int64_t)range->used;
    pass->characters += count_characters(pass, range);
    for (size_t i = 0; i < ids->count; i++)
        pass->unknown += ids->items[i] == ATT_ID_UNK;
    return att_token_writer_add(run->writer, pass->split, ATT_SECTION_TARGET_IDS, ids->items,
                                (int64_t)ids->count, err);
}

static att_status read_range(text_pass *pass, text_range *range, const att_prepare_corpus *list,
                             size_t index, att_error *err)
{
    att_ids ids = { 0 };
    att_status status = ATT_OK;
    for (bool found; status == ATT_OK;) {
        status = next_part(range, &found, err);
        if (status != ATT_OK || !found)
            break;
        if (range->kind != ATT_TOKENIZER_BYTE)
            status = check_text(range, err);
        if (status == ATT_OK)
            status = use_part(pass, range, &ids, err);
        if (status == ATT_OK)
            status = att_progress_step(att_prepare_position(list, index), err);
    }
    att_ids_free(&ids);
    return status;
}

/* One corpus: its training part, or its validation part. */
static att_status read_corpus(text_pass *pass, att_prepare_corpus *list, size_t index, bool valid,
                              att_error *err)
{
    att_prepare_corpus *from = &list[index];
    text_range range = { 0 };
    bool whole = list == pass->run->valid;
    bool kept = pass->run->settings->valid_fraction > 0;
    int64_t begin = !valid || whole ? 0
                    : kept          ? from->train_bytes
                                    : from->train_bytes - from->valid_bytes;
    int64_t tokens = pass->tokens;
    att_status status =
        start_range(&range, from, begin, valid ? from->valid_bytes : from->train_bytes,
                    (att_tokenizer_kind)pass->run->settings->tokens, err);
    if (status == ATT_OK)
        status = read_range(pass, &range, list, index, err);
    att_string_free(&range.bytes);
    if (!valid && !pass->counts)
        from->examples = from->target_tokens = pass->tokens - tokens;
    return status;
}

static att_status run_pass(text_pass *pass, att_prepare_corpus *list, size_t count, bool valid,
                           const char *phase, att_error *err)
{
    att_progress_scope scope;
    att_status status = ATT_OK;
    att_progress_begin(&scope, phase, att_prepare_size(list, count));
    for (size_t i = 0; i < count && status == ATT_OK; i++)
        status = read_corpus(pass, list, i, valid, err);
    att_tokenizer_state_free(&pass->state);
    pass->state = (att_tokenizer_state){ 0 };
    return att_progress_end(&scope, status, err);
}

static att_status keep_stats(att_corpus *out, const text_pass *pass, const att_prepare_corpus *list,
                             size_t count, const char *purpose, att_error *err)
{
    if (pass->tokens < 2)
        return att_fail(err, ATT_BAD_INPUT, att_text_stream_name(list[0].source),
                        "has %lld token%s to %s on, expected at least 2", (long long)pass->tokens,
                        pass->tokens == 1 ? "" : "s", purpose);
    out->pairs = 1;
    out->stats.lines = 1;
    out->stats.target = (att_sequence_stats){ .tokens = pass->tokens,
                                              .min_length = att_min_i64(pass->tokens, INT32_MAX),
                                              .max_length = att_min_i64(pass->tokens, INT32_MAX),
                                              .unknown_tokens = pass->unknown };
    out->stats.characters = pass->is_bytes ? pass->bytes : pass->characters;
    for (size_t i = 0; i < count; i++)
        out->stats.has_bom |= list[i].has_bom;
    return ATT_OK;
}

/* ---- the passes */

static att_status count_tokens(att_prepare_run *run, att_error *err)
{
    int32_t *final;
    if (att_data_keeps_vocab(&run->data))
        return ATT_OK;
    if (run->settings->tokens != ATT_TOKENIZER_BYTE) {
        text_pass pass = { .run = run, .counts = true };
        ATT_TRY(run_pass(&pass, run->train, run->train_count, false, "counting tokens", err));
    }
    ATT_TRY(att_data_finish_vocab(run->data.target_vocab, &final, run->settings, err));
    att_free(final);
    return ATT_OK;
}

static att_status encode_train(att_prepare_run *run, att_error *err)
{
    text_pass pass = { .run = run, .split = ATT_TOKENS_TRAIN };
    ATT_TRY(run_pass(&pass, run->train, run->train_count, false, "encoding", err));
    return keep_stats(&run->data.train, &pass, run->train, run->train_count, "train", err);
}

static att_status encode_valid(att_prepare_run *run, att_error *err)
{
    text_pass pass = { .run = run, .split = ATT_TOKENS_VALID };
    att_prepare_corpus *list = run->valid ? run->valid : run->train;
    size_t count = run->valid ? 1 : run->train_count;
    int64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += list[i].valid_bytes;
    if (bytes == 0 && !run->valid)
        return att_fail(err, ATT_BAD_INPUT, att_text_stream_name(list[0].source),
                        "has nothing left to validate on: give valid, or another valid-fraction");
    ATT_TRY(run_pass(&pass, list, count, true, "encoding validation data", err));
    ATT_TRY(keep_stats(&run->data.valid, &pass, list, count, "validate", err));
    run->data.valid.stats.has_bom = run->valid && run->valid->has_bom;
    run->data.valid_in_train = !run->valid && run->settings->valid_fraction == 0;
    run->data.held_out = !run->valid && !run->data.valid_in_train;
    return ATT_OK;
}

att_status att_prepare_text(att_prepare_run *run, att_error *err)
{
    const att_settings *settings = run->settings;
    const att_initial_vocabs *initial = run->data.initial;
    ATT_TRY(att_data_start_vocab(&run->data.target_vocab, &run->data,
                                 initial ? initial->target : NULL,
                                 (att_tokenizer_kind)settings->tokens, settings->lowercase, err));
    if (!initial)
        att_vocab_set_whole_text(run->data.target_vocab);
    else if (att_vocab_prepends_bos(initial->target))
        return att_fail(err, ATT_BAD_INPUT, settings->init_from,
                        "its texts begin with a start token, which a token file cannot have: train "
                        "from the text");
    ATT_TRY(split_texts(run, err));
    ATT_TRY(count_tokens(run, err));
    ATT_TRY(att_prepare_start(run, err));
    ATT_TRY(encode_train(run, err));
    ATT_TRY(encode_valid(run, err));
    return att_prepare_finish(run, err);
}
