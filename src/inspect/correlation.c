/* Streaming Pearson correlation of units with properties, and AUC from histograms. */
#include "inspect/correlation.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>

att_status att_correlation_new(att_correlation *out, int64_t units, int64_t properties,
                               att_error *err)
{
    size_t u = (size_t)units, p = (size_t)properties;
    *out = (att_correlation){ .units = units,
                              .properties = properties,
                              .unit_sum = att_alloc_zero(u, sizeof(double)),
                              .unit_square = att_alloc_zero(u, sizeof(double)),
                              .property_sum = att_alloc_zero(p, sizeof(double)),
                              .property_square = att_alloc_zero(p, sizeof(double)),
                              .product = att_alloc_zero(p, u * sizeof(double)) };
    if (out->unit_sum && out->unit_square && out->property_sum && out->property_square &&
        out->product)
        return ATT_OK;
    att_correlation_free(out);
    return att_fail_memory(err);
}

void att_correlation_free(att_correlation *correlation)
{
    att_free(correlation->unit_sum);
    att_free(correlation->unit_square);
    att_free(correlation->property_sum);
    att_free(correlation->property_square);
    att_free(correlation->product);
    *correlation = (att_correlation){ 0 };
}

/* Most properties are 0 at most positions; those products are skipped. */
void att_correlation_add(att_correlation *c, const float *units, const double *properties)
{
    c->count++;
    for (int64_t u = 0; u < c->units; u++) {
        double x = (double)units[u];
        c->unit_sum[u] += x;
        c->unit_square[u] += x * x;
    }
    for (int64_t p = 0; p < c->properties; p++) {
        double y = properties[p];
        if (y == 0)
            continue;
        double *row = c->product + p * c->units;
        c->property_sum[p] += y;
        c->property_square[p] += y * y;
        for (int64_t u = 0; u < c->units; u++)
            row[u] += y * (double)units[u];
    }
}

double att_correlation_get(const att_correlation *c, int64_t property, int64_t unit)
{
    double n = (double)c->count;
    double x = c->unit_sum[unit] / n, y = c->property_sum[property] / n;
    double xx = c->unit_square[unit] / n - x * x;
    double yy = c->property_square[property] / n - y * y;
    double xy = c->product[property * c->units + unit] / n - x * y;
    /* A variance this small is a rounding error of the sums of squares: the value is constant. */
    const double min_relative_variance = 1e-12;
    if (!(xx > min_relative_variance * c->unit_square[unit] / n) ||
        !(yy > min_relative_variance * c->property_square[property] / n))
        return NAN;
    double r = xy / sqrt(xx * yy);
    return r > 1 ? 1 : r < -1 ? -1 : r;
}

double att_correlation_mean(const att_correlation *c, int64_t property)
{
    return c->property_sum[property] / (double)c->count;
}

void att_auc_histogram_add(att_auc_histogram *histogram, double activation, bool holds)
{
    double bin = floor((activation + 1) / 2 * ATT_AUC_BINS);
    int at = !(bin > 0) ? 0 : bin < ATT_AUC_BINS ? (int)bin : ATT_AUC_BINS - 1;
    if (holds)
        histogram->positive[at]++;
    else
        histogram->negative[at]++;
}

double att_auc_histogram_auc(const att_auc_histogram *histogram)
{
    double below = 0, wins = 0, positives = 0;
    for (int i = 0; i < ATT_AUC_BINS; i++) {
        double positive = (double)histogram->positive[i];
        double negative = (double)histogram->negative[i];
        wins += positive * (below + negative / 2);
        below += negative;
        positives += positive;
    }
    return positives > 0 && below > 0 ? wins / (positives * below) : NAN;
}
