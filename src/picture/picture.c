/* Pictures: which format a file has, and room for what is in it. */
#include "picture/picture.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

#include <inttypes.h>
#include <string.h>

typedef struct format {
    const char *start;
    size_t length;
    att_status (*read)(att_picture *out, const void *bytes, size_t size, const char *name,
                       att_error *err);
} format;

static const format formats[] = {
    { "\xff\xd8\xff", 3, att_jpeg_read },
    { "\x89PNG\r\n\x1a\n", 8, att_png_read },
};

att_status att_picture_read(att_picture *out, const void *bytes, size_t size, const char *name,
                            att_error *err)
{
    *out = (att_picture){ 0 };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (size >= formats[i].length && memcmp(bytes, formats[i].start, formats[i].length) == 0)
            return formats[i].read(out, bytes, size, name, err);
    return att_fail(err, ATT_BAD_INPUT, name, "is neither a JPEG nor a PNG file (%zu bytes)", size);
}

att_status att_picture_load(att_picture *out, const char *path, att_error *err)
{
    enum { LARGEST_FILE = 1 << 29 };
    *out = (att_picture){ 0 };
    att_text bytes = { 0 };
    ATT_TRY(att_file_read(&bytes, path, LARGEST_FILE, err));
    att_status status = att_picture_read(out, bytes.data, bytes.length, path, err);
    att_text_free(&bytes);
    return status;
}

void att_picture_free(att_picture *picture)
{
    att_free(picture->pixels);
    *picture = (att_picture){ 0 };
}

att_status att_picture_check(uint64_t width, uint64_t height, const char *name, att_error *err)
{
    if (width == 0 || height == 0)
        return att_fail(err, ATT_BAD_INPUT, name, "has a picture without pixels");
    if (width > ATT_PICTURE_SIDE || height > ATT_PICTURE_SIDE ||
        width * height > ATT_PICTURE_PIXELS)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "has a picture of %" PRIu64 " x %" PRIu64
                        " pixels; at most %d on a side and %d in all are read",
                        width, height, ATT_PICTURE_SIDE, ATT_PICTURE_PIXELS);
    return ATT_OK;
}

att_status att_picture_room(att_picture *out, uint64_t width, uint64_t height, uint64_t most,
                            const char *name, att_error *err)
{
    ATT_TRY(att_picture_check(width, height, name, err));
    if (width * height > most)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "claims to have %" PRIu64 " x %" PRIu64
                        " pixels, more than a file of its size can hold",
                        width, height);
    out->pixels = att_alloc(width * height, ATT_RGB);
    if (!out->pixels)
        return att_fail_memory(err);
    out->width = (int64_t)width;
    out->height = (int64_t)height;
    return ATT_OK;
}
