/* Gradients of the RNN cells: backpropagation through time by the reference, shown part by part
 * from the new state back to the sums before the activations. Row t of each gradient is step t, so
 * that a reader sees it shrink or grow on its way back. The cells are in gradient_rnn_cells.c. */
#include "sheet/gradient_rnn.h"

#include "sheet/matrix.h"

#include <string.h>

/* ---------------------------------------------------------------- running */

static const att_matrix *argument(const att_computation *c, size_t index)
{
    return index < c->call->arg_count ? c->call->args[index].matrix : NULL;
}

static att_status read_arguments(att_cell_back *back)
{
    size_t next = 0;
    const att_computation *c = back->c;
    ATT_TRY(att_sheet_layer_start(&back->layer, c->call, 1));
    back->given_x = argument(c, next++);
    back->given_h = argument(c, next++);
    if (back->cell->has_cell_state)
        back->given_c0 = argument(c, next++);
    back->given_w_x = argument(c, next++);
    back->given_w_h = argument(c, next++);
    back->b = argument(c, next++);
    back->b_h = argument(c, next++);
    back->x = att_sheet_layer_orient(&back->layer, back->given_x);
    back->h = att_sheet_layer_orient(&back->layer, back->given_h);
    back->c0 = att_sheet_layer_orient(&back->layer, back->given_c0);
    back->w_x = att_sheet_layer_orient(&back->layer, back->given_w_x);
    back->w_h = att_sheet_layer_orient(&back->layer, back->given_w_h);
    return back->x && back->h && back->w_x && back->w_h && (back->c0 || !back->given_c0)
               ? ATT_OK
               : att_fail_memory(c->call->err);
}

static att_matrix *like(att_backward *walk, const att_matrix *m)
{
    return m ? att_matrix_new(att_backward_arena(walk), m->rows, m->cols) : NULL;
}

static bool allocate(att_backward *walk, att_cell_back *back)
{
    att_arena *arena = att_backward_arena(walk);
    int64_t steps = back->x->rows, columns = back->w_h->cols;
    back->gates = att_matrix_new(arena, steps, columns);
    back->gates_u = att_matrix_new(arena, steps, columns);
    back->dx = like(walk, back->x);
    back->dw_x = like(walk, back->w_x);
    back->dw_h = like(walk, back->w_h);
    back->dh = like(walk, back->h);
    back->dc0 = like(walk, back->c0);
    back->db = att_matrix_new(arena, 1, columns);
    back->db_h = att_matrix_new(arena, 1, columns);
    for (int i = 0; i < att_rnn_cell_parts(back->cell->kind); i++) {
        back->grad[i] = att_matrix_like(arena, back->part[i]);
        if (!back->grad[i])
            return false;
    }
    return back->gates && back->gates_u && back->dx && back->dw_x && back->dw_h && back->dh &&
           (back->dc0 || !back->c0) && back->db && back->db_h;
}

static att_status run_reference(att_backward *walk, att_cell_back *back)
{
    back->run = (att_reference_rnn_run){ .cell = back->cell->kind,
                                         .reset_first = back->cell->reset_first,
                                         .time = back->x->rows,
                                         .depth = back->x->cols,
                                         .units = back->w_h->rows,
                                         .x = back->x->data,
                                         .w = back->w_x->data,
                                         .u = back->w_h->data,
                                         .bias_u = back->b_h ? back->b_h->data : NULL,
                                         .initial_hidden = back->h->data,
                                         .initial_cell = back->c0 ? back->c0->data : NULL };
    att_reference_rnn_grads grads = { .gates = back->gates->data,
                                      .gates_u = back->gates_u->data,
                                      .x = back->dx->data,
                                      .w = back->dw_x->data,
                                      .u = back->dw_h->data,
                                      .bias = back->db->data,
                                      .bias_u = back->db_h->data,
                                      .initial_hidden = back->dh->data,
                                      .initial_cell = back->dc0 ? back->dc0->data : NULL };
    for (int i = 0; i < att_rnn_cell_parts(back->cell->kind); i++) {
        back->run.part[i] = back->part[i]->data;
        grads.upstream[i] = back->sent[i] ? back->sent[i]->data : NULL;
        grads.part[i] = back->grad[i]->data;
    }
    double *scratch =
        att_arena_alloc(att_backward_arena(walk), 3 * (size_t)back->run.units, sizeof *scratch);
    if (!scratch)
        return att_fail_memory(att_backward_error(walk));
    att_reference_rnn_backward(&grads, &back->run, scratch);
    return ATT_OK;
}

