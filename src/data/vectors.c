/* Reading word vectors; see vectors.h. */
#include "data/vectors.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/progress.h"
#include "base/quote.h"
#include "data/corpus.h"
#include "text/pretokenizer.h"

#include <math.h>
#include <string.h>

enum {
    MAX_WIDTH = 65536,         /* as embedding-size */
    MAX_LINE = 64 * MAX_WIDTH, /* bytes of a line with that many numbers */
    EXACT = 2,
    BY_LOWERCASE = 1
};

void att_word_vectors_free(att_word_vectors *vectors)
{
    att_free(vectors->values);
    att_free(vectors->is_found);
    *vectors = (att_word_vectors){ 0 };
}

/* ---- the words */

/* Enters a word under its lowercase form. */
static att_status add_lowercase(att_vectors_reader *in, int32_t id, att_error *err)
{
    size_t length, index;
    const char *word = att_vocab_token_bytes(in->vocab, id, &length);
    ATT_TRY(att_line_normalize_nfc(&in->scratch, word, length, true, err));
    if (in->scratch.length == length && memcmp(in->scratch.data, word, length) == 0)
        return ATT_OK; /* it is its own lowercase form, which is found as it is */
    size_t before = in->lower.count;
    if (att_string_set_add(&in->lower, in->scratch.data, in->scratch.length, &index) != ATT_OK)
        return att_fail_memory(err);
    in->next[id] = index < before ? in->first[index] : 0;
    in->first[index] = id;
    return ATT_OK;
}

att_status att_vectors_start(att_vectors_reader *out, const att_vocab *vocab, const char *name,
                             att_error *err)
{
    size_t size = (size_t)att_vocab_size(vocab);
    *out = (att_vectors_reader){ .name = name, .vocab = vocab };
    out->out.words = (int64_t)size - ATT_ID_FIRST;
    out->first = att_alloc_zero(size, sizeof *out->first);
    out->next = att_alloc_zero(size, sizeof *out->next);
    out->match = att_alloc_zero(size, sizeof *out->match);
    if (!out->first || !out->next || !out->match)
        return att_fail_memory(err);
    for (int32_t id = ATT_ID_FIRST; id < (int32_t)size; id++)
        if (!att_vocab_is_tag(vocab, id))
            ATT_TRY(add_lowercase(out, id, err));
    return ATT_OK;
}

/* ---- one line */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static int64_t count_fields(const char *line, size_t length)
{
    int64_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += !is_space(line[i]) && (i == 0 || is_space(line[i - 1]));
    return count;
}

/* The next field from *at on; false after the last. */
static bool next_field(const char *line, size_t length, size_t *at, const char **field,
                       size_t *size)
{
    size_t start = *at;
    while (start < length && is_space(line[start]))
        start++;
    for (*at = start; *at < length && !is_space(line[*at]);)
        ++*at;
    *field = line + start;
    *size = *at - start;
    return *size > 0;
}

static bool parse_number(att_vectors_reader *in, double *out, const char *text, size_t length,
                         bool *no_memory)
{
    in->scratch.length = 0;
    *no_memory = att_string_append(&in->scratch, text, length) != ATT_OK;
    return !*no_memory && att_double_parse(out, in->scratch.data) && isfinite((float)*out);
}

static att_status fail_line(const att_vectors_reader *in, const char *expected, const char *found,
                            size_t length, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    return att_fail_at(err, ATT_BAD_INPUT, in->name, (int)in->line_number, 0, NULL,
                       "expected %s, found '%s'", expected, att_quote(quoted, found, length));
}

/* Whether the first line is a header, "N D". */
static bool is_header(att_vectors_reader *in, const char *line, size_t length)
{
    double number;
    size_t at = 0, size;
    const char *field;
    bool no_memory;
    if (in->line_number != 1 || count_fields(line, length) != 2)
        return false;
    while (next_field(line, length, &at, &field, &size))
        if (!parse_number(in, &number, field, size, &no_memory) || number != floor(number) ||
            number < 1)
            return false;
    return true;
}

