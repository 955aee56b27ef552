/* The result of a unit search as a table for the terminal. */
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

static void put_metric(const att_terminal *terminal, double value)
{
    char text[ATT_NUMBER_SIZE] = "";
    if (!isnan(value))
        att_number_print(text, value, (att_number_format){ .decimals = 3 });
    att_terminal_right(terminal, text, METRIC_COLUMNS);
}

static void put_row(const att_terminal *terminal, const att_cells_property *row)
{
    const att_cell_match *best = row->match_count > 0 ? row->matches[0] : NULL;
    char unit[64];
    att_terminal_style(terminal, ATT_STYLE_NAME);
    att_terminal_padded(terminal, row->property, PROPERTY_COLUMNS);
    att_terminal_style(terminal, ATT_STYLE_NONE);
    if (row->match_count == 0) {
        att_put(terminal->out, "does not change in this text\n");
        return;
    }
    snprintf(unit, sizeof unit, "%" PRId64 ":%" PRId64, best->unit.layer, best->unit.unit);
    att_terminal_padded(terminal, unit, UNIT_COLUMNS);
    att_terminal_style(terminal, ATT_STYLE_BOLD);
    put_metric(terminal, best->held_out_correlation);
    att_terminal_style(terminal, ATT_STYLE_NONE);
    put_metric(terminal, best->search_correlation);
    put_metric(terminal, best->auc);
    att_put(terminal->out, "  ");
    att_put(terminal->out, row->help);
    att_terminal_end_line(terminal);
}

static void put_head(const att_terminal *terminal)
{
    att_terminal_style(terminal, ATT_STYLE_DIM);
    att_terminal_padded(terminal, "property", PROPERTY_COLUMNS);
    att_terminal_padded(terminal, "unit", UNIT_COLUMNS);
    att_terminal_right(terminal, "test", METRIC_COLUMNS);
    att_terminal_right(terminal, "search", METRIC_COLUMNS);
    att_terminal_right(terminal, "AUC", METRIC_COLUMNS);
    att_terminal_end_line(terminal);
    att_terminal_style(terminal, ATT_STYLE_NONE);
}

static att_status put_text(att_string *text, const att_cells *cells,
                           const att_render_options *options, att_error *err)
{
    att_writer out = att_writer_on(text);
    const att_terminal terminal = att_terminal_for(&out, options);
    const att_cells_info info = *att_cells_info_get(cells);
    att_putf(&out,
             "%" PRId64 " layer%s of %" PRId64 " units (%s); search: %" PRId64
             " tokens, test: %" PRId64 " tokens\n\n",
             info.layers, info.layers == 1 ? "" : "s", info.hidden_size,
             info.signal == ATT_SIGNAL_CELL ? "cell states" : "hidden states", info.search_tokens,
             info.held_out_tokens);
    put_head(&terminal);
    for (size_t i = 0; i < att_cells_count(cells); i++)
        put_row(&terminal, att_cells_get(cells, i));
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
