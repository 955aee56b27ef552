/* Reading .npz files without libzip: the entries of a zip archive that are stored, as np.savez()
 * writes them. Replaces src/tensor/npz.c. Every number of the archive is checked against its size
 * before it is used. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/quote.h"
#include "tensor/bundle.h"

#include <string.h>

enum { END_SIZE = 22, ENTRY_SIZE = 46, HEADER_SIZE = 30, MAX_COMMENT = 65535 };

typedef struct archive {
    const char *name; /* for errors */
    const uint8_t *bytes;
    size_t size;
} archive;

static uint32_t number_at(const uint8_t *p, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint32_t)p[i] << 8 * i;
    return value;
}

static bool has_mark(const uint8_t *p, const char mark[4])
{
    return memcmp(p, mark, 4) == 0;
}

/* The checksum of zip: CRC-32. */
static uint32_t checksum(const uint8_t *bytes, size_t size)
{
    uint32_t sum = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
    }
    return ~sum;
}

/* The record at the end of the archive, which may have a comment behind it; NULL: there is none. */
static const uint8_t *find_end(const archive *in)
{
    for (size_t back = END_SIZE; back <= in->size && back <= END_SIZE + MAX_COMMENT; back++)
        if (has_mark(in->bytes + in->size - back, "PK\5\6"))
            return in->bytes + in->size - back;
    return NULL;
}

static att_status fail(const archive *in, const char *what, att_error *err)
{
    return att_fail(err, ATT_BAD_INPUT, in->name, "is not a valid .npz file: %s", what);
}

static att_status fail_entry(const archive *in, const char *name, const char *what, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    return att_fail(err, ATT_BAD_INPUT, in->name, "entry '%s' %s",
                    att_quote(quoted, name, strlen(name)), what);
}

static att_status add_array(att_bundle *bundle, const archive *in, char *name, const uint8_t *bytes,
                            size_t size, att_error *err)
{
    size_t length = strlen(name);
    if (length < 4 || strcmp(name + length - 4, ".npy") != 0)
        return fail_entry(in, name, "is not a .npy file", err);
    name[length - 4] = '\0';
    att_tensor tensor = { 0 };
    att_error inner = { 0 };
    att_status status = att_npy_read(&tensor, bytes, size, in->name, &inner);
    if (status == ATT_OK)
        status = att_bundle_take(bundle, name, &tensor, &inner);
    char quoted[ATT_QUOTED_SIZE];
    if (status == ATT_BAD_INPUT)
        att_fail(err, status, in->name, "tensor '%s': %s", att_quote(quoted, name, length - 4),
                 inner.message);
    else if (status != ATT_OK)
        att_fail_memory(err);
    att_tensor_free(&tensor);
    return status;
}

/* The entry that the directory has at `row`, whose header is at `header`. */
static att_status read_entry(att_bundle *bundle, const archive *in, const uint8_t *row,
                             const uint8_t *header, char *name, att_error *err)
{
    uint32_t flags = number_at(row + 8, 2), method = number_at(row + 10, 2);
    size_t packed = number_at(row + 20, 4), size = number_at(row + 24, 4);
    if (flags & 1)
        return fail_entry(in, name, "is encrypted", err);
    if (method != 0)
        return fail_entry(in, name, "is compressed: this page reads archives that np.savez() wrote",
                          err);
    const uint8_t *bytes =
        header + HEADER_SIZE + number_at(header + 26, 2) + number_at(header + 28, 2);
    if (packed != size || bytes > in->bytes + in->size ||
        size > (size_t)(in->bytes + in->size - bytes))
        return fail_entry(in, name, "states more bytes than it can hold", err);
    if (checksum(bytes, size) != number_at(row + 16, 4))
        return fail_entry(in, name, "has a wrong checksum", err);
    return add_array(bundle, in, name, bytes, size, err);
}

/* Reads the entry of the directory at *at and moves *at to the next one. */
static att_status read_row(att_bundle *bundle, const archive *in, size_t *at, att_error *err)
{
    if (*at > in->size || in->size - *at < ENTRY_SIZE || !has_mark(in->bytes + *at, "PK\1\2"))
        return fail(in, "its directory is damaged", err);
    const uint8_t *row = in->bytes + *at;
    size_t length = number_at(row + 28, 2), start = number_at(row + 42, 4);
    if (in->size - *at - ENTRY_SIZE < length || in->size < HEADER_SIZE ||
        start > in->size - HEADER_SIZE || !has_mark(in->bytes + start, "PK\3\4"))
        return fail(in, "its directory is damaged", err);
    *at += ENTRY_SIZE + length + number_at(row + 30, 2) + number_at(row + 32, 2);
    char *name = att_alloc(length + 1, 1);
    if (!name)
        return att_fail_memory(err);
    memcpy(name, row + ENTRY_SIZE, length);
    name[length] = '\0';
    att_status status = read_entry(bundle, in, row, in->bytes + start, name, err);
    att_free(name);
    return status;
}

att_status att_npz_read(att_bundle **out, const void *bytes, size_t size, const char *name,
                        att_error *err)
{
    *out = NULL;
    archive in = { name, bytes, size };
    const uint8_t *end = find_end(&in);
    if (!end)
        return fail(&in, "it has no directory", err);
    att_bundle *bundle = NULL;
    att_status status = att_bundle_new(&bundle, err);
    size_t at = number_at(end + 16, 4), count = number_at(end + 10, 2);
    for (size_t i = 0; i < count && status == ATT_OK; i++)
        status = read_row(bundle, &in, &at, err);
    if (status == ATT_OK)
        *out = bundle;
    else
        att_bundle_free(bundle);
    return status;
}
