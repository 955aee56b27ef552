/* Numbers and texts as bytes that do not depend on the machine, and random tensors. */
#include "selftest/selftest.h"

#include "base/error.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

static void add_word(att_sha256 *hash, uint64_t bits, size_t size)
{
    unsigned char bytes[sizeof bits];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(bits >> 8 * i);
    att_sha256_add(hash, bytes, size);
}

void att_selftest_add_floats(att_sha256 *hash, const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = UINT32_C(0x7FC00000);
        if (!isnan(values[i]))
            memcpy(&bits, &values[i], sizeof bits);
        add_word(hash, bits, sizeof bits);
    }
}

void att_selftest_add_doubles(att_sha256 *hash, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = UINT64_C(0x7FF8000000000000);
        if (!isnan(values[i]))
            memcpy(&bits, &values[i], sizeof bits);
        add_word(hash, bits, sizeof bits);
    }
}

void att_selftest_add_text(att_sha256 *hash, const char *text)
{
    add_word(hash, strlen(text), sizeof(uint64_t));
    att_sha256_add(hash, text, strlen(text));
}

void att_selftest_add_tensor(att_sha256 *hash, const att_tensor *tensor)
{
    att_selftest_add_floats(hash, tensor->data, (size_t)att_tensor_count(tensor));
}

att_status att_selftest_random(att_tensor *out, int rank, const int64_t *shape, uint64_t seed,
                               att_error *err)
{
    ATT_TRY(att_tensor_new(out, ATT_F32, rank, shape, err));
    float *values = out->data;
    for (int64_t i = 0; i < att_tensor_count(out); i++)
        values[i] = 2 * att_random_float(seed, 0, (uint64_t)i) - 1;
    return ATT_OK;
}
