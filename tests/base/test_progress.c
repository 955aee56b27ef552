/* Callbacks come in time, not too often, and cancel. */
#include "base/progress.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct record {
    int calls, stop_at;
    double last, longest, shortest;
    att_progress seen;
} record;

static bool note(void *context, const att_progress *progress)
{
    record *r = context;
    double now = att_clock_seconds(), gap = now - r->last;
    if (r->calls > 0 && gap > r->longest)
        r->longest = gap;
    if (r->calls > 0 && gap < r->shortest)
        r->shortest = gap;
    r->last = now;
    r->seen = *progress;
    return ++r->calls != r->stop_at;
}

static void spin(double seconds)
{
    double end = att_clock_seconds() + seconds;
    while (att_clock_seconds() < end)
        ;
}

static void the_callback_is_called_between_steps_but_not_at_each(void **state)
{
    (void)state;
    record r = { .shortest = 1e9 };
    att_progress_scope scope;
    double begin = att_clock_seconds();
    att_callback_set(note, &r);
    att_progress_begin(&scope, "testing", 400);
    for (int i = 0; i < 400; i++) {
        spin(0.001);
        assert_int_equal(att_progress_step(i + 1, NULL), ATT_OK);
    }
    assert_int_equal(att_progress_end(&scope, ATT_OK, NULL), ATT_OK);
    assert_true(r.calls >= 2 && r.calls <= (att_clock_seconds() - begin) / 0.02);
    assert_true(r.shortest >= 0.02);
    assert_string_equal(r.seen.phase, "testing");
    assert_int_equal(r.seen.total, 400);
    assert_true(r.seen.size == sizeof r.seen && r.seen.done > 0 && r.seen.done <= 400);
}

static void a_poll_inside_a_step_calls_but_only_the_step_is_refused(void **state)
{
    (void)state;
    record r = { .stop_at = 1, .shortest = 1e9 };
    att_error err = { 0 };
    att_progress_scope scope;
    att_callback_set(note, &r);
    att_progress_begin(&scope, "testing", 0);
    spin(0.05);
    att_progress_poll();
    assert_int_equal(r.calls, 1);
    assert_true(att_progress_cancelled());
    att_progress_poll(); /* cancelled once: never asked again */
    spin(0.05);
    att_progress_poll();
    assert_int_equal(r.calls, 1);
    assert_int_equal(att_progress_step(1, &err), ATT_CANCELLED);
    assert_string_equal(err.message, "cancelled by the caller while testing");
    assert_int_equal(att_progress_end(&scope, ATT_CANCELLED, &err), ATT_CANCELLED);
    assert_false(att_progress_cancelled());
    assert_int_equal(att_progress_step(1, NULL), ATT_OK);
}

static void a_call_that_is_cancelled_after_its_last_check_ends_as_cancelled(void **state)
{
    (void)state;
    record r = { .stop_at = 1, .shortest = 1e9 };
    att_error err = { 0 };
    att_progress_scope scope;
    att_callback_set(note, &r);
    att_progress_begin(&scope, "testing", 0);
    spin(0.05);
    att_progress_poll();
    assert_int_equal(att_progress_end(&scope, ATT_OK, &err), ATT_CANCELLED);
    assert_string_equal(err.message, "cancelled by the caller while testing");
    att_progress_begin(&scope, "failing", 0);
    assert_int_equal(att_progress_end(&scope, ATT_BAD_INPUT, &err), ATT_BAD_INPUT);
}

static void an_inner_scope_without_a_callback_reports_to_the_outer_one(void **state)
{
    (void)state;
    record r = { .stop_at = 1 };
    att_progress_scope outer, inner;
    att_callback_set(note, &r);
    att_progress_begin(&outer, "outside", 10);
    att_progress_begin(&inner, "inside", 3);
    spin(0.05);
    assert_int_equal(att_progress_step(2, NULL), ATT_CANCELLED);
    assert_string_equal(r.seen.phase, "outside");
    assert_int_equal(att_progress_end(&inner, ATT_OK, NULL), ATT_OK); /* the outer call decides */
    assert_int_equal(att_progress_step(1, NULL), ATT_CANCELLED);
    assert_int_equal(att_progress_end(&outer, ATT_OK, NULL), ATT_CANCELLED);
}

/* New memory of gigabytes takes seconds to fill. */
static void filling_memory_polls_and_is_given_up_with_its_operation(void **state)
{
    (void)state;
    enum { BYTES = 64 << 20, STOP_AT = 3 };
    record r = { .stop_at = STOP_AT };
    att_error err = { 0 };
    att_progress_scope scope;
    size_t live = att_alloc_live();
    att_progress_set_interval(0);
    att_callback_set(note, &r);
    att_progress_begin_operation(&scope, "allocating");
    assert_null(att_alloc_zero(BYTES, 1));
    assert_int_equal(r.calls, STOP_AT);
    assert_int_equal(att_alloc_live(), live);
    assert_int_equal(att_progress_end(&scope, ATT_NO_MEMORY, &err), ATT_CANCELLED);
    assert_int_equal(err.status, ATT_CANCELLED);
    att_progress_begin(&scope, "loading", 0); /* what is no operation gets its memory */
    r = (record){ .stop_at = 1 };
    char *block = att_alloc_zero(BYTES, 1);
    assert_non_null(block);
    assert_int_equal(block[BYTES - 1], 0);
    assert_int_equal(r.calls, 1);
    assert_int_equal(att_progress_end(&scope, ATT_OK, &err), ATT_CANCELLED);
    att_free(block);
    att_callback_set(NULL, NULL);
    att_progress_set_interval(-1);
}

static void memory_that_is_lacking_is_no_cancelled_call(void **state)
{
    (void)state;
    record r = { 0 };
    att_progress_scope scope;
    att_callback_set(note, &r);
    att_progress_begin_operation(&scope, "allocating");
    assert_int_equal(att_progress_end(&scope, ATT_NO_MEMORY, NULL), ATT_NO_MEMORY);
    att_callback_set(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_callback_is_called_between_steps_but_not_at_each),
        cmocka_unit_test(a_poll_inside_a_step_calls_but_only_the_step_is_refused),
        cmocka_unit_test(a_call_that_is_cancelled_after_its_last_check_ends_as_cancelled),
        cmocka_unit_test(an_inner_scope_without_a_callback_reports_to_the_outer_one),
        cmocka_unit_test(filling_memory_polls_and_is_given_up_with_its_operation),
        cmocka_unit_test(memory_that_is_lacking_is_no_cancelled_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
