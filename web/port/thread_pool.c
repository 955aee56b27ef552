/* The thread pool of a build without threads: every loop runs on its caller. */
#include "base/thread_pool.h"

bool att_thread_pool_run(int64_t ranges, int threads, void (*body)(void *context, int64_t index),
                         void *context)
{
    (void)ranges, (void)threads, (void)body, (void)context;
    return false;
}

int att_usable_cores(void)
{
    return 1;
}

uint64_t att_usable_cores_hash(void)
{
    return 0;
}
