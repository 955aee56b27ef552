/* Layered layout (Sugiyama, Tagawa and Toda 1981): every value is one layer below those that it is
 * computed from. An arrow that passes a layer gets a narrow lane in it, so that no arrow crosses a
 * box; lanes and boxes are ordered to have few crossings, then moved towards their neighbors. */
#include "render/diagram.h"

#include "base/minmax.h"

#include <stdlib.h>
#include <string.h>

enum {
    MARGIN = 20,
    BOX_GAP = 26,
    LANE_WIDTH = 10,
    LAYER_GAP = 46,
    ORDER_SWEEPS = 24,
    PLACE_SWEEPS = 40,
    MAX_ITEMS = 4000, /* boxes and lanes: less than a second */
};

/* A box, or the lane of an arrow. */
typedef struct item {
    int layer;
    int64_t width;
    double x; /* middle */
    double key;
    size_t node;  /* SIZE_MAX: a lane */
    size_t place; /* in its layer */
} item;

/* A piece of an arrow between neighboring layers: items, and where it touches them. */
typedef struct link {
    size_t upper, lower;
    double upper_offset, lower_offset; /* from the middle */
} link;

struct layout {
    att_diagram *diagram;
    item *items;
    size_t item_count;
    link *links;
    size_t link_count;
    size_t *lanes; /* first lane of each edge; the others follow */
    int layers;
    size_t **order; /* items of each layer */
    size_t *sizes;
};

/* ---- Layers */

static void choose_layers(att_diagram *d)
{
    for (size_t i = 0; i < d->edge_count; i++) { /* sorted by `to`; arrows go to later nodes */
        att_diagram_node *from = &d->nodes[d->edges[i].from], *to = &d->nodes[d->edges[i].to];
        from->outputs++;
        to->inputs++;
        if (to->layer <= from->layer)
            to->layer = from->layer + 1;
    }
    for (size_t n = 0; n < d->node_count; n++) { /* what is given stands near its first use */
        att_diagram_node *node = &d->nodes[n];
        int nearest = -1;
        for (size_t i = 0; node->inputs == 0 && i < d->edge_count; i++)
            if (d->edges[i].from == n &&
                (nearest < 0 || d->nodes[d->edges[i].to].layer - 1 < nearest))
                nearest = d->nodes[d->edges[i].to].layer - 1;
        if (nearest > node->layer)
            node->layer = nearest;
    }
}

static bool make_items(struct layout *l)
{
    att_diagram *d = l->diagram;
    size_t count = d->node_count;
    for (size_t i = 0; i < d->edge_count; i++)
        count += (size_t)(d->nodes[d->edges[i].to].layer - d->nodes[d->edges[i].from].layer - 1);
    d->lanes = count - d->node_count;
    d->too_large = count > MAX_ITEMS || d->edge_count > MAX_ITEMS;
    if (d->too_large)
        return false;
    l->items = att_arena_alloc(d->arena, count, sizeof *l->items);
    l->links = att_arena_alloc(d->arena, count + d->edge_count, sizeof *l->links);
    l->lanes = att_arena_alloc(d->arena, d->edge_count + 1, sizeof *l->lanes);
    if (!l->items || !l->links || !l->lanes)
        return false;
    for (size_t n = 0; n < d->node_count; n++)
        l->items[l->item_count++] =
            (item){ .layer = d->nodes[n].layer, .width = d->nodes[n].width, .node = n };
    for (size_t i = 0; i < d->edge_count; i++) {
        const att_diagram_edge *edge = &d->edges[i];
        const att_diagram_node *from = &d->nodes[edge->from], *to = &d->nodes[edge->to];
        size_t upper = edge->from;
        double offset = (double)from->out_x - (double)from->width / 2;
        l->lanes[i] = l->item_count;
        for (int layer = from->layer + 1; layer < to->layer; layer++) {
            l->items[l->item_count] =
                (item){ .layer = layer, .width = LANE_WIDTH, .node = SIZE_MAX };
            l->links[l->link_count++] = (link){ upper, l->item_count, offset, 0 };
            upper = l->item_count++;
            offset = 0;
        }
        double port = (double)to->ports[edge->port].x - (double)to->width / 2;
        l->links[l->link_count++] = (link){ upper, edge->to, offset, port };
    }
    return true;
}

