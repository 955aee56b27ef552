/* The inside of a box: which functions are drawn from the inside, and where their arguments enter;
 * attention from queries, keys and values to the output; plain values. */
#include "render/diagram_card.h"

#include "base/minmax.h"
#include "base/string.h"
#include "render/formula.h"
#include "render/number.h"
#include "text/display_width.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const att_trace_part *find_part(const att_trace_step *step, const char *name, int64_t head)
{
    for (size_t i = 0; i < step->part_count; i++)
        if (step->parts[i].head == head && strcmp(step->parts[i].name, name) == 0)
            return &step->parts[i];
    return NULL;
}

const att_expr *att_diagram_option(const att_expr *call, const char *name)
{
    for (size_t i = 0; i < call->children; i++)
        if (call->child[i]->kind == ATT_EXPR_OPTION && strcmp(call->child[i]->text, name) == 0)
            return call->child[i];
    return NULL;
}

/* ---------------------------------------------------------------- kinds of blocks */

static const struct block_row {
    const char *function;
    att_diagram_block block;
    const char *ports; /* the boxes that each argument enters: q, k, v; h, x, W of a cell */
} blocks[] = {
    { "attention", ATT_BLOCK_ATTENTION, "q k v" },
    { "self_attention", ATT_BLOCK_ATTENTION, "qkv q k v" },
    { "cross_attention", ATT_BLOCK_ATTENTION, "q kv q k v" },
    { "multihead", ATT_BLOCK_ATTENTION, "qkv q k v o" },
    { "rnn", ATT_BLOCK_RECURRENT, "x h W W W" },
    { "lstm", ATT_BLOCK_RECURRENT, "x h h W W W" },
    { "gru", ATT_BLOCK_RECURRENT, "x h W W W W" },
};

static const struct block_row *row_of(const att_trace_step *step)
{
    if (!step->formula || step->formula->kind != ATT_EXPR_CALL || step->part_count == 0)
        return NULL;
    for (size_t i = 0; i < ATT_COUNT(blocks); i++)
        if (strcmp(blocks[i].function, step->formula->text) == 0)
            return &blocks[i];
    return NULL;
}

att_diagram_block att_diagram_block_of(const att_trace_step *step)
{
    const struct block_row *row = row_of(step);
    if (step->loop)
        return step->value && step->value->rows > 0 ? ATT_BLOCK_LOOP : ATT_BLOCK_PLAIN;
    return row ? row->block : ATT_BLOCK_PLAIN;
}

static size_t port_of_letter(char letter)
{
    switch (letter) {
    case 'q':
        return ATT_PORT_QUERY;
    case 'k':
        return ATT_PORT_KEY;
    case 'v':
        return ATT_PORT_VALUE;
    case 'o':
        return ATT_PORT_PROJECTION;
    case 'h':
        return ATT_PORT_STATE;
    case 'x':
        return ATT_PORT_INPUT;
    default:
        return ATT_PORT_WEIGHTS;
    }
}

