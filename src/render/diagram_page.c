/* The statement `diagram` in documents. */
#include "render/diagram_page.h"

#include "base/minmax.h"
#include "render/diagram_card.h"
#include "render/formula.h"
#include "render/terminal.h"

#include <inttypes.h>
#include <string.h>

const char *att_diagram_title(att_page *page, const att_trace_step *step)
{
    const char *title = step->text   ? step->text
                        : step->name ? att_arena_printf(page->scratch, "Diagram of %s", step->name)
                                     : "Diagram";
    if (!title)
        page->out->status = ATT_NO_MEMORY;
    return title ? title : "";
}

bool att_page_has_diagram(const att_page *page)
{
    for (size_t s = 0; s < page->sheet_count; s++)
        for (size_t i = 0; i < page->sheets[s]->step_count; i++)
            if (page->sheets[s]->steps[i].kind == ATT_STEP_DIAGRAM)
                return true;
    return false;
}

/* The values before the step, with their arrows. What cannot be drawn is said in its place: the
 * sheet itself is right. False: nothing is left to write. */
static bool build(att_page *page, const att_trace_step *step, att_diagram *out)
{
    att_error err = { 0 };
    size_t steps = (size_t)(step - page->sheet->steps);
    *out = (att_diagram){ .arena = page->scratch };
    att_status status = att_diagram_build(out, page->sheet, steps, step->name, &err);
    if (status == ATT_NO_MEMORY)
        page->out->status = status;
    else if (status != ATT_OK)
        att_put(page->out, err.message);
    return status == ATT_OK && page->out->status == ATT_OK;
}

static bool draw(att_page *page, const att_trace_step *step, att_diagram *diagram,
                 att_canvas *canvas)
{
    if (!build(page, step, diagram))
        return false;
    *canvas = (att_canvas){ .arena = page->scratch };
    att_status status = att_diagram_draw(diagram, canvas);
    if (status == ATT_NO_MEMORY)
        page->out->status = status;
    else if (status != ATT_OK)
        att_put(page->out, "Too many values and arrows for a diagram: choose a value.");
    return status == ATT_OK;
}

void att_diagram_put_svg(att_page *page, const att_trace_step *step, const char *id)
{
    att_diagram diagram;
    att_canvas canvas;
    if (draw(page, step, &diagram, &canvas))
        att_canvas_svg(page->out, &canvas, diagram.width, diagram.height,
                       att_diagram_title(page, step), id);
}

/* ---- TikZ: each row of a folded diagram is a picture of its own, so that pages can break */

static bool is_in_row(const att_canvas_shape *shape, int64_t top, int64_t foot)
{
    int64_t y = shape->kind == ATT_SHAPE_LINE ? shape->points[0].y : shape->y;
    return y >= top && y < foot;
}

void att_diagram_put_tikz(att_page *page, const att_trace_step *step)
{
    enum { TEXT_WIDTH = 455, TEXT_HEIGHT = 640 }; /* of the page, in points */
    att_diagram diagram;
    att_canvas canvas;
    if (!draw(page, step, &diagram, &canvas))
        return;
    for (size_t r = 0; r < diagram.row_count; r++) {
        int64_t top = diagram.rows[r],
                foot = r + 1 < diagram.row_count ? diagram.rows[r + 1] : diagram.height;
        att_canvas row = { .arena = page->scratch };
        for (size_t i = 0; i < canvas.count; i++)
            if (is_in_row(&canvas.shapes[i], top, foot))
                att_canvas_add(&row, &canvas.shapes[i]);
        if (row.failed) {
            page->out->status = ATT_NO_MEMORY;
            return;
        }
        double scale = 0.8;
        if ((double)diagram.width * scale > TEXT_WIDTH)
            scale = (double)TEXT_WIDTH / (double)diagram.width;
        if ((double)(foot - top) * scale > TEXT_HEIGHT)
            scale = (double)TEXT_HEIGHT / (double)(foot - top);
        att_putf(page->out, "\n{\\centering\\scalebox{%.3f}{%%\n", scale);
        att_canvas_tikz_picture(page->out, &row, diagram.width, top, foot);
        att_put(page->out, "}\\par}\n");
    }
}

/* ---- Lists */

static bool is_source(const att_diagram *d, size_t edge)
{
    const att_diagram_edge *e = &d->edges[edge];
    for (size_t i = 0; i < edge; i++)
        if (d->edges[i].to == e->to && d->edges[i].from == e->from)
            return false; /* another part of the same value, or another use */
    return true;
}

static size_t count_sources(const att_diagram *d, size_t node)
{
    size_t count = 0;
    for (size_t i = 0; i < d->edge_count; i++)
        count += d->edges[i].to == node && is_source(d, i);
    return count;
}

static bool has_edge(const att_diagram *d, size_t from, size_t to)
{
    for (size_t i = 0; i < d->edge_count; i++)
        if (d->edges[i].from == from && d->edges[i].to == to)
            return true;
    return false;
}

/* "W (2 × 3)" */
static void put_node(att_writer *out, const att_trace_step *value, bool ascii)
{
    att_put(out, value->name);
    if (value->value && (value->value->rows != 1 || value->value->cols != 1))
        att_putf(out, " (%" PRId64 " %s %" PRId64 ")", value->value->rows, ascii ? "x" : "×",
                 value->value->cols);
}

/* What is given in one line: "given: x (1 × 2), W (2 × 3)"; false: nothing is. */
static bool put_given(att_writer *out, const att_diagram *d, bool ascii)
{
    bool any = false;
    for (size_t n = 0; n < d->node_count; n++) {
        if (count_sources(d, n) > 0)
            continue;
        att_put(out, any ? ", " : "given: ");
        put_node(out, d->nodes[n].step, ascii);
        any = true;
    }
    return any;
}

