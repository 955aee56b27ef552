/* Orientation of images: reading it from Exif, and rotating and mirroring by it. */
#include "image/image.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

/* ---------------------------------------------------------------- Exif */

/* The TIFF structure in the segment: a byte order, and offsets from the start of the structure. */
typedef struct tiff {
    const uint8_t *bytes;
    size_t size;
    bool little;
} tiff;

/* Reads an integer of `width` bytes; 0 beyond the end. */
static uint32_t read_uint(const tiff *t, size_t at, size_t width)
{
    uint32_t value = 0;
    if (at > t->size || t->size - at < width)
        return 0;
    for (size_t i = 0; i < width; i++)
        value = value << 8 | t->bytes[at + (t->little ? width - 1 - i : i)];
    return value;
}

int att_exif_orientation(const uint8_t *bytes, size_t size)
{
    enum { HEAD = 6, DIRECTORY_AT = 4, ENTRY = 12, VALUE_AT = 8, ORIENTATION = 0x112 };
    if (size < HEAD + 8 || memcmp(bytes, "Exif\0\0", HEAD) != 0)
        return 1;
    tiff t = { bytes + HEAD, size - HEAD, bytes[HEAD] == 'I' };
    size_t directory = read_uint(&t, DIRECTORY_AT, 4), entries = read_uint(&t, directory, 2);
    for (size_t i = 0; i < entries; i++) {
        size_t entry = directory + 2 + i * ENTRY;
        uint32_t value = read_uint(&t, entry + VALUE_AT, 2);
        if (read_uint(&t, entry, 2) == ORIENTATION)
            return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

/* ---------------------------------------------------------------- rotating and mirroring */

/* Maps (x, y) of the upright image to the stored image. */
typedef struct exif_transform {
    bool swap;           /* first: exchange x and y */
    bool flip_x, flip_y; /* then: mirror the coordinate in the stored image */
} exif_transform;

/* By orientation, from 1. */
static const exif_transform exif_transforms[8] = {
    { false, false, false }, { false, true, false }, { false, true, true }, { false, false, true },
    { true, false, false },  { true, false, true },  { true, true, true },  { true, true, false },
};

static void copy_oriented(att_image *out, const att_image *in, exif_transform transform)
{
    for (int64_t y = 0; y < out->height; y++)
        for (int64_t x = 0; x < out->width; x++) {
            int64_t from_x = transform.swap ? y : x, from_y = transform.swap ? x : y;
            from_x = transform.flip_x ? in->width - 1 - from_x : from_x;
            from_y = transform.flip_y ? in->height - 1 - from_y : from_y;
            memcpy(out->pixels + (y * out->width + x) * ATT_RGB,
                   in->pixels + (from_y * in->width + from_x) * ATT_RGB, ATT_RGB);
        }
}

att_status att_image_apply_orientation(att_image *image, int orientation, att_error *err)
{
    if (orientation == 1)
        return ATT_OK;
    exif_transform transform = exif_transforms[orientation - 1];
    att_image upright = *image;
    upright.width = transform.swap ? image->height : image->width;
    upright.height = transform.swap ? image->width : image->height;
    upright.pixels = att_alloc((size_t)(upright.width * upright.height), ATT_RGB);
    if (!upright.pixels)
        return att_fail_memory(err);
    copy_oriented(&upright, image, transform);
    att_image_free(image);
    *image = upright;
    return ATT_OK;
}
