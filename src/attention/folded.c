/* Attention whose score is folded first (fold.h). Dot products under softmax then go through the
 * tiles of fused attention, everything else by rows. */
#include "attention/fold.h"
#include "attention/fused_back.h"
#include "attention/score.h"
#include "base/alloc.h"
#include "base/error.h"

/* The problem that is left after folding, where that is one of dot products. */
typedef struct dot_problem {
    att_problem problem;
    att_attention how;
    att_attention_inputs in;
} dot_problem;

static bool goes_fused(const att_problem *p)
{
    return att_fold_to_dot(p) && p->how->normaliser == ATT_NORMALISE_SOFTMAX;
}

static void dot_problem_new(dot_problem *d, const att_problem *p, const att_fold *fold)
{
    d->how = *p->how;
    d->how.score = ATT_SCORE_DOT;
    d->how.scale = p->scale;
    d->in = *p->in;
    d->in.query = &fold->x.query;
    d->in.key = &fold->x.key;
    d->in.score_w = NULL;
    d->problem = *p;
    d->problem.how = &d->how;
    d->problem.in = &d->in;
    d->problem.score = att_score_get(ATT_SCORE_DOT);
    d->problem.Kq = d->problem.Kk = att_fold_width(p);
}

/* A broadcast view may claim any size at no cost; a product of such sizes overflows. */
static bool too_large(const att_problem *p)
{
    const int64_t widths[] = { p->Kq, p->Kk, p->M, p->A, p->P, ATT_ROWS };
    int64_t widest = 0, longest = p->T > p->S ? p->T : p->S;
    for (size_t n = 0; n < sizeof widths / sizeof *widths; n++)
        widest = widths[n] > widest ? widths[n] : widest;
    double rows = ((double)p->B + (double)p->how->sequences) * (double)p->H * (double)longest;
    return (rows + (double)widest + 1) * ((double)widest + 1) > 0x1p58;
}

/* Lays out the fold at the start of a workspace; gives where the rest begins. */
static void *place_fold(att_fold *fold, const att_problem *p, bool backward,
                        const att_attention_grads *grads, void *workspace)
{
    att_carver carver = { .base = workspace };
    att_fold_carve(fold, &carver, p, backward, grads);
    return (char *)workspace + carver.used;
}

size_t att_folded_room(const att_problem *p, bool backward)
{
    att_fold fold;
    att_carver counting = { 0 };
    if (too_large(p))
        return 0;
    att_fold_carve(&fold, &counting, p, backward, NULL);
    if (!goes_fused(p))
        return counting.used + att_rows_room(p, backward) + ATT_ALIGNMENT;
    dot_problem dot;
    fold.x.query = fold.query;
    fold.x.key = fold.key.rank ? fold.key : *p->in->key;
    dot_problem_new(&dot, p, &fold);
    return counting.used + ATT_ALIGNMENT +
           (backward ? att_back_room(&dot.problem) : att_fused_forward_room(&dot.problem));
}

att_status att_folded_forward(const att_problem *p, const att_attention_outputs *out,
                              void *workspace, att_error *err)
{
    size_t size = att_folded_room(p, false);
    void *own = NULL, *room = size ? att_fused_room(workspace, size, &own) : NULL;
    if (!room)
        return att_fail_memory(err);
    att_fold fold;
    dot_problem dot;
    void *rest = place_fold(&fold, p, false, NULL, room);
    att_status status = att_fold_forward(&fold, err);
    if (status == ATT_OK && goes_fused(p)) {
        dot_problem_new(&dot, p, &fold);
        status = att_fused_forward(&dot.problem, out, rest, err);
    } else if (status == ATT_OK) {
        status = att_rows_forward(p, &fold.x, out, rest, err);
    }
    att_free(own);
    return status;
}

att_status att_folded_backward(const att_problem *p, const att_attention_outputs *forward,
                               const att_tensor *output_grad, const att_attention_grads *grads,
                               void *workspace, att_error *err)
{
    size_t size = att_folded_room(p, true);
    void *own = NULL, *room = size ? att_fused_room(workspace, size, &own) : NULL;
    if (!room)
        return att_fail_memory(err);
    att_fold fold;
    dot_problem dot;
    void *rest = place_fold(&fold, p, true, grads, room);
    att_status status = att_fold_forward(&fold, err);
    if (status == ATT_OK && goes_fused(p)) {
        att_attention_grads to = *grads;
        to.query = fold.x.query_grad.data ? &fold.x.query_grad : NULL;
        to.key = fold.x.key_grad.data ? &fold.x.key_grad : NULL;
        dot_problem_new(&dot, p, &fold);
        status = att_fused_backward(&dot.problem, forward, output_grad, &to, rest, err);
    } else if (status == ATT_OK) {
        status = att_rows_backward(p, &fold.x, output_grad, grads, rest, err);
    }
    if (status == ATT_OK)
        status = att_fold_backward(&fold, grads, err);
    att_free(own);
    return status;
}
