/* Folds a diagram that is too wide for a page, or has too many long arrows: a value that is used in
 * many places is repeated there as a small dashed box, and the parts that this leaves are laid out
 * one by one, in rows of the width of a page.
 *
 * First what is given is repeated, then, as long as a part is too wide, the value in it that most
 * others use, or all that a result of many is computed from. The full box of a repeated value
 * stands before its first use. */
#include "render/diagram.h"

#include "base/minmax.h"

#include <string.h>

enum {
    PAGE_WIDTH = 1120, /* pixels: A4 across at 96 per inch */
    PART_GAP = 10,     /* besides the margins of the parts */
    MAX_CUTS = 100,    /* a layout for each */
};

static const double max_effort = 5e7; /* about a second */

struct folding {
    const att_diagram *whole; /* its nodes and edges, before their layout */
    bool *cut;                /* [node] repeated where others than `home` use it */
    size_t *home;             /* [node] the first node that uses it; SIZE_MAX: none */
    size_t *part;             /* [node] */
    size_t *place;            /* [node] in its part */
    att_diagram *parts;
    size_t part_count;
    double effort;       /* of all layouts: squares of boxes and lanes */
    const int64_t *rows; /* y of each row */
    size_t row_count;
};

/* ---- Parts */

static bool is_cut(const struct folding *f, const att_diagram_edge *edge)
{
    return f->cut[edge->from] && f->home[edge->from] != edge->to;
}

static bool is_given(const struct folding *f, size_t node)
{
    for (size_t i = 0; i < f->whole->edge_count; i++)
        if (f->whole->edges[i].to == node)
            return false;
    return true;
}

static size_t count_users(const struct folding *f, size_t node)
{
    const att_diagram *d = f->whole;
    size_t users = 0, last = SIZE_MAX;
    for (size_t i = 0; i < d->edge_count; i++) /* sorted by `to` */
        if (d->edges[i].from == node && d->edges[i].to != last) {
            last = d->edges[i].to;
            users++;
        }
    return users;
}

static size_t root_of(const size_t *part, size_t node)
{
    while (part[node] != node)
        node = part[node];
    return node;
}

/* Finds which nodes are connected, and numbers the parts in the order of their first computed
 * value: so the full box of what is given stands before the boxes that repeat it. */
static void find_parts(struct folding *f)
{
    const att_diagram *d = f->whole;
    for (size_t n = 0; n < d->node_count; n++)
        f->part[n] = n;
    for (size_t i = 0; i < d->edge_count; i++) {
        if (is_cut(f, &d->edges[i]))
            continue;
        size_t a = root_of(f->part, d->edges[i].from), b = root_of(f->part, d->edges[i].to);
        f->part[a > b ? a : b] = a > b ? b : a; /* the root is the first node */
    }
    for (size_t n = 0; n < d->node_count; n++)
        f->place[n] = root_of(f->part, n);
    f->part_count = 0;
    for (size_t n = 0; n < d->node_count; n++)
        f->part[n] = SIZE_MAX;
    for (int given = 0; given <= 1; given++) /* parts without a computed value come last */
        for (size_t n = 0; n < d->node_count; n++)
            if (f->part[f->place[n]] == SIZE_MAX && (given || !is_given(f, n)))
                f->part[f->place[n]] = f->part_count++;
    for (size_t n = 0; n < d->node_count; n++)
        f->part[n] = f->part[f->place[n]];
}

/* The box that repeats a value for one of its users: a new one, or the same for another port. */
static size_t add_reference(const struct folding *f, att_diagram *part,
                            const att_diagram_edge *edge, size_t *users)
{
    for (size_t i = 0; i < part->node_count; i++)
        if (part->nodes[i].step == f->whole->nodes[edge->from].step && users[i] == edge->to)
            return i;
    users[part->node_count] = edge->to;
    part->nodes[part->node_count] =
        (att_diagram_node){ .step = f->whole->nodes[edge->from].step, .repeated = true };
    return part->node_count++;
}

/* The nodes and edges of part `index`: boxes that repeat values first, since arrows go to later
 * nodes. */
