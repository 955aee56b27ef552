/* Gradients of the RNN cells: backpropagation through time by the reference, shown part by part
 * from the new state back to the sums before the activations. Row t of each gradient is step t, so
 * that a reader sees it shrink or grow on its way back. */
#include "sheet/gradient_rules.h"

#include "base/math.h"
#include "reference/rnn_backward.h"
#include "sheet/blocks.h"
#include "sheet/matrix.h"

#include <string.h>

struct cell;

/* A call during its backward pass. */
struct back {
    const struct cell *cell;
    const att_computation *c;
    att_sheet_layer layer;                              /* the orientation of vectors */
    const att_matrix *x, *w_x, *w_h, *b, *b_h, *h, *c0; /* with vectors as rows, and */
    const att_matrix *given_x, *given_w_x, *given_w_h, *given_h, *given_c0; /* as in the sheet */
    const att_matrix *part[ATT_MAX_RNN_PARTS];
    const att_matrix *sent[ATT_MAX_RNN_PARTS]; /* what the loss sends directly, or NULL */
    att_matrix *grad[ATT_MAX_RNN_PARTS];
    att_matrix *gates, *gates_u; /* of the sums before the activations */
    att_matrix *dx, *dw_x, *dw_h, *db, *db_h, *dh, *dc0;
    att_reference_rnn_run run;
    att_formula_name names[ATT_MAX_RNN_PARTS + 3];
};

/* A part of a cell: the formula of its gradient without what the loss sends directly (NULL: only
 * that), the rule in words, and the calculation of one element. */
struct cell_rule {
    const char *formula;
    const char *column_formula; /* where vectors are columns; NULL: the same */
    const char *reason;
    att_expr *(*write)(att_arena *arena, const struct back *back, int64_t t, int64_t j);
};

struct cell {
    att_rnn_cell kind;
    bool has_cell_state;
    struct cell_rule part[ATT_MAX_RNN_PARTS];
    int order[ATT_MAX_RNN_PARTS]; /* in which the parts are completed */
    const char *gates,
        *column_gates; /* the rule of the sums before the activations; NULL: a part */
    const char *gates_reason;
};

/* ---------------------------------------------------------------- calculations */

static double at(const att_matrix *m, int64_t t, int64_t j)
{
    return m->data[t * m->cols + j];
}

static att_expr *num(att_arena *arena, double value)
{
    return att_make_number(arena, value);
}

static att_expr *times(att_arena *arena, att_expr *a, att_expr *b)
{
    return att_make_binary(arena, ATT_OP_MULTIPLY, a, b);
}

/* 1 - y² */
static att_expr *one_minus_square(att_arena *arena, att_expr *y)
{
    return att_make_binary(arena, ATT_OP_SUBTRACT, num(arena, 1),
                           att_make_binary(arena, ATT_OP_POWER, y, num(arena, 2)));
}

static att_expr *one_minus(att_arena *arena, double y)
{
    return att_make_binary(arena, ATT_OP_SUBTRACT, num(arena, 1), num(arena, y));
}

static double before(const struct back *back, const att_matrix *start, int part, int64_t t,
                     int64_t j)
{
    return t == 0 ? start->data[j] : at(back->part[part], t - 1, j);
}

/* The state gets what the next step sends back through W_h; nothing after the last step. */
static att_expr *write_state(att_arena *arena, const struct back *back, int64_t t, int64_t j)
{
    if (t + 1 == back->gates_u->rows)
        return NULL;
    return att_make_dot_product(arena, back->gates_u->cols,
                                back->gates_u->data + (t + 1) * back->gates_u->cols, 1,
                                back->w_h->data + j * back->w_h->cols, 1);
}

enum { RNN_Z, RNN_H };
enum { LSTM_I, LSTM_F, LSTM_G, LSTM_O, LSTM_C, LSTM_H };
enum { GRU_R, GRU_Z, GRU_N, GRU_H };

static att_expr *write_rnn_z(att_arena *arena, const struct back *back, int64_t t, int64_t j)
{
    return times(arena, num(arena, at(back->grad[RNN_H], t, j)),
                 one_minus_square(arena, num(arena, at(back->part[RNN_H], t, j))));
}

static att_expr *product(att_arena *arena, double a, double b)
{
    return times(arena, num(arena, a), num(arena, b));
}

static att_expr *write_lstm_i(att_arena *arena, const struct back *back, int64_t t, int64_t j)
{
    return product(arena, at(back->grad[LSTM_C], t, j), at(back->part[LSTM_G], t, j));
}

static att_expr *write_lstm_f(att_arena *arena, const struct back *back, int64_t t, int64_t j)
{
    return product(arena, at(back->grad[LSTM_C], t, j), before(back, back->c0, LSTM_C, t, j));
}

