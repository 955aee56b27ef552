/* A step shared by several processes. The micro-batches of the step are divided into ranges, the
 * parameters into slices, one of each for every process, and slices into buckets.
 *
 * - A process computes its range of micro-batches and holds the nodes of the tree that cover it
 *   (gradient_tree.h). Each bucket of a node goes to the process that owns the bucket's slice: of
 *   the last node as soon as the backward pass has made all gradients of the bucket final.
 * - The owner sums the nodes of all processes by the tree, and the squares of its slice for the
 *   norm, block by block.
 * - Every process tells all the others losses, token counts, sums of squares and flags; each adds
 *   them in the order of one process.
 * - The owner updates its slice and sends the new parameters to all.
 *
 * Slices start at multiples of ATT_NORM_BLOCK, so that the norm has the same bits however many
 * there are. With one process, nothing is sent and the slice is everything. */
#ifndef ATT_TRAIN_EXCHANGE_H
#define ATT_TRAIN_EXCHANGE_H

#include "train/gradient_tree.h"
#include "base/group.h"

/* A range of micro-batches or of floats. */
typedef struct att_range {
    int64_t begin, end;
} att_range;

typedef struct att_bucket {
    size_t begin, end;
    int owner;
    int params;  /* parameters that overlap it */
    int pending; /* of these, those that are not final yet, in the current micro-batch */
} att_bucket;

typedef struct att_exchange {
    att_group group;
    size_t size; /* of all parameters, in floats */
    att_range slice;
    att_bucket *buckets; /* [bucket_count] from the first float to the last */
    size_t bucket_count, first_bucket, past_bucket; /* own: first_bucket to past_bucket - 1 */
    att_tree_node *nodes; /* [node_count] of all processes, from left to right, for this step */
    int node_count, first_node, past_node; /* own: first_node to past_node - 1 */
    int sent_nodes;                        /* own nodes that are on their way, from first_node */
    float *received;                       /* [node_count - own nodes, slice] of other processes */
    size_t received_size, node_capacity;
    double own_sums[ATT_SUM_COUNT]; /* with one process */
    double *message;                /* scratch: the messages of all for the totals */
    double *block_sums;             /* [size / ATT_NORM_BLOCK + 1] squares of blocks */
    int64_t leaves;                 /* micro-batches of this step */
    bool is_last_leaf;              /* buckets are sent as they become final */
    att_params *params;             /* of the current micro-batch, for the callback of the tape */
    att_gradient_tree *tree;
    att_error error; /* the first of the callback */
} att_exchange;

/* What all processes learn at the end of a step. */
typedef struct att_step_totals {
    double sums[ATT_SUM_COUNT];
    double norm;    /* of the summed gradient */
    unsigned flags; /* that some process has set */
} att_step_totals;

/* The share of process `rank` of `count` of n things: a range; shares differ by at most one. */
att_range att_share(int64_t n, int rank, int count);

/* Divides the parameters. Sends nothing. Release with att_exchange_free(), on failure too. */
att_status att_exchange_new(att_exchange *out, att_transport *transport, att_error *err);
att_status att_exchange_divide(att_exchange *exchange, const att_params *params, att_error *err);
void att_exchange_free(att_exchange *exchange);

/* Starts a step of `leaves` micro-batches; *own becomes those that this process computes. */
att_status att_exchange_begin(att_exchange *exchange, att_params *params, att_gradient_tree *tree,
                              int64_t leaves, att_range *own, att_error *err);

/* Around the backward pass of micro-batch `index`; `is_last`: of this process. `on_final` is to be
 * called for each parameter whose gradient is final (att_tape_on_final_param). */
void att_exchange_begin_leaf(att_exchange *exchange, bool is_last);
void att_exchange_on_final(void *exchange, int param);
att_status att_exchange_end_leaf(att_exchange *exchange, const double sums[ATT_SUM_COUNT],
                                 att_error *err);

/* Sums: the own slice of params->grad is that of the whole step afterwards. */
att_status att_exchange_sum(att_exchange *exchange, att_error *err);

/* Totals of all processes, from the own slice of params->grad and the own nodes. */
att_status att_exchange_totals(att_exchange *exchange, att_step_totals *out, unsigned flags,
                               att_error *err);

/* Sends the own slice of `values` [size] to all, and receives theirs. */
att_status att_exchange_slices(att_exchange *exchange, float *values, att_error *err);

/* Gathers slices in process 0: `slice` of each into `values` [size] (NULL in the others). */
att_status att_exchange_gather(att_exchange *exchange, float *values, const float *slice,
                               att_error *err);

#endif
