/* Lines of text as tokens, and back. A line is first brought to Unicode's composed form (NFC), so
 * that an é is one letter however it was typed.
 *
 * A build without utf8proc is exact up to U+02FF, where every character is composed already; beyond
 * it leaves characters as they are, takes each for a token of its own, and att_tokens_exact() says
 * no. */
#ifndef ATT_TEXT_TOKENS_H
#define ATT_TEXT_TOKENS_H

#include "attend.h"
#include "settings/settings.h"

/* Whether this build splits `text` as Unicode says. */
bool att_tokens_exact(const char *text, size_t length);

/* Replaces *out by the line in composed form and, if `lower`, in small letters. The line must be
 * UTF-8. */
att_status att_line_compose(att_text *out, const char *line, size_t length, bool lower,
                            att_error *err);

/* Walks over the tokens of a composed line; start from { .text, .length, .tokens }. White space at
 * the ends of a line and, but for characters, between tokens is dropped. */
typedef struct att_splitter {
    const char *text;
    size_t length;
    att_tokens tokens;
    size_t at;
} att_splitter;

/* The next token, lent; false at the end. */
bool att_split_next(att_splitter *splitter, const char **token, size_t *length);

/* Adds a token to a line under construction, which starts at `start` of *out, with the space before
 * it that it needs. Splitting the line again gives the tokens again. */
att_status att_tokens_join(att_text *out, size_t start, att_tokens tokens, const char *token);

#endif
