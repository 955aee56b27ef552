/* The tree over the micro-batches of a step: its shape, and that its sums do not depend on who
 * computed which leaf. */
#include "train/gradient_tree.h"

#include "base/alloc.h"
#include "failing_memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 40, MOST = 21 };

/* Numbers whose sum depends on the order of addition. */
static float leaf_value(int64_t leaf, size_t i)
{
    uint64_t x = ((uint64_t)leaf * 1000003 + i) * UINT64_C(0x9E3779B97F4A7C15);
    return ldexpf((float)(int32_t)(x >> 32), -(int)(x % 40));
}

/* The definition: a node is the sum of its children. */
static float sum_of(int64_t begin, int64_t end, size_t i)
{
    if (end - begin == 1)
        return leaf_value(begin, i);
    int64_t left = 1;
    while (2 * left < end - begin)
        left *= 2;
    return sum_of(begin, begin + left, i) + sum_of(begin + left, end, i);
}

/* Computes leaves [begin,end) of `leaves`; each gradient is added in two ranges. */
static void compute(att_gradient_tree *tree, att_params *params, int64_t leaves, int64_t begin,
                    int64_t end)
{
    att_gradient_tree_begin(tree, params, leaves);
    for (int64_t leaf = begin; leaf < end; leaf++) {
        assert_int_equal(att_gradient_tree_leaf(tree, params, leaf, NULL), ATT_OK);
        for (size_t i = 0; i < SIZE; i++)
            params->grad[i] += leaf_value(leaf, i);
        const float *back = att_gradient_tree_add(tree, params, 17, SIZE);
        const float *front = att_gradient_tree_add(tree, params, 0, 17);
        assert_ptr_equal(back, front);
        const double sums[ATT_SUM_COUNT] = { (double)leaf_value(leaf, 0), 1, 2 };
        att_gradient_tree_end_leaf(tree, params, sums);
        assert_ptr_equal(back, tree->nodes[tree->count - 1].grad);
    }
}

static void the_root_is_the_sum_by_the_tree(void **state)
{
    (void)state;
    for (int64_t leaves = 1; leaves <= MOST; leaves++) {
        att_gradient_tree tree;
        att_params params = { .size = SIZE };
        double sums[ATT_SUM_COUNT];
        params.grad = att_alloc_zero(SIZE, sizeof(float));
        assert_int_equal(att_gradient_tree_new(&tree, SIZE, leaves, 0, leaves, NULL), ATT_OK);
        int blocks = tree.spare_count;
        for (int step = 0; step < 2; step++) {
            compute(&tree, &params, leaves, 0, leaves);
            assert_int_equal(tree.count, 1);
            att_tree_sum(sums, leaves, tree.nodes, tree.count);
            assert_int_equal(att_gradient_tree_end(&tree, &params, NULL), ATT_OK);
            assert_int_equal(tree.spare_count, blocks); /* none was added */
            for (size_t i = 0; i < SIZE; i++)
                assert_true(params.grad[i] == sum_of(0, leaves, i));
            assert_true(sums[ATT_SUM_TOKENS] == (double)leaves);
        }
        att_free(params.grad);
        att_gradient_tree_free(&tree);
    }
}

static void blocks_grow_with_the_logarithm_of_the_leaves(void **state)
{
    (void)state;
    att_tree_node nodes[ATT_TREE_MAX_NODES + 1];
    int blocks;
    for (int levels = 0; levels <= 20; levels++) {
        assert_int_equal(att_tree_cover(nodes, 1 << levels, 0, 1 << levels, &blocks), 1);
        assert_int_equal(blocks, levels + 1);
    }
    att_tree_cover(nodes, 1000000, 1, 999999, &blocks); /* the least fortunate range */
    assert_true(blocks <= ATT_TREE_MAX_NODES);
}

/* Any division of the leaves among processes has the same root. */
static void any_division_has_the_same_sums(void **state)
{
    (void)state;
    for (int64_t leaves = 1; leaves <= MOST; leaves++)
        for (int64_t ranks = 1; ranks <= leaves + 2; ranks++) {
            att_tree_node all[MOST * 2];
            int count = 0;
            for (int64_t r = 0; r < ranks; r++) {
                att_gradient_tree tree;
                att_params params = { .size = SIZE };
                int64_t begin = r * leaves / ranks, end = (r + 1) * leaves / ranks;
                assert_int_equal(att_gradient_tree_new(&tree, SIZE, leaves, begin, end, NULL),
                                 ATT_OK);
                compute(&tree, &params, leaves, begin, end);
                att_tree_node cover[ATT_TREE_MAX_NODES + 1];
                assert_int_equal(att_tree_cover(cover, leaves, begin, end, NULL), tree.count);
                for (int i = 0; i < tree.count; i++) {
                    assert_int_equal(cover[i].begin, tree.nodes[i].begin);
                    assert_int_equal(cover[i].end, tree.nodes[i].end);
                    for (size_t k = 0; k < SIZE; k++)
                        assert_true(tree.nodes[i].grad[k] ==
                                    sum_of(cover[i].begin, cover[i].end, k));
                    all[count] = tree.nodes[i];
                    all[count++].grad = NULL;
                }
                assert_int_equal(att_gradient_tree_end(&tree, &params, NULL), ATT_OK);
                att_free(params.grad);
                att_gradient_tree_free(&tree);
            }
            double sums[ATT_SUM_COUNT], alone[ATT_SUM_COUNT];
            att_tree_node each[MOST];
            for (int64_t i = 0; i < leaves; i++)
                each[i] = (att_tree_node){ i, i + 1, NULL, { (double)leaf_value(i, 0), 1, 2 } };
            att_tree_sum(alone, leaves, each, (int)leaves);
            att_tree_sum(sums, leaves, all, count);
            assert_memory_equal(sums, alone, sizeof sums);
        }
}

static att_status make_tree(void *context)
{
    (void)context;
    att_gradient_tree tree;
    att_status status = att_gradient_tree_new(&tree, SIZE, 8, 0, 8, NULL);
    att_gradient_tree_free(&tree);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    every_allocation_fails(make_tree, NULL, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_root_is_the_sum_by_the_tree),
        cmocka_unit_test(blocks_grow_with_the_logarithm_of_the_leaves),
        cmocka_unit_test(any_division_has_the_same_sums),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
