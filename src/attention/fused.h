/* Fused attention in float32 (flash attention on the CPU): tiles of queries against blocks of keys
 * (kern/attention.h). The maximum and sum of softmax are updated block by block, so memory grows
 * with the sequence length and never with its square.
 *
 * A query's result has the same bits at any number of threads, in any batch, over a KV cache or in
 * the full matrix, because nothing in it depends on the other queries: blocks of keys start at
 * multiples of ATT_BLOCK_KEYS counted from the start of the sequence, sums run in the order of keys
 * inside a block, and a block that a query may not attend leaves its state unchanged.
 *
 * Work is split into units: some tiles of one sequence, which visit the keys together, block by
 * block. Tiles of the same head use a block one after the other while the next block is prefetched.
 * Worker threads take units from an atomic counter; each has its own buffers. */
#ifndef ATT_ATTENTION_FUSED_H
#define ATT_ATTENTION_FUSED_H

#include "attention/dropout.h"
#include "attention/mask.h"
#include "attention/row_copy.h"

#include <stdatomic.h>

/* Largest number of tiles that visit the keys together: enough to amortize loading a block, few
 * enough that their queries and sums fit in a cache of half a megabyte. */
enum { ATT_MAX_TILES = 16 };

/* A tile: up to 32 queries of a head, one per lane, and the keys that they may attend. Lanes
 * without a bit in `active` may attend no key. */
typedef struct att_query_tile {
    att_sequence_head head;
    int64_t first; /* row of the query in lane 0 */
    size_t queries, lanes;
    uint32_t active;                          /* queries whose key range is not empty */
    uint32_t attended;                        /* queries that attended a key so far */
    bool has_sums;                            /* `sums` holds the blocks visited so far */
    int64_t key_begin, key_end;               /* union of the active key ranges */
    int64_t common_key_begin, common_key_end; /* their intersection */
    att_key_range key_range[ATT_TILE_LANES];
    float *query; /* [K][lanes], scaled */
    float *sums;  /* [queries][sum_stride] weighted sums of values so far */
    att_tile_state *state;
} att_query_tile;

/* Rows of a tensor to prefetch, a part at a time, while a tile computes its scores. */
typedef struct att_prefetch_rows {
    const att_tensor *tensor;
    int64_t b, first, head, count;
} att_prefetch_rows;

enum { ATT_MAX_PREFETCH = 4 }; /* keys, values, outputs, queries */

/* The buffers of one worker thread. */
typedef struct att_fused_buffers {
    att_query_tile *tile;                         /* [group], at most ATT_MAX_TILES */
    att_prefetch_rows prefetch[ATT_MAX_PREFETCH]; /* requested during the next scores */
    int prefetch_count;
    float *scores;          /* [ATT_BLOCK_KEYS][ATT_TILE_LANES] */
    float *bias;            /* the same size; only with a dense bias */
    float *distance_bias;   /* [ATT_BLOCK_KEYS + ATT_TILE_LANES]; only with ALiBi or a table */
    uint32_t *mask_bits;    /* [group][ATT_BLOCK_KEYS] a bit per query: may attend the key */
    uint32_t *dropout_bits; /* [ATT_BLOCK_KEYS] likewise: dropout keeps the weight */
    float *gathered;        /* copies of rows that cannot be used in place: queries, outputs */
    att_row_copy keys, values;
    float *cap_derivative; /* [ATT_BLOCK_KEYS][ATT_TILE_LANES] of the soft cap; backward only */
    float *log_weights;    /* [ATT_BLOCK_KEYS][ATT_TILE_LANES]; only for the entropy */
    double *key_totals;    /* [S]; only for key_totals */
} att_fused_buffers;

typedef struct att_fused_attention {
    const att_problem *problem;
    const att_attention_outputs *out;
    const att_kernels *kernels;
    att_attention_options block_list_options; /* the options without the dense mask, */
    att_problem block_list_problem;           /* the problem with them, */
    att_mask block_list_mask;                 /* and its mask: what the block list alone allows */
    att_attention_dropout dropout;
    float scale; /* of packed queries: scale * log2(e) */
    size_t sum_stride;
    int64_t sequences;
    int64_t tiles_per_unit;    /* tiles in a unit; 0: all of a head */
    int64_t tiles_per_kv_head; /* on average: tiles that read the same keys */
    bool prefetches;           /* rows of the next block or unit, while a tile computes */
    int64_t *unit_offsets;     /* [sequences + 1] units of the preceding sequences */
    int64_t units;
    int workers;
    char *buffers; /* [workers][buffers_size] */
    size_t buffers_size;
    atomic_int_least64_t next_unit; /* to be taken */
} att_fused_attention;

/* ---- fused_plan.c: units, workers, buffers */

/* Decides on units and workers and returns the bytes of workspace needed. `out` may be NULL. */
size_t att_fused_plan(att_fused_attention *fused, const att_problem *problem,
                      const att_attention_outputs *out);

/* Sets the pointers of the plan into a workspace of that size, 64-byte aligned. */
void att_fused_set_workspace(att_fused_attention *fused, void *workspace);

/* Sorts the block list; release with att_fused_free(), also after a failure. */
att_status att_fused_init_block_list(att_fused_attention *fused, att_error *err);
void att_fused_free(att_fused_attention *fused);

