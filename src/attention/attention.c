/* The door to attention: every public call checks the whole problem once, picks the path from one
 * table and runs it. Single queries (decoding over a KV cache) are not a path of their own but a
 * tile shape inside "fused", so that the bits of a result cannot depend on the choice. */
#include "attention/paths.h"

#include "attention/score.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/options.h"
#include "base/progress.h"

#include <string.h>

/* The first row that supports a problem runs it. */
static const att_attention_path paths[] = {
    { "fused", true, att_fused_supports, att_fused_workspace, att_fused_forward,
      att_fused_backward },
    { "projected-fused", true, att_projected_fused_supports, att_projected_fused_workspace,
      att_projected_fused_forward, att_projected_fused_backward },
    { "rowwise", true, att_rowwise_supports, att_rowwise_workspace, att_rowwise_forward,
      att_rowwise_backward },
    { "reference", false, att_reference_supports, att_reference_workspace, att_reference_forward,
      att_reference_backward },
};

static bool path_supports(const att_attention_path *path, const att_problem *p, bool float32)
{
    return (float32 || !path->float32) && path->supports(p);
}

static const att_attention_path *choose_path(const att_problem *p, bool float32)
{
    const att_attention_path *path = paths;
    while (!path_supports(path, p, float32))
        path++; /* the last row supports everything */
    return path;
}

const att_attention_path *att_attention_path_get(const char *name)
{
    for (size_t n = 0; n < ATT_COUNT(paths); n++)
        if (strcmp(paths[n].name, name) == 0)
            return &paths[n];
    return NULL;
}

/* Inside another call, which ends its step before it stops, a cancelled operation is complete. */
static att_status end_operation(att_progress_scope *scope, att_status status, att_error *err)
{
    return att_progress_end(scope, status, err);
}

/* Runs the given path, or with NULL the one that the table picks. */
static att_status run_forward(const att_attention_path *path, const att_attention_options *options,
                              const att_attention_inputs *in, const att_attention_outputs *out,
                              void *workspace, att_error *err)
{
    att_attention_options resolved;
    att_problem problem;
    ATT_TRY(ATT_OPTIONS_COPY(att_attention_options, &resolved, options, err));
    ATT_TRY(att_problem_new(&problem, &resolved, in, err));
    ATT_TRY(att_problem_check_outputs(&problem, out, err));
    bool float32 = att_problem_inputs_are_float32(&problem) && att_outputs_are_float32(out);
    if (!path)
        path = choose_path(&problem, float32);
    if (!path_supports(path, &problem, float32))
        return att_fail(err, ATT_BAD_INPUT, "attention",
                        "the path %s does not support this problem", path->name);
    att_progress_scope scope;
    att_progress_begin_operation(&scope, "computing attention");
    att_status status = path->forward(&problem, out, workspace, err);
    return end_operation(&scope, status, err);
}

static att_status run_backward(const att_attention_path *path, const att_attention_options *options,
                               const att_attention_inputs *in, const att_attention_outputs *forward,
                               const att_tensor *output_grad, const att_attention_grads *grads,
                               void *workspace, att_error *err)
{
    att_attention_options resolved;
    att_problem problem;
    ATT_TRY(ATT_OPTIONS_COPY(att_attention_options, &resolved, options, err));
    ATT_TRY(att_problem_new(&problem, &resolved, in, err));
    ATT_TRY(att_problem_check_grads(&problem, output_grad, grads, err));
    if (forward && forward->output && forward->log_sum_exp)
        ATT_TRY(att_problem_check_outputs(&problem, forward, err));
    if (!att_grads_wanted(grads))
        return ATT_OK;
    bool float32 = att_problem_inputs_are_float32(&problem) && output_grad->dtype == ATT_F32 &&
                   att_grads_are_float32(grads);
    if (!path)
        path = choose_path(&problem, float32);
    if (!path_supports(path, &problem, float32))
        return att_fail(err, ATT_BAD_INPUT, "attention",
                        "the path %s does not support this problem", path->name);
    att_progress_scope scope;
    att_progress_begin_operation(&scope, "computing gradients of attention");
    att_status status = path->backward(&problem, forward, output_grad, grads, workspace, err);
    return end_operation(&scope, status, err);
}

