/* The middle of a picture in another size. Each new pixel is a weighted sum of those around its
 * place, by Keys' cubic (1981, a = -1/2): two new pixels wide to both sides where the picture
 * shrinks, so that nothing is passed over, and two old ones where it grows. First across, then
 * down, rounded to 8 bits in between. */
#include "picture/picture.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>

enum { REACH = 2 };

/* Along one side: which old pixels each new one is made of, and their weights. */
typedef struct taps {
    int64_t *first, *count; /* [new] */
    float *weights;         /* [new, most] */
    int64_t most;           /* old pixels to a new one */
} taps;

/* From `begin` on, `length` old pixels become `count` new ones. */
typedef struct side {
    int64_t begin, length, count;
} side;

static double cubic(double x)
{
    x = fabs(x);
    if (x < 1)
        return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

static void set_taps(taps *out, side s, int64_t i)
{
    double scale = (double)s.length / (double)s.count, unit = scale > 1 ? scale : 1;
    double centre = ((double)i + 0.5) * scale, sum = 0;
    int64_t first = (int64_t)floor(centre - REACH * unit + 0.5);
    int64_t end = (int64_t)floor(centre + REACH * unit + 0.5);
    first = first > 0 ? first : 0;
    end = end < s.length ? end : s.length;
    for (int64_t j = first; j < end; j++)
        sum += cubic(((double)j + 0.5 - centre) / unit);
    out->first[i] = s.begin + first;
    out->count[i] = end - first;
    for (int64_t j = first; j < end; j++)
        out->weights[i * out->most + j - first] =
            (float)(cubic(((double)j + 0.5 - centre) / unit) / sum);
}

static att_status taps_new(taps *out, side s, att_error *err)
{
    double scale = (double)s.length / (double)s.count;
    out->most = 2 * (int64_t)ceil(REACH * (scale > 1 ? scale : 1)) + 1;
    out->first = att_alloc((size_t)s.count, sizeof *out->first);
    out->count = att_alloc((size_t)s.count, sizeof *out->count);
    out->weights = att_alloc((size_t)s.count * (size_t)out->most, sizeof *out->weights);
    if (!out->first || !out->count || !out->weights)
        return att_fail_memory(err);
    for (int64_t i = 0; i < s.count; i++)
        set_taps(out, s, i);
    return ATT_OK;
}

static void taps_free(taps *t)
{
    att_free(t->first);
    att_free(t->count);
    att_free(t->weights);
}

static uint8_t to_byte(float x)
{
    return (uint8_t)(x < 0 ? 0 : x > 254.5f ? 255 : x + 0.5f);
}

/* Line y of the picture, `count` new pixels across. */
static void shrink_line(uint8_t *out, const att_picture *in, int64_t y, const taps *across,
                        int64_t count)
{
    const uint8_t *line = in->pixels + y * in->width * ATT_RGB;
    for (int64_t i = 0; i < count * ATT_RGB; i++) {
        int64_t x = i / ATT_RGB;
        const uint8_t *from = line + across->first[x] * ATT_RGB + i % ATT_RGB;
        float sum = 0;
        for (int64_t j = 0; j < across->count[x]; j++)
            sum += across->weights[x * across->most + j] * (float)from[j * ATT_RGB];
        out[i] = to_byte(sum);
    }
}

/* New line y, of `width` numbers, from lines that are as wide; they begin with line `top` of the
 * picture. */
static void mix_lines(uint8_t *out, const uint8_t *lines, int64_t top, const taps *down, int64_t y,
                      int64_t width)
{
    const uint8_t *from = lines + (down->first[y] - top) * width;
    for (int64_t i = 0; i < width; i++) {
        float sum = 0;
        for (int64_t j = 0; j < down->count[y]; j++)
            sum += down->weights[y * down->most + j] * (float)from[j * width + i];
        out[i] = to_byte(sum);
    }
}

static att_status scale(att_picture *out, const att_picture *in, const taps *across,
                        const taps *down, att_error *err)
{
    int64_t n = out->width, width = n * ATT_RGB;
    int64_t top = down->first[0], end = down->first[n - 1] + down->count[n - 1];
    uint8_t *lines = att_alloc((size_t)(end - top), (size_t)width);
    if (!lines)
        return att_fail_memory(err);
    for (int64_t y = top; y < end; y++)
        shrink_line(lines + (y - top) * width, in, y, across, n);
    for (int64_t y = 0; y < n; y++)
        mix_lines(out->pixels + y * width, lines, top, down, y, width);
    att_free(lines);
    return ATT_OK;
}

att_status att_picture_square(att_picture *out, const att_picture *in, int64_t pixels,
                              att_error *err)
{
    *out = (att_picture){ 0 };
    if (pixels < 1 || pixels > ATT_PICTURE_SIDE || in->width < 1 || in->height < 1)
        return att_fail(err, ATT_BAD_INPUT, "square",
                        "a square has a side of 1 to %d pixels, and a picture at least one",
                        ATT_PICTURE_SIDE);
    ATT_TRY(att_picture_room(out, (uint64_t)pixels, (uint64_t)pixels, UINT64_MAX, "square", err));
    int64_t least = in->width < in->height ? in->width : in->height;
    taps across = { 0 }, down = { 0 };
    att_status status = taps_new(&across, (side){ (in->width - least) / 2, least, pixels }, err);
    if (status == ATT_OK)
        status = taps_new(&down, (side){ (in->height - least) / 2, least, pixels }, err);
    if (status == ATT_OK)
        status = scale(out, in, &across, &down, err);
    if (status != ATT_OK)
        att_picture_free(out);
    taps_free(&across);
    taps_free(&down);
    return status;
}
