/* Attention in float at full speed: tiles of queries against blocks of keys (kern/attention.h),
 * with softmax's maximum and sum carried along, so that memory grows with the sequence and never
 * with its square.
 *
 * The same bits at any number of threads, in any batch, over a cache or in the full matrix, because
 * nothing a query's result depends on knows of the other queries: blocks of keys begin at multiples
 * of ATT_BLOCK_KEYS counted from the start of the sequence, sums run in the order of keys inside a
 * block, and a block that a query may not attend leaves its result as it was.
 *
 * Work is cut into units: some tiles of one sequence, which go through the keys together, block by
 * block. Tiles that share a head use a block one after the other, and what comes after it is
 * fetched meanwhile. Workers take units one by one; each has a part of the workspace to itself. */
#ifndef ATT_ATTENTION_FUSED_H
#define ATT_ATTENTION_FUSED_H

#include "attention/dropout.h"
#include "attention/mask.h"
#include "kern/kern.h"

#include <stdatomic.h>

/* Tiles that go through the keys together, at most: enough to make up for bringing a block near,
 * few enough for their queries and sums to stay in a cache of half a megabyte. */
enum { ATT_MAX_TILES = 16 };

/* One head of one sequence: a packed one, or a member of the batch. */
typedef struct att_sequence_head {
    int64_t b, h, g;
    int64_t query_start, queries; /* rows of the tensors */
    int64_t key_start, keys;      /* blocks of keys are counted from the start */
} att_sequence_head;

/* Some queries of a head, in lanes, and what they may attend. Only lanes with a bit in `live` can
 * see any key at all. */
typedef struct att_query_tile {
    att_sequence_head head;
    int64_t first; /* row of the query in lane 0 */
    size_t queries, lanes;
    uint32_t active;                          /* queries that could see a key */
    uint32_t attended;                        /* queries that met one */
    bool has_sums;                            /* `sums` hold something */
    int64_t key_begin, key_end;               /* keys that some live query could see */
    int64_t common_key_begin, common_key_end; /* keys that all of them could see */
    att_key_range key_range[ATT_TILE_LANES];
    float *query; /* [K][lanes], scaled */
    float *sums;  /* [queries][sum_stride] weighted sums of values so far */
    att_tile_state *state;
} att_query_tile;

/* Rows of a tensor to be fetched while a tile works on its scores, a part at a time. */
typedef struct att_prefetch_rows {
    const att_tensor *tensor;
    int64_t b, first, head, count;
} att_prefetch_rows;

enum { ATT_MAX_PREFETCH = 4 }; /* keys, values, outputs, queries */

/* What a worker has to itself. */
typedef struct att_fused_buffers {
    att_query_tile *tile;                         /* [group], at most ATT_MAX_TILES */
    att_prefetch_rows prefetch[ATT_MAX_PREFETCH]; /* what a tile's scores fetch meanwhile */
    int prefetch_count;
    float *scores;          /* [ATT_BLOCK_KEYS][ATT_TILE_LANES] */
    float *bias;            /* the same; where there is a dense bias */
    float *distance_bias;   /* [ATT_BLOCK_KEYS + ATT_TILE_LANES]; where ALiBi or a table */
    uint32_t *mask_bits;    /* [group][ATT_BLOCK_KEYS] bits of the pairs that may be attended */
    uint32_t *dropout_bits; /* [ATT_BLOCK_KEYS] and of those that dropout leaves */
    float *gathered;        /* rows of tensors whose last stride is not 1, brought together */
    float
        *cap_derivative; /* [ATT_BLOCK_KEYS][ATT_TILE_LANES] of the soft cap; NULL in the forward */
    float *log_weights;  /* [ATT_BLOCK_KEYS][ATT_TILE_LANES] where the entropy is wanted */
    double *key_totals;  /* [S] where the keys' totals are wanted */
} att_fused_buffers;

