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
enum { ATT_TILES = 16 };

/* One head of one sequence: a packed one, or a member of the batch. */
typedef struct att_head {
    int64_t b, h, g;
    int64_t query_start, queries; /* rows of the tensors */
    int64_t key_start, keys;      /* blocks of keys are counted from the start */
} att_head;

/* Some queries of a head, in lanes, and what they may attend. Only lanes with a bit in `live` can
 * see any key at all. */
typedef struct att_tile {
    att_head head;
    int64_t first; /* row of the query in lane 0 */
    size_t queries, lanes;
    uint32_t live;                    /* queries that could see a key */
    uint32_t seen;                    /* queries that met one */
    bool started;                     /* `sums` hold something */
    int64_t begin, end;               /* keys that some live query could see */
    int64_t common_begin, common_end; /* keys that all of them could see */
    att_span span[ATT_TILE_LANES];
    float *query; /* [K][lanes], scaled */
    float *sums;  /* [queries][sum_stride] weighted sums of values so far */
    att_tile_state *state;
} att_tile;

/* Rows of a tensor to be fetched while a tile works on its scores, a part at a time. */
typedef struct att_wanted {
    const att_tensor *tensor;
    int64_t b, first, head, count;
} att_wanted;

enum { ATT_WANTED = 4 }; /* keys, values, outputs, queries */

/* What a worker has to itself. */
typedef struct att_scratch {
    att_tile *tile;                /* [group], at most ATT_TILES */
    att_wanted wanted[ATT_WANTED]; /* what a tile's scores fetch meanwhile */
    int wanted_count;
    float *scores;      /* [ATT_BLOCK_KEYS][ATT_TILE_LANES] */
    float *bias;        /* the same; where there is a dense bias */
    float *by_distance; /* [ATT_BLOCK_KEYS + ATT_TILE_LANES]; where ALiBi or a table */
    uint32_t *allow;    /* [group][ATT_BLOCK_KEYS] bits of the pairs that may be attended */
    uint32_t *kept;     /* [ATT_BLOCK_KEYS] and of those that dropout leaves */
    float *gather;      /* rows of tensors whose last stride is not 1, brought together */
    float *slope;       /* [ATT_BLOCK_KEYS][ATT_TILE_LANES] of the soft cap; NULL in the forward */
    float *numbers;     /* [ATT_BLOCK_KEYS][ATT_TILE_LANES] where the entropy is wanted */
    double *totals;     /* [S] where the keys' totals are wanted */
} att_scratch;

typedef struct att_fused {
    const att_problem *problem;
    const att_attention_outputs *out;
    const att_kernels *kern;
    att_attention only_lists; /* the choices without the dense mask, */
    att_problem listed;       /* the problem with these, */
    att_mask lists;           /* and what the list of blocks alone allows */
    att_drop_mask drop;
    float scale; /* that queries are packed with */
    size_t sum_stride;
    int64_t sequences;
    int64_t group;         /* tiles in a unit; 0: all of a head */
    int64_t *units_before; /* [sequences + 1] units in the sequences before */
    int64_t units;
    int workers;
    char *scratch; /* [workers][scratch_size] */
    size_t scratch_size;
    atomic_int_least64_t next; /* unit to take */
} att_fused;

/* ---- fused_forward.c */

/* Dot products under softmax; the workspace has att_fused_forward_room() bytes, or is NULL. */
att_status att_fused_forward(const att_problem *problem, const att_attention_outputs *out,
                             void *workspace, att_error *err);
size_t att_fused_forward_room(const att_problem *problem);

/* ---- fused_plan.c: how the work is cut up */

enum { ATT_ALIGNMENT = 64 }; /* of the pieces of a workspace */

/* Hands out pieces of a workspace, 64-byte aligned; with no base it only counts. */
typedef struct att_carver {
    char *base;
    size_t used;
} att_carver;

void *att_carve(att_carver *carver, size_t count, size_t size);

/* Floats from one row of sums to the next, for rows of this width. */
size_t att_sum_stride(int64_t width);

/* Whether everything is in float; `out` may be NULL. */
bool att_all_float(const att_problem *problem, const att_attention_outputs *out);

/* Whether a problem, all in float, is one that tiles are made for. */
bool att_fused_fits(const att_problem *problem);

/* Decides on units and workers; the bytes of workspace it needs are returned. `out` may be NULL. */
size_t att_fused_plan(att_fused *fused, const att_problem *problem,
                      const att_attention_outputs *out);

/* Lays the plan out in a workspace of that size, 64-byte aligned. */
void att_fused_place(att_fused *fused, void *workspace);

/* Prepares the lists of blocks; release with att_fused_free(), also after a failure. */
att_status att_fused_lists(att_fused *fused, att_error *err);
void att_fused_free(att_fused *fused);

/* The workspace given, or `size` bytes of our own in *own, from where they are 64-byte aligned on;
 * NULL when memory is out. A size has room for the alignment. */
void *att_fused_room(void *workspace, size_t size, void **own);

