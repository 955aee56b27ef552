/* Progress and cancel for calls that can take longer than a second (att_callback in attend.h).
 *
 * A public call opens a scope; from then on its thread has a current scope. Loops report how far
 * they are with att_progress_step(), which also says whether to go on. Inside a step, long parallel
 * loops call att_progress_poll(), so that the callback runs at least every 0.1 s however long the
 * step takes. A cancelled scope lets the step under way end: no operation is left half done.
 *
 * Scopes nest: a public call made by another (att_model_generate inside an evaluation) reports to
 * the outer callback. */
#ifndef ATT_BASE_PROGRESS_H
#define ATT_BASE_PROGRESS_H

#include "attend.h"

typedef struct att_progress_scope {
    att_callback *callback;
    void *context;
    att_progress progress;
    double called_at; /* when the callback was last called, in seconds of att_clock_seconds() */
    bool cancelled;
    struct att_progress_scope *outer; /* the scope that was current before; NULL: none */
} att_progress_scope;

/* Makes `scope` the current one of this thread, until att_progress_end(). With a NULL callback it
 * reports to the scope around it, if there is one. */
void att_progress_begin(att_progress_scope *scope, const char *phase, int64_t total,
                        att_callback *callback, void *context);
void att_progress_end(att_progress_scope *scope);

/* Reports `done` units of the current scope. ATT_CANCELLED where the callback has asked to stop. */
att_status att_progress_step(int64_t done, att_error *err);

/* Calls the callback if its time has come. Cheap enough for inner loops: a comparison where the
 * thread has no scope, else a look at the clock. */
void att_progress_poll(void);

/* Seconds between two calls of a callback, at least; for tests: 0 calls it at every poll. Negative
 * restores the default. Not while any scope is open. */
void att_progress_set_interval(double seconds);

/* Whether the current scope was cancelled. */
bool att_progress_cancelled(void);

#endif