static att_status set_width(att_vectors_reader *in, int64_t width, att_error *err)
{
    if (width < 1 || width > MAX_WIDTH)
        return att_fail_at(err, ATT_BAD_INPUT, in->name, (int)in->line_number, 0, NULL,
                           "expected a word and 1 to %d numbers, found %lld numbers", MAX_WIDTH,
                           (long long)width);
    size_t rows = (size_t)att_vocab_size(in->vocab);
    in->out.size = width;
    in->width_line = in->line_number;
    in->out.values = att_alloc_zero(rows, (size_t)width * sizeof *in->out.values);
    in->out.is_found = att_alloc_zero(rows, sizeof *in->out.is_found);
    return in->out.values && in->out.is_found ? ATT_OK : att_fail_memory(err);
}

static att_status read_header(att_vectors_reader *in, const char *line, size_t length,
                              att_error *err)
{
    size_t at = 0, size;
    const char *field;
    double width = 0;
    bool no_memory;
    next_field(line, length, &at, &field, &size);
    if (!parse_number(in, &in->header_count, field, size, &no_memory))
        return att_fail_memory(err);
    next_field(line, length, &at, &field, &size);
    if (!parse_number(in, &width, field, size, &no_memory))
        return att_fail_memory(err);
    return set_width(in, width > MAX_WIDTH ? MAX_WIDTH + 1 : (int64_t)width, err);
}

/* Where the numbers of a line start. A word of GloVe may contain spaces, as ". . ." does: what is
 * before the last D fields, unless it is numbers. */
static att_status find_numbers(att_vectors_reader *in, const char *line, size_t length,
                               size_t *word_length, att_error *err)
{
    int64_t fields = count_fields(line, length), extra = fields - 1 - in->out.size;
    size_t at = 0, size;
    const char *field;
    double number;
    bool no_memory = false, numbers = extra != 0;
    next_field(line, length, &at, &field, &size);
    for (int64_t i = 0; i < extra && numbers; i++)
        numbers = next_field(line, length, &at, &field, &size) &&
                  parse_number(in, &number, field, size, &no_memory);
    if (no_memory)
        return att_fail_memory(err);
    if (numbers)
        return att_fail_at(err, ATT_BAD_INPUT, in->name, (int)in->line_number, 0, NULL,
                           "expected %lld numbers as in line %lld, found %lld",
                           (long long)in->out.size, (long long)in->width_line,
                           (long long)fields - 1);
    for (at = 0; extra >= 0; extra--)
        next_field(line, length, &at, &field, &size);
    *word_length = at;
    return ATT_OK;
}

static att_status read_row(att_vectors_reader *in, int32_t id, uint8_t match, const char *numbers,
                           size_t length, att_error *err)
{
    float *row = in->out.values + (int64_t)id * in->out.size;
    size_t at = 0, size;
    const char *field;
    for (int64_t i = 0; i < in->out.size && next_field(numbers, length, &at, &field, &size); i++) {
        double number;
        bool no_memory;
        if (!parse_number(in, &number, field, size, &no_memory))
            return no_memory ? att_fail_memory(err)
                             : fail_line(in, "a finite number", field, size, err);
        row[i] = (float)number;
    }
    in->out.found += in->match[id] == 0;
    in->match[id] = match;
    in->out.is_found[id] = 1;
    return ATT_OK;
}

