/* Splits fused attention into units and lays out its buffers; see fused.h. */
#include "attention/fused.h"

#include "base/cpu.h"
#include "base/cpu_features.h"
#include "base/minmax.h"
#include "base/parallel.h"

#include <math.h>

/* A remainder of at most this many queries becomes single-query tiles, which cost less than a
 * mostly empty tile. */
enum { MAX_SINGLE_QUERIES = 4 };

/* What a call reads and writes is likely to be in the last-level cache where it is no more. */
enum { MAX_CACHED_BYTES = 16 << 20 };

/* Whole tiles, then for the remainder one tile, or single-query tiles where it is small. */
static int64_t tile_count(int64_t queries)
{
    int64_t rest = queries % ATT_TILE_LANES;
    return queries / ATT_TILE_LANES + (rest > MAX_SINGLE_QUERIES ? 1 : rest);
}

int64_t att_fused_max_tile_count(int64_t queries)
{
    return queries / ATT_TILE_LANES + MAX_SINGLE_QUERIES;
}

void att_fused_tile_init(const att_fused_attention *fused, const att_sequence_head *head,
                         int64_t index, att_query_tile *tile)
{
    int64_t whole = head->queries / ATT_TILE_LANES, rest = head->queries % ATT_TILE_LANES;
    tile->first = head->query_start + index * ATT_TILE_LANES;
    tile->queries = tile->lanes = ATT_TILE_LANES;
    if (index >= whole && rest <= MAX_SINGLE_QUERIES) {
        tile->first = head->query_start + whole * ATT_TILE_LANES + index - whole;
        tile->queries = tile->lanes = 1;
    } else if (index >= whole) {
        tile->queries = (size_t)rest;
        tile->lanes = rest <= ATT_LANES ? ATT_LANES : ATT_TILE_LANES;
    }
    tile->head = *head;
    att_tile_set_key_ranges(fused, head, tile);
}

void att_fused_tile_at(const att_fused_attention *fused, int64_t sequence, int64_t number,
                       att_query_tile *tile)
{
    int64_t of_head = tile_count(att_sequence_queries(fused->problem, sequence));
    att_sequence_head head = att_sequence_head_get(fused->problem, sequence, number / of_head);
    att_fused_tile_init(fused, &head, number % of_head, tile);
}

/* Tiles that share a pass over the keys load them once, but there must be enough units to keep all
 * workers busy: four each, or one where every tile is a single query and all cost the same.
 * key_totals are sums over all queries, in order: one unit per head (0). */
static int64_t choose_tiles_per_unit(const att_fused_attention *fused, int64_t tiles)
{
    if (fused->out && fused->out->key_totals)
        return 0;
    int64_t each = fused->problem->T == 1 ? 1 : 4, threads = att_threads_get();
    return att_clamp_i64(att_ceil_div_i64(tiles, each * threads), 1, ATT_MAX_TILES);
}

static int64_t bytes_of_call(const att_problem *p)
{
    const att_attention_inputs *in = p->in;
    return (att_tensor_count(in->query) + att_tensor_count(in->key) + att_tensor_count(in->value) +
            p->B * p->T * p->H * p->M) *
           (int64_t)sizeof(float);
}

/* With AVX-512 at full rate the products leave no time for prefetches, and rows from the last-level
 * cache arrive in time without (docs/kernels.md, "Memory"). */
static bool prefetching_pays(const att_problem *p)
{
    bool full_rate = att_cpu_get() == ATT_CPU_AVX512 && !(att_cpu_features() & ATT_CPU_HALF_RATE);
    return !full_rate || bytes_of_call(p) > MAX_CACHED_BYTES;
}

static int64_t units_of_sequence(const att_fused_attention *fused, int64_t s)
{
    int64_t tiles = tile_count(att_sequence_queries(fused->problem, s)), heads = fused->problem->H;
    return fused->tiles_per_unit > 0 ? att_ceil_div_i64(tiles * heads, fused->tiles_per_unit)
           : tiles > 0               ? heads
                                     : 0;
}

/* Floats of the buffer for rows that cannot be used in place: a block of keys or values, or a tile
 * of queries. */
static size_t gather_size(const att_problem *p)
{
    bool in_place = att_tensor_rows_in_place(p->in->query) &&
                    att_tensor_rows_in_place(p->in->key) && att_tensor_rows_in_place(p->in->value);
    return in_place ? 0 : (size_t)att_max_i64(p->Kk, p->M) * ATT_BLOCK_KEYS;
}

/* How many tiles share a copy of a block; 0 where copying never pays: with AVX-512 at half rate,
 * the second-level cache keeps up with the products (docs/kernels.md, "Copies"). */
static int64_t sharing_tiles(const att_fused_attention *fused, int64_t tiles)
{
    if (att_cpu_get() == ATT_CPU_AVX512 && att_cpu_features() & ATT_CPU_HALF_RATE)
        return 0;
    return att_min_i64(tiles, fused->tiles_per_kv_head);
}

