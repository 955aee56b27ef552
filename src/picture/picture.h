/* Pictures in memory: what readers of one format share. att_picture is in attend.h. */
#ifndef ATT_PICTURE_PICTURE_H
#define ATT_PICTURE_PICTURE_H

#include "attend.h"

/* No side is longer and no picture has more pixels, whatever a file claims; 3 bytes each. */
enum { ATT_PICTURE_SIDE = 65535, ATT_PICTURE_PIXELS = 100000000 };

enum { ATT_RGB = 3 };

/* Refuses a picture without pixels, or beyond those limits. */
att_status att_picture_check(uint64_t width, uint64_t height, const char *name, att_error *err);

/* Makes room for a picture, after checking its size; `most` is the number of pixels that the file
 * can possibly hold. */
att_status att_picture_room(att_picture *out, uint64_t width, uint64_t height, uint64_t most,
                            const char *name, att_error *err);

/* One format each; the bytes begin as such a file does. */
att_status att_jpeg_read(att_picture *out, const void *bytes, size_t size, const char *name,
                         att_error *err);
att_status att_png_read(att_picture *out, const void *bytes, size_t size, const char *name,
                        att_error *err);

/* ---- how a camera was held */

/* The orientation that an Exif segment of a JPEG file (its bytes after the length) states: from 1,
 * upright, to 8; 1 where it states none. */
int att_exif_orientation(const uint8_t *bytes, size_t size);

/* Puts a picture upright. */
att_status att_picture_turn(att_picture *picture, int orientation, att_error *err);

#endif
