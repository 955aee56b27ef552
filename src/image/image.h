/* Pictures in memory: what readers of one format share. att_image is in attend.h. */
#ifndef ATT_IMAGE_IMAGE_H
#define ATT_IMAGE_IMAGE_H

#include "attend.h"

/* No side is longer and no picture has more pixels, whatever a file claims; 3 bytes each. */
enum { ATT_IMAGE_MAX_SIDE = 65535, ATT_IMAGE_MAX_PIXELS = 100000000 };

enum { ATT_RGB = 3 };

/* Refuses a picture without pixels, or beyond those limits. */
att_status att_image_check_size(uint64_t width, uint64_t height, const char *name, att_error *err);

/* Makes room for a picture, after checking its size; `most` is the number of pixels that the file
 * can possibly hold. */
att_status att_image_alloc(att_image *out, uint64_t width, uint64_t height, uint64_t max,
                           const char *name, att_error *err);

/* One format each; the bytes begin as such a file does. */
att_status att_jpeg_read(att_image *out, const void *bytes, size_t size, const char *name,
                         att_error *err);
att_status att_png_read(att_image *out, const void *bytes, size_t size, const char *name,
                        att_error *err);

/* ---- how a camera was held */

/* The orientation that an Exif segment of a JPEG file (its bytes after the length) states: from 1,
 * upright, to 8; 1 where it states none. */
int att_exif_orientation(const uint8_t *bytes, size_t size);

/* Puts a picture upright. */
att_status att_image_apply_orientation(att_image *image, int orientation, att_error *err);

#endif
