/* Any bytes as a line of word alignments; the first two bytes are the lengths of the pair. */
#include "fuzz/fuzz.h"

#include "data/alignment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t live = att_alloc_live();
    int64_t sources = data[0], targets = data[1];
    att_ids ids = { 0 };
    att_error err = { 0 };
    const att_line_view line = { (const char *)data + 2, size - 2, 7 };
    att_status status = att_alignment_read(&ids, &line, "input", sources, targets, &err);
    if (status == ATT_OK) {
        PROMISE(ids.count == (size_t)targets);
        for (size_t i = 0; i < ids.count; i++)
            PROMISE(ids.items[i] >= -1 && ids.items[i] < sources);
    } else {
        check_refusal(status, &err);
        PROMISE(err.line == 7 && strcmp(err.place, "input") == 0);
    }
    att_ids_free(&ids);
    PROMISE(att_alloc_live() == live);
    return 0;
}