/* "x, W → y (1 × 3) = x·W" */
static void put_computed(att_writer *out, const att_diagram *d, size_t n, const att_page *page)
{
    const att_trace_step *value = d->nodes[n].step;
    const char *between = "";
    for (size_t from = 0; from < d->node_count; from++)
        if (has_edge(d, from, n)) {
            att_putf(out, "%s%s", between, d->nodes[from].step->name);
            between = ", ";
        }
    att_put(out, page->options->ascii ? " -> " : " → ");
    put_node(out, value, page->options->ascii);
    if (!value->formula)
        return;
    att_put(out, " = ");
    att_put_formula(out, value->formula,
                    page->options->ascii ? &att_notation_ascii : &att_notation_unicode, 2);
}

void att_diagram_put_text(att_page *page, const att_trace_step *step, int indent)
{
    att_diagram d;
    bool ascii = page->options->ascii;
    const att_terminal terminal = att_terminal_for(page->out, page->options);
    att_put_repeat(page->out, " ", indent);
    att_terminal_style(&terminal, ATT_STYLE_BOLD);
    att_terminal_wrapped(&terminal, att_diagram_title(page, step), indent, indent);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
    if (!build(page, step, &d))
        return;
    for (size_t n = 0; n <= d.node_count && page->out->status == ATT_OK; n++) {
        att_string line = { 0 };
        att_writer out = att_writer_on(&line);
        bool any = n == 0 ? put_given(&out, &d, ascii) : count_sources(&d, n - 1) > 0;
        if (n > 0 && any)
            put_computed(&out, &d, n - 1, page);
        page->out->status = out.status != ATT_OK ? out.status : page->out->status;
        if (any) {
            att_put_repeat(page->out, " ", indent + 2);
            att_terminal_wrapped(&terminal, line.data ? line.data : "", indent + 2, indent + 6);
        }
        att_string_free(&line);
    }
}

/* Text inside quotes of Mermaid: what is no letter or digit of ASCII is written as its code point,
 * so that neither Mermaid nor HTML finds markup in it. */
static void put_mermaid_text(att_writer *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain = c >= 0x80 || c == ' ' || c == '_' || (c >= '0' && c <= '9') ||
                     ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        if (plain)
            att_put_bytes(out, text, 1);
        else
            att_putf(out, "#%d;", c);
    }
}

void att_diagram_put_mermaid(att_page *page, const att_trace_step *step)
{
    att_diagram d;
    att_writer *out = page->out;
    if (!build(page, step, &d))
        return;
    att_put(out, "```mermaid\nflowchart TD\n");
    for (size_t n = 0; n < d.node_count; n++) {
        const att_trace_step *value = d.nodes[n].step;
        bool computed = count_sources(&d, n) > 0;
        att_putf(out, "    n%zu%s\"", n, computed ? "[" : "([");
        put_mermaid_text(out, value->name);
        if (value->formula && computed) {
            const char *formula = att_card_formula(page->scratch, value->formula);
            att_put(out, "<br/>");
            put_mermaid_text(out, formula ? formula : "");
            if (!formula)
                out->status = ATT_NO_MEMORY;
        }
        if (value->value && (value->value->rows != 1 || value->value->cols != 1))
            att_putf(out, "<br/>%" PRId64 " × %" PRId64, value->value->rows, value->value->cols);
        att_put(out, computed ? "\"]\n" : "\"])\n");
    }
    for (size_t i = 0; i < d.edge_count; i++) {
        const att_diagram_edge *edge = &d.edges[i];
        if (!edge->part && !is_source(&d, i))
            continue;
        att_putf(out, "    n%zu -->", edge->from);
        if (edge->part) {
            att_put(out, "|\"");
            put_mermaid_text(out, edge->part);
            att_put(out, "\"|");
        }
        att_putf(out, " n%zu\n", edge->to);
    }
    att_put(out, "```\n");
}

void att_diagram_put_json(att_page *page, const att_trace_step *step)
{
    att_diagram d;
    att_writer *out = page->out;
    att_error err = { 0 };
    d = (att_diagram){ .arena = page->scratch };
    att_status status =
        att_diagram_build(&d, page->sheet, (size_t)(step - page->sheet->steps), step->name, &err);
    if (status == ATT_NO_MEMORY)
        out->status = status;
    if (status != ATT_OK)
        d.node_count = d.edge_count = 0;
    att_put(out, ",\"nodes\":[");
    for (size_t n = 0; n < d.node_count; n++) {
        const att_trace_step *value = d.nodes[n].step;
        att_put(out, n > 0 ? ",{\"name\":" : "{\"name\":");
        att_put_json(out, value->name);
        att_putf(out, ",\"line\":%d", value->line);
        if (value->value)
            att_putf(out, ",\"rows\":%" PRId64 ",\"cols\":%" PRId64, value->value->rows,
                     value->value->cols);
        att_put(out, "}");
    }
    att_put(out, "],\"edges\":[");
    for (size_t i = 0; i < d.edge_count; i++) {
        att_putf(out, "%s{\"from\":%zu,\"to\":%zu", i > 0 ? "," : "", d.edges[i].from,
                 d.edges[i].to);
        if (d.edges[i].part) {
            att_put(out, ",\"part\":");
            att_put_json(out, d.edges[i].part);
        }
        att_put(out, "}");
    }
    att_put(out, "]");
}
