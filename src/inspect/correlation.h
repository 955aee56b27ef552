/* How well units go along with properties, from sums that a text of any length streams through:
 * memory is units times properties. */
#ifndef ATT_INSPECT_CORRELATION_H
#define ATT_INSPECT_CORRELATION_H

#include "attend.h"

typedef struct att_correlation {
    int64_t units, properties;              /* U, P */
    int64_t count;                          /* places */
    double *unit_sum, *unit_square;         /* [U] */
    double *property_sum, *property_square; /* [P] */
    double *product;                        /* [P,U] */
} att_correlation;

att_status att_correlation_new(att_correlation *out, int64_t units, int64_t properties,
                               att_error *err);
void att_correlation_free(att_correlation *correlation);

/* One place more. */
void att_correlation_add(att_correlation *correlation, const float *units,
                         const double *properties);

/* Pearson's correlation of a property and a unit over all places; NaN where either never changes.
 */
double att_correlation_get(const att_correlation *correlation, int64_t property, int64_t unit);

/* The mean of a property. */
double att_correlation_mean(const att_correlation *correlation, int64_t property);

/* How well one unit tells places where a property holds from the others: the probability that it is
 * larger at one of the former than at one of the latter, drawn at random (the area under the curve
 * of hits against false alarms; 0.5: not at all). Activations lie in [-1,1] and are counted in
 * ATT_AUC_BINS steps. */
enum { ATT_AUC_BINS = 1024 };

typedef struct att_auc_histogram {
    int64_t positive[ATT_AUC_BINS], negative[ATT_AUC_BINS];
} att_auc_histogram;

void att_auc_histogram_add(att_auc_histogram *separation, double activation, bool holds);

/* NaN where the property always holds, or never. */
double att_auc_histogram_auc(const att_auc_histogram *separation);

#endif