static bool fill_layers(struct layout *l)
{
    for (size_t i = 0; i < l->item_count; i++)
        l->layers = l->items[i].layer >= l->layers ? l->items[i].layer + 1 : l->layers;
    l->order = att_arena_alloc(l->diagram->arena, (size_t)l->layers, sizeof *l->order);
    l->sizes = att_arena_alloc(l->diagram->arena, (size_t)l->layers, sizeof *l->sizes);
    if (!l->order || !l->sizes)
        return false;
    for (size_t i = 0; i < l->item_count; i++)
        l->sizes[l->items[i].layer]++;
    for (int k = 0; k < l->layers; k++) {
        l->order[k] = att_arena_alloc(l->diagram->arena, l->sizes[k] + 1, sizeof **l->order);
        if (!l->order[k])
            return false;
        l->sizes[k] = 0;
    }
    for (size_t i = 0; i < l->item_count; i++) {
        int layer = l->items[i].layer;
        l->items[i].place = l->sizes[layer];
        l->order[layer][l->sizes[layer]++] = i;
    }
    return true;
}

/* ---- Order */

/* Where a link touches an item, as a place in its layer. */
static double end_place(const struct layout *l, size_t index, double offset)
{
    const item *i = &l->items[index];
    return (double)i->place + offset / (double)(i->width + 1);
}

static size_t count_crossings(const struct layout *l)
{
    size_t crossings = 0;
    for (size_t a = 0; a < l->link_count; a++)
        for (size_t b = a + 1; b < l->link_count; b++) {
            const link *p = &l->links[a], *q = &l->links[b];
            if (l->items[p->upper].layer != l->items[q->upper].layer)
                continue;
            double up =
                end_place(l, p->upper, p->upper_offset) - end_place(l, q->upper, q->upper_offset);
            double down =
                end_place(l, p->lower, p->lower_offset) - end_place(l, q->lower, q->lower_offset);
            crossings += up * down < 0;
        }
    return crossings;
}

/* Sorts a layer by the mean place of its neighbors above or below; a stable insertion sort. */
static void sort_layer(struct layout *l, int layer, bool down)
{
    size_t *order = l->order[layer], size = l->sizes[layer];
    for (size_t n = 0; n < size; n++) {
        double sum = 0, count = 0;
        for (size_t i = 0; i < l->link_count; i++) {
            const link *e = &l->links[i];
            if (down && e->lower == order[n])
                sum += end_place(l, e->upper, e->upper_offset) -
                       e->lower_offset / (double)(l->items[e->lower].width + 1);
            else if (!down && e->upper == order[n])
                sum += end_place(l, e->lower, e->lower_offset) -
                       e->upper_offset / (double)(l->items[e->upper].width + 1);
            else
                continue;
            count++;
        }
        l->items[order[n]].key = count > 0 ? sum / count : (double)l->items[order[n]].place;
    }
    for (size_t n = 1; n < size; n++)
        for (size_t m = n; m > 0 && l->items[order[m]].key < l->items[order[m - 1]].key; m--) {
            size_t other = order[m];
            order[m] = order[m - 1];
            order[m - 1] = other;
        }
    for (size_t n = 0; n < size; n++)
        l->items[order[n]].place = n;
}

static bool choose_order(struct layout *l)
{
    size_t *best = att_arena_alloc(l->diagram->arena, l->item_count + 1, sizeof *best);
    size_t least = SIZE_MAX;
    if (!best)
        return false;
    for (int sweep = 0; sweep <= ORDER_SWEEPS && least > 0; sweep++) {
        bool down = sweep % 2 == 1;
        for (int k = 0; sweep > 0 && k < l->layers; k++)
            sort_layer(l, down ? k : l->layers - 1 - k, down);
        size_t crossings = count_crossings(l);
        for (size_t i = 0; crossings < least && i < l->item_count; i++)
            best[i] = l->items[i].place;
        least = crossings < least ? crossings : least;
    }
    for (size_t i = 0; i < l->item_count; i++) {
        l->items[i].place = best[i];
        l->order[l->items[i].layer][best[i]] = i;
    }
    return true;
}

/* ---- Places */

static double gap_between(const item *a, const item *b)
{
    bool lane = a->node == SIZE_MAX || b->node == SIZE_MAX;
    return (double)(a->width + b->width) / 2 + (lane ? BOX_GAP / 2.0 : BOX_GAP);
}

/* Moves the items of a layer as near as possible to where their neighbors want them, in order and
 * without overlap: isotonic regression by pooling adjacent violators. */
static void place_layer(struct layout *l, int layer, double *want, double *sum, double *weight,
                        size_t *last)
{
    const size_t *order = l->order[layer];
    size_t size = l->sizes[layer], pools = 0;
    double offset = 0;
    for (size_t n = 0; n < size; n++) {
        const item *i = &l->items[order[n]];
        double heavy = i->node == SIZE_MAX ? 4 : 1;
        if (n > 0)
            offset += gap_between(&l->items[order[n - 1]], i);
        sum[pools] = (want[order[n]] - offset) * heavy;
        weight[pools] = heavy;
        last[pools++] = n;
        while (pools > 1 &&
               sum[pools - 2] / weight[pools - 2] > sum[pools - 1] / weight[pools - 1]) {
            sum[pools - 2] += sum[pools - 1];
            weight[pools - 2] += weight[pools - 1];
            last[pools - 2] = last[pools - 1];
            pools--;
        }
    }
    offset = 0;
    for (size_t n = 0, p = 0; n < size; n++) {
        if (n > 0)
            offset += gap_between(&l->items[order[n - 1]], &l->items[order[n]]);
        p += n > last[p];
        l->items[order[n]].x = sum[p] / weight[p] + offset;
    }
}

