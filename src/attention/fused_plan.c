/* How fused attention is cut into units and laid out in memory; see fused.h. */
#include "attention/fused.h"

#include "base/alloc.h"
#include "base/parallel.h"

#include <math.h>

/* With so few queries left, each goes through the keys alone: that costs less than a tile. */
enum { FEW_QUERIES = 4 };

static bool is_float(const att_tensor *tensor)
{
    return !tensor || tensor->dtype == ATT_F32;
}

bool att_all_float(const att_problem *p, const att_attention_outputs *out)
{
    bool floats = true;
    for (int s = 0; s < ATT_SLOTS; s++)
        floats &= is_float(att_problem_input(p->in, (att_slot)s));
    if (out)
        floats &= is_float(out->output) && is_float(out->scores) && is_float(out->weights) &&
                  is_float(out->log_sum_exp) && is_float(out->key_totals) && is_float(out->entropy);
    return floats;
}

bool att_fused_fits(const att_problem *p)
{
    return (p->how->score == ATT_SCORE_DOT || p->how->score == ATT_SCORE_SCALED) &&
           p->how->normaliser == ATT_NORMALISE_SOFTMAX;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static int64_t sequence_queries(const att_problem *p, int64_t s)
{
    return p->how->sequences > 0 ? p->how->query_offsets[s + 1] - p->how->query_offsets[s] : p->T;
}

/* Whole tiles, then for the rest one tile, or one per query where they are few. */
static int64_t tile_count(int64_t queries)
{
    int64_t rest = queries % ATT_TILE_LANES;
    return queries / ATT_TILE_LANES + (rest > FEW_QUERIES ? 1 : rest);
}

int64_t att_fused_most_tiles(int64_t queries)
{
    return queries / ATT_TILE_LANES + FEW_QUERIES;
}

void att_fused_tile(const att_fused *fused, const att_head *head, int64_t index, att_tile *tile)
{
    int64_t whole = head->queries / ATT_TILE_LANES, rest = head->queries % ATT_TILE_LANES;
    tile->first = head->query_start + index * ATT_TILE_LANES;
    tile->queries = tile->lanes = ATT_TILE_LANES;
    if (index >= whole && rest <= FEW_QUERIES) {
        tile->first = head->query_start + whole * ATT_TILE_LANES + index - whole;
        tile->queries = tile->lanes = 1;
    } else if (index >= whole) {
        tile->queries = (size_t)rest;
        tile->lanes = rest <= ATT_LANES ? ATT_LANES : ATT_TILE_LANES;
    }
    tile->head = *head;
    att_tile_spans(fused, head, tile);
}

void att_fused_tile_of(const att_fused *fused, int64_t sequence, int64_t number, att_tile *tile)
{
    int64_t of_head = tile_count(sequence_queries(fused->problem, sequence));
    att_head head = att_fused_head(fused, sequence, number / of_head);
    att_fused_tile(fused, &head, number % of_head, tile);
}

/* Tiles that share a pass over the keys save fetching them again, but there must be enough units to
 * keep all workers busy: four each, or one where every tile is a single query and all cost the
 * same. The keys' totals are sums over all queries, in order: one unit per head. */
static int64_t choose_group(const att_fused *fused, int64_t tiles)
{
    if (fused->out && fused->out->key_totals)
        return 0;
    int64_t each = fused->problem->T == 1 ? 1 : 4, threads = att_threads_get();
    int64_t group = divide_up(tiles, each * threads);
    return group < 1 ? 1 : group > ATT_TILES ? ATT_TILES : group;
}

static int64_t units_of_sequence(const att_fused *fused, int64_t s)
{
    int64_t tiles = tile_count(sequence_queries(fused->problem, s)), heads = fused->problem->H;
    return fused->group > 0 ? divide_up(tiles * heads, fused->group) : tiles > 0 ? heads : 0;
}

void *att_carve(att_carver *c, size_t count, size_t size)
{
    char *piece = c->base ? c->base + c->used : NULL;
    c->used += (count * size + ATT_ALIGNMENT - 1) / ATT_ALIGNMENT * ATT_ALIGNMENT;
    return piece;
}

size_t att_sum_stride(int64_t width)
{
    return (size_t)divide_up(width, ATT_LANES) * ATT_LANES;
}

static bool must_gather(const att_tensor *tensor)
{
    return tensor->stride[3] != 1 && tensor->shape[3] > 1;
}

static size_t gather_room(const att_problem *p)
{
    int64_t widest = p->M;
    bool any = must_gather(p->in->query) || must_gather(p->in->key) || must_gather(p->in->value);
    widest = p->Kk > widest ? p->Kk : widest;
    return any ? (size_t)widest * ATT_BLOCK_KEYS : 0;
}

static att_scratch carve_scratch(att_carver *c, const att_fused *fused)
{
    const att_problem *p = fused->problem;
    size_t tile = (size_t)ATT_TILE_LANES, block = ATT_BLOCK_KEYS;
    int64_t tiles = fused->group > 0 ? fused->group : ATT_TILES;
    att_scratch s = { .tile = att_carve(c, (size_t)tiles, sizeof(att_tile)),
                      .scores = att_carve(c, block * tile, sizeof(float)),
                      .allow = att_carve(c, block * (size_t)tiles, sizeof(uint32_t)),
                      .kept = att_carve(c, block, sizeof(uint32_t)),
                      .gather = att_carve(c, gather_room(p), sizeof(float)) };
    for (int64_t t = 0; t < tiles; t++) {
        float *query = att_carve(c, (size_t)p->Kk * tile, sizeof(float));
        float *sums = att_carve(c, fused->sum_stride * tile, sizeof(float));
        att_tile_state *state = att_carve(c, 1, sizeof(att_tile_state));
        if (c->base)
            s.tile[t] = (att_tile){ .query = query, .sums = sums, .state = state };
    }
    if (p->in->bias)
        s.bias = att_carve(c, block * tile, sizeof(float));
    if (p->in->alibi || p->in->relative)
        s.by_distance = att_carve(c, block + tile, sizeof(float));
    if (fused->out && fused->out->entropy)
        s.numbers = att_carve(c, block * tile, sizeof(float));
    if (fused->out && fused->out->key_totals)
        s.totals = att_carve(c, (size_t)p->S, sizeof(double));
    return s;
}

size_t att_fused_plan(att_fused *fused, const att_problem *p, const att_attention_outputs *out)
{
    *fused = (att_fused){ .problem = p,
                          .out = out,
                          .kern = att_kernels_get(),
                          .drop = att_drop_mask_new(p->how),
                          .scale = (float)(p->scale * M_LOG2E),
                          .sum_stride = att_sum_stride(p->M),
                          .sequences = p->how->sequences > 0 ? p->how->sequences : p->B };
    int64_t tiles = 0;
    for (int64_t s = 0; s < fused->sequences; s++)
        tiles += tile_count(sequence_queries(p, s));
    fused->group = choose_group(fused, tiles * p->H);
    for (int64_t s = 0; s < fused->sequences; s++)
        fused->units += units_of_sequence(fused, s);
    int64_t threads = att_threads_get();
    fused->workers = (int)(threads < fused->units ? threads : fused->units);
    att_carver counting = { 0 };
    (void)carve_scratch(&counting, fused);
    fused->scratch_size = counting.used;
    att_carver all = { 0 };
    (void)att_carve(&all, (size_t)fused->sequences + 1, sizeof(int64_t));
    return all.used + (size_t)fused->workers * fused->scratch_size + ATT_ALIGNMENT - 1;
}

att_status att_fused_lists(att_fused *fused, att_error *err)
{
    fused->only_lists = *fused->problem->how;
    fused->only_lists.allow = NULL;
    fused->listed = *fused->problem;
    fused->listed.how = &fused->only_lists;
    return att_mask_new(&fused->lists, &fused->listed, err);
}

void att_fused_free(att_fused *fused)
{
    att_mask_free(&fused->lists);
}

void *att_fused_room(void *workspace, size_t size, void **own)
{
    *own = workspace ? NULL : att_alloc(size, 1);
    uintptr_t start = (uintptr_t)(workspace ? workspace : *own);
    return (void *)((start + ATT_ALIGNMENT - 1) / ATT_ALIGNMENT * ATT_ALIGNMENT);
}

void att_fused_place(att_fused *fused, void *workspace)
{
    att_carver all = { .base = workspace };
    fused->units_before = att_carve(&all, (size_t)fused->sequences + 1, sizeof(int64_t));
    fused->scratch = (char *)workspace + all.used;
    fused->units_before[0] = 0;
    for (int64_t s = 0; s < fused->sequences; s++)
        fused->units_before[s + 1] = fused->units_before[s] + units_of_sequence(fused, s);
}

att_scratch att_fused_scratch(const att_fused *fused, int worker)
{
    att_carver mine = { .base = fused->scratch + (size_t)worker * fused->scratch_size };
    return carve_scratch(&mine, fused);
}

/* The last sequence that begins at or before `unit`. */
static int64_t find_sequence(const att_fused *fused, int64_t unit)
{
    int64_t low = 0, high = fused->sequences - 1;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (fused->units_before[middle] <= unit)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

att_head att_fused_head(const att_fused *fused, int64_t sequence, int64_t h)
{
    const att_problem *p = fused->problem;
    att_head head = { .h = h, .g = h / (p->H / p->G), .queries = p->T, .keys = p->S };
    if (p->how->sequences == 0) {
        head.b = sequence;
        return head;
    }
    head.query_start = p->how->query_offsets[sequence];
    head.queries = sequence_queries(p, sequence);
    head.key_start = p->how->key_offsets[sequence];
    head.keys = p->how->key_offsets[sequence + 1] - head.key_start;
    return head;
}

int64_t att_fused_tiles(const att_head *head)
{
    return tile_count(head->queries);
}

/* The last units of a causal head cost the most, so they are taken first. */
att_unit att_fused_unit(const att_fused *fused, int64_t number)
{
    number = fused->units - 1 - number;
    int64_t s = find_sequence(fused, number);
    int64_t tiles = tile_count(sequence_queries(fused->problem, s));
    int64_t group = fused->group > 0 ? fused->group : tiles, all = tiles * fused->problem->H;
    int64_t first = (number - fused->units_before[s]) * group;
    return (att_unit){ s, first, all - first < group ? all : first + group };
}
