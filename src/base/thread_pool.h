/* A pool of worker threads that help with the loops of their callers. A caller works on its own
 * loop and waits only for ranges that workers have begun: a thread that the system does not
 * schedule, on a machine that is busy with other processes, delays nothing. (OpenMP's loops end
 * with a barrier for all threads; with both cores taken by other processes they were forty times
 * slower.) Loops of several callers run at the same time and share the workers. */
#ifndef ATT_BASE_THREAD_POOL_H
#define ATT_BASE_THREAD_POOL_H

#include <stdbool.h>
#include <stdint.h>

/* Calls body(context, i) once for each i from 0 to ranges - 1, on this thread and on up to
 * threads - 1 workers, which all callers share. Returns false, having called nothing, where the
 * caller should run the loop alone: inside a body, with fewer than two threads or ranges, or while
 * 64 other callers use the pool. A body must not call fork(), unless the child only calls exec() or
 * _exit(). */
bool att_thread_pool_run(int64_t ranges, int threads, void (*body)(void *context, int64_t index),
                         void *context);

/* The number of cores that this process may run on. */
int att_usable_cores(void);

/* A hash of the set of these cores: equal where processes of one machine share all of theirs. */
uint64_t att_usable_cores_hash(void);

#endif
