/* Plots as SVG: a line for each curve, with at most one point per pixel. */
#include "render/plot.h"

#include "base/minmax.h"
#include "render/number.h"
#include "render/svg.h"

#include <inttypes.h>
#include <math.h>

enum {
    LEFT_MARGIN = 64,
    RIGHT_MARGIN = 24,
    TOP_MARGIN = 24,
    TITLE_ROOM = 26,
    BOTTOM_MARGIN = 52,
    PLOT_WIDTH = 680,
    PLOT_HEIGHT = 300,
    LEGEND_ROW_HEIGHT = 18
};

/* The colors of Okabe and Ito, the lighter ones darkened for white paper. */
static const att_rgb colors[ATT_PLOT_CURVES] = { { 0xd5, 0x5e, 0x00 }, { 0x00, 0x72, 0xb2 },
                                                 { 0x00, 0x9e, 0x73 }, { 0xcc, 0x79, 0xa7 },
                                                 { 0xb8, 0x8a, 0x00 }, { 0x3d, 0x4f, 0x9e },
                                                 { 0x8a, 0x2b, 0x0b }, { 0x66, 0x66, 0x66 } };

typedef struct drawing {
    att_writer *out;
    const att_plot *plot;
    att_decades decades;
    double linear_step, linear_top; /* grid lines of a linear scale, and its end */
    int top;
} drawing;

/* Grid lines at 1, 2 or 5 times a power of ten, at most MAX_LINES of them. */
static void set_linear_scale(drawing *d)
{
    enum { MAX_LINES = 7 };
    static const double factors[] = { 1, 2, 5, 10 };
    double high = 0, power = 1;
    for (size_t c = 0; c < d->plot->curve_count; c++)
        for (int64_t i = 0; i < d->plot->count; i++)
            if (isfinite(d->plot->curves[c].values[i]))
                high = fmax(high, d->plot->curves[c].values[i]);
    high = high > 0 ? high : 1;
    while (power > high / MAX_LINES)
        power /= 10;
    while (power * 10 < high / MAX_LINES)
        power *= 10;
    for (int i = 0; i < 4; i++) {
        d->linear_step = factors[i] * power;
        if (high / d->linear_step <= MAX_LINES)
            break;
    }
    d->linear_top = ceil(high / d->linear_step) * d->linear_step;
}

/* The height of a value from 0 to 1; below 0: not in the plot. */
static double height_of(const drawing *d, double value)
{
    if (!d->plot->linear)
        return att_plot_height(&d->decades, value);
    return isfinite(value) && value >= 0 ? value / d->linear_top : -1;
}

static int row_of(const drawing *d, double height)
{
    return d->top + PLOT_HEIGHT - (int)lround(height * PLOT_HEIGHT);
}

static int column_of(const drawing *d, int64_t place)
{
    int64_t last = d->plot->count > 1 ? d->plot->count - 1 : 1;
    return LEFT_MARGIN + (int)(place * PLOT_WIDTH / last);
}

/* At most one point per pixel; a value that is not in the plot interrupts the line. */
static void put_curve(const drawing *d, size_t curve)
{
    const att_curve *line = &d->plot->curves[curve];
    int64_t points = att_min_i64(d->plot->count, PLOT_WIDTH);
    bool under_way = false;
    att_put(d->out, "<path fill=\"none\" stroke-width=\"1.8\" stroke-linejoin=\"round\" stroke=\"");
    att_put_color(d->out, colors[curve]);
    att_put(d->out, "\" d=\"");
    for (int64_t i = 0; i < points; i++) {
        int64_t place = att_plot_index(d->plot, points > 1 ? (double)i / (double)(points - 1) : 0);
        double height = height_of(d, line->values[place]);
        if (height >= 0)
            att_putf(d->out, "%c%d %d", under_way ? 'L' : 'M', column_of(d, place),
                     row_of(d, height));
        under_way = height >= 0;
    }
    att_put(d->out, "\"/>\n");
}

static void put_linear_lines(const drawing *d)
{
    for (int i = 0; i * d->linear_step < d->linear_top * 1.001; i++) {
        char text[ATT_NUMBER_SIZE];
        int y = row_of(d, i * d->linear_step / d->linear_top);
        att_number_short(text, i * d->linear_step, 4);
        att_putf(d->out, "<path d=\"M%d %dh%d\" stroke=\"#dfe3e8\"/>\n", LEFT_MARGIN, y,
                 PLOT_WIDTH);
        att_putf(d->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT_MARGIN - 8,
                 y + 5, text);
    }
}

