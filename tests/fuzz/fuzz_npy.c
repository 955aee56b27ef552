/* Any bytes as a .npy file. A tensor that is read, written and read again must be the same. */
#include "fuzz/fuzz.h"

#include "attend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_tensor tensor, again;
    att_status status = att_npy_read(&tensor, data, size, "input", &err);
    if (status == ATT_OK) {
        att_string written = { 0 };
        check_tensor(&tensor);
        PROMISE(att_npy_write(&written, &tensor, &err) == ATT_OK);
        PROMISE(att_npy_read(&again, written.data, written.length, "again", &err) == ATT_OK);
        PROMISE(same_tensor(&tensor, &again));
        att_tensor_free(&again);
        att_string_free(&written);
    } else {
        check_refusal(status, &err);
    }
    att_tensor_free(&tensor);
    PROMISE(att_alloc_live() == live);
    return 0;
}