static att_expr *write_lstm_g(att_arena *arena, const struct back *back, int64_t t, int64_t j)
{
    return product(arena, at(back->grad[LSTM_C], t, j), at(back->part[LSTM_I], t, j));
}

static att_expr *write_lstm_o(att_arena *arena, const struct back *back, int64_t t, int64_t j)
{
    return times(arena, num(arena, at(back->grad[LSTM_H], t, j)),
                 att_make_call(arena, "tanh", num(arena, at(back->part[LSTM_C], t, j))));
}

static att_expr *write_lstm_c(att_arena *arena, const struct back *back, int64_t t, int64_t j)
{
    att_expr_sum sum = { .arena = arena };
    att_expr *squashed = att_make_call(arena, "tanh", num(arena, at(back->part[LSTM_C], t, j)));
    if (t + 1 < back->gates->rows)
        att_expr_sum_add(&sum, product(arena, at(back->grad[LSTM_C], t + 1, j),
                                       at(back->part[LSTM_F], t + 1, j)));
    att_expr_sum_add(
        &sum,
        times(arena, product(arena, at(back->grad[LSTM_H], t, j), at(back->part[LSTM_O], t, j)),
              one_minus_square(arena, squashed)));
    return sum.expr;
}

static att_expr *write_gru_z(att_arena *arena, const struct back *back, int64_t t, int64_t j)
{
    return times(arena, num(arena, at(back->grad[GRU_H], t, j)),
                 att_make_binary(arena, ATT_OP_SUBTRACT,
                                 num(arena, before(back, back->h, GRU_H, t, j)),
                                 num(arena, at(back->part[GRU_N], t, j))));
}

static att_expr *write_gru_n(att_arena *arena, const struct back *back, int64_t t, int64_t j)
{
    return times(arena, num(arena, at(back->grad[GRU_H], t, j)),
                 one_minus(arena, at(back->part[GRU_Z], t, j)));
}

/* ---------------------------------------------------------------- the cells
 *
 * In formulas H, Z, … are the parts, dH, dZ, … their gradients. Those of the cell's own parts are
 * written with the letters of the forward: dh, dc, di. t + 1 is the next step. */

static const struct cell rnn = {
    ATT_RNN_CELL_VANILLA,
    false,
    { { "dh .* (1 - h^2)", NULL, "the derivative of tanh is 1 - tanh^2", write_rnn_z },
      { "dz[t + 1] * W_h'", "W_h' * dz[:, t + 1]",
        "what the loss sends, and what the next step sends back through W_h", write_state } },
    { RNN_H, RNN_Z },
    NULL,
    NULL,
    NULL,
};

static const struct cell lstm = {
    ATT_RNN_CELL_LSTM,
    true,
    { { "dc .* g", NULL, "c = f c + i g, so i gets dc g", write_lstm_i },
      { "dc .* c[t - 1]", NULL, "c = f c + i g, so f gets dc times the cell state before",
        write_lstm_f },
      { "dc .* i", NULL, "c = f c + i g, so g gets dc i", write_lstm_g },
      { "dh .* tanh(c)", NULL, "h = o tanh(c), so o gets dh tanh(c)", write_lstm_o },
      { "dc[t + 1] .* f[t + 1] + dh .* o .* (1 - tanh(c)^2)", NULL,
        "the next step sends its gradient back through the forget gate; the rest comes from h",
        write_lstm_c },
      { "dgates[t + 1] * W_h'", "W_h' * dgates[:, t + 1]",
        "what the loss sends, and what the next step sends back through W_h", write_state } },
    { LSTM_H, LSTM_O, LSTM_C, LSTM_I, LSTM_F, LSTM_G },
    "[di .* i .* (1 - i), df .* f .* (1 - f), dg .* (1 - g^2), do .* o .* (1 - o)]",
    "[di .* i .* (1 - i); df .* f .* (1 - f); dg .* (1 - g^2); do .* o .* (1 - o)]",
    "before the activations of the gates i, f, g, o",
};

static const struct cell gru = {
    ATT_RNN_CELL_GRU,
    false,
    { { "dgates_n .* (h[t - 1] * U_n)", "dgates_n .* (U_n * h[:, t - 1])",
        "the reset gate scales the part of h in the candidate", NULL },
      { "dh .* (h[t - 1] - n)", NULL, "h = (1 - z) n + z h, so z gets dh times the difference",
        write_gru_z },
      { "dh .* (1 - z)", NULL, "h = (1 - z) n + z h, so n gets dh (1 - z)", write_gru_n },
      { "dh[t + 1] .* z[t + 1] + dgates[t + 1] * W_h'",
        "dh[:, t + 1] .* z[:, t + 1] + W_h' * dgates[:, t + 1]",
        "what the loss sends, and what the next step sends back through z and W_h", NULL } },
    { GRU_H, GRU_N, GRU_Z, GRU_R },
    "[dr .* r .* (1 - r), dz .* z .* (1 - z), dn .* (1 - n^2)]",
    "[dr .* r .* (1 - r); dz .* z .* (1 - z); dn .* (1 - n^2)]",
    "before the activations of the gates r, z, n",
};

