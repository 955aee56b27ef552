/* The logarithmic scale of plots, as both renderings need it. */
#ifndef ATT_RENDER_PLOT_H
#define ATT_RENDER_PLOT_H

#include "attend.h"

/* Powers of ten: from the one below the smallest value to the one above the largest. What is more
 * than 40 of them below the largest lies below the plot. */
typedef struct att_decades {
    int low, high; /* high > low */
    int step;      /* a line is drawn at every so many, from `high` down */
} att_decades;

att_decades att_plot_decades(const att_plot *plot);

/* How high a value is, from 0 (the foot) to 1; below 0: not in the plot. */
double att_plot_height(const att_decades *decades, double value);

/* The place `part` (0 to 1) of the way from the first to the last, from 0. */
int64_t att_plot_index(const att_plot *plot, double part);

#endif
