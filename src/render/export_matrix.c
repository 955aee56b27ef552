/* Matrices, lists and arrays of files in exported programs: lines break between rows. */
#include "render/export.h"

#include <math.h>

enum { MAX_COLUMNS = 96 };

/* The bytes since the last line end: enough to align with. */
static size_t current_column(const att_exporter *exporter)
{
    const att_string *text = exporter->out.text;
    size_t column = 0;
    while (column < text->length && text->data[text->length - 1 - column] != '\n')
        column++;
    return column;
}

static void break_line(att_exporter *exporter, size_t indent)
{
    att_put(&exporter->out, "\n");
    att_put_repeat(&exporter->out, " ", (int64_t)indent);
}

/* One row: [1, 2, 3]. */
static void put_row(att_exporter *exporter, const att_expr *row)
{
    size_t indent = current_column(exporter) + 1;
    att_put(&exporter->out, "[");
    for (size_t i = 0; i < row->children; i++) {
        att_put(&exporter->out, i > 0 ? "," : "");
        if (i > 0 && current_column(exporter) > MAX_COLUMNS)
            break_line(exporter, indent);
        else
            att_put(&exporter->out, i > 0 ? " " : "");
        att_export_matrix(exporter, row->child[i]);
    }
    att_put(&exporter->out, "]");
}

bool att_export_is_literal(const att_exporter *exporter, const att_expr *node)
{
    if (node->kind != ATT_EXPR_MATRIX)
        return false;
    for (size_t i = 0; i < node->children; i++)
        for (size_t j = 0; j < node->child[i]->children; j++)
            if (!att_export_is_number(exporter, node->child[i]->child[j]))
                return false;
    return true;
}

void att_export_put_matrix(att_exporter *exporter, const att_expr *node)
{
    if (node->children == 0) {
        att_export_use(exporter, "zeros");
        att_put(&exporter->out, "(0, 0)");
        return;
    }
    att_export_use(exporter, att_export_is_literal(exporter, node) ? "array" : "block");
    att_put(&exporter->out, "([");
    size_t indent = current_column(exporter);
    for (size_t i = 0; i < node->children; i++) {
        if (i > 0) {
            att_put(&exporter->out, ",");
            break_line(exporter, indent);
        }
        put_row(exporter, node->child[i]);
    }
    att_put(&exporter->out, "])");
}

static void put_double(att_exporter *exporter, double x)
{
    if (isfinite(x))
        att_put_json_number(&exporter->out, x);
    else
        att_putf(&exporter->out, "float(\"%s\")", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
}

void att_export_numbers(att_exporter *exporter, const att_matrix *matrix)
{
    att_export_use(exporter, "array");
    att_put(&exporter->out, "([");
    size_t indent = current_column(exporter);
    for (int64_t i = 0; i < matrix->rows; i++) {
        att_put(&exporter->out, i > 0 ? "," : "");
        if (i > 0)
            break_line(exporter, indent);
        att_put(&exporter->out, "[");
        for (int64_t j = 0; j < matrix->cols; j++) {
            att_put(&exporter->out, j > 0 ? "," : "");
            if (j > 0 && current_column(exporter) > MAX_COLUMNS)
                break_line(exporter, indent + 1);
            else
                att_put(&exporter->out, j > 0 ? " " : "");
            put_double(exporter, matrix->data[i * matrix->cols + j]);
        }
        att_put(&exporter->out, "]");
    }
    att_put(&exporter->out, "])");
}

void att_export_put_list(att_exporter *exporter, const att_expr *node)
{
    size_t indent = current_column(exporter) + 1;
    att_put(&exporter->out, "[");
    for (size_t i = 0; i < node->children; i++) {
        att_put(&exporter->out, i > 0 ? "," : "");
        if (i > 0 && node->child[i]->kind == ATT_EXPR_MATRIX)
            break_line(exporter, indent);
        else
            att_put(&exporter->out, i > 0 ? " " : "");
        att_export_matrix(exporter, node->child[i]);
    }
    att_put(&exporter->out, "]");
}

void att_export_put_load(att_exporter *exporter, const att_expr *node)
{
    att_export_use(exporter, "load");
    att_put(&exporter->out, "(");
    att_export_string(exporter, node->child[0]->text);
    if (node->child[1]) {
        att_put(&exporter->out, ", ");
        att_export_string(exporter, node->child[1]->text);
    }
    for (size_t i = 2; i < node->children; i++)
        att_putf(&exporter->out, "%s%lld", i == 2 ? ", at=[" : ", ",
                 (long long)node->child[i]->number);
    att_put(&exporter->out, node->children > 2 ? "])" : ")");
}
