/* The JSON reader: one pass over the text with an explicit stack, without recursion.
 *
 * Invariant of the stack: an open array or object is followed by the items read so far, and its
 * `count` is the stack index of its parent, or NOTHING_OPEN. Closing it copies the items into the
 * arena, side by side, and pops them. */
#include "base/json.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/number.h"
#include "base/quote.h"
#include "base/utf8.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_SIZE = 100 * 1000 * 1000,
    DEFAULT_DEPTH = 64,
    DEFAULT_MEMORY = 1 << 28,
};

static const size_t NOTHING_OPEN = SIZE_MAX;

typedef struct parser {
    const char *text;
    const char *at;
    const char *end;
    const char *name;
    att_error *err;
    att_json_limits limits;
    att_arena *arena;
    att_json *stack; /* [count], room for capacity */
    size_t count;
    size_t capacity;
    size_t open; /* stack index of the innermost open array or object */
    size_t depth;
} parser;

/* ---- errors */

static att_status fail(const parser *p, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reports the line and column of `where`. Columns count characters, as editors do. */
static att_status fail(const parser *p, const char *where, const char *format, ...)
{
    int line = 1, column = 1;
    for (const char *c = p->text; c < where; c++) {
        bool inside = ((unsigned char)*c & 0xC0) == 0x80; /* not the first byte of a character */
        column = *c == '\n' ? 1 : column + (!inside && column < INT_MAX);
        line += *c == '\n' && line < INT_MAX;
    }
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return att_fail_at(p->err, ATT_BAD_INPUT, p->name, line, column, NULL, "%s", what);
}

static att_status fail_expected(const parser *p, const char *expected)
{
    char quoted[ATT_QUOTED_SIZE];
    uint32_t code;
    size_t left = (size_t)(p->end - p->at), size = att_utf8_decode(&code, p->at, left);
    if (left == 0)
        return fail(p, p->at, "expected %s, found the end of the text", expected);
    return fail(p, p->at, "expected %s, found '%s'", expected,
                att_quote(quoted, p->at, size > 0 ? size : 1));
}

static att_status fail_memory(const parser *p)
{
    if (p->arena->limit_reached)
        return fail(p, p->at, "the values need more memory than the %zu bytes allowed",
                    p->limits.memory);
    return att_fail_memory(p->err);
}

/* ---- the stack */

static att_status push(parser *p, att_json value)
{
    if (p->count == p->capacity) {
        if (p->count > p->limits.memory / sizeof value) {
            p->arena->limit_reached = true; /* the arena would have to hold all of them */
            return fail_memory(p);
        }
        void *stack = p->stack;
        if (!att_array_grow(&stack, &p->capacity, p->count, sizeof value))
            return fail_memory(p);
        p->stack = stack;
    }
    p->stack[p->count++] = value;
    return ATT_OK;
}

static int compare_keys(const void *a, const void *b)
{
    const att_json *const *left = a, *const *right = b;
    return strcmp((*left)->key, (*right)->key);
}

/* Pointers to the members, sorted by key; they follow the members in memory. */
static const att_json **sorted_members(const att_json *object)
{
    return (const att_json **)(uintptr_t)(object->items + object->count);
}

const att_json *att_json_find(const att_json *object, const char *key)
{
    if (!object || object->type != ATT_JSON_OBJECT)
        return NULL;
    const att_json wanted = { .key = key }, *pointer = &wanted;
    const att_json **found =
        bsearch(&pointer, sorted_members(object), object->count, sizeof(att_json *), compare_keys);
    return found ? *found : NULL;
}

/* Sorts the members by key and refuses duplicates. */
static att_status sort_members(const parser *p, const att_json *object)
{
    const att_json **sorted = sorted_members(object);
    for (size_t i = 0; i < object->count; i++)
        sorted[i] = &object->items[i];
    qsort(sorted, object->count, sizeof *sorted, compare_keys);
    for (size_t i = 1; i < object->count; i++) {
        char quoted[ATT_QUOTED_SIZE];
        const char *key = sorted[i]->key;
        if (strcmp(sorted[i - 1]->key, key) == 0)
            return fail(p, p->at, "the object that ends here has the key \"%s\" twice",
                        att_quote(quoted, key, strlen(key)));
    }
    return ATT_OK;
}

static att_status open_container(parser *p, const char *key, att_json_type type)
{
    if (p->depth == p->limits.depth)
        return fail(p, p->at, "arrays and objects are nested deeper than the %zu levels allowed",
                    p->limits.depth);
    ATT_TRY(push(p, (att_json){ .type = type, .key = key, .items = NULL, .count = p->open }));
    p->open = p->count - 1;
    p->depth++;
    p->at++;
    return ATT_OK;
}

static att_status close_container(parser *p)
{
    att_json *closed = &p->stack[p->open];
    size_t around = closed->count, count = p->count - p->open - 1;
    bool object = closed->type == ATT_JSON_OBJECT;
    att_json *items =
        att_arena_alloc(p->arena, count, sizeof *items + (object ? sizeof(att_json *) : 0));
    if (!items)
        return fail_memory(p);
    memcpy(items, closed + 1, count * sizeof *items);
    closed->items = items;
    closed->count = count;
    if (object)
        ATT_TRY(sort_members(p, closed));
    p->count = p->open + 1;
    p->open = around;
    p->depth--;
    p->at++;
    return ATT_OK;
}

/* ---- strings */

/* Reads the four digits of \uXXXX. */
static att_status read_hex(parser *p, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = p->at < p->end ? memchr(digits, *p->at, sizeof digits - 1) : NULL;
        if (!digit)
            return fail_expected(p, "four hexadecimal digits after \\u");
        *out = *out << 4 | ((uint32_t)(digit - digits) & 15);
    }
    return ATT_OK;
}

