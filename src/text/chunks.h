/* Batches of a text, cut into chunks. */
#ifndef ATT_TEXT_CHUNKS_H
#define ATT_TEXT_CHUNKS_H

#include "text/batch.h"

/* Each token but the first is a target once in an epoch, given those before it in its chunk.
 *
 * Carried: the text is cut into as many streams as a batch has rows. Batch after batch takes the
 * next chunk of each, and `follows` says that a row goes on where the row ended before: so a state
 * can be carried along. An epoch starts the streams anew.
 *
 * Otherwise chunks are drawn in any order, cut at other places in every epoch. In order, they stand
 * end to end from the start of the text. */
typedef struct att_chunking {
    int64_t tokens; /* of a batch */
    int64_t chunk;
    bool carried;
    uint64_t seed;
} att_chunking;

/* Batches over a text, which must outlive them. */
att_status att_chunks_new(att_batches **out, const att_corpus *text, const att_chunking *how,
                          att_error *err);

#endif
