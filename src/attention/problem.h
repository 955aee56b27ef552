/* An attention computation, checked and measured: what every implementation starts from. Nothing
 * behind att_problem_new() meets a shape, option or parameter that does not fit. */
#ifndef ATT_ATTENTION_PROBLEM_H
#define ATT_ATTENTION_PROBLEM_H

#include "attend.h"

/* The tensors of att_attention_inputs and of att_attention_grads, in the order of both. */
typedef enum att_slot {
    ATT_SLOT_QUERY,
    ATT_SLOT_KEY,
    ATT_SLOT_VALUE,
    ATT_SLOT_SCORE_W,
    ATT_SLOT_SCORE_U,
    ATT_SLOT_SCORE_B,
    ATT_SLOT_SCORE_V,
    ATT_SLOT_BIAS,
    ATT_SLOT_ALIBI,
    ATT_SLOT_RELATIVE,
    ATT_SLOT_COUNT
} att_slot;

typedef struct att_problem {
    const att_attention_options *options;
    const att_attention_inputs *in;
    const struct att_score_impl *score;
    const struct att_normalizer_impl *normalizer;
    double scale; /* the one given, or what 0 stands for */
    int64_t B, T, S, H, G, Kq, Kk, M;
    int64_t A; /* additive: hidden width; else 0 */
    int64_t P; /* positions a key can have: S, or the longest packed sequence */
    int64_t R; /* relative table: reach to either side; else 0 */
} att_problem;

/* Checks everything that goes in and fills *out, which borrows `how` and `in`. */
att_status att_problem_new(att_problem *out, const att_attention_options *options,
                           const att_attention_inputs *in, att_error *err);

/* Checks what comes out: shapes, types, no element that stands for two. */
att_status att_problem_check_outputs(const att_problem *problem, const att_attention_outputs *out,
                                     att_error *err);
att_status att_problem_check_grads(const att_problem *problem, const att_tensor *output_grad,
                                   const att_attention_grads *grads, att_error *err);

/* Whether any gradient is wanted. */
bool att_problem_wants_grads(const att_attention_grads *grads);

/* The tensor in a slot, or NULL. */
const att_tensor *att_problem_input(const att_attention_inputs *in, att_slot slot);
att_tensor *att_problem_grad(const att_attention_grads *grads, att_slot slot);

#endif
