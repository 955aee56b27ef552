/* The layout of an attention map as SVG: cells, labels, panels and legend, in whole pixels. */
#ifndef ATT_RENDER_SVG_LAYOUT_H
#define ATT_RENDER_SVG_LAYOUT_H

#include "render/map.h"

enum {
    ATT_SVG_MARGIN = 16,
    ATT_SVG_FONT = 13,
    ATT_SVG_TICK_GAP = 6, /* between a label and its cell */
    ATT_SVG_PANEL_GAP = 28,
    ATT_SVG_PANEL_LABEL_ROOM = 22,
    ATT_SVG_LABEL_COLUMNS = 24, /* longer labels are truncated; the title has the whole label */
    ATT_SVG_BAR_WIDTH = 160,
    ATT_SVG_BAR_HEIGHT = 12,
    ATT_SVG_LEGEND_ROOM = 52,
};

typedef struct att_svg_layout {
    int64_t cell_width; /* a cell, from one to the next */
    int64_t cell_height;
    int64_t cell_gap; /* gap between cells */
    int64_t left;     /* room for the query labels of a panel */
    int64_t top;      /* room for its key labels */
    int64_t right;    /* room for slanted labels beyond the right edge */
    bool slanted;
    int64_t query_step; /* every query_step-th cell has a label */
    int64_t key_step;
    int64_t panel_width; /* including its labels */
    int64_t panel_height;
    int64_t panels_per_row;
    int64_t width;
    int64_t height;
    int64_t panels_top; /* where the panels begin, below the title */
} att_svg_layout;

/* `digits`: after the point, of the values in the cells. */
att_svg_layout att_svg_lay_out(const att_map *map, int digits);

/* The estimated length of a label in pixels: an average character is slightly over half as wide as
 * tall. */
int64_t att_svg_text_length(const char *label);

/* Whether label `index` is shown if every `step`-th is: numbers 1, 10, 20, … instead of 1, 11, 21,
 * … */
bool att_svg_label_is_shown(const char *const *labels, int64_t index, int64_t step);

#endif
