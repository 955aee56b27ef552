/* The words of a line as they are written: in composed form, but with their case. They are what
 * character features are computed from. */
#ifndef ATT_TEXT_WORDS_H
#define ATT_TEXT_WORDS_H

#include "text/vocab.h"

/* Appends the words of a line, each ended by a zero byte: one for each of the first `count` tokens
 * that the vocabulary, of words or whitespace-separated tokens, makes of it. A token
 * beyond the words (the end token) has an empty word. Where lowercasing changes their number, they
 * are lowercase. `scratch` is working memory of the caller. */
att_status att_words_split(att_string *out, att_string *scratch, const att_vocab *vocab,
                           const char *line, size_t length, size_t count, att_error *err);

#endif
