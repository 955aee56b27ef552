/* Colormaps of attention maps and highlighted text, monotonic in lightness and safe for color-blind
 * readers: `paper` runs from near white to deep blue, `screen` from deep violet to light yellow,
 * which is readable on dark and light terminals. Each has a diverging colormap for values of either
 * sign, from orange to blue, with zero as light as paper or as dark as a screen. Values are
 * quantized to ATT_COLOR_LEVELS levels. */
#ifndef ATT_RENDER_COLOR_H
#define ATT_RENDER_COLOR_H

#include <stdbool.h>
#include <stdint.h>

enum { ATT_COLOR_LEVELS = 249, ATT_COLORMAP_ANCHORS = 9 };

typedef struct att_rgb {
    uint8_t red, green, blue;
} att_rgb;

typedef enum att_colormap {
    ATT_COLORMAP_PAPER,
    ATT_COLORMAP_SCREEN,
    ATT_COLORMAP_DIVERGING,
    ATT_COLORMAP_SCREEN_DIVERGING,
} att_colormap;

/* The range of values that a colormap covers. A diverging scale is symmetric around zero. */
typedef struct att_color_scale {
    double low;
    double high;
    bool diverging;
} att_color_scale;

/* The level of `value`, 0 to ATT_COLOR_LEVELS - 1; values outside the range are clamped. */
int att_color_scale_level(const att_color_scale *scale, double value);

att_rgb att_colormap_color(att_colormap colormap, int level);

/* Anchor i of ATT_COLORMAP_ANCHORS evenly spaced colors; the colormap is linear between anchors. */
att_rgb att_colormap_anchor(att_colormap colormap, int index);

/* Whether white text is easier to read on this color than black text. */
bool att_rgb_is_dark(att_rgb color);

/* The color of a level among the 240 fixed colors of a 256-color terminal. */
int att_colormap_256(att_colormap colormap, int level);

#endif
