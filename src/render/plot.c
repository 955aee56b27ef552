/* Plots: the logarithmic scale, which text and SVG share, and the choice of the format. */
#include "render/plot.h"

#include "base/error.h"
#include "base/math.h"
#include "render/view.h"

#include <math.h>

enum { MAX_DECADES = 40, MAX_GRID_LINES = 8 };

static bool is_plottable(double value)
{
    return value > 0 && isfinite(value);
}

att_decades att_plot_decades(const att_plot *plot)
{
    double smallest = INFINITY, largest = 0;
    for (size_t c = 0; c < plot->curve_count; c++)
        for (int64_t i = 0; i < plot->count; i++) {
            double value = plot->curves[c].values[i];
            if (!is_plottable(value))
                continue;
            smallest = fmin(smallest, value);
            largest = fmax(largest, value);
        }
    if (largest == 0)
        return (att_decades){ .low = 0, .high = 1, .step = 1 };
    att_decades out = { .low = (int)floor(att_log10(smallest)),
                        .high = (int)ceil(att_log10(largest)) };
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

att_status att_plot_render(att_string *out, const att_plot *plot, const att_render_options *options,
                           att_error *err)
{
    enum { FORMATS = 1 << ATT_FORMAT_TEXT | 1 << ATT_FORMAT_SVG };
    att_render_options resolved;
    ATT_TRY(att_render_options_resolve(&resolved, options, FORMATS, "a plot", err));
    if (resolved.format == ATT_FORMAT_SVG)
        return att_plot_svg(out, plot, err);
    return att_plot_text(out, plot, &resolved, err);
}
