/* Reads the variables of a CTranslate2 model.bin, as floats or, where they are int8, as they are.
 */
#include "import/ctranslate2_file.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/quote.h"
#include "tape/params.h"
#include "tensor/tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VERSION = 2,
    MAX_VERSION = 64,                       /* a larger number at the start is not a version */
    MIN_VARIABLE_BYTES = 2 + 1 + 1 + 1 + 4, /* an empty name, no dimensions, no elements */
    MAX_NAME = 256,
};

/* ---- reading */

/* A name with its zero byte, borrowed from the file, where it is a C string. */
static att_status read_name(att_byte_reader *bytes, const char **out, const char *what,
                            att_error *err)
{
    uint32_t length;
    const unsigned char *name;
    ATT_TRY(att_byte_reader_uint(bytes, &length, 2, what, err));
    ATT_TRY(att_byte_reader_take(bytes, &name, length, what, err));
    if (length == 0 || memchr(name, 0, length) != name + length - 1)
        return att_fail(err, ATT_BAD_INPUT, bytes->name,
                        "%s at byte %zu: expected one zero byte, at its end", what,
                        bytes->position - length);
    *out = (const char *)name;
    return ATT_OK;
}

/* For messages only: a file has thousands of variables. */
static const char *quote_name(char out[ATT_QUOTED_SIZE], const att_ct2_variable *variable)
{
    return att_quote(out, variable->name, strlen(variable->name));
}

static att_status read_shape(att_ct2_variable *variable, att_byte_reader *bytes, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    uint32_t rank, dimension, item, count;
    ATT_TRY(att_byte_reader_uint(bytes, &rank, 1, "the shape of a variable", err));
    if (rank > ATT_MAX_RANK)
        return att_fail(err, ATT_BAD_INPUT, bytes->name,
                        "the variable '%s' has %u dimensions, expected at most %d",
                        quote_name(quoted, variable), rank, ATT_MAX_RANK);
    for (uint32_t i = 0; i < rank; i++) {
        ATT_TRY(att_byte_reader_uint(bytes, &dimension, 4, "the shape of a variable", err));
        variable->shape[i] = dimension;
    }
    ATT_TRY(att_byte_reader_uint(bytes, &item, 1, "the type of a variable", err));
    ATT_TRY(att_byte_reader_uint(bytes, &count, 4, "the size of a variable", err));
    if (item != 4 && item != 2 && item != 1)
        return att_fail(err, ATT_BAD_INPUT, bytes->name,
                        "the variable '%s' has elements of %u bytes, expected 4, 2 or 1",
                        quote_name(quoted, variable), item);
    if (att_shape_count((int)rank, variable->shape, UINT32_MAX) != (int64_t)count) {
        char shape[ATT_SHAPE_STRING_SIZE];
        return att_fail(err, ATT_BAD_INPUT, bytes->name,
                        "the variable '%s' has shape %s but %u elements",
                        quote_name(quoted, variable),
                        att_shape_to_string(shape, (int)rank, variable->shape), count);
    }
    variable->rank = (int)rank;
    variable->item_size = item;
    variable->count = count;
    return ATT_OK;
}

static att_status read_variable(att_ct2_variable *variable, att_byte_reader *bytes, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    ATT_TRY(read_name(bytes, &variable->name, "the name of a variable", err));
    ATT_TRY(read_shape(variable, bytes, err));
    uint64_t size = (uint64_t)variable->count * variable->item_size;
    const char *what = size > att_byte_reader_left(bytes) ? quote_name(quoted, variable) : "";
    return att_byte_reader_take(bytes, &variable->data, size, what, err);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const att_ct2_variable *)a)->name, ((const att_ct2_variable *)b)->name);
}

/* Sorts by name; refuses duplicates. */
static att_status sort_variables(att_ct2_file *file, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    qsort(file->variables, file->count, sizeof *file->variables, compare_names);
    for (size_t i = 1; i < file->count; i++)
        if (compare_names(&file->variables[i - 1], &file->variables[i]) == 0)
            return att_fail(
                err, ATT_BAD_INPUT, file->name, "the variable '%s' occurs twice",
                att_quote(quoted, file->variables[i].name, strlen(file->variables[i].name)));
    return ATT_OK;
}

