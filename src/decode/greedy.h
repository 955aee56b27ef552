/* Greedy decoding: the most probable token at each step. What comes out of a row depends on nothing
 * but its source. */
#ifndef ATT_DECODE_GREEDY_H
#define ATT_DECODE_GREEDY_H

#include "model/model.h"

/* What came out of one source. Release with att_output_free(). */
typedef struct att_output {
    int64_t count;       /* tokens, the end included where it was reached */
    bool cut;            /* the end was not reached */
    int32_t *ids;        /* [count] */
    float *log_probs;    /* [count] */
    float *weights;      /* [count, maps, its source's length]; NULL where not asked for, or none */
    int64_t maps, heads; /* of the weights, as in att_decoded */
    int64_t capacity;    /* tokens that there is room for */
} att_output;

void att_output_free(att_output *output);

/* Tokens to follow instead of choosing. */
typedef struct att_forced {
    const int32_t *ids; /* [count] without the end, which is added */
    size_t count;
} att_forced;

typedef struct att_greedy_how {
    int64_t most_tokens;      /* in an output; 0: 50 more than twice the source's */
    bool weights;             /* keep the attention */
    const att_forced *forced; /* [rows], or NULL: choose */
} att_greedy_how;

/* Decodes a batch. `outputs` [rows] are {0} before, and to be freed also on failure. */
att_status att_greedy(att_output *outputs, att_decoder *decoder, const att_sources *sources,
                      const att_greedy_how *how, att_error *err);

#endif
