/* Batches for language models: a text cut into chunks of sequence-length tokens. For an RNN a chunk
 * continues the state of the one before it (truncated BPTT). */
#ifndef ATT_DATA_BATCH_LM_H
#define ATT_DATA_BATCH_LM_H

#include "data/batch.h"

/* Every token but the first is predicted once per epoch, from the tokens before it in its chunk.
 *
 * With carry_state (RNNs, truncated BPTT) the text is cut into as many streams as a batch has rows.
 * Each batch takes the next chunk of every stream, and continues_previous says that the RNN state
 * of a row carries over from the batch before. Every epoch starts the streams from the initial
 * state. With several groups there are as many times more streams: batch i has the next chunk of
 * group i mod groups, whose state carries over from batch i - groups. Every group has a chunk of
 * every round, since chunks of a stream are then of nearly equal length.
 *
 * Otherwise chunks come in random order, and every epoch cuts the text at another offset. In
 * sequential order, they follow each other from the start of the text. With a stride they overlap
 * there: each chunk but the first predicts the `stride` tokens after the chunk before it, and what
 * precedes them in the row is context. */
typedef struct att_lm_batches_options {
    int64_t batch_tokens;
    int64_t sequence_length;
    bool carry_state;
    int64_t stride; /* of sequential order, without carry_state; 0: the sequence length */
    uint64_t seed;
    int64_t groups;            /* of streams, with carry_state; 0: 1 */
    int64_t max_listed_chunks; /* up to this many chunks their order is in memory, beyond it is
                                * computed chunk by chunk; 0: 2^20. Others are for tests */
} att_lm_batches_options;

/* Batches of a text, which must outlive them. A text too short for the groups is refused. */
att_status att_lm_batches_new(att_batches **out, const att_corpus *text,
                              const att_lm_batches_options *options, att_error *err);

#endif
