/* Numbers as people write them: decimal points and commas, fractions, percent, powers of ten;
 * rows by brackets, semicolons, lines and tables. */
#include "grade/answers.h"

#include "base/math.h"
#include "base/minmax.h"
#include "base/number.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { MAX_NUMBERS = 1 << 20, MAX_DIGITS = 400, MAX_DEPTH = 100 };

struct reader {
    const char *at, *end;
    att_arena *arena;
    bool decimal_comma;
    double *values, *units;
    int64_t *row; /* [count] the row of each number, from 0 */
    size_t count, capacity;
    int64_t rows;   /* rows begun */
    int64_t in_row; /* numbers of the current row */
    int depth;      /* of open brackets */
    bool turned;    /* a transpose behind the brackets */
    bool lines;     /* rows on lines of their own, or in brackets of their own */
    bool out_of_memory;
    const char *problem;
};

static bool fail(struct reader *reader, const char *format, int shown)
{
    int left = (int)att_min_size((size_t)(reader->end - reader->at), 100);
    char *text = att_arena_printf(reader->arena, format, shown < left ? shown : left, reader->at);
    reader->problem = text;
    reader->out_of_memory = !text;
    return false;
}

static char peek(const struct reader *reader, size_t ahead)
{
    return (size_t)(reader->end - reader->at) > ahead ? reader->at[ahead] : '\0';
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(struct reader *reader)
{
    while (peek(reader, 0) == ' ' || peek(reader, 0) == '\t')
        reader->at++;
}

static bool grow(struct reader *reader)
{
    size_t room = reader->capacity ? 2 * reader->capacity : 32;
    double *values = att_arena_alloc(reader->arena, room, sizeof *values);
    double *units = att_arena_alloc(reader->arena, room, sizeof *units);
    int64_t *row = att_arena_alloc(reader->arena, room, sizeof *row);
    reader->out_of_memory = !values || !units || !row;
    if (reader->out_of_memory)
        return false;
    if (reader->count > 0) {
        memcpy(values, reader->values, reader->count * sizeof *values);
        memcpy(units, reader->units, reader->count * sizeof *units);
        memcpy(row, reader->row, reader->count * sizeof *row);
    }
    reader->values = values;
    reader->units = units;
    reader->row = row;
    reader->capacity = room;
    return true;
}

static bool add(struct reader *reader, double value, double unit)
{
    if (reader->count >= MAX_NUMBERS)
        return fail(reader, "more than a million numbers", 0);
    if (reader->count == reader->capacity && !grow(reader))
        return false;
    if (reader->in_row == 0)
        reader->rows++;
    reader->values[reader->count] = value;
    reader->units[reader->count] = unit;
    reader->row[reader->count] = reader->rows - 1;
    reader->count++;
    reader->in_row++;
    return true;
}

/* The next number begins a row. */
static void end_row(struct reader *reader)
{
    reader->in_row = 0;
}

/* ---- One number */

/* A decimal number without exponent; false if there is none. `decimals` counts what is behind the
 * point; a whole number that ends in zeros may be rounded: -1 for 10, -2 for 100. */
static bool read_decimal(struct reader *reader, double *value, int *decimals)
{
    char text[MAX_DIGITS + 2];
    size_t length = 0, digits = 0;
    bool point = false;
    *decimals = 0;
    const char *start = reader->at;
    for (; reader->at < reader->end && length < MAX_DIGITS; reader->at++) {
        char c = *reader->at;
        bool comma = c == ',' && reader->decimal_comma && digit(peek(reader, 1)) && digits > 0;
        bool dot = c == '.' && (digits > 0 || digit(peek(reader, 1)));
        if (!point && (comma || dot)) {
            point = true;
            text[length++] = '.';
        } else if (digit(c)) {
            digits++;
            *decimals += point;
            text[length++] = c;
        } else if (!(c == '_' && digit(peek(reader, 1)) && digits > 0)) {
            break;
        }
    }
    text[length] = '\0';
    if (digits == 0) {
        reader->at = start;
        return false;
    }
    if (text[length - 1] == '.') /* "3." as NumPy writes it, or the end of a sentence */
        text[length - 1] = '\0';
    if (!att_double_parse(value, text))
        *value = (double)INFINITY;
    for (size_t i = strlen(text); !point && digits >= 3 && i > 1 && text[i - 1] == '0'; i--)
        *decimals -= 1;
    return true;
}

/* "e-3", "*10^-3", "x 10^(-3)" behind a number; 0 if there is none. */
static int read_exponent(struct reader *reader)
{
    const char *start = reader->at;
    int sign = 1, power = 0;
    bool letter = peek(reader, 0) == 'e' || peek(reader, 0) == 'E';
    if (letter) {
        reader->at++;
    } else {
        skip_blanks(reader);
        if (peek(reader, 0) != '*' && peek(reader, 0) != 'x')
            goto none;
        reader->at++;
        skip_blanks(reader);
        if (peek(reader, 0) != '1' || peek(reader, 1) != '0' || peek(reader, 2) != '^')
            goto none;
        reader->at += 3;
        if (peek(reader, 0) == '{' || peek(reader, 0) == '(')
            reader->at++;
    }
    if (peek(reader, 0) == '-' || peek(reader, 0) == '+')
        sign = *reader->at++ == '-' ? -1 : 1;
    if (!digit(peek(reader, 0)))
        goto none;
    for (; digit(peek(reader, 0)); reader->at++)
        power = power < 10000 ? 10 * power + (*reader->at - '0') : power;
    if (!letter && (peek(reader, 0) == '}' || peek(reader, 0) == ')') && reader->at[-1] != ')')
        reader->at += start < reader->at && memchr(start, *reader->at == '}' ? '{' : '(',
                                                   (size_t)(reader->at - start)) != NULL;
    return sign * power;
none:
    reader->at = start;
    return 0;
}

/* The denominator of a fraction; false if none follows. */
static bool read_denominator(struct reader *reader, double *value)
{
    const char *start = reader->at;
    int ignored;
    skip_blanks(reader);
    if (peek(reader, 0) == '/') {
        reader->at++;
        skip_blanks(reader);
        if (read_decimal(reader, value, &ignored))
            return true;
    }
    reader->at = start;
    return false;
}

static bool read_number(struct reader *reader, double sign)
{
    double value, below;
    int decimals;
    if (!read_decimal(reader, &value, &decimals))
        return fail(reader, "expected a number, found '%.*s'", 8);
    int power = read_exponent(reader);
    double unit = att_pow(10, power - decimals);
    value = sign * (power == 0 ? value : value * att_pow(10, power));
    if (read_denominator(reader, &below)) {
        value /= below;
        unit = ATT_UNIT_EXACT;
    } else if (peek(reader, 0) == '%' ||
               (peek(reader, 0) == ' ' && peek(reader, 1) == '%' && !isalpha(peek(reader, 2)))) {
        reader->at += peek(reader, 0) == ' ' ? 2 : 1;
        value /= 100;
        unit /= 100;
    }
    return add(reader, value, unit);
}

/* ---- Words */

static size_t word_length(const struct reader *reader)
{
    size_t length = 0;
    while (isalpha((unsigned char)peek(reader, length)) ||
           (unsigned char)peek(reader, length) > 127 || peek(reader, length) == '_')
        length++;
    return length;
}

static bool is_word(const struct reader *reader, size_t length, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == length && strncasecmp(*words, reader->at, length) == 0)
            return true;
    return false;
}