/* ---------------------------------------------------------------- showing */

/* What the calculation of an element needs besides its place. */
struct worked {
    const att_cell_back *back;
    att_write_step *write;
    const att_matrix *sent; /* what the loss sends directly, or NULL */
    bool from_next;
};

static const struct worked *work(att_backward *walk, const att_cell_back *back,
                                 att_write_step *write)
{
    struct worked *worked = att_arena_alloc(att_backward_arena(walk), 1, sizeof *worked);
    if (worked)
        *worked = (struct worked){ .back = back, .write = write };
    return worked;
}

/* Element (row, col) in the orientation of the sheet. */
static att_expr *write_worked(att_arena *arena, const void *of, int64_t row, int64_t col)
{
    const struct worked *worked = of;
    const att_cell_back *back = worked->back;
    int64_t t = back->layer.columns ? col : row, j = back->layer.columns ? row : col;
    const att_matrix *sent = worked->sent;
    att_expr_sum sum = { .arena = arena };
    if (sent && sent->data[t * sent->cols + j] != 0)
        att_expr_sum_add(&sum, att_make_number(arena, sent->data[t * sent->cols + j]));
    if (!worked->from_next || t + 1 < back->gates->rows)
        att_expr_sum_add(&sum, worked->write(arena, back, t, j));
    return sum.terms > 0 ? sum.expr : att_make_number(arena, 0);
}

/* The number of terms in what a step sends back to the state before it. */
static int64_t state_terms(const att_cell_back *back)
{
    return back->gates_u->cols;
}

static const char *oriented(const att_cell_back *back, const att_cell_rule *rule)
{
    return back->layer.columns && rule->column_formula ? rule->column_formula : rule->formula;
}

/* The formula of a part; a cell without a second bias b_n does not show one. */
static att_expr *part_formula(att_backward *walk, const att_cell_back *back,
                              const att_cell_rule *rule)
{
    static const char bias[] = " + b_n";
    const char *text = oriented(back, rule), *at = strstr(text, bias);
    if (at && !back->b_h)
        text = att_arena_printf(att_backward_arena(walk), "%.*s%s", (int)(at - text), text,
                                at + strlen(bias));
    return text ? att_backward_named(walk, text, back->names) : NULL;
}

static att_status finish_part(att_backward *walk, const att_cell_back *back, int part)
{
    const att_cell_rule *rule = &back->cell->part[part];
    const att_matrix *to = back->c->output.parts[part].value;
    att_expr *formula = part_formula(walk, back, rule);
    att_expr *sent = att_backward_sent_formula(walk, to);
    const att_matrix *grad = att_sheet_layer_orient(&back->layer, back->grad[part]);
    if (sent)
        formula = att_make_binary(att_backward_arena(walk), ATT_OP_ADD, sent, formula);
    struct worked *worked = att_arena_alloc(att_backward_arena(walk), 1, sizeof *worked);
    if (!formula || !worked || !grad)
        return att_fail_memory(att_backward_error(walk));
    *worked = (struct worked){ back, rule->write, back->sent[part], rule->from_next };
    const att_contribution total = { .reason = rule->reason,
                                     .formula = formula,
                                     .value = grad,
                                     .write = write_worked,
                                     .of = worked,
                                     .term_count = rule->from_next ? state_terms(back) : 2 };
    return att_backward_finish_as(walk, to, &total);
}

/* Shows gradients that are no part of the cell: dgates and dgates_h. */
static att_status show_rule(att_backward *walk, const att_cell_back *back,
                            const att_cell_rule *rule, const char *name, const att_matrix *value)
{
    if (!rule->formula)
        return ATT_OK;
    const att_contribution part = { .reason = rule->reason,
                                    .formula =
                                        att_backward_named(walk, oriented(back, rule), back->names),
                                    .value = att_sheet_layer_orient(&back->layer, value),
                                    .write = write_worked,
                                    .of = work(walk, back, rule->write),
                                    .term_count = 2 };
    return part.of ? att_backward_show_worked(walk, name, &part, rule == &back->cell->products)
                   : att_fail_memory(att_backward_error(walk));
}

