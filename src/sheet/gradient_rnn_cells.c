/* The rules of the RNN cells: how the gradient of each part follows from those of the parts after
 * it, as formulas, in words and with the numbers of one element. */
#include "sheet/gradient_rnn.h"

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

enum { RNN_Z, RNN_H };
enum { LSTM_I, LSTM_F, LSTM_G, LSTM_O, LSTM_C, LSTM_H };
enum { GRU_R, GRU_Z, GRU_N, GRU_H };

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

static double before(const att_cell_back *back, const att_matrix *start, int part, int64_t t,
                     int64_t j)
{
    return t == 0 ? start->data[j] : at(back->part[part], t - 1, j);
}

double att_cell_state_before(const att_cell_back *back, int64_t t, int64_t j)
{
    return before(back, back->h, att_rnn_cell_parts(back->cell->kind) - 1, t, j);
}

static double cell_before(const att_cell_back *back, int64_t t, int64_t j)
{
    return before(back, back->c0, LSTM_C, t, j);
}

static att_expr *write_rnn_z(att_arena *arena, const att_cell_back *back, int64_t t, int64_t j)
{
    return times(arena, num(arena, at(back->grad[RNN_H], t, j)),
                 one_minus_square(arena, num(arena, at(back->part[RNN_H], t, j))));
}

static att_expr *product(att_arena *arena, double a, double b)
{
    return times(arena, num(arena, a), num(arena, b));
}

static att_expr *write_lstm_i(att_arena *arena, const att_cell_back *back, int64_t t, int64_t j)
{
    return product(arena, at(back->grad[LSTM_C], t, j), at(back->part[LSTM_G], t, j));
}

static att_expr *write_lstm_f(att_arena *arena, const att_cell_back *back, int64_t t, int64_t j)
{
    return product(arena, at(back->grad[LSTM_C], t, j), cell_before(back, t, j));
}

static att_expr *write_lstm_g(att_arena *arena, const att_cell_back *back, int64_t t, int64_t j)
{
    return product(arena, at(back->grad[LSTM_C], t, j), at(back->part[LSTM_I], t, j));
}

static att_expr *write_lstm_o(att_arena *arena, const att_cell_back *back, int64_t t, int64_t j)
{
    return times(arena, num(arena, at(back->grad[LSTM_H], t, j)),
                 att_make_call(arena, "tanh", num(arena, at(back->part[LSTM_C], t, j))));
}

static att_expr *write_lstm_c(att_arena *arena, const att_cell_back *back, int64_t t, int64_t j)
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

static att_expr *write_gru_z(att_arena *arena, const att_cell_back *back, int64_t t, int64_t j)
{
    return times(arena, num(arena, at(back->grad[GRU_H], t, j)),
                 att_make_binary(arena, ATT_OP_SUBTRACT,
                                 num(arena, att_cell_state_before(back, t, j)),
                                 num(arena, at(back->part[GRU_N], t, j))));
}

static att_expr *write_gru_n(att_arena *arena, const att_cell_back *back, int64_t t, int64_t j)
{
    return times(arena, num(arena, at(back->grad[GRU_H], t, j)),
                 one_minus(arena, at(back->part[GRU_Z], t, j)));
}

/* ---------------------------------------------------------------- the GRU */

/* The sum before the activation of a gate, and that of the product with h in it. */
static double gate_grad(const att_matrix *gates, const att_cell_back *back, int gate, int64_t t,
                        int64_t j)
{
    return at(gates, t, gate * back->w_h->rows + j);
}

/* dgates_n (h u_n + b_h), where the reset gate scales the product. */
static att_expr *write_gru_r(att_arena *arena, const att_cell_back *back, int64_t t, int64_t j)
{
    int64_t column = GRU_N * back->w_h->rows + j;
    att_expr_sum sum = { .arena = arena };
    for (int64_t l = 0; l < back->w_h->rows; l++)
        att_expr_sum_add(
            &sum, product(arena, att_cell_state_before(back, t, l), at(back->w_h, l, column)));
    if (back->b_h)
        att_expr_sum_add(&sum, num(arena, back->b_h->data[column]));
    return times(arena, num(arena, gate_grad(back->gates, back, GRU_N, t, j)), sum.expr);
}

/* Σ dgates_n u_nᵀ: the gradient of r h, where the reset gate scales h before the product. */
static att_expr *reset_state(att_arena *arena, const att_cell_back *back, int64_t t, int64_t j)
{
    int64_t n = back->w_h->rows;
    return att_make_dot_product(arena, n, back->gates->data + t * back->gates->cols + GRU_N * n, 1,
                                back->w_h->data + j * back->w_h->cols + GRU_N * n, 1);
}

static att_expr *write_gru_r_first(att_arena *arena, const att_cell_back *back, int64_t t,
                                   int64_t j)
{
    return times(arena, reset_state(arena, back, t, j),
                 num(arena, att_cell_state_before(back, t, j)));
}

