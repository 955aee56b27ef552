/* What a search for units found, as a table for a terminal. */
#include "attend.h"

#include "render/number.h"
#include "render/paint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Columns of the table; the last is as wide as its text. */
enum { PROPERTY = 16, UNIT = 9, FIGURE = 10 };

static void put_figure(const att_paint *paint, double value)
{
    char text[ATT_NUMBER_SIZE] = "";
    if (!isnan(value))
        att_number_show(text, value, (att_number_format){ .decimals = 3 });
    att_paint_right(paint, text, FIGURE);
}

static void put_row(const att_paint *paint, const att_cells_row *row)
{
    const att_cell_found *best = row->found;
    char unit[64];
    att_paint_style(paint, ATT_STYLE_NAME);
    att_paint_padded(paint, row->property, PROPERTY);
    att_paint_style(paint, ATT_STYLE_NONE);
    if (row->found_count == 0) {
        att_put(paint->out, "does not change in this text\n");
        return;
    }
    snprintf(unit, sizeof unit, "%" PRId64 ":%" PRId64, best->unit.layer, best->unit.unit);
    att_paint_padded(paint, unit, UNIT);
    att_paint_style(paint, ATT_STYLE_BOLD);
    put_figure(paint, best->held_out);
    att_paint_style(paint, ATT_STYLE_NONE);
    put_figure(paint, best->searched);
    put_figure(paint, best->separates);
    att_put(paint->out, "  ");
    att_put(paint->out, row->says);
    att_paint_end_line(paint);
}

static void put_head(const att_paint *paint)
{
    att_paint_style(paint, ATT_STYLE_DIM);
    att_paint_padded(paint, "property", PROPERTY);
    att_paint_padded(paint, "unit", UNIT);
    att_paint_right(paint, "held out", FIGURE);
    att_paint_right(paint, "searched", FIGURE);
    att_paint_right(paint, "area", FIGURE);
    att_paint_end_line(paint);
    att_paint_style(paint, ATT_STYLE_NONE);
}

att_status att_cells_text(att_text *text, const att_cells *cells, const att_render_options *options,
                          att_error *err)
{
    att_writer out = att_writer_on(text);
    const att_paint paint = att_paint_on(&out, options);
    att_cells_facts facts = att_cells_about(cells);
    att_putf(&out,
             "%" PRId64 " layer%s of %" PRId64 " units (%s); searched on %" PRId64
             " tokens, measured on %" PRId64 " others\n\n",
             facts.layers, facts.layers == 1 ? "" : "s", facts.width,
             facts.signal == ATT_SIGNAL_CELL ? "cells" : "hidden states", facts.searched,
             facts.held_out);
    put_head(&paint);
    for (size_t i = 0; i < att_cells_count(cells); i++)
        put_row(&paint, att_cells_get(cells, i));
    return att_writer_finish(&out, err);
}
