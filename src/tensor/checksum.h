/* The checksum of a .safetensors file of attend: the SHA-256 of its header and of each tensor, in
 * the metadata under ATT_KEY_CHECKSUM. It guards against faults of disks, memory and transfer, not
 * against forgery: whoever changes a file on purpose can compute it again or leave it out.
 *
 * The value is a JSON object:
 *
 *   {"algorithm":"sha256","header":"<64 digits>","tensors":{"<name>":"<64 digits>", ...}}
 *
 * "tensors" has the digest of the bytes of each tensor. "header" has the digest of everything
 * before them (the length, all metadata, names, dtypes, shapes and the padding) in which its own 64
 * digits are replaced by '0'. So every bit of the file is covered. */
#ifndef ATT_TENSOR_CHECKSUM_H
#define ATT_TENSOR_CHECKSUM_H

#include "attend.h"
#include "base/sha256.h"

#define ATT_KEY_CHECKSUM "attend.checksum"

/* The metadata that models, checkpoints and image encoders have: files with it get a checksum. */
#define ATT_KEY_FORMAT "attend.format"

/* The format of token files (data/token_file.h) begins so; and the error where a model is expected.
 */
#define ATT_TOKENS_FORMAT_PREFIX "tokens "
#define ATT_TOKENS_NOT_MODEL     "is a token file of attend prepare, not a model"

/* The bytes of one tensor in the file and their digest. */
typedef struct att_checksum_part {
    const char *name;
    const void *bytes;
    size_t size;
    char digest[ATT_SHA256_HEX_SIZE];
} att_checksum_part;

/* Computes the digests of all parts, on several threads. */
att_status att_checksum_parts(att_checksum_part *parts, size_t count, att_error *err);

/* Appends the value for ATT_KEY_CHECKSUM, with zeros as the digest of the header. Its length
 * depends on the names alone. */
att_status att_checksum_value(att_string *out, const att_checksum_part *parts, size_t count,
                              att_error *err);

/* Computes the digest of a header that contains such a value (`size` bytes from the start of the
 * file, without tensors) and writes it into the header. */
void att_checksum_seal_header(char *header, size_t size);

/* Whether `value`, some metadata, is a checksum or begins like one: a flipped bit in the key must
 * not turn the verification off. */
bool att_checksum_is_value(const char *value);

/* What a file records and has. */
typedef struct att_checksum_source {
    const char *file;  /* for errors */
    const char *value; /* of ATT_KEY_CHECKSUM */
    const void *header;
    size_t header_size;       /* from the start of the file to the first tensor */
    att_checksum_part *parts; /* [count]; their digests are computed here */
    size_t count;
} att_checksum_source;

/* Compares the header and, if `tensors`, each tensor with the recorded digests. A difference is
 * ATT_BAD_INPUT, and the error names the tensor or the header. */
att_status att_checksum_compare(const att_checksum_source *in, bool tensors, att_error *err);

/* The same with the digests that the parts have already: for files that are larger than memory. A
 * recorded tensor that is not among the parts is not compared. */
att_status att_checksum_compare_digests(const att_checksum_source *in, att_error *err);

#endif
