/* The result of a unit search as an HTML page: a table, and for each property a passage of the text
 * colored by the activation of its best unit. */
#include "inspect/cells.h"
#include "render/highlight.h"
#include "render/html_page.h"
#include "render/number.h"

#include <inttypes.h>
#include <math.h>

static const char style[] =
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem}\n"
    "td,th{padding:.2rem 1.1rem .2rem 0;text-align:left;border-bottom:1px solid var(--line)}\n"
    "th{font-weight:500;color:var(--soft)}\n"
    "td.number,th.number{text-align:right}\n"
    "td a{color:inherit}\n"
    ".none{color:var(--soft)}\n";

static void put_metric(att_writer *out, double value)
{
    char text[ATT_NUMBER_SIZE] = "";
    if (!isnan(value))
        att_number_print(text, value, (att_number_format){ .decimals = 3 });
    att_putf(out, "<td class=\"number\">%s</td>", text);
}

static void put_row(att_writer *out, const att_cells_property *row)
{
    const att_cell_match *best = row->match_count > 0 ? row->matches[0] : NULL;
    if (row->match_count == 0) {
        att_putf(out,
                 "<tr class=\"none\"><td>%s</td><td colspan=\"5\">does not change in this text",
                 row->property);
    } else {
        att_putf(out, "<tr><td><a href=\"#%s\">%s</a></td>", row->property, row->property);
        att_putf(out, "<td>%" PRId64 ":%" PRId64 "</td>", best->unit.layer, best->unit.unit);
        put_metric(out, best->held_out_correlation);
        put_metric(out, best->search_correlation);
        put_metric(out, best->auc);
        att_put(out, "<td>");
        att_put_xml(out, row->help);
    }
    att_put(out, "</td></tr>\n");
}

static void put_table(att_writer *out, const att_cells *cells)
{
    att_put(out, "<table>\n<thead><tr><th>property</th><th>unit</th>"
                 "<th class=\"number\">test</th><th class=\"number\">search</th>"
                 "<th class=\"number\">AUC</th><th></th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < att_cells_count(cells); i++)
        put_row(out, att_cells_get(cells, i));
    att_put(out, "</tbody>\n</table>\n");
}

static void put_sample(att_writer *out, const att_cells_property *row)
{
    const att_cell_match *best = row->match_count > 0 ? row->matches[0] : NULL;
    char correlation[ATT_NUMBER_SIZE];
    if (row->match_count == 0)
        return;
    att_number_print(correlation, best->held_out_correlation, (att_number_format){ .decimals = 3 });
    att_putf(out,
             "<h2 id=\"%s\">%s</h2>\n<p>Unit %" PRId64 " of layer %" PRId64 ", test correlation %s",
             row->property, row->help, best->unit.unit, best->unit.layer, correlation);
    att_put(out,
            row->binary ? ". The text is underlined where the property holds.</p>\n" : ".</p>\n");
    att_put_highlight_html(out, &row->sample);
}

att_status att_cells_html(att_string *text, const att_cells *cells, att_error *err)
{
    att_writer out = att_writer_on(text);
    const att_cells_info info = *att_cells_info_get(cells);
    att_put_html_head(&out, "Interpretable units", att_highlight_style);
    att_put(&out, style);
    att_put_highlight_rules(&out);
    att_put_html_body(&out);
    att_put(&out, "<h1>Interpretable units</h1>\n");
    att_putf(
        &out,
        "<p>For each property of the text, the unit that correlates with it most, among %" PRId64
        " layer%s of %" PRId64 " units (%s). Units were chosen by their correlation on %" PRId64
        " tokens (<em>search</em>) and evaluated on %" PRId64
        " other tokens (<em>test</em>). <em>AUC</em>: the probability that the unit ranks a "
        "position where the property holds above one where it does not; 0.5 is chance.</p>\n",
        info.layers, info.layers == 1 ? "" : "s", info.hidden_size,
        info.signal == ATT_SIGNAL_CELL ? "cell states" : "hidden states", info.search_tokens,
        info.held_out_tokens);
    put_table(&out, cells);
    for (size_t i = 0; i < att_cells_count(cells) && out.status == ATT_OK; i++)
        put_sample(&out, att_cells_get(cells, i));
    att_put_html_end(&out);
    return att_writer_finish(&out, err);
}
