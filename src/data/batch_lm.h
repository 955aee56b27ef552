/* Batches of a text, cut into chunks. */
#ifndef ATT_DATA_BATCH_LM_H
#define ATT_DATA_BATCH_LM_H

#include "data/batch.h"

/* Each token but the first is a target once in an epoch, given those before it in its chunk.
 *
 * Carried: the text is cut into as many streams as a batch has rows. Batch after batch takes the
 * next chunk of each, and `follows` says that a row goes on where the row ended before: so a state
 * can be carried along. An epoch starts the streams anew.
 *
 * Otherwise chunks are drawn in any order, cut at other places in every epoch. In order, they stand
 * end to end from the start of the text. */
typedef struct att_lm_batches_options {
    int64_t batch_tokens; /* of a batch */
    int64_t sequence_length;
    bool carry_state;
    uint64_t seed;
} att_lm_batches_options;

/* Batches over a text, which must outlive them. */
att_status att_lm_batches_new(att_batches **out, const att_corpus *text,
                              const att_lm_batches_options *how, att_error *err);

#endif