att_fused_buffers att_fused_worker_buffers(const att_fused_attention *fused, int worker);

/* The number of tiles that a head's queries make. */
int64_t att_fused_tile_count(const att_sequence_head *head);

/* The largest number of tiles that a head of at most `queries` queries can have. */
int64_t att_fused_max_tile_count(int64_t queries);

/* Tiles first … last-1 of a sequence, counted head by head. */
typedef struct att_work_unit {
    int64_t sequence, first, last;
} att_work_unit;

att_work_unit att_fused_unit(const att_fused_attention *fused, int64_t number);

/* Sets `tile` to the queries of tile `index` of a head, or of tile `number` of a sequence. */
void att_fused_tile_init(const att_fused_attention *fused, const att_sequence_head *head,
                         int64_t index, att_query_tile *tile);
void att_fused_tile_at(const att_fused_attention *fused, int64_t sequence, int64_t number,
                       att_query_tile *tile);

/* ---- fused_mask.c: which pairs of a tile and a block are allowed */

typedef enum att_block_mask {
    ATT_BLOCK_MASK_EMPTY,
    ATT_BLOCK_MASK_PARTIAL,
    ATT_BLOCK_MASK_FULL
} att_block_mask;

/* Sets the key ranges of the queries of a tile. */
void att_tile_set_key_ranges(const att_fused_attention *fused, const att_sequence_head *head,
                             att_query_tile *tile);

/* Which keys of `from` … from+count-1 the tile's queries may attend; for ATT_BLOCK_MASK_PARTIAL
 * allow[count] has a bit per query. Updates tile->attended. */
att_block_mask att_tile_block_mask(const att_fused_attention *fused, const att_sequence_head *head,
                                   att_query_tile *tile, int64_t from, size_t count,
                                   uint32_t *allow);

/* ---- fused_prefetch.c */

/* Keys and values that will be read next (none where count is 0), and the next unit. */
typedef struct att_prefetch_target {
    att_sequence_head head;
    int64_t from, count;
    att_work_unit unit;
} att_prefetch_target;

att_prefetch_target att_prefetch_block(const att_sequence_head *head, int64_t block);

/* The unit at the counter now: probably ours, though another worker may still take it. */
att_prefetch_target att_prefetch_unit(const att_fused_attention *fused);

/* Requests rows, to be prefetched while the next scores are computed. */
void att_prefetch_add(att_fused_buffers *buffers, att_prefetch_rows rows);

/* Requests part `part` of `parts` of the keys and values. */
void att_prefetch_add_part(const att_fused_attention *fused, const att_prefetch_target *ahead,
                           int64_t part, int64_t parts, att_fused_buffers *buffers);

/* Requests the queries of the unit's tile `index`, if it has one. */
void att_prefetch_add_queries(const att_fused_attention *fused, const att_work_unit *unit,
                              int64_t index, att_fused_buffers *buffers);

/* Prefetches part `part` of `parts` of everything requested. */
void att_prefetch_run(const att_fused_buffers *buffers, size_t part, size_t parts);

/* ---- fused_scores.c: scores of a tile and a block, ready for softmax */

/* The scores of keys `from` …: dot product, soft cap, biases, mask; times log2(e). */
att_block_mask att_tile_scores(const att_fused_attention *fused, const att_sequence_head *head,
                               att_query_tile *tile, att_fused_buffers *buffers, int64_t from,
                               size_t count);

/* Draws which pairs dropout keeps, into buffers->dropout_bits. */
void att_tile_dropout_bits(const att_fused_attention *fused, const att_sequence_head *head,
                           const att_query_tile *tile, att_fused_buffers *buffers, int64_t from,
                           size_t count);

/* The second half of att_tile_scores(): everything after the dot products. */
void att_tile_scores_finish(const att_fused_attention *fused, const att_sequence_head *head,
                            const att_query_tile *tile, att_fused_buffers *buffers, int64_t from,
                            size_t count, att_block_mask allowed);

/* The part of keys start … start+length-1 inside the tile's key ranges; false where it is empty. */
bool att_tile_key_range(const att_query_tile *tile, int64_t start, int64_t length, int64_t *from,
                        size_t *count);

/* ---- fused_single_query.c: tiles of one query, as in decoding over a KV cache */

/* One block of keys for up to ATT_MAX_TILES single-query tiles of one sequence. */
void att_single_query_block(const att_fused_attention *fused, att_fused_buffers *buffers,
                            int64_t count, int64_t block, bool last);

/* ---- fused_outputs.c: weights, scores, log-sum-exp, key totals and entropy, where requested */

/* Called before all units; before the tiles of a unit; after each tile, which returns whether the
 * tile visited its keys again; after the unit. */
void att_fused_outputs_begin(const att_fused_attention *fused);
void att_fused_outputs_head_begin(const att_fused_attention *fused, att_fused_buffers *buffers);
bool att_fused_outputs_tile(const att_fused_attention *fused, const att_sequence_head *head,
                            att_query_tile *tile, att_fused_buffers *buffers);
void att_fused_outputs_head_end(const att_fused_attention *fused, const att_sequence_head *head,
                                att_fused_buffers *buffers);

#endif