/* Grid lines at powers of ten, with labels. */
static void put_lines(const drawing *d)
{
    if (d->plot->linear) {
        put_linear_lines(d);
        return;
    }
    const att_decades *scale = &d->decades;
    for (int power = scale->high; power >= scale->low; power -= scale->step) {
        int y = row_of(d, (double)(power - scale->low) / (scale->high - scale->low));
        att_putf(d->out, "<path d=\"M%d %dh%d\" stroke=\"#dfe3e8\"/>\n", LEFT_MARGIN, y,
                 PLOT_WIDTH);
        att_putf(d->out,
                 "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">10<tspan dy=\"-5\" "
                 "font-size=\"9\">%d</tspan></text>\n",
                 LEFT_MARGIN - 8, y + 5, power);
    }
}

static void put_axes(const drawing *d)
{
    int foot = d->top + PLOT_HEIGHT;
    put_lines(d);
    att_putf(d->out, "<path d=\"M%d %dv%dh%d\" fill=\"none\" stroke=\"#666\"/>\n", LEFT_MARGIN,
             d->top, PLOT_HEIGHT, PLOT_WIDTH);
    bool scaled = d->plot->x_last > 0;
    att_putf(d->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%" PRId64 "</text>\n",
             LEFT_MARGIN, foot + 18, scaled ? d->plot->x_first : 1);
    att_putf(d->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%" PRId64 "</text>\n",
             LEFT_MARGIN + PLOT_WIDTH, foot + 18, scaled ? d->plot->x_last : d->plot->count);
    att_putf(d->out, "<g fill=\"#666\" text-anchor=\"middle\">\n<text x=\"%d\" y=\"%d\">",
             LEFT_MARGIN + PLOT_WIDTH / 2, foot + 18);
    att_put_xml(d->out, d->plot->x_label);
    att_putf(d->out, "</text>\n<text transform=\"translate(16,%d) rotate(-90)\">",
             d->top + PLOT_HEIGHT / 2);
    att_put_xml(d->out, d->plot->y_label);
    att_put(d->out, "</text>\n</g>\n");
}

static void put_legend(const drawing *d)
{
    for (size_t c = 0; c < d->plot->curve_count; c++) {
        int y = d->top + PLOT_HEIGHT + BOTTOM_MARGIN - 8 + (int)c * LEGEND_ROW_HEIGHT;
        att_putf(d->out, "<rect x=\"%d\" y=\"%d\" width=\"18\" height=\"4\" fill=\"", LEFT_MARGIN,
                 y - 6);
        att_put_color(d->out, colors[c]);
        att_putf(d->out, "\"/>\n<text x=\"%d\" y=\"%d\">", LEFT_MARGIN + 26, y);
        att_put_xml(d->out, d->plot->curves[c].name);
        att_put(d->out, "</text>\n");
    }
}

att_status att_plot_svg(att_string *text, const att_plot *plot, att_error *err)
{
    att_writer out = att_writer_on(text);
    drawing d = { .out = &out,
                  .plot = plot,
                  .decades = att_plot_decades(plot),
                  .top = TOP_MARGIN + (plot->title ? TITLE_ROOM : 0) };
    set_linear_scale(&d);
    att_put(&out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    att_put_svg_begin(&out, LEFT_MARGIN + PLOT_WIDTH + RIGHT_MARGIN,
                      d.top + PLOT_HEIGHT + BOTTOM_MARGIN +
                          (int64_t)plot->curve_count * LEGEND_ROW_HEIGHT,
                      plot->title ? plot->title : "Plot");
    if (plot->title) {
        att_putf(&out, "<text x=\"%d\" y=\"%d\" font-size=\"16\" font-weight=\"bold\">", 16, 28);
        att_put_xml(&out, plot->title);
        att_put(&out, "</text>\n");
    }
    put_axes(&d);
    for (size_t c = 0; c < plot->curve_count; c++)
        put_curve(&d, c);
    put_legend(&d);
    att_put(&out, "</svg>\n");
    return att_writer_finish(&out, err);
}
