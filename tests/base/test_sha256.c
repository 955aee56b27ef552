/* SHA-256: the vectors of FIPS 180-4 and of its examples, every length around the blocks in odd
 * pieces, and plain C against the SHA instructions. Each test runs on both where the machine has
 * both. */
#include "base/sha256.h"

#include "base/cpu.h"
#include "base/minmax.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static att_cpu best;

static int use_plain_c(void **state)
{
    (void)state;
    best = att_cpu_get();
    assert_true(att_cpu_set(ATT_CPU_SCALAR));
    assert_false(att_cpu_has_sha());
    return 0;
}

static int use_best(void **state)
{
    (void)state;
    assert_true(att_cpu_set(best));
    return 0;
}

static void skip_without_sha(void)
{
    if (!att_cpu_has_sha())
        skip();
}

static void expect(const char *text, const char *digest)
{
    char hex[ATT_SHA256_HEX_SIZE];
    att_sha256 hash;
    att_sha256_begin(&hash);
    att_sha256_add(&hash, text, strlen(text));
    att_sha256_end_hex(&hash, hex);
    assert_string_equal(hex, digest);
}

static void check_vectors(void)
{
    expect("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    expect("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopq"
           "klmnopqrlmnopqrsmnopqrstnopqrstu",
           "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

static void check_million(void)
{
    char piece[1000], hex[ATT_SHA256_HEX_SIZE];
    memset(piece, 'a', sizeof piece);
    att_sha256 hash;
    att_sha256_begin(&hash);
    for (int i = 0; i < 1000; i++)
        att_sha256_add(&hash, piece, sizeof piece);
    att_sha256_end_hex(&hash, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* The digest of the bytes 3, 10, 17, … (mod 256), added in pieces of `piece` bytes from an
 * address that is not aligned. */
static void digest_in_pieces(unsigned char *digest, size_t length, size_t piece)
{
    unsigned char bytes[1 + 300];
    for (size_t i = 0; i < length; i++)
        bytes[1 + i] = (unsigned char)(i * 7 + 3);
    att_sha256 hash;
    att_sha256_begin(&hash);
    for (size_t at = 0; at < length; at += piece)
        att_sha256_add(&hash, bytes + 1 + at, att_min_size(piece, length - at));
    att_sha256_end(&hash, digest);
}

/* The expected value is of Python: hashlib.sha256(b''.join(hashlib.sha256(bytes((i * 7 + 3) & 255
 * for i in range(n))).digest() for n in range(301))).hexdigest() */
static void check_lengths(void)
{
    static const size_t pieces[] = { 300, 1, 3, 7, 55, 63, 64, 65, 119, 127 };
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        att_sha256 all;
        char hex[ATT_SHA256_HEX_SIZE];
        att_sha256_begin(&all);
        for (size_t length = 0; length <= 300; length++) {
            unsigned char digest[ATT_SHA256_SIZE];
            digest_in_pieces(digest, length, pieces[p]);
            att_sha256_add(&all, digest, sizeof digest);
        }
        att_sha256_end_hex(&all, hex);
        assert_string_equal(hex,
                            "7d917fbd2cf49ddff9ad0a8706bba32d204e92e71d2e369c5a03d6af29278c9f");
    }
}

static void plain_c_computes_the_vectors_of_the_standard(void **state)
{
    (void)state;
    check_vectors();
}

static void sha_instructions_compute_the_vectors_of_the_standard(void **state)
{
    (void)state;
    skip_without_sha();
    check_vectors();
}

static void plain_c_hashes_a_million_letters(void **state)
{
    (void)state;
    check_million();
}

static void sha_instructions_hash_a_million_letters(void **state)
{
    (void)state;
    skip_without_sha();
    check_million();
}

static void plain_c_hashes_every_length_in_odd_pieces(void **state)
{
    (void)state;
    check_lengths();
}

static void sha_instructions_hash_every_length_in_odd_pieces(void **state)
{
    (void)state;
    skip_without_sha();
    check_lengths();
}

static void plain_c_and_sha_instructions_agree_on_random_bytes(void **state)
{
    (void)state;
    skip_without_sha();
    enum { SIZE = 100000 };
    unsigned char *bytes = malloc(SIZE), digests[2][ATT_SHA256_SIZE];
    assert_non_null(bytes);
    uint32_t random = 1;
    for (int i = 0; i < SIZE; i++) {
        random = random * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(random >> 24);
    }
    for (int i = 0; i < 2; i++) {
        att_cpu before = att_cpu_get();
        att_cpu_set(i == 0 ? ATT_CPU_SCALAR : before);
        att_sha256 hash;
        att_sha256_begin(&hash);
        att_sha256_add(&hash, bytes, SIZE);
        att_sha256_end(&hash, digests[i]);
        att_cpu_set(before);
    }
    free(bytes);
    assert_memory_equal(digests[0], digests[1], ATT_SHA256_SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plain_c_computes_the_vectors_of_the_standard, use_plain_c,
                                        use_best),
        cmocka_unit_test(sha_instructions_compute_the_vectors_of_the_standard),
        cmocka_unit_test_setup_teardown(plain_c_hashes_a_million_letters, use_plain_c, use_best),
        cmocka_unit_test(sha_instructions_hash_a_million_letters),
        cmocka_unit_test_setup_teardown(plain_c_hashes_every_length_in_odd_pieces, use_plain_c,
                                        use_best),
        cmocka_unit_test(sha_instructions_hash_every_length_in_odd_pieces),
        cmocka_unit_test(plain_c_and_sha_instructions_agree_on_random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
