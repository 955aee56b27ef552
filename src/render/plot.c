/* The scale of plots; see plot.h. */
#include "render/plot.h"

#include "base/math.h"

#include <math.h>

enum { MAX_DECADES = 40, MAX_GRID_LINES = 8 };

static bool is_plottable(double value)
{
    return value > 0 && isfinite(value);
}

att_decades att_plot_decades(const att_plot *plot)
{
    double least = INFINITY, most = 0;
    for (size_t c = 0; c < plot->curve_count; c++)
        for (int64_t i = 0; i < plot->count; i++) {
            double value = plot->curves[c].values[i];
            if (!is_plottable(value))
                continue;
            least = fmin(least, value);
            most = fmax(most, value);
        }
    if (most == 0)
        return (att_decades){ .low = 0, .high = 1, .step = 1 };
    att_decades out = { .low = (int)floor(att_log10(least)), .high = (int)ceil(att_log10(most)) };
    if (out.high == out.low)
        out.high++;
    if (out.high - out.low > MAX_DECADES)
        out.low = out.high - MAX_DECADES;
    out.step = (out.high - out.low + MAX_GRID_LINES - 1) / MAX_GRID_LINES;
    return out;
}

double att_plot_height(const att_decades *decades, double value)
{
    if (!is_plottable(value))
        return -1;
    return (att_log10(value) - decades->low) / (decades->high - decades->low);
}

int64_t att_plot_index(const att_plot *plot, double part)
{
    return plot->count > 1 ? (int64_t)(part * (double)(plot->count - 1) + 0.5) : 0;
}