static att_status read_header(att_ct2_file *file, att_byte_reader *bytes, uint32_t *count,
                              att_error *err)
{
    ATT_TRY(att_byte_reader_uint(bytes, &file->version, 4, "the version", err));
    if (file->version < 1 || file->version > MAX_VERSION)
        return att_fail(err, ATT_BAD_INPUT, file->name,
                        "is not a CTranslate2 model.bin: it does not start with a version");
    if (file->version != VERSION)
        return att_fail(err, ATT_BAD_INPUT, file->name,
                        "is a CTranslate2 model of binary version %u, expected version %d, whose "
                        "vocabularies are text files of one token per line",
                        file->version, VERSION);
    ATT_TRY(read_name(bytes, &file->kind, "the model type", err));
    ATT_TRY(att_byte_reader_uint(bytes, &file->revision, 4, "the revision", err));
    ATT_TRY(att_byte_reader_uint(bytes, count, 4, "the number of variables", err));
    if (*count == 0 || *count > att_byte_reader_left(bytes) / MIN_VARIABLE_BYTES)
        return att_fail(err, ATT_BAD_INPUT, file->name, "has %u variables in only %zu bytes",
                        *count, att_byte_reader_left(bytes));
    return ATT_OK;
}

static att_status read_file(att_ct2_file *file, att_byte_reader *bytes, att_error *err)
{
    uint32_t count;
    ATT_TRY(read_header(file, bytes, &count, err));
    file->variables = att_arena_alloc(&file->memory, count, sizeof *file->variables);
    if (!file->variables)
        return att_fail_memory(err);
    for (; file->count < count; file->count++) {
        att_ct2_variable *variable = &file->variables[file->count];
        ATT_TRY(read_variable(variable, bytes, err));
        file->min_item_size = att_min_size(file->min_item_size, variable->item_size);
    }
    if (att_byte_reader_left(bytes) > 0)
        return att_fail(err, ATT_BAD_INPUT, file->name, "has %zu bytes after its last variable",
                        att_byte_reader_left(bytes));
    return sort_variables(file, err);
}

att_status att_ct2_read(att_ct2_file *out, const void *bytes, size_t size, const char *name,
                        att_error *err)
{
    att_byte_reader cursor = { .data = bytes, .size = size, .name = name };
    *out = (att_ct2_file){ .name = name, .min_item_size = sizeof(float) };
    att_status status = read_file(out, &cursor, err);
    if (status != ATT_OK)
        att_ct2_free(out);
    return status;
}

void att_ct2_free(att_ct2_file *file)
{
    att_arena_free(&file->memory);
    *file = (att_ct2_file){ 0 };
}

/* ---- access */

const att_ct2_variable *att_ct2_find(att_ct2_file *file, const char *name)
{
    const att_ct2_variable key = { .name = name };
    att_ct2_variable *found =
        file->count == 0 ? NULL
                         : bsearch(&key, file->variables, file->count, sizeof key, compare_names);
    if (found)
        found->used = true;
    return found;
}

static float element(const att_ct2_variable *variable, int64_t at)
{
    const unsigned char *data = variable->data + (size_t)at * variable->item_size;
    if (variable->item_size == sizeof(float))
        return att_read_float_le(data);
    uint32_t bits = att_read_uint_le(data, variable->item_size);
    return variable->item_size == 2 ? (float)(int16_t)bits : (float)(int8_t)bits;
}

