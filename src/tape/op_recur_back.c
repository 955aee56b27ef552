/* Backward through time; see recur.h. The gradients of all gates, step by step from the last; then
 * those of w, u, the biases and x, each as one product over all steps. */
#include "tape/recur.h"

#include <string.h>

/* What the steps need besides what was kept. */
typedef struct running {
    const att_recur_kept *kept;
    const float *panels; /* of u transposed */
    const float *dvalue; /* [B,T,N] */
    float *dhidden;      /* [batch, N] by rank: of the state after the step at hand, then before */
    float *dcell;        /* [batch, N] likewise, or NULL */
    bool to_start;       /* whether the gradient of the start is wanted */
} running;

/* What reaches a sequence's last state from outside; the hidden state's is in dvalue. */
static void begin_rank(const running *run, int64_t rank)
{
    size_t n = (size_t)run->kept->width, at = (size_t)rank * n;
    const float *end = run->kept->dcell_end;
    memset(run->dhidden + at, 0, n * sizeof(float));
    if (run->dcell && end)
        memcpy(run->dcell + at, end + at, n * sizeof(float));
    else if (run->dcell)
        memset(run->dcell + at, 0, n * sizeof(float));
}

static void run_step(const running *run, const att_kernels *kernels, int64_t s, int64_t first,
                     int64_t past)
{
    const att_recur_kept *kept = run->kept;
    const att_cell_kind *kind = kept->kind;
    int64_t n = kept->width;
    for (int64_t r = first; r < past; r++) {
        att_cell_step at = att_recur_step(kept, s, r);
        float *dhidden = run->dhidden + r * n;
        if (s == kept->steps.length[r] - 1)
            begin_rank(run, r);
        kernels->add_scaled(dhidden, 1, run->dvalue + att_steps_place(&kept->steps, s, r) * n,
                            (size_t)n);
        kind->backward(kernels, &at, dhidden, run->dcell ? run->dcell + r * n : NULL);
    }
    att_cell_step at = att_recur_step(kept, s, first);
    if (s > 0 || run->to_start)
        att_rows_multiply(kernels, &(att_rows_product){ .c = run->dhidden + first * n,
                                                        .a = kind->apart ? at.own : at.gates,
                                                        .panels = run->panels,
                                                        .rows = past - first,
                                                        .columns = n,
                                                        .depth = kind->gates * n,
                                                        .add = kind->apart });
}

static void run_ranks(void *context, int64_t first, int64_t past)
{
    const running *run = context;
    const att_kernels *kernels = att_kernels_get();
    const att_steps *steps = &run->kept->steps;
    int64_t most = att_recur_rows_at_once(run->kept);
    for (int64_t s = steps->count - 1; s >= 0; s--) {
        int64_t alive = att_steps_alive(steps, s), end = alive < past ? alive : past;
        for (int64_t r = first; r < end; r += most)
            run_step(run, kernels, s, r, end - r > most ? r + most : end);
    }
}

/* Gives the gradient of the start, where wanted. */
static void finish_start(const running *run, float *dstart)
{
    const att_recur_kept *kept = run->kept;
    int64_t n = kept->width, states = kept->kind->states;
    const float *const from[2] = { run->dhidden, run->dcell };
    for (int64_t r = 0; r < att_steps_alive(&kept->steps, 0); r++)
        for (int64_t i = 0; i < states; i++)
            att_kernels_get()->add_scaled(dstart + (kept->steps.row[r] * states + i) * n, 1,
                                          from[i] + r * n, (size_t)n);
}