void att_diagram_port_of(const att_trace_step *step, size_t index, const char *option,
                         size_t *first, size_t *count)
{
    const char *at = row_of(step)->ports;
    *first = ATT_PORT_PARAMETERS;
    *count = 1;
    if (option && strcmp(option, "from") == 0) {
        *first = ATT_PORT_KEY;
        *count = 2;
        return;
    }
    if (option)
        return;
    for (; index > 0 && *at; index--) {
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    *first = port_of_letter(*at);
    *count = strcspn(at, " ");
    /* multihead(X, …, from = Y): X is the source of the queries alone */
    if (*count == 3 && att_diagram_option(step->formula, "from"))
        *count = 1;
}

/* ---------------------------------------------------------------- drawing blocks */

/* Names of the options that enter the score: "W, U, v". */
static const char *parameters_of(att_arena *arena, const att_expr *call)
{
    static const char *const names[] = { "W",      "U",      "b",      "v",     "bias",
                                         "alibi",  "mask",   "window", "scale", "softcap",
                                         "length", "offset", "causal" };
    const char *text = "";
    for (size_t i = 0; text && i < ATT_COUNT(names); i++)
        if (att_diagram_option(call, names[i]))
            text = att_arena_printf(arena, "%s%s%s", text, text[0] ? ", " : "", names[i]);
    return text;
}

/* The cards of an attention block. */
enum {
    CARD_PARAMETERS,
    CARD_Q,
    CARD_K,
    CARD_V,
    CARD_PROJECTION, /* W_O */
    CARD_SCORES,
    CARD_WEIGHTS,
    CARD_OUTPUT,
    CARD_HEADS,
    CARD_PROJECTED,
    CARDS
};

/* Whether a formula uses an inner result of the step, under a letter that the picture does not
 * have. */
static bool uses_inner(const att_trace_step *step, const att_expr *node)
{
    for (size_t i = 0; node->kind == ATT_EXPR_NAME && i < step->part_count; i++)
        if (step->parts[i].inner && strcmp(step->parts[i].name, node->text) == 0)
            return true;
    for (size_t i = 0; i < node->children; i++)
        if (node->child[i] && uses_inner(step, node->child[i]))
            return true;
    return false;
}

static att_card part_card(att_arena *arena, const att_trace_step *step, const char *name,
                          int64_t head, const char *formula)
{
    const att_trace_part *part = find_part(step, name, head);
    const att_matrix *m = part ? part->value : NULL;
    bool broken = false;
    bool input = part && part->formula && part->formula->line != 0; /* written in the sheet */
    if (!formula && part && part->formula && !uses_inner(step, part->formula) &&
        !(input &&
          (part->formula->kind == ATT_EXPR_MATRIX || part->formula->kind == ATT_EXPR_LOAD)))
        broken = !(formula = att_card_formula(arena, part->formula));
    const char *note = att_card_note(arena, formula, m);
    return (att_card){ .title = name,
                       .note = note,
                       .numbers = m,
                       .broken = broken || !note,
                       .color = ATT_CARD_RESULT };
}

static const char *normalizer_of(const att_expr *call)
{
    const att_expr *option = att_diagram_option(call, "normalizer");
    return option && option->children > 0 && option->child[0]->text ? option->child[0]->text
                                                                    : "softmax";
}

static void make_cards(att_card cards[CARDS], const att_trace_step *step, att_arena *arena)
{
    int64_t head = step->part_count && find_part(step, "weights", 0) ? 0 : 1;
    const char *parameters = parameters_of(arena, step->formula);
    if (!parameters || parameters[0])
        cards[CARD_PARAMETERS] = (att_card){ .title = parameters ? parameters : "?",
                                             .broken = !parameters,
                                             .color = ATT_CARD_GIVEN };
    cards[CARD_Q] = part_card(arena, step, "q", head, NULL);
    cards[CARD_K] = part_card(arena, step, "k", head, NULL);
    cards[CARD_V] = part_card(arena, step, "v", head, NULL);
    cards[CARD_SCORES] = part_card(arena, step, "scores", head, NULL);
    cards[CARD_WEIGHTS] = part_card(arena, step, "weights", head, normalizer_of(step->formula));
    cards[CARD_WEIGHTS].heat = true;
    cards[CARD_OUTPUT] = part_card(arena, step, "output", head, "weighted sum of v");
    cards[CARD_Q].color = ATT_CARD_QUERY;
    cards[CARD_K].color = ATT_CARD_KEY;
    cards[CARD_V].color = ATT_CARD_VALUE;
    if (head == 0)
        return;
    cards[CARD_HEADS] = part_card(arena, step, "heads", 0, "concatenated");
    if (!find_part(step, "output", 0))
        return;
    cards[CARD_PROJECTED] = part_card(arena, step, "output", 0, NULL);
    cards[CARD_PROJECTION] = (att_card){ .title = "W_O", .color = ATT_CARD_GIVEN };
}

/* q, k and v side by side, the parameters left of them. */
static int64_t place_inputs(att_card cards[CARDS])
{
    int64_t x = ATT_CARD_PADDING + 4, height = 0;
    for (size_t i = CARD_PARAMETERS; i <= CARD_PROJECTION; i++) {
        if (!cards[i].title)
            continue;
        cards[i].x = x;
        cards[i].y = ATT_CARD_PADDING + 6;
        x += cards[i].width + ATT_CARD_COLUMN_GAP;
        height = att_max_i64(height, cards[i].height);
    }
    return ATT_CARD_PADDING + 6 + height;
}

/* Centers a card on x, below y; not beyond the left side. */
static void place_below(att_card *c, int64_t x, int64_t y)
{
    c->x = att_max_i64(x - c->width / 2, ATT_CARD_PADDING + 4);
    c->y = y + ATT_CARD_ROW_GAP;
}

/* The values pass the scores and weights on the right. */
static void place_attention(att_card cards[CARDS], att_diagram_node *node)
{
    int64_t bottom = place_inputs(cards);
    int64_t center = (att_card_middle(&cards[CARD_Q]) + att_card_middle(&cards[CARD_K])) / 2;
    place_below(&cards[CARD_SCORES], center, bottom);
    place_below(&cards[CARD_WEIGHTS], center, att_card_foot(&cards[CARD_SCORES]));
    int64_t wide = att_max_i64(cards[CARD_SCORES].x + cards[CARD_SCORES].width,
                               cards[CARD_WEIGHTS].x + cards[CARD_WEIGHTS].width);
    int64_t beyond = wide + ATT_CARD_COLUMN_GAP - att_card_middle(&cards[CARD_V]);
    if (beyond > 0)
        cards[CARD_V].x += beyond;
    place_below(&cards[CARD_OUTPUT],
                (att_card_middle(&cards[CARD_WEIGHTS]) + att_card_middle(&cards[CARD_V])) / 2,
                att_card_foot(&cards[CARD_WEIGHTS]));
    const att_card *last = &cards[CARD_OUTPUT];
    for (size_t i = CARD_HEADS; i < CARDS; i++)
        if (cards[i].title) {
            place_below(&cards[i], att_card_middle(last), att_card_foot(last));
            last = &cards[i];
        }
    for (size_t i = CARD_V; i < CARDS && cards[CARD_PROJECTION].title; i++) {
        att_card *w = &cards[CARD_PROJECTION];
        if (cards[i].title && i != CARD_PROJECTION && i != CARD_PROJECTED)
            w->x = att_max_i64(w->x, cards[i].x + cards[i].width + ATT_CARD_COLUMN_GAP);
    }
    for (size_t i = 0; i < CARDS; i++)
        if (cards[i].title)
            node->width =
                att_max_i64(node->width, cards[i].x + cards[i].width + ATT_CARD_PADDING + 4);
    node->height = att_card_foot(last) + ATT_CARD_PADDING + ATT_CARD_LINE + 6;
    node->out_x = att_card_middle(last);
    node->out_y = att_card_foot(last);
}

/* An arrow from the foot of a card, straight down to y, past the cards beside it, then to (x1, y1).
 */
static void draw_side_arrow(att_canvas *canvas, const att_card *from, int64_t y, int64_t x1,
                            int64_t y1)
{
    int64_t x = att_card_middle(from);
    att_canvas_arrow(canvas, (att_point[]){ { x, att_card_foot(from) }, { x, y }, { x1, y1 } }, 3,
                     true, false);
}

/* Where an arrow from the right meets the upper side of a card. */
static int64_t right_end(const att_card *from, const att_card *to)
{
    return att_min_i64(att_card_middle(from), to->x + to->width - 14);
}

static void draw_attention_arrows(att_canvas *canvas, const att_card cards[CARDS])
{
    const att_card *scores = &cards[CARD_SCORES], *weights = &cards[CARD_WEIGHTS],
                   *output = &cards[CARD_OUTPUT];
    const int64_t ends[] = { scores->x + 10, scores->x + scores->width / 3,
                             scores->x + scores->width * 2 / 3 };
    for (size_t i = CARD_PARAMETERS; i <= CARD_K; i++)
        if (cards[i].title)
            draw_side_arrow(canvas, &cards[i], scores->y - ATT_CARD_ROW_GAP, ends[i], scores->y);
    att_card_arrow(canvas, att_card_middle(scores), att_card_foot(scores), att_card_middle(weights),
                   weights->y);
    att_card_arrow(canvas, att_card_middle(weights), att_card_foot(weights),
                   att_max_i64(att_card_middle(weights), output->x + 14), output->y);
    draw_side_arrow(canvas, &cards[CARD_V], att_card_foot(weights),
                    right_end(&cards[CARD_V], output), output->y);
    const att_card *projection = &cards[CARD_PROJECTION], *projected = &cards[CARD_PROJECTED];
    if (projection->title)
        draw_side_arrow(canvas, projection, att_card_foot(&cards[CARD_HEADS]),
                        right_end(projection, projected), projected->y);
    const att_card *last = output;
    for (size_t i = CARD_HEADS; i < CARDS; i++)
        if (cards[i].title) {
            att_card_arrow(canvas, att_card_middle(last), att_card_foot(last),
                           att_card_middle(&cards[i]), cards[i].y);
            last = &cards[i];
        }
}

static int64_t count_heads(const att_trace_step *step)
{
    int64_t heads = 0;
    for (size_t i = 0; i < step->part_count; i++)
        heads = att_max_i64(heads, step->parts[i].head);
    return heads;
}

bool att_diagram_draw_attention(att_diagram_node *node, att_arena *arena)
{
    att_card cards[CARDS] = { { 0 } };
    const att_trace_step *step = node->step;
    int64_t heads = count_heads(step);
    make_cards(cards, step, arena);
    for (size_t i = 0; i < CARDS; i++)
        if (cards[i].title)
            att_card_measure(&cards[i]);
    place_attention(cards, node);
    const char *title = att_arena_printf(arena, "%s = %s", step->name, step->formula->text);
    if (title && heads > 1)
        title = att_arena_printf(arena, "%s: head 1 of %" PRId64, title, heads);
    if (!title)
        return false;
    node->width = att_max_i64(node->width,
                              att_diagram_text_width(title, ATT_CARD_TITLE) + 4 * ATT_CARD_PADDING);
    if (node->out_x < att_diagram_text_width(title, ATT_CARD_TITLE) + 3 * ATT_CARD_PADDING)
        node->height += ATT_CARD_LINE; /* the arrow that leaves must not cross the title */
    att_card_draw_frame(node, title);
    for (size_t i = 0; i < CARDS; i++)
        if (cards[i].title)
            att_card_draw(&node->picture, &cards[i]);
    draw_attention_arrows(&node->picture, cards);
    static const size_t entered[ATT_ATTENTION_PORTS] = { CARD_PARAMETERS, CARD_Q, CARD_K, CARD_V,
                                                         CARD_PROJECTION };
    for (size_t port = 0; port < ATT_ATTENTION_PORTS; port++)
        if (cards[entered[port]].title)
            att_card_set_port(node, port, &cards[entered[port]]);
    return !node->picture.failed;
}

/* ---- Plain boxes */

static bool draw_plain(att_diagram_node *node, att_arena *arena)
{
    const att_trace_step *step = node->step;
    bool given = !step->formula || att_expr_is_literal(step->formula) ||
                 step->formula->kind == ATT_EXPR_LOAD;
    const char *formula = given ? NULL : att_card_formula(arena, step->formula);
    if (!given && !formula)
        return false;
    const char *note = step->value ? att_card_note(arena, formula, step->value)
                                   : att_arena_printf(arena, "%zu matrices", step->part_count);
    att_card c = { .title = step->name,
                   .note = note,
                   .broken = !note,
                   .numbers = step->value,
                   .color = given ? ATT_CARD_GIVEN : ATT_CARD_RESULT };
    att_card_measure(&c);
    node->width = c.width;
    node->height = c.height;
    node->out_x = c.width / 2;
    node->out_y = c.height;
    att_card_draw(&node->picture, &c);
    att_card_set_port(node, 0, &c);
    return !node->picture.failed;
}

/* The name of a value whose full box stands elsewhere. */
static bool draw_repeated(att_diagram_node *node)
{
    att_card c = { .title = node->step->name, .color = ATT_CARD_GIVEN, .dashed = true };
    att_card_measure(&c);
    node->width = c.width;
    node->height = c.height;
    node->out_x = c.width / 2;
    node->out_y = c.height;
    att_card_draw(&node->picture, &c);
    return !node->picture.failed;
}

bool att_diagram_draw_node(att_diagram_node *node, att_arena *arena)
{
    node->picture.arena = arena;
    if (node->repeated)
        return draw_repeated(node);
    switch (att_diagram_block_of(node->step)) {
    case ATT_BLOCK_ATTENTION:
        return att_diagram_draw_attention(node, arena);
    case ATT_BLOCK_RECURRENT:
    case ATT_BLOCK_LOOP:
        return att_diagram_draw_recurrent(node, arena);
    case ATT_BLOCK_PLAIN:
        break;
    }
    return draw_plain(node, arena);
}
