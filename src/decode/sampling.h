/* Sampling a token from a row of log-probabilities. */
#ifndef ATT_DECODE_SAMPLING_H
#define ATT_DECODE_SAMPLING_H

#include "attend.h"
#include "decode/topk.h"

/* The capacity that `top` needs for sampling from a vocabulary. */
int64_t att_sample_capacity(const att_decoding_options *options, int64_t vocabulary);

/* Inverse transform sampling with the uniform number `u` in [0, 1), after `temperature`, from the
 * `top_k` most probable tokens or those that together have `top_p`. -1 where every token is banned.
 * `scratch` has room for `count` floats. */
int32_t att_sample_token(const att_decoding_options *options, const float *log_probs /* [count] */,
                         int64_t count, const att_banned_tokens *bans, double u, att_topk *top,
                         float *scratch);

#endif