/* The mean of the places that the links of each item want: those above, below, or both. */
static void find_wanted(const struct layout *l, double *want, double *count, bool above, bool below)
{
    for (size_t i = 0; i < l->item_count; i++)
        want[i] = count[i] = 0;
    for (size_t i = 0; i < l->link_count; i++) {
        const link *e = &l->links[i];
        if (above) {
            want[e->lower] += l->items[e->upper].x + e->upper_offset - e->lower_offset;
            count[e->lower]++;
        }
        if (below) {
            want[e->upper] += l->items[e->lower].x + e->lower_offset - e->upper_offset;
            count[e->upper]++;
        }
    }
    for (size_t i = 0; i < l->item_count; i++)
        want[i] = count[i] > 0 ? want[i] / count[i] : l->items[i].x;
}

static bool choose_places(struct layout *l)
{
    double *numbers = att_arena_alloc(l->diagram->arena, 4 * l->item_count + 1, sizeof *numbers);
    size_t *last = att_arena_alloc(l->diagram->arena, l->item_count + 1, sizeof *last);
    if (!numbers || !last)
        return false;
    double *want = numbers, *count = want + l->item_count, *sum = count + l->item_count,
           *weight = sum + l->item_count;
    for (int sweep = 0; sweep < PLACE_SWEEPS; sweep++) {
        bool down = sweep % 2 == 0, both = sweep > PLACE_SWEEPS - 8;
        for (int k = 0; k < l->layers; k++) {
            find_wanted(l, want, count, down || both, !down || both);
            place_layer(l, down ? k : l->layers - 1 - k, want, sum, weight, last);
        }
    }
    return true;
}

/* ---- Coordinates */

/* The least left side beyond `right`; the items before it end at `right`. */
static bool next_left(const struct layout *l, double right, double *left)
{
    bool found = false;
    for (size_t i = 0; i < l->item_count; i++) {
        double x = l->items[i].x - (double)l->items[i].width / 2;
        if (x > right && (!found || x < *left)) {
            *left = x;
            found = true;
        }
    }
    return found;
}

/* Parts of the diagram without a common box drift apart: closes wide columns that have no item. */
static void close_gaps(struct layout *l)
{
    double left = -1e300, right = -1e300;
    while (next_left(l, right, &left)) {
        double excess = left - right - 2 * BOX_GAP, end;
        for (size_t i = 0; right > -1e300 && excess > 0 && i < l->item_count; i++)
            if (l->items[i].x > right)
                l->items[i].x -= excess;
        left -= right > -1e300 && excess > 0 ? excess : 0;
        end = left;
        for (bool grown = true; grown;) { /* all that overlaps from here on */
            grown = false;
            for (size_t i = 0; i < l->item_count; i++) {
                double half = (double)l->items[i].width / 2;
                if (l->items[i].x - half <= end + 0.5 && l->items[i].x + half > end) {
                    end = l->items[i].x + half;
                    grown = true;
                }
            }
        }
        right = end;
    }
}

static void set_columns(struct layout *l)
{
    close_gaps(l);
    att_diagram *d = l->diagram;
    double left = 0, right = 0;
    for (size_t i = 0; i < l->item_count; i++) {
        double half = (double)l->items[i].width / 2;
        left = i == 0 || l->items[i].x - half < left ? l->items[i].x - half : left;
        right = i == 0 || l->items[i].x + half > right ? l->items[i].x + half : right;
    }
    for (size_t i = 0; i < l->item_count; i++)
        l->items[i].x += MARGIN - left;
    for (size_t n = 0; n < d->node_count; n++)
        d->nodes[n].x = (int64_t)(l->items[n].x - (double)d->nodes[n].width / 2 + 0.5);
    d->width = (int64_t)(right - left) + 2 * MARGIN + 1;
}

/* The more an arrow travels to the side, the more room it gets. */
static int64_t gap_below(const struct layout *l, int layer)
{
    double travel = 0;
    for (size_t i = 0; i < l->link_count; i++) {
        const link *e = &l->links[i];
        double x = l->items[e->upper].x + e->upper_offset - l->items[e->lower].x - e->lower_offset;
        if (l->items[e->upper].layer == layer && (x > travel || -x > travel))
            travel = x > 0 ? x : -x;
    }
    return LAYER_GAP + att_min_i64((int64_t)(travel / 8), 60);
}

