/* Images in memory: what the JPEG and PNG readers share. att_image is in attend.h. */
#ifndef ATT_IMAGE_IMAGE_H
#define ATT_IMAGE_IMAGE_H

#include "attend.h"

/* Limits of the images that are read; a pixel takes 3 bytes. */
enum { ATT_IMAGE_MAX_SIDE = 65535, ATT_IMAGE_MAX_PIXELS = 100000000 };

enum { ATT_RGB = 3 };

/* Fails where an image has no pixels or exceeds the limits. */
att_status att_image_check_size(uint64_t width, uint64_t height, const char *name, att_error *err);

/* Allocates an image after checking its size; `max` is the largest number of pixels that the file
 * can hold. */
att_status att_image_alloc(att_image *out, uint64_t width, uint64_t height, uint64_t max,
                           const char *name, att_error *err);

/* Readers of one format; the bytes begin with its signature. */
att_status att_jpeg_read(att_image *out, const void *bytes, size_t size, const char *name,
                         att_error *err);
att_status att_png_read(att_image *out, const void *bytes, size_t size, const char *name,
                        att_error *err);

/* ---- orientation of the camera */

/* The orientation in an Exif segment of a JPEG file (its bytes after the length): from 1, upright,
 * to 8; 1 where there is none. */
int att_exif_orientation(const uint8_t *bytes, size_t size);

/* Rotates and mirrors an image so that it is upright. */
att_status att_image_apply_orientation(att_image *image, int orientation, att_error *err);

#endif
