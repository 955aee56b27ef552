/* Pearson correlation of units with properties from streaming sums: memory is units times
 * properties, independent of the length of the text. */
#ifndef ATT_INSPECT_CORRELATION_H
#define ATT_INSPECT_CORRELATION_H

#include "attend.h"

typedef struct att_correlation {
    int64_t units, properties;              /* U, P */
    int64_t count;                          /* positions added */
    double *unit_sum, *unit_square;         /* [U] */
    double *property_sum, *property_square; /* [P] */
    double *product;                        /* [P,U] */
} att_correlation;

att_status att_correlation_new(att_correlation *out, int64_t units, int64_t properties,
                               att_error *err);
void att_correlation_free(att_correlation *correlation);

/* Adds one position: the activation of every unit and the value of every property. */
void att_correlation_add(att_correlation *correlation, const float *units,
                         const double *properties);

/* The correlation of a property and a unit over all positions; NaN if either is constant. */
double att_correlation_get(const att_correlation *correlation, int64_t property, int64_t unit);

/* The mean of a property. */
double att_correlation_mean(const att_correlation *correlation, int64_t property);

/* AUC (area under the ROC curve) of one unit for a binary property: the probability that its
 * activation is larger at a random position where the property holds than at one where it does not;
 * 0.5 is chance. Activations lie in [-1, 1] and are counted in ATT_AUC_BINS bins. */
enum { ATT_AUC_BINS = 1024 };

typedef struct att_auc_histogram {
    int64_t positive[ATT_AUC_BINS], negative[ATT_AUC_BINS];
} att_auc_histogram;

void att_auc_histogram_add(att_auc_histogram *histogram, double activation, bool holds);

/* NaN if the property holds everywhere or nowhere. */
double att_auc_histogram_auc(const att_auc_histogram *histogram);

#endif
