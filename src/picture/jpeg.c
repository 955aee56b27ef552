/* JPEG files, by libjpeg-turbo. It reports failures by a call that must not come back: all that is
 * made is in `reading`, which the jump leaves as it is, and is released in one place. */
#include "picture/picture.h"

#include "base/alloc.h"
#include "base/error.h"

#ifdef ATT_HAVE_JPEG
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs it before */

#include <jerror.h>
#include <jpeglib.h>

enum {
    PIXELS_PER_BYTE = 512, /* a block of 8 x 8 takes a bit at least */
    MOST_SCANS = 500,      /* of a progressive file; each goes through the whole picture again */
    EXIF_MARKER = JPEG_APP0 + 1,
    LONGEST_MARKER = 0xffff,
};

typedef struct reading {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    const void *bytes;
    size_t size;
    const char *name;
    att_status status;
    att_error *err;
    att_picture picture;
    uint8_t *line; /* in colours of print */
} reading;

static _Noreturn void give_up(reading *r, att_status status)
{
    r->status = status;
    longjmp(r->failed, 1);
}

/* What libjpeg calls when it cannot go on. */
static _Noreturn void fail(j_common_ptr jpeg)
{
    reading *r = jpeg->client_data;
    char why[JMSG_LENGTH_MAX];
    if (jpeg->err->msg_code == JERR_OUT_OF_MEMORY)
        give_up(r, att_fail_memory(r->err));
    jpeg->err->format_message(jpeg, why);
    give_up(r, att_fail(r->err, ATT_BAD_INPUT, r->name, "is no proper JPEG file: %s", why));
}

/* Warnings that leave the picture whole. After any other, grey stands where the file is wrong. */
static bool is_harmless(int code)
{
    static const int harmless[] = { JWRN_ADOBE_XFORM, JWRN_BOGUS_PROGRESSION, JWRN_EXTRANEOUS_DATA,
                                    JWRN_JFIF_MAJOR, JWRN_TOO_MUCH_DATA };
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
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
    reading *r = jpeg->client_data;
    if (r->jpeg.input_scan_number > MOST_SCANS)
        give_up(r, att_fail(r->err, ATT_BAD_INPUT, r->name,
                            "is a JPEG file of more than %d scans; no more are read", MOST_SCANS));
}

static void open_file(reading *r)
{
    r->jpeg.err = jpeg_std_error(&r->errors);
    r->errors.error_exit = fail;
    r->errors.emit_message = warn;
    r->jpeg.client_data = r;
    jpeg_create_decompress(&r->jpeg);
    r->progress.progress_monitor = count_scans;
    r->jpeg.progress = &r->progress;
    jpeg_mem_src(&r->jpeg, r->bytes, r->size);
    jpeg_save_markers(&r->jpeg, EXIF_MARKER, LONGEST_MARKER);
    jpeg_read_header(&r->jpeg, TRUE);
}

static int orientation_of(const reading *r)
{
    for (jpeg_saved_marker_ptr m = r->jpeg.marker_list; m; m = m->next) {
        int orientation = att_exif_orientation(m->data, m->data_length);
        if (orientation != 1)
            return orientation;
    }
    return 1;
}

/* Cyan, magenta, yellow and black to red, green and blue. Adobe's programs store the paper that
 * shines through, not the ink. */
static void from_print(uint8_t *rgb, const uint8_t *cmyk, int64_t width, bool paper)
{
    for (int64_t x = 0; x < width; x++)
        for (int c = 0; c < ATT_RGB; c++) {
            int colour = cmyk[4 * x + c], black = cmyk[4 * x + 3];
            int light = paper ? colour * black : (255 - colour) * (255 - black);
            rgb[ATT_RGB * x + c] = (uint8_t)((light + 127) / 255);
        }
}

static void read_lines(reading *r)
{
    bool print = r->jpeg.out_color_space == JCS_CMYK;
    if (print && !(r->line = att_alloc((size_t)r->picture.width, 4)))
        give_up(r, att_fail_memory(r->err));
    while (r->jpeg.output_scanline < r->jpeg.output_height) {
        uint8_t *at = r->picture.pixels +
                      (size_t)r->jpeg.output_scanline * (size_t)r->picture.width * ATT_RGB;
        JSAMPROW row = print ? r->line : at;
        jpeg_read_scanlines(&r->jpeg, &row, 1);
        if (print)
            from_print(at, r->line, r->picture.width, r->jpeg.saw_Adobe_marker);
    }
}

/* Fills r->picture, or r->status says why not. */
static void read_all(reading *r)
{
    if (setjmp(r->failed))
        return;
    open_file(r);
    J_COLOR_SPACE colours = r->jpeg.jpeg_color_space;
    r->jpeg.out_color_space = colours == JCS_CMYK || colours == JCS_YCCK ? JCS_CMYK : JCS_RGB;
    att_status status = att_picture_room(&r->picture, r->jpeg.image_width, r->jpeg.image_height,
                                         (uint64_t)r->size * PIXELS_PER_BYTE, r->name, r->err);
    if (status != ATT_OK)
        give_up(r, status);
    jpeg_start_decompress(&r->jpeg);
    read_lines(r);
    int orientation = orientation_of(r); /* before the markers are gone */
    jpeg_finish_decompress(&r->jpeg);
    r->status = att_picture_turn(&r->picture, orientation, r->err);
}

att_status att_jpeg_read(att_picture *out, const void *bytes, size_t size, const char *name,
                         att_error *err)
{
    reading r = { .bytes = bytes, .size = size, .name = name, .err = err };
    read_all(&r);
    jpeg_destroy_decompress(&r.jpeg);
    att_free(r.line);
    if (r.status == ATT_OK)
        *out = r.picture;
    else
        att_picture_free(&r.picture);
    return r.status;
}

#else

att_status att_jpeg_read(att_picture *out, const void *bytes, size_t size, const char *name,
                         att_error *err)
{
    (void)out, (void)bytes, (void)size;
    return att_fail(err, ATT_UNSUPPORTED, name,
                    "is a JPEG file, which this build cannot read: it lacks libjpeg");
}

#endif
