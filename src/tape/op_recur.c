/* A whole recurrent layer as one operation: the products of all inputs at once, then threads share
 * the sequences, and each takes its sequences through all their steps. */
#include "tape/recur.h"

#include <string.h>

static bool recur_lengths(att_tape *tape, const att_node *node)
{
    const att_recurrent *how = node->how;
    const att_node *x = node->in[RECUR_X];
    for (int64_t b = 0; how->lengths && b < x->shape[0]; b++)
        if (how->lengths[b] < 0 || how->lengths[b] > x->shape[1]) {
            att_tape_fail(tape, "recur", "sequence %lld has length %lld, but x has %lld steps",
                          (long long)b, (long long)how->lengths[b], (long long)x->shape[1]);
            return false;
        }
    return true;
}

static bool recur_shape(att_tape *tape, att_node *node)
{
    const att_recurrent *how = node->how;
    const att_node *x = node->in[RECUR_X], *u = node->in[RECUR_U];
    const int64_t any[3] = { -1, -1, -1 };
    if (!att_node_fits(tape, node, "x", x, 3, any) || !att_node_fits(tape, node, "u", u, 2, any))
        return false;
    int64_t n = u->shape[0], wide = att_cell_gates(how->cell) * n;
    const struct {
        const char *name;
        int rank;
        int64_t shape[2];
    } want[RECUR_INPUTS] = {
        [RECUR_W] = { "w", 2, { x->shape[2], wide } },
        [RECUR_U] = { "u", 2, { n, wide } },
        [RECUR_BIAS] = { "bias", 1, { wide } },
        [RECUR_BIAS_U] = { "bias_u", 1, { wide } },
        [RECUR_START] = { "start", 2, { x->shape[0], att_cell_states(how->cell) * n } },
    };
    for (int i = RECUR_W; i < RECUR_INPUTS; i++)
        if (node->in[i] &&
            !att_node_fits(tape, node, want[i].name, node->in[i], want[i].rank, want[i].shape))
            return false;
    att_node_set_shape(node, 3, (const int64_t[]){ x->shape[0], x->shape[1], n });
    return recur_lengths(tape, node);
}

/* ---------------------------------------------------------------- forward */

/* What the steps need besides what is kept. */
typedef struct running {
    const att_recur_kept *kept;
    att_recur_table table;
    const float *panels; /* of u */
    const float *bias_u; /* of a kind that keeps h u apart, or NULL */
    float *value;        /* [B,T,N] */
    bool adds;           /* h u is added to gates that have x w already */
} running;

/* Hands a hidden state on to the sequence's next step, if it has one. */
static void hand_on(const att_recur_kept *kept, int64_t s, int64_t rank, const float *hidden)
{
    int64_t n = kept->width;
    if (rank < att_steps_alive(&kept->steps, s + 1))
        memcpy(kept->hidden + (kept->steps.first[s + 1] + rank) * n, hidden,
               (size_t)n * sizeof(float));
}

/* Puts rows of the table into the gates at step s. */
static void take_rows(const running *run, int64_t s, int64_t first, int64_t past)
{
    const att_recur_kept *kept = run->kept;
    int64_t wide = kept->kind->gates * kept->width, begin = kept->steps.first[s];
    for (int64_t at = begin + first; at < begin + past; at++)
        memcpy(kept->gates + at * wide, att_table_row(&run->table, at, wide),
               (size_t)wide * sizeof(float));
}

static void run_step(const running *run, const att_kernels *kernels, int64_t s, int64_t first,
                     int64_t past)
{
    const att_recur_kept *kept = run->kept;
    const att_cell_kind *kind = kept->kind;
    att_cell_step at = att_recur_step(kept, s, first);
    int64_t wide = kind->gates * kept->width;
    if (run->table.ids && run->adds)
        take_rows(run, s, first, past);
    att_rows_multiply(kernels, &(att_rows_product){ .c = kind->apart ? at.own : at.gates,
                                                    .a = at.hidden_before,
                                                    .panels = run->panels,
                                                    .bias = run->bias_u,
                                                    .rows = past - first,
                                                    .columns = wide,
                                                    .depth = kept->width,
                                                    .add = run->adds });
    for (int64_t r = first; r < past; r++) {
        float *hidden = run->value + att_steps_place(&kept->steps, s, r) * kept->width;
        at = att_recur_step(kept, s, r);
        if (run->table.ids && !run->adds)
            at.from = att_table_row(&run->table, kept->steps.first[s] + r, wide);
        kind->forward(kernels, &at, hidden);
        hand_on(kept, s, r, hidden);
    }
}

