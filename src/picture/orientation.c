/* How a camera was held, from Exif, and pictures put upright by it. */
#include "picture/picture.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

/* ---------------------------------------------------------------- Exif */

/* A TIFF structure within the segment: a byte order, and offsets from its own start. */
typedef struct tiff {
    const uint8_t *bytes;
    size_t size;
    bool little;
} tiff;

/* A number of `width` bytes; 0 beyond the end. */
static uint32_t number(const tiff *t, size_t at, size_t width)
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
    size_t directory = number(&t, DIRECTORY_AT, 4), entries = number(&t, directory, 2);
    for (size_t i = 0; i < entries; i++) {
        size_t entry = directory + 2 + i * ENTRY;
        uint32_t value = number(&t, entry + VALUE_AT, 2);
        if (number(&t, entry, 2) == ORIENTATION)
            return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

/* ---------------------------------------------------------------- turning */

/* What becomes of (x, y) of the upright picture: its place in the one that was stored. */
typedef struct turn {
    bool swap;           /* x and y, first */
    bool flip_x, flip_y; /* of the stored picture, then */
} turn;

static const turn turns[8] = {
    { false, false, false }, { false, true, false }, { false, true, true }, { false, false, true },
    { true, false, false },  { true, false, true },  { true, true, true },  { true, true, false },
};

static void copy_turned(att_picture *out, const att_picture *in, turn how)
{
    for (int64_t y = 0; y < out->height; y++)
        for (int64_t x = 0; x < out->width; x++) {
            int64_t from_x = how.swap ? y : x, from_y = how.swap ? x : y;
            from_x = how.flip_x ? in->width - 1 - from_x : from_x;
            from_y = how.flip_y ? in->height - 1 - from_y : from_y;
            memcpy(out->pixels + (y * out->width + x) * ATT_RGB,
                   in->pixels + (from_y * in->width + from_x) * ATT_RGB, ATT_RGB);
        }
}

att_status att_picture_turn(att_picture *picture, int orientation, att_error *err)
{
    if (orientation == 1)
        return ATT_OK;
    turn how = turns[orientation - 1];
    att_picture upright = *picture;
    upright.width = how.swap ? picture->height : picture->width;
    upright.height = how.swap ? picture->width : picture->height;
    upright.pixels = att_alloc((size_t)(upright.width * upright.height), ATT_RGB);
    if (!upright.pixels)
        return att_fail_memory(err);
    copy_turned(&upright, picture, how);
    att_picture_free(picture);
    *picture = upright;
    return ATT_OK;
}
