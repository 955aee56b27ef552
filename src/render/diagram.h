/* Diagrams of worksheets: boxes for the values, arrows from each value to those that are computed
 * from it; attention and recurrent cells are drawn from the inside.
 *
 *   diagram_graph.c   the boxes and arrows of a sheet
 *   diagram_card.c    a card: title, formula, numbers
 *   diagram_blocks.c  the inside of a box: attention, plain values
 *   diagram_recurrent.c  recurrent cells
 *   diagram_layout.c  layers, order and places, so that no arrow crosses a box
 *   diagram_fold.c    wide diagrams in rows of the width of a page
 *   diagram.c         drawing, and the public call
 *   diagram_svg.c, diagram_tikz.c  shapes as SVG and as TikZ
 *
 * Coordinates are whole pixels, y down. */
#ifndef ATT_RENDER_DIAGRAM_H
#define ATT_RENDER_DIAGRAM_H

#include "render/color.h"
#include "render/writer.h"
#include "sheet/trace.h"

/* ---------------------------------------------------------------- shapes */

typedef enum att_canvas_shape_kind {
    ATT_SHAPE_BOX,
    ATT_SHAPE_TEXT,
    ATT_SHAPE_LINE
} att_canvas_shape_kind;

typedef struct att_point {
    int64_t x, y;
} att_point;

typedef struct att_canvas_shape {
    att_canvas_shape_kind kind;
    int64_t x, y;          /* of a box its corner, of a text the middle of its baseline */
    int64_t width, height; /* of a box */
    att_rgb fill, stroke;  /* of a text the color is `stroke` */
    bool square;           /* a box with sharp corners and without a border: a cell */
    bool dashed;
    bool bold;
    int size; /* of the font */
    enum { ATT_TEXT_MIDDLE, ATT_TEXT_START, ATT_TEXT_END } anchor;
    const char *text;
    const att_point *points; /* of a line, which ends in an arrow */
    size_t point_count;
    bool curved; /* between points of different x: leaves and arrives vertically */
} att_canvas_shape;

/* A list of shapes in an arena; `failed` when memory is out. */
typedef struct att_canvas {
    att_arena *arena;
    att_canvas_shape *shapes;
    size_t count;
    size_t capacity;
    bool failed;
} att_canvas;

void att_canvas_add(att_canvas *canvas, const att_canvas_shape *shape);

/* A copy of the points as an arrow. */
void att_canvas_arrow(att_canvas *canvas, const att_point *points, size_t count, bool curved,
                      bool dashed);
void att_canvas_text(att_canvas *canvas, int64_t x, int64_t y, int size, bool bold, att_rgb color,
                     const char *text);

/* The estimated width of a text in pixels. */
int64_t att_diagram_text_width(const char *text, int size);

/* An SVG element; `id` stands before the ids in it, since a page may have several. */
void att_canvas_svg(att_writer *out, const att_canvas *canvas, int64_t width, int64_t height,
                    const char *title, const char *id);

/* A LaTeX document with one TikZ picture; the picture alone, from y = `top` to `foot`. */
void att_canvas_tikz(att_writer *out, const att_canvas *canvas, int64_t width, int64_t height);
void att_canvas_tikz_picture(att_writer *out, const att_canvas *canvas, int64_t width, int64_t top,
                             int64_t foot);

/* ---------------------------------------------------------------- graph */

enum { ATT_DIAGRAM_PORTS = 16 };

/* Where an arrow enters a node: the box of an input inside it. */
typedef struct att_diagram_port {
    int64_t x, y; /* from the corner of the node: the middle of the upper side of the inner box */
    int64_t width;
} att_diagram_port;

/* A value of the sheet. Its picture is at (0, 0) and is moved to its place. */
typedef struct att_diagram_node {
    const att_trace_step *step;
    bool wanted;     /* part of the diagram */
    bool has_others; /* of a loop: it uses values that are the same in each step */
    bool repeated;   /* the full box of the value stands elsewhere */
    att_canvas picture;
    int64_t width, height;
    att_diagram_port ports[ATT_DIAGRAM_PORTS];
    size_t port_count;
    int64_t out_x; /* where arrows leave: the foot of the box of the result */
    int64_t out_y;
    size_t inputs; /* arrows that enter and leave, counted by the layout */
    size_t outputs;
    int layer;
    int64_t x, y;
} att_diagram_node;

typedef struct att_diagram_edge {
    size_t from, to;
    size_t port;      /* of `to` */
    const char *part; /* the part of the value that is used, or NULL */
    int side;         /* where its name has room: right of its end, left (-1), or nowhere (0) */
    att_point *path;  /* set by the layout, as is `side` */
    size_t path_length;
} att_diagram_edge;

typedef struct att_diagram {
    att_arena *arena;
    att_diagram_node *nodes;
    size_t node_count;
    size_t node_capacity;
    att_diagram_edge *edges;
    size_t edge_count;
    size_t edge_capacity;
    int64_t width, height;
    const int64_t *rows; /* y of each row of a folded diagram */
    size_t row_count;
    size_t lanes;   /* set by the layout: layers that arrows pass */
    bool too_large; /* set by the layout, which then fails: it would take too long */
} att_diagram;

/* The boxes and arrows of the first `steps` steps of a sheet; with `only`, those that lead to that
 * value. */
att_status att_diagram_build(att_diagram *diagram, const att_sheet *sheet, size_t steps,
                             const char *only, att_error *err);

/* ---------------------------------------------------------------- the inside of nodes */

/* What the inside of a call looks like. */
typedef enum att_diagram_block {
    ATT_BLOCK_PLAIN,
    ATT_BLOCK_ATTENTION,
    ATT_BLOCK_RECURRENT,
    ATT_BLOCK_LOOP,
} att_diagram_block;

att_diagram_block att_diagram_block_of(const att_trace_step *step);

/* The port of argument `index` of a call, or of the option `option` (NULL: an argument); `parts`:
 * how many ports it has, one after the other. */
void att_diagram_port_of(const att_trace_step *step, size_t index, const char *option,
                         size_t *first, size_t *count);

/* Draws the picture of a node, and sets its size and ports. False when memory is out. */
bool att_diagram_draw_node(att_diagram_node *node, att_arena *arena);

/* ---------------------------------------------------------------- layout */

/* Places the nodes and routes the edges. False when memory is out or the diagram is too large. */
bool att_diagram_lay_out(att_diagram *diagram);

/* Draws the nodes, arranges them and draws everything. ATT_BAD_INPUT: it is too large. */
att_status att_diagram_draw(att_diagram *diagram, att_canvas *canvas);

/* The same, folded into rows if it would be wider than a page or too tangled to read. */
bool att_diagram_arrange(att_diagram *diagram);

#endif