/* Reads the code point after "\u", which may take a surrogate pair. */
static att_status read_code(parser *p, uint32_t *out)
{
    const char *start = p->at - 2;
    uint32_t low;
    ATT_TRY(read_hex(p, out));
    if (*out == 0)
        return fail(p, start, "a string contains U+0000, which is not allowed");
    if (*out < 0xD800 || *out > 0xDFFF)
        return ATT_OK;
    if (*out > 0xDBFF || p->end - p->at < 2 || p->at[0] != '\\' || p->at[1] != 'u')
        return fail(p, start, "a surrogate has no partner: expected a pair, as \\uD83D\\uDE00");
    p->at += 2;
    ATT_TRY(read_hex(p, &low));
    if (low < 0xDC00 || low > 0xDFFF)
        return fail(p, start, "a surrogate has no partner: expected a pair, as \\uD83D\\uDE00");
    *out = 0x10000 + ((*out & 0x3FF) << 10) + (low & 0x3FF);
    return ATT_OK;
}

static char *put_utf8(char *to, uint32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned lead[] = { 0, 0xC0, 0xE0, 0xF0 };
    *to++ = (char)(lead[more] | code >> 6 * more);
    while (more-- > 0)
        *to++ = (char)(0x80 | (code >> 6 * more & 0x3F));
    return to;
}

/* Reads the escape after a backslash and appends its character at *to. */
static att_status read_escape(parser *p, char **to)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter = p->at < p->end ? memchr(letters, *p->at, sizeof letters - 1) : NULL;
    uint32_t code;
    if (letter) {
        *(*to)++ = meanings[letter - letters];
        p->at++;
        return ATT_OK;
    }
    if (p->at == p->end || *p->at != 'u')
        return fail_expected(p, "one of \" \\ / b f n r t u after a backslash");
    p->at++;
    ATT_TRY(read_code(p, &code));
    *to = put_utf8(*to, code);
    return ATT_OK;
}

/* Returns the closing quote of the current string, or the end of the text. */
static const char *find_quote(const parser *p)
{
    const char *c = p->at;
    while (c < p->end && *c != '"')
        c += *c == '\\' && p->end - c > 1 ? 2 : 1;
    return c;
}

