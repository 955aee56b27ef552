/* Fused attention, backward: scores and weights are worked out again from the log-sum-exp, a tile
 * of queries and a few keys at a time; nothing of size T·S is kept.
 *
 * Sums have fixed places. Keys are cut into chunks counted from the start of the sequence. What a
 * chunk's keys and values get is summed over the queries in order, head by head of a group. What a
 * query gets from a chunk is summed in the order of keys, and chunks reach the query's gradient in
 * order. So there are two ways to share the work, with the same bits: heads of keys one per worker,
 * or, where these are few, one chunk per worker. Then what the queries get from a chunk is kept
 * apart until its turn, which comes after every few tiles: all workers go through the queries
 * together, so that what is kept neither grows with their number nor leaves the caches. */
#ifndef ATT_ATTENTION_FUSED_BACKWARD_H
#define ATT_ATTENTION_FUSED_BACKWARD_H

#include "attention/fused.h"

enum {
    ATT_CHUNK_KEYS = 256,
    ATT_BACKWARD_KEYS =
        64 /* keys that meet a tile at once: weights and gradients stay in the cache */
};

/* A chunk of keys, and the first of the heads that share them. */
typedef struct att_key_chunk {
    att_sequence_head head;
    int64_t start, count;
    int64_t tiles; /* of all those heads' queries */
} att_key_chunk;

/* What the queries of one tile get from one chunk goes where. */
typedef struct att_query_grad_part {
    int64_t h, first;
    size_t queries; /* 0: they get nothing */
} att_query_grad_part;

/* Gradients of what is added to scores, as far as they are sums over more than one chunk: kept
 * apart like the query's. Each has a first dimension of heads in a group; NULL where not wanted. */
typedef struct att_bias_grad_sums {
    double *alibi;    /* [heads] */
    double *relative; /* [heads][2R+1] */
    double *rows;     /* [heads][T|1] of a bias that is the same for all keys */
    double *keys;     /* [heads][ATT_CHUNK_KEYS] of one that is the same for all queries */
} att_bias_grad_sums;

/* What a worker has to itself. */
typedef struct att_backward_buffers {
    att_fused_buffers common;
    float *tile_query; /* [K, lanes] the queries of common.tile */
    att_matrix_view queries,
        output_grad_rows; /* of the tile at hand; zeros where nothing may be attended */
    bool queries_finite, output_grad_rows_finite;
    float *query_buffer, *grad_buffer; /* where these are copied to, if they must be */
    float *grads;                      /* [ATT_BACKWARD_KEYS][lanes] of weights, then of scores */
    float *output_grad_tile;           /* [M][lanes] gradient of the output, packed */
    float *query_sums; /* [lanes][key_stride] of the tile at hand: one of part_sums */
    float *key_sums;   /* [ATT_CHUNK_KEYS][key_stride] */
    float *value_sums; /* [ATT_CHUNK_KEYS][value_stride] */
    att_query_grad_part
        *query_grad_parts;  /* [tiles_at_once] the queries' gradients from one chunk, */
    float *query_grad_sums; /* [tiles_at_once][lanes][key_stride] and their sums */
    att_bias_grad_sums bias;
    float shift[ATT_TILE_LANES]; /* log-sum-exp in base 2 */
    float delta[ATT_TILE_LANES]; /* output · its gradient */
} att_backward_buffers;

typedef struct att_backward_pass {
    att_fused_attention fused;
    const att_tensor *output, *log_sum_exp, *output_grad;
    const att_attention_grads *grads;
    int64_t heads_per_kv_head; /* of queries, per head of keys */
    size_t key_stride, value_stride;
    bool by_chunk; /* workers take chunks, else heads of keys */
    int workers;
    char *buffers;
    size_t buffers_size;
    int64_t tiles_per_round;    /* tiles whose queries' gradients are kept apart */
    int64_t sequence, g, chunk; /* by chunk: what worker 0 does, */
    int64_t tile;               /* and the first tile that all do */
} att_backward_pass;

/* Bytes of workspace, whichever way the work is shared and whatever gradients are wanted. */
size_t att_fused_backward_workspace(const att_problem *problem);

/* Dot products under softmax. Of `forward`, output and log_sum_exp are used where both are given;
 * the workspace has att_fused_backward_workspace() bytes, or is NULL. */
att_status att_fused_backward(const att_problem *problem, const att_attention_outputs *forward,
                              const att_tensor *output_grad, const att_attention_grads *grads,
                              void *workspace, att_error *err);

/* ---- fused_back_tile.c */

att_key_chunk att_backward_chunk(const att_backward_pass *back, int64_t sequence, int64_t g,
                                 int64_t number);
int64_t att_backward_chunk_count(const att_sequence_head *head);

/* A chunk against tiles begin … end-1 of its queries, head by head; calls follow one another from
 * tile 0 to the last, with the same scratch. */
void att_backward_tiles(const att_backward_pass *back, const att_key_chunk *chunk, int64_t begin,
                        int64_t end, att_backward_buffers *scratch);

/* Adds what a tile's queries got to their gradients. */
void att_backward_add_query_grads(const att_backward_pass *back, int64_t b,
                                  const att_backward_buffers *scratch, int64_t tile);

/* ---- fused_back_bias.c: gradients of dense bias, ALiBi and relative table */

/* Whether some gradient of a bias is a sum over more than one head of keys or chunk. */
bool att_bias_grad_is_shared(const att_problem *problem, const att_attention_grads *grads);

att_bias_grad_sums att_bias_grad_alloc(att_workspace *carver, const att_backward_pass *back);

/* Before a chunk; for the gradients of the scores of a tile and keys `from` …; after the chunk, for
 * what concerns its own keys alone; and in the chunk's turn, for what others add to as well. */
void att_bias_grad_clear(const att_backward_pass *back, const att_sequence_head *head,
                         att_backward_buffers *scratch);
void att_bias_grad_add(const att_backward_pass *back, const att_sequence_head *head,
                       const att_query_tile *tile, att_backward_buffers *scratch,
                       int64_t chunk_start, int64_t from, size_t count);
void att_bias_grad_chunk_end(const att_backward_pass *back, const att_sequence_head *head,
                             att_backward_buffers *scratch, int64_t chunk_start, size_t count);
void att_bias_grad_flush(const att_backward_pass *back, const att_sequence_head *head,
                         att_backward_buffers *scratch);

#endif