/* ---------------------------------------------------------------- sending */

/* The states before each step, as rows. */
static att_matrix *states_before(att_backward *walk, const att_cell_back *back)
{
    att_matrix *states = att_matrix_new(att_backward_arena(walk), back->x->rows, back->w_h->rows);
    for (int64_t t = 0; states && t < states->rows; t++)
        for (int64_t j = 0; j < states->cols; j++)
            states->data[t * states->cols + j] = att_cell_state_before(back, t, j);
    return states;
}

static att_status send_vector(att_backward *walk, const att_matrix *to, const att_matrix *row,
                              const att_cell_back *back, const att_matrix *gates, const char *text)
{
    if (!to)
        return ATT_OK;
    att_matrix *value = like(walk, to);
    if (!value)
        return att_fail_memory(att_backward_error(walk));
    memcpy(value->data, row->data, (size_t)(row->rows * row->cols) * sizeof *row->data);
    const att_contribution part = { .reason = "a bias is added in every step: the gradients add up",
                                    .formula = att_backward_named(walk, text, back->names),
                                    .value = value,
                                    .terms = att_terms_column_sums(gates, to->rows > 1) };
    return att_backward_send(walk, to, part);
}

/* What arrives at the state before the first step, and at the cell state. */
static att_status send_states(att_backward *walk, const att_cell_back *back)
{
    enum { LSTM_F = 1, LSTM_C = 4 };
    bool columns = back->layer.columns;
    const struct worked *worked = work(walk, back, att_write_state_before);
    const att_matrix *dh = att_sheet_layer_orient(&back->layer, back->dh);
    if (!worked || !dh)
        return att_fail_memory(att_backward_error(walk));
    ATT_TRY(att_backward_send(
        walk, back->given_h,
        (att_contribution){ .reason = "what arrives at the state before the first step",
                            .formula =
                                att_backward_named(walk, back->cell->start[columns], back->names),
                            .value = dh,
                            .write = write_worked,
                            .of = worked,
                            .term_count = state_terms(back) }));
    if (!back->given_c0)
        return ATT_OK;
    const att_matrix *dc = att_sheet_layer_orient(&back->layer, back->dc0);
    if (!dc)
        return att_fail_memory(att_backward_error(walk));
    att_terms terms = att_terms_elementwise(back->grad[LSTM_C], back->part[LSTM_F]);
    return att_backward_send(
        walk, back->given_c0,
        (att_contribution){
            .reason = "what arrives at the cell state before the first step",
            .formula = att_backward_named(walk, columns ? "dc[:, 1] .* f[:, 1]" : "dc[1] .* f[1]",
                                          back->names),
            .value = dc,
            .terms = columns ? att_terms_transpose(terms) : terms });
}

/* Sends to an argument; value and terms are with vectors as rows. */
static att_status send_turned(att_backward *walk, const att_cell_back *back, const att_matrix *to,
                              att_contribution part)
{
    part.value = att_sheet_layer_orient(&back->layer, part.value);
    if (!part.value)
        return att_fail_memory(att_backward_error(walk));
    if (back->layer.columns)
        part.terms = att_terms_transpose(part.terms);
    return att_backward_send(walk, to, part);
}

