/* Any bytes as a gzip or zstd file: unpacked at once and block by block to the same text, or
 * refused by both. The first byte chooses the size of the blocks. */
#include "fuzz/fuzz.h"

#include "base/string.h"
#include "data/unpack.h"

enum { LIMIT = 1 << 20 };

/* Unpacks `size` bytes in blocks of up to `step` bytes on both sides, until an error, the end, or
 * more than LIMIT bytes. */
static att_status unpack_in_blocks(att_string *out, const char *bytes, size_t size, size_t step,
                                   att_error *err)
{
    char block[256];
    att_unpack unpack = { .kind = att_unpack_detect(bytes, size) };
    size_t used = 0;
    att_status status = att_unpack_start(&unpack, "f", err);
    for (bool more = true; status == ATT_OK && more && out->length <= LIMIT;) {
        size_t left = size - used;
        att_unpack_block part = { .in = bytes + used,
                                  .in_size = left < step ? left : step,
                                  .out = block,
                                  .out_size = step,
                                  .is_last = left <= step };
        status = att_unpack_run(&unpack, &part, "f", err);
        PROMISE(part.in_done <= part.in_size && part.out_done <= part.out_size);
        used += part.in_done;
        PROMISE(att_string_append(out, block, part.out_done) == ATT_OK);
        more = used < size || unpack.is_inside || part.out_done > 0;
    }
    att_unpack_free(&unpack);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t live = att_alloc_live(), step = (size_t)*data++ % 255 + 1;
    att_string whole = { 0 }, parts = { 0 };
    att_error err = { 0 };
    PROMISE(att_string_append(&whole, (const char *)data, size - 1) == ATT_OK);
    att_status status = att_unpack_text(&whole, LIMIT, "f", &err);
    if (status != ATT_OK)
        check_refusal(status, &err);
    att_status other = unpack_in_blocks(&parts, (const char *)data, size - 1, step, &err);
    PROMISE(other == status || parts.length > LIMIT);
    if (status == ATT_OK)
        PROMISE(whole.length == parts.length && whole.data[whole.length] == '\0' &&
                (whole.length == 0 || memcmp(whole.data, parts.data, whole.length) == 0));
    att_string_free(&whole);
    att_string_free(&parts);
    PROMISE(att_alloc_live() == live);
    return 0;
}