static bool make_part(struct folding *f, size_t index, att_diagram *part)
{
    const att_diagram *d = f->whole;
    *part = (att_diagram){ .arena = d->arena };
    part->nodes = att_arena_alloc(d->arena, d->node_count + d->edge_count, sizeof *part->nodes);
    part->edges = att_arena_alloc(d->arena, d->edge_count + 1, sizeof *part->edges);
    size_t *users = att_arena_alloc(d->arena, d->edge_count + 1, sizeof *users);
    size_t *from = att_arena_alloc(d->arena, d->edge_count + 1, sizeof *from);
    if (!part->nodes || !part->edges || !users || !from)
        return false;
    for (size_t i = 0; i < d->edge_count; i++)
        if (f->part[d->edges[i].to] == index && is_cut(f, &d->edges[i]))
            from[i] = add_reference(f, part, &d->edges[i], users);
    for (size_t i = 0; i < part->node_count; i++)
        if (!att_diagram_draw_node(&part->nodes[i], d->arena))
            return false;
    for (size_t n = 0; n < d->node_count; n++)
        if (f->part[n] == index) {
            f->place[n] = part->node_count;
            part->nodes[part->node_count++] = d->nodes[n];
        }
    for (size_t i = 0; i < d->edge_count; i++) {
        att_diagram_edge edge = d->edges[i];
        if (f->part[edge.to] != index)
            continue;
        edge.from = is_cut(f, &edge) ? from[i] : f->place[edge.from];
        edge.to = f->place[edge.to];
        part->edges[part->edge_count++] = edge;
    }
    return true;
}

static bool lay_out_parts(struct folding *f)
{
    find_parts(f);
    f->parts = att_arena_alloc(f->whole->arena, f->part_count, sizeof *f->parts);
    for (size_t i = 0; f->parts && i < f->part_count; i++) {
        att_diagram *part = &f->parts[i];
        if (!make_part(f, i, part))
            return false;
        bool done = att_diagram_lay_out(part);
        if (!done && !part->too_large)
            return false;
        part->width = done ? part->width : INT64_MAX;
        f->effort +=
            (double)(part->lanes + part->node_count) * (double)(part->lanes + part->node_count);
    }
    return f->parts != NULL;
}

/* ---- Which values are repeated */

static void cut_given(struct folding *f)
{
    const att_diagram *d = f->whole;
    for (size_t n = 0; n < d->node_count; n++) {
        f->home[n] = SIZE_MAX;
        for (size_t i = d->edge_count; i-- > 0;)
            if (d->edges[i].from == n)
                f->home[n] = d->edges[i].to;
        f->cut[n] = is_given(f, n) && count_users(f, n) > 1;
    }
}

static size_t count_sources(const struct folding *f, size_t node)
{
    const att_diagram *d = f->whole;
    size_t sources = 0;
    for (size_t i = 0; i < d->edge_count; i++)
        sources +=
            d->edges[i].to == node && !is_cut(f, &d->edges[i]) && !is_given(f, d->edges[i].from);
    return sources;
}

/* Cuts a value from those that use it, or, if none in the part is used more than once, a result
 * from the values that it is computed from. False: the part stays as it is. */
static bool cut_part(struct folding *f, size_t part)
{
    enum { MIN_SOURCES = 2 };
    const att_diagram *d = f->whole;
    size_t most = 1, chosen = SIZE_MAX;
    for (size_t n = 0; n < d->node_count; n++)
        if (f->part[n] == part && !f->cut[n] && count_users(f, n) > most) {
            most = count_users(f, n);
            chosen = n;
        }
    if (chosen != SIZE_MAX) {
        f->cut[chosen] = true;
        return true;
    }
    most = MIN_SOURCES - 1;
    for (size_t n = 0; n < d->node_count; n++)
        if (f->part[n] == part && count_sources(f, n) > most) {
            most = count_sources(f, n);
            chosen = n;
        }
    for (size_t i = 0; chosen != SIZE_MAX && i < d->edge_count; i++)
        if (d->edges[i].to == chosen && !is_cut(f, &d->edges[i]) &&
            !is_given(f, d->edges[i].from)) {
            f->cut[d->edges[i].from] = true;
            f->home[d->edges[i].from] = SIZE_MAX;
        }
    return chosen != SIZE_MAX;
}

/* Cuts the first part that is too wide and can be cut. */
static bool cut_wide(struct folding *f)
{
    for (size_t i = 0; i < f->part_count; i++)
        if (f->parts[i].width > PAGE_WIDTH && cut_part(f, i))
            return true;
    return false;
}

/* ---- Rows */

static void move_part(att_diagram *part, int64_t x, int64_t y)
{
    for (size_t n = 0; n < part->node_count; n++) {
        part->nodes[n].x += x;
        part->nodes[n].y += y;
    }
    for (size_t i = 0; i < part->edge_count; i++)
        for (size_t p = 0; p < part->edges[i].path_length; p++) {
            part->edges[i].path[p].x += x;
            part->edges[i].path[p].y += y;
        }
}

/* A row of parts. */
struct row {
    int64_t y, width, height;
};

/* Places the parts one after the other, in rows of the width of a page or of the widest part; a
 * part that fits behind a row above goes there. */
