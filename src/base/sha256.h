/* SHA-256 (FIPS 180-4): the checksum of model files. Plain C, and the SHA instructions of x86 where
 * the processor has them; both compute the same digest, on machines of either byte order. */
#ifndef ATT_BASE_SHA256_H
#define ATT_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { ATT_SHA256_SIZE = 32, ATT_SHA256_BLOCK = 64, ATT_SHA256_HEX_SIZE = 65 };

/* A digest under way. The members are private. */
typedef struct att_sha256 {
    uint32_t state[8];
    uint64_t length;                         /* bytes so far */
    unsigned char pending[ATT_SHA256_BLOCK]; /* length % ATT_SHA256_BLOCK bytes not yet hashed */
} att_sha256;

/* The digest of all bytes that were added, in any number of pieces. */
void att_sha256_begin(att_sha256 *hash);
void att_sha256_add(att_sha256 *hash, const void *bytes, size_t size);
void att_sha256_end(att_sha256 *hash, unsigned char digest[ATT_SHA256_SIZE]);

/* The digest of all bytes that were added, as 64 lower-case hexadecimal digits. */
void att_sha256_end_hex(att_sha256 *hash, char hex[ATT_SHA256_HEX_SIZE]);

#endif
