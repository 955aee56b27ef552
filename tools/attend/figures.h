/* What `attend eval` found, as lines or as one object. */
#ifndef FIGURES_H
#define FIGURES_H

#include "attend.h"

/* The figures of a model's tokens; NULL: there is no model, and `lines` are of text alone. */
typedef struct eval_report {
    const att_seq2seq_eval *scores;
    int64_t lines;
    const char *unit;                /* they are: "pairs"; NULL: lines */
    const att_metric_score *metrics; /* [text_count] */
    size_t metric_count;
    bool metrics_only; /* the user asked for these and no others */
} eval_report;

/* To standard output. */
att_status eval_report_print(const eval_report *found, bool json, att_error *err);

#endif
