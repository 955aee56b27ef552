/* The part of cmocka that our tests use, as one header: for builds that cannot link the real one,
 * because it is not instrumented (MemorySanitizer) or not there (other machines). A failed
 * assertion prints its place and jumps back to the test runner, as in cmocka. The output is TAP. */
#ifndef TESTS_LONG_CMOCKA_H
#define TESTS_LONG_CMOCKA_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
    int (*setup)(void **state);
    int (*teardown)(void **state);
};

enum { CMOCKA_FAILED = 1, CMOCKA_SKIPPED };
static jmp_buf cmocka_back;

#define cmocka_unit_test(f)                                                                        \
    {                                                                                              \
#f, f, NULL, NULL                                                                          \
    }
#define cmocka_unit_test_setup_teardown(f, before, after)                                          \
    {                                                                                              \
#f, f, before, after                                                                       \
    }

__attribute__((noreturn, format(printf, 3, 4))) static inline void cmocka_fail(const char *file,
                                                                               int line,
                                                                               const char *format,
                                                                               ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("# %s:%d: ", file, line);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    longjmp(cmocka_back, CMOCKA_FAILED);
}

/* Casts as cmocka does: through the widest integer, so that -1 equals -1 of any width. */
#define CMOCKA_WIDE(x) ((uintmax_t)(x))

static inline void cmocka_compare(uintmax_t a, uintmax_t b, bool equal, const char *file, int line)
{
    if ((a == b) != equal)
        cmocka_fail(file, line, "%#" PRIxMAX " %s %#" PRIxMAX, a, equal ? "!=" : "==", b);
}

static inline void cmocka_compare_strings(const char *a, const char *b, bool equal,
                                          const char *file, int line)
{
    if ((strcmp(a, b) == 0) != equal)
        cmocka_fail(file, line, "\"%s\" %s \"%s\"", a, equal ? "!=" : "==", b);
}

static inline void cmocka_compare_bytes(const void *a, const void *b, size_t size, bool equal,
                                        const char *file, int line)
{
    if ((memcmp(a, b, size) == 0) != equal)
        cmocka_fail(file, line, "%zu bytes %s", size, equal ? "differ" : "are equal");
}

static inline void cmocka_check_range(uintmax_t x, uintmax_t min, uintmax_t max, const char *file,
                                      int line)
{
    if (x < min || x > max)
        cmocka_fail(file, line, "%" PRIuMAX " is not in %" PRIuMAX " to %" PRIuMAX, x, min, max);
}

#define assert_true(x)                                                                             \
    do {                                                                                           \
        if (!(x))                                                                                  \
            cmocka_fail(__FILE__, __LINE__, "%s", #x);                                             \
    } while (0)
#define assert_false(x)        assert_true(!(x))
#define assert_null(x)         assert_true((x) == NULL)
#define assert_non_null(x)     assert_true((x) != NULL)
#define assert_ptr_equal(a, b) assert_true((const void *)(a) == (const void *)(b))
#define assert_int_equal(a, b)                                                                     \
    cmocka_compare(CMOCKA_WIDE(a), CMOCKA_WIDE(b), true, __FILE__, __LINE__)
#define assert_int_not_equal(a, b)                                                                 \
    cmocka_compare(CMOCKA_WIDE(a), CMOCKA_WIDE(b), false, __FILE__, __LINE__)
#define assert_in_range(x, min, max)                                                               \
    cmocka_check_range(CMOCKA_WIDE(x), CMOCKA_WIDE(min), CMOCKA_WIDE(max), __FILE__, __LINE__)
#define assert_string_equal(a, b)       cmocka_compare_strings(a, b, true, __FILE__, __LINE__)
#define assert_string_not_equal(a, b)   cmocka_compare_strings(a, b, false, __FILE__, __LINE__)
#define assert_memory_equal(a, b, size) cmocka_compare_bytes(a, b, size, true, __FILE__, __LINE__)
#define assert_memory_not_equal(a, b, size)                                                        \
    cmocka_compare_bytes(a, b, size, false, __FILE__, __LINE__)
#define fail_msg(...)      cmocka_fail(__FILE__, __LINE__, __VA_ARGS__)
#define fail()             cmocka_fail(__FILE__, __LINE__, "failed")
#define skip()             longjmp(cmocka_back, CMOCKA_SKIPPED)
#define print_message(...) printf(__VA_ARGS__)
#define print_error(...)   printf(__VA_ARGS__)

static inline int cmocka_run_test(const struct CMUnitTest *test, void *state)
{
    volatile int outcome = 0;
    if (test->setup && test->setup(&state) != 0)
        return CMOCKA_FAILED;
    int code = setjmp(cmocka_back);
    if (code == 0)
        test->test(&state);
    else
        outcome = code;
    if (test->teardown && test->teardown(&state) != 0)
        return CMOCKA_FAILED;
    return outcome;
}

/* The number of tests that failed; the group's setup and teardown, which may be NULL, count as one.
 */
static inline int cmocka_run_tests(const struct CMUnitTest *tests, size_t count,
                                   int (*setup)(void **), int (*teardown)(void **))
{
    int failed = 0;
    void *state = NULL;
    printf("1..%zu\n", count);
    int code = setjmp(cmocka_back);
    if (code != 0 || (setup && setup(&state) != 0))
        return 1;
    for (size_t i = 0; i < count; i++) {
        int outcome = cmocka_run_test(&tests[i], state);
        failed += outcome == CMOCKA_FAILED;
        printf("%sok %zu - %s%s\n", outcome == CMOCKA_FAILED ? "not " : "", i + 1, tests[i].name,
               outcome == CMOCKA_SKIPPED ? " # SKIP" : "");
        fflush(stdout);
    }
    return failed + (teardown && teardown(&state) != 0);
}

#define cmocka_run_group_tests(tests, setup, teardown)                                             \
    cmocka_run_tests(tests, sizeof(tests) / sizeof *(tests), setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                  \
    cmocka_run_group_tests(tests, setup, teardown)

#endif
