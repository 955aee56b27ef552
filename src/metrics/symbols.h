/* Tokenizers of metrics, and lines of text as the symbols that metrics compare. */
#ifndef ATT_METRICS_SYMBOLS_H
#define ATT_METRICS_SYMBOLS_H

#include "metrics/metric_spec.h"

/* The tokenizer of BLEU, in the order of the names. */
typedef enum att_metric_tokenizer {
    ATT_METRIC_TOKENIZER_13A,  /* mteval-v13a: splits off ASCII punctuation and symbols */
    ATT_METRIC_TOKENIZER_NONE, /* splits at white space */
    ATT_METRIC_TOKENIZER_CHAR, /* code points */
    ATT_METRIC_TOKENIZER_INTL, /* mteval-v14: splits off punctuation and symbols of all scripts */
} att_metric_tokenizer;

extern const char *const att_metric_tokenizer_names[]; /* ended by NULL */

/* Replaces *out by the line with at least one space between its words. */
att_status att_metric_tokenize(att_string *out, att_metric_tokenizer tokenizer, const char *line,
                               size_t length);

/* Replaces *out by the line in lower case, by the full mapping of Unicode. */
att_status att_lowercase(att_string *out, const char *line, size_t length);

/* Unicode white space, and the ASCII separators U+001C to U+001F. */
bool att_is_whitespace(uint32_t code);

/* Appends the symbols of a line to *out. A word's symbol is its number in `words`, to which new
 * words are added. The line must already be tokenized and lowercased, if that is wanted. */
att_status att_symbols_parse(att_ids *out, att_symbol_kind kind, att_string_set *words,
                             const char *line, size_t length, att_error *err);

#endif
