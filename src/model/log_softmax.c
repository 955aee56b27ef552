/* Log-softmax of logits on several threads, and argmax. */
#include "model/log_softmax.h"

#include "base/parallel.h"
#include "kern/kern.h"
#include "tape/op.h"

int32_t att_argmax(const float *scores, int64_t count)
{
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++)
        if (scores[i] > scores[best])
            best = i;
    return (int32_t)best;
}

typedef struct log_softmax_job {
    float *to;
    const float *from;
    size_t width;
} log_softmax_job;

static void log_softmax_rows(void *context, int64_t begin, int64_t end)
{
    const log_softmax_job *job = context;
    for (int64_t r = begin; r < end; r++)
        att_kernels_get()->log_softmax(job->to + (size_t)r * job->width,
                                       job->from + (size_t)r * job->width, job->width);
}

const float *att_log_softmax(att_tape *tape, const att_node *scores)
{
    enum { GRAIN = 1 << 14 }; /* logits per parallel task */
    float *log_probs = scores ? att_tape_alloc(tape, scores->count, sizeof *log_probs) : NULL;
    if (!log_probs)
        return NULL;
    int64_t width = att_node_last_dim(scores);
    log_softmax_job job = { log_probs, scores->value, (size_t)width };
    att_parallel_for(att_node_rows(scores), 1 + GRAIN / width, log_softmax_rows, &job);
    return log_probs;
}
