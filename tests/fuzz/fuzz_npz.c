/* Any bytes as a .npz file; and, since few inputs would pass the checksums, the same bytes as the
 * content of a valid archive: a line with an entry's name, then its bytes. */
#include "tensor/bundle.h"
#include "fuzz/fuzz.h"

#include "tensor/archive.h"

static void check_bytes(const void *bytes, size_t size)
{
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_bundle *bundle;
    att_status status = att_npz_read(&bundle, bytes, size, "input", &err);
    if (status == ATT_OK)
        for (size_t i = 0; i < att_bundle_count(bundle); i++) {
            check_tensor(att_bundle_at(bundle, i));
            PROMISE(att_bundle_get(bundle, att_bundle_name(bundle, i)) == att_bundle_at(bundle, i));
        }
    else
        check_refusal(status, &err);
    att_bundle_free(bundle);
    PROMISE(att_alloc_live() == live);
}

/* The contents twice, under the name given and under one that it may clash with. */
static void check_wrapped(const char *bytes, size_t size)
{
    const char *newline = size > 0 ? memchr(bytes, '\n', size) : NULL;
    if (!newline)
        return;
    att_string name = { 0 }, contents = { 0 };
    put(&name, bytes, (size_t)(newline - bytes));
    put(&contents, newline + 1, size - name.length - 1);
    const entry entries[] = { { .name = name.data, .content = &contents },
                              { .name = "other.npy", .content = &contents } };
    att_string file = archive(entries, 2);
    check_bytes(file.data, file.length);
    att_string_free(&file);
    att_string_free(&contents);
    att_string_free(&name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_bytes(data, size);
    check_wrapped((const char *)data, size);
    return 0;
}
