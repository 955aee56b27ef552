/* Progress and cancel (progress.h): a stack of scopes per thread, and the rate of callbacks. */
#include "base/progress.h"

#include "base/clock.h"
#include "base/error.h"

/* Seconds between two calls of a callback: well under the 0.1 s that attend.h promises, since a
 * poll comes between pieces of work, and above the 0.02 s that it promises not to undercut. */
enum { DEFAULT_INTERVAL_MS = 30 };
static double callback_interval = DEFAULT_INTERVAL_MS * 1e-3;

static _Thread_local att_progress_scope *current;

/* The innermost scope with a callback, from `scope` outward. */
static att_progress_scope *reporting(att_progress_scope *scope)
{
    while (scope && !scope->callback)
        scope = scope->outer;
    return scope;
}

void att_progress_begin(att_progress_scope *scope, const char *phase, int64_t total,
                        att_callback *callback, void *context)
{
    *scope = (att_progress_scope){
        .callback = callback,
        .context = context,
        .progress = { .size = sizeof scope->progress, .phase = phase, .total = total },
        .outer = current,
    };
    const att_progress_scope *outer = reporting(scope->outer);
    scope->called_at = callback ? att_clock_seconds() : outer ? outer->called_at : 0;
    current = scope;
}

void att_progress_end(att_progress_scope *scope)
{
    current = scope->outer;
}

/* A call from inside the callback must not report to it again. */
static void call(att_progress_scope *target, const att_progress *progress)
{
    att_progress_scope *saved = current;
    current = NULL;
    if (!target->callback(target->context, progress))
        target->cancelled = true;
    current = saved;
    target->called_at = att_clock_seconds();
}

void att_progress_set_interval(double seconds)
{
    callback_interval = seconds < 0 ? DEFAULT_INTERVAL_MS * 1e-3 : seconds;
}

void att_progress_poll(void)
{
    att_progress_scope *target = reporting(current);
    if (!target || target->cancelled || att_clock_seconds() - target->called_at < callback_interval)
        return;
    call(target, &target->progress);
}

bool att_progress_cancelled(void)
{
    const att_progress_scope *target = reporting(current);
    return target && target->cancelled;
}

att_status att_progress_step(int64_t done, att_error *err)
{
    if (!current)
        return ATT_OK;
    current->progress.done = done;
    att_progress_poll();
    if (!att_progress_cancelled())
        return ATT_OK;
    return att_fail(err, ATT_CANCELLED, NULL, "cancelled by the caller while %s",
                    reporting(current)->progress.phase);
}
