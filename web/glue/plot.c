/* Curves of a training run. */
#include "web.h"

att_status web_plot(att_string *out, const char *title, const char *x_label, const char *y_label,
                    const char *first_name, const char *second_name, const double *values,
                    int curves, int count, bool linear, double x_first, double x_last,
                    att_error *err)
{
    att_curve rows[2] = { { first_name, values }, { second_name, values + count } };
    att_render_options options = ATT_INIT(att_render_options);
    options.format = ATT_FORMAT_SVG;
    att_plot plot = { .title = title,
                      .x_label = x_label,
                      .y_label = y_label,
                      .count = count,
                      .curves = rows,
                      .curve_count = curves < 2 ? 1 : 2,
                      .linear = linear,
                      .x_first = (int64_t)x_first,
                      .x_last = (int64_t)x_last };
    return att_plot_render(out, &plot, &options, err);
}
