/* Batches of examples of similar length. Their order depends only on the corpus, the seed and the
 * epoch, so a run that resumes in the middle of an epoch needs only the epoch and the batch index.
 */
#ifndef ATT_DATA_BATCH_H
#define ATT_DATA_BATCH_H

#include "data/corpus.h"

/* Sequences as rows, padded with ATT_ID_PAD to the longest. The source of a row depends on the type
 * of model: tokens, the feature grid of an image, or nothing for a language model. */
typedef struct att_batch {
    int64_t rows;                    /* B */
    int64_t source_length;           /* S; 0 if there is no source */
    int64_t target_length;           /* T, end token included */
    const int32_t *source;           /* [B,S] */
    const int64_t *source_lengths;   /* [B] */
    const char *const *source_words; /* [B,S] as they are written, NULL in padding; or NULL */
    const int32_t *target_in;        /* [B,T] BOS y1 y2 …: input of teacher forcing */
    const int32_t *target_out;       /* [B,T] y1 y2 … EOS: the tokens to predict; for models that
                                        copy, ids of the extended vocabulary (extended_vocab.h) */
    const int32_t *copy_ids;         /* [B,S] likewise of the source tokens; or NULL */
    const int64_t *target_lengths;   /* [B] end token included */
    const int32_t
        *alignment; /* [B,T] index of the source token aligned with each target, or -1; or NULL */
    const int64_t *context_tokens; /* [B] language models: the first tokens of a row that are
                                    * context alone, since another row predicts them; or NULL */
    const int64_t *pair_index; /* [B] index of the pair in the corpus; of a text, of the first token
                                * that counts */
    const float *image_grid;   /* [B,cells,depth] of images, or NULL */
    int64_t cells, depth;
    bool continues_previous; /* language models: row r continues row r of the batch before, whose
                              * RNN state is carried over (truncated BPTT) */
    int64_t source_tokens;   /* of B S, without padding */
    int64_t target_tokens;   /* of B T, without padding */
} att_batch;

typedef struct att_batches att_batches;

/* Batches of pairs, of at most `tokens` tokens each: rows times the longer of S and T, padding
 * included. A pair that is longer is a batch of its own. The corpus must outlive the batches. Large
 * corpora are arranged in windows (pair_window.h), whether they are in memory or in a token file:
 * the batches are the same. */
att_status att_pair_batches_new(att_batches **out, const att_corpus *corpus, int64_t tokens,
                                uint64_t seed, att_error *err);

/* The same with windows of another size than the usual, for tests; NULL: the usual. */
typedef struct att_window_size {
    int64_t block_pairs;   /* neighbors in the corpus that stay in one window */
    int64_t window_blocks; /* blocks of a window */
    int64_t window_tokens; /* tokens of a window, about */
} att_window_size;
att_status att_pair_batches_in_windows(att_batches **out, const att_corpus *corpus, int64_t tokens,
                                       uint64_t seed, const att_window_size *size, att_error *err);
void att_batches_free(att_batches *batches);

/* Arranges an epoch, counted from 0: pairs are shuffled, sorted by length within buckets, cut into
 * batches, and the batches shuffled. Epochs may differ by a few batches. */
void att_batches_start_epoch(att_batches *batches, int64_t epoch);

/* Arranges all pairs by length, then in the order of the corpus: for validation. */
void att_batches_start_sequential(att_batches *batches);

int64_t att_batches_count(const att_batches *batches);

/* Batch `index` of the epoch, valid until the next call. Where the tokens are in memory, it
 * allocates nothing and cannot fail. Where reading a token file fails, the batch has unknown
 * tokens, and att_batches_status() returns the failure from then on: whoever has used the batch
 * must ask before anything is kept of it. */
const att_batch *att_batches_get(att_batches *batches, int64_t index);
att_status att_batches_status(const att_batches *batches, att_error *err);

/* The index of a batch of the epoch that is as large as any, in cells with padding. */
int64_t att_batches_largest(att_batches *batches);

/* Upper bounds of every batch of every epoch: what a run must allocate. */
typedef struct att_batch_limits {
    int64_t rows;
    int64_t source_length, target_length;
    int64_t source_padded_tokens, target_padded_tokens; /* B S, B T */
} att_batch_limits;

att_batch_limits att_batches_limits(const att_batches *batches);

#endif
