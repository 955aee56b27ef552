/* Lines of text as the symbols that metrics compare. */
#ifndef ATT_METRICS_SYMBOLS_H
#define ATT_METRICS_SYMBOLS_H

#include "metrics/metric_spec.h"

/* What BLEU takes for words: the words of its option, in this order. */
typedef enum att_metric_tokenizer {
    ATT_METRIC_TOKENIZER_13A,  /* that of mteval-v13a: punctuation and symbols of ASCII apart */
    ATT_METRIC_TOKENIZER_NONE, /* what stands between white space */
    ATT_METRIC_TOKENIZER_CHAR, /* code points */
    ATT_METRIC_TOKENIZER_INTL, /* that of mteval-v14: punctuation and symbols of all scripts apart
                                */
} att_metric_tokenizer;

extern const char *const att_metric_tokenizer_names[]; /* NULL-ended */

/* Replaces *out by the line with spaces between its words, and perhaps more of them. */
att_status att_metric_tokenize(att_string *out, att_metric_tokenizer tokeniser, const char *line,
                               size_t length);

/* Replaces *out by the line in small letters, as Unicode's full mapping has them. */
att_status att_lowercase(att_string *out, const char *line, size_t length);

/* White space as Unicode has it, and the separators of ASCII. */
bool att_is_whitespace(uint32_t code);

/* Appends the symbols of a kind that a line has; words are numbered by `words`, which learns those
 * that are new. The line is already tokenised and in small letters, where that was wanted. */
att_status att_symbols_parse(att_ids *out, att_symbol_kind kind, att_string_set *words,
                             const char *line, size_t length, att_error *err);

#endif
