/* The logarithmic scale of plots, and plots as text and SVG. */
#ifndef ATT_RENDER_PLOT_H
#define ATT_RENDER_PLOT_H

#include "attend.h"

/* The powers of ten from below the smallest value to above the largest. Values more than 40 decades
 * below the largest are not in the plot. */
typedef struct att_decades {
    int low, high; /* high > low */
    int step;      /* decades between grid lines, from `high` down */
} att_decades;

att_status att_plot_text(att_string *out, const att_plot *plot, const att_render_options *options,
                         att_error *err);
att_status att_plot_svg(att_string *out, const att_plot *plot, att_error *err);

att_decades att_plot_decades(const att_plot *plot);

/* The height of a value from 0 (bottom) to 1; below 0: not in the plot. */
double att_plot_height(const att_decades *decades, double value);

/* The index at the fraction `part` (0 to 1) between the first and the last value, from 0. */
int64_t att_plot_index(const att_plot *plot, double part);

#endif
