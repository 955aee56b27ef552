/* The binary tree over the micro-batches of a step. */
#include "train/gradient_tree.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"

#include <string.h>

/* ---- the shape of the tree */

/* Leaves of the left child of a node of `leaves` > 1 leaves: the largest power of two below. */
static int64_t left_leaves(int64_t leaves)
{
    int64_t left = 1;
    while (2 * left < leaves)
        left *= 2;
    return left;
}

bool att_tree_are_siblings(int64_t leaves, int64_t a, int64_t b, int64_t c)
{
    int64_t begin = 0, end = leaves;
    while (end - begin > 1) {
        int64_t middle = begin + left_leaves(end - begin);
        if (begin == a && end == c)
            return middle == b;
        if (c <= middle)
            end = middle;
        else if (a >= middle)
            begin = middle;
        else
            return false;
    }
    return false;
}

/* How many of the `count` nodes, from the last, become one with the leaf [index, index + 1). */
static int count_merges(const att_tree_node *nodes, int count, int64_t leaves, int64_t index)
{
    int merges = 0;
    int64_t begin = index;
    while (merges < count && nodes[count - 1 - merges].end == begin &&
           att_tree_are_siblings(leaves, nodes[count - 1 - merges].begin, begin, index + 1))
        begin = nodes[count - 1 - merges++].begin;
    return merges;
}

int att_tree_cover(att_tree_node out[ATT_TREE_MAX_NODES + 1], int64_t leaves, int64_t begin,
                   int64_t end, int *blocks)
{
    int count = 0, most = 0;
    for (int64_t i = begin; i < end; i++) {
        int merges = count_merges(out, count, leaves, i);
        most = count + 1 > most ? count + 1 : most;
        int64_t from = merges > 0 ? out[count - merges].begin : i;
        count -= merges;
        out[count++] = (att_tree_node){ .begin = from, .end = i + 1 };
    }
    if (blocks)
        *blocks = most;
    return count;
}

static void add_sums(double to[ATT_SUM_COUNT], const double from[ATT_SUM_COUNT])
{
    for (int i = 0; i < ATT_SUM_COUNT; i++)
        to[i] += from[i];
}

void att_tree_sum(double out[ATT_SUM_COUNT], int64_t leaves, const att_tree_node *nodes, int count)
{
    att_tree_node stack[ATT_TREE_MAX_NODES + 1];
    int held = 0;
    for (int i = 0; i < count; i++) {
        stack[held++] = nodes[i];
        for (; held > 1 && att_tree_are_siblings(leaves, stack[held - 2].begin, stack[held - 2].end,
                                                 stack[held - 1].end);
             held--) {
            add_sums(stack[held - 2].sums, stack[held - 1].sums);
            stack[held - 2].end = stack[held - 1].end;
        }
    }
    memcpy(out, stack[0].sums, sizeof stack[0].sums);
}

/* ---- blocks */

att_status att_gradient_tree_new(att_gradient_tree *out, size_t size, int64_t leaves, int64_t begin,
                                 int64_t end, att_error *err)
{
    int blocks;
    *out = (att_gradient_tree){ .size = size };
    att_tree_cover(out->nodes, leaves, begin, end, &blocks);
    for (int i = 1; i < blocks; i++) { /* params->grad is one of them */
        float *block = att_alloc_zero(size, sizeof *block);
        if (!block)
            return att_fail_memory(err);
        out->spare[out->spare_count++] = block;
    }
    return ATT_OK;
}

void att_gradient_tree_free(att_gradient_tree *tree)
{
    for (int i = 0; i < tree->count; i++)
        att_free(tree->nodes[i].grad);
    for (int i = 0; i < tree->spare_count; i++)
        att_free(tree->spare[i]);
    *tree = (att_gradient_tree){ 0 };
}

/* More blocks than at first are needed only where an epoch's last step is shared out otherwise. */
static att_status take_block(att_gradient_tree *tree, float **out, att_error *err)
{
    *out = tree->spare_count > 0 ? tree->spare[--tree->spare_count]
                                 : att_alloc(tree->size, sizeof **out);
    return *out ? ATT_OK : att_fail_memory(err);
}

static void give_block(att_gradient_tree *tree, float *block)
{
    if (block)
        tree->spare[tree->spare_count++] = block;
}

/* ---- a step */

void att_gradient_tree_begin(att_gradient_tree *tree, att_params *params, int64_t leaves)
{
    for (int i = 0; i < tree->count; i++)
        give_block(tree, tree->nodes[i].grad);
    give_block(tree, params->grad);
    params->grad = NULL;
    tree->count = 0;
    tree->leaves = leaves;
}

att_status att_gradient_tree_leaf(att_gradient_tree *tree, att_params *params, int64_t index,
                                  att_error *err)
{
    ATT_TRY(take_block(tree, &params->grad, err));
    memset(params->grad, 0, tree->size * sizeof *params->grad);
    tree->merges = count_merges(tree->nodes, tree->count, tree->leaves, index);
    tree->nodes[tree->count] = (att_tree_node){ .begin = index, .end = index + 1 };
    return ATT_OK;
}

void att_gradient_add(float *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

typedef struct merge_job {
    const att_gradient_tree *tree;
    const float *leaf;
    size_t first;
} merge_job;

static void merge_range(void *context, int64_t begin, int64_t end)
{
    const merge_job *job = context;
    const att_gradient_tree *tree = job->tree;
    size_t at = job->first + (size_t)begin, count = (size_t)(end - begin);
    const float *from = job->leaf;
    for (int i = 1; i <= tree->merges; i++) {
        float *to = tree->nodes[tree->count - i].grad;
        att_gradient_add(to + at, from + at, count);
        from = to;
    }
}

const float *att_gradient_tree_add(att_gradient_tree *tree, const att_params *params, size_t begin,
                                   size_t end)
{
    enum { GRAIN = 1 << 14 };
    merge_job job = { tree, params->grad, begin };
    if (tree->merges == 0)
        return params->grad;
    att_parallel_for((int64_t)(end - begin), GRAIN, merge_range, &job);
    return tree->nodes[tree->count - tree->merges].grad;
}

void att_gradient_tree_end_leaf(att_gradient_tree *tree, att_params *params,
                                const double sums[ATT_SUM_COUNT])
{
    att_tree_node *leaf = &tree->nodes[tree->count];
    leaf->grad = params->grad;
    memcpy(leaf->sums, sums, sizeof leaf->sums);
    params->grad = NULL;
    for (int i = 0; i < tree->merges; i++) {
        att_tree_node *left = &tree->nodes[tree->count - 1], *right = &tree->nodes[tree->count];
        add_sums(left->sums, right->sums);
        left->end = right->end;
        give_block(tree, right->grad);
        tree->count--;
    }
    tree->count++;
}

att_status att_gradient_tree_end(att_gradient_tree *tree, att_params *params, att_error *err)
{
    if (tree->count == 0)
        return params->grad ? ATT_OK : take_block(tree, &params->grad, err);
    params->grad = tree->nodes[0].grad;
    for (int i = 1; i < tree->count; i++)
        give_block(tree, tree->nodes[i].grad);
    tree->count = 0;
    return ATT_OK;
}
