/* What every way of making batches does: behind batch.h. A way's own struct begins with
 * att_batches.
 */
#ifndef ATT_DATA_BATCH_INTERNAL_H
#define ATT_DATA_BATCH_INTERNAL_H

#include "data/batch.h"

typedef struct att_batches_methods {
    void (*free)(att_batches *batches);
    void (*start_epoch)(att_batches *batches, int64_t epoch);
    void (*start_sequential)(att_batches *batches);
    const att_batch *(*get)(att_batches *batches, int64_t index);
} att_batches_methods;

struct att_batches {
    const att_batches_methods *methods;
    int64_t count; /* of the epoch as it is arranged */
    att_batch_limits limits;
    att_batch current; /* what att_batches_get() lends */
};

#endif