static bool place_parts(struct folding *f, int64_t *width, int64_t *height)
{
    int64_t page = PAGE_WIDTH;
    size_t count = 0;
    struct row *rows = att_arena_alloc(f->whole->arena, f->part_count, sizeof *rows);
    for (size_t i = 0; i < f->part_count; i++)
        page = att_max_i64(page, f->parts[i].width);
    *width = *height = 0;
    for (size_t i = 0; rows && i < f->part_count; i++) {
        att_diagram *part = &f->parts[i];
        size_t r = 0;
        while (r < count && (rows[r].width + PART_GAP + part->width > page ||
                             (r + 1 < count && part->height > rows[r].height)))
            r++;
        if (r == count)
            rows[count++] = (struct row){ .y = r > 0 ? *height + PART_GAP : 0, .width = -PART_GAP };
        move_part(part, rows[r].width + PART_GAP, rows[r].y);
        rows[r].width += PART_GAP + part->width;
        rows[r].height = att_max_i64(rows[r].height, part->height);
        *width = att_max_i64(*width, rows[r].width);
        *height = att_max_i64(*height, rows[r].y + rows[r].height);
    }
    int64_t *tops = att_arena_alloc(f->whole->arena, count + 1, sizeof *tops);
    for (size_t r = 0; rows && tops && r < count; r++)
        tops[r] = rows[r].y;
    f->rows = tops;
    f->row_count = count;
    return rows && tops;
}

/* All parts as one diagram. */
static bool join_parts(struct folding *f, att_diagram *out)
{
    size_t nodes = 0, edges = 0;
    for (size_t i = 0; i < f->part_count; i++) {
        nodes += f->parts[i].node_count;
        edges += f->parts[i].edge_count;
    }
    out->nodes = att_arena_alloc(out->arena, nodes + 1, sizeof *out->nodes);
    out->edges = att_arena_alloc(out->arena, edges + 1, sizeof *out->edges);
    if (!out->nodes || !out->edges)
        return false;
    if (!place_parts(f, &out->width, &out->height))
        return false;
    out->rows = f->rows;
    out->row_count = f->row_count;
    out->node_count = out->edge_count = 0;
    for (size_t i = 0; i < f->part_count; i++) {
        size_t first = out->node_count;
        for (size_t n = 0; n < f->parts[i].node_count; n++)
            out->nodes[out->node_count++] = f->parts[i].nodes[n];
        for (size_t e = 0; e < f->parts[i].edge_count; e++) {
            att_diagram_edge *edge = &out->edges[out->edge_count++];
            *edge = f->parts[i].edges[e];
            edge->from += first;
            edge->to += first;
        }
    }
    return true;
}

/* ---- Both */

static bool fold(const att_diagram *whole, att_diagram *out)
{
    struct folding f = { .whole = whole };
    size_t *numbers = att_arena_alloc(whole->arena, 3 * whole->node_count + 1, sizeof *numbers);
    f.cut = att_arena_alloc(whole->arena, whole->node_count + 1, sizeof *f.cut);
    if (!numbers || !f.cut)
        return false;
    f.home = numbers;
    f.part = f.home + whole->node_count;
    f.place = f.part + whole->node_count;
    cut_given(&f);
    bool done = lay_out_parts(&f);
    for (int cuts = 0; done && cuts < MAX_CUTS && f.effort < max_effort && cut_wide(&f); cuts++)
        done = lay_out_parts(&f);
    for (size_t i = 0; done && i < f.part_count; i++)
        out->too_large = out->too_large || f.parts[i].too_large;
    return done && !out->too_large && join_parts(&f, out);
}

bool att_diagram_arrange(att_diagram *diagram)
{
    static const int64_t one_row[] = { 0 };
    diagram->rows = one_row;
    diagram->row_count = 1;
    const att_diagram before = *diagram;
    att_diagram_node *nodes = att_arena_alloc(diagram->arena, diagram->node_count, sizeof *nodes);
    att_diagram_edge *edges =
        att_arena_alloc(diagram->arena, diagram->edge_count + 1, sizeof *edges);
    if (!nodes || !edges)
        return false;
    memcpy(nodes, before.nodes, before.node_count * sizeof *nodes);
    if (before.edge_count > 0)
        memcpy(edges, before.edges, before.edge_count * sizeof *edges);
    diagram->nodes = nodes;
    diagram->edges = edges;
    bool done = att_diagram_lay_out(diagram);
    bool tangled = diagram->lanes > 3 * diagram->node_count / 2;
    if (!diagram->too_large && (!done || (diagram->width <= PAGE_WIDTH && !tangled)))
        return done;
    diagram->too_large = false;
    return fold(&before, diagram);
}
