/* One attention of a Transformer at work on a line: what goes into it, and its weights. */
#ifndef ATT_DECODE_LOOK_H
#define ATT_DECODE_LOOK_H

#include "model/transformer.h"

typedef struct att_looking {
    att_model *model;
    att_head_part part;
    int64_t layer; /* from 0 */
    att_ids source;
    att_ids target; /* as the decoder is fed it: the start, and all that was said; not for the
                       encoder */
    att_tape *tape;
    att_watch watch;
    att_node *weights; /* [1,H,N,S], or of the encoder [1,H,S,S] and of the decoder [1,H,N,N] */
} att_looking;

/* Checks the choice (a layer of 0 is number `usual`, from 1; 0: the last), takes the line's tokens,
 * of which more than `most` are refused (0: any number), and runs the model. To be ended on failure
 * too. */
att_status att_looking_begin(att_looking *looking, att_model *model, const att_head_choice *which,
                             int64_t usual, size_t most, att_error *err);
void att_looking_end(att_looking *looking);

#endif
