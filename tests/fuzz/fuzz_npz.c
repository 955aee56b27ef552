/* Any bytes as a .npz file. */
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_bundle *bundle;
    att_status status = att_npz_read(&bundle, data, size, "input", &err);
    if (status == ATT_OK)
        for (size_t i = 0; i < att_bundle_count(bundle); i++) {
            check_tensor(att_bundle_at(bundle, i));
            PROMISE(att_bundle_get(bundle, att_bundle_name(bundle, i)) == att_bundle_at(bundle, i));
        }
    else
        check_refusal(status, &err);
    att_bundle_free(bundle);
    PROMISE(att_alloc_live() == live);
    return 0;
}
