/* Images: reading files of every type, refusing invalid ones, orientation, crop and resize. */
#include "image/make_image.h"
#include "base/minmax.h"

#include "base/alloc.h"
#include "failing_memory.h"
#include "image/image.h"

#include <math.h>

#if defined(ATT_HAVE_JPEG) || defined(ATT_HAVE_PNG)
/* Checks the color of a pixel within the error of JPEG. */
static void expect_pixel(const att_image *p, int64_t x, int64_t y, const uint8_t *color)
{
    enum { LOST = 8 };
    for (int c = 0; c < 3; c++)
        assert_in_range(p->pixels[(y * p->width + x) * 3 + c] + LOST, color[c],
                        color[c] + 2 * LOST);
}

static const uint8_t RED[] = { 255, 0, 0 }, GREEN[] = { 0, 255, 0 }, BLUE[] = { 0, 0, 255 },
                     WHITE[] = { 255, 255, 255 }, BLACK[] = { 0, 0, 0 };

/* Checks the four quarters, away from their borders. */
static void expect_quarters(const att_image *p, const uint8_t *const quarters[4])
{
    for (int q = 0; q < 4; q++)
        expect_pixel(p, q % 2 ? p->width - 3 : 2, q / 2 ? p->height - 3 : 2, quarters[q]);
}

static void expect_scene(const void *bytes, size_t size, const uint8_t *const quarters[4],
                         bool turned)
{
    att_image p;
    att_error err = { 0 };
    assert_int_equal(att_image_read(&p, bytes, size, "scene", &err), ATT_OK);
    assert_int_equal(p.width, turned ? TALL : WIDE);
    assert_int_equal(p.height, turned ? WIDE : TALL);
    expect_quarters(&p, quarters);
    att_image_free(&p);
}

static const uint8_t *const as_made[4] = { RED, GREEN, BLUE, WHITE };

/* Every truncated file is refused with a message that names it, and nothing leaks. */
static void expect_cuts_refused(const void *bytes, size_t size)
{
    size_t live = att_alloc_live();
    for (size_t cut = 0; cut + 12 < size; cut++) {
        att_image p;
        att_error err = { 0 };
        uint8_t *copy = att_alloc(cut, 1); /* so that a sanitizer detects reading beyond the end */
        assert_non_null(copy);
        memcpy(copy, bytes, cut);
        assert_int_equal(att_image_read(&p, copy, cut, "cut.file", &err), ATT_BAD_INPUT);
        assert_string_equal(err.place, "cut.file");
        assert_true(err.message[0] != '\0' && !strchr(err.message, '\n'));
        assert_null(p.pixels);
        att_free(copy);
    }
    assert_int_equal(att_alloc_live(), live);
}
#endif

/* ---------------------------------------------------------------- JPEG */

#ifdef ATT_HAVE_JPEG
static void jpeg_files_of_every_kind_are_read(void **state)
{
    (void)state;
    static const uint8_t *const gray[4] = { BLACK, WHITE, BLACK, WHITE };
    static const jpeg_kind kinds[] = { { JCS_RGB, false, 0 },
                                       { JCS_RGB, true, 0 },
                                       { JCS_GRAYSCALE, false, 0 },
                                       { JCS_CMYK, false, 0 } };
    for (size_t i = 0; i < ATT_COUNT(kinds); i++) {
        size_t size;
        uint8_t *bytes = make_jpeg(kinds[i], &size);
        expect_scene(bytes, size, kinds[i].colors == JCS_GRAYSCALE ? gray : as_made, false);
        free(bytes);
    }
}

static void the_exif_orientation_is_applied(void **state)
{
    (void)state;
    /* The positions of the quarters, by the definition of the Exif orientations. */
    static const uint8_t *const upright[8][4] = {
        { RED, GREEN, BLUE, WHITE }, { GREEN, RED, WHITE, BLUE }, { WHITE, BLUE, GREEN, RED },
        { BLUE, WHITE, RED, GREEN }, { RED, BLUE, GREEN, WHITE }, { BLUE, RED, WHITE, GREEN },
        { WHITE, GREEN, BLUE, RED }, { GREEN, WHITE, RED, BLUE },
    };
    for (int orientation = 1; orientation <= 8; orientation++) {
        size_t size;
        uint8_t *bytes = make_jpeg((jpeg_kind){ JCS_RGB, false, orientation }, &size);
        expect_scene(bytes, size, upright[orientation - 1], orientation > 4);
        free(bytes);
    }
}

static void a_jpeg_file_that_ends_early_is_refused(void **state)
{
    (void)state;
    for (int progressive = 0; progressive < 2; progressive++) {
        size_t size;
        uint8_t *bytes = make_jpeg((jpeg_kind){ JCS_RGB, progressive, 6 }, &size);
        expect_cuts_refused(bytes, size);
        free(bytes);
    }
}