/* ---------------------------------------------------------------- running */

static const att_matrix *argument(const att_computation *c, size_t index)
{
    return index < c->call->arg_count ? c->call->args[index].matrix : NULL;
}

static att_status read_arguments(struct back *back)
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

static bool allocate(att_backward *walk, struct back *back)
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

static att_status run_reference(att_backward *walk, struct back *back)
{
    back->run = (att_reference_rnn_run){ .cell = back->cell->kind,
                                         .reset_first = back->run.reset_first,
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

/* One part of one backward pass, for the calculations of its elements. */
struct shown_part {
    const struct back *back;
    int part;
};

/* Element (row, col) in the orientation of the sheet. */
static att_expr *write_part(att_arena *arena, const void *of, int64_t row, int64_t col)
{
    const struct shown_part *shown = of;
    const struct back *back = shown->back;
    int64_t t = back->layer.columns ? col : row, j = back->layer.columns ? row : col;
    att_expr_sum sum = { .arena = arena };
    const att_matrix *sent = back->sent[shown->part];
    bool last = t + 1 == back->gates->rows;
    bool is_state = back->cell->part[shown->part].write == write_state;
    if (sent && at(sent, t, j) != 0)
        att_expr_sum_add(&sum, num(arena, at(sent, t, j)));
    if (!(is_state && last))
        att_expr_sum_add(&sum, back->cell->part[shown->part].write(arena, back, t, j));
    return sum.terms > 0 ? sum.expr : num(arena, 0);
}

static att_status finish_part(att_backward *walk, const struct back *back, int part)
{
    const struct cell_rule *rule = &back->cell->part[part];
    att_arena *arena = att_backward_arena(walk);
    const att_matrix *to = back->c->output.parts[part].value;
    bool columns = back->layer.columns && rule->column_formula;
    att_expr *formula =
        att_backward_named(walk, columns ? rule->column_formula : rule->formula, back->names);
    att_expr *sent = att_backward_sent_formula(walk, to);
    const att_matrix *grad = att_sheet_layer_orient(&back->layer, back->grad[part]);
    if (sent)
        formula = att_make_binary(arena, ATT_OP_ADD, sent, formula);
    struct shown_part *shown = att_arena_alloc(arena, 1, sizeof *shown);
    if (!formula || !shown || !grad)
        return att_fail_memory(att_backward_error(walk));
    *shown = (struct shown_part){ .back = back, .part = part };
    const att_contribution total = { .reason = rule->reason,
                                     .formula = formula,
                                     .value = grad,
                                     .write = rule->write ? write_part : NULL,
                                     .of = shown,
                                     .term_count =
                                         rule->write == write_state ? back->gates->cols + 1 : 2 };
    return att_backward_finish_as(walk, to, &total);
}

static att_status show_gates(att_backward *walk, const struct back *back)
{
    const char *text = back->layer.columns ? back->cell->column_gates : back->cell->gates;
    att_expr *formula = att_backward_named(walk, text, back->names);
    const att_matrix *gates = att_sheet_layer_orient(&back->layer, back->gates);
    if (!formula || !gates)
        return att_fail_memory(att_backward_error(walk));
    return att_backward_show(walk, &(att_trace_part){ .name = "dgates",
                                                      .description = back->cell->gates_reason,
                                                      .formula = formula,
                                                      .value = gates });
}

/* ---------------------------------------------------------------- sending */

/* The states before each step, as rows. */
static att_matrix *states_before(att_backward *walk, const struct back *back)
{
    int last = att_rnn_cell_parts(back->cell->kind) - 1;
    att_matrix *states = att_matrix_new(att_backward_arena(walk), back->x->rows, back->w_h->rows);
    for (int64_t t = 0; states && t < states->rows; t++)
        for (int64_t j = 0; j < states->cols; j++)
            states->data[t * states->cols + j] = before(back, back->h, last, t, j);
    return states;
}

static att_status send_vector(att_backward *walk, const att_matrix *to, const att_matrix *row,
                              const struct back *back, const att_matrix *gates, const char *text,
                              bool shown)
{
    if (!to)
        return ATT_OK;
    att_matrix *value = like(walk, to);
    if (!value)
        return att_fail_memory(att_backward_error(walk));
    memcpy(value->data, row->data, (size_t)(row->rows * row->cols) * sizeof *row->data);
    att_contribution part = { .reason = "a bias is added in every step: the gradients add up",
                              .formula = att_backward_named(walk, text, back->names),
                              .value = value };
    if (shown)
        part.terms = att_terms_column_sums(gates, to->rows > 1);
    return att_backward_send(walk, to, part);
}

static att_status send_state(att_backward *walk, const att_matrix *to, const struct back *back,
                             const att_matrix *value, const char *text, const char *reason)
{
    if (!to)
        return ATT_OK;
    return att_backward_send(
        walk, to,
        (att_contribution){ .reason = reason,
                            .formula = att_backward_named(walk, text, back->names),
                            .value = att_sheet_layer_orient(&back->layer, value) });
}

/* Sends to an argument; value and terms are with vectors as rows. */
static att_status send_turned(att_backward *walk, const struct back *back, const att_matrix *to,
                              att_contribution part)
{
    part.value = att_sheet_layer_orient(&back->layer, part.value);
    if (!part.value)
        return att_fail_memory(att_backward_error(walk));
    if (back->layer.columns)
        part.terms = att_terms_transpose(part.terms);
    return att_backward_send(walk, to, part);
}

static att_status send_inputs(att_backward *walk, const struct back *back, const char *gates)
{
    bool columns = back->layer.columns;
    att_matrix *states = states_before(walk, back);
    att_expr *x = att_backward_name(walk, back->given_x);
    att_expr *w = att_backward_name(walk, back->given_w_x);
    att_expr *name = att_backward_named(walk, gates, back->names);
    att_expr *states_of =
        att_backward_named(walk, columns ? "h[:, t - 1]" : "h[t - 1]", back->names);
    bool plain = !back->run.reset_first; /* then W_h gets h' dgates */
    if (!states || !states_of || !x || !w || !name)
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
            .formula =
                att_backward_formula(walk, columns ? "G * S'" : "S' * G", "GS", name, states_of),
            .value = back->dw_h,
            .terms = plain ? att_terms_product_at(states, back->gates_u) : (att_terms){ 0 } }));
    const char *bias = back->cell->gates ? (columns ? "sum(dgates, rows)" : "sum(dgates, cols)")
                       : columns         ? "sum(dz, rows)"
                                         : "sum(dz, cols)";
    ATT_TRY(send_vector(walk, back->b, back->db, back, back->gates, bias, true));
    ATT_TRY(send_vector(walk, back->b_h, back->db_h, back, back->gates_u, "sum(dgates_h, cols)",
                        plain));
    const char *start = back->cell->gates ? (columns ? "W_h' * dgates[:, 1]" : "dgates[1] * W_h'")
                        : columns         ? "W_h' * dz[:, 1]"
                                          : "dz[1] * W_h'";
    ATT_TRY(send_state(walk, back->given_h, back, back->dh, start,
                       "what arrives at the state before the first step"));
    return send_state(walk, back->given_c0, back, back->dc0,
                      columns ? "dc[:, 1] .* f[:, 1]" : "dc[1] .* f[1]",
                      "what arrives at the cell state before the first step");
}

