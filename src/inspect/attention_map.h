/* One attention of a Transformer at work on a line: what goes into it, and its weights. */
#ifndef ATT_INSPECT_ATTENTION_MAP_H
#define ATT_INSPECT_ATTENTION_MAP_H

#include "model/transformer.h"

typedef struct att_attention_capture {
    const att_model *model;
    att_attention_block part;
    int64_t layer; /* from 0 */
    att_ids source;
    att_ids target; /* as the decoder is fed it: the start, and all that was said; not for the
                       encoder */
    att_tape *tape;
    att_attention_probe probe;
    att_node *attention; /* [1,H,N,S], or of the encoder [1,H,S,S] and of the decoder [1,H,N,N] */
} att_attention_capture;

/* Checks the choice (a layer of 0 is number `usual`, from 1; 0: the last), takes the line's tokens,
 * of which more than `most` are refused (0: any number), and runs the model. To be ended on failure
 * too. */
att_status att_attention_capture_run(att_attention_capture *looking, const att_model *model,
                                     const att_head_selection *which, int64_t usual, size_t most,
                                     att_error *err);
void att_attention_capture_free(att_attention_capture *looking);

#endif
