/* Random numbers: the published test vectors of Philox, and the moments of the distributions. */
#include "base/random.h"
#include "base/minmax.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The known-answer tests for philox4x32-10 published with Random123 (kat_vectors): zeros, ones and
 * the digits of pi. */
static void philox_produces_the_published_values(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } known[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
          { 0xffffffff, 0xffffffff },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
          { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (size_t i = 0; i < ATT_COUNT(known); i++) {
        uint32_t got[4];
        att_philox(got, known[i].counter, known[i].key);
        assert_memory_equal(got, known[i].answer, sizeof got);
    }
}

static void seed_stream_and_index_are_the_key_and_the_counter(void **state)
{
    (void)state;
    const uint64_t seed = UINT64_C(0x299f31d0a4093822), stream = UINT64_C(0x0370734413198a2e);
    const uint64_t block = UINT64_C(0x05a308d3243f6a88); /* times 4 it still fits */
    const uint32_t counter[4] = { 0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344 };
    const uint32_t key[2] = { 0xa4093822, 0x299f31d0 };
    uint32_t words[4];
    att_philox(words, counter, key);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(att_random_bits(seed, stream, block * 4 + i), words[i]);
    assert_true(att_random_float(seed, stream, block * 4 + 1) == (float)(words[1] >> 8) / 16777216);
    uint64_t wide = ((uint64_t)words[2] << 32 | words[3]) >> 11;
    assert_true(att_random_double(seed, stream, block * 2 + 1) == ldexp((double)wide, -53));
}

static void seeds_and_streams_are_unrelated(void **state)
{
    (void)state;
    int equal = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        uint32_t here = att_random_bits(1, 1, i);
        equal += here == att_random_bits(1, 2, i);
        equal += here == att_random_bits(2, 1, i);
        equal += here == att_random_bits(1, 1, i + 1);
        equal += here == att_random_bits(UINT64_C(1) << 32 | 1, 1, i);
    }
    assert_int_equal(equal, 0); /* the probability of a match is about 1e-5 */
}

/* The mean of n draws of standard deviation s lies within 5 s / sqrt(n) of the true one but for
 * one run in 1.7 million; seeds are fixed, so that the test is deterministic. */
static void assert_mean(double sum, double n, double mean, double deviation)
{
    assert_true(fabs(sum / n - mean) < 5 * deviation / sqrt(n));
}

static void uniform_numbers_have_the_moments_of_a_uniform_distribution(void **state)
{
    (void)state;
    enum { N = 400000 };
    double sum_f = 0, sum_d = 0, squares = 0, pairs = 0, last = 0.5;
    int bins[16] = { 0 };
    for (uint64_t i = 0; i < N; i++) {
        double f = (double)att_random_float(7, 0, i), d = att_random_double(7, 1, i);
        assert_true(f >= 0 && f < 1 && d >= 0 && d < 1);
        sum_f += f;
        sum_d += d;
        squares += d * d;
        pairs += (d - 0.5) * (last - 0.5);
        last = d;
        bins[(int)(f * 16)]++;
    }
    assert_mean(sum_f, N, 0.5, sqrt(1.0 / 12));
    assert_mean(sum_d, N, 0.5, sqrt(1.0 / 12));
    assert_mean(squares, N, 1.0 / 3, sqrt(4.0 / 45));
    assert_mean(pairs, N, 0, 1.0 / 12);
    for (int b = 0; b < 16; b++)
        assert_mean(bins[b], N, 1.0 / 16, sqrt(15.0 / 256));
}

static void normal_numbers_have_the_moments_of_a_normal_distribution(void **state)
{
    (void)state;
    enum { N = 400000 };
    double moments[5] = { 0 }, pairs = 0, within_one = 0, largest = 0;
    for (uint64_t i = 0; i < N; i += 2) {
        double x = att_random_normal(11, 3, i), y = att_random_normal(11, 3, i + 1);
        pairs += x * y;
        for (int k = 1; k <= 4; k++)
            moments[k] += pow(x, k) + pow(y, k);
        within_one += (fabs(x) < 1) + (fabs(y) < 1);
        largest = fmax(largest, fmax(fabs(x), fabs(y)));
    }
    assert_mean(moments[1], N, 0, 1);
    assert_mean(moments[2], N, 1, sqrt(2));
    assert_mean(moments[3], N, 0, sqrt(15));
    assert_mean(moments[4], N, 3, sqrt(96));
    assert_mean(pairs, N / 2, 0, 1);
    assert_mean(within_one, N, 0.6826894921370859, 0.4654);
    assert_true(largest > 4 && largest < 6.5);
}

/* Our logarithm, sine and cosine against libm's: the radius is accurate to a few units in the last
 * place, a coordinate to a few units in the last place of the radius. */
static void normal_numbers_are_box_and_mullers(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100000; i++) {
        double u = att_random_double(5, 9, 2 * i), v = att_random_double(5, 9, 2 * i + 1);
        double radius = sqrt(-2 * log(1 - u)), angle = 6.283185307179586476925 * v;
        double limit = radius * 8 * 0x1p-53 + 2 * 0x1p-53;
        assert_true(fabs(att_random_normal(5, 9, 2 * i) - radius * cos(angle)) < limit * 4);
        assert_true(fabs(att_random_normal(5, 9, 2 * i + 1) - radius * sin(angle)) < limit * 4);
    }
}

/* Recorded once: if another compiler or machine produced other bits, models would start from other
 * weights. */
static void normal_numbers_are_the_same_bits_everywhere(void **state)
{
    (void)state;
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (uint64_t i = 0; i < 1000; i++) {
        double x = att_random_normal(2024, 1, i);
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        for (int shift = 0; shift < 64; shift += 8)
            hash = (hash ^ (bits >> shift & 0xff)) * UINT64_C(0x100000001b3);
    }
    assert_int_equal(hash, UINT64_C(0x2b056ceb92d02dbe));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_produces_the_published_values),
        cmocka_unit_test(seed_stream_and_index_are_the_key_and_the_counter),
        cmocka_unit_test(seeds_and_streams_are_unrelated),
        cmocka_unit_test(uniform_numbers_have_the_moments_of_a_uniform_distribution),
        cmocka_unit_test(normal_numbers_have_the_moments_of_a_normal_distribution),
        cmocka_unit_test(normal_numbers_are_box_and_mullers),
        cmocka_unit_test(normal_numbers_are_the_same_bits_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
