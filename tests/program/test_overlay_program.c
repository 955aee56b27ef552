/* `attend show` with the attention laid over an image: for every EXIF orientation the image below
 * the attention is the upright center square that the model reads; a file that is not an image is
 * refused by name; with every allocation failing in turn nothing is written and nothing leaks. */
#include "model/image_encoder_help.h"
#include "image/make_image.h"
#include "program/in_process.h"

#if defined(ATT_HAVE_JPEG) && defined(ATT_HAVE_PNG)

static char photo_path[64], model_path[64], last_path[64], encoder_path[64];

static void write_photo(const void *bytes, size_t size)
{
    FILE *file = fopen(photo_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void write_jpeg(int orientation)
{
    size_t size;
    uint8_t *bytes = make_jpeg((jpeg_kind){ JCS_RGB, false, orientation }, &size);
    write_photo(bytes, size);
    free(bytes);
}

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Decodes the image that is embedded in the SVG file. */
static void read_embedded(att_image *out)
{
    static const char before[] = "data:image/png;base64,";
    static char svg[1 << 21];
    FILE *file = fopen(file_path, "rb");
    assert_non_null(file);
    size_t length = fread(svg, 1, sizeof svg - 1, file), size = 0;
    fclose(file);
    svg[length] = '\0';
    const char *at = strstr(svg, before);
    assert_non_null(at);
    uint8_t *bytes = (uint8_t *)svg; /* decoded in place: base64 shrinks */
    uint32_t bits = 0;
    int held = 0;
    for (at += strlen(before); digit_of(*at) >= 0; at++) {
        bits = bits << 6 | (uint32_t)digit_of(*at);
        held += 6;
        if (held >= 8)
            bytes[size++] = (uint8_t)(bits >> (held -= 8));
    }
    att_error err = { 0 };
    if (att_image_read(out, bytes, size, "embedded", &err) != ATT_OK)
        fail_msg("%s", err.message);
}

/* Which quarter of color_at() a pixel is of: 0 red, 1 green, 2 blue, 3 white. */
static int quarter_at(const att_image *p, int64_t x, int64_t y)
{
    const uint8_t *pixel = p->pixels + (y * p->width + x) * 3;
    bool red = pixel[0] > 127, green = pixel[1] > 127, blue = pixel[2] > 127;
    return red && green && blue ? 3 : red ? 0 : green ? 1 : blue ? 2 : -1;
}

static void a_strip_lies_over_the_photograph_put_upright(void **state)
{
    (void)state;
    /* Where the quarters come to lie, by the definition of Exif's orientations. */
    static const int upright[8][4] = { { 0, 1, 2, 3 }, { 1, 0, 3, 2 }, { 3, 2, 1, 0 },
                                       { 2, 3, 0, 1 }, { 0, 2, 1, 3 }, { 2, 0, 3, 1 },
                                       { 3, 1, 2, 0 }, { 1, 3, 0, 2 } };
    for (int orientation = 1; orientation <= 8; orientation++) {
        write_jpeg(orientation);
        const char *const words[] = { "show",    model_path, "--quiet", "--svg",
                                      file_path, photo_path, NULL };
        assert_int_equal(run(words, 0).code, 0);
        att_image p;
        read_embedded(&p);
        assert_int_equal(p.width, p.height);
        for (int q = 0; q < 4; q++)
            assert_int_equal(
                quarter_at(&p, p.width * (q % 2 ? 3 : 1) / 4, p.height * (q / 2 ? 3 : 1) / 4),
                upright[orientation - 1][q]);
        att_image_free(&p);
        unlink(file_path);
    }
}

/* The verbs that read photographs, each writing to file_path or standard output. */
static void refused_by_every_verb(void)
{
    const char *const verbs[][8] = {
        { "show", model_path, "--svg", file_path, photo_path, NULL },
        { "run", encoder_path, photo_path, NULL },
        { "run", model_path, "--image-encoder", encoder_path, photo_path, NULL },
        { "show", model_path, photo_path, "--image-encoder", encoder_path, "--svg", file_path,
          NULL },
        { "features", encoder_path, photo_path, "-o", file_path, NULL },
    };
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        outcome refused = run(verbs[i], 0);
        if (refused.code != 2 || refused.printed != 0 || access(file_path, F_OK) == 0)
            fail_msg("%s, verb %zu: exit code %d", verbs[i][0], i, refused.code);
    }
}

static void what_is_no_picture_is_refused_and_nothing_written(void **state)
{
    (void)state;
    size_t size;
    uint8_t *jpeg = make_jpeg((jpeg_kind){ JCS_RGB, false, 0 }, &size);
    att_string png = make_png((png_kind){ PNG_COLOR_TYPE_RGB, 8, false });
    const struct {
        const void *bytes;
        size_t size;
    } bad[] = { { "a line of text\n", 15 },
                { "", 0 },
                { jpeg, size / 2 },
                { jpeg, 3 },
                { png.data, png.length / 2 } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_photo(bad[i].bytes, bad[i].size);
        refused_by_every_verb();
    }
    att_string_free(&png);
    free(jpeg);
}

static void photographs_of_every_kind_are_named(void **state)
{
    (void)state;
    static const png_kind kinds[] = { { PNG_COLOR_TYPE_RGB, 16, false },
                                      { PNG_COLOR_TYPE_PALETTE, 8, false },
                                      { PNG_COLOR_TYPE_GRAY, 8, true },
                                      { PNG_COLOR_TYPE_GRAY_ALPHA, 8, false } };
    const char *const words[] = { "run", encoder_path, photo_path, NULL };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        att_string png = make_png(kinds[i]);
        write_photo(png.data, png.length);
        att_string_free(&png);
        outcome named = run(words, 0);
        assert_int_equal(named.code, 0);
        assert_true(named.printed > 0);
    }
    size_t size;
    uint8_t *print = make_jpeg((jpeg_kind){ JCS_CMYK, false, 0 }, &size);
    write_photo(print, size);
    free(print);
    assert_int_equal(run(words, 0).code, 0);
}