/* The part of the workspace of one worker. */
att_scratch att_fused_scratch(const att_fused *fused, int worker);

/* A head of a sequence, and how many tiles its queries make. */
att_head att_fused_head(const att_fused *fused, int64_t sequence, int64_t h);
int64_t att_fused_tiles(const att_head *head);

/* As many tiles as a head of up to so many queries can have. */
int64_t att_fused_most_tiles(int64_t queries);

/* Some tiles of a sequence, counted head by head: from `first` up to but not including `last`. */
typedef struct att_unit {
    int64_t sequence, first, last;
} att_unit;

att_unit att_fused_unit(const att_fused *fused, int64_t number);

/* Turns `tile` to the queries of the head's tile number `index`, or to a tile of the sequence. */
void att_fused_tile(const att_fused *fused, const att_head *head, int64_t index, att_tile *tile);
void att_fused_tile_of(const att_fused *fused, int64_t sequence, int64_t number, att_tile *tile);

/* ---- fused_mask.c: which pairs of a tile and a block are allowed */

typedef enum att_allowed { ATT_ALLOWED_NONE, ATT_ALLOWED_SOME, ATT_ALLOWED_ALL } att_allowed;

/* Fills in what the queries of a tile may attend by spans. */
void att_tile_spans(const att_fused *fused, const att_head *head, att_tile *tile);

/* Which keys of `from` … from+count-1 the tile's queries may attend; where it is some, allow[count]
 * has a bit per query. Notes the queries that have now met a key. */
att_allowed att_tile_allowed(const att_fused *fused, const att_head *head, att_tile *tile,
                             int64_t from, size_t count, uint32_t *allow);

/* ---- fused_rows.c: rows of tensors */

/* Rows `first` … of a tensor [B,N,heads,width] for one head, gathered into `buffer` where the last
 * stride is not 1. */
att_rows att_tensor_rows(const att_tensor *tensor, int64_t b, int64_t first, int64_t head,
                         size_t count, float *buffer);

/* Asks for rows of a head to be fetched while other work goes on. */
void att_rows_fetch(const att_tensor *tensor, int64_t b, int64_t first, int64_t head,
                    int64_t count);

/* ---- fused_ahead.c: what to fetch */

/* Keys and values that will be wanted next, and tiles whose queries will be; none where 0. */
typedef struct att_ahead {
    att_head head;
    int64_t from, count;
    att_unit unit;
} att_ahead;

att_ahead att_ahead_block(const att_head *head, int64_t block);

/* The unit that is next now: likely ours, though another worker may yet take it. */
att_ahead att_ahead_unit(const att_fused *fused);

/* Notes rows as wanted, to be fetched while the next scores are worked out. */
void att_ahead_want(att_scratch *scratch, att_wanted rows);

/* Notes part `part` of `parts` of the keys and values. */
void att_ahead_part(const att_fused *fused, const att_ahead *ahead, int64_t part, int64_t parts,
                    att_scratch *scratch);

/* Notes the queries of the unit's tile `index`, where it has one. */
void att_ahead_queries(const att_fused *fused, const att_unit *unit, int64_t index,
                       att_scratch *scratch);

/* Fetches part `part` of `parts` of all that is wanted. */
void att_ahead_fetch(const att_scratch *scratch, size_t part, size_t parts);

/* ---- fused_block.c: scores of a tile and a block, as softmax gets them */

/* The scores of keys `from` …: product, soft cap, biases, mask; in base 2. */
att_allowed att_tile_block(const att_fused *fused, const att_head *head, att_tile *tile,
                           att_scratch *scratch, int64_t from, size_t count);

/* Which pairs dropout leaves, in scratch->kept. */
void att_tile_kept(const att_fused *fused, const att_head *head, const att_tile *tile,
                   att_scratch *scratch, int64_t from, size_t count);

/* The second half of it, for products that are there already. */
void att_tile_block_finish(const att_fused *fused, const att_head *head, const att_tile *tile,
                           att_scratch *scratch, int64_t from, size_t count, att_allowed allowed);

/* The part of the `length` keys from `start` on that the tile's queries could see; false where
 * there is none. */
bool att_tile_reach(const att_tile *tile, int64_t start, int64_t length, int64_t *from,
                    size_t *count);

/* ---- fused_single.c: queries that go through the keys alone, as in decoding */

/* Tiles of one query each, up to ATT_TILES of one sequence, meet a block of keys. */
void att_single_block(const att_fused *fused, att_scratch *scratch, int64_t count, int64_t block,
                      bool last);

/* ---- fused_report.c: weights, scores, log-sum-exp, totals and entropy, where wanted */

/* Before any unit; before and after the tiles of a unit; after a tile is finished. */
void att_report_start(const att_fused *fused);
void att_report_head(const att_fused *fused, att_scratch *scratch);
void att_report_tile(const att_fused *fused, const att_head *head, att_tile *tile,
                     att_scratch *scratch);
void att_report_head_end(const att_fused *fused, const att_head *head, att_scratch *scratch);

#endif
