/* Packing of sequences of different lengths: ranks, parallel loops, gather and scatter. */
#include "tape/packed_sequence.h"

#include "base/minmax.h"
#include "base/parallel.h"

#include <string.h>

/* Ranks by descending length, equal lengths in the order of the batch: a counting sort. */
static bool rank_by_length(att_tape *tape, att_packed_sequence *sequence, const int64_t *lengths)
{
    int64_t *start = att_tape_alloc(tape, sequence->steps + 2, sizeof *start);
    if (!start)
        return false;
    memset(start, 0, (size_t)(sequence->steps + 2) * sizeof *start);
    for (int64_t b = 0; b < sequence->batch; b++) /* start[k + 1]: count of length steps - k */
        start[sequence->steps - (lengths ? lengths[b] : sequence->max_time) + 1]++;
    for (int64_t k = 0; k <= sequence->steps; k++)
        start[k + 1] += start[k];
    for (int64_t b = 0; b < sequence->batch; b++) {
        int64_t length = lengths ? lengths[b] : sequence->max_time;
        int64_t rank = start[sequence->steps - length]++;
        sequence->batch_row[rank] = b;
        sequence->length[rank] = length;
    }
    return true;
}

bool att_packed_sequence_make(att_tape *tape, att_packed_sequence *sequence, const att_node *x,
                              const int64_t *lengths, bool reverse)
{
    att_packed_sequence *p = sequence;
    *p = (att_packed_sequence){ .batch = x->shape[0], .max_time = x->shape[1], .reverse = reverse };
    for (int64_t b = 0; b < p->batch; b++)
        p->steps = att_max_i64(p->steps, lengths ? lengths[b] : p->max_time);
    p->batch_row = att_tape_alloc(tape, p->batch, sizeof *p->batch_row);
    p->length = att_tape_alloc(tape, p->batch, sizeof *p->length);
    p->step_offset = att_tape_alloc(tape, p->steps + 1, sizeof *p->step_offset);
    if (!p->batch_row || !p->length || !p->step_offset || !rank_by_length(tape, p, lengths))
        return false;
    int64_t alive = p->batch, total = 0;
    for (int64_t s = 0; s < p->steps; s++) {
        while (alive > 0 && p->length[alive - 1] <= s)
            alive--;
        p->step_offset[s] = total;
        total += alive;
    }
    p->step_offset[p->steps] = total;
    return true;
}

/* ---------------------------------------------------------------- threads */

typedef struct parallel_ranges {
    const int64_t *bound; /* ranks at which the ranges begin */
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

/* The result of a sequence does not depend on the sequences beside it, so the ranges may depend on
 * the number of threads. A range is a multiple of the matrix product's tile height. */
bool att_packed_sequence_parallel_for(att_tape *tape, const att_packed_sequence *sequence,
                                      double work_per_step,
                                      void (*body)(void *context, int64_t first, int64_t past),
                                      void *context)
{
    enum { TILE_ROWS = 6, SMALL_WORK = 1 << 18 };
    double work = work_per_step * (double)att_packed_sequence_total(sequence);
    int64_t shares = work < SMALL_WORK ? 1 : att_threads_get();
    att_memory_pool_mark mark = att_tape_mark(tape);
    int64_t *bound = att_tape_alloc(tape, shares + 1, sizeof *bound), rank = 0, done = 0;
    if (!bound)
        return false;
    for (int64_t i = 0; i < shares; i++) {
        bound[i] = rank;
        int64_t wanted = att_packed_sequence_total(sequence) * (i + 1) / shares;
        while (rank < sequence->batch && (done < wanted || (rank - bound[i]) % TILE_ROWS != 0))
            done += sequence->length[rank++];
    }
    bound[shares] = sequence->batch;
    parallel_ranges all = { bound, body, context };
    att_parallel_for(shares, 1, run_range, &all);
    att_tape_release_to_mark(tape, mark);
    return true;
}

/* ---------------------------------------------------------------- gather and scatter */

typedef struct gather_job {
    const att_packed_sequence *sequence;
    float *packed, *x;
    int64_t width;
    bool add;
} gather_job;

static void gather_steps(void *context, int64_t begin, int64_t end)
{
    const gather_job *m = context;
    for (int64_t s = begin; s < end; s++)
        for (int64_t r = 0; r < att_packed_sequence_batch_size(m->sequence, s); r++)
            memcpy(m->packed + (m->sequence->step_offset[s] + r) * m->width,
                   m->x + att_packed_sequence_index(m->sequence, s, r) * m->width,
                   (size_t)m->width * sizeof(float));
}

void att_packed_sequence_gather(const att_packed_sequence *sequence, float *packed, const float *x,
                                int64_t width)
{
    gather_job m = { sequence, packed, (float *)x, width, false };
    att_parallel_for(sequence->steps, att_row_grain(width * sequence->batch), gather_steps, &m);
}

static void scatter_sequences(void *context, int64_t begin, int64_t end)
{
    const gather_job *m = context;
    const att_packed_sequence *sequence = m->sequence;
    size_t row = (size_t)m->width * sizeof(float);
    for (int64_t r = begin; r < end; r++) {
        for (int64_t s = 0; s < sequence->length[r]; s++) {
            float *to = m->x + att_packed_sequence_index(sequence, s, r) * m->width;
            const float *from = m->packed + (sequence->step_offset[s] + r) * m->width;
            if (m->add)
                att_kernels_get()->axpy(to, 1, from, (size_t)m->width);
            else
                memcpy(to, from, row);
        }
        if (!m->add)
            memset(m->x + (sequence->batch_row[r] * sequence->max_time + sequence->length[r]) *
                              m->width,
                   0, (size_t)(sequence->max_time - sequence->length[r]) * row);
    }
}

void att_packed_sequence_scatter(const att_packed_sequence *sequence, float *x, const float *packed,
                                 int64_t width, bool add)
{
    gather_job m = { sequence, (float *)packed, x, width, add };
    att_parallel_for(sequence->batch, att_row_grain(width * sequence->steps), scatter_sequences,
                     &m);
}
