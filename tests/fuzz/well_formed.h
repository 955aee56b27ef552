/* Cheap checks that rendered output is well-formed, whatever the labels in it: tags are balanced,
 * markup characters escaped, JSON can be read, braces of LaTeX match. */
#ifndef TESTS_FUZZ_WELL_FORMED_H
#define TESTS_FUZZ_WELL_FORMED_H

#include "base/json.h"
#include "base/utf8.h"
#include "fuzz/fuzz.h"

#include <ctype.h>

enum { TAG_DEPTH = 64 };

typedef struct tag_stack {
    const char *names[TAG_DEPTH];
    size_t lengths[TAG_DEPTH];
    int depth;
} tag_stack;

/* Elements of HTML that have no end tag. */
static inline bool is_void_tag(const char *name, size_t length)
{
    static const char *const names[] = { "meta", "br", "hr", "img", "col", "input", "link" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return false;
}

/* Reads the tag at `at`, "<…", and returns its end, after the ">". Attributes are quoted. */
static inline const char *check_tag(const char *at, const char *end, tag_stack *tags)
{
    bool closing = at[1] == '/';
    const char *name = at + 1 + closing, *stop = name;
    while (stop < end && (isalnum((unsigned char)*stop) || *stop == '-' || *stop == ':'))
        stop++;
    PROMISE(stop > name);
    size_t length = (size_t)(stop - name);
    char quote = 0, before = 0;
    for (; stop < end && (quote || *stop != '>'); before = *stop++) {
        PROMISE(quote == 0 || *stop != '<');
        PROMISE(quote != 0 || *stop != '<');
        if (*stop == '"' || *stop == '\'')
            quote = quote == *stop ? 0 : quote ? quote : *stop;
    }
    PROMISE(stop < end);
    if (closing) {
        PROMISE(tags->depth > 0);
        tags->depth--;
        PROMISE(tags->lengths[tags->depth] == length &&
                memcmp(tags->names[tags->depth], name, length) == 0);
    } else if (before != '/' && !is_void_tag(name, length)) {
        PROMISE(tags->depth < TAG_DEPTH);
        tags->names[tags->depth] = name;
        tags->lengths[tags->depth++] = length;
    }
    return stop + 1;
}

/* The end of an element whose contents are not markup, or NULL where `at` is not in one. */
static inline const char *raw_end(const char *at, const char *end, const tag_stack *tags)
{
    if (tags->depth == 0)
        return NULL;
    const char *name = tags->names[tags->depth - 1];
    size_t length = tags->lengths[tags->depth - 1];
    if (length == 5 && memcmp(name, "style", 5) == 0)
        return memmem(at, (size_t)(end - at), "</style", 7);
    if (length == 6 && memcmp(name, "script", 6) == 0)
        return memmem(at, (size_t)(end - at), "</script", 8);
    return NULL;
}

static inline void check_markup(const att_string *text)
{
    tag_stack tags = { 0 };
    const char *at = text->data, *end = text->data + text->length;
    while (at < end) {
        const char *raw = raw_end(at, end, &tags);
        at = raw ? raw : at;
        if (*at == '<' && end - at > 1 && at[1] != '!' && at[1] != '?') {
            at = check_tag(at, end, &tags);
            continue;
        }
        if (*at == '&')
            PROMISE(memchr(at, ';', end - at > 12 ? 12 : (size_t)(end - at)) != NULL);
        unsigned char byte = (unsigned char)*at++;
        PROMISE(byte >= ' ' || byte == '\n' || byte == '\t');
    }
    PROMISE(tags.depth == 0);
}

static inline void check_latex(const att_string *text)
{
    int64_t depth = 0;
    for (size_t i = 0; i < text->length; i++) {
        if (text->data[i] == '\\') {
            i++;
            continue;
        }
        depth += (text->data[i] == '{') - (text->data[i] == '}');
        PROMISE(depth >= 0);
    }
    PROMISE(depth == 0);
}

/* Text for a terminal contains no control characters of ours where colors are off. */
static inline void check_plain(const att_string *text)
{
    for (size_t i = 0; i < text->length; i++)
        PROMISE((unsigned char)text->data[i] >= ' ' || text->data[i] == '\n');
}

static inline void check_well_formed(const att_string *text, att_format format, bool colored)
{
    att_json_doc doc;
    if (text->length == 0)
        return;
    PROMISE(att_utf8_valid(text->data, text->length));
    if (format == ATT_FORMAT_HTML || format == ATT_FORMAT_SVG)
        check_markup(text);
    if (format == ATT_FORMAT_LATEX)
        check_latex(text);
    if (format == ATT_FORMAT_TEXT && !colored)
        check_plain(text);
    if (format == ATT_FORMAT_JSON) {
        PROMISE(att_json_read(&doc, text->data, text->length, "output", NULL, NULL) == ATT_OK);
        att_json_free(&doc);
    }
}

#endif
