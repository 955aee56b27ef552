/* Regular expressions for properties of a text. The engine is our own, so that a property is the
 * same on every machine (that of libc depends on it and on the locale) and takes bounded time: it
 * simulates an automaton (Thompson 1968), with no backtracking.
 *
 * Literal characters in UTF-8, `.`, [a-z] and [^a-z], \d \w \s \D \W \S, \n \t and \ before a sign,
 * * + ? {m} {m,} {m,n}, groups ( ), alternatives |, ^ and $ at the ends of a line. A match is
 * within one line, the leftmost first, as long as it can be. */
#ifndef ATT_INSPECT_REGEX_H
#define ATT_INSPECT_REGEX_H

#include "attend.h"

typedef struct att_regex att_regex;

/* On failure the message has the column of `pattern`, and *out is NULL. */
att_status att_regex_new(att_regex **out, const char *pattern, att_error *err);
void att_regex_free(att_regex *regex);

/* Sets marks[i] to 1 for every byte of a match, and to 0 for the others. */
att_status att_regex_mark(const att_regex *regex, const char *text, size_t length, uint8_t *marks,
                          att_error *err);

#endif
