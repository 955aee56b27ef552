/* The inside of bundles, for the readers and writers of files. */
#ifndef ATT_TENSOR_BUNDLE_H
#define ATT_TENSOR_BUNDLE_H

#include "attend.h"

/* Moves the tensor into the bundle (*tensor is cleared). On failure it stays the caller's. */
att_status att_bundle_take(att_bundle *bundle, const char *name, att_tensor *tensor,
                           att_error *err);

/* Metadata in the order in which they were set. */
size_t att_bundle_meta_count(const att_bundle *bundle);
void att_bundle_meta_at(const att_bundle *bundle, size_t index, const char **key,
                        const char **value);

/* The format of a file, detected from its bytes. */
typedef enum att_file_format {
    ATT_FILE_SAFETENSORS,
    ATT_FILE_ZIP,
    ATT_FILE_NPY,
    ATT_FILE_TEXT,
    ATT_FILE_BINARY,
    ATT_FILE_EMPTY
} att_file_format;

att_file_format att_file_format_detect(const void *bytes, size_t size);

/* The format in words, to complete "is …": "text", "a .npy file". */
const char *att_file_format_name(att_file_format kind);

/* The longest header of a .safetensors file and the longest string in it (metadata, a key, a name)
 * in bytes, for reading and writing: a file cannot make the reader use much more memory than this.
 * The reference implementation allows a header of 100 million bytes; a vocabulary of 250,000 tokens
 * takes about 4 million. The tree that is built of a header takes 256 MiB at most (base/json.h). */
enum { ATT_SAFETENSORS_MAX_HEADER = 64 << 20, ATT_SAFETENSORS_MAX_STRING = 32 << 20 };

/* Reads the bytes of a .safetensors or a .npz file; `name` is the file in errors. A .safetensors
 * file with a checksum (tensor/checksum.h) is compared with it. */
att_status att_safetensors_read(att_bundle **out, const void *bytes, size_t size, const char *name,
                                att_error *err);
att_status att_npz_read(att_bundle **out, const void *bytes, size_t size, const char *name,
                        att_error *err);

/* How much of a file is compared with its checksum. */
typedef enum att_verify_scope {
    ATT_VERIFY_FILE,
    ATT_VERIFY_HEADER, /* for a description, which has no use for the values of tensors */
} att_verify_scope;

/* What a reader of .safetensors files wants. */
typedef struct att_safetensors_options {
    att_verify_scope scope;
    bool keeps_int8; /* tensors of int8 stay ATT_I8, else they become float */
} att_safetensors_options;

/* Reads a .safetensors file as att_safetensors_read() does, without copying tensors whose bytes can
 * be used as they are: on success `bytes` belongs to the bundle (*bytes is cleared), and its
 * tensors may be views of them. On failure `bytes` stays the caller's. */
att_status att_safetensors_read_in_place(att_bundle **out, att_string *bytes,
                                         att_safetensors_options options, const char *name,
                                         att_error *err);

/* Reads the bytes of a model: as att_safetensors_read(), but tensors of int8 stay ATT_I8. */
att_status att_safetensors_read_model(att_bundle **out, const void *bytes, size_t size,
                                      const char *name, att_error *err);

/* Bytes that tensors of the bundle are views of: freed with it (*bytes is cleared). */
void att_bundle_take_bytes(att_bundle *bundle, att_string *bytes);

#endif
