/* Splits the text into tokens and changes one of them, or the span of a value or member. */
#include "fuzz/mutate_json.h"

#include "base/json.h"
#include "base/string.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 1 << 14 };

typedef struct token {
    const char *start;
    size_t length;
    char kind; /* '"' string, '0' number, 'a' literal, else the character itself */
} token;

typedef struct tokens {
    token *items;
    size_t count;
} tokens;

/* The tokens from `first` to `last`, last included. */
typedef struct span {
    size_t first, last;
} span;

uint64_t mutate_seed(unsigned seed)
{
    return (seed + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15);
}

size_t mutate_random(uint64_t *state, size_t count)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (size_t)((*state >> 11) % count);
}

/* ---- tokens */

static size_t token_length(const char *at, const char *end, char *kind)
{
    const char *start = at;
    *kind = *at;
    if (*at == '"') {
        for (at++; at < end && *at != '"'; at++)
            at += *at == '\\' && at + 1 < end;
        return (size_t)(at - start) + (at < end);
    }
    bool number = isdigit((unsigned char)*at) || *at == '-';
    *kind = number ? '0' : isalpha((unsigned char)*at) ? 'a' : *at;
    if (*kind != '0' && *kind != 'a')
        return 1;
    for (; at < end && (isalnum((unsigned char)*at) || strchr("+-._", *at)) && *at; at++)
        continue;
    return at > start ? (size_t)(at - start) : 1;
}

static bool split(tokens *out, const char *text, size_t length)
{
    const char *end = text + length;
    out->count = 0;
    out->items = malloc(MAX_TOKENS * sizeof *out->items);
    for (const char *at = text; out->items && at < end && out->count < MAX_TOKENS;) {
        if (isspace((unsigned char)*at)) {
            at++;
            continue;
        }
        token *next = &out->items[out->count++];
        next->start = at;
        next->length = token_length(at, end, &next->kind);
        at += next->length;
    }
    return out->items && out->count > 0;
}

/* The value that starts at token `at`, to its closing bracket. */
static span value_span(const tokens *in, size_t at)
{
    size_t last = at, depth = 0;
    for (; last < in->count; last++) {
        char kind = in->items[last].kind;
        depth += kind == '{' || kind == '[';
        if ((kind == '}' || kind == ']') && depth > 0)
            depth--;
        if (depth == 0)
            break;
    }
    return (span){ at, last < in->count ? last : in->count - 1 };
}

static bool is_key(const tokens *in, size_t at)
{
    return in->items[at].kind == '"' && at + 1 < in->count && in->items[at + 1].kind == ':';
}

static bool starts_value(const tokens *in, size_t at)
{
    return strchr(",:]}", in->items[at].kind) == NULL && !is_key(in, at);
}

static bool contains_json(const tokens *in, size_t at)
{
    const token *string = &in->items[at];
    return string->kind == '"' && string->length > 2 && strchr("{[", string->start[1]) &&
           starts_value(in, at);
}

/* A random value, or with `member` an item or member with its key. Every second time a string that
 * contains JSON, if there is one: in the header of a model they are few among many tensors. */
static span pick(const tokens *in, uint64_t *random, bool member)
{
    size_t at = mutate_random(random, in->count), tries = 0;
    if (mutate_random(random, 2) == 0)
        for (tries = 0; tries < in->count && !contains_json(in, at); tries++)
            at = (at + 1) % in->count;
    for (tries = 0; tries < in->count && !starts_value(in, at); tries++)
        at = (at + 1) % in->count;
    span found = value_span(in, at);
    if (member && at >= 2 && in->items[at - 1].kind == ':')
        found.first = at - 2;
    return found;
}

/* ---- output */

static bool put_tokens(att_string *out, const tokens *in, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (att_string_append(out, in->items[i].start, in->items[i].length) != ATT_OK)
            return false;
    return true;
}

static bool put_span(att_string *out, const tokens *in, span what)
{
    return put_tokens(out, in, what.first, what.last + 1);
}

/* The whole text with `what` replaced. */
static bool replace(att_string *out, const tokens *in, span what, const char *with, size_t length)
{
    return put_tokens(out, in, 0, what.first) && att_string_append(out, with, length) == ATT_OK &&
           put_tokens(out, in, what.last + 1, in->count);
}

/* ---- changes */

static bool change_number(att_string *out, const tokens *in, span at, uint64_t *random)
{
    static const char *const edges[] = { "0",
                                         "1",
                                         "-1",
                                         "2",
                                         "3",
                                         "4",
                                         "7",
                                         "8",
                                         "16",
                                         "255",
                                         "256",
                                         "65535",
                                         "65536",
                                         "0.5",
                                         "-0.0",
                                         "1e-320",
                                         "1e308",
                                         "2147483647",
                                         "2147483648",
                                         "4294967296",
                                         "9007199254740993",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "1e999" };
    static const int steps[] = { 1, -1, 2, -2 };
    char text[32];
    long long number = strtoll(in->items[at.first].start, NULL, 10);
    size_t edge = mutate_random(random, 2 * sizeof edges / sizeof *edges);
    if (edge < sizeof edges / sizeof *edges)
        return replace(out, in, at, edges[edge], strlen(edges[edge]));
    number = (long long)((unsigned long long)number + (unsigned long long)steps[edge % 4]);
    snprintf(text, sizeof text, "%lld", number);
    return replace(out, in, at, text, strlen(text));
}

