/* A checked attention problem: options and inputs whose shapes, dtypes and parameters fit together,
 * with all sizes read out. Every path (paths.h) starts from one and checks nothing again. */
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
    double scale; /* the scale given, or the default that 0 stands for */
    int64_t B, T, S, H, G, Kq, Kk, M;
    int64_t A; /* hidden width of the additive score; else 0 */
    int64_t P; /* positions a key can have: S, or the length of the longest packed sequence */
    int64_t R; /* largest distance in the relative table; 0 without one */
} att_problem;

/* Checks options and inputs and fills *out, which keeps pointers to both. */
att_status att_problem_new(att_problem *out, const att_attention_options *options,
                           const att_attention_inputs *in, att_error *err);

/* Checks shapes and dtypes of results or gradients, and that no two elements share memory. */
att_status att_problem_check_outputs(const att_problem *problem, const att_attention_outputs *out,
                                     att_error *err);
att_status att_problem_check_grads(const att_problem *problem, const att_tensor *output_grad,
                                   const att_attention_grads *grads, att_error *err);

/* Whether all tensors given are float32; of inputs, whether all are float32, float16 or bfloat16.
 */
bool att_problem_inputs_are_float32(const att_problem *problem);
bool att_outputs_are_float32(const att_attention_outputs *out);
bool att_grads_are_float32(const att_attention_grads *grads);

/* Whether at least one gradient is requested. */
bool att_grads_wanted(const att_attention_grads *grads);

/* The tensor in a slot, or NULL. */
const att_tensor *att_problem_input(const att_attention_inputs *in, att_slot slot);
att_tensor *att_problem_grad(const att_attention_grads *grads, att_slot slot);

#endif
