/* Drawing a token from a row of log-probabilities. */
#ifndef ATT_DECODE_SAMPLING_H
#define ATT_DECODE_SAMPLING_H

#include "attend.h"
#include "decode/topk.h"

/* Candidates that `top` needs room for while drawing from a vocabulary. */
int64_t att_sample_capacity(const att_decoding_options *how, int64_t vocabulary);

/* The token that the uniform number `u` in [0, 1) falls on, when the tokens that may follow lie
 * side by side, each as wide as it is probable: after `temperature`, and of the `top_k` most
 * probable ones, or those that together have `top_p`, alone. -1 where none may. `scratch` has room
 * for `count` floats. */
int32_t att_sample_token(const att_decoding_options *how, const float *log_probs /* [count] */,
                         int64_t count, const att_banned_tokens *bans, double u, att_topk *top,
                         float *scratch);

#endif