/* Boxes begin at the top of their layer; those without arrows into them end at its foot. */
static void set_rows(struct layout *l, int64_t *top, int64_t *foot)
{
    att_diagram *d = l->diagram;
    int64_t y = MARGIN;
    for (int k = 0; k < l->layers; k++) {
        int64_t height = 0;
        for (size_t n = 0; n < d->node_count; n++)
            if (d->nodes[n].layer == k)
                height = att_max_i64(height, d->nodes[n].height);
        top[k] = y;
        foot[k] = y + height;
        for (size_t n = 0; n < d->node_count; n++)
            if (d->nodes[n].layer == k)
                d->nodes[n].y = d->nodes[n].inputs > 0 ? y : foot[k] - d->nodes[n].height;
        y = foot[k] + gap_below(l, k);
    }
    d->height = foot[l->layers - 1] + MARGIN;
}

/* The arrows that enter one port stand side by side, in the order in which they come. The name of a
 * part has room beside the first and the last of them. */
static int64_t port_shift(struct layout *l, size_t edge)
{
    att_diagram *d = l->diagram;
    att_diagram_edge *own = &d->edges[edge];
    int64_t before = 0, count = 0;
    for (size_t i = 0; i < d->edge_count; i++) {
        const att_diagram_edge *other = &d->edges[i];
        if (other->to != own->to || other->port != own->port)
            continue;
        size_t a =
            d->nodes[other->from].layer + 1 < d->nodes[own->to].layer
                ? l->lanes[i] + (size_t)(d->nodes[own->to].layer - d->nodes[other->from].layer - 2)
                : other->from;
        size_t b =
            d->nodes[own->from].layer + 1 < d->nodes[own->to].layer
                ? l->lanes[edge] + (size_t)(d->nodes[own->to].layer - d->nodes[own->from].layer - 2)
                : own->from;
        double x = l->items[a].x, y = l->items[b].x;
        before += x < y || (x == y && i < edge);
        count++;
    }
    own->side = before == count - 1 ? 1 : before == 0 ? -1 : 0;
    int64_t width = d->nodes[own->to].ports[own->port].width;
    int64_t step = att_min_i64(22, (width - 12) / att_max_i64(count, 1));
    return (2 * before - count + 1) * step / 2;
}

static bool route(struct layout *l, const int64_t *top, const int64_t *foot)
{
    att_diagram *d = l->diagram;
    for (size_t i = 0; i < d->edge_count; i++) {
        att_diagram_edge *edge = &d->edges[i];
        const att_diagram_node *from = &d->nodes[edge->from], *to = &d->nodes[edge->to];
        size_t lanes = (size_t)(to->layer - from->layer - 1), count = 0;
        edge->path = att_arena_alloc(d->arena, 2 * lanes + 4, sizeof *edge->path);
        if (!edge->path)
            return false;
        edge->path[count++] = (att_point){ from->x + from->out_x, from->y + from->out_y };
        if (foot[from->layer] > from->y + from->out_y)
            edge->path[count++] = (att_point){ from->x + from->out_x, foot[from->layer] };
        for (size_t k = 0; k < lanes; k++) {
            int64_t x = (int64_t)(l->items[l->lanes[i] + k].x + 0.5);
            int layer = from->layer + 1 + (int)k;
            edge->path[count++] = (att_point){ x, top[layer] };
            edge->path[count++] = (att_point){ x, foot[layer] };
        }
        const att_diagram_port *port = &to->ports[edge->port];
        int64_t x = to->x + port->x + port_shift(l, i);
        if (port->y > 0)
            edge->path[count++] = (att_point){ x, to->y };
        edge->path[count++] = (att_point){ x, to->y + port->y };
        edge->path_length = count;
    }
    return true;
}

bool att_diagram_lay_out(att_diagram *diagram)
{
    struct layout l = { .diagram = diagram };
    choose_layers(diagram);
    if (!make_items(&l) || !fill_layers(&l) || !choose_order(&l))
        return false;
    for (int k = 0; k < l.layers; k++) { /* a first row of places, left to right */
        double x = 0;
        for (size_t n = 0; n < l.sizes[k]; n++) {
            item *i = &l.items[l.order[k][n]];
            i->x = n == 0 ? 0 : x + gap_between(&l.items[l.order[k][n - 1]], i);
            x = i->x;
        }
    }
    int64_t *rows = att_arena_alloc(diagram->arena, 2 * (size_t)l.layers, sizeof *rows);
    if (!rows || !choose_places(&l))
        return false;
    set_columns(&l);
    set_rows(&l, rows, rows + l.layers);
    return route(&l, rows, rows + l.layers);
}