/* The key or string of another token. */
static bool change_to_other(att_string *out, const tokens *in, span at, uint64_t *random)
{
    size_t other = mutate_random(random, in->count);
    for (size_t i = 0; i < in->count && in->items[other].kind != '"'; i++)
        other = (other + 1) % in->count;
    return replace(out, in, at, in->items[other].start, in->items[other].length);
}

/* A string that is JSON, as JSON: *handled where it was one. */
static bool change_inside(att_string *out, const tokens *in, span at, uint64_t *random,
                          bool *handled)
{
    const token *string = &in->items[at.first];
    att_json_doc doc;
    att_string inner = { 0 }, quoted = { 0 };
    *handled = false;
    if (att_json_read(&doc, string->start, string->length, "string", NULL, NULL) != ATT_OK)
        return false;
    bool done = false;
    if (doc.root->length > 0 && strchr("{[", doc.root->string[0])) {
        *handled = true;
        done = mutate_json(&inner, doc.root->string, doc.root->length, random) &&
               att_json_escape(&quoted, inner.data, inner.length, ATT_JSON_REPLACE) == ATT_OK &&
               replace(out, in, at, quoted.data, quoted.length);
    }
    att_json_free(&doc);
    att_string_free(&inner);
    att_string_free(&quoted);
    return done;
}

static bool change_string(att_string *out, const tokens *in, span at, uint64_t *random)
{
    static const char *const strings[] = {
        "\"\"",     "\" \"",        "\"\\n\"",   "\"\\u001b[31m\"",  "\"yes\"", "\"no\"",
        "\"none\"", "\"\xC3\xA9\"", "\"<unk>\"", "\"\xE2\x96\x81\"", "\"1\"",   "\"-1\"",
        "\"../x\"", "\"-\"",        "\"%s%n\"",  "\"\\\"\\\\&<'\""
    };
    bool inside;
    bool done = change_inside(out, in, at, random, &inside);
    if (inside)
        return done;
    if (mutate_random(random, 2) == 0)
        return change_to_other(out, in, at, random);
    const char *string = strings[mutate_random(random, sizeof strings / sizeof *strings)];
    return replace(out, in, at, string, strlen(string));
}

static bool change_value(att_string *out, const tokens *in, uint64_t *random)
{
    static const char *const others[] = {
        "true", "false", "null", "{}", "[]", "[0]", "\"x\"", "-1"
    };
    span at = pick(in, random, false);
    char kind = in->items[at.first].kind;
    bool keep_type = mutate_random(random, 8) != 0;
    if (keep_type && kind == '0')
        return change_number(out, in, at, random);
    if (keep_type && kind == '"')
        return change_string(out, in, at, random);
    if (keep_type && kind == 'a') {
        bool was = in->items[at.first].start[0] == 't';
        return replace(out, in, at, was ? "false" : "true", was ? 5 : 4);
    }
    const char *other = others[mutate_random(random, sizeof others / sizeof *others)];
    return replace(out, in, at, other, strlen(other));
}

static bool delete_member(att_string *out, const tokens *in, uint64_t *random)
{
    span at = pick(in, random, true);
    if (at.last + 1 < in->count && in->items[at.last + 1].kind == ',')
        at.last++;
    else if (at.first > 0 && in->items[at.first - 1].kind == ',')
        at.first--;
    return replace(out, in, at, "", 0);
}

static bool repeat_member(att_string *out, const tokens *in, uint64_t *random)
{
    span at = pick(in, random, true);
    return put_tokens(out, in, 0, at.last + 1) && att_string_append(out, ",", 1) == ATT_OK &&
           put_span(out, in, at) && put_tokens(out, in, at.last + 1, in->count);
}

static bool swap_values(att_string *out, const tokens *in, uint64_t *random)
{
    span a = pick(in, random, false), b = pick(in, random, false);
    if (a.first > b.first) {
        span first = b;
        b = a;
        a = first;
    }
    if (a.last >= b.first)
        return change_value(out, in, random);
    return put_tokens(out, in, 0, a.first) && put_span(out, in, b) &&
           put_tokens(out, in, a.last + 1, b.first) && put_span(out, in, a) &&
           put_tokens(out, in, b.last + 1, in->count);
}

static bool change_key(att_string *out, const tokens *in, uint64_t *random)
{
    size_t at = mutate_random(random, in->count);
    for (size_t i = 0; i < in->count && !is_key(in, at); i++)
        at = (at + 1) % in->count;
    return change_to_other(out, in, (span){ at, at }, random);
}

bool mutate_json(att_string *out, const char *text, size_t length, uint64_t *random)
{
    typedef bool change(att_string * out, const tokens *in, uint64_t *random);
    static change *const changes[] = { change_value,  change_value,  change_value, change_value,
                                       delete_member, repeat_member, swap_values,  change_key };
    tokens in;
    bool done = split(&in, text, length) &&
                changes[mutate_random(random, sizeof changes / sizeof *changes)](out, &in, random);
    free(in.items);
    return done;
}
