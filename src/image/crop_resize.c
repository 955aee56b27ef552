/* The middle of a picture in another size. Each new pixel is a weighted sum of those around its
 * place, by Keys' cubic (1981, a = -1/2): two new pixels wide to both sides where the picture
 * shrinks, so that nothing is passed over, and two old ones where it grows. First across, then
 * down, rounded to 8 bits in between. */
#include "image/image.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>

enum { CUBIC_SUPPORT = 2 };

/* Along one side: which old pixels each new one is made of, and their weights. */
typedef struct resample_weights {
    int64_t *first_pixel, *pixel_count; /* [new] */
    float *weights;                     /* [new, most] */
    int64_t max_pixels;                 /* old pixels to a new one */
} resample_weights;

/* From `begin` on, `length` old pixels become `count` new ones. */
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
    first = first > 0 ? first : 0;
    end = end < s.length ? end : s.length;
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

/* Line y of the picture, `count` new pixels across. */
static void resize_row(uint8_t *out, const att_image *in, int64_t y, const resample_weights *across,
                       int64_t count)
{
    const uint8_t *line = in->pixels + y * in->width * ATT_RGB;
    for (int64_t i = 0; i < count * ATT_RGB; i++) {
        int64_t x = i / ATT_RGB;
        const uint8_t *from = line + across->first_pixel[x] * ATT_RGB + i % ATT_RGB;
        float sum = 0;
        for (int64_t j = 0; j < across->pixel_count[x]; j++)
            sum += across->weights[x * across->max_pixels + j] * (float)from[j * ATT_RGB];
        out[i] = to_byte(sum);
    }
}

/* New line y, of `width` numbers, from lines that are as wide; they begin with line `top` of the
 * picture. */
static void resize_column(uint8_t *out, const uint8_t *lines, int64_t top,
                          const resample_weights *down, int64_t y, int64_t width)
{
    const uint8_t *from = lines + (down->first_pixel[y] - top) * width;
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
    uint8_t *lines = att_alloc((size_t)(end - top), (size_t)width);
    if (!lines)
        return att_fail_memory(err);
    for (int64_t y = top; y < end; y++)
        resize_row(lines + (y - top) * width, in, y, across, n);
    for (int64_t y = 0; y < n; y++)
        resize_column(out->pixels + y * width, lines, top, down, y, width);
    att_free(lines);
    return ATT_OK;
}

att_status att_image_center_crop(att_image *out, const att_image *in, int64_t pixels,
                                 att_error *err)
{
    *out = (att_image){ 0 };
    if (pixels < 1 || pixels > ATT_IMAGE_MAX_SIDE || in->width < 1 || in->height < 1)
        return att_fail(err, ATT_BAD_INPUT, "square",
                        "a square has a side of 1 to %d pixels, and a picture at least one",
                        ATT_IMAGE_MAX_SIDE);
    ATT_TRY(att_image_alloc(out, (uint64_t)pixels, (uint64_t)pixels, UINT64_MAX, "square", err));
    int64_t min = in->width < in->height ? in->width : in->height;
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
