/* A list of compared metrics (att_comparison). */
#ifndef ATT_METRICS_COMPARISON_H
#define ATT_METRICS_COMPARISON_H

#include "metrics/paired.h"

struct att_comparison {
    int64_t lines;
    size_t count;
    att_comparison_row rows[];
};

/* An empty list with room for `capacity` rows. */
att_status att_comparison_new(att_comparison **out, int64_t lines, size_t capacity, att_error *err);

/* Tests one metric and appends its row; `as` has the name and the properties of the metric. The
 * list must have room. */
att_status att_comparison_add(att_comparison *to, const att_comparison_row *as,
                              const att_paired *from, const att_metric_options *options,
                              att_error *err);

/* Appends the text metric `name` of the outputs of two systems, texts[ATT_PAIRED_SYSTEMS]. */
att_status att_comparison_add_text(att_comparison *to, const char *name,
                                   const att_hypotheses *texts, const att_metric_options *options,
                                   att_error *err);

#endif
