/* The strip in a terminal: for each word the grid in shades, as many side by side as there is room
 * for; see strip.h. */
#include "inspect/overlay.h"

#include "base/error.h"
#include "render/terminal.h"
#include "render/view.h"
#include "text/display_width.h"

enum { TILE_COLUMNS = 2, GAP = 2 }; /* two columns are about as wide as a line is high */

double att_overlay_weight(const att_output *answer, int64_t word, int64_t row, int64_t column)
{
    int64_t rows = answer->grid_rows, columns = answer->grid_columns;
    const double *weights = answer->weights + word * rows * columns;
    row = row < 0 ? 0 : row < rows ? row : rows - 1;
    column = column < 0 ? 0 : column < columns ? column : columns - 1;
    double most = 0;
    for (int64_t i = 0; i < rows * columns; i++)
        most = weights[i] > most ? weights[i] : most;
    double weight = weights[row * columns + column];
    return most > 0 && weight > 0 ? weight / most : 0;
}

att_status att_overlay_check(const att_output *answer, att_error *err)
{
    if (answer->grid_rows < 1)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the answer is not of a picture");
    if (!answer->weights)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the model has no attention to show: it was trained with none, or with a "
                        "fixed context");
    return ATT_OK;
}

static void put_cell(const att_terminal *paint, double weight)
{
    static const att_color_scale scale = { .low = 0, .high = 1 };
    int level = att_color_scale_level(&scale, weight);
    if (paint->color == ATT_COLOR_NONE) {
        att_put_repeat(paint->out, att_terminal_shade(paint, level), TILE_COLUMNS);
        return;
    }
    att_terminal_level(paint, ATT_COLORMAP_SCREEN, level);
    att_put_repeat(paint->out, " ", TILE_COLUMNS);
    att_terminal_style(paint, ATT_STYLE_NONE);
}

/* Words first to first + count, each above its grid. */
static void put_row(const att_terminal *paint, const att_output *answer, int64_t first,
                    int64_t count)
{
    int width = (int)answer->grid_columns * TILE_COLUMNS;
    for (int64_t i = first; i < first + count; i++) {
        att_terminal_style(paint, ATT_STYLE_BOLD);
        att_terminal_padded(paint, answer->target_tokens[i], width);
        att_terminal_style(paint, ATT_STYLE_NONE);
        att_put_repeat(paint->out, " ", GAP);
    }
    att_terminal_end_line(paint);
    for (int64_t row = 0; row < answer->grid_rows; row++) {
        for (int64_t i = first; i < first + count; i++) {
            for (int64_t column = 0; column < answer->grid_columns; column++)
                put_cell(paint, att_overlay_weight(answer, i, row, column));
            att_put_repeat(paint->out, " ", GAP);
        }
        att_terminal_end_line(paint);
    }
}

static att_status put_text(att_string *text, const att_output *answer,
                           const att_render_options *options, att_error *err)
{
    att_writer out = att_writer_on(text);
    att_terminal paint = att_terminal_for(&out, options);
    int64_t each = answer->grid_columns * TILE_COLUMNS + GAP, across = (paint.width + GAP) / each;
    across = across > 0 ? across : 1;
    for (int64_t at = 0; at < answer->target_count; at += across) {
        int64_t left = answer->target_count - at;
        put_row(&paint, answer, at, left < across ? left : across);
        att_put(&out, at + across < answer->target_count ? "\n" : "");
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
