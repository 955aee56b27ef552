/* A team of threads that share out the ranges of a loop. The caller works too, and waits only for
 * ranges that others have begun: a thread that the system does not run, on a machine that is busy
 * with other things, delays nothing. (OpenMP's loops end with a barrier for the whole team; with
 * both cores taken by others they were forty times slower.) */
#ifndef ATT_BASE_THREAD_POOL_H
#define ATT_BASE_THREAD_POOL_H

#include <stdbool.h>
#include <stdint.h>

/* Calls body(context, i) once for each i from 0 to ranges - 1, from up to `threads` threads, this
 * one among them. false, and nothing done, where no team can be had: called from inside a body, or
 * while another thread uses the team. */
bool att_thread_pool_run(int64_t ranges, int threads, void (*body)(void *context, int64_t index),
                         void *context);

#endif
