/* Runs the program inside a test, so that its heap can be counted and made to fail: its sources are
 * compiled into the test with main() renamed and their own calls of calloc, realloc, strdup and
 * free sent through the library's allocator (program.cmake). Allocations inside librsvg, cairo and
 * libzip are not counted. */
#ifndef ATT_TESTS_PROGRAM_IN_PROCESS_H
#define ATT_TESTS_PROGRAM_IN_PROCESS_H

#include "base/alloc.h"
#include "thin.h"

#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A test of what this build lacks uses nothing of it. */
#define MAYBE_UNUSED __attribute__((unused))

int attend_main(int argc, char **argv);

void *counted_calloc(size_t count, size_t size);
void *counted_realloc(void *block, size_t size);
char *counted_strdup(const char *text);
void counted_free(void *block);

void *counted_calloc(size_t count, size_t size)
{
    return att_alloc_zero(count, size);
}

void *counted_realloc(void *block, size_t size)
{
    return att_realloc(block, block ? malloc_usable_size(block) : 0, size, 1);
}

char *counted_strdup(const char *text)
{
    char *copy = att_alloc(strlen(text) + 1, 1);
    return copy ? strcpy(copy, text) : NULL;
}

void counted_free(void *block)
{
    att_free(block);
}

enum { MOST_WORDS = 16 };

/* What a run of the program did. */
typedef struct outcome {
    int code;
    size_t allocations;
    off_t printed; /* bytes on standard output */
} outcome;

static char folder[] = "/tmp/attend-memory-XXXXXX";
static char stdout_path[64];
static char file_path[64];

static int redirect(int fd, const char *path)
{
    int saved = dup(fd);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(saved >= 0 && file >= 0);
    assert_int_equal(dup2(file, fd), fd);
    close(file);
    return saved;
}

static void restore(int fd, int saved)
{
    assert_int_equal(dup2(saved, fd), fd);
    close(saved);
}

/* Runs the program in this process, with allocation `fail_at` and all after it failing. */
static outcome run(const char *const *words, size_t fail_at)
{
    char *args[MOST_WORDS] = { "attend" };
    int count = 1;
    for (; words[count - 1]; count++)
        args[count] = (char *)(size_t)words[count - 1];
    fflush(stdout);
    int out = redirect(STDOUT_FILENO, stdout_path);
    int err = redirect(STDERR_FILENO, "/dev/null");
    att_alloc_fail_at(fail_at);
    outcome result = { .code = attend_main(count, args), .allocations = att_alloc_calls() };
    att_alloc_fail_at(0);
    restore(STDOUT_FILENO, out);
    restore(STDERR_FILENO, err);
    struct stat info;
    assert_int_equal(stat(stdout_path, &info), 0);
    result.printed = info.st_size;
    return result;
}

/* Each of the first allocations fails, and every tenth of the others: over all command lines they
 * are those of the same few places, and tests/long/faults has them all. */
static size_t next_to_fail(size_t n)
{
    return n < 40 / THIN ? n + 1 : n + 10 * THIN;
}

/* The whole claim for one command line. */
MAYBE_UNUSED static void fails_cleanly(const char *const *words)
{
    (void)run(words, 0); /* what is made once in the life of the process is made here */
    unlink(file_path);
    size_t live = att_alloc_live();
    outcome whole = run(words, 0);
    assert_int_equal(whole.code, 0);
    assert_true(whole.allocations > 0);
    assert_int_equal(att_alloc_live(), live);
    unlink(file_path);
    for (size_t n = 1; n <= whole.allocations; n = next_to_fail(n)) {
        outcome failed = run(words, n);
        if (failed.code != 3 || failed.printed != 0 || access(file_path, F_OK) == 0 ||
            att_alloc_live() != live)
            fail_msg("%s, allocation %zu of %zu: exit code %d, %ld bytes printed, %zu blocks lost",
                     words[1], n, whole.allocations, failed.code, (long)failed.printed,
                     att_alloc_live() - live);
    }
}

MAYBE_UNUSED static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(stdout_path, sizeof stdout_path, "%s/stdout", folder);
    snprintf(file_path, sizeof file_path, "%s/result", folder);
    return 0;
}

MAYBE_UNUSED static int remove_folder(void **state)
{
    (void)state;
    unlink(stdout_path);
    unlink(file_path);
    return rmdir(folder);
}

#endif
