/* A .safetensors file made of a header and zeros, for files too large to be mutated. */
#ifndef TESTS_FUZZ_ZERO_TENSORS_H
#define TESTS_FUZZ_ZERO_TENSORS_H

#include "base/json.h"
#include "fuzz/fuzz.h"

enum { ZERO_TENSOR_BYTES = 6 << 20, ZERO_HEADER_BYTES = 1 << 16 };

/* The end of the last tensor by the header, at most ZERO_TENSOR_BYTES; 0 where it has none. */
static inline size_t tensors_end(const char *header, size_t size)
{
    att_json_doc doc;
    int64_t end = 0;
    if (att_json_read(&doc, header, size, "header", NULL, NULL) != ATT_OK)
        return 0;
    for (size_t i = 0; doc.root->type == ATT_JSON_OBJECT && i < doc.root->count; i++) {
        const att_json *offsets = att_json_find(&doc.root->items[i], "data_offsets");
        if (!offsets || offsets->type != ATT_JSON_ARRAY || offsets->count != 2)
            continue;
        int64_t last = offsets->items[1].type == ATT_JSON_INTEGER ? offsets->items[1].integer : 0;
        end = last > end ? last : end;
    }
    att_json_free(&doc);
    return end > ZERO_TENSOR_BYTES ? ZERO_TENSOR_BYTES : (size_t)end;
}

/* The file for a header, valid until the next call; NULL where the header is too long. */
static inline const void *with_zero_tensors(const uint8_t *header, size_t size, size_t *file_size)
{
    static uint8_t room[8 + ZERO_HEADER_BYTES + ZERO_TENSOR_BYTES];
    if (size > ZERO_HEADER_BYTES)
        return NULL;
    uint8_t *start = room + ZERO_HEADER_BYTES - size; /* the zeros stay where they are */
    for (int i = 0; i < 8; i++)
        start[i] = (uint8_t)((uint64_t)size >> 8 * i);
    if (size > 0)
        memcpy(start + 8, header, size);
    *file_size = 8 + size + tensors_end((const char *)header, size);
    return start;
}

#endif
