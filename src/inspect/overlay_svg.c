/* The overlay as SVG and as an HTML page. The file contains the image once, and every copy refers
 * to it. A dark shade covers each copy, transparent where the attention weight of the word is high:
 * one rect per grid cell, blurred to interpolate between cells. */
#include "inspect/overlay.h"

#include "base/math.h"
#include "base/minmax.h"
#include "render/html_page.h"
#include "render/number.h"
#include "text/display_width.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    TILE = 168, /* longer side of a copy, in pixels */
    GAP = 12,
    MARGIN = 16,
    LABEL = 40, /* height of the word and its probability below a copy */
    FONT = 14,
    ACROSS = 6,         /* copies per row */
    SHADE = 82,         /* opacity at weight 0, in percent */
    LABEL_COLUMNS = 20, /* longer words are truncated */
};

typedef struct overlay {
    att_writer *out;
    const att_output *output;
    const att_overlay_image *image;
    int64_t width, height; /* of a copy */
    int64_t columns, rows; /* of copies, including the image without shade */
} overlay;

/* ---- the image */

static void put_base64(att_writer *out, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size && out->status == ATT_OK; i += 3) {
        size_t left = att_min_size(size - i, 3);
        uint32_t all = (uint32_t)bytes[i] << 16;
        all |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        all |= left > 2 ? bytes[i + 2] : 0;
        char text[4] = { digits[all >> 18], digits[all >> 12 & 63],
                         left > 1 ? digits[all >> 6 & 63] : '=',
                         left > 2 ? digits[all & 63] : '=' };
        att_put_bytes(out, text, sizeof text);
    }
}

static void put_file(const overlay *s)
{
    const att_overlay_image *image = s->image;
    bool png = image->size > 1 && ((const uint8_t *)image->file)[0] == 0x89;
    att_putf(s->out,
             "<image id=\"image\" width=\"%" PRId64 "\" height=\"%" PRId64
             "\" preserveAspectRatio=\"%s\" xlink:href=\"data:image/%s;base64,",
             s->width, s->height, image->crop ? "xMidYMid slice" : "none", png ? "png" : "jpeg");
    put_base64(s->out, image->file, image->size);
    att_put(s->out, "\"/>\n");
}

static bool same_pixel(const uint8_t *a, const uint8_t *b)
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* A rect for each run of equal pixels in a row: images given as pixels are small and have large
 * areas of one color. */
static void put_pixels(const overlay *s)
{
    const att_overlay_image *b = s->image;
    att_putf(s->out,
             "<svg id=\"image\" width=\"%" PRId64 "\" height=\"%" PRId64 "\" viewBox=\"0 0 %" PRId64
             " %" PRId64 "\" preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\">\n",
             s->width, s->height, b->columns, b->rows);
    for (int64_t row = 0; row < b->rows; row++) {
        const uint8_t *line = b->pixels + 3 * row * b->columns;
        for (int64_t from = 0, to; from < b->columns; from = to) {
            const uint8_t *pixel = line + 3 * from;
            for (to = from + 1; to < b->columns && same_pixel(pixel, line + 3 * to); to++) {
            }
            att_putf(s->out,
                     "<rect x=\"%" PRId64 "\" y=\"%" PRId64 "\" width=\"%" PRId64
                     "\" height=\"1\" fill=\"#%02x%02x%02x\"/>\n",
                     from, row, to - from, pixel[0], pixel[1], pixel[2]);
        }
    }
    att_put(s->out, "</svg>\n");
}

/* Without an image: a plain background on which the shade is visible. */
static void put_background(const overlay *s)
{
    att_putf(s->out,
             "<rect id=\"image\" width=\"%" PRId64 "\" height=\"%" PRId64 "\" fill=\"#f2e9d0\"/>\n",
             s->width, s->height);
}

static void put_image(const overlay *s)
{
    if (s->image && s->image->file)
        put_file(s);
    else if (s->image && s->image->pixels)
        put_pixels(s);
    else
        put_background(s);
}

/* ---- one copy */

/* One extra cell on each side keeps the blur from fading at the edges of the image. */
static void put_shade(const overlay *s, int64_t word)
{
    const att_output *output = s->output;
    int64_t rows = output->grid_rows, columns = output->grid_columns;
    att_put(s->out, "<g filter=\"url(#soft)\">\n");
    for (int64_t r = -1; r <= rows; r++)
        for (int64_t c = -1; c <= columns; c++) {
            int64_t left = s->width * c / columns, top = s->height * r / rows;
            int hidden = (int)lround(SHADE * (1 - att_overlay_weight(output, word, r, c)));
            att_putf(s->out,
                     "<rect x=\"%" PRId64 "\" y=\"%" PRId64 "\" width=\"%" PRId64
                     "\" height=\"%" PRId64 "\" fill-opacity=\"%d%%\"/>\n",
                     left, top, s->width * (c + 1) / columns - left,
                     s->height * (r + 1) / rows - top, hidden);
        }
    att_put(s->out, "</g>\n");
}