static void name_parts(struct back *back)
{
    size_t count = back->c->output.part_count;
    for (size_t i = 0; i < count; i++)
        back->names[i] =
            (att_formula_name){ back->c->output.parts[i].name, back->c->output.parts[i].value };
    back->names[count] = (att_formula_name){ "W_h", back->given_w_h };
}

static att_status run_cell(att_backward *walk, const att_computation *c, const struct cell *cell,
                           bool reset_first)
{
    struct back *back = att_arena_alloc(att_backward_arena(walk), 1, sizeof *back);
    if (!back)
        return att_fail_memory(att_backward_error(walk));
    *back = (struct back){ .cell = cell, .c = c, .run = { .reset_first = reset_first } };
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
    if (cell->gates)
        ATT_TRY(show_gates(walk, back));
    return send_inputs(walk, back, cell->gates ? "dgates" : "dz");
}

att_status att_rnn_rule(att_backward *walk, const att_computation *c)
{
    return run_cell(walk, c, &rnn, false);
}

att_status att_lstm_rule(att_backward *walk, const att_computation *c)
{
    return run_cell(walk, c, &lstm, false);
}

att_status att_gru_rule(att_backward *walk, const att_computation *c)
{
    const att_value *reset = att_call_option(c->call, "reset");
    bool first = reset && reset->kind == ATT_VALUE_WORD && strcmp(reset->word, "before") == 0;
    return run_cell(walk, c, &gru, first);
}
