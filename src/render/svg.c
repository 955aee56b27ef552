/* The parts that all SVG documents share. */
#include "render/svg.h"

#include <inttypes.h>

enum { FONT = 13 };

void att_put_svg_begin(att_writer *out, int64_t width, int64_t height, const char *title)
{
    att_putf(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRId64 "\" height=\"%" PRId64
             "\" viewBox=\"0 0 %" PRId64 " %" PRId64 "\" role=\"img\" "
             "font-family=\"Noto Sans, DejaVu Sans, sans-serif\" font-size=\"%d\" "
             "fill=\"#1a1a1a\">\n<title>",
             width, height, width, height, FONT);
    att_put_xml(out, title);
    att_put(out, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
}

void att_put_color(att_writer *out, att_rgb color)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t parts[3] = { color.red, color.green, color.blue };
    char text[7] = "#";
    for (int i = 0; i < 3; i++) {
        text[1 + 2 * i] = digits[parts[i] >> 4];
        text[2 + 2 * i] = digits[parts[i] & 15];
    }
    att_put_bytes(out, text, sizeof text);
}

void att_put_colormap_stops(att_writer *out, att_colormap colormap)
{
    for (int i = 0; i < ATT_COLORMAP_ANCHORS; i++) {
        /* Eighths are exact in thousandths, so there is no rounding. */
        int thousandths = i * 1000 / (ATT_COLORMAP_ANCHORS - 1);
        att_putf(out, "<stop offset=\"%d.%03d\" stop-color=\"", thousandths / 1000,
                 thousandths % 1000);
        att_put_color(out, att_colormap_anchor(colormap, i));
        att_put(out, "\"/>\n");
    }
}
