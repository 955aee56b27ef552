/* General and cosine scores under softmax: the score transform (score_transform.h) turns queries
 * and keys into others whose plain dot product is the score, and fused attention does the rest. */
#include "attention/paths.h"
#include "attention/score_transform.h"
#include "base/alloc.h"
#include "base/error.h"

/* The dot-product problem that is left after the transform. */
typedef struct dot_problem {
    att_problem problem;
    att_attention_options options;
    att_attention_inputs in;
} dot_problem;

static void dot_problem_new(dot_problem *d, const att_problem *p,
                            const att_score_transform *transform)
{
    d->options = *p->options;
    d->options.score = ATT_SCORE_DOT;
    d->options.scale = p->scale;
    d->in = *p->in;
    d->in.query = &transform->operands.query;
    d->in.key = &transform->operands.key;
    d->in.score_w = NULL;
    d->problem = *p;
    d->problem.options = &d->options;
    d->problem.in = &d->in;
    d->problem.score = att_score_get(ATT_SCORE_DOT);
    d->problem.Kq = d->problem.Kk = att_score_transform_width(p);
}

bool att_projected_fused_supports(const att_problem *p)
{
    return att_score_transform_is_dot(p) && p->options->normalizer == ATT_NORMALIZE_SOFTMAX;
}

size_t att_projected_fused_workspace(const att_problem *p, bool backward)
{
    att_score_transform transform;
    att_workspace counting = { 0 };
    if (att_score_transform_overflows(p))
        return 0;
    att_score_transform_layout(&transform, &counting, p, backward, NULL);
    dot_problem dot;
    transform.operands.query = transform.query;
    transform.operands.key = transform.key.rank ? transform.key : *p->in->key;
    dot_problem_new(&dot, p, &transform);
    return counting.used + ATT_WORKSPACE_ALIGNMENT + att_fused_workspace(&dot.problem, backward);
}

att_status att_projected_fused_forward(const att_problem *p, const att_attention_outputs *out,
                                       void *workspace, att_error *err)
{
    size_t size = att_projected_fused_workspace(p, false);
    void *own = NULL, *room = size ? att_workspace_get(workspace, size, &own) : NULL;
    if (!room)
        return att_fail_memory(err);
    att_score_transform transform;
    dot_problem dot;
    att_workspace layout = { .base = room };
    att_score_transform_layout(&transform, &layout, p, false, NULL);
    att_status status = att_score_transform_forward(&transform, err);
    if (status == ATT_OK) {
        dot_problem_new(&dot, p, &transform);
        status = att_fused_forward(&dot.problem, out, (char *)room + layout.used, err);
    }
    att_free(own);
    return status;
}

att_status att_projected_fused_backward(const att_problem *p, const att_attention_outputs *forward,
                                        const att_tensor *output_grad,
                                        const att_attention_grads *grads, void *workspace,
                                        att_error *err)
{
    size_t size = att_projected_fused_workspace(p, true);
    void *own = NULL, *room = size ? att_workspace_get(workspace, size, &own) : NULL;
    if (!room)
        return att_fail_memory(err);
    att_score_transform transform;
    dot_problem dot;
    att_workspace layout = { .base = room };
    att_score_transform_layout(&transform, &layout, p, true, grads);
    att_status status = att_score_transform_forward(&transform, err);
    if (status == ATT_OK) {
        att_attention_grads to = *grads;
        to.query = transform.operands.query_grad.data ? &transform.operands.query_grad : NULL;
        to.key = transform.operands.key_grad.data ? &transform.operands.key_grad : NULL;
        dot_problem_new(&dot, p, &transform);
        status = att_fused_backward(&dot.problem, forward, output_grad, &to,
                                    (char *)room + layout.used, err);
    }
    if (status == ATT_OK)
        status = att_score_transform_backward(&transform, grads, err);
    att_free(own);
    return status;
}