/* The frame header, from its marker on: length, bits, height, width. */
static uint8_t *frame_of(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i + 1 < size; i++)
        if (bytes[i] == 0xff && (bytes[i + 1] == 0xc0 || bytes[i + 1] == 0xc2))
            return bytes + i;
    return NULL;
}

static void a_jpeg_file_that_states_a_wrong_size_is_refused_before_allocating(void **state)
{
    (void)state;
    static const struct {
        uint8_t height, width; /* in units of 256 */
        const char *says;
    } claims[] = { { 0xff, 0xff, "at most 65535 per side" },
                   { 0x20, 0x20, "more than a file of its size can hold" } };
    for (size_t i = 0; i < ATT_COUNT(claims); i++) {
        size_t size;
        att_image p;
        att_error err = { 0 };
        uint8_t *bytes = make_jpeg((jpeg_kind){ JCS_RGB, true, 0 }, &size);
        uint8_t *frame = frame_of(bytes, size);
        assert_non_null(frame);
        frame[5] = claims[i].height;
        frame[7] = claims[i].width;
        assert_int_equal(att_image_read(&p, bytes, size, "lie.jpg", &err), ATT_BAD_INPUT);
        assert_non_null(strstr(err.message, claims[i].says));
        free(bytes);
    }
}

static void memory_may_run_out_while_a_jpeg_file_is_read(void **state)
{
    (void)state;
    size_t size, live = att_alloc_live();
    uint8_t *bytes = make_jpeg((jpeg_kind){ JCS_CMYK, false, 6 }, &size);
    for (size_t n = 1; n <= 3; n++) { /* pixels, a row of CMYK, the upright image */
        att_image p;
        att_error err = { 0 };
        att_alloc_fail_at(n);
        assert_int_equal(att_image_read(&p, bytes, size, "a.jpg", &err), ATT_NO_MEMORY);
        att_alloc_fail_at(0);
        assert_int_equal(att_alloc_live(), live);
    }
    free(bytes);
}