static void put_word(const overlay *s, int64_t word)
{
    const char *token = s->output->target_tokens[word];
    char shown[LABEL_COLUMNS * 32];
    size_t length = att_display_width_fit(token, LABEL_COLUMNS);
    length = length < sizeof shown ? length : 0;
    snprintf(shown, sizeof shown, "%.*s", (int)length, token);
    char percent[ATT_NUMBER_SIZE];
    att_number_print(percent, 100 * att_exp(s->output->token_scores[word]),
                     (att_number_format){ .decimals = 0 });
    att_putf(s->out, "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\">", s->width / 2, s->height + 17);
    att_put_xml(s->out, shown);
    att_putf(s->out,
             "</text>\n<text class=\"soft\" x=\"%" PRId64 "\" y=\"%" PRId64 "\">%s %%</text>\n",
             s->width / 2, s->height + 32, percent);
}

/* Copy 0 is the image without shade. */
static void put_tile(const overlay *s, int64_t index)
{
    att_putf(s->out, "<g transform=\"translate(%" PRId64 " %" PRId64 ")\">\n",
             MARGIN + index % s->columns * (s->width + GAP),
             MARGIN + index / s->columns * (s->height + LABEL));
    att_put(s->out, "<g clip-path=\"url(#frame)\">\n<use xlink:href=\"#image\"/>\n");
    if (index > 0)
        put_shade(s, index - 1);
    att_put(s->out, "</g>\n");
    if (index > 0)
        put_word(s, index - 1);
    att_put(s->out, "</g>\n");
}

/* ---- the overlay */

/* A copy keeps the aspect ratio of the image, unless the model saw a square crop of it. */
static void layout_overlay(overlay *s)
{
    const att_overlay_image *b = s->image;
    s->width = s->height = TILE;
    if (b && !b->crop && b->rows > 0 && b->columns > b->rows)
        s->height = TILE * b->rows / b->columns;
    else if (b && !b->crop && b->columns > 0 && b->rows > b->columns)
        s->width = TILE * b->columns / b->rows;
    int64_t copies = s->output->target_count + 1;
    s->columns = att_min_i64(copies, ACROSS);
    s->rows = att_ceil_div_i64(copies, s->columns);
}

void att_overlay_put_svg(att_writer *out, const att_output *output, const att_overlay_image *image)
{
    overlay s = { .out = out, .output = output, .image = image };
    layout_overlay(&s);
    int64_t width = 2 * MARGIN + s.columns * (s.width + GAP) - GAP;
    int64_t height = 2 * MARGIN + s.rows * (s.height + LABEL);
    int64_t blur = s.width / output->grid_columns / 3;
    att_putf(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" "
             "xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"%" PRId64 "\" height=\"%" PRId64
             "\" viewBox=\"0 0 %" PRId64 " %" PRId64 "\" role=\"img\">\n<title>",
             width, height, width, height);
    att_put_xml(out, output->text);
    att_putf(out,
             "</title>\n<style>text{font:%dpx \"Noto Sans\",\"DejaVu Sans\",sans-serif;"
             "text-anchor:middle}.soft{font-size:11px;fill:#667}</style>\n<defs>\n"
             "<clipPath id=\"frame\"><rect width=\"%" PRId64 "\" height=\"%" PRId64
             "\" rx=\"4\"/></clipPath>\n"
             "<filter id=\"soft\" x=\"-20%%\" y=\"-20%%\" width=\"140%%\" height=\"140%%\">"
             "<feGaussianBlur stdDeviation=\"%" PRId64 "\"/></filter>\n",
             FONT, s.width, s.height, blur);
    put_image(&s);
    att_put(out, "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    for (int64_t i = 0; i <= output->target_count && out->status == ATT_OK; i++)
        put_tile(&s, i);
    att_put(out, "</svg>\n");
}

att_status att_overlay_svg(att_string *text, const att_output *output,
                           const att_overlay_image *image, att_error *err)
{
    att_writer out = att_writer_on(text);
    att_overlay_put_svg(&out, output, image);
    return att_writer_finish(&out, err);
}

att_status att_overlay_html(att_string *text, const att_output *output,
                            const att_overlay_image *image, att_error *err)
{
    att_writer out = att_writer_on(text);
    char percent[ATT_NUMBER_SIZE];
    att_put_html_head(&out, output->text[0] ? output->text : "Empty output",
                      "main{max-width:72rem}\n");
    att_put_html_body(&out);
    att_put(&out, "<h1><bdi>");
    att_put_xml(&out, output->text);
    att_put(&out, "</bdi></h1>\n");
    if (output->truncated)
        att_put(&out, "<p>The output was truncated at the maximum length.</p>\n");
    att_put(&out, "<p>The image, and for each word of the caption its attention over the image and "
                  "its probability given the words before it.</p>\n<figure>\n");
    att_overlay_put_svg(&out, output, image);
    att_number_print(percent, 100 * att_exp(output->score), (att_number_format){ .decimals = 4 });
    att_putf(&out, "</figure>\n<footer>Probability of the whole output: %s %%.</footer>\n",
             percent);
    att_put_html_end(&out);
    return att_writer_finish(&out, err);
}
