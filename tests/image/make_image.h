/* Image files for tests, written by the libraries that read them. */
#ifndef TESTS_IMAGE_MAKE_IMAGE_H
#define TESTS_IMAGE_MAKE_IMAGE_H

#include "attend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WIDE = 24, TALL = 16 };

/* Four colors, a quarter each: red, green / blue, white. Large enough to survive JPEG. */
static inline uint8_t color_at(int x, int y, int channel)
{
    static const uint8_t quarters[4][3] = {
        { 255, 0, 0 }, { 0, 255, 0 }, { 0, 0, 255 }, { 255, 255, 255 }
    };
    return quarters[(y >= TALL / 2) * 2 + (x >= WIDE / 2)][channel];
}

#ifdef ATT_HAVE_JPEG
#include <jpeglib.h>

typedef struct jpeg_kind {
    J_COLOR_SPACE colors; /* JCS_RGB, JCS_GRAYSCALE or JCS_CMYK */
    bool progressive;
    int orientation; /* 0: no Exif */
} jpeg_kind;

static inline uint8_t jpeg_sample(jpeg_kind kind, int x, int y, int c)
{
    if (kind.colors == JCS_CMYK) /* inverted, as Adobe stores it; no black */
        return c == 3 ? 255 : color_at(x, y, c);
    return kind.colors == JCS_GRAYSCALE ? color_at(x, y, 1) : color_at(x, y, c);
}

static inline void put_exif(j_compress_ptr jpeg, int orientation)
{
    uint8_t exif[] = { 'E', 'x',  'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1,
                       1,   0x12, 0,   3,   0, 0, 0,   1,   0, 0,  0, 0, 0, 0, 0, 0 };
    exif[25] = (uint8_t)orientation;
    jpeg_write_marker(jpeg, JPEG_APP0 + 1, exif, sizeof exif);
}

/* The bytes of a JPEG file; release with free(). */
static inline uint8_t *make_jpeg(jpeg_kind kind, size_t *size)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    uint8_t *bytes = NULL, line[WIDE * 4];
    unsigned long length = 0;
    int channels = kind.colors == JCS_CMYK ? 4 : kind.colors == JCS_GRAYSCALE ? 1 : 3;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &bytes, &length);
    jpeg.image_width = WIDE;
    jpeg.image_height = TALL;
    jpeg.input_components = channels;
    jpeg.in_color_space = kind.colors;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 100, TRUE);
    for (int c = 0; c < jpeg.num_components; c++)
        jpeg.comp_info[c].h_samp_factor = jpeg.comp_info[c].v_samp_factor = 1;
    if (kind.progressive)
        jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    if (kind.orientation)
        put_exif(&jpeg, kind.orientation);
    for (int y = 0; y < TALL; y++) {
        for (int i = 0; i < WIDE * channels; i++)
            line[i] = jpeg_sample(kind, i / channels, y, i % channels);
        JSAMPROW row = line;
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    *size = length;
    return bytes;
}
#endif

#ifdef ATT_HAVE_PNG
#include <png.h>

/* The write callback of libpng. */
static inline void png_grow(png_structp png, png_bytep data, size_t length)
{
    att_string *out = png_get_io_ptr(png);
    assert_int_equal(att_string_append(out, (const char *)data, length), ATT_OK);
}

typedef struct png_kind {
    int colors; /* PNG_COLOR_TYPE_… */
    int depth;  /* bits */
    bool interlaced;
} png_kind;

/* A sample of a pixel. Alpha is 0 in the right half, which must become white. */
static inline int png_sample(png_kind kind, int x, int y, int c)
{
    int colors = kind.colors & PNG_COLOR_MASK_COLOR ? 3 : 1;
    bool alpha = c == colors;
    if (kind.colors == PNG_COLOR_TYPE_PALETTE)
        return (y >= TALL / 2) * 2 + (x >= WIDE / 2);
    return alpha ? (x >= WIDE / 2 ? 0 : 255) : color_at(x, y, c);
}

static inline void png_line(uint8_t *line, png_kind kind, int channels, int y)
{
    for (int i = 0; i < WIDE * channels; i++) {
        int value = png_sample(kind, i / channels, y, i % channels);
        if (kind.depth == 16)
            line[2 * i] = line[2 * i + 1] = (uint8_t)value;
        else
            line[i] = (uint8_t)value;
    }
}

static inline att_string make_png(png_kind kind)
{
    att_string out = { 0 };
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    uint8_t lines[TALL][WIDE * 8], *rows[TALL];
    png_set_write_fn(png, &out, png_grow, NULL);
    png_set_IHDR(png, info, WIDE, TALL, kind.depth, kind.colors,
                 kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
    static const png_color palette[] = {
        { 255, 0, 0 }, { 0, 255, 0 }, { 0, 0, 255 }, { 255, 255, 255 }
    };
    if (kind.colors == PNG_COLOR_TYPE_PALETTE)
        png_set_PLTE(png, info, palette, 4);
    for (int y = 0; y < TALL; y++) {
        png_line(lines[y], kind, png_get_channels(png, info), y);
        rows[y] = lines[y];
    }
    png_write_info(png, info);
    png_write_image(png, rows);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return out;
}
#endif

#endif
