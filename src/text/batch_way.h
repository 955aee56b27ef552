/* What every way of making batches does: behind batch.h. A way's own struct begins with
 * att_batches.
 */
#ifndef ATT_TEXT_BATCH_WAY_H
#define ATT_TEXT_BATCH_WAY_H

#include "text/batch.h"

typedef struct att_batch_way {
    void (*free)(att_batches *batches);
    void (*start)(att_batches *batches, int64_t epoch);
    void (*in_order)(att_batches *batches);
    const att_batch *(*get)(att_batches *batches, int64_t index);
} att_batch_way;

struct att_batches {
    const att_batch_way *way;
    int64_t count; /* of the epoch as it is arranged */
    att_batch_limits limits;
    att_batch shown; /* what att_batches_get() lends */
};

#endif
