/* RNN cells: rnn, lstm and gru over a sequence of input rows, from an initial state. Vectors are
 * rows: h' = tanh(x W_x + h W_h + b). Gates are side by side in the columns of W_x, W_h and b, in
 * the order of the cell's parts. The result is the state after each row. Where vectors are columns,
 * all of it is transposed: W_x x + W_h h + b, gates one above the other. */
#include "sheet/blocks_rnn.h"
#include "sheet/scenario.h"

#include <inttypes.h>

/* ---------------------------------------------------------------- arguments */

/* Argument `index` with its vectors as rows. `shape` keeps its shape in the sheet, for messages. */
static att_status read_oriented(const att_sheet_rnn_run *run, size_t index, const char *usage_name,
                                att_argument *out, const att_matrix **shape)
{
    ATT_TRY(att_argument_get(run->call, index, usage_name, out));
    *shape = out->matrix;
    out->matrix = att_sheet_layer_orient(run->layer, out->matrix);
    return out->matrix ? ATT_OK : att_fail_memory(run->call->err);
}

/* Told where the other orientation of vectors fits. */
static const char *orientation_hint(const att_sheet_rnn_run *run, bool fits)
{
    if (!fits)
        return "";
    return run->layer->columns ? " (without 'vectors = columns', vectors are rows)"
                               : " (for column vectors: vectors = columns)";
}

/* Reads a state of one vector; the first state determines the hidden size m. */
static att_status read_state(att_sheet_rnn_run *run, size_t index, const char *usage_name,
                             const double **out)
{
    att_argument state;
    const att_matrix *shape;
    ATT_TRY(read_oriented(run, index, usage_name, &state, &shape));
    bool first = run->m == 0;
    const char *vector = run->layer->columns ? "column" : "row";
    if (first && state.matrix->rows != 1)
        return att_call_fail(run->call, state.node,
                             "%s: %s is %" PRId64 " × %" PRId64 ", but a state must be one %s%s",
                             run->call->function->name, state.name, shape->rows, shape->cols,
                             vector, orientation_hint(run, state.matrix->cols == 1));
    if (!first && (state.matrix->rows != 1 || state.matrix->cols != run->m))
        return att_call_fail(run->call, state.node,
                             "%s: %s is %" PRId64 " × %" PRId64
                             ", but must be one %s as %s as h, %" PRId64 " × %" PRId64,
                             run->call->function->name, state.name, shape->rows, shape->cols,
                             vector, run->layer->columns ? "high" : "wide",
                             run->layer->columns ? run->m : 1, run->layer->columns ? 1 : run->m);
    run->m = state.matrix->cols;
    *out = state.matrix->data;
    return ATT_OK;
}

static att_status read_matrix(const att_sheet_rnn_run *run, size_t index, const char *usage_name,
                              int64_t inputs, const char *whose, const att_matrix **out)
{
    att_argument w;
    const att_matrix *shape;
    int64_t units = run->cell->gates * run->m;
    bool columns = run->layer->columns;
    ATT_TRY(read_oriented(run, index, usage_name, &w, &shape));
    *out = w.matrix;
    if (w.matrix->rows == inputs && w.matrix->cols == units)
        return ATT_OK;
    return att_call_fail(run->call, w.node,
                         "%s: %s is %" PRId64 " × %" PRId64 ", but must be %" PRId64 " × %" PRId64
                         ": a %s for each element of %s, a %s for each unit%s",
                         run->call->function->name, w.name, shape->rows, shape->cols,
                         columns ? units : inputs, columns ? inputs : units,
                         columns ? "column" : "row", whose, columns ? "row" : "column",
                         run->cell->gates > 1 ? " of each gate" : "");
}

static att_status read_arguments(att_sheet_rnn_run *run)
{
    size_t next = 0;
    int64_t wide;
    const att_matrix *shape;
    ATT_TRY(read_oriented(run, next++, "x", &run->x, &shape));
    ATT_TRY(read_state(run, next++, "h", &run->h));
    if (run->cell->has_cell_state)
        ATT_TRY(read_state(run, next++, "c", &run->c));
    wide = run->cell->gates * run->m;
    ATT_TRY(read_matrix(run, next++, "W_x", run->x.matrix->cols, run->x.name, &run->w_x));
    ATT_TRY(read_matrix(run, next++, "W_h", run->m, "h", &run->w_h));
    ATT_TRY(att_argument_vector(run->call, next++, "b", wide, &run->b));
    if (run->b && att_slip_is_made(run->call->scenario, ATT_SLIP_NO_BIAS, run->call->node, 0))
        run->b = NULL;
    return att_argument_vector(run->call, next++, "b_h", wide, &run->b_h);
}