static att_status send_inputs(att_backward *walk, const att_cell_back *back, const char *gates)
{
    bool columns = back->layer.columns;
    att_matrix *states = states_before(walk, back);
    att_expr *x = att_backward_name(walk, back->given_x);
    att_expr *w = att_backward_name(walk, back->given_w_x);
    att_expr *name = att_backward_named(walk, gates, back->names);
    att_write_step *write_w_h = back->cell->write_w_h; /* NULL: W_h gets h' dgates_h */
    const struct worked *worked = work(walk, back, write_w_h);
    if (!states || !worked || !x || !w || !name)
        return att_fail_memory(att_backward_error(walk));
    ATT_TRY(send_turned(
        walk, back, back->given_x,
        (att_contribution){
            .reason = "each input gets the gradient of its step's sums times W_x'",
            .formula = att_backward_formula(walk, columns ? "W' * G" : "G * W'", "GW", name, w),
            .value = back->dx,
            .terms = att_terms_product_bt(back->gates, back->w_x) }));
    ATT_TRY(send_turned(walk, back, back->given_w_x,
                        (att_contribution){ .reason = "all steps share W_x: their gradients add up",
                                            .formula = att_backward_formula(
                                                walk, columns ? "G * X'" : "X' * G", "GX", name, x),
                                            .value = back->dw_x,
                                            .terms = att_terms_product_at(back->x, back->gates) }));
    ATT_TRY(send_turned(
        walk, back, back->given_w_h,
        (att_contribution){
            .reason = "all steps share W_h: the states before them, transposed, "
                      "times their gradients",
            .formula = att_backward_named(walk, back->cell->w_h[columns], back->names),
            .value = back->dw_h,
            .terms = write_w_h ? (att_terms){ 0 } : att_terms_product_at(states, back->gates_u),
            .write = write_w_h ? write_worked : NULL,
            .of = worked,
            .term_count = states->rows }));
    const char *bias = back->cell->gates.formula
                           ? (columns ? "sum(dgates, rows)" : "sum(dgates, cols)")
                       : columns ? "sum(dz, rows)"
                                 : "sum(dz, cols)";
    ATT_TRY(send_vector(walk, back->b, back->db, back, back->gates, bias));
    ATT_TRY(send_vector(walk, back->b_h, back->db_h, back, write_w_h ? back->gates : back->gates_u,
                        back->cell->b_h[columns]));
    return send_states(walk, back);
}

static void name_parts(att_cell_back *back)
{
    size_t count = back->c->output.part_count;
    for (size_t i = 0; i < count; i++)
        back->names[i] =
            (att_formula_name){ back->c->output.parts[i].name, back->c->output.parts[i].value };
    back->names[count] = (att_formula_name){ "W_h", back->given_w_h };
}

static att_status run_cell(att_backward *walk, const att_computation *c,
                           const att_cell_gradient *cell)
{
    att_cell_back *back = att_arena_alloc(att_backward_arena(walk), 1, sizeof *back);
    if (!back)
        return att_fail_memory(att_backward_error(walk));
    *back = (att_cell_back){ .cell = cell, .c = c };
    ATT_TRY(read_arguments(back));
    name_parts(back);
    bool any = false;
    for (size_t i = 0; i < c->output.part_count; i++) {
        back->part[i] = att_sheet_layer_orient(&back->layer, c->output.parts[i].value);
        ATT_TRY(att_backward_sent(walk, c->output.parts[i].value, &back->sent[i]));
        const att_matrix *turned = att_sheet_layer_orient(&back->layer, back->sent[i]);
        if (!back->part[i] || (back->sent[i] && !turned))
            return att_fail_memory(att_backward_error(walk));
        any = any || turned;
        back->sent[i] = turned;
    }
    if (!any)
        return ATT_OK;
    if (!allocate(walk, back))
        return att_fail_memory(att_backward_error(walk));
    ATT_TRY(run_reference(walk, back));
    for (size_t i = 0; i < c->output.part_count; i++)
        ATT_TRY(finish_part(walk, back, cell->order[i]));
    ATT_TRY(show_rule(walk, back, &cell->gates, "dgates", back->gates));
    ATT_TRY(show_rule(walk, back, &cell->products, "dgates_h", back->gates_u));
    return send_inputs(walk, back, cell->gates.formula ? "dgates" : "dz");
}

att_status att_rnn_rule(att_backward *walk, const att_computation *c)
{
    return run_cell(walk, c, &att_rnn_gradient);
}

att_status att_lstm_rule(att_backward *walk, const att_computation *c)
{
    return run_cell(walk, c, &att_lstm_gradient);
}

att_status att_gru_rule(att_backward *walk, const att_computation *c)
{
    const att_value *reset = att_call_option(c->call, "reset");
    bool first = reset && reset->kind == ATT_VALUE_WORD && strcmp(reset->word, "before") == 0;
    return run_cell(walk, c, first ? &att_gru_reset_first_gradient : &att_gru_gradient);
}
