/* Colormaps and their approximations in 256-color terminals. */
#include "render/color.h"

#include "base/minmax.h"

static const att_rgb colormaps[][ATT_COLORMAP_ANCHORS] = {
    [ATT_COLORMAP_PAPER] = { { 0xf7, 0xfb, 0xf3 },
                             { 0xdd, 0xf0, 0xe0 },
                             { 0xb5, 0xdf, 0xd3 },
                             { 0x7f, 0xc7, 0xca },
                             { 0x4b, 0xa8, 0xc4 },
                             { 0x2a, 0x84, 0xb5 },
                             { 0x23, 0x60, 0x9d },
                             { 0x1f, 0x40, 0x7c },
                             { 0x16, 0x22, 0x50 } },
    [ATT_COLORMAP_SCREEN] = { { 0x22, 0x14, 0x3d },
                              { 0x3a, 0x25, 0x6b },
                              { 0x3d, 0x42, 0x87 },
                              { 0x30, 0x66, 0x8f },
                              { 0x24, 0x86, 0x8e },
                              { 0x28, 0xa6, 0x82 },
                              { 0x61, 0xc4, 0x63 },
                              { 0xac, 0xdb, 0x3e },
                              { 0xfb, 0xed, 0x5c } },
    [ATT_COLORMAP_DIVERGING] = { { 0x7f, 0x33, 0x0c },
                                 { 0xb3, 0x5a, 0x1f },
                                 { 0xdf, 0x94, 0x55 },
                                 { 0xf4, 0xcd, 0xa6 },
                                 { 0xf8, 0xf8, 0xf4 },
                                 { 0xb5, 0xdf, 0xd8 },
                                 { 0x5b, 0xae, 0xc6 },
                                 { 0x28, 0x71, 0xa8 },
                                 { 0x1a, 0x30, 0x66 } },
    [ATT_COLORMAP_SCREEN_DIVERGING] = { { 0xff, 0xb0, 0x4d },
                                        { 0xdd, 0x7d, 0x22 },
                                        { 0x9c, 0x52, 0x1b },
                                        { 0x55, 0x32, 0x20 },
                                        { 0x20, 0x23, 0x29 },
                                        { 0x1d, 0x41, 0x5c },
                                        { 0x1f, 0x6c, 0x98 },
                                        { 0x35, 0xa0, 0xc9 },
                                        { 0x7f, 0xdb, 0xee } },
};

int att_color_scale_level(const att_color_scale *scale, double value)
{
    double t = (value - scale->low) / (scale->high - scale->low);
    if (!(t > 0))
        return 0;
    if (t >= 1)
        return ATT_COLOR_LEVELS - 1;
    return (int)(t * (ATT_COLOR_LEVELS - 1) + 0.5);
}

att_rgb att_colormap_anchor(att_colormap colormap, int index)
{
    return colormaps[colormap][index];
}

static uint8_t blend(uint8_t from, uint8_t to, int part, int whole)
{
    return (uint8_t)((from * (whole - part) + to * part + whole / 2) / whole);
}

att_rgb att_colormap_color(att_colormap colormap, int level)
{
    int whole = ATT_COLOR_LEVELS - 1;
    int scaled = level * (ATT_COLORMAP_ANCHORS - 1);
    int index = scaled / whole;
    if (index >= ATT_COLORMAP_ANCHORS - 1)
        return colormaps[colormap][ATT_COLORMAP_ANCHORS - 1];
    att_rgb a = colormaps[colormap][index];
    att_rgb b = colormaps[colormap][index + 1];
    int part = scaled - index * whole;
    return (att_rgb){ blend(a.red, b.red, part, whole), blend(a.green, b.green, part, whole),
                      blend(a.blue, b.blue, part, whole) };
}

bool att_rgb_is_dark(att_rgb c)
{
    /* Luma with the weights of ITU-R BT.601. */
    return 299 * c.red + 587 * c.green + 114 * c.blue < 140 * 1000;
}

static int squared(int x)
{
    return x * x;
}

static int distance(att_rgb c, int red, int green, int blue)
{
    return squared(c.red - red) + squared(c.green - green) + squared(c.blue - blue);
}

/* The levels of the terminal's 6 × 6 × 6 color cube; its gray ramp has 24 levels from 8 in steps of
 * 10. */
static int cube_step(int value)
{
    return value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40;
}

static int nearest_256(att_rgb c)
{
    static const int steps[6] = { 0, 95, 135, 175, 215, 255 };
    int r = cube_step(c.red), g = cube_step(c.green), b = cube_step(c.blue);
    int gray = (c.red + c.green + c.blue) / 3;
    int gray_step = gray < 8 ? 0 : gray > 238 ? 23 : (gray - 3) / 10;
    int level = 8 + 10 * gray_step;
    if (distance(c, level, level, level) < distance(c, steps[r], steps[g], steps[b]))
        return 232 + gray_step;
    return 16 + 36 * r + 6 * g + b;
}

int att_colormap_256(att_colormap colormap, int level)
{
    /* The nearest colors of the screen colormaps would alternate with gray and olive; these were
     * chosen by hand. */
    static const int screen[] = { 17, 54, 60, 61, 31, 37, 36, 42, 78, 113, 149, 185, 227 };
    static const int diverging[] = { 215, 208, 172, 130, 94, 235, 23, 24, 31, 38, 117 };
    static const struct {
        const int *colors;
        int steps;
    } chosen[] = {
        [ATT_COLORMAP_SCREEN] = { screen, ATT_COUNT(screen) },
        [ATT_COLORMAP_SCREEN_DIVERGING] = { diverging, ATT_COUNT(diverging) },
    };
    int steps = chosen[colormap].steps;
    if (steps == 0)
        return nearest_256(att_colormap_color(colormap, level));
    return chosen[colormap]
        .colors[(level * (steps - 1) + ATT_COLOR_LEVELS / 2) / (ATT_COLOR_LEVELS - 1)];
}