/* Decodes the characters up to the quote into *to. The result is never longer than the source. */
static att_status read_characters(parser *p, char **to, const char *quote)
{
    while (p->at < quote) {
        uint32_t code;
        size_t size = att_utf8_decode(&code, p->at, (size_t)(quote - p->at));
        if (size == 0)
            return fail(p, p->at, "a string is not UTF-8");
        if (code < 0x20)
            return fail(p, p->at, "a control character in a string must be escaped");
        if (code == '\\') {
            p->at++;
            ATT_TRY(read_escape(p, to));
            continue;
        }
        memcpy(*to, p->at, size);
        *to += size;
        p->at += size;
    }
    return ATT_OK;
}

/* Reads a string, from its opening quote on, into the arena. */
static att_status read_string(parser *p, const char **out, size_t *length)
{
    const char *start = p->at++;
    const char *quote = find_quote(p);
    size_t room = (size_t)(quote - p->at) + 1;
    char *string = att_arena_alloc(p->arena, room, 1), *to = string;
    if (!string)
        return fail_memory(p);
    ATT_TRY(read_characters(p, &to, quote));
    if (p->at == p->end)
        return fail(p, start, "the string that starts here has no closing quote");
    *out = string;
    *length = (size_t)(to - string);
    if (*length > p->limits.string)
        return fail(p, start, "a string has %zu bytes, at most %zu are allowed", *length,
                    p->limits.string);
    p->at = quote + 1;
    return ATT_OK;
}

/* ---- numbers */

static const char *skip_digits(const parser *p, const char *c)
{
    while (c < p->end && *c >= '0' && *c <= '9')
        c++;
    return c;
}

/* Skips one or more digits. */
static att_status read_digits(parser *p)
{
    const char *after = skip_digits(p, p->at);
    if (after == p->at)
        return fail_expected(p, "a digit");
    p->at = after;
    return ATT_OK;
}

/* Skips a number and checks its grammar; *whole: it has neither fraction nor exponent. */
static att_status scan_number(parser *p, bool *whole)
{
    *whole = true;
    p->at += *p->at == '-';
    const char *first = p->at;
    ATT_TRY(read_digits(p));
    if (*first == '0' && p->at - first > 1)
        return fail(p, first, "a number must not have leading zeros");
    if (p->at < p->end && *p->at == '.') {
        *whole = false;
        p->at++;
        ATT_TRY(read_digits(p));
    }
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        *whole = false;
        p->at++;
        p->at += p->at < p->end && (*p->at == '+' || *p->at == '-');
        ATT_TRY(read_digits(p));
    }
    return ATT_OK;
}

static att_status read_number(parser *p, att_json *out)
{
    const char *start = p->at;
    bool whole;
    ATT_TRY(scan_number(p, &whole));
    char few[64], *copy = few;
    size_t length = (size_t)(p->at - start);
    if (length < sizeof few) {
        memcpy(few, start, length);
        few[length] = '\0';
    } else {
        copy = att_arena_strndup(p->arena, start, length);
        if (!copy)
            return fail_memory(p);
    }
    if (whole && att_int_parse(&out->integer, copy)) {
        out->type = ATT_JSON_INTEGER;
        out->number = *start == '-' && out->integer == 0 ? -0.0 : (double)out->integer;
        return ATT_OK;
    }
    out->type = ATT_JSON_NUMBER;
    out->integer = 0;
    if (!att_double_parse(&out->number, copy))
        return fail(p, start, "a number is too large for a double");
    return ATT_OK;
}

/* ---- values */

static void skip_space(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

static bool next_is(const parser *p, char c)
{
    return p->at < p->end && *p->at == c;
}

static bool take_word(parser *p, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0)
        return false;
    p->at += length;
    return true;
}

static att_status read_scalar(parser *p, att_json *out)
{
    if (next_is(p, '"')) {
        out->type = ATT_JSON_STRING;
        return read_string(p, &out->string, &out->length);
    }
    if (next_is(p, '-') || skip_digits(p, p->at) > p->at)
        return read_number(p, out);
    out->type = take_word(p, "null") ? ATT_JSON_NULL : ATT_JSON_BOOL;
    if (out->type == ATT_JSON_NULL)
        return ATT_OK;
    out->boolean = take_word(p, "true");
    return out->boolean || take_word(p, "false") ? ATT_OK : fail_expected(p, "a value");
}

