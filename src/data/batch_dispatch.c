/* Batches, whatever they are made of; see batch.h. */
#include "data/batch.h"

#include "data/batch_internal.h"

void att_batches_free(att_batches *batches)
{
    if (batches)
        batches->methods->free(batches);
}

void att_batches_start_epoch(att_batches *batches, int64_t epoch)
{
    batches->methods->start_epoch(batches, epoch);
}

void att_batches_start_sequential(att_batches *batches)
{
    batches->methods->start_sequential(batches);
}

int64_t att_batches_count(const att_batches *batches)
{
    return batches->count;
}

const att_batch *att_batches_get(att_batches *batches, int64_t index)
{
    return batches->methods->get(batches, index);
}

att_batch_limits att_batches_limits(const att_batches *batches)
{
    return batches->limits;
}
