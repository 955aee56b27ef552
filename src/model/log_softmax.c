/* Log-softmax of logits on several threads, and argmax. */
#include "model/log_softmax.h"

#include "base/parallel.h"
#include "kern/kern.h"
#include "model/layer_check.h"
#include "tape/op.h"

#include <math.h>

int32_t att_argmax(const float *scores, int64_t count)
{
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++)
        if (scores[i] > scores[best])
            best = i;
    return (int32_t)best;
}

typedef struct log_softmax_job {
    float *rows;
    size_t width;
    float *log_sum_exp; /* [rows] finite unless a logit is NaN or +inf, or all of a row are -inf */
} log_softmax_job;

static void log_softmax_rows(void *context, int64_t begin, int64_t end)
{
    const log_softmax_job *job = context;
    for (int64_t r = begin; r < end; r++) {
        float *row = job->rows + (size_t)r * job->width;
        job->log_sum_exp[r] = att_kernels_get()->log_softmax(row, row, job->width);
    }
}

bool att_log_softmax_check(att_tape *tape, att_node *scores, const float *log_sum_exp)
{
    int64_t rows = att_node_rows(scores);
    att_tape_name_layer(tape, scores, "output layer", 0);
    for (int64_t r = 0; r < rows; r++)
        if (!isfinite(log_sum_exp[r])) {
            att_layer_fail(tape, r, rows, (double)log_sum_exp[r], att_tape_error(tape));
            return false;
        }
    return true;
}

const float *att_log_softmax(att_tape *tape, att_node *scores)
{
    enum { GRAIN = 1 << 14 }; /* logits per parallel task */
    if (!scores)
        return NULL;
    int64_t width = att_node_last_dim(scores), rows = att_node_rows(scores);
    float *log_sum_exp = att_tape_alloc(tape, rows, sizeof *log_sum_exp);
    if (!log_sum_exp)
        return NULL;
    log_softmax_job job = { scores->value, (size_t)width, log_sum_exp };
    att_parallel_for(rows, 1 + GRAIN / width, log_softmax_rows, &job);
    return att_log_softmax_check(tape, scores, log_sum_exp) ? scores->value : NULL;
}
