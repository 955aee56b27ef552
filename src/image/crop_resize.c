/* Center crop and resize by bicubic interpolation: each output pixel is a weighted sum of the input
 * pixels around it, by Keys' cubic kernel (1981, a = -1/2). The kernel extends two pixels to each
 * side: output pixels where the image shrinks, so that every input pixel counts (antialiasing),
 * input pixels where it grows. Rows first, then columns, rounded to 8 bits in between. */
#include "image/image.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"

#include <math.h>

enum { CUBIC_SUPPORT = 2 };

/* Along one axis: the input pixels of each output pixel, and their weights. */
typedef struct resample_weights {
    int64_t *first_pixel, *pixel_count; /* [output pixels] */
    float *weights;                     /* [output pixels, max_pixels] */
    int64_t max_pixels;                 /* maximum of pixel_count */
} resample_weights;

/* `length` input pixels from `begin` on become `count` output pixels. */
typedef struct resize_axis {
    int64_t begin, length, count;
} resize_axis;

static double cubic_kernel(double x)
{
    x = fabs(x);
    if (x < 1)
        return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

static void compute_weights(resample_weights *out, resize_axis s, int64_t i)
{
    double resize = (double)s.length / (double)s.count, unit = resize > 1 ? resize : 1;
    double center = ((double)i + 0.5) * resize, sum = 0;
    int64_t first = (int64_t)floor(center - CUBIC_SUPPORT * unit + 0.5);
    int64_t end = (int64_t)floor(center + CUBIC_SUPPORT * unit + 0.5);
    first = att_max_i64(first, 0);
    end = att_min_i64(end, s.length);
    for (int64_t j = first; j < end; j++)
        sum += cubic_kernel(((double)j + 0.5 - center) / unit);
    out->first_pixel[i] = s.begin + first;
    out->pixel_count[i] = end - first;
    for (int64_t j = first; j < end; j++)
        out->weights[i * out->max_pixels + j - first] =
            (float)(cubic_kernel(((double)j + 0.5 - center) / unit) / sum);
}

static att_status resample_weights_new(resample_weights *out, resize_axis s, att_error *err)
{
    double resize = (double)s.length / (double)s.count;
    out->max_pixels = 2 * (int64_t)ceil(CUBIC_SUPPORT * (resize > 1 ? resize : 1)) + 1;
    out->first_pixel = att_alloc((size_t)s.count, sizeof *out->first_pixel);
    out->pixel_count = att_alloc((size_t)s.count, sizeof *out->pixel_count);
    out->weights = att_alloc((size_t)s.count * (size_t)out->max_pixels, sizeof *out->weights);
    if (!out->first_pixel || !out->pixel_count || !out->weights)
        return att_fail_memory(err);
    for (int64_t i = 0; i < s.count; i++)
        compute_weights(out, s, i);
    return ATT_OK;
}

static void resample_weights_free(resample_weights *t)
{
    att_free(t->first_pixel);
    att_free(t->pixel_count);
    att_free(t->weights);
}

static uint8_t to_byte(float x)
{
    return (uint8_t)(x < 0 ? 0 : x > 254.5f ? 255 : x + 0.5f);
}

/* Resizes row y of the image to `count` pixels. */
static void resize_row(uint8_t *out, const att_image *in, int64_t y, const resample_weights *across,
                       int64_t count)
{
    const uint8_t *row = in->pixels + y * in->width * ATT_RGB;
    for (int64_t i = 0; i < count * ATT_RGB; i++) {
        int64_t x = i / ATT_RGB;
        const uint8_t *from = row + across->first_pixel[x] * ATT_RGB + i % ATT_RGB;
        float sum = 0;
        for (int64_t j = 0; j < across->pixel_count[x]; j++)
            sum += across->weights[x * across->max_pixels + j] * (float)from[j * ATT_RGB];
        out[i] = to_byte(sum);
    }
}

/* Computes output row y, of `width` values, from `rows`, the resized rows from row `top` of the
 * image on. */
static void resize_column(uint8_t *out, const uint8_t *rows, int64_t top,
                          const resample_weights *down, int64_t y, int64_t width)
{
    const uint8_t *from = rows + (down->first_pixel[y] - top) * width;
    for (int64_t i = 0; i < width; i++) {
        float sum = 0;
        for (int64_t j = 0; j < down->pixel_count[y]; j++)
            sum += down->weights[y * down->max_pixels + j] * (float)from[j * width + i];
        out[i] = to_byte(sum);
    }
}

static att_status resize(att_image *out, const att_image *in, const resample_weights *across,
                         const resample_weights *down, att_error *err)
{
    int64_t n = out->width, width = n * ATT_RGB;
    int64_t top = down->first_pixel[0], end = down->first_pixel[n - 1] + down->pixel_count[n - 1];
    uint8_t *rows = att_alloc((size_t)(end - top), (size_t)width);
    if (!rows)
        return att_fail_memory(err);
    for (int64_t y = top; y < end; y++)
        resize_row(rows + (y - top) * width, in, y, across, n);
    for (int64_t y = 0; y < n; y++)
        resize_column(out->pixels + y * width, rows, top, down, y, width);
    att_free(rows);
    return ATT_OK;
}

att_status att_image_center_crop(att_image *out, const att_image *in, int64_t pixels,
                                 att_error *err)
{
    *out = (att_image){ 0 };
    if (pixels < 1 || pixels > ATT_IMAGE_MAX_SIDE || in->width < 1 || in->height < 1)
        return att_fail(err, ATT_BAD_INPUT, "att_image_center_crop",
                        "expected a side of 1 to %d pixels and an image of at least one pixel",
                        ATT_IMAGE_MAX_SIDE);
    ATT_TRY(att_image_alloc(out, (uint64_t)pixels, (uint64_t)pixels, UINT64_MAX,
                            "att_image_center_crop", err));
    int64_t min = att_min_i64(in->width, in->height);
    resample_weights across = { 0 }, down = { 0 };
    att_status status =
        resample_weights_new(&across, (resize_axis){ (in->width - min) / 2, min, pixels }, err);
    if (status == ATT_OK)
        status =
            resample_weights_new(&down, (resize_axis){ (in->height - min) / 2, min, pixels }, err);
    if (status == ATT_OK)
        status = resize(out, in, &across, &down, err);
    if (status != ATT_OK)
        att_image_free(out);
    resample_weights_free(&across);
    resample_weights_free(&down);
    return status;
}
