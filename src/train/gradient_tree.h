/* The gradient of a step as a fixed binary tree over its micro-batches: a node is the sum of its
 * two children, a leaf the gradient of one micro-batch, computed from zero. The tree depends on the
 * number of micro-batches alone, so the bits of its root do not depend on which process computed
 * which leaf, or in which order. The losses and token counts are summed by the same tree.
 *
 * The left child of a node is the largest complete subtree that leaves something to the right one:
 * five leaves are ((0 1) (2 3)) 4. Leaves that come in order are a binary counter: a process keeps
 * at most one block per level, not one per leaf. */
#ifndef ATT_TRAIN_GRADIENT_TREE_H
#define ATT_TRAIN_GRADIENT_TREE_H

#include "tape/params.h"

/* Sums of a step besides the gradient. They are doubles because the tree adds them. */
enum { ATT_SUM_LOSS, ATT_SUM_TOKENS, ATT_SUM_CORRECT, ATT_SUM_COUNT };

/* The sum over the micro-batches `begin` to `end` - 1 of a step. */
typedef struct att_tree_node {
    int64_t begin, end;
    float *grad; /* [size]; NULL where only the other sums are wanted */
    double sums[ATT_SUM_COUNT];
} att_tree_node;

/* A range of leaves that is no node is at most two nodes of each level; 2^20 leaves at most. */
enum { ATT_TREE_MAX_NODES = 48 };

typedef struct att_gradient_tree {
    size_t size;                                 /* of a block, in floats */
    int64_t leaves;                              /* of the current step */
    att_tree_node nodes[ATT_TREE_MAX_NODES + 1]; /* complete nodes, from left to right */
    int count;
    int merges; /* how many nodes the current leaf completes, besides itself */
    float *spare[ATT_TREE_MAX_NODES + 1];
    int spare_count;
} att_gradient_tree;

/* Whether [a,b) and [b,c) are the two children of a node in the tree of `leaves` leaves. */
bool att_tree_are_siblings(int64_t leaves, int64_t a, int64_t b, int64_t c);

/* The nodes that a process holds which computed the leaves `begin` to `end` - 1: the fewest nodes
 * that cover them, from left to right. Returns their number; *blocks, unless NULL, becomes the
 * number of blocks of gradients that it needs, that of the current leaf included. */
int att_tree_cover(att_tree_node out[ATT_TREE_MAX_NODES + 1], int64_t leaves, int64_t begin,
                   int64_t end, int *blocks);

/* Sums of several processes: adds nodes, from left to right, up to the root of all. */
void att_tree_sum(double out[ATT_SUM_COUNT], int64_t leaves, const att_tree_node *nodes, int count);

/* Allocates what steps of `leaves` leaves need, of which this process computes `begin` to
 * `end` - 1. Release with att_gradient_tree_free(), on failure too. */
att_status att_gradient_tree_new(att_gradient_tree *out, size_t size, int64_t leaves, int64_t begin,
                                 int64_t end, att_error *err);
void att_gradient_tree_free(att_gradient_tree *tree);

/* Starts a step. params->grad, which may be NULL, becomes a block of the tree. */
void att_gradient_tree_begin(att_gradient_tree *tree, att_params *params, int64_t leaves);

/* Starts leaf `index`, which follows the leaf before it: params->grad becomes a block of zeros. */
att_status att_gradient_tree_leaf(att_gradient_tree *tree, att_params *params, int64_t index,
                                  att_error *err);

/* Adds the range [begin,end) of params->grad, which is final, to the nodes that the leaf completes,
 * and returns where the sum is: the block of the last of them. Each range once. */
const float *att_gradient_tree_add(att_gradient_tree *tree, const att_params *params, size_t begin,
                                   size_t end);

/* Ends the leaf, whose whole gradient was added, and which has the other sums `sums`. */
void att_gradient_tree_end_leaf(att_gradient_tree *tree, att_params *params,
                                const double sums[ATT_SUM_COUNT]);

/* The step is over: params->grad becomes the block of the first node (of the root, where all leaves
 * were computed here), or stays a block without meaning where there was no leaf. */
att_status att_gradient_tree_end(att_gradient_tree *tree, att_params *params, att_error *err);

/* to[i] += from[i]. */
void att_gradient_add(float *to, const float *from, size_t count);

#endif
