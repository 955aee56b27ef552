/* The order in which a batch's steps are worked; see recur.h. */
#include "base/parallel.h"
#include "tape/rnn.h"

#include <string.h>

/* Ranks by falling length, and in the order of the batch among equals: counted, not compared. */
static bool sort_by_length(att_tape *tape, att_packed_sequence *steps, const int64_t *lengths)
{
    int64_t *start = att_tape_alloc(tape, steps->steps + 2, sizeof *start);
    if (!start)
        return false;
    memset(start, 0, (size_t)(steps->steps + 2) * sizeof *start);
    for (int64_t b = 0; b < steps->batch; b++) /* start[k + 1]: how many have length count - k */
        start[steps->steps - (lengths ? lengths[b] : steps->max_time) + 1]++;
    for (int64_t k = 0; k <= steps->steps; k++)
        start[k + 1] += start[k];
    for (int64_t b = 0; b < steps->batch; b++) {
        int64_t length = lengths ? lengths[b] : steps->max_time;
        int64_t rank = start[steps->steps - length]++;
        steps->batch_row[rank] = b;
        steps->length[rank] = length;
    }
    return true;
}

bool att_packed_sequence_make(att_tape *tape, att_packed_sequence *steps, const att_node *x,
                              const att_rnn_options *options)
{
    *steps = (att_packed_sequence){ .batch = x->shape[0],
                                    .max_time = x->shape[1],
                                    .reverse = options->reverse };
    for (int64_t b = 0; b < steps->batch; b++) {
        int64_t length = options->lengths ? options->lengths[b] : steps->max_time;
        steps->steps = length > steps->steps ? length : steps->steps;
    }
    steps->batch_row = att_tape_alloc(tape, steps->batch, sizeof *steps->batch_row);
    steps->length = att_tape_alloc(tape, steps->batch, sizeof *steps->length);
    steps->step_offset = att_tape_alloc(tape, steps->steps + 1, sizeof *steps->step_offset);
    if (!steps->batch_row || !steps->length || !steps->step_offset ||
        !sort_by_length(tape, steps, options->lengths))
        return false;
    int64_t alive = steps->batch, total = 0;
    for (int64_t s = 0; s < steps->steps; s++) {
        while (alive > 0 && steps->length[alive - 1] <= s)
            alive--;
        steps->step_offset[s] = total;
        total += alive;
    }
    steps->step_offset[steps->steps] = total;
    return true;
}

/* ---------------------------------------------------------------- threads */

/* Bounds of the ranges. */
typedef struct parallel_ranges {
    const int64_t *bound;
    void (*body)(void *context, int64_t first, int64_t past);
    void *context;
} parallel_ranges;

static void run_range(void *context, int64_t begin, int64_t end)
{
    const parallel_ranges *s = context;
    for (int64_t i = begin; i < end; i++)
        if (s->bound[i] < s->bound[i + 1])
            s->body(s->context, s->bound[i], s->bound[i + 1]);
}

/* No sequence's result depends on which others it is worked with, so the ranges may follow the
 * number of threads. Each takes whole tiles of the product's rows. */
bool att_packed_sequence_parallel_for(att_tape *tape, const att_packed_sequence *steps,
                                      double work_per_step,
                                      void (*body)(void *context, int64_t first, int64_t past),
                                      void *context)
{
    enum { TILE_ROWS = 6, SMALL_WORK = 1 << 18 };
    double work = work_per_step * (double)att_packed_sequence_total(steps);
    int64_t shares = work < SMALL_WORK ? 1 : att_threads_get();
    att_memory_pool_mark mark = att_tape_mark(tape);
    int64_t *bound = att_tape_alloc(tape, shares + 1, sizeof *bound), rank = 0, done = 0;
    if (!bound)
        return false;
    for (int64_t i = 0; i < shares; i++) {
        bound[i] = rank;
        int64_t wanted = att_packed_sequence_total(steps) * (i + 1) / shares;
        while (rank < steps->batch && (done < wanted || (rank - bound[i]) % TILE_ROWS != 0))
            done += steps->length[rank++];
    }
    bound[shares] = steps->batch;
    parallel_ranges all = { bound, body, context };
    att_parallel_for(shares, 1, run_range, &all);
    att_tape_release_to_mark(tape, mark);
    return true;
}

void att_panel_matmul_run(const att_kernels *kernels, const att_panel_matmul *p)
{
    int64_t k = 0;
    do {
        int64_t depth = p->depth - k < ATT_DEPTH_BLOCK ? p->depth - k : ATT_DEPTH_BLOCK;
        kernels->matmul(&(att_matmul_block){ .rows = (size_t)p->rows,
                                             .columns = (size_t)p->columns,
                                             .depth = (size_t)depth,
                                             .a = p->a + k,
                                             .a_row_stride = (size_t)p->depth,
                                             .a_column_stride = 1,
                                             .b = p->panels + k * ATT_PANEL_COLUMNS,
                                             .b_panel_stride = (size_t)p->depth * ATT_PANEL_COLUMNS,
                                             .b_row_stride = ATT_PANEL_COLUMNS,
                                             .c = p->c,
                                             .c_row_stride = (size_t)p->columns,
                                             .accumulate = p->accumulate || k > 0,
                                             .is_last = k + depth == p->depth,
                                             .bias = p->bias });
        k += depth;
    } while (k < p->depth);
}

/* ---------------------------------------------------------------- in order and back */

typedef struct gather_job {
    const att_packed_sequence *steps;
    float *packed, *x;
    int64_t width;
    bool add;
} gather_job;

static void gather_steps(void *context, int64_t begin, int64_t end)
{
    const gather_job *m = context;
    for (int64_t s = begin; s < end; s++)
        for (int64_t r = 0; r < att_packed_sequence_batch_size(m->steps, s); r++)
            memcpy(m->packed + (m->steps->step_offset[s] + r) * m->width,
                   m->x + att_packed_sequence_index(m->steps, s, r) * m->width,
                   (size_t)m->width * sizeof(float));
}

void att_packed_sequence_gather(const att_packed_sequence *steps, float *packed, const float *x,
                                int64_t width)
{
    gather_job m = { steps, packed, (float *)x, width, false };
    att_parallel_for(steps->steps, att_row_grain(width * steps->batch), gather_steps, &m);
}

static void scatter_sequences(void *context, int64_t begin, int64_t end)
{
    const gather_job *m = context;
    const att_packed_sequence *steps = m->steps;
    size_t row = (size_t)m->width * sizeof(float);
    for (int64_t r = begin; r < end; r++) {
        for (int64_t s = 0; s < steps->length[r]; s++) {
            float *to = m->x + att_packed_sequence_index(steps, s, r) * m->width;
            const float *from = m->packed + (steps->step_offset[s] + r) * m->width;
            if (m->add)
                att_kernels_get()->axpy(to, 1, from, (size_t)m->width);
            else
                memcpy(to, from, row);
        }
        if (!m->add)
            memset(m->x + (steps->batch_row[r] * steps->max_time + steps->length[r]) * m->width, 0,
                   (size_t)(steps->max_time - steps->length[r]) * row);
    }
}

void att_packed_sequence_scatter(const att_packed_sequence *steps, float *x, const float *packed,
                                 int64_t width, bool add)
{
    gather_job m = { steps, (float *)packed, x, width, add };
    att_parallel_for(steps->batch, att_row_grain(width * steps->steps), scatter_sequences, &m);
}
