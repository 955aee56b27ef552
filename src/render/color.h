/* Colours of maps. Two ramps, both monotonic in lightness and safe for colour-blind eyes: `paper`
 * runs from near white to deep blue, `screen` from deep violet to light yellow, which reads well on
 * dark and light terminals. For values of either sign each has a diverging one, from orange to
 * blue, with zero as light as paper or as dark as a screen. Values are quantised to
 * ATT_COLOR_LEVELS steps. */
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

/* The range of values that a ramp spreads over. A diverging one is symmetric around zero. */
typedef struct att_color_scale {
    double low;
    double high;
    bool diverging;
} att_color_scale;

/* The step of `value`, 0 to ATT_COLOR_LEVELS - 1; values beyond the range get its ends. */
int att_color_scale_level(const att_color_scale *scale, double value);

att_rgb att_colormap_color(att_colormap ramp, int level);

/* The i-th of the ATT_COLORMAP_ANCHORS colours, evenly spaced, that the ramp is linear between. */
att_rgb att_colormap_anchor(att_colormap ramp, int index);

/* True where white text is easier to read on this colour than black. */
bool att_rgb_is_dark(att_rgb color);

/* The same among the 240 fixed colours of a 256-colour terminal. */
int att_colormap_256(att_colormap ramp, int level);

#endif
