/* Where everything of a map's SVG goes: cells, labels, panels, legend, all in whole pixels. */
#ifndef ATT_RENDER_SVG_LAYOUT_H
#define ATT_RENDER_SVG_LAYOUT_H

#include "render/map.h"

enum {
    ATT_SVG_MARGIN = 16,
    ATT_SVG_FONT = 13,
    ATT_SVG_TICK_GAP = 6, /* between a label and its cell */
    ATT_SVG_PANEL_GAP = 28,
    ATT_SVG_PANEL_LABEL_ROOM = 22,
    ATT_SVG_LABEL_COLUMNS = 24, /* longer labels are cut; the title has them whole */
    ATT_SVG_BAR_WIDTH = 160,
    ATT_SVG_BAR_HEIGHT = 12,
    ATT_SVG_LEGEND_ROOM = 52,
};

typedef struct att_svg_layout {
    int64_t cell_width; /* a cell, from one to the next */
    int64_t cell_height;
    int64_t cell_gap; /* of which so much stays white */
    int64_t left;     /* room for the query labels of a panel */
    int64_t top;      /* room for its key labels */
    int64_t right;    /* slanted labels lean over the right edge */
    bool slanted;
    int64_t query_step; /* every so many labels are shown */
    int64_t key_step;
    int64_t panel_width; /* with its labels */
    int64_t panel_height;
    int64_t panels_per_row;
    int64_t width;
    int64_t height;
    int64_t panels_top; /* where the panels begin, below the title */
} att_svg_layout;

att_svg_layout att_svg_lay_out(const att_map *map);

/* A label's length in pixels, estimated: an average letter is a little over half its height. */
int64_t att_svg_text_length(const char *label);

/* Whether label `index` is among those shown when every `step`-th is: with numbers 1, 10, 20, …
 * rather than 1, 11, 21, … */
bool att_svg_label_is_shown(const char *const *labels, int64_t index, int64_t step);

#endif
