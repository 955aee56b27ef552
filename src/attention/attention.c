/* Attention whose score is folded first (fold.h). Dot products under softmax then go through the
 * tiles of fused attention, everything else by rows. */
#include "attention/score_transform.h"
#include "attention/fused_backward.h"
#include "attention/score.h"
#include "base/alloc.h"
#include "base/error.h"

/* The problem that is left after folding, where that is one of dot products. */
typedef struct dot_problem {
    att_problem problem;
    att_attention_options options;
    att_attention_inputs in;
} dot_problem;

static bool uses_fused(const att_problem *p)
{
    return att_score_transform_is_dot(p) && p->options->normalizer == ATT_NORMALIZE_SOFTMAX;
}

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

/* A broadcast view may claim any size at no cost; a product of such sizes overflows. */
static bool too_large(const att_problem *p)
{
    const int64_t widths[] = { p->Kq, p->Kk, p->M, p->A, p->P, ATT_ROWWISE_QUERIES };
    int64_t max_width = 0, max_length = p->T > p->S ? p->T : p->S;
    for (size_t n = 0; n < sizeof widths / sizeof *widths; n++)
        max_width = widths[n] > max_width ? widths[n] : max_width;
    double rows =
        ((double)p->B + (double)p->options->sequences) * (double)p->H * (double)max_length;
    return (rows + (double)max_width + 1) * ((double)max_width + 1) > 0x1p58;
}

/* Lays out the fold at the start of a workspace; gives where the rest begins. */
static void *layout_transform(att_score_transform *transform, const att_problem *p, bool backward,
                              const att_attention_grads *grads, void *workspace)
{
    att_workspace carver = { .base = workspace };
    att_score_transform_layout(transform, &carver, p, backward, grads);
    return (char *)workspace + carver.used;
}

size_t att_transformed_attention_workspace(const att_problem *p, bool backward)
{
    att_score_transform transform;
    att_workspace counting = { 0 };
    if (too_large(p))
        return 0;
    att_score_transform_layout(&transform, &counting, p, backward, NULL);
    if (!uses_fused(p))
        return counting.used + att_rowwise_workspace(p, backward) + ATT_WORKSPACE_ALIGNMENT;
    dot_problem dot;
    transform.operands.query = transform.query;
    transform.operands.key = transform.key.rank ? transform.key : *p->in->key;
    dot_problem_new(&dot, p, &transform);
    return counting.used + ATT_WORKSPACE_ALIGNMENT +
           (backward ? att_fused_backward_workspace(&dot.problem)
                     : att_fused_forward_workspace(&dot.problem));
}

att_status att_transformed_attention_forward(const att_problem *p, const att_attention_outputs *out,
                                             void *workspace, att_error *err)
{
    size_t size = att_transformed_attention_workspace(p, false);
    void *own = NULL, *room = size ? att_workspace_get(workspace, size, &own) : NULL;
    if (!room)
        return att_fail_memory(err);
    att_score_transform transform;
    dot_problem dot;
    void *rest = layout_transform(&transform, p, false, NULL, room);
    att_status status = att_score_transform_forward(&transform, err);
    if (status == ATT_OK && uses_fused(p)) {
        dot_problem_new(&dot, p, &transform);
        status = att_fused_forward(&dot.problem, out, rest, err);
    } else if (status == ATT_OK) {
        status = att_rowwise_forward(p, &transform.operands, out, rest, err);
    }
    att_free(own);
    return status;
}

att_status att_transformed_attention_backward(const att_problem *p,
                                              const att_attention_outputs *forward,
                                              const att_tensor *output_grad,
                                              const att_attention_grads *grads, void *workspace,
                                              att_error *err)
{
    size_t size = att_transformed_attention_workspace(p, true);
    void *own = NULL, *room = size ? att_workspace_get(workspace, size, &own) : NULL;
    if (!room)
        return att_fail_memory(err);
    att_score_transform transform;
    dot_problem dot;
    void *rest = layout_transform(&transform, p, true, grads, room);
    att_status status = att_score_transform_forward(&transform, err);
    if (status == ATT_OK && uses_fused(p)) {
        att_attention_grads to = *grads;
        to.query = transform.operands.query_grad.data ? &transform.operands.query_grad : NULL;
        to.key = transform.operands.key_grad.data ? &transform.operands.key_grad : NULL;
        dot_problem_new(&dot, p, &transform);
        status = att_fused_backward(&dot.problem, forward, output_grad, &to, rest, err);
    } else if (status == ATT_OK) {
        status = att_rowwise_backward(p, &transform.operands, output_grad, grads, rest, err);
    }
    if (status == ATT_OK)
        status = att_score_transform_backward(&transform, grads, err);
    att_free(own);
    return status;
}
