/* The parallel loop: the only place where threads start. */
#ifndef ATT_BASE_PARALLEL_H
#define ATT_BASE_PARALLEL_H

#include "attend.h"

/* Bytes to leave between the memory of two threads that write at the same time. The processor reads
 * ahead, at most to the end of a page, and what it reads beyond the memory of one thread it would
 * take from the other. */
enum { ATT_WORKER_GAP = 4096 };

/* Upper limit of the number of threads, whatever was asked for. */
enum { ATT_MAX_THREADS = 1024 };

/* Calls body(context, begin, end) for [0,grain), [grain,2*grain), … up to `count`, each range once,
 * in any order and possibly at the same time. The ranges depend on `count` and `grain` alone, so a
 * body that writes only what belongs to its range produces the same bits at any number of threads.
 * Any number of threads may call this at once; their loops share the workers. Called from inside a
 * body, it runs its ranges in order on the calling thread. */
void att_parallel_for(int64_t count, int64_t grain,
                      void (*body)(void *context, int64_t begin, int64_t end), void *context);

/* The unit to do at turn 0 … count-1, where `workers` threads take turns from one counter: they
 * begin count / workers units apart and each goes on to the next, so that neighboring units, whose
 * results are neighbors in memory, are not written at the same time. Every unit once. */
int64_t att_spread_unit(int64_t turn, int64_t count, int64_t workers);

/* Parses the value of ATTEND_THREADS (may be NULL) into *out; 0 where it is not set or empty.
 * Fails, with *out 0, where it is not a positive integer. */
att_status att_threads_parse(int *out, const char *requested, att_error *err);

#endif
