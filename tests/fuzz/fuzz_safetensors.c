/* Any bytes as a .safetensors file. A bundle that is read, written and read again must be the same.
 */
#include "fuzz/fuzz.h"

#include "tensor/bundle.h"

static void check_same(const att_bundle *a, const att_bundle *b)
{
    PROMISE(att_bundle_count(a) == att_bundle_count(b));
    for (size_t i = 0; i < att_bundle_count(a); i++) {
        const att_tensor *other = att_bundle_get(b, att_bundle_name(a, i));
        PROMISE(other && same_tensor(att_bundle_at(a, i), other));
    }
    PROMISE(att_bundle_meta_count(a) == att_bundle_meta_count(b));
    for (size_t i = 0; i < att_bundle_meta_count(a); i++) {
        const char *key, *value;
        att_bundle_meta_at(a, i, &key, &value);
        const char *other = att_bundle_meta_get(b, key);
        PROMISE(other && strcmp(value, other) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_bundle *bundle, *again;
    att_status status = att_safetensors_read(&bundle, data, size, "input", &err);
    if (status == ATT_OK) {
        att_string written = { 0 };
        for (size_t i = 0; i < att_bundle_count(bundle); i++)
            check_tensor(att_bundle_at(bundle, i));
        PROMISE(att_safetensors_write(&written, bundle, "output", &err) == ATT_OK);
        PROMISE(att_safetensors_read(&again, written.data, written.length, "again", &err) ==
                ATT_OK);
        check_same(bundle, again);
        att_bundle_free(again);
        att_string_free(&written);
    } else {
        check_refusal(status, &err);
    }
    att_bundle_free(bundle);
    PROMISE(att_alloc_live() == live);
    return 0;
}