/* Skips ", dtype=float64)" and the like up to the bracket that closes. */
static void skip_option(struct reader *reader)
{
    while (reader->at < reader->end && !strchr(")]\n", *reader->at))
        reader->at++;
}

/* A word among numbers; false: the numbers end before it, or it is a problem. */
static bool read_word(struct reader *reader, double sign)
{
    static const char *const wrappers[] = { "np",     "numpy", "array",   "asarray", "torch",
                                            "tensor", "jnp",   "matrix",  "vector",  "mat",
                                            "list",   "float", "float64", "float32", NULL };
    static const char *const options[] = { "dtype", "requires_grad", "device", NULL };
    static const char *const joining[] = { "and", NULL };
    static const char *const infinite[] = { "inf", "infinity", NULL };
    static const char *const blank[] = { "nan", "masked", "mask", "none", "null", "x", NULL };
    size_t length = word_length(reader);
    if (is_word(reader, length, infinite)) {
        reader->at += length;
        return add(reader, sign * (double)INFINITY, ATT_UNIT_EXACT);
    }
    if (is_word(reader, length, blank)) {
        reader->at += length;
        return add(reader, (double)NAN, ATT_UNIT_EXACT);
    }
    if (is_word(reader, length, options)) {
        skip_option(reader);
        return true;
    }
    if (reader->count > 0 && is_word(reader, length, joining)) { /* "0.5 and 0.25" */
        reader->at += length;
        return true;
    }
    size_t whole = length;
    while (digit(peek(reader, whole)))
        whole++;
    if (is_word(reader, whole, wrappers)) {
        reader->at += whole;
        reader->at += peek(reader, 0) == '.';
        return true;
    }
    if (reader->count > 0 && reader->depth == 0) {
        reader->end = reader->at; /* a remark behind the numbers */
        return true;
    }
    return fail(reader, "expected a number, found '%.*s'", (int)att_min_size(length, 30));
}