/* ---- the public calls */

att_status att_attention_forward(const att_attention_options *options,
                                 const att_attention_inputs *in, const att_attention_outputs *out,
                                 void *workspace, att_error *err)
{
    return run_forward(NULL, options, in, out, workspace, err);
}

att_status att_attention_backward(const att_attention_options *options,
                                  const att_attention_inputs *in,
                                  const att_attention_outputs *forward,
                                  const att_tensor *output_grad, const att_attention_grads *grads,
                                  void *workspace, att_error *err)
{
    return run_backward(NULL, options, in, forward, output_grad, grads, workspace, err);
}

/* The outputs are not known here: where one of them turns out to be float64, the reference runs and
 * the bytes counted here are more than it needs. */
size_t att_attention_workspace(const att_attention_options *options, const att_attention_inputs *in,
                               bool backward)
{
    att_attention_options resolved;
    att_problem problem;
    if (ATT_OPTIONS_COPY(att_attention_options, &resolved, options, NULL) != ATT_OK ||
        att_problem_new(&problem, &resolved, in, NULL) != ATT_OK)
        return 0;
    const att_attention_path *path =
        choose_path(&problem, att_problem_inputs_are_float32(&problem));
    return path->workspace(&problem, backward);
}

att_status att_attention_forward_reference(const att_attention_options *options,
                                           const att_attention_inputs *in,
                                           const att_attention_outputs *out, att_error *err)
{
    return run_forward(att_attention_path_get("reference"), options, in, out, NULL, err);
}

att_status att_attention_backward_reference(const att_attention_options *options,
                                            const att_attention_inputs *in,
                                            const att_tensor *output_grad,
                                            const att_attention_grads *grads, att_error *err)
{
    return run_backward(att_attention_path_get("reference"), options, in, NULL, output_grad, grads,
                        NULL, err);
}

att_status att_attention_backward_pairs(const att_attention_options *options,
                                        const att_attention_inputs *in,
                                        const att_tensor *output_grad,
                                        const att_attention_grads *grads,
                                        const att_pair_grads *pairs, att_error *err)
{
    att_attention_options resolved;
    att_problem problem;
    ATT_TRY(ATT_OPTIONS_COPY(att_attention_options, &resolved, options, err));
    ATT_TRY(att_problem_new(&problem, &resolved, in, err));
    ATT_TRY(att_problem_check_grads(&problem, output_grad, grads, err));
    att_progress_scope scope;
    att_progress_begin_operation(&scope, "computing gradients of attention");
    att_status status = att_reference_backward_pairs(&problem, output_grad, grads, pairs, err);
    return end_operation(&scope, status, err);
}

att_status att_attention_forward_matrix(const att_attention_options *options,
                                        const att_attention_inputs *in,
                                        const att_attention_outputs *out, att_error *err)
{
    att_attention_options resolved;
    att_problem problem;
    ATT_TRY(ATT_OPTIONS_COPY(att_attention_options, &resolved, options, err));
    ATT_TRY(att_problem_new(&problem, &resolved, in, err));
    ATT_TRY(att_problem_check_outputs(&problem, out, err));
    if (!att_matrix_supports(&problem))
        return att_fail(err, ATT_BAD_INPUT, "attention",
                        "the %s score is not a matrix product: expected dot, scaled or general",
                        problem.score->name);
    return att_matrix_forward(&problem, out, NULL, err);
}

/* ---- for tests */

att_status att_attention_forward_on(const att_attention_path *path,
                                    const att_attention_options *options,
                                    const att_attention_inputs *in,
                                    const att_attention_outputs *out, att_error *err)
{
    return run_forward(path, options, in, out, NULL, err);
}

att_status att_attention_backward_on(const att_attention_path *path,
                                     const att_attention_options *options,
                                     const att_attention_inputs *in, const att_tensor *output_grad,
                                     const att_attention_grads *grads, att_error *err)
{
    return run_backward(path, options, in, NULL, output_grad, grads, NULL, err);
}
