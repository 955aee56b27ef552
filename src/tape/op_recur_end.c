/* The state that a recurrent layer ends in, and every state on the way; see recur.h. */
#include "tape/recur.h"

#include <string.h>

enum { END_RECUR, END_START };

static bool end_shape(att_tape *tape, att_node *node)
{
    (void)tape;
    const att_recur_kept *kept = node->in[END_RECUR]->kept;
    const int64_t shape[] = { kept->steps.batch, kept->kind->states * kept->width };
    att_node_set_shape(node, 2, shape);
    return true;
}

/* The cells of a sequence after its last step. */
static const float *last_cells(const att_recur_kept *kept, int64_t rank)
{
    int64_t s = kept->steps.length[rank] - 1;
    return kept->cells + (kept->steps.batch + kept->steps.first[s] + rank) * kept->width;
}

/* One state, hidden and cell, to its place. */
static void put_state(float *to, const float *hidden, const float *cells, size_t n)
{
    memcpy(to, hidden, n * sizeof(float));
    if (cells)
        memcpy(to + n, cells, n * sizeof(float));
}

static bool end_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    const att_node *recur = node->in[END_RECUR], *start = node->in[END_START];
    const att_recur_kept *kept = recur->kept;
    const att_steps *steps = &kept->steps;
    int64_t width = att_node_width(node), n = kept->width;
    for (int64_t r = 0; r < steps->batch; r++) {
        int64_t row = steps->row[r], s = steps->length[r] - 1;
        float *to = node->value + row * width;
        if (s >= 0)
            put_state(to, recur->value + att_steps_place(steps, s, r) * n,
                      kept->cells ? last_cells(kept, r) : NULL, (size_t)n);
        else if (start)
            memcpy(to, start->value + row * width, (size_t)width * sizeof(float));
        else
            memset(to, 0, (size_t)width * sizeof(float));
    }
    return true;
}

/* What reaches the cells waits in the recurrent node's kept, by rank, for its backward. */
static float *cells_grad(att_tape *tape, att_recur_kept *kept)
{
    int64_t size = kept->steps.batch * kept->width;
    if (!kept->cells || kept->dcell_end)
        return kept->dcell_end;
    kept->dcell_end = att_tape_take(tape, size, sizeof(float));
    if (kept->dcell_end)
        memset(kept->dcell_end, 0, (size_t)size * sizeof(float));
    return kept->dcell_end;
}

static bool end_backward(att_tape *tape, att_node *node)
{
    att_node *recur = node->in[END_RECUR];
    att_recur_kept *kept = recur->kept;
    const att_steps *steps = &kept->steps;
    size_t n = (size_t)kept->width, width = (size_t)att_node_width(node);
    float *dhidden = att_node_grad(tape, recur), *dstart = att_node_grad(tape, node->in[END_START]);
    float *dcells = cells_grad(tape, kept);
    if (!dhidden || (kept->cells && !dcells))
        return false;
    att_kern_add_scaled *add = att_kernels_get()->add_scaled;
    for (int64_t r = 0; r < steps->batch; r++) {
        size_t row = (size_t)steps->row[r];
        const float *dy = node->grad + row * width;
        int64_t s = steps->length[r] - 1;
        if (s < 0 && dstart)
            add(dstart + row * width, 1, dy, width);
        if (s < 0)
            continue;
        add(dhidden + (size_t)att_steps_place(steps, s, r) * n, 1, dy, n);
        if (dcells)
            add(dcells + (size_t)r * n, 1, dy + n, n);
    }
    return true;
}

/* ---------------------------------------------------------------- the check */

/* The check looks at all hidden states and the end together, [B, T N + states N], so that gradients
 * of both meet on their way back. */
static att_node *end_apply(att_tape *tape, att_node *const *in, const void *how)
{
    const att_recurrent_inputs inputs = { .x = in[RECUR_X],
                                          .w = in[RECUR_W],
                                          .u = in[RECUR_U],
                                          .bias = in[RECUR_BIAS],
                                          .bias_u = in[RECUR_BIAS_U],
                                          .start = in[RECUR_START] };
    att_node *recur = att_recur(tape, &inputs, how);
    if (!recur)
        return NULL;
    const int64_t flat[] = { recur->shape[0], recur->shape[1] * recur->shape[2] };
    att_node *const both[] = { att_reshape(tape, recur, 2, flat), att_recur_end(tape, recur) };
    return att_join(tape, both, 2);
}

static void end_truth(double *value, const att_node *node, const double *const *in)
{
    const att_node *recur = node->in[0]->in[0], *x = recur->in[RECUR_X];
    int64_t B = x->shape[0], T = x->shape[1], N = att_node_width(recur);
    int64_t width = att_node_width(node), end = width - T * N;
    double *row = value;
    for (int64_t b = 0; b < B; b++, row += width) {
        const att_recurrent *how = recur->how;
        att_recurrent one = *how;
        one.lengths = how->lengths ? how->lengths + b : NULL;
        const double *alone[RECUR_INPUTS];
        memcpy(alone, in, sizeof alone);
        alone[RECUR_X] += b * T * x->shape[2];
        if (alone[RECUR_START])
            alone[RECUR_START] += b * end;
        att_recur_exact(row, row + T * N, &one, (const int64_t[]){ 1, T, x->shape[2], N }, alone);
    }
}

const att_op att_op_recur_end = {
    .name = "recur-end",
    .shape = end_shape,
    .forward = end_forward,
    .backward = end_backward,
    .truth = end_truth,
    .rounds = 200,
    .samples = att_recur_samples,
    .sample_count = ATT_RECUR_SAMPLES,
    .apply = end_apply,
};

att_node *att_recur_end(att_tape *tape, att_node *recur)
{
    if (!recur)
        return NULL;
    att_node *const in[] = { recur, recur->in[RECUR_START] };
    return att_op_apply(tape, &att_op_recur_end, in, 2, NULL);
}

att_node *att_recur_states(att_tape *tape, att_node *recur)
{
    if (!recur)
        return NULL;
    const att_recur_kept *kept = recur->kept;
    const att_steps *steps = &kept->steps;
    int64_t n = kept->width, width = kept->kind->states * n;
    const int64_t shape[] = { steps->batch, steps->time, width };
    att_node *out = att_tape_input(tape, 3, shape, NULL);
    for (int64_t s = 0; out && s < steps->count; s++)
        for (int64_t r = 0; r < att_steps_alive(steps, s); r++) {
            int64_t place = att_steps_place(steps, s, r);
            const float *cells =
                kept->cells ? kept->cells + (steps->batch + steps->first[s] + r) * n : NULL;
            put_state(out->value + place * width, recur->value + place * n, cells, (size_t)n);
        }
    return out;
}