static void run_ranks(void *context, int64_t first, int64_t past)
{
    const running *run = context;
    const att_kernels *kernels = att_kernels_get();
    const att_steps *steps = &run->kept->steps;
    int64_t most = att_recur_rows_at_once(run->kept);
    for (int64_t s = 0; s < steps->count && first < past; s++) {
        int64_t alive = att_steps_alive(steps, s);
        past = alive < past ? alive : past;
        for (int64_t r = first; r < past; r += most)
            run_step(run, kernels, s, r, past - r > most ? r + most : past);
    }
}

/* Where the sequences start: hidden states before step 0, and cells. */
static void put_start(const att_recur_kept *kept, const att_node *start)
{
    const att_steps *steps = &kept->steps;
    size_t n = (size_t)kept->width, states = (size_t)kept->kind->states;
    for (int64_t r = 0; r < steps->batch; r++) {
        const float *from = start ? start->value + (size_t)steps->row[r] * states * n : NULL;
        float *to[2] = { r < att_steps_alive(steps, 0) ? kept->hidden + (size_t)r * n : NULL,
                         kept->cells ? kept->cells + (size_t)r * n : NULL };
        for (size_t i = 0; i < states; i++)
            if (to[i] && from)
                memcpy(to[i], from + i * n, n * sizeof(float));
            else if (to[i])
                memset(to[i], 0, n * sizeof(float));
    }
}

/* The bias of the gates: both added up, unless the cell keeps h u apart. */
static bool input_bias(att_tape *tape, const att_node *node, const att_cell_kind *kind,
                       const float **out)
{
    const att_node *bias = node->in[RECUR_BIAS], *bias_u = node->in[RECUR_BIAS_U];
    *out = bias ? bias->value : NULL;
    if (kind->apart || !bias_u)
        return true;
    float *both = att_tape_copy(tape, bias_u->value, bias_u->count, sizeof(float));
    if (both && bias)
        att_kernels_get()->add_scaled(both, 1, bias->value, (size_t)bias->count);
    *out = both;
    return both != NULL;
}

/* gates = x w + bias, for all steps of all sequences. */
static bool multiply_inputs(att_tape *tape, const att_node *node, const att_recur_kept *kept,
                            const float *panels, const float *bias)
{
    const att_node *x = node->in[RECUR_X];
    int64_t total = att_steps_total(&kept->steps), depth = x->shape[2];
    size_t wide = (size_t)(kept->kind->gates * kept->width);
    float *packed = att_tape_take(tape, total * depth, sizeof(float));
    if (!packed)
        return false;
    att_steps_gather(&kept->steps, packed, x->value, depth);
    return att_tape_product(tape, &(att_product_call){ .batch = 1,
                                                       .rows = (size_t)total,
                                                       .columns = wide,
                                                       .depth = (size_t)depth,
                                                       .a = packed,
                                                       .a_row = (size_t)depth,
                                                       .a_step = 1,
                                                       .panels = panels,
                                                       .c = kept->gates,
                                                       .c_row = wide,
                                                       .bias = bias });
}

/* What the inputs give to the gates: put there, or a table for the steps to take it from. */
static bool put_inputs(att_tape *tape, const att_node *node, const att_recur_kept *kept,
                       att_recur_table *table)
{
    const float *panels = att_node_packed(tape, node->in[RECUR_W], false), *bias;
    if (!panels || !input_bias(tape, node, kept->kind, &bias))
        return false;
    if (att_table_pays(node->in[RECUR_X], &kept->steps))
        return att_table_make(tape, table, node, kept, panels, bias);
    return multiply_inputs(tape, node, kept, panels, bias);
}

