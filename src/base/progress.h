/* Progress and cancel for calls that can take longer than a second (att_callback_set in attend.h).
 *
 * A public call opens a scope. Scopes nest: a public call made by another (att_model_generate
 * inside an evaluation) opens one inside. The callback of the thread gets the progress of the
 * outermost scope, the call that the caller made, and its answer cancels all of them.
 *
 * Loops report how far they are with att_progress_step(), which also says whether to go on. Inside
 * a step, parallel loops call att_progress_poll(), so that the callback runs at least every 0.1 s
 * however long the step takes. A step under way ends: no operation is left half done. The
 * exceptions are a public call that is one operation (attention, a matrix product), which opens its
 * scope with att_progress_begin_operation(), and work whose results the caller can throw away,
 * between att_progress_set_discardable(true) and (false): there a cancelled parallel loop skips the
 * rest of its ranges. */
#ifndef ATT_BASE_PROGRESS_H
#define ATT_BASE_PROGRESS_H

#include "attend.h"

#include <stdatomic.h>

typedef struct att_progress_scope {
    att_progress progress;
    bool is_operation;
    struct att_progress_scope *outer; /* the scope that was current before; NULL: none */
} att_progress_scope;

/* Makes `scope` the current one of this thread, until att_progress_end(), which takes the status of
 * the call and returns it; ATT_CANCELLED where the callback asked the call to stop after its last
 * check. The caller then releases its results as after any failure. */
void att_progress_begin(att_progress_scope *scope, const char *phase, int64_t total);
void att_progress_begin_operation(att_progress_scope *scope, const char *phase);
att_status att_progress_end(att_progress_scope *scope, att_status status, att_error *err);

/* Whether the work of this thread from here on may be left half done when it is cancelled. */
void att_progress_set_discardable(bool discardable);

/* Sets how many units the current scope has, where that is not known at its start. */
void att_progress_set_total(int64_t total);

/* Reports `done` units of the current scope. ATT_CANCELLED where the callback has asked to stop. */
att_status att_progress_step(int64_t done, att_error *err);

/* ATT_CANCELLED where the callback has asked to stop; polls first. For loops that do not count in
 * the units of the current scope. */
att_status att_progress_check(att_error *err);

/* Calls the callback if its time has come. Cheap enough for inner loops: a comparison where the
 * thread has no callback or no scope, else a look at the clock. */
void att_progress_poll(void);

/* What is done between the two is not cancelled, and the callback is not called: for saving the
 * work of a call that was cancelled. They do not nest. */
typedef struct att_progress_pause {
    att_callback *callback;
    bool cancelled;
} att_progress_pause;
att_progress_pause att_progress_suspend(void);
void att_progress_continue(att_progress_pause pause);

/* Whether the callback has asked to stop. */
bool att_progress_cancelled(void);

/* Makes this thread, a worker or the caller of a parallel loop, follow the loop's flag, which says
 * that the caller has abandoned it; returns the one that it followed before. */
const atomic_bool *att_progress_follow(const atomic_bool *abandoned);

/* Whether the call under way is cancelled, and its remaining work may be skipped. */
bool att_progress_abandoned(void);

/* Seconds between two calls of a callback, at least; for tests: 0 calls it at every poll. Negative
 * restores the default. Not while any scope is open. */
void att_progress_set_interval(double seconds);

#endif
