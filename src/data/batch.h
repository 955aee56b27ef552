/* Batches of examples of about the same length. Their order is a function of the corpus, the seed
 * and the epoch alone, so a run that resumes in the middle of an epoch needs two numbers. */
#ifndef ATT_DATA_BATCH_H
#define ATT_DATA_BATCH_H

#include "data/corpus.h"

/* Sequences as rows, filled up with ATT_ID_PAD to the longest. What the rows come from depends on
 * the kind: tokens, the grids of pictures, or, in a text, nothing. */
typedef struct att_batch {
    int64_t rows;                  /* B */
    int64_t source_length;         /* S; 0 where there are no source tokens */
    int64_t target_length;         /* T, the end token included */
    const int32_t *source;         /* [B,S] */
    const int64_t *source_lengths; /* [B] */
    const int32_t *target_in;      /* [B,T] start y1 y2 … */
    const int32_t *target_out;     /* [B,T] y1 y2 … end */
    const int64_t *target_lengths; /* [B] the end token included */
    const int32_t *alignment;      /* [B,T] the source token each target comes from; or NULL */
    const int64_t *pair_index;     /* [B] its place in the corpus */
    const float *image_grid;       /* [B,cells,depth] of pictures, or NULL */
    int64_t cells, depth;
    bool continues_previous; /* a text: row r goes on where row r of the batch before ended */
    int64_t source_tokens;   /* in use, of B S */
    int64_t target_tokens;   /* in use, of B T */
} att_batch;

typedef struct att_batches att_batches;

/* Batches over pairs, which must outlive them, of at most `tokens` tokens: rows times the longer of
 * S and T, padding included. A pair that is longer goes alone. */
att_status att_pair_batches_new(att_batches **out, const att_corpus *corpus, int64_t tokens,
                                uint64_t seed, att_error *err);
void att_batches_free(att_batches *batches);

/* Arranges an epoch, counted from 0: shuffled, in stretches sorted by length, the batches shuffled
 * again. The number of batches may differ by a few between epochs. Needs no memory. */
void att_batches_start_epoch(att_batches *batches, int64_t epoch);

/* Arranges all pairs by length and then in the order of the corpus: for validation. */
void att_batches_start_sequential(att_batches *batches);

int64_t att_batches_count(const att_batches *batches);

/* Batch `index` of the epoch, lent until the next call. Needs no memory. */
const att_batch *att_batches_get(att_batches *batches, int64_t index);

/* No batch of any epoch has more: what a run must have room for. */
typedef struct att_batch_limits {
    int64_t rows;
    int64_t source_length, target_length;
    int64_t source_padded_tokens, target_padded_tokens; /* B S, B T */
} att_batch_limits;

att_batch_limits att_batches_limits(const att_batches *batches);

#endif
