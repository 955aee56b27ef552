/* Batches, whatever they are made of; see batch.h. */
#include "text/batch.h"

#include "text/batch_way.h"

void att_batches_free(att_batches *batches)
{
    if (batches)
        batches->way->free(batches);
}

void att_batches_start(att_batches *batches, int64_t epoch)
{
    batches->way->start(batches, epoch);
}

void att_batches_in_order(att_batches *batches)
{
    batches->way->in_order(batches);
}

int64_t att_batches_count(const att_batches *batches)
{
    return batches->count;
}

const att_batch *att_batches_get(att_batches *batches, int64_t index)
{
    return batches->way->get(batches, index);
}

att_batch_limits att_batches_limits(const att_batches *batches)
{
    return batches->limits;
}
