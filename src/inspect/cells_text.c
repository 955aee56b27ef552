/* What a search for units found, as a table for a terminal. */
#include "inspect/cells.h"

#include "base/error.h"
#include "render/number.h"
#include "render/terminal.h"
#include "render/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Columns of the table; the last is as wide as its text. */
enum { PROPERTY_COLUMNS = 16, UNIT_COLUMNS = 9, METRIC_COLUMNS = 10 };

static void put_metric(const att_terminal *paint, double value)
{
    char text[ATT_NUMBER_SIZE] = "";
    if (!isnan(value))
        att_number_print(text, value, (att_number_format){ .decimals = 3 });
    att_terminal_right(paint, text, METRIC_COLUMNS);
}

static void put_row(const att_terminal *paint, const att_cells_property *row)
{
    const att_cell_match *best = row->match_count > 0 ? row->matches[0] : NULL;
    char unit[64];
    att_terminal_style(paint, ATT_STYLE_NAME);
    att_terminal_padded(paint, row->property, PROPERTY_COLUMNS);
    att_terminal_style(paint, ATT_STYLE_NONE);
    if (row->match_count == 0) {
        att_put(paint->out, "does not change in this text\n");
        return;
    }
    snprintf(unit, sizeof unit, "%" PRId64 ":%" PRId64, best->unit.layer, best->unit.unit);
    att_terminal_padded(paint, unit, UNIT_COLUMNS);
    att_terminal_style(paint, ATT_STYLE_BOLD);
    put_metric(paint, best->held_out_correlation);
    att_terminal_style(paint, ATT_STYLE_NONE);
    put_metric(paint, best->search_correlation);
    put_metric(paint, best->auc);
    att_put(paint->out, "  ");
    att_put(paint->out, row->help);
    att_terminal_end_line(paint);
}

static void put_head(const att_terminal *paint)
{
    att_terminal_style(paint, ATT_STYLE_DIM);
    att_terminal_padded(paint, "property", PROPERTY_COLUMNS);
    att_terminal_padded(paint, "unit", UNIT_COLUMNS);
    att_terminal_right(paint, "held out", METRIC_COLUMNS);
    att_terminal_right(paint, "searched", METRIC_COLUMNS);
    att_terminal_right(paint, "area", METRIC_COLUMNS);
    att_terminal_end_line(paint);
    att_terminal_style(paint, ATT_STYLE_NONE);
}

static att_status put_text(att_string *text, const att_cells *cells,
                           const att_render_options *options, att_error *err)
{
    att_writer out = att_writer_on(text);
    const att_terminal paint = att_terminal_for(&out, options);
    const att_cells_info facts = *att_cells_info_get(cells);
    att_putf(&out,
             "%" PRId64 " layer%s of %" PRId64 " units (%s); searched on %" PRId64
             " tokens, measured on %" PRId64 " others\n\n",
             facts.layers, facts.layers == 1 ? "" : "s", facts.hidden_size,
             facts.signal == ATT_SIGNAL_CELL ? "cells" : "hidden states", facts.search_tokens,
             facts.held_out_tokens);
    put_head(&paint);
    for (size_t i = 0; i < att_cells_count(cells); i++)
        put_row(&paint, att_cells_get(cells, i));
    return att_writer_finish(&out, err);
}

att_status att_cells_render(att_string *out, const att_cells *cells,
                            const att_render_options *options, att_error *err)
{
    enum { FORMATS = 1 << ATT_FORMAT_TEXT | 1 << ATT_FORMAT_JSON | 1 << ATT_FORMAT_HTML };
    att_render_options resolved;
    ATT_TRY(att_render_options_resolve(&resolved, options, FORMATS, "a search for cells", err));
    switch (resolved.format) {
    case ATT_FORMAT_JSON:
        return att_cells_json(out, cells, err);
    case ATT_FORMAT_HTML:
        return att_cells_html(out, cells, err);
    default:
        return put_text(out, cells, &resolved, err);
    }
}
