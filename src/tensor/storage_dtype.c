/* Conversion between the element types of files and float or double. Bits are assembled by
 * arithmetic on bytes, so that the byte order of this machine does not matter, except for the plain
 * copy of arrays that need no conversion. */
#include "tensor/storage_dtype.h"

#include "base/minmax.h"
#include "base/string.h"
#include "tensor/tensor.h"

#include <string.h>

/* ---- from bits to values */

static bool boolean_value(uint64_t bits, double *out)
{
    *out = (double)bits;
    return bits <= 1;
}

static bool unsigned_value(uint64_t bits, double *out)
{
    *out = (double)bits;
    return true;
}

static bool int8_value(uint64_t bits, double *out)
{
    *out = (double)(int8_t)bits;
    return true;
}

static bool int16_value(uint64_t bits, double *out)
{
    *out = (double)(int16_t)bits;
    return true;
}

static bool int32_value(uint64_t bits, double *out)
{
    *out = (double)(int32_t)bits;
    return true;
}

/* A double represents an integer exactly if its highest and lowest set bits span at most 53 bits.
 */
static bool uint64_value(uint64_t bits, double *out)
{
    *out = (double)bits;
    return bits == 0 || bits >> __builtin_ctzll(bits) < UINT64_C(1) << 53;
}

static bool int64_value(uint64_t bits, double *out)
{
    double unused;
    *out = (double)(int64_t)bits;
    return uint64_value((int64_t)bits < 0 ? -bits : bits, &unused);
}

static bool float32_value(uint64_t bits, double *out)
{
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    *out = (double)value;
    return true;
}

static bool float64_value(uint64_t bits, double *out)
{
    memcpy(out, &bits, sizeof *out);
    return true;
}

static bool bfloat16_value(uint64_t bits, double *out)
{
    return float32_value(bits << 16, out);
}

/* 1 bit of sign, 5 of exponent, 10 of fraction. Exponent 0 means zero and subnormal numbers,
 * exponent 31 infinity and NaN. */
static bool float16_value(uint64_t bits, double *out)
{
    uint64_t sign = bits >> 15 & 1, exponent = bits >> 10 & 31, fraction = bits & 1023;
    if (exponent == 0) {
        double magnitude = (double)fraction * 0x1p-24;
        *out = sign ? -magnitude : magnitude;
        return true;
    }
    uint64_t wide = exponent == 31 ? 255 : exponent - 15 + 127;
    return float32_value(sign << 31 | wide << 23 | fraction << 13, out);
}

/* ---- the table */

#define INEXACT "an integer that a double cannot hold exactly"

static const att_storage_dtype storage_dtypes[] = {
    { "f4", "F32", 4, ATT_F32, float32_value, NULL },
    { "f8", "F64", 8, ATT_F64, float64_value, NULL },
    { "f2", "F16", 2, ATT_F32, float16_value, NULL },
    { NULL, "BF16", 2, ATT_F32, bfloat16_value, NULL },
    { "b1", "BOOL", 1, ATT_F32, boolean_value, "a boolean other than 0 and 1" },
    { "i1", "I8", 1, ATT_F32, int8_value, NULL },
    { "u1", "U8", 1, ATT_F32, unsigned_value, NULL },
    { "i2", "I16", 2, ATT_F32, int16_value, NULL },
    { "u2", "U16", 2, ATT_F32, unsigned_value, NULL },
    { "i4", "I32", 4, ATT_F64, int32_value, NULL },
    { "u4", "U32", 4, ATT_F64, unsigned_value, NULL },
    { "i8", "I64", 8, ATT_F64, int64_value, INEXACT },
    { "u8", "U64", 8, ATT_F64, uint64_value, INEXACT },
};

const att_storage_dtype *att_storage_dtype_from_npy(const char *name)
{
    for (size_t i = 0; i < ATT_COUNT(storage_dtypes); i++)
        if (storage_dtypes[i].npy && strcmp(storage_dtypes[i].npy, name) == 0)
            return &storage_dtypes[i];
    return NULL;
}

const att_storage_dtype *att_storage_dtype_from_safetensors(const char *name)
{
    for (size_t i = 0; i < ATT_COUNT(storage_dtypes); i++)
        if (strcmp(storage_dtypes[i].safetensors, name) == 0)
            return &storage_dtypes[i];
    return NULL;
}

const att_storage_dtype *att_storage_dtype_of(att_dtype dtype)
{
    return att_storage_dtype_from_safetensors(dtype == ATT_I8    ? "I8"
                                              : dtype == ATT_F32 ? "F32"
                                                                 : "F64");
}

/* ---- whole arrays */

att_byte_order att_byte_order_native(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1 ? ATT_LITTLE_ENDIAN : ATT_BIG_ENDIAN;
}

static uint64_t load_bits(const unsigned char *bytes, size_t size, att_byte_order order)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++)
        bits = bits << 8 | bytes[order == ATT_BIG_ENDIAN ? i : size - 1 - i];
    return bits;
}

int64_t att_storage_decode(void *out, const att_storage_dtype *element, const void *bytes,
                           int64_t count, att_byte_order order)
{
    const unsigned char *at = bytes;
    if (element == att_storage_dtype_of(element->dtype) && order == att_byte_order_native()) {
        if (count > 0)
            memcpy(out, bytes, (size_t)count * element->size);
        return -1;
    }
    for (int64_t i = 0; i < count; i++, at += element->size) {
        double value;
        if (!element->decode(load_bits(at, element->size, order), &value))
            return i;
        if (element->dtype == ATT_F32)
            ((float *)out)[i] = (float)value;
        else
            ((double *)out)[i] = value;
    }
    return -1;
}

att_status att_storage_encode(att_string *out, const att_tensor *tensor)
{
    size_t size = att_dtype_size(tensor->dtype);
    size_t total = (size_t)att_tensor_count(tensor) * size;
    if (att_string_reserve(out, total) != ATT_OK)
        return ATT_NO_MEMORY;
    const char *bytes = tensor->data;
    char *to = out->data + out->length;
    if (att_byte_order_native() == ATT_LITTLE_ENDIAN && total > 0)
        memcpy(to, bytes, total);
    else
        for (size_t i = 0; i < total; i++)
            to[i] = bytes[i / size * size + (size - 1 - i % size)];
    out->length += total;
    out->data[out->length] = '\0';
    return ATT_OK;
}