static void memory_may_run_out_while_an_overlay_is_drawn(void **state)
{
    (void)state;
    write_jpeg(6);
    const char *const over[] = { "show", model_path, "--svg", file_path, photo_path, NULL };
    fails_cleanly(over);
    const char *const scene[] = { "show", model_path, "--html", file_path, NULL };
    fails_cleanly(scene);
}

static int save_encoder(void)
{
    att_image_encoder *encoder = NULL;
    att_bundle *bundle = encoder_bundle(ATT_SQUEEZENET_LABELS);
    att_status status = att_image_encoder_from_bundle(&encoder, bundle, "encoder", NULL);
    if (status == ATT_OK)
        status = att_image_encoder_save(encoder, encoder_path, NULL);
    att_image_encoder_free(encoder);
    att_bundle_free(bundle);
    return (int)status;
}

/* A model trained for one step and an image encoder with random weights: their outputs do not
 * matter here. */
static int begin(void **state)
{
    if (make_folder(state) != 0)
        return -1;
    snprintf(photo_path, sizeof photo_path, "%s/photo", folder);
    snprintf(model_path, sizeof model_path, "%s/m.safetensors", folder);
    snprintf(last_path, sizeof last_path, "%s/m.last.safetensors", folder);
    const char *const words[] = { "train",         "shapes", "--train-count", "4",
                                  "--valid-count", "2",      "--steps",       "1",
                                  "--hidden-size", "8",      "--quiet",       "--out",
                                  model_path,      NULL };
    snprintf(encoder_path, sizeof encoder_path, "%s/encoder.safetensors", folder);
    return run(words, 0).code + save_encoder();
}

static int end(void **state)
{
    unlink(photo_path);
    unlink(model_path);
    unlink(last_path);
    unlink(encoder_path);
    return remove_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strip_lies_over_the_photograph_put_upright),
        cmocka_unit_test(what_is_no_picture_is_refused_and_nothing_written),
        cmocka_unit_test(photographs_of_every_kind_are_named),
        cmocka_unit_test(memory_may_run_out_while_an_overlay_is_drawn),
    };
    return cmocka_run_group_tests(tests, begin, end);
}

#else

int main(void)
{
    return 0;
}

#endif
