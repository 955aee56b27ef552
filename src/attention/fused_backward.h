/* Fused attention, backward: scores and weights are recomputed from the log-sum-exp, a tile of
 * queries and a few keys at a time; nothing of size T·S is stored.
 *
 * The order of every sum is fixed. Keys are split into chunks counted from the start of the
 * sequence. The gradients of a chunk's keys and values are summed over the queries in order, head
 * by head of a group. The contribution of a chunk to a query's gradient is summed in the order of
 * keys, and chunks are added to the query's gradient in order. So the work can be split in two ways
 * with the same bits: one key/value head per worker, or, where these are few, one chunk per worker.
 * In the second case the contributions of a chunk to the queries are buffered until it is the
 * chunk's turn, after every few tiles: all workers process the same queries together, so the
 * buffers neither grow with the number of queries nor leave the caches. */
#ifndef ATT_ATTENTION_FUSED_BACKWARD_H
#define ATT_ATTENTION_FUSED_BACKWARD_H

#include "attention/fused.h"

enum {
    ATT_CHUNK_KEYS = 256,
    ATT_BACKWARD_KEYS = 64 /* keys per step of a tile: weights and gradients stay in the cache */
};

/* A chunk of keys, and the first of the query heads that share them. */
typedef struct att_key_chunk {
    att_sequence_head head;
    int64_t start, count;
    int64_t tiles; /* of the queries of all those heads */
} att_key_chunk;

/* The queries that one tile's contribution from one chunk belongs to. */
typedef struct att_query_grad_part {
    int64_t h, first;
    size_t queries; /* 0: no contribution */
} att_query_grad_part;

/* Gradients of biases that are sums over more than one chunk: buffered like those of the queries.
 * The first dimension is the heads of a group; NULL where not requested. */
typedef struct att_bias_grad_sums {
    double *alibi;    /* [heads] */
    double *relative; /* [heads][2R+1] */
    double *rows;     /* [heads][T|1] of a bias shared by all keys */
    double *keys;     /* [heads][ATT_CHUNK_KEYS] of a bias shared by all queries */
} att_bias_grad_sums;

/* The buffers of one worker thread. */
typedef struct att_backward_buffers {
    att_fused_buffers common;
    float *tile_query;                         /* [K, lanes] the queries of common.tile */
    att_matrix_view queries, output_grad_rows; /* of the tile; zeros in inactive lanes */
    bool queries_finite, output_grad_rows_finite;
    float *query_buffer, *grad_buffer; /* copies of them, where needed */
    float *grads;                      /* [ATT_BACKWARD_KEYS][lanes] of weights, then of scores */
    float *output_grad_tile;           /* [M][lanes] gradient of the output, packed */
    float *query_sums; /* [lanes][key_stride] of the current tile: part of query_grad_sums */
    float *key_sums;   /* [ATT_CHUNK_KEYS][key_stride] */
    float *value_sums; /* [ATT_CHUNK_KEYS][value_stride] */
    att_query_grad_part *query_grad_parts; /* [tiles_per_round] contributions of one chunk, */
    float *query_grad_sums;                /* [tiles_per_round][lanes][key_stride] and sums */
    att_bias_grad_sums bias;
    float shift[ATT_TILE_LANES]; /* log-sum-exp in base 2 */
    float delta[ATT_TILE_LANES]; /* output · output gradient */
} att_backward_buffers;

typedef struct att_backward_pass {
    att_fused_attention fused;
    const att_tensor *output, *log_sum_exp, *output_grad;
    const att_attention_grads *grads;
    int64_t heads_per_kv_head; /* query heads per key/value head (grouped-query attention) */
    size_t key_stride, value_stride;
    bool by_chunk; /* workers take chunks, else key/value heads */
    int workers;
    char *buffers;
    size_t buffers_size;
    int64_t tiles_per_round;    /* tiles whose query gradients are buffered */
    int64_t sequence, g, chunk; /* by chunk: the chunk of worker 0, */
    int64_t tile;               /* and the first tile of this round */
} att_backward_pass;

/* Bytes of workspace for either way to split the work and any choice of gradients. */
size_t att_fused_backward_workspace(const att_problem *problem);

/* ---- fused_backward_tile.c */

att_key_chunk att_backward_chunk(const att_backward_pass *back, int64_t sequence, int64_t g,
                                 int64_t number);
int64_t att_backward_chunk_count(const att_sequence_head *head);

/* Processes a chunk against tiles begin … end-1 of its queries, head by head. Successive calls
 * cover tile 0 to the last, with the same buffers. */
void att_backward_tiles(const att_backward_pass *back, const att_key_chunk *chunk, int64_t begin,
                        int64_t end, att_backward_buffers *buffers);

/* Adds the buffered contributions to a tile's queries to their gradients. */
void att_backward_add_query_grads(const att_backward_pass *back, int64_t b,
                                  const att_backward_buffers *buffers, int64_t tile);

/* ---- fused_backward_bias.c: gradients of dense bias, ALiBi and relative table */

/* Whether some gradient of a bias is a sum over more than one key/value head or chunk. */
bool att_bias_grad_is_shared(const att_problem *problem, const att_attention_grads *grads);

att_bias_grad_sums att_bias_grad_alloc(att_workspace *workspace, const att_backward_pass *back);

/* Called before a chunk; with the score gradients of a tile and keys `from` …; after the chunk, for
 * sums over its own keys; and in the chunk's turn, for sums that other chunks add to as well. */
void att_bias_grad_clear(const att_backward_pass *back, att_backward_buffers *buffers);
void att_bias_grad_add(const att_backward_pass *back, const att_sequence_head *head,
                       const att_query_tile *tile, att_backward_buffers *buffers,
                       int64_t chunk_start, int64_t from, size_t count);
void att_bias_grad_chunk_end(const att_backward_pass *back, const att_sequence_head *head,
                             att_backward_buffers *buffers, int64_t chunk_start, size_t count);
void att_bias_grad_flush(const att_backward_pass *back, const att_sequence_head *head,
                         att_backward_buffers *buffers);

#endif