/* ---- Everything between */

/* .T, ^T or ' behind a bracket. */
static bool read_transpose(struct reader *reader)
{
    bool dotted = (peek(reader, 0) == '.' || peek(reader, 0) == '^') && peek(reader, 1) == 'T';
    bool braced = peek(reader, 0) == '^' && peek(reader, 1) == '{' && peek(reader, 2) == 'T';
    if (!dotted && !braced && peek(reader, 0) != '\'')
        return false;
    reader->at += braced ? 4 : dotted ? 2 : 1;
    if (reader->at > reader->end)
        reader->at = reader->end;
    reader->turned = true;
    return true;
}

static bool read_bracket(struct reader *reader, char c)
{
    bool remark = c == '(' && reader->count > 0 && reader->depth == 0 &&
                  isalpha((unsigned char)peek(reader, 1));
    if (remark) { /* 0.26 (rounded) */
        reader->end = reader->at;
        return true;
    }
    if (strchr("[({", c)) {
        if (++reader->depth > MAX_DEPTH)
            return fail(reader, "brackets are nested too deep", 0);
        if (reader->in_row > 0) {
            end_row(reader);
            reader->lines = true;
        }
        reader->at++;
        return true;
    }
    reader->depth -= reader->depth > 0;
    reader->at++;
    if (c == ']' || c == ')')
        read_transpose(reader);
    return true;
}

/* Whether the sign stands between two numbers: "1-2" or "1 - 2", but not "1 -2". */
static bool is_calculation(const struct reader *reader)
{
    if (reader->in_row == 0)
        return false;
    const char *before = reader->at - 1;
    while (*before == ' ' || *before == '\t')
        before--;
    size_t after = 1;
    while (peek(reader, after) == ' ')
        after++;
    bool apart = before < reader->at - 1;
    return digit(*before) && (digit(peek(reader, after)) || peek(reader, after) == '.') &&
           (!apart || after > 1);
}

/* A sign before a number. */
static bool read_sign(struct reader *reader, char c)
{
    if (peek(reader, 1) == '-' && c == '+') { /* ± 0.01: a remark */
        reader->end = reader->at;
        return reader->count > 0 || fail(reader, "expected a number, found '%.*s'", 8);
    }
    if (is_calculation(reader))
        return fail(reader, "expected numbers that are worked out, found a calculation at '%.*s'",
                    8);
    reader->at++;
    skip_blanks(reader);
    if (digit(peek(reader, 0)) || peek(reader, 0) == '.')
        return read_number(reader, c == '-' ? -1 : 1);
    if (word_length(reader) > 0)
        return read_word(reader, c == '-' ? -1 : 1);
    return c == '-' ? add(reader, (double)NAN, ATT_UNIT_EXACT) /* a dash: masked */
                    : fail(reader, "expected a number, found '%.*s'", 8);
}

