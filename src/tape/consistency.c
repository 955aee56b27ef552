/* The consistency loss of two rows of logits. A block of classes is summed by the dot product of
 * the kernels, whose bits are the same on every instruction set, and blocks in double precision. */
#include "tape/consistency.h"

#include "base/minmax.h"
#include "kern/kern.h"

enum { BLOCK = 256 };

/* Log-probabilities and probabilities of classes `first` to `first + count`. */
typedef struct block {
    size_t first, count;
    float log_p[BLOCK], log_q[BLOCK], p[BLOCK], q[BLOCK];
    float difference[BLOCK]; /* log p - log q */
} block;

static void load_block(block *b, const att_consistency_rows *rows, size_t first)
{
    const att_kernels *kern = att_kernels_get();
    b->first = first;
    b->count = att_min_size(rows->classes - first, BLOCK);
    for (size_t j = 0; j < b->count; j++) {
        b->log_p[j] = rows->x[first + j] - rows->lse_x;
        b->log_q[j] = rows->y[first + j] - rows->lse_y;
        b->difference[j] = b->log_p[j] - b->log_q[j];
    }
    kern->exp(b->p, b->log_p, b->count);
    kern->exp(b->q, b->log_q, b->count);
}

/* The two divergences, KL(p | q) and KL(q | p). */
typedef struct divergences {
    double p_from_q, q_from_p;
} divergences;

static divergences sum_divergences(const att_consistency_rows *rows)
{
    const att_kernels *kern = att_kernels_get();
    divergences sum = { 0, 0 };
    block b;
    for (size_t first = 0; first < rows->classes; first += BLOCK) {
        load_block(&b, rows, first);
        sum.p_from_q += (double)kern->dot(b.p, b.difference, b.count);
        sum.q_from_p -= (double)kern->dot(b.q, b.difference, b.count);
    }
    return sum;
}

/* The derivative with respect to x_j is p_j (log p_j - log q_j - KL(p | q)) + p_j - q_j, and that
 * with respect to y_j the same with p and q exchanged. */
static void add_gradients(const att_consistency_rows *rows, divergences sum, float weight,
                          float *dx, float *dy)
{
    const float p_from_q = (float)sum.p_from_q, q_from_p = (float)sum.q_from_p;
    block b;
    for (size_t first = 0; first < rows->classes; first += BLOCK) {
        load_block(&b, rows, first);
        for (size_t j = 0; j < b.count; j++) {
            float surplus = b.p[j] - b.q[j];
            dx[first + j] += weight * (b.p[j] * (b.difference[j] - p_from_q) + surplus);
            dy[first + j] += weight * (b.q[j] * (-b.difference[j] - q_from_p) - surplus);
        }
    }
}

double att_consistency_loss(const att_consistency_rows *rows, float weight, float *dx, float *dy)
{
    divergences sum = sum_divergences(rows);
    if (dx && dy)
        add_gradients(rows, sum, weight, dx, dy);
    return sum.p_from_q + sum.q_from_p;
}
