/* Shared by the fuzz targets. A target gets any bytes; it may refuse them, but it must not crash,
 * leak, or break a PROMISE. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "attend.h"
#include "base/alloc.h"
#include "base/error.h"
#include "tensor/tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One thread: inputs are small, and waking a second one takes longer than what it would do. */
__attribute__((constructor)) static inline void use_one_thread(void)
{
    att_threads_set(1);
}

/* A promise of the library that must hold whatever the input; unlike assert, in every build. */
#define PROMISE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition);        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* A refusal says why, in one line. */
static inline void check_refusal(att_status status, const att_error *err)
{
    PROMISE(status == ATT_BAD_INPUT || status == ATT_NO_MEMORY || status == ATT_UNSUPPORTED);
    PROMISE(err->status == status);
    PROMISE(err->message[0] != '\0');
    PROMISE(strpbrk(err->message, "\n\r\033") == NULL);
}

/* What a reader gives is whole. */
static inline void check_tensor(const att_tensor *tensor)
{
    PROMISE(tensor->rank >= 0 && tensor->rank <= ATT_MAX_RANK);
    PROMISE(att_dtype_size(tensor->dtype) > 0);
    PROMISE(att_shape_count(tensor->rank, tensor->shape, INT64_MAX / 8) >= 0);
    PROMISE(att_tensor_is_contiguous(tensor));
    PROMISE(tensor->data != NULL && tensor->owned == tensor->data);
}

static inline bool same_tensor(const att_tensor *a, const att_tensor *b)
{
    size_t size = (size_t)att_tensor_count(a) * att_dtype_size(a->dtype);
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, sizeof a->shape) == 0 && memcmp(a->data, b->data, size) == 0;
}

#endif
