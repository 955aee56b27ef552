/* Reading and writing PNG files by libpng. Grayscale, palette, alpha (over white), 16-bit and
 * interlaced files are read as 8-bit RGB; 8-bit RGB is written. */
#include "image/image.h"

#include "base/error.h"
#include "base/string.h"

#ifdef ATT_HAVE_PNG
#include <png.h>
#include <string.h>

/* Upper limit: deflate compresses at most 1032 to 1, and a byte holds 8 pixels of one bit. */
enum { PIXELS_PER_BYTE = 1032 * 8 };

static const char invalid[] = "is not a valid PNG file";

/* Reports a failure of libpng, which has no error code for memory, only the message. */
static att_status fail(const png_image *image, const char *name, const char *what, att_error *err)
{
    if (strstr(image->message, "memory"))
        return att_fail_memory(err);
    return att_fail(err, ATT_BAD_INPUT, name, "%s: %s", what, image->message);
}

static att_status read_pixels(att_image *out, png_image *image, size_t size, const char *name,
                              att_error *err)
{
    static const png_color white = { 255, 255, 255 };
    ATT_TRY(att_image_alloc(out, image->width, image->height, (uint64_t)size * PIXELS_PER_BYTE,
                            name, err));
    image->format = PNG_FORMAT_RGB;
    image->flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* 16-bit samples are sRGB, as 8-bit ones are */
    if (png_image_finish_read(image, &white, out->pixels, 0, NULL))
        return ATT_OK;
    att_image_free(out);
    return fail(image, name, invalid, err);
}

att_status att_png_read(att_image *out, const void *bytes, size_t size, const char *name,
                        att_error *err)
{
    png_image image = { .version = PNG_IMAGE_VERSION };
    if (!png_image_begin_read_from_memory(&image, bytes, size))
        return fail(&image, name, invalid, err);
    att_status status = read_pixels(out, &image, size, name, err);
    png_image_free(&image);
    return status;
}

/* libpng writes into a buffer for the largest possible file; the string then ends after the actual
 * size. */
att_status att_image_png(att_string *out, const att_image *source, att_error *err)
{
    png_image image = { .version = PNG_IMAGE_VERSION,
                        .width = (png_uint_32)source->width,
                        .height = (png_uint_32)source->height,
                        .format = PNG_FORMAT_RGB };
    ATT_TRY(att_image_check_size((uint64_t)source->width, (uint64_t)source->height, "image", err));
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    if (att_string_reserve(out, size) != ATT_OK)
        return att_fail_memory(err);
    if (!png_image_write_to_memory(&image, out->data + out->length, &size, 0, source->pixels, 0,
                                   NULL))
        return fail(&image, "image", "cannot be written as PNG", err);
    out->length += size;
    out->data[out->length] = '\0';
    return ATT_OK;
}

#else

att_status att_png_read(att_image *out, const void *bytes, size_t size, const char *name,
                        att_error *err)
{
    (void)out, (void)bytes, (void)size;
    return att_fail(err, ATT_UNSUPPORTED, name,
                    "is a PNG file, which this build cannot read: it has no libpng");
}

att_status att_image_png(att_string *out, const att_image *source, att_error *err)
{
    (void)out, (void)source;
    return att_fail(err, ATT_UNSUPPORTED, "image",
                    "this build cannot write PNG files: it has no libpng");
}

#endif
