/* The interface that every kind of batches implements. Its own struct starts with att_batches. */
#ifndef ATT_DATA_BATCH_INTERNAL_H
#define ATT_DATA_BATCH_INTERNAL_H

#include "base/random.h"
#include "data/batch.h"

typedef struct att_batches_methods {
    void (*free)(att_batches *batches);
    void (*start_epoch)(att_batches *batches, int64_t epoch);
    void (*start_sequential)(att_batches *batches);
    int64_t (*largest)(att_batches *batches);
    const att_batch *(*get)(att_batches *batches, int64_t index);
} att_batches_methods;

struct att_batches {
    const att_batches_methods *methods;
    int64_t count; /* batches of the current epoch */
    att_batch_limits limits;
    att_batch current; /* what att_batches_get() returns */
    att_status status; /* the first failure of reading a token file */
    att_error err;
};

/* Keeps a failure for att_batches_status(). */
void att_batches_keep_failure(att_batches *batches, att_status status, const att_error *err);

/* The index from 0 to i that element i is exchanged with in a Fisher-Yates shuffle. */
static inline int64_t att_shuffle_partner(uint64_t seed, uint64_t stream, int64_t i)
{
    return (int64_t)(att_random_double(seed, stream, (uint64_t)i) * (double)(i + 1));
}

#endif
