/* SHA-256 (FIPS 180-4). The compression function is chosen per call of att_sha256_add(), since
 * tests and ATTEND_CPU may choose plain C. */
#include "base/sha256.h"

#include "base/cpu.h"
#include "base/minmax.h"

#include <string.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#define HAVE_SHA_NI 1
#endif

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes (4.2.2). */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* ---- plain C */

static uint32_t rotate(uint32_t x, int bits)
{
    return x >> bits | x << (32 - bits);
}

static uint32_t load_big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* One round (6.2.2, step 3). Instead of moving all eight variables, the caller rotates their
 * order: `d` and `h` are the two that change. */
static inline void plain_round(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e,
                               uint32_t f, uint32_t g, uint32_t *h, uint32_t word)
{
    uint32_t t = *h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + (g ^ (e & (f ^ g))) + word;
    *d += t;
    *h = t + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) | (c & (a | b)));
}

/* The message schedule with the constants of the rounds added (6.2.2, step 1). */
static void schedule(uint32_t sums[64], const unsigned char *bytes)
{
    uint32_t w[64];
    for (int i = 0; i < 16; i++)
        w[i] = load_big_endian(bytes + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t early = w[i - 15], late = w[i - 2];
        w[i] = w[i - 16] + (rotate(early, 7) ^ rotate(early, 18) ^ early >> 3) + w[i - 7] +
               (rotate(late, 17) ^ rotate(late, 19) ^ late >> 10);
    }
    for (int i = 0; i < 64; i++)
        sums[i] = w[i] + round_constants[i];
}

static void plain_block(uint32_t state[8], const unsigned char *bytes)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    uint32_t sums[64];
    schedule(sums, bytes);
    for (int i = 0; i < 64; i += 8) {
        plain_round(a, b, c, &d, e, f, g, &h, sums[i]);
        plain_round(h, a, b, &c, d, e, f, &g, sums[i + 1]);
        plain_round(g, h, a, &b, c, d, e, &f, sums[i + 2]);
        plain_round(f, g, h, &a, b, c, d, &e, sums[i + 3]);
        plain_round(e, f, g, &h, a, b, c, &d, sums[i + 4]);
        plain_round(d, e, f, &g, h, a, b, &c, sums[i + 5]);
        plain_round(c, d, e, &f, g, h, a, &b, sums[i + 6]);
        plain_round(b, c, d, &e, f, g, h, &a, sums[i + 7]);
    }
    const uint32_t after[8] = { a, b, c, d, e, f, g, h };
    for (int i = 0; i < 8; i++)
        state[i] += after[i];
}

static void plain_blocks(uint32_t state[8], const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        plain_block(state, bytes + i * ATT_SHA256_BLOCK);
}

/* ---- the SHA instructions */

#ifdef HAVE_SHA_NI
#define SHA_NI __attribute__((target("sha,sse4.1,ssse3")))

/* Four rounds, two per instruction. */
SHA_NI static inline void four_rounds(__m128i *abef, __m128i *cdgh, __m128i words, int round)
{
    __m128i sum = _mm_add_epi32(words, _mm_loadu_si128((const void *)&round_constants[round]));
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sum);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(sum, 0x0E));
}

/* The four words of the schedule after w0 … w3, which have four each. */
SHA_NI static inline __m128i next_words(__m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
    __m128i early = _mm_sha256msg1_epu32(w0, w1);
    return _mm_sha256msg2_epu32(_mm_add_epi32(early, _mm_alignr_epi8(w3, w2, 4)), w3);
}

SHA_NI static inline __m128i load_words(const unsigned char *bytes)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    return _mm_shuffle_epi8(_mm_loadu_si128((const void *)bytes), swap);
}

