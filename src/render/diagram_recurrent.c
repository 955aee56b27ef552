/* Recurrent cells and loops unrolled over their steps: the inputs above, the states below. */
#include "render/diagram_card.h"

#include "base/minmax.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_STEPS = 5 }; /* of more, the first and the last ones are drawn */

static const att_rgb gray = { 0x5b, 0x64, 0x70 };

/* The states that are drawn: all, or the first and the last ones around an ellipsis (-1). */
static size_t choose_steps(int64_t steps, int64_t shown[MAX_STEPS])
{
    if (steps <= MAX_STEPS) {
        for (int64_t t = 0; t < steps; t++)
            shown[t] = t;
        return (size_t)steps;
    }
    for (int64_t t = 0; t < MAX_STEPS; t++)
        shown[t] = t < 3 ? t : t == 3 ? -1 : steps - 1;
    return MAX_STEPS;
}

static const att_matrix *row_at(att_arena *arena, const att_matrix *m, int64_t row)
{
    att_matrix *one = att_arena_alloc(arena, 1, sizeof *one);
    if (one)
        *one = (att_matrix){ .rows = 1, .cols = m->cols, .data = m->data + row * m->cols };
    return one;
}

/* The cards of an unrolled cell. */
struct unrolled {
    const att_trace_step *step;
    const char *input_name; /* of one step: "x" of x[1] */
    bool has_start, has_weights;
    att_card start, input, weights;
    att_card cells[MAX_STEPS], states[MAX_STEPS];
    int64_t shown[MAX_STEPS];
    size_t count;
    int64_t width; /* of a cell */
};

static bool uses(const att_expr *node, const char *name)
{
    if (node->kind == ATT_EXPR_NAME && strcmp(node->text, name) == 0)
        return true;
    for (size_t i = 0; i < node->children; i++)
        if (node->child[i] && uses(node->child[i], name))
            return true;
    return false;
}

/* The names that the loop assigns before this one, in the same step. */
const att_trace_step *att_diagram_loop_source(const att_trace_step *step, const char *name)
{
    for (size_t i = 0; i < step->loop->index; i++) {
        const att_trace_step *other = step - step->loop->index + i;
        if (strcmp(other->name, name) == 0)
            return other;
    }
    return NULL;
}

/* What enters a step of a loop from above: the variable, or what the loop computed before. */
static const char *name_input(struct unrolled *u, att_arena *arena)
{
    const att_trace_loop *loop = u->step->loop;
    const char *text = "";
    u->input_name = NULL;
    if (uses(u->step->formula, loop->variable)) {
        text = att_card_formula(arena, loop->over);
        u->input_name = loop->variable;
    }
    for (size_t i = 0; text && i < loop->index; i++) {
        const att_trace_step *other = u->step - loop->index + i;
        if (!uses(u->step->formula, other->name))
            continue;
        text = att_arena_printf(arena, "%s%s%s", text, text[0] ? ", " : "", other->name);
        u->input_name = u->input_name ? u->input_name : other->name;
    }
    if (!u->input_name)
        u->input_name = loop->variable;
    return text && !text[0] ? att_card_formula(arena, loop->over) : text;
}

static bool make_cards(struct unrolled *u, att_arena *arena)
{
    const att_trace_step *step = u->step;
    const att_trace_loop *loop = step->loop;
    const char *cell_name = loop ? step->name : step->formula->text;
    u->input_name = "x";
    const char *input = loop ? name_input(u, arena) : "x";
    bool lstm = !loop && strcmp(step->formula->text, "lstm") == 0;
    if (!input)
        return false;
    u->has_start = !loop || uses(step->formula, step->name);
    u->start = (att_card){ .title = loop ? step->name : lstm ? "h, c" : "h", .note = "initial" };
    u->weights = (att_card){ .title = loop ? "other values" : "weights",
                             .note = u->step->value->rows > 1 ? "of all steps" : "" };
    u->input = (att_card){ .title = input, .color = ATT_CARD_QUERY };
    att_card_measure(&u->start);
    att_card_measure(&u->weights);
    att_card_measure(&u->input);
    for (size_t i = 0; i < u->count; i++) {
        att_card *cell = &u->cells[i], *state = &u->states[i];
        int64_t t = u->shown[i];
        const char *note = att_arena_printf(arena, "step %" PRId64, t + 1);
        *cell = (att_card){
            .title = cell_name, .note = note, .broken = !note, .color = ATT_CARD_RESULT
        };
        *state = (att_card){ .title = att_arena_printf(arena, "%s[%" PRId64 "]", step->name, t + 1),
                             .numbers = t < 0 ? NULL : row_at(arena, step->value, t),
                             .color = ATT_CARD_KEY };
        if (!state->title || (t >= 0 && !state->numbers))
            return false;
        att_card_measure(cell);
        att_card_measure(state);
        u->width = att_max_i64(u->width, att_max_i64(cell->width, state->width));
    }
    return true;
}

