/* The result of a unit search as one line of JSON (docs/cells.md). */
#include "inspect/cells.h"

#include "render/number.h"
#include "render/writer.h"

#include <inttypes.h>
#include <math.h>

/* NaN, an undefined metric, is null. */
static void put_number(att_writer *out, const char *name, double value)
{
    char text[ATT_NUMBER_SIZE];
    att_number_exact(text, value);
    att_putf(out, ",\"%s\":%s", name, isnan(value) ? "null" : text);
}

static void put_unit(att_writer *out, const att_cell_match *found)
{
    att_putf(out, "{\"layer\":%" PRId64 ",\"unit\":%" PRId64, found->unit.layer, found->unit.unit);
    put_number(out, "search_correlation", found->search_correlation);
    put_number(out, "test_correlation", found->held_out_correlation);
    put_number(out, "auc", found->auc);
    att_put(out, "}");
}

static void put_row(att_writer *out, const att_cells_property *row)
{
    att_put(out, "{\"property\":");
    att_put_json(out, row->property);
    att_put(out, ",\"description\":");
    att_put_json(out, row->help);
    att_putf(out, ",\"binary\":%s", row->binary ? "true" : "false");
    put_number(out, "mean", row->mean);
    att_put(out, ",\"top\":[");
    for (int64_t k = 0; k < row->match_count; k++) {
        att_put(out, k > 0 ? "," : "");
        put_unit(out, row->matches[k]);
    }
    att_put(out, "]}");
}

att_status att_cells_json(att_string *text, const att_cells *cells, att_error *err)
{
    att_writer out = att_writer_on(text);
    const att_cells_info info = *att_cells_info_get(cells);
    att_putf(&out,
             "{\"layers\":%" PRId64 ",\"hidden_size\":%" PRId64
             ",\"signal\":\"%s\",\"search_tokens\":%" PRId64 ",\"test_tokens\":%" PRId64
             ",\"properties\":[",
             info.layers, info.hidden_size, info.signal == ATT_SIGNAL_CELL ? "cell" : "hidden",
             info.search_tokens, info.held_out_tokens);
    for (size_t i = 0; i < att_cells_count(cells); i++) {
        att_put(&out, i > 0 ? "," : "");
        put_row(&out, att_cells_get(cells, i));
    }
    att_put(&out, "]}\n");
    return att_writer_finish(&out, err);
}