static att_fused_buffers alloc_buffers(att_workspace *c, const att_fused_attention *fused)
{
    const att_problem *p = fused->problem;
    const size_t tile = ATT_TILE_LANES, block = ATT_BLOCK_KEYS;
    int64_t tiles = fused->tiles_per_unit > 0 ? fused->tiles_per_unit : ATT_MAX_TILES;
    int64_t sharing = sharing_tiles(fused, tiles);
    att_fused_buffers s = { .tile = att_workspace_alloc(c, (size_t)tiles, sizeof(att_query_tile)),
                            .scores = att_workspace_alloc(c, block * tile, sizeof(float)),
                            .mask_bits =
                                att_workspace_alloc(c, block * (size_t)tiles, sizeof(uint32_t)),
                            .dropout_bits = att_workspace_alloc(c, block, sizeof(uint32_t)),
                            .gathered = att_workspace_alloc(c, gather_size(p), sizeof(float)),
                            .keys = att_row_copy_alloc(c, p->in->key, ATT_BLOCK_KEYS, sharing),
                            .values =
                                att_row_copy_alloc(c, p->in->value, ATT_BLOCK_KEYS, sharing) };
    for (int64_t t = 0; t < tiles; t++) {
        float *query = att_workspace_alloc(c, (size_t)p->Kk * tile, sizeof(float));
        float *sums = att_workspace_alloc(c, fused->sum_stride * tile, sizeof(float));
        att_tile_state *state = att_workspace_alloc(c, 1, sizeof(att_tile_state));
        if (c->base)
            s.tile[t] = (att_query_tile){ .query = query, .sums = sums, .state = state };
    }
    if (p->in->bias)
        s.bias = att_workspace_alloc(c, block * tile, sizeof(float));
    if (p->in->alibi || p->in->relative)
        s.distance_bias = att_workspace_alloc(c, block + tile, sizeof(float));
    if (fused->out && fused->out->entropy)
        s.log_weights = att_workspace_alloc(c, block * tile, sizeof(float));
    if (fused->out && fused->out->key_totals)
        s.key_totals = att_workspace_alloc(c, (size_t)p->S, sizeof(double));
    return s;
}

size_t att_fused_plan(att_fused_attention *fused, const att_problem *p,
                      const att_attention_outputs *out)
{
    *fused = (att_fused_attention){ .problem = p,
                                    .out = out,
                                    .kernels = att_kernels_get(),
                                    .dropout = att_attention_dropout_new(p->options),
                                    .scale = (float)(p->scale * M_LOG2E),
                                    .sum_stride = att_padded_stride(p->M),
                                    .prefetches = prefetching_pays(p),
                                    .sequences = att_sequence_count(p) };
    int64_t tiles = 0;
    for (int64_t s = 0; s < fused->sequences; s++)
        tiles += tile_count(att_sequence_queries(p, s));
    fused->tiles_per_kv_head = tiles * (p->H / p->G) / att_max_i64(fused->sequences, 1);
    fused->tiles_per_unit = choose_tiles_per_unit(fused, tiles * p->H);
    for (int64_t s = 0; s < fused->sequences; s++)
        fused->units += units_of_sequence(fused, s);
    fused->workers = (int)att_min_i64(att_threads_get(), fused->units);
    att_workspace counting = { 0 };
    (void)alloc_buffers(&counting, fused);
    fused->buffers_size = att_workspace_part_size(&counting);
    att_workspace all = { 0 };
    (void)att_workspace_alloc(&all, (size_t)fused->sequences + 1, sizeof(int64_t));
    return all.used + (size_t)fused->workers * fused->buffers_size + ATT_WORKSPACE_ALIGNMENT - 1;
}

att_status att_fused_init_block_list(att_fused_attention *fused, att_error *err)
{
    fused->block_list_options = *fused->problem->options;
    fused->block_list_options.mask = NULL;
    fused->block_list_problem = *fused->problem;
    fused->block_list_problem.options = &fused->block_list_options;
    return att_mask_new(&fused->block_list_mask, &fused->block_list_problem, err);
}

void att_fused_free(att_fused_attention *fused)
{
    att_mask_free(&fused->block_list_mask);
}

void att_fused_set_workspace(att_fused_attention *fused, void *workspace)
{
    att_workspace all = { .base = workspace };
    fused->unit_offsets = att_workspace_alloc(&all, (size_t)fused->sequences + 1, sizeof(int64_t));
    fused->buffers = (char *)workspace + all.used;
    fused->unit_offsets[0] = 0;
    for (int64_t s = 0; s < fused->sequences; s++)
        fused->unit_offsets[s + 1] = fused->unit_offsets[s] + units_of_sequence(fused, s);
}

att_fused_buffers att_fused_worker_buffers(const att_fused_attention *fused, int worker)
{
    att_workspace mine = att_workspace_part(fused->buffers, fused->buffers_size, worker);
    return alloc_buffers(&mine, fused);
}

int64_t att_fused_tile_count(const att_sequence_head *head)
{
    return tile_count(head->queries);
}

/* The last units of a causal head cost the most, so they run first. */
att_work_unit att_fused_unit(const att_fused_attention *fused, int64_t number)
{
    number = fused->units - 1 - number;
    int64_t s = att_sequence_find(fused->unit_offsets, fused->sequences, number);
    int64_t tiles = tile_count(att_sequence_queries(fused->problem, s));
    int64_t group = fused->tiles_per_unit > 0 ? fused->tiles_per_unit : tiles,
            all = tiles * fused->problem->H;
    int64_t first = (number - fused->unit_offsets[s]) * group;
    return (att_work_unit){ s, first, att_min_i64(all, first + group) };
}
