/* Images: detection of the file format, loading, limits of the size, allocation. */
#include "image/image.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/minmax.h"

#include <inttypes.h>
#include <string.h>

typedef struct format {
    const char *start;
    size_t length;
    att_status (*read)(att_image *out, const void *bytes, size_t size, const char *name,
                       att_error *err);
} format;

static const format formats[] = {
    { "\xff\xd8\xff", 3, att_jpeg_read },
    { "\x89PNG\r\n\x1a\n", 8, att_png_read },
};

att_status att_image_read(att_image *out, const void *bytes, size_t size, const char *name,
                          att_error *err)
{
    *out = (att_image){ 0 };
    for (size_t i = 0; i < ATT_COUNT(formats); i++)
        if (size >= formats[i].length && memcmp(bytes, formats[i].start, formats[i].length) == 0)
            return formats[i].read(out, bytes, size, name, err);
    return att_fail(err, ATT_BAD_INPUT, name, "is neither a JPEG nor a PNG file (%zu bytes)", size);
}

att_status att_image_load(att_image *out, const char *path, att_error *err)
{
    enum { MAX_FILE_SIZE = 1 << 29 };
    *out = (att_image){ 0 };
    att_string bytes = { 0 };
    ATT_TRY(att_file_read(&bytes, path, MAX_FILE_SIZE, err));
    att_status status = att_image_read(out, bytes.data, bytes.length, path, err);
    att_string_free(&bytes);
    return status;
}

void att_image_free(att_image *image)
{
    if (!image)
        return;
    att_free(image->pixels);
    *image = (att_image){ 0 };
}

att_status att_image_check_size(uint64_t width, uint64_t height, const char *name, att_error *err)
{
    if (width == 0 || height == 0)
        return att_fail(err, ATT_BAD_INPUT, name, "has no pixels");
    if (width > ATT_IMAGE_MAX_SIDE || height > ATT_IMAGE_MAX_SIDE ||
        width * height > ATT_IMAGE_MAX_PIXELS)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "has %" PRIu64 " x %" PRIu64
                        " pixels, expected at most %d per side and %d in total",
                        width, height, ATT_IMAGE_MAX_SIDE, ATT_IMAGE_MAX_PIXELS);
    return ATT_OK;
}

att_status att_image_alloc(att_image *out, uint64_t width, uint64_t height, uint64_t max,
                           const char *name, att_error *err)
{
    ATT_TRY(att_image_check_size(width, height, name, err));
    if (width * height > max)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "states %" PRIu64 " x %" PRIu64
                        " pixels, more than a file of its size can hold",
                        width, height);
    out->pixels = att_alloc(width * height, ATT_RGB);
    if (!out->pixels)
        return att_fail_memory(err);
    out->width = (int64_t)width;
    out->height = (int64_t)height;
    return ATT_OK;
}
