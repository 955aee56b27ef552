/* The exchange of a step between processes, which are threads here: sums and totals have the bits
 * of one process, and a step takes three messages one after the other. */
#include "train/exchange.h"
#include "train/optimizer.h"
#include "train/thread_transport.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* SIZE: the last block is not full; parameters are padded to a multiple of 16, so it is one. */
enum { LEAVES = 8, SIZE = 5 * ATT_NORM_BLOCK + 1024 };

typedef struct process {
    hub_member *member;
    pthread_t thread;
    att_step_totals totals;
    float *values; /* [SIZE] after the step: the summed gradient, as if it were the parameters */
    unsigned flags;
    att_status status;
} process;

static float gradient_of(int64_t leaf, size_t i)
{
    return (float)((size_t)leaf * 31 + i % 97) * 0.01F;
}

static att_status step(att_exchange *exchange, att_params *params, att_gradient_tree *tree,
                       process *own)
{
    att_range range;
    ATT_TRY(att_exchange_begin(exchange, params, tree, LEAVES, &range, NULL));
    for (int64_t leaf = range.begin; leaf < range.end; leaf++) {
        const double sums[ATT_SUM_COUNT] = { 0.1 * (double)leaf, 1, 0 };
        ATT_TRY(att_gradient_tree_leaf(tree, params, leaf, NULL));
        for (size_t i = 0; i < SIZE; i++)
            params->grad[i] = gradient_of(leaf, i);
        att_exchange_begin_leaf(exchange, leaf + 1 == range.end);
        att_exchange_on_final(exchange, 0);
        ATT_TRY(att_exchange_end_leaf(exchange, sums, NULL));
    }
    ATT_TRY(att_exchange_sum(exchange, NULL));
    ATT_TRY(att_exchange_totals(exchange, &own->totals, own->flags, NULL));
    for (int64_t i = exchange->slice.begin; i < exchange->slice.end; i++)
        own->values[i] = params->grad[i];
    return att_exchange_slices(exchange, own->values, NULL);
}

static void *run_process(void *context)
{
    process *own = context;
    att_transport *transport = &own->member->transport;
    att_params params = { 0 };
    att_param row = { .name = "w", .rank = 1, .shape = { SIZE } };
    att_exchange exchange;
    att_gradient_tree tree = { 0 };
    att_range range = att_share(LEAVES, transport->rank, transport->ranks);
    int index;
    own->values = calloc(SIZE, sizeof *own->values);
    own->status = att_exchange_new(&exchange, transport->ranks > 1 ? transport : NULL, NULL);
    if (own->status == ATT_OK)
        own->status = att_params_add(&params, &row, &index, NULL);
    if (own->status == ATT_OK)
        own->status = att_params_alloc(&params, NULL);
    if (own->status == ATT_OK)
        own->status = att_exchange_divide(&exchange, &params, NULL);
    if (own->status == ATT_OK)
        own->status =
            att_gradient_tree_new(&tree, params.size, LEAVES, range.begin, range.end, NULL);
    if (own->status == ATT_OK)
        own->status = step(&exchange, &params, &tree, own);
    att_gradient_tree_free(&tree);
    att_exchange_free(&exchange);
    att_params_free(&params);
    return NULL;
}

/* Returns the bytes of the longest message. */
static size_t run_with(process *processes, int ranks)
{
    hub at;
    hub_new(&at);
    for (int r = 0; r < ranks; r++) {
        processes[r] = (process){ .member = hub_join(&at, r, ranks), .flags = r == 1 ? 4U : 1U };
        assert_int_equal(pthread_create(&processes[r].thread, NULL, run_process, &processes[r]), 0);
    }
    for (int r = 0; r < ranks; r++)
        pthread_join(processes[r].thread, NULL);
    for (int r = 0; r < ranks; r++)
        assert_int_equal(processes[r].status, ATT_OK);
    assert_null(at.first);
    hub_free(&at);
    return at.longest;
}

static void free_processes(process *processes, int ranks)
{
    for (int r = 0; r < ranks; r++) {
        free(processes[r].member);
        free(processes[r].values);
    }
}

static void all_processes_learn_the_bits_of_one(void **state)
{
    (void)state;
    static const int counts[] = { 2, 3, 4, 7, 9 }; /* 9: more than micro-batches */
    process alone, processes[HUB_RANKS];
    run_with(&alone, 1);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        run_with(processes, counts[c]);
        for (int r = 0; r < counts[c]; r++) {
            const process *own = &processes[r];
            assert_memory_equal(own->totals.sums, alone.totals.sums, sizeof own->totals.sums);
            assert_memory_equal(&own->totals.norm, &alone.totals.norm, sizeof own->totals.norm);
            assert_int_equal(own->totals.flags, 5);
            assert_memory_equal(own->values, alone.values, SIZE * sizeof *own->values);
        }
        free_processes(processes, counts[c]);
    }
    free_processes(&alone, 1);
}

/* On a slow link, a step waits for its messages one after the other: gradients, totals and
 * parameters, however many processes there are. */
static void a_step_takes_three_messages_one_after_the_other(void **state)
{
    (void)state;
    process processes[HUB_RANKS];
    for (int ranks = 2; ranks <= 6; ranks++) {
        run_with(processes, ranks);
        for (int r = 0; r < ranks; r++)
            assert_int_equal(processes[r].member->round, 3);
        free_processes(processes, ranks);
    }
}

/* Open MPI over TCP sends up to 64 KiB, headers included, without waiting for an answer. */
static void messages_are_short_enough_to_be_sent_without_an_answer(void **state)
{
    (void)state;
    process processes[HUB_RANKS];
    size_t longest = run_with(processes, 2);
    assert_in_range(longest, 32 << 10, (64 << 10) - 1024);
    free_processes(processes, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_processes_learn_the_bits_of_one),
        cmocka_unit_test(a_step_takes_three_messages_one_after_the_other),
        cmocka_unit_test(messages_are_short_enough_to_be_sent_without_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