/* ---------------------------------------------------------------- running */

static att_status run_steps(att_sheet_rnn_run *run)
{
    att_arena *arena = run->call->arena;
    int64_t steps = run->x.matrix->rows;
    size_t wide = (size_t)(run->cell->gates * run->m);
    run->from_x = att_arena_alloc(arena, wide, sizeof(double));
    run->from_h = att_arena_alloc(arena, wide, sizeof(double));
    if (!run->from_x || !run->from_h)
        return att_fail_memory(run->call->err);
    for (; run->parts < ATT_SHEET_RNN_PARTS && run->cell->part[run->parts].name; run->parts++) {
        att_matrix *m = att_matrix_new(arena, steps, run->m);
        if (!m)
            return att_fail_memory(run->call->err);
        m->row_labels = run->x.matrix->numbered ? NULL : run->x.matrix->row_labels;
        run->part[run->parts] = m;
    }
    for (int64_t t = 0; t < steps; t++)
        if (!att_sheet_rnn_step(run, t))
            return att_fail_memory(run->call->err);
    return ATT_OK;
}

static att_status write_part(const att_sheet_rnn_run *run, size_t index, att_calculations *out)
{
    const att_sheet_rnn_part *row = &run->cell->part[index];
    const att_matrix *value = run->part[index];
    att_arena *arena = run->call->arena;
    if (!att_calculation_fits(value->rows, value->cols, run->w_x->rows + run->m))
        return ATT_OK;
    ATT_TRY(
        att_calculations_start(out, arena, (size_t)(value->rows * value->cols), run->call->err));
    bool columns = run->layer->columns;
    for (int64_t t = 0; t < value->rows; t++)
        for (int64_t j = 0; j < value->cols; j++)
            ATT_TRY(att_calculations_add_number(
                out, arena, columns ? j + 1 : t + 1,
                columns ? att_make_indexed(arena, row->name, j + 1, t + 1)
                        : att_make_indexed(arena, row->name, t + 1, j + 1),
                row->write(arena, run, t, j), value->data[t * value->cols + j], run->call->err));
    return ATT_OK;
}

static att_status run_cell(const att_call *call, const att_sheet_rnn_cell *cell, bool before,
                           att_value *out)
{
    att_sheet_layer layer;
    att_sheet_rnn_run run = { .call = call, .layer = &layer, .cell = cell, .before = before };
    ATT_TRY(att_sheet_layer_start(&layer, call, ATT_SHEET_RNN_PARTS));
    ATT_TRY(read_arguments(&run));
    ATT_TRY(att_sheet_layer_check_cost(call, (double)run.x.matrix->rows * (double)run.w_x->cols *
                                                 (double)(run.w_x->rows + run.w_h->rows)));
    ATT_TRY(run_steps(&run));
    for (size_t i = 0; i < run.parts; i++) {
        att_calculations calculations = { 0 };
        ATT_TRY(write_part(&run, i, &calculations));
        const att_sheet_rnn_part *part = &cell->part[i];
        const char *text = att_formula_drop_absent(
            call->arena,
            layer.columns && part->column_formula ? part->column_formula : part->formula,
            run.b != NULL, run.b_h != NULL);
        const att_expr *formula = text ? att_formula(call->arena, text) : NULL;
        if (!formula)
            return att_fail_memory(call->err);
        ATT_TRY(att_sheet_layer_add(
            &layer, &(att_trace_part){ .name = part->name,
                                       .description = part->description,
                                       .formula = formula,
                                       .value = att_sheet_layer_orient(&layer, run.part[i]),
                                       .calculations = calculations.items,
                                       .calculation_count = calculations.count }));
    }
    att_sheet_layer_finish(&layer, out);
    return ATT_OK;
}

att_status att_run_rnn(const att_call *call, att_value *out)
{
    return run_cell(call, &att_sheet_rnn_cell_rnn, false, out);
}

att_status att_run_lstm(const att_call *call, att_value *out)
{
    return run_cell(call, &att_sheet_rnn_cell_lstm, false, out);
}

att_status att_run_gru(const att_call *call, att_value *out)
{
    static const char *const orders[] = { "after", "before", NULL };
    size_t order = 0;
    ATT_TRY(att_option_word(call, "reset", orders, &order));
    return run_cell(call,
                    order == 1 ? &att_sheet_rnn_cell_gru_before : &att_sheet_rnn_cell_gru_after,
                    order == 1, out);
}
