/* Answers in .npz files and in notebooks. A notebook's cells are read as text, and what they
 * printed when their author ran them; nothing is run here. */
#include "grade/answers.h"

#include "base/json.h"
#include "base/string.h"
#include "tensor/bundle.h"

#include <math.h>
#include <string.h>

/* ---- .npz */

/* An array of at most two dimensions, after leading ones of size 1. */
static att_status read_array(att_student_answers *out, const att_sheet *sheet, size_t ask,
                             const att_tensor *tensor, att_error *err)
{
    int first = 0;
    while (first < tensor->rank - 2 && tensor->shape[first] == 1)
        first++;
    int64_t count = att_tensor_count(tensor);
    bool small = tensor->rank - first <= 2 && count > 0 && count <= 1 << 20;
    if (!small) {
        out->items[ask] =
            (att_student_answer){ .state = ATT_ANSWER_UNREADABLE,
                                  .problem = "expected an array of one or two dimensions" };
        return ATT_OK;
    }
    att_numbers numbers = { .rows = 1, .cols = count, .flat = tensor->rank - first < 2 };
    if (!numbers.flat) {
        numbers.rows = tensor->shape[tensor->rank - 2];
        numbers.cols = tensor->shape[tensor->rank - 1];
    }
    numbers.values = att_arena_alloc(&out->arena, (size_t)count, sizeof *numbers.values);
    numbers.units = att_arena_alloc(&out->arena, (size_t)count, sizeof *numbers.units);
    if (!numbers.values || !numbers.units)
        return att_fail_memory(err);
    att_tensor copy;
    ATT_TRY(att_tensor_copy(&copy, tensor, ATT_F64, err));
    memcpy(numbers.values, copy.data, (size_t)count * sizeof(double));
    att_tensor_free(&copy);
    return att_student_answers_set(out, sheet, ask, &numbers, 0, 0, err);
}

att_status att_student_answers_read_npz(att_student_answers *out, const att_sheet *sheet,
                                        const void *bytes, size_t size, const char *name,
                                        att_error *err)
{
    att_bundle *bundle;
    ATT_TRY(att_npz_read(&bundle, bytes, size, name, err));
    att_status status = ATT_OK;
    for (size_t i = 0; i < att_bundle_count(bundle) && status == ATT_OK; i++) {
        const char *array = att_bundle_name(bundle, i);
        att_answer_spelling spelling;
        size_t ask = att_answer_find_ask(sheet, array, strlen(array), &spelling);
        if (ask == SIZE_MAX || (out->items[ask].spelled && spelling == ATT_SPELLING_OTHER_CASE))
            continue;
        status = read_array(out, sheet, ask, att_bundle_get(bundle, array), err);
        out->items[ask].spelled |= spelling == ATT_SPELLING_EXACT;
    }
    att_bundle_free(bundle);
    return status;
}

/* ---- Notebooks */

/* A text of a notebook: a string, or a list of lines. */
static att_status put_text(att_string *out, const att_json *value)
{
    if (!value)
        return ATT_OK;
    if (value->type == ATT_JSON_STRING)
        return att_string_append(out, value->string, value->length);
    for (size_t i = 0; value->type == ATT_JSON_ARRAY && i < value->count; i++)
        if (value->items[i].type == ATT_JSON_STRING)
            ATT_TRY(att_string_append(out, value->items[i].string, value->items[i].length));
    return ATT_OK;
}

/* What a code cell printed. */
static att_status put_outputs(att_string *out, const att_json *cell)
{
    const att_json *outputs = att_json_find(cell, "outputs");
    for (size_t i = 0; outputs && outputs->type == ATT_JSON_ARRAY && i < outputs->count; i++) {
        const att_json *output = &outputs->items[i];
        ATT_TRY(att_string_append(out, "\n", 1));
        ATT_TRY(put_text(out, att_json_find(output, "text")));
        ATT_TRY(put_text(out, att_json_find(att_json_find(output, "data"), "text/plain")));
    }
    return ATT_OK;
}

static att_status read_cell(att_student_answers *out, const att_sheet *sheet, const att_json *cell,
                            int number, att_error *err)
{
    att_string text = { 0 }, simple = { 0 };
    att_status status = put_text(&text, att_json_find(cell, "source"));
    if (status == ATT_OK)
        status = put_outputs(&text, cell);
    if (status == ATT_OK && text.length > 0)
        status = att_answer_text_simplify(&simple, text.data, text.length);
    if (status != ATT_OK)
        status = att_fail_memory(err);
    else if (simple.length > 0)
        status =
            att_student_answers_read_text(out, sheet, simple.data, simple.length, 1, number, err);
    att_string_free(&text);
    att_string_free(&simple);
    return status;
}

att_status att_student_answers_read_notebook(att_student_answers *out, const att_sheet *sheet,
                                             const char *text, size_t length, const char *name,
                                             att_error *err)
{
    att_json_doc doc;
    const att_json *cells;
    ATT_TRY(att_json_read(&doc, text, length, name, NULL, err));
    att_status status = att_json_get(&cells, doc.root, "cells", ATT_JSON_ARRAY, name, err);
    for (size_t i = 0; status == ATT_OK && i < cells->count; i++)
        status = read_cell(out, sheet, &cells->items[i], (int)i + 1, err);
    att_json_free(&doc);
    return status;
}