static bool read_next(struct reader *reader)
{
    char c = *reader->at;
    if (c == '#' || (c == '/' && peek(reader, 1) == '/') || (c == '%' && reader->count > 0)) {
        while (reader->at < reader->end && *reader->at != '\n')
            reader->at++;
        return true;
    }
    if (strchr(" \t,&|", c)) {
        reader->at++;
        return true;
    }
    if (c == ';' || c == '\n') {
        reader->lines = reader->lines || (c == '\n' && reader->count > 0);
        end_row(reader);
        reader->at++;
        return true;
    }
    if (strchr("[](){}", c))
        return read_bracket(reader, c);
    if (c == '-' || c == '+')
        return read_sign(reader, c);
    if (c == ATT_FOREIGN_DIGIT)
        return fail(reader, "a digit of another script: expected the digits 0 to 9", 0);
    if (digit(c) || (c == '.' && digit(peek(reader, 1))))
        return read_number(reader, 1);
    if (c == '.' && reader->count > 0) { /* the end of a sentence */
        reader->at++;
        return true;
    }
    if (word_length(reader) > 0)
        return read_word(reader, 1);
    if (c == '^' && read_transpose(reader))
        return true;
    return fail(reader, "expected a number, found '%.*s'", 1);
}

/* ---- Shapes */

/* The numbers in rows of one length; otherwise a flat list. */
static void shape(const struct reader *reader, att_numbers *out)
{
    int64_t count = (int64_t)reader->count, rows = reader->rows;
    *out = (att_numbers){ .rows = 1, .cols = count, .flat = true };
    if (rows > 1 && count % rows == 0) {
        out->flat = false;
        for (int64_t i = 0; i < count; i++)
            out->flat = out->flat || reader->row[i] != i / (count / rows);
    }
    if (reader->decimal_comma && !reader->lines && rows == count)
        out->flat = true; /* 0,26; 0,74: the semicolon stands between the numbers of a list */
    if (!out->flat) {
        out->rows = rows;
        out->cols = count / rows;
    }
    out->values = reader->values;
    out->units = reader->units;
}

static bool transpose(att_arena *arena, att_numbers *numbers)
{
    int64_t rows = numbers->rows, cols = numbers->cols;
    double *values = att_arena_alloc(arena, (size_t)(rows * cols), sizeof *values);
    double *units = att_arena_alloc(arena, (size_t)(rows * cols), sizeof *units);
    if (!values || !units)
        return false;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            values[j * rows + i] = numbers->values[i * cols + j];
            units[j * rows + i] = numbers->units[i * cols + j];
        }
    *numbers = (att_numbers){ cols, rows, false, values, units };
    return true;
}

static bool read_all(struct reader *reader, att_numbers *out)
{
    while (reader->at < reader->end)
        if (!read_next(reader))
            return false;
    if (reader->count == 0)
        return fail(reader, "expected numbers, found none", 0);
    shape(reader, out);
    if (reader->turned && !transpose(reader->arena, out)) {
        reader->out_of_memory = true;
        return false;
    }
    return true;
}

bool att_answer_numbers(att_numbers *out, att_arena *arena, const char *text, size_t length,
                        int64_t expected, const char **problem)
{
    struct reader points = { .at = text, .end = text + length, .arena = arena };
    struct reader commas = points;
    att_numbers by_comma;
    commas.decimal_comma = true;
    *problem = NULL;
    bool as_points = read_all(&points, out);
    if (points.out_of_memory || (as_points && out->rows * out->cols == expected))
        return as_points;
    bool as_commas = memchr(text, ',', length) && read_all(&commas, &by_comma);
    if (commas.out_of_memory)
        return false;
    bool has_point = false;
    for (size_t i = 1; i + 1 < length; i++)
        has_point = has_point || (text[i] == '.' && digit(text[i - 1]) && digit(text[i + 1]));
    if (as_commas && (by_comma.rows * by_comma.cols == expected || !as_points || !has_point)) {
        *out = by_comma;
        return true;
    }
    if (!as_points)
        *problem = points.problem;
    return as_points;
}
