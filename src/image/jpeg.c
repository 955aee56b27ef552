/* Reading JPEG files by libjpeg-turbo. It reports failures by a callback that must not return, so a
 * failure is a longjmp(); everything allocated is in a jpeg_reader and is released in one place. */
#include "image/image.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"

#ifdef ATT_HAVE_JPEG
#include <setjmp.h>
#include <stdio.h> /* must come before jpeglib.h */

#include <jerror.h>
#include <jpeglib.h>

enum {
    PIXELS_PER_BYTE = 512, /* upper limit: a block of 8 x 8 pixels takes at least one bit */
    MAX_SCANS = 500,       /* of a progressive file; each scan decodes the whole image again */
    EXIF_MARKER = JPEG_APP0 + 1,
    MAX_MARKER_SIZE = 0xffff,
};

typedef struct jpeg_reader {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    const void *bytes;
    size_t size;
    const char *name;
    att_status status;
    att_error *err;
    att_image image;
    uint8_t *cmyk_row; /* one row before conversion to RGB, or NULL */
} jpeg_reader;

static _Noreturn void abort_read(jpeg_reader *r, att_status status)
{
    r->status = status;
    longjmp(r->failed, 1);
}

/* The error callback of libjpeg. */
static _Noreturn void fail(j_common_ptr jpeg)
{
    jpeg_reader *r = jpeg->client_data;
    char why[JMSG_LENGTH_MAX];
    if (jpeg->err->msg_code == JERR_OUT_OF_MEMORY)
        abort_read(r, att_fail_memory(r->err));
    jpeg->err->format_message(jpeg, why);
    abort_read(r, att_fail(r->err, ATT_BAD_INPUT, r->name, "is not a valid JPEG file: %s", why));
}

/* Warnings that leave the image intact. After any other, part of the image would be gray. */
static bool is_harmless(int code)
{
    static const int harmless[] = { JWRN_ADOBE_XFORM, JWRN_BOGUS_PROGRESSION, JWRN_EXTRANEOUS_DATA,
                                    JWRN_JFIF_MAJOR, JWRN_TOO_MUCH_DATA };
    for (size_t i = 0; i < ATT_COUNT(harmless); i++)
        if (code == harmless[i])
            return true;
    return false;
}

static void warn(j_common_ptr jpeg, int level)
{
    if (level < 0 && !is_harmless(jpeg->err->msg_code))
        fail(jpeg);
}

static void count_scans(j_common_ptr jpeg)
{
    jpeg_reader *r = jpeg->client_data;
    if (r->jpeg.input_scan_number > MAX_SCANS)
        abort_read(r, att_fail(r->err, ATT_BAD_INPUT, r->name,
                               "is a JPEG file with more than %d scans, the maximum", MAX_SCANS));
}

static void open_file(jpeg_reader *r)
{
    r->jpeg.err = jpeg_std_error(&r->errors);
    r->errors.error_exit = fail;
    r->errors.emit_message = warn;
    r->jpeg.client_data = r;
    jpeg_create_decompress(&r->jpeg);
    r->progress.progress_monitor = count_scans;
    r->jpeg.progress = &r->progress;
    jpeg_mem_src(&r->jpeg, r->bytes, r->size);
    jpeg_save_markers(&r->jpeg, EXIF_MARKER, MAX_MARKER_SIZE);
    jpeg_read_header(&r->jpeg, TRUE);
}

static int find_orientation(const jpeg_reader *r)
{
    for (jpeg_saved_marker_ptr m = r->jpeg.marker_list; m; m = m->next) {
        int orientation = att_exif_orientation(m->data, m->data_length);
        if (orientation != 1)
            return orientation;
    }
    return 1;
}

/* Converts CMYK to RGB. Adobe's programs store the values inverted: 255 means no ink. */
static void cmyk_to_rgb(uint8_t *rgb, const uint8_t *cmyk, int64_t width, bool inverted)
{
    for (int64_t x = 0; x < width; x++)
        for (int c = 0; c < ATT_RGB; c++) {
            int color = cmyk[4 * x + c], black = cmyk[4 * x + 3];
            int light = inverted ? color * black : (255 - color) * (255 - black);
            rgb[ATT_RGB * x + c] = (uint8_t)((light + 127) / 255);
        }
}

static void read_rows(jpeg_reader *r)
{
    bool cmyk = r->jpeg.out_color_space == JCS_CMYK;
    if (cmyk && !(r->cmyk_row = att_alloc((size_t)r->image.width, 4)))
        abort_read(r, att_fail_memory(r->err));
    while (r->jpeg.output_scanline < r->jpeg.output_height) {
        uint8_t *at =
            r->image.pixels + (size_t)r->jpeg.output_scanline * (size_t)r->image.width * ATT_RGB;
        JSAMPROW row = cmyk ? r->cmyk_row : at;
        jpeg_read_scanlines(&r->jpeg, &row, 1);
        if (cmyk)
            cmyk_to_rgb(at, r->cmyk_row, r->image.width, r->jpeg.saw_Adobe_marker);
    }
}

/* Fills r->image, or sets r->status. */
static void read_all(jpeg_reader *r)
{
    if (setjmp(r->failed))
        return;
    open_file(r);
    J_COLOR_SPACE colors = r->jpeg.jpeg_color_space;
    r->jpeg.out_color_space = colors == JCS_CMYK || colors == JCS_YCCK ? JCS_CMYK : JCS_RGB;
    att_status status = att_image_alloc(&r->image, r->jpeg.image_width, r->jpeg.image_height,
                                        (uint64_t)r->size * PIXELS_PER_BYTE, r->name, r->err);
    if (status != ATT_OK)
        abort_read(r, status);
    jpeg_start_decompress(&r->jpeg);
    read_rows(r);
    int orientation = find_orientation(r); /* before libjpeg releases the markers */
    jpeg_finish_decompress(&r->jpeg);
    r->status = att_image_apply_orientation(&r->image, orientation, r->err);
}

att_status att_jpeg_read(att_image *out, const void *bytes, size_t size, const char *name,
                         att_error *err)
{
    jpeg_reader r = { .bytes = bytes, .size = size, .name = name, .err = err };
    read_all(&r);
    jpeg_destroy_decompress(&r.jpeg);
    att_free(r.cmyk_row);
    if (r.status == ATT_OK)
        *out = r.image;
    else
        att_image_free(&r.image);
    return r.status;
}

#else

att_status att_jpeg_read(att_image *out, const void *bytes, size_t size, const char *name,
                         att_error *err)
{
    (void)out, (void)bytes, (void)size;
    return att_fail(err, ATT_UNSUPPORTED, name,
                    "is a JPEG file, which this build cannot read: it has no libjpeg");
}

#endif