/* Element (l, column) of W_h, where the reset gate scales h before the product. */
static att_expr *write_gru_w_h(att_arena *arena, const att_cell_back *back, int64_t l,
                               int64_t column)
{
    att_expr_sum sum = { .arena = arena };
    bool candidate = column >= GRU_N * back->w_h->rows;
    for (int64_t t = 0; t < back->gates->rows; t++) {
        att_expr *state = num(arena, att_cell_state_before(back, t, l));
        if (candidate)
            state = times(arena, num(arena, at(back->part[GRU_R], t, l)), state);
        att_expr_sum_add(&sum, times(arena, state, num(arena, at(back->gates, t, column))));
    }
    return sum.expr;
}

/* ---------------------------------------------------------------- states and gates */

static void add_products(att_expr_sum *sum, const att_cell_back *back, int64_t t, int64_t j,
                         int64_t columns)
{
    att_expr_sum_add_dot_product(sum, columns, back->gates_u->data + t * back->gates_u->cols, 1,
                                 back->w_h->data + j * back->w_h->cols, 1);
}

att_expr *att_write_state_before(att_arena *arena, const att_cell_back *back, int64_t t, int64_t j)
{
    att_expr_sum sum = { .arena = arena };
    bool is_gru = back->cell->kind == ATT_RNN_CELL_GRU;
    bool reset_first = back->cell->reset_first;
    int64_t columns = back->gates_u->cols;
    if (is_gru)
        att_expr_sum_add(&sum,
                         product(arena, at(back->grad[GRU_H], t, j), at(back->part[GRU_Z], t, j)));
    add_products(&sum, back, t, j, reset_first ? GRU_N * back->w_h->rows : columns);
    if (reset_first)
        att_expr_sum_add(&sum, times(arena, reset_state(arena, back, t, j),
                                     num(arena, at(back->part[GRU_R], t, j))));
    return sum.expr;
}

/* The state gets what the next step sends back. */
static att_expr *write_state(att_arena *arena, const att_cell_back *back, int64_t t, int64_t j)
{
    return att_write_state_before(arena, back, t + 1, j);
}

/* The gates: di i (1 - i), or dg (1 - g²) for the candidate, which is a tanh. */
static att_expr *write_gate(att_arena *arena, const att_cell_back *back, int64_t t, int64_t column)
{
    int64_t n = back->w_h->rows, j = column % n;
    int gate = (int)(column / n), candidate = back->cell->has_cell_state ? LSTM_G : GRU_N;
    double y = at(back->part[gate], t, j);
    att_expr *grad = num(arena, at(back->grad[gate], t, j));
    if (gate == candidate)
        return times(arena, grad, one_minus_square(arena, num(arena, y)));
    return times(arena, times(arena, grad, num(arena, y)), one_minus(arena, y));
}

static att_expr *write_gru_products(att_arena *arena, const att_cell_back *back, int64_t t,
                                    int64_t column)
{
    int64_t n = back->w_h->rows;
    double grad = at(back->gates, t, column);
    if (column < GRU_N * n)
        return num(arena, grad);
    return product(arena, grad, at(back->part[GRU_R], t, column % n));
}

/* ---------------------------------------------------------------- the cells */

#define STATE_REASON "what the loss sends, and what the next step sends back through W_h"
#define GRU_GATES                                                                                  \
    "[dr .* r .* (1 - r), dz .* z .* (1 - z), dn .* (1 - n^2)]",                                   \
        "[dr .* r .* (1 - r); dz .* z .* (1 - z); dn .* (1 - n^2)]",                               \
        "before the activations of the gates r, z, n", write_gate, false
#define GRU_Z_RULE                                                                                 \
    "dh .* (h[t - 1] - n)", "dh .* (h[:, t - 1] - n)",                                             \
        "h = (1 - z) n + z h, so z gets dh times the difference", write_gru_z, false
#define GRU_N_RULE                                                                                 \
    "dh .* (1 - z)", NULL, "h = (1 - z) n + z h, so n gets dh (1 - z)", write_gru_n, false
#define GRU_H_REASON "what the loss sends, and what the next step sends back through z and W_h"

const att_cell_gradient att_rnn_gradient = {
    .kind = ATT_RNN_CELL_VANILLA,
    .part = { { "dh .* (1 - h^2)", NULL, "the derivative of tanh is 1 - tanh^2", write_rnn_z,
                false },
              { "dz[t + 1] * W_h'", "W_h' * dz[:, t + 1]", STATE_REASON, write_state, true } },
    .order = { RNN_H, RNN_Z },
    .w_h = { "h[t - 1]' * dz", "dz * h[:, t - 1]'" },
    .b_h = { "sum(dz, cols)", "sum(dz, rows)" },
    .start = { "dz[1] * W_h'", "W_h' * dz[:, 1]" },
};

