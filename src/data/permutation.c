/* Permutations computed element by element: a Feistel network, whose rounds are invertible whatever
 * their function, permutes the numbers of 2 h bits, and whoever lands beyond `count` is sent
 * through it again until it does not (cycle walking: Black and Rogaway, "Ciphers with arbitrary
 * finite domains", 2002). The domain is less than four times `count`, so few numbers walk far. */
#include "data/permutation.h"

#include "base/random.h"

enum { ROUNDS = 6 };

static uint64_t feistel(uint64_t seed, uint64_t stream, int half_bits, uint64_t value)
{
    uint64_t mask = (UINT64_C(1) << half_bits) - 1;
    uint64_t left = value >> half_bits, right = value & mask;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t mixed = left ^ (att_random_bits(seed, stream, round << 32 | right) & mask);
        left = right;
        right = mixed;
    }
    return left << half_bits | right;
}

int64_t att_permutation_at(uint64_t seed, uint64_t stream, int64_t count, int64_t index)
{
    int half_bits = 1;
    while (half_bits < 31 && UINT64_C(1) << (2 * half_bits) < (uint64_t)count)
        half_bits++;
    uint64_t value = (uint64_t)index;
    do
        value = feistel(seed, stream, half_bits, value);
    while (value >= (uint64_t)count);
    return (int64_t)value;
}
