/* Progress and cancel (progress.h): the callback and the stack of scopes of each thread, and the
 * rate of callbacks. */
#include "base/progress.h"

#include "base/clock.h"
#include "base/error.h"

/* Seconds between two calls of a callback: well under the 0.1 s that attend.h promises, since a
 * poll comes between pieces of work, and above the 0.02 s that it promises not to undercut. */
enum { DEFAULT_INTERVAL_MS = 30 };
static double callback_interval = DEFAULT_INTERVAL_MS * 1e-3;

static _Thread_local struct thread_progress {
    att_callback *callback;
    void *context;
    att_progress_scope *current, *outermost; /* NULL: no call is under way */
    double called_at;                        /* when the callback was last called */
    bool cancelled;
    bool discardable; /* what is under way may be left half done */
} thread;

void att_callback_set(att_callback *callback, void *context)
{
    thread.callback = callback;
    thread.context = context;
}

void att_progress_set_interval(double seconds)
{
    callback_interval = seconds < 0 ? DEFAULT_INTERVAL_MS * 1e-3 : seconds;
}

void att_progress_begin(att_progress_scope *scope, const char *phase, int64_t total)
{
    *scope = (att_progress_scope){
        .progress = { .size = sizeof scope->progress, .phase = phase, .total = total },
        .outer = thread.current,
    };
    if (!thread.current) {
        thread.outermost = scope;
        thread.cancelled = false;
        if (thread.callback)
            thread.called_at = att_clock_seconds();
    }
    thread.current = scope;
}

void att_progress_begin_operation(att_progress_scope *scope, const char *phase)
{
    att_progress_begin(scope, phase, 0);
    scope->is_operation = true;
}

static _Thread_local const atomic_bool *followed;

const atomic_bool *att_progress_follow(const atomic_bool *abandoned)
{
    const atomic_bool *before = followed;
    followed = abandoned;
    return before;
}

/* The callback may call the library with other objects: that call must not report to it again. */
static void call(void)
{
    const struct thread_progress saved = thread;
    thread = (struct thread_progress){ 0 };
    const atomic_bool *loop = att_progress_follow(NULL);
    bool go_on = saved.callback(saved.context, &saved.outermost->progress);
    att_progress_follow(loop);
    thread = saved;
    thread.cancelled = !go_on;
    thread.called_at = att_clock_seconds();
}

void att_progress_poll(void)
{
    if (thread.callback && thread.outermost && !thread.cancelled &&
        att_clock_seconds() - thread.called_at >= callback_interval)
        call();
}

att_progress_pause att_progress_suspend(void)
{
    att_progress_pause pause = { thread.callback, thread.cancelled };
    thread.callback = NULL;
    thread.cancelled = false;
    return pause;
}

void att_progress_continue(att_progress_pause pause)
{
    thread.callback = pause.callback;
    thread.cancelled = pause.cancelled;
}

bool att_progress_cancelled(void)
{
    return thread.outermost && thread.cancelled;
}

void att_progress_set_discardable(bool discardable)
{
    thread.discardable = discardable;
}

bool att_progress_abandoned(void)
{
    if (followed && atomic_load_explicit(followed, memory_order_relaxed))
        return true;
    return thread.cancelled && thread.outermost &&
           (thread.discardable || thread.outermost->is_operation);
}

att_status att_progress_check(att_error *err)
{
    att_progress_poll();
    if (!att_progress_cancelled())
        return ATT_OK;
    return att_fail(err, ATT_CANCELLED, NULL, "cancelled by the caller while %s",
                    thread.outermost->progress.phase);
}

/* Memory that is being prepared when the call is cancelled is refused like memory that is lacking
 * (att_alloc_zero), so a cancelled call that lacks memory was cancelled. */
att_status att_progress_end(att_progress_scope *scope, att_status status, att_error *err)
{
    bool refused = status == ATT_NO_MEMORY && att_progress_cancelled();
    if ((status == ATT_OK && !scope->outer) || refused)
        status = att_progress_check(err);
    thread.current = scope->outer;
    if (!thread.current)
        thread.outermost = NULL;
    return status;
}

void att_progress_set_total(int64_t total)
{
    if (thread.current)
        thread.current->progress.total = total;
}

att_status att_progress_step(int64_t done, att_error *err)
{
    if (thread.current)
        thread.current->progress.done = done;
    return att_progress_check(err);
}