static bool take_kept(att_tape *tape, att_recur_kept *kept)
{
    int64_t total = att_steps_total(&kept->steps), n = kept->width;
    kept->gates = att_tape_take(tape, total * n * kept->kind->gates, sizeof(float));
    kept->hidden = att_tape_take(tape, total * n, sizeof(float));
    if (kept->kind->apart)
        kept->own = att_tape_take(tape, total * n * kept->kind->gates, sizeof(float));
    return kept->gates && kept->hidden && (kept->own || !kept->kind->apart);
}

static bool run_all(att_tape *tape, att_node *node, const att_recur_kept *kept)
{
    const att_node *bias_u = node->in[RECUR_BIAS_U];
    running run = { .kept = kept,
                    .panels = att_node_packed(tape, node->in[RECUR_U], false),
                    .bias_u = kept->kind->apart && bias_u ? bias_u->value : NULL,
                    .value = node->value };
    if (!run.panels || !put_inputs(tape, node, kept, &run.table))
        return false;
    /* A row of a table need not be copied into the gates where the sum of h u has one block only:
     * adding it before that or after is the same. */
    run.adds = !kept->kind->apart && (!run.table.ids || kept->width > ATT_DEPTH_BLOCK);
    put_start(kept, node->in[RECUR_START]);
    double work = (double)kept->width * (double)kept->width * kept->kind->gates;
    return att_steps_share(tape, &kept->steps, work, run_ranks, &run);
}

/* Steps beyond a sequence's length give zeros. */
static void clear_unused(const att_node *node, const att_steps *steps)
{
    int64_t n = att_node_width(node);
    for (int64_t r = 0; r < steps->batch; r++)
        memset(node->value + (steps->row[r] * steps->time + steps->length[r]) * n, 0,
               (size_t)((steps->time - steps->length[r]) * n) * sizeof(float));
}

static bool recur_forward(att_tape *tape, att_node *node)
{
    const att_recurrent *how = node->how;
    att_recur_kept *kept = att_tape_take(tape, 1, sizeof *kept);
    if (!kept)
        return false;
    *kept = (att_recur_kept){ .kind = att_cell_get(how->cell), .width = att_node_width(node) };
    node->kept = kept;
    if (!att_steps_make(tape, &kept->steps, node->in[RECUR_X], how))
        return false;
    int64_t states = kept->steps.batch + att_steps_total(&kept->steps);
    if (kept->kind->states > 1) {
        kept->cells = att_tape_take(tape, states * kept->width, sizeof(float));
        if (!kept->cells)
            return false;
    }
    att_pool_mark mark = att_tape_mark(tape);
    if (!take_kept(tape, kept))
        return false;
    if (node->learns)
        mark = att_tape_mark(tape); /* what was taken so far stays */
    clear_unused(node, &kept->steps);
    bool done = run_all(tape, node, kept);
    att_tape_release(tape, mark);
    return done;
}

/* ---------------------------------------------------------------- the operation */

static void recur_truth(double *value, const att_node *node, const double *const *in)
{
    const att_node *x = node->in[RECUR_X];
    const int64_t sizes[] = { x->shape[0], x->shape[1], x->shape[2], att_node_width(node) };
    att_recur_exact(value, NULL, node->how, sizes, in);
}

const att_op att_op_recur = {
    .name = "recur",
    .how_size = sizeof(att_recurrent),
    .shape = recur_shape,
    .forward = recur_forward,
    .backward = att_recur_backward,
    .truth = recur_truth,
    .rounds = 200,
    .samples = att_recur_samples,
    .sample_count = ATT_RECUR_SAMPLES,
};

att_node *att_recur(att_tape *tape, const att_recurrent_inputs *in, const att_recurrent *how)
{
    if (!in->x)
        return NULL;
    att_recurrent copy = *how;
    copy.lengths = att_tape_copy(tape, how->lengths, in->x->shape[0], sizeof *how->lengths);
    att_node *const inputs[RECUR_INPUTS] = {
        [RECUR_X] = in->x,       [RECUR_W] = in->w,           [RECUR_U] = in->u,
        [RECUR_BIAS] = in->bias, [RECUR_BIAS_U] = in->bias_u, [RECUR_START] = in->start
    };
    return att_op_apply(tape, &att_op_recur, inputs, RECUR_INPUTS, &copy);
}
