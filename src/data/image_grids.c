/* Loading image features; see image_grids.h. */
#include "data/image_grids.h"
#include "data/memory_files.h"

#include "base/error.h"
#include "base/number.h"
#include "tensor/tensor.h"

#include <math.h>

int64_t att_image_grids_stride(const att_image_grids *grids)
{
    return grids->rows * grids->columns * grids->depth;
}

const float *att_image_grids_get(const att_image_grids *grids, int64_t image)
{
    return grids->values + image * att_image_grids_stride(grids);
}

att_status att_image_grids_new(att_image_grids *out, int64_t count, int64_t rows, int64_t columns,
                               int64_t depth, att_error *err)
{
    *out = (att_image_grids){ .count = count, .rows = rows, .columns = columns, .depth = depth };
    ATT_TRY(
        att_tensor_new(&out->owned, ATT_F32, 4, (int64_t[]){ count, rows, columns, depth }, err));
    out->values = out->owned.data;
    return ATT_OK;
}

void att_image_grids_free(att_image_grids *grids)
{
    att_tensor_free(&grids->owned);
    *grids = (att_image_grids){ 0 };
}

/* ---- shapes */

/* Rows and columns of a grid of `cells` cells: a square unless `rows` is given. */
static att_status infer_rows_and_columns(att_image_grids *out, int64_t cells, int64_t rows,
                                         const char *name, att_error *err)
{
    if (rows == 0)
        rows = (int64_t)llround(sqrt((double)cells));
    out->rows = rows;
    out->columns = cells / rows;
    if (out->rows * out->columns == cells)
        return ATT_OK;
    return att_fail(
        err, ATT_BAD_INPUT, name,
        "has %lld cells per image, which do not divide into %lld rows: give image-rows, "
        "or features of shape [images,rows,columns,channels]",
        (long long)cells, (long long)rows);
}

static att_status read_shape(att_image_grids *out, const att_tensor *values, int64_t rows,
                             const char *name, att_error *err)
{
    char found[ATT_SHAPE_STRING_SIZE];
    const int64_t *shape = values->shape;
    if ((values->rank != 3 && values->rank != 4) || att_tensor_count(values) == 0)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "has shape %s, expected [images,cells,channels] or "
                        "[images,rows,columns,channels]",
                        att_shape_to_string(found, values->rank, shape));
    out->count = shape[0];
    out->depth = shape[values->rank - 1];
    if (values->rank == 3)
        return infer_rows_and_columns(out, shape[1], rows, name, err);
    out->rows = shape[1];
    out->columns = shape[2];
    return ATT_OK;
}

/* ---- values */

static att_status check_finite(const att_image_grids *grids, const char *name, att_error *err)
{
    int64_t width = att_image_grids_stride(grids);
    for (int64_t i = 0; i < grids->count * width; i++)
        if (!isfinite(grids->values[i]))
            return att_fail(
                err, ATT_BAD_INPUT, name,
                "image %lld has a NaN or infinity in cell %lld, channel %lld (counted from 0)",
                (long long)(i / width), (long long)(i % width / grids->depth),
                (long long)(i % grids->depth));
    return ATT_OK;
}

static void multiply(att_image_grids *grids, const double *by, int64_t count)
{
    int64_t all = grids->count * att_image_grids_stride(grids);
    for (int64_t i = 0; i < all; i++)
        grids->values[i] = (float)((double)grids->values[i] * by[i % count]);
}

static att_status scale_by_file(att_image_grids *grids, const char *path, att_error *err)
{
    att_tensor loaded, by;
    ATT_TRY(att_npy_load(&loaded, path, err));
    int64_t count = att_tensor_count(&loaded);
    att_status status = ATT_OK;
    if (count != 1 && count != grids->depth)
        status = att_fail(err, ATT_BAD_INPUT, path,
                          "has %lld factors, expected 1 or %lld, one per channel", (long long)count,
                          (long long)grids->depth);
    else
        status = att_tensor_copy(&by, &loaded, ATT_F64, err);
    if (status == ATT_OK) {
        multiply(grids, by.data, count);
        att_tensor_free(&by);
    }
    att_tensor_free(&loaded);
    return status;
}

static att_status scale_all(att_image_grids *grids, const char *scale, att_error *err)
{
    if (!scale)
        return ATT_OK;
    double number;
    if (!att_double_parse(&number, scale))
        return scale_by_file(grids, scale, err);
    multiply(grids, &number, 1);
    return ATT_OK;
}

/* ---- loading */

att_status att_image_grids_view(att_image_grids *out, const att_tensor *values, int64_t rows,
                                const char *name, att_error *err)
{
    *out = (att_image_grids){ 0 };
    ATT_TRY(read_shape(out, values, rows, name, err));
    if (values->dtype != ATT_F32)
        return att_fail(err, ATT_BAD_INPUT, name, "expected features of type float32, found %s",
                        att_dtype_name(values->dtype));
    out->values = values->data;
    return check_finite(out, name, err);
}

att_status att_image_grids_load(att_image_grids *out, const char *path, int64_t rows,
                                const char *scale, att_error *err)
{
    *out = (att_image_grids){ 0 };
    att_tensor loaded, floats;
    const att_memory_file *mounted = att_memory_file_find(path);
    if (mounted && mounted->tensor)
        ATT_TRY(att_tensor_copy(&loaded, mounted->tensor, ATT_F32, err));
    else
        ATT_TRY(att_npy_load(&loaded, path, err));
    if (loaded.dtype == ATT_F32) {
        floats = loaded;
    } else {
        att_status copied = att_tensor_copy(&floats, &loaded, ATT_F32, err);
        att_tensor_free(&loaded);
        ATT_TRY(copied);
    }
    out->owned = floats;
    out->values = floats.data;
    att_status status = read_shape(out, &floats, rows, path, err);
    if (status == ATT_OK)
        status = scale_all(out, scale, err);
    if (status == ATT_OK)
        status = check_finite(out, path, err);
    if (status != ATT_OK)
        att_image_grids_free(out);
    return status;
}