SHA_NI static inline void sha_ni_block(__m128i *abef, __m128i *cdgh, const unsigned char *bytes)
{
    const __m128i abef_before = *abef, cdgh_before = *cdgh;
    __m128i w0 = load_words(bytes), w1 = load_words(bytes + 16);
    __m128i w2 = load_words(bytes + 32), w3 = load_words(bytes + 48);
    for (int round = 0;; round += 16) {
        four_rounds(abef, cdgh, w0, round);
        four_rounds(abef, cdgh, w1, round + 4);
        four_rounds(abef, cdgh, w2, round + 8);
        four_rounds(abef, cdgh, w3, round + 12);
        if (round == 48)
            break;
        w0 = next_words(w0, w1, w2, w3);
        w1 = next_words(w1, w2, w3, w0);
        w2 = next_words(w2, w3, w0, w1);
        w3 = next_words(w3, w0, w1, w2);
    }
    *abef = _mm_add_epi32(*abef, abef_before);
    *cdgh = _mm_add_epi32(*cdgh, cdgh_before);
}

/* The instructions keep the state as (a, b, e, f) and (c, d, g, h), highest element first. */
SHA_NI static void sha_ni_blocks(uint32_t state[8], const unsigned char *bytes, size_t count)
{
    __m128i dcba = _mm_loadu_si128((const void *)state);
    __m128i hgfe = _mm_loadu_si128((const void *)(state + 4));
    __m128i cdab = _mm_shuffle_epi32(dcba, 0xB1), efgh = _mm_shuffle_epi32(hgfe, 0x1B);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
    for (size_t i = 0; i < count; i++)
        sha_ni_block(&abef, &cdgh, bytes + i * ATT_SHA256_BLOCK);
    __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128((void *)state, _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128((void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

static void hash_blocks(uint32_t state[8], const unsigned char *bytes, size_t count)
{
    if (att_cpu_has_sha())
        sha_ni_blocks(state, bytes, count);
    else
        plain_blocks(state, bytes, count);
}
#else
static void hash_blocks(uint32_t state[8], const unsigned char *bytes, size_t count)
{
    plain_blocks(state, bytes, count);
}
#endif

/* ---- the digest */

void att_sha256_begin(att_sha256 *hash)
{
    /* the same of the square roots of the first eight primes (5.3.3) */
    static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(hash->state, start, sizeof start);
    hash->length = 0;
}

void att_sha256_add(att_sha256 *hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    size_t used = (size_t)(hash->length % ATT_SHA256_BLOCK);
    if (size == 0)
        return;
    hash->length += size;
    if (used > 0) {
        size_t part = att_min_size(size, ATT_SHA256_BLOCK - used);
        memcpy(hash->pending + used, at, part);
        at += part;
        size -= part;
        if (used + part < ATT_SHA256_BLOCK)
            return;
        hash_blocks(hash->state, hash->pending, 1);
    }
    size_t blocks = size / ATT_SHA256_BLOCK;
    if (blocks > 0)
        hash_blocks(hash->state, at, blocks);
    size_t rest = size % ATT_SHA256_BLOCK;
    if (rest > 0)
        memcpy(hash->pending, at + size - rest, rest);
}

/* Padding: a one bit, zeros, and the length in bits as the last 8 bytes of a block (5.1.1). */
void att_sha256_end(att_sha256 *hash, unsigned char digest[ATT_SHA256_SIZE])
{
    unsigned char padding[ATT_SHA256_BLOCK + 8] = { 0x80 };
    uint64_t bits = hash->length * 8;
    size_t used = (size_t)(hash->length % ATT_SHA256_BLOCK);
    size_t zeros = (used < 56 ? 56 : 120) - used;
    for (int i = 0; i < 8; i++)
        padding[zeros + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
    att_sha256_add(hash, padding, zeros + 8);
    for (int i = 0; i < ATT_SHA256_SIZE; i++)
        digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void att_sha256_end_hex(att_sha256 *hash, char hex[ATT_SHA256_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[ATT_SHA256_SIZE];
    att_sha256_end(hash, digest);
    for (int i = 0; i < ATT_SHA256_SIZE; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[2 * ATT_SHA256_SIZE] = '\0';
}
