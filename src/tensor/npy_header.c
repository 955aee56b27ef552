/* Parser and printer of the header of a .npy file, a Python dict literal. */
#include "tensor/npy.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/quote.h"
#include "tensor/tensor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_STRING = 31, ALIGNMENT = 64 };

typedef struct reader {
    const char *start;
    const char *at;
    const char *end;
    const char *name;
    att_error *err;
} reader;

/* Fails, naming the position reached. */
static att_status fail(const reader *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static att_status fail(const reader *in, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return att_fail(in->err, ATT_BAD_INPUT, in->name, "header, byte %td: %s", in->at - in->start,
                    what);
}

static void skip_spaces(reader *in)
{
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\n'))
        in->at++;
}

/* Skips spaces and, if it comes next, the character. */
static bool take(reader *in, char c)
{
    skip_spaces(in);
    if (in->at == in->end || *in->at != c)
        return false;
    in->at++;
    return true;
}

static bool take_word(reader *in, const char *word)
{
    size_t length = strlen(word);
    skip_spaces(in);
    if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length) != 0)
        return false;
    in->at += length;
    return true;
}

static att_status parse_string(reader *in, const char *what, char out[MAX_STRING + 1])
{
    skip_spaces(in);
    char quote = in->at < in->end ? *in->at : '\0';
    if (quote != '\'' && quote != '"')
        return fail(in, "expected %s in quotes", what);
    in->at++;
    size_t length = 0;
    while (in->at < in->end && *in->at != quote) {
        if (*in->at == '\\' || (unsigned char)*in->at < ' ' || length == MAX_STRING)
            return fail(in, "%s",
                        length == MAX_STRING ? "the string is too long"
                                             : "unexpected character in a string");
        out[length++] = *in->at++;
    }
    if (in->at == in->end)
        return fail(in, "the string is not closed");
    in->at++;
    out[length] = '\0';
    return ATT_OK;
}

/* ---- descr */

/* NumPy types that tensors do not have, by the letter in descr. */
static const struct {
    char letter;
    const char *name;
} refused_kinds[] = {
    { 'c', "complex numbers" }, { 'O', "Python objects" },   { 'S', "byte strings" },
    { 'a', "byte strings" },    { 'U', "strings" },          { 'V', "raw bytes" },
    { 'M', "dates" },           { 'm', "time differences" },
};

static att_status refuse_descr(const reader *in, const char *descr)
{
    char quoted[ATT_QUOTED_SIZE];
    att_quote(quoted, descr, strlen(descr));
    size_t order = strspn(descr, "<>|=");
    for (size_t i = 0; i < ATT_COUNT(refused_kinds); i++)
        if (descr[order] == refused_kinds[i].letter)
            return fail(in, "type '%s' holds %s, expected booleans, integers or floats", quoted,
                        refused_kinds[i].name);
    return fail(in, "unknown type '%s'", quoted);
}

static att_status parse_descr(reader *in, att_npy_header *out)
{
    skip_spaces(in);
    if (in->at < in->end && (*in->at == '[' || *in->at == '('))
        return fail(in, "the type is a structure, expected booleans, integers or floats");
    char descr[MAX_STRING + 1];
    ATT_TRY(parse_string(in, "the type", descr));
    out->storage = strspn(descr, "<>|=") == 1 ? att_storage_dtype_from_npy(descr + 1) : NULL;
    if (!out->storage)
        return refuse_descr(in, descr);
    if (descr[0] == '|' && out->storage->size > 1)
        return fail(in, "type '%s' of %zu bytes has no byte order", descr, out->storage->size);
    out->order = descr[0] == '<'   ? ATT_LITTLE_ENDIAN
                 : descr[0] == '>' ? ATT_BIG_ENDIAN
                                   : att_byte_order_native();
    return ATT_OK;
}

/* ---- fortran_order and shape */

static att_status parse_fortran_order(reader *in, att_npy_header *out)
{
    out->fortran = take_word(in, "True");
    if (!out->fortran && !take_word(in, "False"))
        return fail(in, "expected True or False");
    return ATT_OK;
}

