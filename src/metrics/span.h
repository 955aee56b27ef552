/* Metrics of taggers: F1 of spans as conlleval computes it, token and sentence accuracy.
 *
 * A label is "O", or a prefix and a type: "B-city". Prefixes of IOB1, IOB2 (B, I), BIOES and BILOU
 * (E or L: the end, S or U: a single token) are understood, in any order, as conlleval does: "I-x"
 * after "O" or after another type starts a span. A span is correct if its first token, its last
 * token and its type are. (Tjong Kim Sang and Buchholz 2000, "Introduction to the CoNLL-2000 shared
 * task: chunking".) */
#ifndef ATT_METRICS_SPAN_H
#define ATT_METRICS_SPAN_H

#include "attend.h"
#include "base/string_set.h"

/* Spans of one type, or of all. */
typedef struct att_span_count {
    int64_t support, predicted, correct;
} att_span_count;

/* Sums over sentences; start from {0}. */
typedef struct att_span_counts {
    att_span_count all;
    att_string_set types;    /* in the order in which they were seen */
    att_span_count *by_type; /* [types.count] */
    size_t capacity;         /* of by_type */
    int64_t tokens, correct_tokens;
    int64_t sentences, correct_sentences;
    bool has_spans; /* a label with one of the prefixes was seen */
} att_span_counts;

void att_span_counts_free(att_span_counts *counts);

/* Adds a sentence of `count` tokens: its true labels and the predicted ones. */
att_status att_span_counts_add(att_span_counts *counts, const char *const *truth,
                               const char *const *predicted, size_t count);

/* Precision, recall and F1; 0 where they are 0 / 0. */
att_label_metrics att_span_metrics(const att_span_count *count);

/* F1 of all spans; NaN where no label had a prefix. */
double att_span_counts_f1(const att_span_counts *counts);

#endif
