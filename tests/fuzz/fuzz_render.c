/* Any bytes as labels, titles and values of everything that is rendered: maps, highlighted text,
 * plots, outputs and predictions. Labels may be invalid UTF-8; what is rendered must be
 * well-formed. The first bytes choose the object, the format and the options; then come values and
 * labels. */
#include "fuzz/budget.h"

#include "fuzz/well_formed.h"

#include <math.h>

enum { ROWS = 3, COLUMNS = 4, PANELS = 2, CELLS = PANELS * ROWS * COLUMNS, LABELS = 16, HEAD = 4 };

typedef struct scene {
    att_render_options options;
    double values[CELLS];
    uint8_t flags[CELLS];
    const char *labels[LABELS];
    char *text;
} scene;

/* Edges and ordinary numbers, by a byte. */
static double value_of(uint8_t byte)
{
    static const double edges[] = { 0, 1, -1, 1e308, -1e308, 1e-320, 0.5, 2 };
    if (byte < 8)
        return edges[byte];
    if (byte == 8)
        return (double)NAN;
    if (byte == 9 || byte == 10)
        return byte == 9 ? (double)INFINITY : -(double)INFINITY;
    return byte / 255.0;
}

/* False where the input is too short. */
static bool make_scene(scene *out, const uint8_t *data, size_t size)
{
    if (size < HEAD + CELLS)
        return false;
    static const int widths[] = { 0, 1, 20, 300 };
    *out = (scene){ .options = ATT_INIT(att_render_options) };
    out->options.format = (att_format)(data[1] % 6);
    out->options.color = (att_color)(data[1] / 6 % 3);
    out->options.ascii = data[2] & 1;
    out->options.flat = data[2] & 2;
    out->options.digits = (data[2] >> 2 & 7) - 1;
    out->options.width = widths[data[2] >> 5 & 3];
    for (int i = 0; i < CELLS; i++) {
        out->values[i] = value_of(data[HEAD + i]);
        out->flags[i] = data[HEAD + i] & 1;
    }
    size_t length = size - HEAD - CELLS;
    out->text = malloc(length + 1);
    PROMISE(out->text != NULL);
    memcpy(out->text, data + HEAD + CELLS, length);
    out->text[length] = '\0';
    char *rest = out->text;
    for (int i = 0; i < LABELS; i++)
        out->labels[i] = rest ? strsep(&rest, "\n") : "";
    return true;
}

static att_status render_map(att_string *out, const scene *in, att_error *err)
{
    const att_map map = { .title = in->labels[0],
                          .panels = PANELS,
                          .queries = ROWS,
                          .keys = COLUMNS,
                          .weights = in->values,
                          .allowed = in->options.flat ? in->flags : NULL,
                          .query_labels = in->labels + 1,
                          .key_labels = in->labels + 4,
                          .panel_labels = in->labels + 8,
                          .query_name = in->labels[10],
                          .key_name = in->labels[11] };
    return att_map_render(out, &map, &in->options, err);
}

static att_status render_highlight(att_string *out, const scene *in, att_error *err)
{
    const att_highlight highlight = { .title = in->labels[0],
                                      .count = LABELS - 1,
                                      .tokens = in->labels + 1,
                                      .values = in->values,
                                      .underlined = in->flags };
    return att_highlight_render(out, &highlight, &in->options, err);
}

static att_status render_plot(att_string *out, const scene *in, att_error *err)
{
    const att_curve curves[] = { { in->labels[3], in->values }, { in->labels[4], in->values + 8 } };
    const att_plot plot = { .title = in->labels[0],
                            .x_label = in->labels[1],
                            .y_label = in->labels[2],
                            .count = 8,
                            .curves = curves,
                            .curve_count = 2 };
    return att_plot_render(out, &plot, &in->options, err);
}

static att_output make_output(const scene *in)
{
    return (att_output){ .text = in->labels[0],
                         .score = in->values[0],
                         .normalized_score = in->values[1],
                         .source_count = COLUMNS,
                         .target_count = ROWS,
                         .source_tokens = in->labels + 1,
                         .target_tokens = in->labels + 5,
                         .token_scores = in->values,
                         .weights = in->values + ROWS,
                         .grid_rows = 2,
                         .grid_columns = 2,
                         .layers = 1,
                         .heads = 1 };
}

static att_status render_output_json(att_string *out, const scene *in, att_error *err)
{
    const att_output output = make_output(in);
    return att_output_json(out, &output, err);
}

static att_status render_output_html(att_string *out, const scene *in, att_error *err)
{
    const att_output output = make_output(in);
    att_map map;
    PROMISE(att_output_map(&map, &output));
    return att_output_html(out, &output, &map, err);
}

static att_status render_overlay(att_string *out, const scene *in, att_error *err)
{
    const att_output output = make_output(in);
    return att_output_overlay_render(out, &output, NULL, &in->options, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        att_status (*render)(att_string *out, const scene *in, att_error *err);
        int format; /* -1: that of the options */
    } rows[] = { { render_map, -1 },
                 { render_highlight, -1 },
                 { render_plot, -1 },
                 { render_output_json, ATT_FORMAT_JSON },
                 { render_output_html, ATT_FORMAT_HTML },
                 { render_overlay, -1 } };
    size_t live = att_alloc_live();
    scene in;
    att_string out = { 0 };
    att_error err = { 0 };
    if (!make_scene(&in, data, size))
        return 0;
    budget_start();
    size_t row = data[0] % (sizeof rows / sizeof *rows);
    att_format format = rows[row].format < 0 ? in.options.format : (att_format)rows[row].format;
    if (succeeded(rows[row].render(&out, &in, &err), &err))
        check_well_formed(&out, format, in.options.color != ATT_COLOR_NONE);
    att_string_free(&out);
    free(in.text);
    PROMISE(att_alloc_live() == live);
    return 0;
}
