/* Which pairs are in which batch. The pairs of an epoch are shuffled, sorted by length within
 * buckets, cut into batches, and the batches shuffled: in one window where the corpus is small. A
 * larger one is cut into blocks of neighbors, the blocks are shuffled, and each window, some
 * hundred blocks, is arranged alone: memory is that of a window. The order depends on the lengths
 * of the pairs, the seed and the epoch, not on where the tokens are. */
#ifndef ATT_DATA_PAIR_WINDOW_H
#define ATT_DATA_PAIR_WINDOW_H

#include "data/batch.h"
#include "data/token_corpus.h"

/* A pair of the window with its sort keys. The position before sorting makes the order total. */
typedef struct att_window_item {
    int64_t max_length; /* of source and target, end token included */
    int64_t min_length;
    int64_t original_position;
    int64_t pair; /* in the epoch */
    int64_t slot; /* in the sequences of att_window_batch */
} att_window_item;

/* The rows of a batch. */
typedef struct att_window_batch {
    const att_window_item *items; /* [count] */
    int64_t count;
    const att_sequences *source, *target;
} att_window_batch;

typedef struct att_pair_windows att_pair_windows;

/* `size` NULL: the usual. ATT_NO_MEMORY is the only failure. */
att_status att_pair_windows_new(att_pair_windows **out, const att_corpus *corpus,
                                int64_t batch_tokens, uint64_t seed, const att_window_size *size);
void att_pair_windows_free(att_pair_windows *windows);

/* Arranges an epoch, or all pairs in their order, sorted by length in each window. */
att_status att_pair_windows_arrange(att_pair_windows *windows, bool sequential, int64_t epoch,
                                    att_error *err);

/* The number of batches; the index of one that is as large as any. */
int64_t att_pair_windows_count(const att_pair_windows *windows);
int64_t att_pair_windows_largest(const att_pair_windows *windows);

/* The rows of a batch, valid until the next call. */
att_status att_pair_windows_get(att_pair_windows *windows, int64_t index, att_window_batch *out,
                                att_error *err);

#endif
