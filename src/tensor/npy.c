/* Reading and writing .npy files (NumPy's NEP 1 and its documentation of numpy.lib.format). Layout:
 *
 *   \x93NUMPY, major version, minor version, length of the header (2 bytes in version 1, 4 bytes
 * from version 2 on), header, data.
 *
 * The header is a Python dict literal; npy_header.c accepts the form that NumPy writes. */
#include "tensor/npy.h"

#include "base/error.h"
#include "base/file.h"
#include "base/string.h"
#include "tensor/tensor.h"

#include <inttypes.h>
#include <string.h>

static const char MAGIC[] = "\x93NUMPY";
enum { MAGIC_SIZE = sizeof MAGIC - 1, VERSION_SIZE = 2 };

/* The parts of a file held in memory. */
typedef struct npy_file {
    const char *name; /* for errors */
    const unsigned char *bytes;
    size_t size;
    size_t header; /* offset */
    size_t header_size;
} npy_file;

static size_t data_start(const npy_file *file)
{
    return file->header + file->header_size;
}

/* Checks the bytes before the header and locates it. */
static att_status find_header(npy_file *file, att_error *err)
{
    const unsigned char *bytes = file->bytes;
    if (file->size < MAGIC_SIZE + VERSION_SIZE)
        return att_fail(err, ATT_BAD_INPUT, file->name, "has %zu bytes, too few for a .npy file",
                        file->size);
    if (memcmp(bytes, MAGIC, MAGIC_SIZE) != 0)
        return att_fail(err, ATT_BAD_INPUT, file->name,
                        "is not a .npy file: expected \\x93NUMPY at its start");
    unsigned major = bytes[MAGIC_SIZE], minor = bytes[MAGIC_SIZE + 1];
    if (major < 1 || major > 3 || minor != 0)
        return att_fail(err, ATT_BAD_INPUT, file->name,
                        "has .npy version %u.%u, expected 1.0, 2.0 or 3.0", major, minor);
    size_t length_size = major == 1 ? 2 : 4;
    file->header = MAGIC_SIZE + VERSION_SIZE + length_size;
    if (file->size < file->header)
        return att_fail(err, ATT_BAD_INPUT, file->name,
                        "ends after %zu bytes, in the length of the header", file->size);
    for (size_t i = length_size; i-- > 0;)
        file->header_size = file->header_size << 8 | bytes[MAGIC_SIZE + VERSION_SIZE + i];
    if (file->header_size > file->size - file->header)
        return att_fail(err, ATT_BAD_INPUT, file->name,
                        "expected a header of %zu bytes, found %zu before the end of the file",
                        file->header_size, file->size - file->header);
    return ATT_OK;
}

/* Checks the size of the data against the shape and type in the header. */
static att_status check_size(const npy_file *file, const att_npy_header *header, int64_t *count,
                             att_error *err)
{
    char shape[ATT_SHAPE_STRING_SIZE];
    att_shape_to_string(shape, header->rank, header->shape);
    /* In memory an element has at most 8 bytes, whatever its size in the file. */
    *count = att_shape_count(header->rank, header->shape, INT64_MAX / 8);
    if (*count < 0)
        return att_fail(err, ATT_BAD_INPUT, file->name, "shape %s has too many elements", shape);
    size_t have = file->size - data_start(file);
    uint64_t need = (uint64_t)*count * header->storage->size; /* beyond a size_t of 32 bits */
    if (have != need)
        return att_fail(err, ATT_BAD_INPUT, file->name,
                        "has %zu bytes of data, expected %" PRIu64 " for shape %s of '%s'", have,
                        need, shape, header->storage->npy);
    return ATT_OK;
}

/* Converts a tensor that was read in Fortran order, with its dimensions reversed, to row-major. */
static att_status from_fortran(att_tensor *tensor, const att_npy_header *header, att_error *err)
{
    att_tensor view = *tensor, copy;
    for (int i = 0; i < view.rank; i++) {
        view.shape[i] = header->shape[i];
        view.stride[i] = tensor->stride[view.rank - 1 - i];
    }
    ATT_TRY(att_tensor_copy(&copy, &view, view.dtype, err));
    att_tensor_free(tensor);
    *tensor = copy;
    return ATT_OK;
}

static att_status read_data(att_tensor *out, const npy_file *file, const att_npy_header *header,
                            att_error *err)
{
    int64_t count;
    ATT_TRY(check_size(file, header, &count, err));
    int64_t shape[ATT_MAX_RANK];
    for (int i = 0; i < header->rank; i++)
        shape[i] = header->shape[header->fortran ? header->rank - 1 - i : i];
    ATT_TRY(att_tensor_new_uninitialized(out, header->storage->dtype, header->rank, shape, err));
    int64_t invalid = att_storage_decode(out->data, header->storage, file->bytes + data_start(file),
                                         count, header->order);
    if (invalid >= 0)
        return att_fail(err, ATT_BAD_INPUT, file->name, "element %lld of the data is %s",
                        (long long)invalid, header->storage->invalid_reason);
    return header->fortran && header->rank > 1 ? from_fortran(out, header, err) : ATT_OK;
}

att_status att_npy_read(att_tensor *out, const void *bytes, size_t size, const char *name,
                        att_error *err)
{
    *out = (att_tensor){ 0 };
    npy_file file = { .name = name, .bytes = bytes, .size = size };
    ATT_TRY(find_header(&file, err));
    att_npy_header header;
    ATT_TRY(att_npy_header_parse(&header, (const char *)bytes + file.header, file.header_size, name,
                                 err));
    att_status status = read_data(out, &file, &header, err);
    if (status != ATT_OK)
        att_tensor_free(out);
    return status;
}

att_status att_npy_load(att_tensor *out, const char *path, att_error *err)
{
    *out = (att_tensor){ 0 };
    att_string bytes = { 0 };
    ATT_TRY(att_file_read(&bytes, path, SIZE_MAX, err));
    att_status status = att_npy_read(out, bytes.data, bytes.length, path, err);
    att_string_free(&bytes);
    return status;
}

/* ---- writing */

/* Appends everything before the data, padded so that the data begin at a multiple of 64 bytes. */
static att_status add_header(att_string *out, const att_tensor *tensor)
{
    enum { BEFORE = MAGIC_SIZE + VERSION_SIZE + 2 };
    char bytes[BEFORE + ATT_NPY_HEADER_MAX_SIZE];
    size_t length = att_npy_header_print(bytes + BEFORE, tensor, BEFORE);
    const char version_and_length[] = { 1, 0, (char)(length & 0xFF), (char)(length >> 8) };
    memcpy(bytes, MAGIC, MAGIC_SIZE);
    memcpy(bytes + MAGIC_SIZE, version_and_length, sizeof version_and_length);
    return att_string_append(out, bytes, BEFORE + length);
}

att_status att_npy_write(att_string *out, const att_tensor *tensor, att_error *err)
{
    att_tensor dense;
    ATT_TRY(att_tensor_check_float("npy", "tensor", tensor, err));
    ATT_TRY(att_tensor_copy(&dense, tensor, tensor->dtype, err));
    att_status status = add_header(out, &dense);
    if (status == ATT_OK)
        status = att_storage_encode(out, &dense);
    att_tensor_free(&dense);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

att_status att_npy_save(const att_tensor *tensor, const char *path, att_error *err)
{
    att_string bytes = { 0 };
    att_status status = att_npy_write(&bytes, tensor, err);
    if (status == ATT_OK)
        status = att_file_save(path, bytes.data, bytes.length, err);
    att_string_free(&bytes);
    return status;
}
