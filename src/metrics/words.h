/* Lines of text as the symbols that metrics compare. */
#ifndef ATT_METRICS_WORDS_H
#define ATT_METRICS_WORDS_H

#include "metrics/measure.h"

/* What BLEU takes for words: the words of its option, in this order. */
typedef enum att_tokeniser {
    ATT_TOKENISER_13A,  /* that of mteval-v13a: punctuation and symbols of ASCII apart */
    ATT_TOKENISER_NONE, /* what stands between white space */
    ATT_TOKENISER_CHAR, /* code points */
    ATT_TOKENISER_INTL, /* that of mteval-v14: punctuation and symbols of all scripts apart */
} att_tokeniser;

extern const char *const att_tokeniser_words[]; /* NULL-ended */

/* Replaces *out by the line with spaces between its words, and perhaps more of them. */
att_status att_tokenise(att_text *out, att_tokeniser tokeniser, const char *line, size_t length);

/* Replaces *out by the line in small letters, as Unicode's full mapping has them. */
att_status att_lower(att_text *out, const char *line, size_t length);

/* White space as Unicode has it, and the separators of ASCII. */
bool att_is_white(uint32_t code);

/* Appends the symbols of a kind that a line has; words are numbered by `words`, which learns those
 * that are new. The line is already tokenised and in small letters, where that was wanted. */
att_status att_symbols_read(att_ids *out, att_symbols_kind kind, att_vocab *words, const char *line,
                            size_t length, att_error *err);

#endif