typedef struct att_fused_attention {
    const att_problem *problem;
    const att_attention_outputs *out;
    const att_kernels *kernels;
    att_attention_options block_list_options; /* the choices without the dense mask, */
    att_problem block_list_problem;           /* the problem with these, */
    att_mask block_list_mask;                 /* and what the list of blocks alone allows */
    att_attention_dropout dropout;
    float scale; /* that queries are packed with */
    size_t sum_stride;
    int64_t sequences;
    int64_t tiles_per_unit; /* tiles in a unit; 0: all of a head */
    int64_t *unit_offsets;  /* [sequences + 1] units in the sequences before */
    int64_t units;
    int workers;
    char *buffers; /* [workers][scratch_size] */
    size_t buffers_size;
    atomic_int_least64_t next_unit; /* unit to take */
} att_fused_attention;

/* ---- fused_forward.c */

/* Dot products under softmax; the workspace has att_fused_forward_workspace() bytes, or is NULL. */
att_status att_fused_forward(const att_problem *problem, const att_attention_outputs *out,
                             void *workspace, att_error *err);
size_t att_fused_forward_workspace(const att_problem *problem);

/* ---- fused_plan.c: how the work is cut up */

enum { ATT_WORKSPACE_ALIGNMENT = 64 }; /* of the pieces of a workspace */

/* Hands out pieces of a workspace, 64-byte aligned; with no base it only counts. */
typedef struct att_workspace {
    char *base;
    size_t used;
} att_workspace;

void *att_workspace_alloc(att_workspace *carver, size_t count, size_t size);

/* Floats from one row of sums to the next, for rows of this width. */
size_t att_padded_stride(int64_t width);

/* Whether everything is in float; `out` may be NULL. */
bool att_all_float32(const att_problem *problem, const att_attention_outputs *out);

/* Whether a problem, all in float, is one that tiles are made for. */
bool att_fused_supports(const att_problem *problem);

/* Decides on units and workers; the bytes of workspace it needs are returned. `out` may be NULL. */
size_t att_fused_plan(att_fused_attention *fused, const att_problem *problem,
                      const att_attention_outputs *out);

/* Lays the plan out in a workspace of that size, 64-byte aligned. */
void att_fused_set_workspace(att_fused_attention *fused, void *workspace);

/* Prepares the lists of blocks; release with att_fused_free(), also after a failure. */
att_status att_fused_init_block_list(att_fused_attention *fused, att_error *err);
void att_fused_free(att_fused_attention *fused);

/* The workspace given, or `size` bytes of our own in *own, from where they are 64-byte aligned on;
 * NULL when memory is out. A size has room for the alignment. */
void *att_workspace_get(void *workspace, size_t size, void **own);

/* The part of the workspace of one worker. */
att_fused_buffers att_fused_worker_buffers(const att_fused_attention *fused, int worker);

/* A head of a sequence, and how many tiles its queries make. */
att_sequence_head att_fused_sequence_head(const att_fused_attention *fused, int64_t sequence,
                                          int64_t h);
int64_t att_fused_tile_count(const att_sequence_head *head);

/* As many tiles as a head of up to so many queries can have. */
int64_t att_fused_max_tile_count(int64_t queries);

/* Some tiles of a sequence, counted head by head: from `first` up to but not including `last`. */
typedef struct att_work_unit {
    int64_t sequence, first, last;
} att_work_unit;

att_work_unit att_fused_unit(const att_fused_attention *fused, int64_t number);

/* Turns `tile` to the queries of the head's tile number `index`, or to a tile of the sequence. */
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

/* Fills in what the queries of a tile may attend by spans. */
void att_tile_set_key_ranges(const att_fused_attention *fused, const att_sequence_head *head,
                             att_query_tile *tile);

/* Which keys of `from` … from+count-1 the tile's queries may attend; where it is some, allow[count]
 * has a bit per query. Notes the queries that have now met a key. */
att_block_mask att_tile_block_mask(const att_fused_attention *fused, const att_sequence_head *head,
                                   att_query_tile *tile, int64_t from, size_t count,
                                   uint32_t *allow);

