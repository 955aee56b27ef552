/* Gradients of row-wise attention and transformed scores against the reference's; their promises.
 */
#include "backward_promises.h"
#include "rowwise_check.h"

/* Sums of gradients over all pairs have as many steps, and 1/Σs comes in twice. */
static double grad_tolerance(const scene *s, const results *exact)
{
    const choice *c = &s->c;
    double limit = tolerance(s, exact), cancelled = 1;
    (void)largest(exact->out.scores, &cancelled);
    if (c->normalizer == ATT_NORMALIZE_SUM)
        limit *= cancelled * cancelled;
    return 4 * limit * (1 + largest(exact->out.scores, NULL));
}

/* Where relu or the support of a simplex has its edge at a score, rounding decides the gradient's
 * side; such scenes are skipped. */
static bool on_an_edge(const scene *s, const results *exact, double limit)
{
    const choice *c = &s->c;
    bool support =
        c->normalizer == ATT_NORMALIZE_SPARSEMAX || c->normalizer == ATT_NORMALIZE_ENTMAX15;
    for (int64_t n = 0; support && n < att_tensor_count(exact->out.weights); n++) {
        double weight = ((const double *)exact->out.weights->data)[n];
        if (c->layout == LAYOUT_ROWS && weight > 0 && weight < limit)
            return true;
    }
    return false;
}

static void agree(choice c)
{
    backward b;
    results exact;
    backward_open(&b, c);
    results_new(&exact, &b.s, ATT_F64, true);
    ASSERT_OK(att_attention_forward_reference(&b.s.options, &b.s.in, &exact.out, err));
    backward_run(&b);
    double limit = grad_tolerance(&b.s, &exact);
    for (int slot = 0; slot < ATT_SLOT_COUNT && !on_an_edge(&b.s, &exact, limit); slot++)
        if (b.s.tensor[slot].data)
            check_tensor(grad_names[slot], &b.found.tensor[slot], &b.wanted.tensor[slot], limit,
                         &c);
    results_free(&exact);
    backward_close(&b);
}

static void every_score_and_normalizer_agrees_at_every_size(void **state)
{
    (void)state;
    for_every_size(agree);
}

static void every_mask_and_bias_agrees(void **state)
{
    (void)state;
    for_every_mask(agree);
}

static void same_bits(choice c)
{
    promise_same_grad_bits(c, COUNT(thread_numbers));
}

static void every_instruction_set_and_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    for_every_kind_shared(same_bits);
}

static void a_query_alone_gets_the_gradient_it_gets_among_many(void **state)
{
    (void)state;
    FOR_KINDS(score, normalizer)
    {
        choice c = kind(score, normalizer, 7);
        c.B = c.H = 1;
        c.T = 40;
        c.S = 150;
        c.mask = CAUSAL | WINDOW;
        promise_query_grads(c, 3);
    }
}

static void what_is_not_finite_shows_exactly_where_it_is_used(void **state)
{
    (void)state;
    FOR_KINDS(score, normalizer)
    for (int where = (score + normalizer) % THIN; where < 12; where += THIN)
        for (size_t m = 0; m < COUNT(masks); m += 1 + (size_t)where % 3) {
            choice c = kind(score, normalizer, 40 + m);
            c.B = 1;
            c.T = where % 2 ? 1 : 35;
            c.S = 45;
            c.mask = masks[m];
            promise_finite_grads(c, where, c.T / 2, 12);
        }
}

static void a_gradient_wanted_alone_is_the_same(void **state)
{
    (void)state;
    FOR_KINDS(score, normalizer)
    {
        choice c = kind(score, normalizer, 8);
        c.bias = TRANSPOSED_BIAS | ALIBI | RELATIVE;
        c.mask = CAUSAL;
        promise_one_grad_alone(c);
    }
}

static void a_workspace_of_the_size_told_is_enough(void **state)
{
    (void)state;
    uint64_t seed = 0;
    FOR_KINDS(score, normalizer)
    {
        choice c = kind(score, normalizer, seed++);
        c.B = 3;
        c.T = 9 + (int64_t)seed * 3;
        c.S = 133;
        c.bias = biases[seed % COUNT(biases)];
        c.layout = (layout)(seed % LAYOUTS);
        promise_backward_workspace(c, 1 + (int)seed % 5);
    }
}

/* Also with parameters in a layout that products do not take as it is. */
static void every_failed_allocation_is_told_and_nothing_leaks(void **state)
{
    (void)state;
    backward b;
    choice c = kind(ATT_SCORE_ADDITIVE, ATT_NORMALIZE_SOFTMAX, 1);
    c.mask = BLOCKS;
    c.bias = ALIBI | RELATIVE;
    backward_open(&b, c);
    att_tensor *bias = &b.s.tensor[ATT_SLOT_SCORE_B], *w = &b.s.tensor[ATT_SLOT_SCORE_W];
    bias->stride[1] = 0; /* the same for all */
    w->stride[1] = w->stride[2] = 0;
    promise_backward_failures(&b, 40);
    backward_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_score_and_normalizer_agrees_at_every_size),
        cmocka_unit_test(every_mask_and_bias_agrees),
        cmocka_unit_test(every_instruction_set_and_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(a_query_alone_gets_the_gradient_it_gets_among_many),
        cmocka_unit_test(what_is_not_finite_shows_exactly_where_it_is_used),
        cmocka_unit_test(a_gradient_wanted_alone_is_the_same),
        cmocka_unit_test(a_workspace_of_the_size_told_is_enough),
        cmocka_unit_test(every_failed_allocation_is_told_and_nothing_leaks),
    };
    att_threads_set(1); /* except in tests of threads */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