static void an_exif_segment_of_any_bytes_is_safe(void **state)
{
    (void)state;
    uint8_t exif[40] = { 'E', 'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 0xff, 0xff, 0xff, 0xff };
    assert_int_equal(att_exif_orientation(exif, sizeof exif), 1); /* a directory beyond the end */
    const uint8_t little[] = { 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0 };
    memcpy(exif + 10, little, sizeof little);
    assert_int_equal(att_exif_orientation(exif, sizeof exif), 6);
    for (size_t size = 0; size < 26; size++) /* truncated before the value */
        assert_int_equal(att_exif_orientation(exif, size), 1);
    exif[24] = 9;
    assert_int_equal(att_exif_orientation(exif, sizeof exif), 1);
}
#endif

/* ---------------------------------------------------------------- PNG */

#ifdef ATT_HAVE_PNG
static void png_files_of_every_kind_are_read(void **state)
{
    (void)state;
    static const uint8_t *const on_white[4] = { RED, WHITE, BLUE, WHITE };
    static const uint8_t *const gray[4] = { WHITE, BLACK, BLACK, WHITE };
    static const uint8_t *const gray_on_white[4] = { WHITE, WHITE, BLACK, WHITE };
    static const struct {
        png_kind kind;
        const uint8_t *const *quarters;
    } rows[] = {
        { { PNG_COLOR_TYPE_RGB, 8, false }, as_made },
        { { PNG_COLOR_TYPE_RGB, 8, true }, as_made },
        { { PNG_COLOR_TYPE_RGB, 16, false }, as_made },
        { { PNG_COLOR_TYPE_PALETTE, 8, false }, as_made },
        { { PNG_COLOR_TYPE_RGB_ALPHA, 8, true }, on_white },
        { { PNG_COLOR_TYPE_RGB_ALPHA, 16, false }, on_white },
        { { PNG_COLOR_TYPE_GRAY, 8, false }, gray },
        { { PNG_COLOR_TYPE_GRAY, 16, true }, gray },
        { { PNG_COLOR_TYPE_GRAY_ALPHA, 8, false }, gray_on_white },
        { { PNG_COLOR_TYPE_GRAY_ALPHA, 16, false }, gray_on_white },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        att_string bytes = make_png(rows[i].kind);
        expect_scene(bytes.data, bytes.length, rows[i].quarters, false);
        att_string_free(&bytes);
    }
}

static void a_png_file_that_ends_early_is_refused(void **state)
{
    (void)state;
    att_string bytes = make_png((png_kind){ PNG_COLOR_TYPE_RGB, 8, false });
    expect_cuts_refused(bytes.data, bytes.length);
    att_string_free(&bytes);
}

/* Sets width and height in the header and corrects its checksum, which libpng verifies first. */
static void claim_size(att_string *png, uint32_t width, uint32_t height)
{
    enum { CHUNK = 12, SIZES = 16, LENGTH = 17 };
    uint8_t *bytes = (uint8_t *)png->data;
    uint32_t sum = 0xffffffff;
    for (int i = 0; i < 4; i++) {
        bytes[SIZES + i] = (uint8_t)(width >> (24 - 8 * i));
        bytes[SIZES + 4 + i] = (uint8_t)(height >> (24 - 8 * i));
    }
    for (int i = 0; i < LENGTH; i++) {
        sum ^= bytes[CHUNK + i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
    }
    for (int i = 0; i < 4; i++)
        bytes[CHUNK + LENGTH + i] = (uint8_t)(~sum >> (24 - 8 * i));
}

static void a_png_file_that_states_a_wrong_size_is_refused_before_allocating(void **state)
{
    (void)state;
    static const struct {
        uint32_t width, height;
        const char *says;
    } claims[] = {
        { 40000, 40000, "has 40000 x 40000 pixels, expected at most 65535 per side" },
        { 70000, 2, "has 70000 x 2 pixels, expected at most 65535 per side" },
        { 9000, 9000, "more than a file of its size can hold" },
        { 0, 0, "is not a valid PNG file: " },
        { 0, 16, "is not a valid PNG file: " },
        { 25, 16, "is not a valid PNG file: " },
    };
    for (size_t i = 0; i < ATT_COUNT(claims); i++) {
        att_image p;
        att_error err = { 0 };
        size_t live = att_alloc_live();
        att_string bytes = make_png((png_kind){ PNG_COLOR_TYPE_RGB, 8, false });
        claim_size(&bytes, claims[i].width, claims[i].height);
        assert_int_equal(att_image_read(&p, bytes.data, bytes.length, "lie.png", &err),
                         ATT_BAD_INPUT);
        assert_string_equal(err.place, "lie.png");
        assert_non_null(strstr(err.message, claims[i].says));
        att_string_free(&bytes);
        assert_int_equal(att_alloc_live(), live);
    }
}

static void a_damaged_png_file_is_refused(void **state)
{
    (void)state;
    att_image p;
    att_error err = { 0 };
    att_string bytes = make_png((png_kind){ PNG_COLOR_TYPE_RGB, 8, false });
    bytes.data[60] ^= 0x40; /* within the compressed pixels */
    assert_int_equal(att_image_read(&p, bytes.data, bytes.length, "bad.png", &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "is not a valid PNG file: "));
    att_string_free(&bytes);
}
#endif

/* ---------------------------------------------------------------- any format */

static void other_files_are_refused_by_name(void **state)
{
    (void)state;
    att_image p;
    att_error err = { 0 };
    assert_int_equal(att_image_read(&p, "GIF89a", 6, "a.gif", &err), ATT_BAD_INPUT);
    assert_string_equal(err.place, "a.gif");
    assert_string_equal(err.message, "is neither a JPEG nor a PNG file (6 bytes)");
    assert_int_equal(att_image_load(&p, "/nowhere/a.jpg", &err), ATT_BAD_INPUT);
    assert_string_equal(err.place, "/nowhere/a.jpg");
}

/* An image whose red is the column and green the row. */
static att_image ramp(int64_t width, int64_t height)
{
    att_image p;
    assert_int_equal(
        att_image_alloc(&p, (uint64_t)width, (uint64_t)height, UINT64_MAX, "ramp", NULL), ATT_OK);
    for (int64_t i = 0; i < width * height; i++) {
        p.pixels[3 * i] = (uint8_t)(i % width);
        p.pixels[3 * i + 1] = (uint8_t)(i / width);
        p.pixels[3 * i + 2] = 77;
    }
    return p;
}

static void a_center_crop_of_the_same_size_is_a_copy(void **state)
{
    (void)state;
    att_image p = ramp(40, 21), square;
    assert_int_equal(att_image_center_crop(&square, &p, 21, NULL), ATT_OK);
    for (int64_t y = 0; y < 21; y++)
        for (int64_t x = 0; x < 21; x++) {
            assert_int_equal(square.pixels[(y * 21 + x) * 3], x + 9);
            assert_int_equal(square.pixels[(y * 21 + x) * 3 + 1], y);
        }
    att_image_free(&square);
    static const int64_t wrong[] = { 0, -1, 65536, INT64_MAX };
    for (size_t i = 0; i < ATT_COUNT(wrong); i++) {
        assert_int_equal(att_image_center_crop(&square, &p, wrong[i], NULL), ATT_BAD_INPUT);
        assert_null(square.pixels);
    }
    const att_image none = { 0 };
    assert_int_equal(att_image_center_crop(&square, &none, 5, NULL), ATT_BAD_INPUT);
    att_image_free(&p);
}

/* The weights are symmetric about the center, so that a ramp stays a ramp away from the borders. */
static void a_ramp_stays_a_ramp_in_any_size(void **state)
{
    (void)state;
    static const int64_t sides[] = { 1, 7, 16, 50, 64, 99, 128 };
    att_image p = ramp(64, 64), square;
    for (size_t i = 0; i < ATT_COUNT(sides); i++) {
        int64_t n = sides[i];
        double step = 64.0 / (double)n, reach = 2 * (step > 1 ? step : 1);
        assert_int_equal(att_image_center_crop(&square, &p, n, NULL), ATT_OK);
        for (int64_t x = 0; x < n; x++) {
            double center = ((double)x + 0.5) * step - 0.5;
            if (center - reach < 0 || center + reach > 63)
                continue;
            const uint8_t *pixel = square.pixels + (n / 2 * n + x) * 3;
            assert_true(fabs(pixel[0] - center) <=
                        0.51); /* rounded twice, the first time identically */
            assert_int_equal(pixel[2], 77);
        }
        att_image_free(&square);
    }
    att_image_free(&p);
}

static att_status scale(void *context)
{
    att_image square;
    att_status status = att_image_center_crop(&square, context, 9, NULL);
    if (status == ATT_OK)
        att_image_free(&square);
    return status;
}

static void memory_may_run_out_while_an_image_is_resized(void **state)
{
    (void)state;
    att_image p = ramp(30, 20);
    assert_true(every_allocation_fails(scale, &p, 100) > 7);
    att_image_free(&p);
}

#ifdef ATT_HAVE_PNG
static void an_image_written_as_png_reads_back_unchanged(void **state)
{
    (void)state;
    att_image p = ramp(37, 23), back;
    att_string bytes = { 0 };
    assert_int_equal(att_string_append(&bytes, "before", 6), ATT_OK);
    assert_int_equal(att_image_png(&bytes, &p, NULL), ATT_OK);
    assert_memory_equal(bytes.data, "before", 6);
    assert_int_equal(att_image_read(&back, bytes.data + 6, bytes.length - 6, "back", NULL), ATT_OK);
    assert_int_equal(back.width, 37);
    assert_int_equal(back.height, 23);
    assert_memory_equal(back.pixels, p.pixels, 37 * 23 * 3);
    att_image_free(&back);
    att_string_free(&bytes);
    att_image_free(&p);
}

static void an_invalid_image_is_not_written(void **state)
{
    (void)state;
    att_image p = ramp(5, 4);
    const att_image empty = { 0 };
    att_string bytes = { 0 };
    att_error err = { 0 };
    assert_int_equal(att_image_png(&bytes, &empty, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "has no pixels");
    att_alloc_fail_at(1);
    assert_int_equal(att_image_png(&bytes, &p, &err), ATT_NO_MEMORY);
    att_alloc_fail_at(0);
    assert_int_equal(bytes.length, 0);
    att_image_free(&p);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef ATT_HAVE_JPEG
        cmocka_unit_test(jpeg_files_of_every_kind_are_read),
        cmocka_unit_test(the_exif_orientation_is_applied),
        cmocka_unit_test(a_jpeg_file_that_ends_early_is_refused),
        cmocka_unit_test(a_jpeg_file_that_states_a_wrong_size_is_refused_before_allocating),
        cmocka_unit_test(memory_may_run_out_while_a_jpeg_file_is_read),
        cmocka_unit_test(an_exif_segment_of_any_bytes_is_safe),
#endif
#ifdef ATT_HAVE_PNG
        cmocka_unit_test(png_files_of_every_kind_are_read),
        cmocka_unit_test(a_png_file_that_ends_early_is_refused),
        cmocka_unit_test(a_png_file_that_states_a_wrong_size_is_refused_before_allocating),
        cmocka_unit_test(a_damaged_png_file_is_refused),
        cmocka_unit_test(an_image_written_as_png_reads_back_unchanged),
        cmocka_unit_test(an_invalid_image_is_not_written),
#endif
        cmocka_unit_test(other_files_are_refused_by_name),
        cmocka_unit_test(a_center_crop_of_the_same_size_is_a_copy),
        cmocka_unit_test(a_ramp_stays_a_ramp_in_any_size),
        cmocka_unit_test(memory_may_run_out_while_an_image_is_resized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
