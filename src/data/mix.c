/* Which example of which file is next; see mix.h. */
#include "data/mix.h"

#include "base/minmax.h"

#include <math.h>

int64_t att_mix_read_count(int64_t count, double weight)
{
    double read = floor((double)count * weight + 0.5);
    return read < 1 ? 1 : read > 9e15 ? (int64_t)9e15 : (int64_t)read;
}

int64_t att_mix_total(const att_mix *mix)
{
    int64_t total = 0;
    for (size_t i = 0; i < mix->file_count; i++)
        total += mix->files[i].read;
    return total;
}

/* a b mod m without overflow, by doubling. */
static int64_t multiply_mod(int64_t a, int64_t b, int64_t m)
{
    uint64_t sum = 0, term = (uint64_t)(a % m), modulus = (uint64_t)m;
    for (uint64_t rest = (uint64_t)b; rest > 0; rest >>= 1) {
        if (rest & 1)
            sum = (sum + term) % modulus;
        term = 2 * term % modulus;
    }
    return (int64_t)sum;
}

int64_t att_mix_at(const att_mix *mix, int64_t epoch, int64_t index, int64_t *run)
{
    int64_t first = 0;
    size_t i = 0;
    for (; i + 1 < mix->file_count && index >= mix->files[i].read; i++) {
        index -= mix->files[i].read;
        first += mix->files[i].count;
    }
    const att_mix_file *file = &mix->files[i];
    int64_t start =
        file->read % file->count == 0 ? 0 : multiply_mod(epoch, file->read, file->count);
    int64_t at = (start + index % file->count) % file->count;
    *run = att_min_i64(file->read - index, file->count - at);
    return first + at;
}
