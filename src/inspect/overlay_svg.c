/* The strip as SVG, and as a page; see strip.h. The picture stands in the file once, and every copy
 * refers to it. Over each lies a veil, thin where the word looked: a rect for each cell of the
 * grid, blurred so that what lies between cells is seen as being between them. */
#include "inspect/overlay.h"

#include "base/math.h"
#include "render/html_page.h"
#include "render/number.h"
#include "text/display_width.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    TILE = 168, /* the longer side of a copy */
    GAP = 12,
    MARGIN = 16,
    LABEL = 40, /* room for the word and its probability beneath a copy */
    FONT = 14,
    ACROSS = 6,         /* copies side by side */
    SHADE = 82,         /* percent that the veil hides at most */
    LABEL_COLUMNS = 20, /* longer words are cut */
};

typedef struct overlay {
    att_writer *out;
    const att_output *output;
    const att_overlay_image *image;
    int64_t width, height; /* of a copy */
    int64_t columns, rows; /* copies, that of the picture alone among them */
} overlay;

/* ---- the picture */

static void put_base64(att_writer *out, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size && out->status == ATT_OK; i += 3) {
        size_t left = size - i < 3 ? size - i : 3;
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
    const att_overlay_image *backdrop = s->image;
    bool png = backdrop->size > 1 && ((const uint8_t *)backdrop->file)[0] == 0x89;
    att_putf(s->out,
             "<image id=\"picture\" width=\"%" PRId64 "\" height=\"%" PRId64
             "\" preserveAspectRatio=\"%s\" xlink:href=\"data:image/%s;base64,",
             s->width, s->height, backdrop->crop ? "xMidYMid slice" : "none", png ? "png" : "jpeg");
    put_base64(s->out, backdrop->file, backdrop->size);
    att_put(s->out, "\"/>\n");
}

static bool same_pixel(const uint8_t *a, const uint8_t *b)
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* A rect for each run of equal pixels in a row: pictures given so are small and plain. */
static void put_pixels(const overlay *s)
{
    const att_overlay_image *b = s->image;
    att_putf(s->out,
             "<svg id=\"picture\" width=\"%" PRId64 "\" height=\"%" PRId64
             "\" viewBox=\"0 0 %" PRId64 " %" PRId64
             "\" preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\">\n",
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

/* Where there is none, paper that the veil can be seen on. */
static void put_background(const overlay *s)
{
    att_putf(s->out,
             "<rect id=\"picture\" width=\"%" PRId64 "\" height=\"%" PRId64
             "\" fill=\"#f2e9d0\"/>\n",
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

/* Cells reach one beyond the picture on each side, so that the blur does not fade at its edges. */
static void put_shade(const overlay *s, int64_t word)
{
    const att_output *answer = s->output;
    int64_t rows = answer->grid_rows, columns = answer->grid_columns;
    att_put(s->out, "<g filter=\"url(#soft)\">\n");
    for (int64_t r = -1; r <= rows; r++)
        for (int64_t c = -1; c <= columns; c++) {
            int64_t left = s->width * c / columns, top = s->height * r / rows;
            int hidden = (int)lround(SHADE * (1 - att_overlay_weight(answer, word, r, c)));
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

/* Copy 0 is the picture alone. */
static void put_tile(const overlay *s, int64_t index)
{
    att_putf(s->out, "<g transform=\"translate(%" PRId64 " %" PRId64 ")\">\n",
             MARGIN + index % s->columns * (s->width + GAP),
             MARGIN + index / s->columns * (s->height + LABEL));
    att_put(s->out, "<g clip-path=\"url(#frame)\">\n<use xlink:href=\"#picture\"/>\n");
    if (index > 0)
        put_shade(s, index - 1);
    att_put(s->out, "</g>\n");
    if (index > 0)
        put_word(s, index - 1);
    att_put(s->out, "</g>\n");
}

/* ---- all of it */

/* A copy keeps the picture's shape, unless what was seen of it is a square. */
static void layout_overlay(overlay *s)
{
    const att_overlay_image *b = s->image;
    s->width = s->height = TILE;
    if (b && !b->crop && b->rows > 0 && b->columns > b->rows)
        s->height = TILE * b->rows / b->columns;
    else if (b && !b->crop && b->columns > 0 && b->rows > b->columns)
        s->width = TILE * b->columns / b->rows;
    int64_t copies = s->output->target_count + 1;
    s->columns = copies < ACROSS ? copies : ACROSS;
    s->rows = (copies + s->columns - 1) / s->columns;
}

void att_overlay_put_svg(att_writer *out, const att_output *answer,
                         const att_overlay_image *backdrop)
{
    overlay s = { .out = out, .output = answer, .image = backdrop };
    layout_overlay(&s);
    int64_t width = 2 * MARGIN + s.columns * (s.width + GAP) - GAP;
    int64_t height = 2 * MARGIN + s.rows * (s.height + LABEL);
    int64_t blur = s.width / answer->grid_columns / 3;
    att_putf(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" "
             "xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"%" PRId64 "\" height=\"%" PRId64
             "\" viewBox=\"0 0 %" PRId64 " %" PRId64 "\" role=\"img\">\n<title>",
             width, height, width, height);
    att_put_xml(out, answer->text);
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
    for (int64_t i = 0; i <= answer->target_count && out->status == ATT_OK; i++)
        put_tile(&s, i);
    att_put(out, "</svg>\n");
}

att_status att_overlay_svg(att_string *text, const att_output *answer,
                           const att_overlay_image *backdrop, att_error *err)
{
    att_writer out = att_writer_on(text);
    att_overlay_put_svg(&out, answer, backdrop);
    return att_writer_finish(&out, err);
}

att_status att_overlay_html(att_string *text, const att_output *answer,
                            const att_overlay_image *backdrop, att_error *err)
{
    att_writer out = att_writer_on(text);
    char percent[ATT_NUMBER_SIZE];
    att_put_html_head(&out, answer->text[0] ? answer->text : "An empty answer",
                      "main{max-width:72rem}\n");
    att_put_html_body(&out);
    att_put(&out, "<h1><bdi>");
    att_put_xml(&out, answer->text);
    att_put(&out, "</bdi></h1>\n");
    if (answer->truncated)
        att_put(&out, "<p>The answer was cut: the model had not come to an end.</p>\n");
    att_put(&out, "<p>The picture, and for each word where the model looked for it, with the "
                  "probability of the word after those before it.</p>\n<figure>\n");
    att_overlay_put_svg(&out, answer, backdrop);
    att_number_print(percent, 100 * att_exp(answer->score), (att_number_format){ .decimals = 4 });
    att_putf(&out, "</figure>\n<footer>The whole answer has the probability %s %%.</footer>\n",
             percent);
    att_put_html_end(&out);
    return att_writer_finish(&out, err);
}
