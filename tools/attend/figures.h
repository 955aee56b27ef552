/* What `attend eval` found, as lines or as one object. */
#ifndef FIGURES_H
#define FIGURES_H

#include "attend.h"

/* The figures of a model's tokens; NULL: there is no model, and `lines` are of text alone. */
typedef struct figures {
    const att_scores *scores;
    int64_t lines;
    const char *what;              /* they are: "pairs"; NULL: lines */
    const att_metric_score *texts; /* [text_count] */
    size_t text_count;
    bool texts_alone; /* the user asked for these and no others */
} figures;

/* To standard output. */
att_status figures_print(const figures *found, bool json, att_error *err);

#endif