static char closing_bracket(const parser *p)
{
    return p->stack[p->open].type == ATT_JSON_OBJECT ? '}' : ']';
}

static att_status read_key(parser *p, const char **out)
{
    size_t length;
    if (!next_is(p, '"'))
        return fail_expected(p, "a key in double quotes");
    ATT_TRY(read_string(p, out, &length));
    skip_space(p);
    if (!next_is(p, ':'))
        return fail_expected(p, "':'");
    p->at++;
    skip_space(p);
    return ATT_OK;
}

/* Reads a scalar, an empty array or object, or the opening bracket of one with items; only the last
 * is not *complete. */
static att_status read_value(parser *p, bool *complete)
{
    att_json value = { .type = ATT_JSON_NULL };
    *complete = true;
    if (p->open != NOTHING_OPEN && p->stack[p->open].type == ATT_JSON_OBJECT)
        ATT_TRY(read_key(p, &value.key));
    if (!next_is(p, '[') && !next_is(p, '{')) {
        ATT_TRY(read_scalar(p, &value));
        return push(p, value);
    }
    ATT_TRY(open_container(p, value.key, *p->at == '[' ? ATT_JSON_ARRAY : ATT_JSON_OBJECT));
    skip_space(p);
    *complete = next_is(p, closing_bracket(p));
    return *complete ? close_container(p) : ATT_OK;
}

/* Skips the closing brackets and the comma after a complete value. */
static att_status read_ends(parser *p)
{
    for (skip_space(p); p->open != NOTHING_OPEN; skip_space(p)) {
        if (next_is(p, ',')) {
            p->at++;
            skip_space(p);
            return ATT_OK;
        }
        if (!next_is(p, closing_bracket(p)))
            return fail_expected(p, closing_bracket(p) == '}' ? "',' or '}'" : "',' or ']'");
        ATT_TRY(close_container(p));
    }
    return ATT_OK;
}

static att_status read_document(parser *p)
{
    if ((size_t)(p->end - p->text) > p->limits.size)
        return att_fail(p->err, ATT_BAD_INPUT, p->name,
                        "has %zu bytes of JSON, at most %zu are allowed",
                        (size_t)(p->end - p->text), p->limits.size);
    if (take_word(p, "\xEF\xBB\xBF"))
        return fail(p, p->text, "begins with a byte order mark, which JSON does not allow");
    bool complete;
    skip_space(p);
    do {
        ATT_TRY(read_value(p, &complete));
        if (complete)
            ATT_TRY(read_ends(p));
    } while (p->open != NOTHING_OPEN);
    return p->at == p->end ? ATT_OK : fail_expected(p, "the end of the text");
}

static att_json_limits with_defaults(const att_json_limits *given)
{
    att_json_limits limits = given ? *given : (att_json_limits){ 0 };
    limits.size = limits.size ? limits.size : DEFAULT_SIZE;
    limits.depth = limits.depth ? limits.depth : DEFAULT_DEPTH;
    limits.string = limits.string ? limits.string : SIZE_MAX;
    limits.memory = limits.memory ? limits.memory : DEFAULT_MEMORY;
    return limits;
}

att_status att_json_read(att_json_doc *out, const char *text, size_t length, const char *name,
                         const att_json_limits *limits, att_error *err)
{
    text = length > 0 ? text : "";
    parser p = { .text = text, .at = text, .end = text + length, .name = name, .err = err };
    p.limits = with_defaults(limits);
    p.open = NOTHING_OPEN;
    *out = (att_json_doc){ .arena.limit = p.limits.memory };
    p.arena = &out->arena;
    att_status status = read_document(&p);
    if (status == ATT_OK) {
        att_json *root = att_arena_alloc(p.arena, 1, sizeof *root);
        status = root ? ATT_OK : fail_memory(&p);
        if (root)
            *root = p.stack[0];
        out->root = root;
    }
    att_free(p.stack);
    if (status != ATT_OK)
        att_json_free(out);
    return status;
}

void att_json_free(att_json_doc *doc)
{
    att_arena_free(&doc->arena);
    doc->root = NULL;
}
