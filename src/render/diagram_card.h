/* Cards: the boxes of a diagram with a title, a line below it and numbers; and what the pictures of
 * all blocks share. */
#ifndef ATT_RENDER_DIAGRAM_CARD_H
#define ATT_RENDER_DIAGRAM_CARD_H

#include "render/diagram.h"
#include "render/number.h"

enum {
    ATT_CARD_TITLE = 13, /* sizes of fonts */
    ATT_CARD_SMALL = 11,
    ATT_CARD_CELL = 10,
    ATT_CARD_PADDING = 10,
    ATT_CARD_LINE = 16, /* height of a line */
    ATT_CARD_COLUMN_GAP = 18,
    ATT_CARD_ROW_GAP = 30,
};

/* The colors of what a card shows. */
typedef enum att_card_color {
    ATT_CARD_GIVEN,
    ATT_CARD_RESULT,
    ATT_CARD_QUERY,
    ATT_CARD_KEY,
    ATT_CARD_VALUE,
} att_card_color;

typedef struct att_card {
    const char *title;         /* NULL: there is no card */
    const char *note;          /* or NULL, or empty */
    const att_matrix *numbers; /* NULL, or too large: not shown */
    bool dashed;               /* its border */
    bool heat;                 /* cells colored from 0 to 1 */
    bool broken;               /* memory was out when it was made: drawing it fails */
    att_card_color color;
    int64_t x, y, width, height;
    int64_t cell_width;
    att_number_format format;
} att_card;

/* Sets the size of a card from its contents. */
void att_card_measure(att_card *c);
void att_card_draw(att_canvas *canvas, const att_card *c);
int64_t att_card_middle(const att_card *c);
int64_t att_card_foot(const att_card *c);

/* Arrows enter `port` of the node at this card. */
void att_card_set_port(att_diagram_node *node, size_t port, const att_card *c);

/* The frame of a block with its title, drawn before the cards. */
void att_card_draw_frame(att_diagram_node *node, const char *title);

/* An arrow between two points. */
void att_card_arrow(att_canvas *canvas, int64_t x0, int64_t y0, int64_t x1, int64_t y1);

/* A formula on one line, cut if it is long; and "formula, 3 × 4", or one of both. NULL when memory
 * is out. */
const char *att_card_formula(att_arena *arena, const att_expr *formula);
const char *att_card_note(att_arena *arena, const char *formula, const att_matrix *m);

/* The pictures of blocks (diagram_attention.c, diagram_recurrent.c). False when memory is out. */
bool att_diagram_draw_attention(att_diagram_node *node, att_arena *arena);
bool att_diagram_draw_recurrent(att_diagram_node *node, att_arena *arena);

/* Ports of attention in the order of its cards, and of a recurrent cell. */
enum {
    ATT_PORT_PARAMETERS,
    ATT_PORT_QUERY,
    ATT_PORT_KEY,
    ATT_PORT_VALUE,
    ATT_PORT_PROJECTION,
    ATT_ATTENTION_PORTS
};
enum { ATT_PORT_STATE, ATT_PORT_INPUT, ATT_PORT_WEIGHTS };

/* The assignment to this name before `step` in the same loop, or NULL. */
const att_trace_step *att_diagram_loop_source(const att_trace_step *step, const char *name);

/* The option of a call, or NULL. */
const att_expr *att_diagram_option(const att_expr *call, const char *name);

#endif
