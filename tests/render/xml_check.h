/* A small check of well-formed XML: elements nest and close, attributes are quoted and unique, no
 * bare '&' or '<', no control characters. Include after cmocka.h. */
#ifndef TEST_XML_CHECK_H
#define TEST_XML_CHECK_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { XML_DEPTH = 64 };

static inline const char *xml_name_end(const char *at)
{
    while (isalnum((unsigned char)*at) || *at == '-' || *at == ':' || *at == '_')
        at++;
    return at;
}

/* Past a reference such as &lt; or &#x2061; or NULL. */
static inline const char *xml_reference(const char *at)
{
    const char *end = at + 1 + (at[1] == '#');
    const char *stop = xml_name_end(end);
    return stop > end && *stop == ';' ? stop + 1 : NULL;
}

/* Past the attributes of a tag, at '>' or '/', or NULL. */
static inline const char *xml_attributes(const char *at)
{
    const char *seen[32];
    size_t lengths[32], count = 0;
    for (;;) {
        const char *start = at;
        while (isspace((unsigned char)*at))
            at++;
        if (*at == '>' || *at == '/')
            return at;
        const char *name = at;
        at = xml_name_end(at);
        if (at == name || start == name || count == 32 || at[0] != '=' || at[1] != '"')
            return NULL;
        for (size_t i = 0; i < count; i++)
            if (lengths[i] == (size_t)(at - name) && memcmp(seen[i], name, lengths[i]) == 0)
                return NULL;
        seen[count] = name;
        lengths[count++] = (size_t)(at - name);
        for (at += 2; *at != '"';) {
            if (*at == '<' || *at == '\0')
                return NULL;
            at = *at == '&' ? xml_reference(at) : at + 1;
            if (!at)
                return NULL;
        }
        at++;
    }
}

/* The place of the first error, or NULL if the document is well-formed. */
static inline const char *xml_fault(const char *text)
{
    const char *open[XML_DEPTH];
    size_t lengths[XML_DEPTH], depth = 0, elements = 0;
    const char *at = text;
    if (strncmp(at, "<?xml", 5) == 0)
        at = strchr(at, '>') + 1;
    if (strncmp(at, "<!doctype html>", 15) == 0)
        at += 15;
    while (*at) {
        const char *start = at;
        if (*at == '&') {
            at = xml_reference(at);
        } else if (*at != '<') {
            bool outside = depth == 0 && !isspace((unsigned char)*at);
            bool control = (unsigned char)*at < 0x20 && *at != '\n' && *at != '\t';
            at = outside || control ? NULL : at + 1;
        } else if (at[1] == '/') {
            const char *end = xml_name_end(at + 2);
            bool same = depth > 0 && lengths[depth - 1] == (size_t)(end - at - 2) &&
                        memcmp(open[depth - 1], at + 2, lengths[depth - 1]) == 0;
            depth -= same;
            at = same && *end == '>' ? end + 1 : NULL;
        } else {
            const char *end = xml_name_end(at + 1);
            if (depth == XML_DEPTH || end == at + 1 || (depth == 0 && elements > 0))
                return start;
            open[depth] = at + 1;
            lengths[depth++] = (size_t)(end - at - 1);
            elements++;
            at = xml_attributes(end);
            if (at && *at == '/') {
                depth--;
                at++;
            }
            at = at && *at == '>' ? at + 1 : NULL;
        }
        if (!at)
            return start;
    }
    return depth == 0 && elements > 0 ? NULL : at;
}

static inline void assert_well_formed(const char *text)
{
    const char *fault = xml_fault(text);
    if (fault)
        fail_msg("not well-formed XML at: %.60s", fault);
}

#endif