const att_cell_gradient att_lstm_gradient = {
    .kind = ATT_RNN_CELL_LSTM,
    .has_cell_state = true,
    .part = { { "dc .* g", NULL, "c = f c + i g, so i gets dc g", write_lstm_i, false },
              { "dc .* c[t - 1]", "dc .* c[:, t - 1]",
                "c = f c + i g, so f gets dc times the cell state before", write_lstm_f, false },
              { "dc .* i", NULL, "c = f c + i g, so g gets dc i", write_lstm_g, false },
              { "dh .* tanh(c)", NULL, "h = o tanh(c), so o gets dh tanh(c)", write_lstm_o, false },
              { "dc[t + 1] .* f[t + 1] + dh .* o .* (1 - tanh(c)^2)",
                "dc[:, t + 1] .* f[:, t + 1] + dh .* o .* (1 - tanh(c)^2)",
                "the next step sends its gradient back through the forget gate; the rest comes "
                "from h",
                write_lstm_c, false },
              { "dgates[t + 1] * W_h'", "W_h' * dgates[:, t + 1]", STATE_REASON, write_state,
                true } },
    .order = { LSTM_H, LSTM_O, LSTM_C, LSTM_I, LSTM_F, LSTM_G },
    .gates = { "[di .* i .* (1 - i), df .* f .* (1 - f), dg .* (1 - g^2), do .* o .* (1 - o)]",
               "[di .* i .* (1 - i); df .* f .* (1 - f); dg .* (1 - g^2); do .* o .* (1 - o)]",
               "before the activations of the gates i, f, g, o", write_gate, false },
    .w_h = { "h[t - 1]' * dgates", "dgates * h[:, t - 1]'" },
    .b_h = { "sum(dgates, cols)", "sum(dgates, rows)" },
    .start = { "dgates[1] * W_h'", "W_h' * dgates[:, 1]" },
};

const att_cell_gradient att_gru_gradient = {
    .kind = ATT_RNN_CELL_GRU,
    .part = { { "dgates_n .* (h[t - 1] * U_n + b_n)", "dgates_n .* (U_n * h[:, t - 1] + b_n)",
                "the reset gate scales the product of h in the candidate", write_gru_r, false },
              { GRU_Z_RULE },
              { GRU_N_RULE },
              { "dh[t + 1] .* z[t + 1] + dgates_h[t + 1] * W_h'",
                "dh[:, t + 1] .* z[:, t + 1] + W_h' * dgates_h[:, t + 1]", GRU_H_REASON,
                write_state, true } },
    .order = { GRU_H, GRU_N, GRU_Z, GRU_R },
    .gates = { GRU_GATES },
    .products = { "[dgates_r, dgates_z, dgates_n .* r]", "[dgates_r; dgates_z; dgates_n .* r]",
                  "of the products with h: the reset gate scales that of the candidate",
                  write_gru_products, false },
    .w_h = { "h[t - 1]' * dgates_h", "dgates_h * h[:, t - 1]'" },
    .b_h = { "sum(dgates_h, cols)", "sum(dgates_h, rows)" },
    .start = { "dh[1] .* z[1] + dgates_h[1] * W_h'",
               "dh[:, 1] .* z[:, 1] + W_h' * dgates_h[:, 1]" },
};

const att_cell_gradient att_gru_reset_first_gradient = {
    .kind = ATT_RNN_CELL_GRU,
    .reset_first = true,
    .part = { { "(dgates_n * U_n') .* h[t - 1]", "(U_n' * dgates_n) .* h[:, t - 1]",
                "the reset gate scales h before the product of the candidate", write_gru_r_first,
                false },
              { GRU_Z_RULE },
              { GRU_N_RULE },
              { "dh[t + 1] .* z[t + 1] + dgates_rz[t + 1] * U_rz' + (dgates_n[t + 1] * U_n') .* "
                "r[t + 1]",
                "dh[:, t + 1] .* z[:, t + 1] + U_rz' * dgates_rz[:, t + 1] + (U_n' * dgates_n[:, t "
                "+ 1]) .* r[:, t + 1]",
                "what the loss sends, and what the next step sends back through z, r and W_h",
                write_state, true } },
    .order = { GRU_H, GRU_N, GRU_Z, GRU_R },
    .gates = { GRU_GATES },
    .w_h = { "[h[t - 1]' * dgates_rz, (r .* h[t - 1])' * dgates_n]",
             "[dgates_rz * h[:, t - 1]'; dgates_n * (r .* h[:, t - 1])']" },
    .b_h = { "sum(dgates, cols)", "sum(dgates, rows)" },
    .start = { "dh[1] .* z[1] + dgates_rz[1] * U_rz' + (dgates_n[1] * U_n') .* r[1]",
               "dh[:, 1] .* z[:, 1] + U_rz' * dgates_rz[:, 1] + (U_n' * dgates_n[:, 1]) .* r[:, "
               "1]" },
    .write_w_h = write_gru_w_h,
};