/* Finds the scale of a quantized variable: one per row, or one for all. */
static att_status find_scale(const att_ct2_variable **out, att_ct2_file *file,
                             const att_ct2_variable *variable, att_error *err)
{
    char name[MAX_NAME];
    snprintf(name, sizeof name, "%s_scale", variable->name);
    const att_ct2_variable *scale = att_ct2_find(file, name);
    if (!scale)
        return att_fail(err, ATT_BAD_INPUT, file->name,
                        "the variable '%s' is quantized, but its scale '%s' is missing",
                        variable->name, name);
    int64_t rows = variable->rank > 0 ? variable->shape[0] : 1;
    if (scale->item_size != sizeof(float) || (scale->count != 1 && scale->count != rows)) {
        char shape[ATT_SHAPE_STRING_SIZE];
        return att_fail(err, ATT_BAD_INPUT, file->name,
                        "the variable '%s' has shape %s and elements of %zu bytes, expected one "
                        "float or %lld",
                        name, att_shape_to_string(shape, scale->rank, scale->shape),
                        scale->item_size, (long long)rows);
    }
    for (int64_t i = 0; i < scale->count; i++)
        if (!(element(scale, i) > 0))
            return att_fail(err, ATT_BAD_INPUT, file->name,
                            "the variable '%s' has a scale that is not positive", name);
    *out = scale;
    return ATT_OK;
}

att_status att_ct2_floats(att_tensor *out, att_ct2_file *file, const char *name, int rank,
                          att_error *err)
{
    const att_ct2_variable *variable = att_ct2_find(file, name), *scale = NULL;
    *out = (att_tensor){ 0 };
    if (!variable)
        return att_fail(err, ATT_BAD_INPUT, file->name, "the variable '%s' is missing", name);
    if (variable->rank != rank) {
        char shape[ATT_SHAPE_STRING_SIZE];
        return att_fail(err, ATT_BAD_INPUT, file->name,
                        "the variable '%s' has shape %s, expected %d dimensions", name,
                        att_shape_to_string(shape, variable->rank, variable->shape), rank);
    }
    if (variable->item_size != sizeof(float))
        ATT_TRY(find_scale(&scale, file, variable, err));
    ATT_TRY(att_tensor_new_uninitialized(out, ATT_F32, rank, variable->shape, err));
    float *to = out->data;
    int64_t width = rank > 0 && variable->shape[0] > 0 ? variable->count / variable->shape[0] : 1;
    for (int64_t i = 0; i < variable->count; i++) {
        float divisor = scale ? element(scale, scale->count == 1 ? 0 : i / width) : 1;
        to[i] = element(variable, i) / divisor;
    }
    return ATT_OK;
}

bool att_ct2_keeps_int8(att_ct2_file *file, const char *name)
{
    const att_ct2_variable *variable = att_ct2_find(file, name);
    if (file->widens_int8 || !variable || variable->item_size != 1 || variable->rank != 2 ||
        !att_int8_shape_fits(variable->shape[0], variable->shape[1]))
        return false;
    return memchr(variable->data, (unsigned char)INT8_MIN, (size_t)variable->count) == NULL;
}

att_status att_ct2_integers(att_tensor *integers, att_tensor *scales, att_ct2_file *file,
                            const char *name, att_error *err)
{
    const att_ct2_variable *variable = att_ct2_find(file, name), *scale;
    int64_t rows = variable->shape[0];
    *integers = *scales = (att_tensor){ 0 };
    ATT_TRY(find_scale(&scale, file, variable, err));
    ATT_TRY(att_tensor_new_uninitialized(scales, ATT_F32, 1, &rows, err));
    for (int64_t i = 0; i < rows; i++)
        ((float *)scales->data)[i] = 1 / element(scale, scale->count == 1 ? 0 : i);
    att_status status = att_tensor_new_uninitialized(integers, ATT_I8, 2, variable->shape, err);
    if (status == ATT_OK)
        memcpy(integers->data, variable->data, (size_t)variable->count);
    else
        att_tensor_free(scales);
    return status;
}

att_status att_ct2_all_used(const att_ct2_file *file, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    for (size_t i = 0; i < file->count; i++)
        if (!file->variables[i].used)
            return att_fail(
                err, ATT_BAD_INPUT, file->name, "unknown variable '%s'",
                att_quote(quoted, file->variables[i].name, strlen(file->variables[i].name)));
    return ATT_OK;
}
