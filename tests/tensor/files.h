/* What the tests of the file formats share: files put together byte by byte, readers that must
 * refuse them, and memory that runs out. */
#ifndef TESTS_TENSOR_FILES_H
#define TESTS_TENSOR_FILES_H

#include "attend.h"
#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define GOLDEN(name) ATTEND_SOURCE_DIR "/tests/tensor/golden/" name
#define SHAPE(...)   ((const int64_t[]){ __VA_ARGS__ })

static inline void put(att_text *file, const void *bytes, size_t size)
{
    assert_int_equal(att_text_add(file, bytes, size), ATT_OK);
}

static inline void put_zeros(att_text *file, size_t size)
{
    for (size_t i = 0; i < size; i++)
        put(file, "", 1);
}

static inline void put_number(att_text *file, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        put(file, &(char){ (char)(number >> 8 * i & 0xFF) }, 1);
}

/* The bytes copied to a block of exactly their size, so that the sanitiser sees any reader that
 * goes beyond them. */
static inline void *exact_copy(const att_text *file)
{
    void *block = att_alloc(file->length, 1);
    assert_non_null(block);
    if (file->length > 0)
        memcpy(block, file->data, file->length);
    return block;
}

/* Compares a message; one that is expected to end in an ellipsis may go on in any way there (with
 * the words of a library, which change with its version). A failure says which row it was. */
static inline void assert_message(const char *got, const char *expected, const char *row)
{
    static const char ellipsis[] = "…";
    size_t length = strlen(expected), tail = sizeof ellipsis - 1;
    bool open = length >= tail && strcmp(expected + length - tail, ellipsis) == 0;
    if (open ? strncmp(got, expected, length - tail) : strcmp(got, expected))
        fail_msg("%s\n  expected: %s\n  got:      %s", row, expected, got);
}

#endif