static att_status parse_dimension(reader *in, int64_t *out)
{
    skip_spaces(in);
    const char *digits = in->at;
    if (digits < in->end && *digits == '-')
        return fail(in, "a dimension is negative");
    *out = 0;
    for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++) {
        int digit = *in->at - '0';
        if (*out > (INT64_MAX - digit) / 10)
            return fail(in, "a dimension is larger than %lld", (long long)INT64_MAX);
        *out = *out * 10 + digit;
    }
    if (in->at == digits)
        return fail(in, "expected a dimension");
    if (*digits == '0' && in->at - digits > 1)
        return fail(in, "a dimension begins with 0");
    if (in->at < in->end && *in->at == 'L') /* the suffix of long integers in Python 2 */
        in->at++;
    return ATT_OK;
}

static att_status parse_shape(reader *in, att_npy_header *out)
{
    if (!take(in, '('))
        return fail(in, "expected the shape as a tuple such as (3, 4)");
    bool comma = true;
    while (!take(in, ')')) {
        if (!comma)
            return fail(in, "expected ',' or ')' in the shape");
        if (out->rank == ATT_MAX_RANK)
            return fail(in, "the shape has more than %d dimensions", ATT_MAX_RANK);
        ATT_TRY(parse_dimension(in, &out->shape[out->rank++]));
        comma = take(in, ',');
    }
    if (out->rank == 1 && !comma)
        return fail(in, "the shape is a number in parentheses, expected a tuple such as (3,)");
    return ATT_OK;
}

/* ---- the dict */

static const struct {
    const char *name;
    att_status (*parse)(reader *in, att_npy_header *out);
} keys[] = {
    { "descr", parse_descr },
    { "fortran_order", parse_fortran_order },
    { "shape", parse_shape },
};
enum { KEY_COUNT = ATT_COUNT(keys) };

static att_status parse_entry(reader *in, att_npy_header *out, bool seen[KEY_COUNT])
{
    char key[MAX_STRING + 1], quoted[ATT_QUOTED_SIZE];
    ATT_TRY(parse_string(in, "a key", key));
    size_t i = 0;
    while (i < KEY_COUNT && strcmp(key, keys[i].name) != 0)
        i++;
    if (i == KEY_COUNT)
        return fail(in, "unknown key '%s', expected descr, fortran_order and shape",
                    att_quote(quoted, key, strlen(key)));
    if (seen[i])
        return fail(in, "key '%s' occurs twice", key);
    seen[i] = true;
    if (!take(in, ':'))
        return fail(in, "expected ':' after '%s'", key);
    return keys[i].parse(in, out);
}

att_status att_npy_header_parse(att_npy_header *out, const char *text, size_t length,
                                const char *name, att_error *err)
{
    reader in = { .start = text, .at = text, .end = text + length, .name = name, .err = err };
    *out = (att_npy_header){ 0 };
    if (!take(&in, '{'))
        return fail(&in, "expected '{'");
    bool seen[KEY_COUNT] = { false }, comma = true;
    while (!take(&in, '}')) {
        if (!comma)
            return fail(&in, "expected ',' or '}'");
        ATT_TRY(parse_entry(&in, out, seen));
        comma = take(&in, ',');
    }
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (!seen[i])
            return fail(&in, "key '%s' is missing", keys[i].name);
    skip_spaces(&in);
    if (in.at < in.end)
        return fail(&in, "expected nothing but spaces after the '}'");
    if (in.end[-1] != '\n')
        return fail(&in, "expected a newline at the end of the header");
    return ATT_OK;
}

size_t att_npy_header_print(char out[ATT_NPY_HEADER_MAX_SIZE], const att_tensor *tensor,
                            size_t before)
{
    char shape[ATT_SHAPE_STRING_SIZE], dict[ATT_NPY_HEADER_MAX_SIZE - ALIGNMENT];
    att_shape_to_string(shape, tensor->rank, tensor->shape);
    shape[strlen(shape) - 1] = '\0';
    int length =
        snprintf(dict, sizeof dict, "{'descr': '<%s', 'fortran_order': False, 'shape': (%s%s), }",
                 att_storage_dtype_of(tensor->dtype)->npy, shape + 1, tensor->rank == 1 ? "," : "");
    size_t total = att_round_up(before + (size_t)length + 1, ALIGNMENT) - before;
    snprintf(out, ATT_NPY_HEADER_MAX_SIZE, "%-*s\n", (int)total - 1, dict);
    return total;
}
