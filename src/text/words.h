/* The words of a line as they are written: whitespace-separated and in composed form, but with
 * their case. They are what character features are computed from. */
#ifndef ATT_TEXT_WORDS_H
#define ATT_TEXT_WORDS_H

#include "attend.h"

/* Appends the words of a line, each ended by a zero byte, at most `max_words` of them. *count
 * receives their number. `scratch` is working memory of the caller. */
att_status att_words_split(att_string *out, att_string *scratch, const char *line, size_t length,
                           size_t max_words, size_t *count, att_error *err);

#endif