/* The initial state, the cells and the weights in one row; inputs above, states below. */
static void place_cards(struct unrolled *u, att_diagram_node *node)
{
    int64_t left = ATT_CARD_PADDING + 4, top = ATT_CARD_PADDING + 6;
    int64_t row = top + u->input.height + ATT_CARD_ROW_GAP, gap = 2 * ATT_CARD_COLUMN_GAP;
    int64_t x = left + (u->has_start ? u->start.width + gap : 0);
    u->start.x = left;
    u->start.y = row;
    u->input.x = x;
    u->input.y = top;
    u->input.width = (int64_t)u->count * (u->width + gap) - gap;
    for (size_t i = 0; i < u->count; i++, x += u->width + gap) {
        u->cells[i].x = x;
        u->cells[i].y = row;
        u->cells[i].width = u->width;
        u->cells[i].height = u->start.height;
        u->states[i].x = x + (u->width - u->states[i].width) / 2;
        u->states[i].y = row + u->start.height + ATT_CARD_ROW_GAP;
    }
    u->weights.x = x;
    u->weights.y = row;
    const att_card *last = &u->states[u->count - 1];
    node->width = u->has_weights ? x + u->weights.width + left : x - gap + left;
    node->height = att_card_foot(last) + ATT_CARD_PADDING + 2 * ATT_CARD_LINE + 4;
    node->out_x = att_card_middle(last);
    node->out_y = att_card_foot(last);
}

static void draw_ellipsis(att_canvas *canvas, const att_card *cell, const att_card *state)
{
    att_canvas_text(canvas, att_card_middle(cell), cell->y + cell->height / 2 + 4, ATT_CARD_TITLE,
                    true, gray, "…");
    att_canvas_text(canvas, att_card_middle(cell), state->y + 18, ATT_CARD_TITLE, true, gray, "…");
}

/* A cell with its input above it and its state below it. */
static void draw_step(att_canvas *canvas, const struct unrolled *u, size_t i)
{
    const att_card *cell = &u->cells[i], *before = i == 0 ? &u->start : &u->cells[i - 1];
    int64_t x = att_card_middle(cell), y = cell->y + cell->height / 2;
    if (u->has_start)
        att_canvas_arrow(canvas, (att_point[]){ { before->x + before->width, y }, { cell->x, y } },
                         2, false, false);
    if (u->shown[i] < 0) {
        draw_ellipsis(canvas, cell, &u->states[i]);
        return;
    }
    att_card_draw(canvas, cell);
    att_card_draw(canvas, &u->states[i]);
    att_card_arrow(canvas, x, att_card_foot(cell), x, u->states[i].y);
    att_card_arrow(canvas, x, att_card_foot(&u->input), x, cell->y);
    att_canvas_text(
        canvas, x + 16, cell->y - 10, ATT_CARD_CELL, false, gray,
        att_arena_printf(canvas->arena, "%s[%" PRId64 "]", u->input_name, u->shown[i] + 1));
}

/* "h = rnn, unrolled", or the formula of a loop. */
static const char *title_of(const att_trace_step *step, att_arena *arena)
{
    if (!step->loop)
        return att_arena_printf(arena, "%s = %s%s", step->name, step->formula->text,
                                step->value->rows > 1 ? ", unrolled" : "");
    const char *formula = att_card_formula(arena, step->formula);
    const char *over = formula ? att_card_formula(arena, step->loop->over) : NULL;
    return over ? att_arena_printf(arena, "%s = %s, for %s %s %s", step->name, formula,
                                   step->loop->variable, step->loop->rows ? "of" : "in", over)
                : NULL;
}

bool att_diagram_draw_recurrent(att_diagram_node *node, att_arena *arena)
{
    const att_trace_step *step = node->step;
    struct unrolled u = { .step = step };
    att_canvas *canvas = &node->picture;
    u.count = choose_steps(step->value->rows, u.shown);
    u.has_weights = !step->loop || node->has_others;
    const char *title = title_of(step, arena);
    if (!title || !make_cards(&u, arena))
        return false;
    place_cards(&u, node);
    node->width = att_max_i64(node->width,
                              att_diagram_text_width(title, ATT_CARD_TITLE) + 4 * ATT_CARD_PADDING);
    att_card_draw_frame(node, title);
    if (u.has_start)
        att_card_draw(canvas, &u.start);
    if (u.has_weights)
        att_card_draw(canvas, &u.weights);
    att_card_draw(canvas, &u.input);
    for (size_t i = 0; i < u.count; i++)
        draw_step(canvas, &u, i);
    int64_t y = u.start.y + u.start.height / 2;
    if (u.has_weights)
        att_canvas_arrow(
            canvas, (att_point[]){ { u.weights.x, y }, { u.cells[u.count - 1].x + u.width, y } }, 2,
            false, true);
    att_card_set_port(node, ATT_PORT_STATE, &u.start);
    att_card_set_port(node, ATT_PORT_INPUT, &u.input);
    att_card_set_port(node, ATT_PORT_WEIGHTS, &u.weights);
    return !canvas->failed;
}
