/* The terms of an `ask` and the blanks of its answer. */
#include "render/ask.h"

#include "render/number.h"
#include "render/view.h"

#include <inttypes.h>

bool att_ask_has_blanks(const att_ask *ask)
{
    return ask->value->rows <= ATT_BLANK_ROWS && ask->value->cols <= ATT_BLANK_COLS;
}

static void put_rule(att_writer *out, const att_ask *ask)
{
    char text[ATT_NUMBER_SIZE];
    if (ask->rounded) {
        att_put(out, "right as rounded, with at least two digits");
        return;
    }
    if (ask->rule == ATT_RULE_DIGITS || ask->rule == ATT_RULE_DECIMALS) {
        att_putf(out, "to %d %s%s", ask->digits,
                 ask->rule == ATT_RULE_DIGITS ? "significant digit" : "decimal",
                 ask->digits == 1 ? "" : "s");
        return;
    }
    att_number_short(text, ask->tolerance, 6);
    att_putf(out, "within %s", text);
    att_put(out, ask->rule == ATT_RULE_PERCENT ? " percent" : "");
}

void att_ask_put_terms(att_writer *out, const att_ask *ask)
{
    char text[ATT_NUMBER_SIZE];
    att_number_short(text, ask->points, 6);
    att_putf(out, "%s point%s%s; ", text, ask->points == 1 ? "" : "s",
             ask->partial ? ", by element" : "");
    put_rule(out, ask);
}

void att_ask_put_shape(att_writer *out, const att_ask *ask, const char *times)
{
    att_putf(out, "a %" PRId64 " %s %" PRId64 " matrix", ask->value->rows, times, ask->value->cols);
}

void att_blank_put_tex(att_writer *out, const att_matrix *value, const char *blank)
{
    bool scalar = value->rows == 1 && value->cols == 1;
    att_put(out, scalar ? "" : "\\begin{bmatrix}");
    for (int64_t i = 0; i < value->rows; i++) {
        att_put(out, i > 0 ? " \\\\ " : "");
        for (int64_t j = 0; j < value->cols; j++) {
            att_put(out, j > 0 ? " & " : "");
            att_put(out, blank);
        }
    }
    att_put(out, scalar ? "" : "\\end{bmatrix}");
}

static void put_cells(att_writer *out, int64_t cols)
{
    for (int64_t j = 0; j < cols; j++)
        att_put(out, "<td class=\"blank\"></td>");
}

void att_blank_put_html(att_writer *out, const att_matrix *value)
{
    if (value->rows == 1 && value->cols == 1) {
        att_put(out, "<table class=\"matrix\"><tbody><tr>");
        put_cells(out, 1);
        att_put(out, "</tr></tbody></table>\n");
        return;
    }
    att_put(out, "<table class=\"matrix\"><tbody>\n");
    for (int64_t i = 0; i < value->rows; i++) {
        att_put(out, "<tr>");
        if (i == 0)
            att_putf(out, "<td class=\"open\" rowspan=\"%" PRId64 "\"></td>", value->rows);
        put_cells(out, value->cols);
        if (i == 0)
            att_putf(out, "<td class=\"close\" rowspan=\"%" PRId64 "\"></td>", value->rows);
        att_put(out, "</tr>\n");
    }
    att_put(out, "</tbody></table>\n");
}

void att_blank_put_text(att_writer *out, int64_t cols, bool scalar)
{
    att_put(out, scalar ? "" : "[ ");
    for (int64_t j = 0; j < cols; j++)
        att_put(out, j > 0 ? "  ______" : "______");
    att_put(out, scalar ? "" : " ]");
}
