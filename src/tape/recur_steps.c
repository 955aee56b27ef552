/* The order in which a batch's steps are worked; see recur.h. */
#include "base/parallel.h"
#include "tape/recur.h"

#include <string.h>

/* Ranks by falling length, and in the order of the batch among equals: counted, not compared. */
static bool rank_rows(att_tape *tape, att_steps *steps, const int64_t *lengths)
{
    int64_t *start = att_tape_take(tape, steps->count + 2, sizeof *start);
    if (!start)
        return false;
    memset(start, 0, (size_t)(steps->count + 2) * sizeof *start);
    for (int64_t b = 0; b < steps->batch; b++) /* start[k + 1]: how many have length count - k */
        start[steps->count - (lengths ? lengths[b] : steps->time) + 1]++;
    for (int64_t k = 0; k <= steps->count; k++)
        start[k + 1] += start[k];
    for (int64_t b = 0; b < steps->batch; b++) {
        int64_t length = lengths ? lengths[b] : steps->time;
        int64_t rank = start[steps->count - length]++;
        steps->row[rank] = b;
        steps->length[rank] = length;
    }
    return true;
}

bool att_steps_make(att_tape *tape, att_steps *steps, const att_node *x, const att_recurrent *how)
{
    *steps = (att_steps){ .batch = x->shape[0], .time = x->shape[1], .reverse = how->reverse };
    for (int64_t b = 0; b < steps->batch; b++) {
        int64_t length = how->lengths ? how->lengths[b] : steps->time;
        steps->count = length > steps->count ? length : steps->count;
    }
    steps->row = att_tape_take(tape, steps->batch, sizeof *steps->row);
    steps->length = att_tape_take(tape, steps->batch, sizeof *steps->length);
    steps->first = att_tape_take(tape, steps->count + 1, sizeof *steps->first);
    if (!steps->row || !steps->length || !steps->first || !rank_rows(tape, steps, how->lengths))
        return false;
    int64_t alive = steps->batch, total = 0;
    for (int64_t s = 0; s < steps->count; s++) {
        while (alive > 0 && steps->length[alive - 1] <= s)
            alive--;
        steps->first[s] = total;
        total += alive;
    }
    steps->first[steps->count] = total;
    return true;
}

/* ---------------------------------------------------------------- threads */

/* Bounds of the ranges. */
typedef struct sharing {
    const int64_t *bound;
    void (*body)(void *context, int64_t first, int64_t past);
    void *context;
} sharing;

static void run_share(void *context, int64_t begin, int64_t end)
{
    const sharing *s = context;
    for (int64_t i = begin; i < end; i++)
        if (s->bound[i] < s->bound[i + 1])
            s->body(s->context, s->bound[i], s->bound[i + 1]);
}

/* No sequence's result depends on which others it is worked with, so the ranges may follow the
 * number of threads. Each takes whole tiles of the product's rows. */
bool att_steps_share(att_tape *tape, const att_steps *steps, double work_per_step,
                     void (*body)(void *context, int64_t first, int64_t past), void *context)
{
    enum { TILE_ROWS = 6, SMALL_WORK = 1 << 18 };
    double work = work_per_step * (double)att_steps_total(steps);
    int64_t shares = work < SMALL_WORK ? 1 : att_threads_get();
    att_pool_mark mark = att_tape_mark(tape);
    int64_t *bound = att_tape_take(tape, shares + 1, sizeof *bound), rank = 0, done = 0;
    if (!bound)
        return false;
    for (int64_t i = 0; i < shares; i++) {
        bound[i] = rank;
        int64_t wanted = att_steps_total(steps) * (i + 1) / shares;
        while (rank < steps->batch && (done < wanted || (rank - bound[i]) % TILE_ROWS != 0))
            done += steps->length[rank++];
    }
    bound[shares] = steps->batch;
    sharing all = { bound, body, context };
    att_parallel_for(shares, 1, run_share, &all);
    att_tape_release(tape, mark);
    return true;
}

void att_rows_multiply(const att_kernels *kernels, const att_rows_product *p)
{
    int64_t k = 0;
    do {
        int64_t depth = p->depth - k < ATT_DEPTH_BLOCK ? p->depth - k : ATT_DEPTH_BLOCK;
        kernels->product(&(att_product_block){ .rows = (size_t)p->rows,
                                               .columns = (size_t)p->columns,
                                               .depth = (size_t)depth,
                                               .a = p->a + k,
                                               .a_row = (size_t)p->depth,
                                               .a_step = 1,
                                               .b = p->panels + k * ATT_PANEL,
                                               .b_panel = (size_t)p->depth * ATT_PANEL,
                                               .b_step = ATT_PANEL,
                                               .c = p->c,
                                               .c_row = (size_t)p->columns,
                                               .add = p->add || k > 0,
                                               .last = k + depth == p->depth,
                                               .bias = p->bias });
        k += depth;
    } while (k < p->depth);
}

/* ---------------------------------------------------------------- in order and back */

typedef struct move {
    const att_steps *steps;
    float *packed, *x;
    int64_t width;
    bool add;
} move;

static void gather_steps(void *context, int64_t begin, int64_t end)
{
    const move *m = context;
    for (int64_t s = begin; s < end; s++)
        for (int64_t r = 0; r < att_steps_alive(m->steps, s); r++)
            memcpy(m->packed + (m->steps->first[s] + r) * m->width,
                   m->x + att_steps_place(m->steps, s, r) * m->width,
                   (size_t)m->width * sizeof(float));
}

void att_steps_gather(const att_steps *steps, float *packed, const float *x, int64_t width)
{
    move m = { steps, packed, (float *)x, width, false };
    att_parallel_for(steps->count, att_rows_grain(width * steps->batch), gather_steps, &m);
}

static void scatter_ranks(void *context, int64_t begin, int64_t end)
{
    const move *m = context;
    const att_steps *steps = m->steps;
    size_t row = (size_t)m->width * sizeof(float);
    for (int64_t r = begin; r < end; r++) {
        for (int64_t s = 0; s < steps->length[r]; s++) {
            float *to = m->x + att_steps_place(steps, s, r) * m->width;
            const float *from = m->packed + (steps->first[s] + r) * m->width;
            if (m->add)
                att_kernels_get()->add_scaled(to, 1, from, (size_t)m->width);
            else
                memcpy(to, from, row);
        }
        if (!m->add)
            memset(m->x + (steps->row[r] * steps->time + steps->length[r]) * m->width, 0,
                   (size_t)(steps->time - steps->length[r]) * row);
    }
}

void att_steps_scatter(const att_steps *steps, float *x, const float *packed, int64_t width,
                       bool add)
{
    move m = { steps, (float *)packed, x, width, add };
    att_parallel_for(steps->batch, att_rows_grain(width * steps->count), scatter_ranks, &m);
}
