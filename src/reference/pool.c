/* Pooling in double precision. */
#include "reference/pool.h"

#include "base/minmax.h"

#include <math.h>

/* ---------------------------------------------------------------- images */

/* Sum and maximum of channel c over one window, and the number of its pixels. */
typedef struct window_stats {
    double sum, max;
    int64_t count;
} window_stats;

static window_stats scan_window(const att_reference_pool2d_shape *s, const double *x, int64_t b,
                                int64_t oy, int64_t ox, int64_t c)
{
    window_stats stats = { 0, -INFINITY, 0 };
    int64_t top = oy * s->stride_y, left = ox * s->stride_x;
    for (int64_t iy = top; iy < att_min_i64(top + s->window_height, s->height); iy++)
        for (int64_t ix = left; ix < att_min_i64(left + s->window_width, s->width); ix++) {
            double value = x[((b * s->height + iy) * s->width + ix) * s->channels + c];
            stats.sum += value;
            stats.max = value > stats.max || isnan(value) ? value : stats.max;
            stats.count++;
        }
    return stats;
}

static void pool2d(double *y, const att_reference_pool2d_shape *s, const double *x,
                   double (*reduce)(const window_stats *stats))
{
    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t oy = 0; oy < s->out_height; oy++)
            for (int64_t ox = 0; ox < s->out_width; ox++)
                for (int64_t c = 0; c < s->channels; c++) {
                    window_stats stats = scan_window(s, x, b, oy, ox, c);
                    *y++ = reduce(&stats);
                }
}

static double window_max(const window_stats *stats)
{
    return stats->max;
}

static double window_mean(const window_stats *stats)
{
    return stats->sum / (double)stats->count;
}

void att_reference_max_pool2d(double *y, const att_reference_pool2d_shape *shape, const double *x)
{
    pool2d(y, shape, x, window_max);
}

void att_reference_avg_pool2d(double *y, const att_reference_pool2d_shape *shape, const double *x)
{
    pool2d(y, shape, x, window_mean);
}

/* ---------------------------------------------------------------- sequences */

void att_reference_sequence_mean(double *y, const double *x, int64_t length, int64_t width)
{
    for (int64_t j = 0; j < width; j++) {
        double sum = 0;
        for (int64_t t = 0; t < length; t++)
            sum += x[t * width + j];
        y[j] = length > 0 ? sum / (double)length : 0;
    }
}

void att_reference_sequence_max(double *y, const double *x, int64_t length, int64_t width)
{
    for (int64_t j = 0; j < width; j++) {
        y[j] = length > 0 ? x[j] : 0;
        for (int64_t t = 1; t < length; t++)
            if (x[t * width + j] > y[j] || isnan(x[t * width + j]))
                y[j] = x[t * width + j];
    }
}

void att_reference_sequence_last(double *y, const double *x, int64_t length, int64_t width)
{
    for (int64_t j = 0; j < width; j++)
        y[j] = length > 0 ? x[(length - 1) * width + j] : 0;
}