static bool through_time(att_tape *tape, att_node *node, att_recur_kept *kept)
{
    float *dstart = att_node_grad(tape, node->in[RECUR_START]);
    int64_t size = kept->steps.batch * kept->width;
    att_pool_mark mark = att_tape_mark(tape);
    running run = { .kept = kept,
                    .panels = att_node_packed(tape, node->in[RECUR_U], true),
                    .dvalue = node->grad,
                    .dhidden = att_tape_take(tape, size, sizeof(float)),
                    .to_start = dstart != NULL };
    if (kept->cells)
        run.dcell = att_tape_take(tape, size, sizeof(float));
    if (!run.panels || !run.dhidden || (kept->cells && !run.dcell))
        return false;
    double work = (double)kept->width * (double)kept->width * kept->kind->gates;
    if (!att_steps_share(tape, &kept->steps, work, run_ranks, &run))
        return false;
    if (dstart)
        finish_start(&run, dstart);
    att_tape_release(tape, mark);
    return true;
}

bool att_weights_back(att_tape *tape, float *dw, bool add, const float *a, int64_t depth,
                      const float *dgates, int64_t wide, int64_t rows)
{
    return att_tape_product(tape, &(att_product_call){ .batch = 1,
                                                       .rows = (size_t)depth,
                                                       .columns = (size_t)wide,
                                                       .depth = (size_t)rows,
                                                       .a = a,
                                                       .a_row = 1,
                                                       .a_step = (size_t)depth,
                                                       .b = dgates,
                                                       .b_stride = (size_t)wide,
                                                       .c = dw,
                                                       .c_row = (size_t)wide,
                                                       .add = add });
}

/* Of w, x and the bias. */
static bool inputs_back(att_tape *tape, att_node *node, const att_recur_kept *kept)
{
    att_node *x = node->in[RECUR_X], *w = node->in[RECUR_W];
    int64_t depth = x->shape[2], wide = kept->kind->gates * kept->width;
    int64_t total = att_steps_total(&kept->steps);
    bool add_x = true, add_w = true;
    float *dx = att_node_grad_whole(tape, x, &add_x), *dw = att_node_grad_whole(tape, w, &add_w);
    float *dbias = att_node_grad(tape, node->in[RECUR_BIAS]);
    att_pool_mark mark = att_tape_mark(tape);
    float *packed = att_tape_take(tape, total * depth, sizeof(float));
    const float *panels = dx ? att_node_packed(tape, w, true) : NULL;
    if (!packed || (dx && !panels))
        return false;
    if (dw) {
        att_steps_gather(&kept->steps, packed, x->value, depth);
        if (!att_weights_back(tape, dw, add_w, packed, depth, kept->gates, wide, total))
            return false;
    }
    if (dx) {
        if (!att_tape_product(tape, &(att_product_call){ .batch = 1,
                                                         .rows = (size_t)total,
                                                         .columns = (size_t)depth,
                                                         .depth = (size_t)wide,
                                                         .a = kept->gates,
                                                         .a_row = (size_t)wide,
                                                         .a_step = 1,
                                                         .panels = panels,
                                                         .c = packed,
                                                         .c_row = (size_t)depth }))
            return false;
        att_steps_scatter(&kept->steps, dx, packed, depth, add_x);
    }
    att_tape_release(tape, mark);
    return !dbias || att_add_rows(tape, dbias, kept->gates, total, wide);
}

/* Of u and the bias that goes with it. */
static bool states_back(att_tape *tape, att_node *node, const att_recur_kept *kept)
{
    const float *down = kept->own ? kept->own : kept->gates;
    int64_t n = kept->width, wide = kept->kind->gates * n, total = att_steps_total(&kept->steps);
    bool add = true;
    float *du = att_node_grad_whole(tape, node->in[RECUR_U], &add);
    if (du && !att_weights_back(tape, du, add, kept->hidden, n, down, wide, total))
        return false;
    float *dbias_u = att_node_grad(tape, node->in[RECUR_BIAS_U]);
    return !dbias_u || att_add_rows(tape, dbias_u, down, total, wide);
}

bool att_recur_backward(att_tape *tape, att_node *node)
{
    att_recur_kept *kept = node->kept;
    bool by_table = att_table_pays(node->in[RECUR_X], &kept->steps);
    return through_time(tape, node, kept) &&
           (by_table ? att_table_back : inputs_back)(tape, node, kept) &&
           states_back(tape, node, kept);
}