static att_status keep_vector(att_vectors_reader *in, const char *line, size_t length,
                              size_t word_length, att_error *err)
{
    size_t start = 0;
    while (start < word_length && is_space(line[start]))
        start++;
    const char *word = line + start, *numbers = line + word_length;
    size_t size = word_length - start, left = length - word_length;
    int32_t id = att_vocab_id(in->vocab, word, size);
    if (id >= ATT_ID_FIRST && in->match[id] < EXACT)
        ATT_TRY(read_row(in, id, EXACT, numbers, left, err));
    ptrdiff_t index = att_string_set_find(&in->lower, word, size);
    for (id = index < 0 ? 0 : in->first[index]; id > 0; id = in->next[id])
        if (in->match[id] == 0)
            ATT_TRY(read_row(in, id, BY_LOWERCASE, numbers, left, err));
    return ATT_OK;
}

static att_status read_line(att_vectors_reader *in, const char *line, size_t length, att_error *err)
{
    size_t word_length = 0;
    in->line_number++;
    if (count_fields(line, length) == 0)
        return ATT_OK;
    if (is_header(in, line, length))
        return read_header(in, line, length, err);
    if (in->out.size == 0)
        ATT_TRY(set_width(in, count_fields(line, length) - 1, err));
    ATT_TRY(find_numbers(in, line, length, &word_length, err));
    in->count++;
    return keep_vector(in, line, length, word_length, err);
}

/* ---- all lines */

att_status att_vectors_feed(att_vectors_reader *in, const char *bytes, size_t count, att_error *err)
{
    if (in->line_number == 0 && in->line.length == 0)
        ATT_TRY(att_text_format_check(in->name, bytes, count, err));
    while (count > 0) {
        const char *end = memchr(bytes, '\n', count);
        size_t length = end ? (size_t)(end - bytes) : count;
        if (in->line.length + length > MAX_LINE) {
            in->line_number++;
            return fail_line(in, "a word and its numbers in a line", bytes, length, err);
        }
        if (in->line.length > 0 || !end)
            if (att_string_append(&in->line, bytes, length) != ATT_OK)
                return att_fail_memory(err);
        if (!end)
            return ATT_OK;
        bool pieced = in->line.length > 0;
        ATT_TRY(
            read_line(in, pieced ? in->line.data : bytes, pieced ? in->line.length : length, err));
        in->line.length = 0;
        bytes += length + 1;
        count -= length + 1;
    }
    return ATT_OK;
}

att_status att_vectors_finish(att_vectors_reader *in, att_word_vectors *out, att_error *err)
{
    if (in->line.length > 0)
        ATT_TRY(read_line(in, in->line.data, in->line.length, err));
    if (in->out.size == 0)
        return att_fail(err, ATT_BAD_INPUT, in->name, "has no vectors: it is empty");
    if (in->header_count > 0 && in->header_count != (double)in->count)
        return att_fail(err, ATT_BAD_INPUT, in->name,
                        "expected %.0f vector%s as its first line says, found %lld",
                        in->header_count, in->header_count > 1 ? "s" : "", (long long)in->count);
    if (in->out.found == 0)
        return att_fail(err, ATT_BAD_INPUT, in->name,
                        "has no vector for any of the %lld words of the training data",
                        (long long)in->out.words);
    *out = in->out;
    in->out = (att_word_vectors){ 0 };
    return ATT_OK;
}

void att_vectors_free(att_vectors_reader *in)
{
    att_word_vectors_free(&in->out);
    att_string_free(&in->line);
    att_string_free(&in->scratch);
    att_string_set_free(&in->lower);
    att_free(in->first);
    att_free(in->next);
    att_free(in->match);
}

static att_status feed(void *reader, const char *bytes, size_t count, att_error *err)
{
    return att_vectors_feed(reader, bytes, count, err);
}

att_status att_word_vectors_load(att_word_vectors *out, const att_vocab *vocab, const char *path,
                                 att_error *err)
{
    att_vectors_reader in;
    *out = (att_word_vectors){ 0 };
    att_status status = att_vectors_start(&in, vocab, att_file_display_name(path), err);
    if (status == ATT_OK)
        status = att_file_stream(path, feed, &in, err);
    if (status == ATT_OK)
        status = att_vectors_finish(&in, out, err);
    att_vectors_free(&in);
    return status;
}
