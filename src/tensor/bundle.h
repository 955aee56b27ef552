/* How readers fill a bundle and writers walk through one. */
#ifndef ATT_TENSOR_BUNDLE_H
#define ATT_TENSOR_BUNDLE_H

#include "attend.h"

/* Adds the tensor itself, which then belongs to the bundle (*tensor is cleared). On failure it
 * stays the caller's. */
att_status att_bundle_take(att_bundle *bundle, const char *name, att_tensor *tensor,
                           att_error *err);

/* Metadata in the order of setting. */
size_t att_bundle_meta_count(const att_bundle *bundle);
void att_bundle_meta_at(const att_bundle *bundle, size_t index, const char **key,
                        const char **value);

/* What a file is, from its bytes. */
typedef enum att_file_kind {
    ATT_FILE_SAFETENSORS,
    ATT_FILE_ZIP,
    ATT_FILE_NPY,
    ATT_FILE_TEXT,
    ATT_FILE_BINARY,
    ATT_FILE_EMPTY
} att_file_kind;

att_file_kind att_file_kind_of(const void *bytes, size_t size);

/* In words, for "is …": "text", "a .npy file". */
const char *att_file_kind_name(att_file_kind kind);

/* Reads a .safetensors file, as att_safetensors_read(), without copying what is stored as tensors
 * are: on success `bytes` belongs to the bundle (*bytes is cleared), and its tensors may be views
 * of them. On failure it stays the caller's. */
att_status att_safetensors_adopt(att_bundle **out, att_text *bytes, const char *name,
                                 att_error *err);

/* Bytes that tensors of the bundle are views of: freed with it (*bytes is cleared). */
void att_bundle_keep(att_bundle *bundle, att_text *bytes);

/* The bytes of a .safetensors file, added to `out`; `name` stands for the file in errors. */
att_status att_safetensors_write(att_text *out, const att_bundle *bundle, const char *name,
                                 att_error *err);

#endif
