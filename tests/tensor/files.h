/* Helpers of the tests of file formats. */
#ifndef TESTS_TENSOR_FILES_H
#define TESTS_TENSOR_FILES_H

#include "attend.h"
#include "base/alloc.h"
#include "tensor/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define GOLDEN(name) ATTEND_SOURCE_DIR "/tests/tensor/golden/" name
#define SHAPE(...)   ((const int64_t[]){ __VA_ARGS__ })

/* The bytes copied to a block of exactly their size, so that a sanitizer detects reads beyond
 * them. */
static inline void *exact_copy(const att_string *file)
{
    void *block = att_alloc(file->length, 1);
    assert_non_null(block);
    if (file->length > 0)
        memcpy(block, file->data, file->length);
    return block;
}

/* Compares a message. Where `expected` ends in an ellipsis, the rest may be anything (text of a
 * library that changes with its version). A failure names the row. */
static inline void assert_message(const char *got, const char *expected, const char *row)
{
    static const char ellipsis[] = "…";
    size_t length = strlen(expected), tail = sizeof ellipsis - 1;
    bool open = length >= tail && strcmp(expected + length - tail, ellipsis) == 0;
    if (open ? strncmp(got, expected, length - tail) : strcmp(got, expected))
        fail_msg("%s\n  expected: %s\n  got:      %s", row, expected, got);
}

#endif
