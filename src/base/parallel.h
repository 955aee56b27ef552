/* Work shared among threads: the only place where threads start. */
#ifndef ATT_BASE_PARALLEL_H
#define ATT_BASE_PARALLEL_H

#include "attend.h"

/* More threads than this are never started, whatever was asked for. */
enum { ATT_MAX_THREADS = 1024 };

/* Calls body(context, begin, end) for [0,grain), [grain,2*grain), … up to `count`, each range once,
 * in any order and possibly at the same time. The ranges depend on `count` and `grain` alone, so a
 * body that writes only what belongs to its range gives the same bits at any number of threads.
 * Called from inside a body, it works through its ranges in order on the thread it is on. */
void att_parallel_for(int64_t count, int64_t grain,
                      void (*body)(void *context, int64_t begin, int64_t end), void *context);

/* What ATTEND_THREADS (may be NULL) asks for; 0 where it asks for nothing. What is no number from 1
 * on gives 0, and *err, if given, says so. */
att_status att_threads_parse(int *out, const char *requested, att_error *err);

#endif
