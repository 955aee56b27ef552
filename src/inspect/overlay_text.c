/* The overlay in the terminal: for each word the attention grid in shades, as many side by side as
 * fit the width. */
#include "inspect/overlay.h"

#include "base/error.h"
#include "base/minmax.h"
#include "render/terminal.h"
#include "render/view.h"
#include "text/display_width.h"

enum { TILE_COLUMNS = 2, GAP = 2 }; /* two columns are about a square */

double att_overlay_weight(const att_output *output, int64_t word, int64_t row, int64_t column)
{
    int64_t rows = output->grid_rows, columns = output->grid_columns;
    const double *weights = output->weights + word * rows * columns;
    row = att_clamp_i64(row, 0, rows - 1);
    column = att_clamp_i64(column, 0, columns - 1);
    double largest = 0;
    for (int64_t i = 0; i < rows * columns; i++)
        largest = weights[i] > largest ? weights[i] : largest;
    double weight = weights[row * columns + column];
    return largest > 0 && weight > 0 ? weight / largest : 0;
}

att_status att_overlay_check(const att_output *output, att_error *err)
{
    if (output->grid_rows < 1)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the output is not the caption of an image");
    if (!output->weights)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the model has no attention to show: it was trained with none, or with a "
                        "fixed context");
    return ATT_OK;
}

static void put_cell(const att_terminal *terminal, double weight)
{
    static const att_color_scale scale = { .low = 0, .high = 1 };
    int level = att_color_scale_level(&scale, weight);
    if (terminal->color == ATT_COLOR_NONE) {
        att_put_repeat(terminal->out, att_terminal_shade(terminal, level), TILE_COLUMNS);
        return;
    }
    att_terminal_level(terminal, ATT_COLORMAP_SCREEN, level);
    att_put_repeat(terminal->out, " ", TILE_COLUMNS);
    att_terminal_style(terminal, ATT_STYLE_NONE);
}

/* Words first … first + count - 1, each above its grid. */
static void put_row(const att_terminal *terminal, const att_output *output, int64_t first,
                    int64_t count)
{
    int width = (int)output->grid_columns * TILE_COLUMNS;
    for (int64_t i = first; i < first + count; i++) {
        att_terminal_style(terminal, ATT_STYLE_BOLD);
        att_terminal_padded(terminal, output->target_tokens[i], width);
        att_terminal_style(terminal, ATT_STYLE_NONE);
        att_put_repeat(terminal->out, " ", GAP);
    }
    att_terminal_end_line(terminal);
    for (int64_t row = 0; row < output->grid_rows; row++) {
        for (int64_t i = first; i < first + count; i++) {
            for (int64_t column = 0; column < output->grid_columns; column++)
                put_cell(terminal, att_overlay_weight(output, i, row, column));
            att_put_repeat(terminal->out, " ", GAP);
        }
        att_terminal_end_line(terminal);
    }
}

static att_status put_text(att_string *text, const att_output *output,
                           const att_render_options *options, att_error *err)
{
    att_writer out = att_writer_on(text);
    att_terminal terminal = att_terminal_for(&out, options);
    int64_t tile = output->grid_columns * TILE_COLUMNS + GAP,
            across = (terminal.width + GAP) / tile;
    across = att_max_i64(across, 1);
    for (int64_t at = 0; at < output->target_count; at += across) {
        put_row(&terminal, output, at, att_min_i64(output->target_count - at, across));
        att_put(&out, at + across < output->target_count ? "\n" : "");
    }
    return att_writer_finish(&out, err);
}

att_status att_output_overlay_render(att_string *out, const att_output *output,
                                     const att_overlay_image *image,
                                     const att_render_options *options, att_error *err)
{
    enum { FORMATS = 1 << ATT_FORMAT_TEXT | 1 << ATT_FORMAT_SVG | 1 << ATT_FORMAT_HTML };
    att_render_options resolved;
    ATT_TRY(att_render_options_resolve(&resolved, options, FORMATS, "an overlay", err));
    ATT_TRY(att_overlay_check(output, err));
    switch (resolved.format) {
    case ATT_FORMAT_SVG:
        return att_overlay_svg(out, output, image, err);
    case ATT_FORMAT_HTML:
        return att_overlay_html(out, output, image, err);
    default:
        return put_text(out, output, &resolved, err);
    }
}