/* ---- fused_rows.c: rows of tensors */

/* Rows `first` … of a tensor [B,N,heads,width] for one head, gathered into `buffer` where the last
 * stride is not 1. */
att_matrix_view att_tensor_head_rows(const att_tensor *tensor, int64_t b, int64_t first,
                                     int64_t head, size_t count, float *buffer);

/* Asks for rows of a head to be fetched while other work goes on. */
void att_tensor_prefetch_rows(const att_tensor *tensor, int64_t b, int64_t first, int64_t head,
                              int64_t count);

/* ---- fused_ahead.c: what to fetch */

/* Keys and values that will be wanted next, and tiles whose queries will be; none where 0. */
typedef struct att_prefetch_target {
    att_sequence_head head;
    int64_t from, count;
    att_work_unit unit;
} att_prefetch_target;

att_prefetch_target att_prefetch_block(const att_sequence_head *head, int64_t block);

/* The unit that is next now: likely ours, though another worker may yet take it. */
att_prefetch_target att_prefetch_unit(const att_fused_attention *fused);

/* Notes rows as wanted, to be fetched while the next scores are worked out. */
void att_prefetch_add(att_fused_buffers *scratch, att_prefetch_rows rows);

/* Notes part `part` of `parts` of the keys and values. */
void att_prefetch_add_part(const att_fused_attention *fused, const att_prefetch_target *ahead,
                           int64_t part, int64_t parts, att_fused_buffers *scratch);

/* Notes the queries of the unit's tile `index`, where it has one. */
void att_prefetch_add_queries(const att_fused_attention *fused, const att_work_unit *unit,
                              int64_t index, att_fused_buffers *scratch);

/* Fetches part `part` of `parts` of all that is wanted. */
void att_prefetch_run(const att_fused_buffers *scratch, size_t part, size_t parts);

/* ---- fused_block.c: scores of a tile and a block, as softmax gets them */

/* The scores of keys `from` …: product, soft cap, biases, mask; in base 2. */
att_block_mask att_tile_scores(const att_fused_attention *fused, const att_sequence_head *head,
                               att_query_tile *tile, att_fused_buffers *scratch, int64_t from,
                               size_t count);

/* Which pairs dropout leaves, in scratch->kept. */
void att_tile_dropout_bits(const att_fused_attention *fused, const att_sequence_head *head,
                           const att_query_tile *tile, att_fused_buffers *scratch, int64_t from,
                           size_t count);

/* The second half of it, for products that are there already. */
void att_tile_scores_finish(const att_fused_attention *fused, const att_sequence_head *head,
                            const att_query_tile *tile, att_fused_buffers *scratch, int64_t from,
                            size_t count, att_block_mask allowed);

/* The part of the `length` keys from `start` on that the tile's queries could see; false where
 * there is none. */
bool att_tile_key_range(const att_query_tile *tile, int64_t start, int64_t length, int64_t *from,
                        size_t *count);

/* ---- fused_single.c: queries that go through the keys alone, as in decoding */

/* Tiles of one query each, up to ATT_MAX_TILES of one sequence, meet a block of keys. */
void att_single_query_block(const att_fused_attention *fused, att_fused_buffers *scratch,
                            int64_t count, int64_t block, bool last);

/* ---- fused_report.c: weights, scores, log-sum-exp, totals and entropy, where wanted */

/* Before any unit; before and after the tiles of a unit; after a tile is finished. */
void att_fused_outputs_begin(const att_fused_attention *fused);
void att_fused_outputs_head_begin(const att_fused_attention *fused, att_fused_buffers *scratch);
void att_fused_outputs_tile(const att_fused_attention *fused, const att_sequence_head *head,
                            att_query_tile *tile, att_fused_buffers *scratch);
void att_fused_outputs_head_end(const att_fused_attention *fused, const att_sequence_head *head,
                                att_fused_buffers *scratch);

#endif
