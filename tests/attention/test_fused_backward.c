/* Gradients of fused attention against the reference's, and their promises.
 *
 * With P the weights, f dropout's factor, A_ij = f Σ|dO V|, B_i = Σ_j P_ij A_ij, the gradient of a
 * score is at most N_ij = P_ij (A_ij + B_i). Weights are off by ρ relative (fused_bounds.h, and the
 * rounding of the log-sum-exp), A by its M roundings, B by those of the output, which is off by ρ
 * as well; so a score's gradient is off by N_ij (2 ρ_i + (2 M + 32) EPS), and with a soft cap by
 * its slope's error besides. What is summed over queries adds 32 roundings in a tile and one per
 * tile, what is summed over keys 64 in a block, one per block and one per chunk. */
#include "backward_promises.h"
#include "fused_bounds.h"

#include <float.h>

/* Error bounds of each gradient, in the shape of the gradient. */
typedef struct limits {
    scene *s;
    const results *exact;
    const loss *l;
    double *of[ATT_SLOT_COUNT];
} limits;

static int64_t place(const att_tensor *t, const int64_t index[4])
{
    int64_t at = 0;
    for (int d = 0; d < t->rank; d++)
        at = at * t->shape[d] + (t->shape[d] == 1 ? 0 : index[d]);
    return at;
}

static void limit_add(limits *x, att_slot slot, int64_t a, int64_t b, int64_t c, int64_t d,
                      double amount)
{
    if (x->of[slot])
        x->of[slot][place(&x->s->tensor[slot], (int64_t[]){ a, b, c, d })] += amount;
}

/* Position of a key minus that of a query that may attend it. */
static int64_t distance_of(const scene *s, int64_t b, int64_t i, int64_t j)
{
    int64_t n = 0;
    while (s->options.sequences > 0 && s->options.query_offsets[n + 1] <= i)
        n++;
    int64_t first_query = s->options.sequences > 0 ? s->options.query_offsets[n] : 0;
    int64_t first_key = s->options.sequences > 0 ? s->options.key_offsets[n] : 0;
    int64_t offset = s->options.offsets ? s->options.offsets[s->options.sequences > 0 ? n : b]
                                        : s->options.offset;
    return j - first_key - (i - first_query) - offset;
}

/* One pair: what its score's gradient, at most `most` and off by `relative`, adds to every limit.
 */
static void limit_pair(limits *x, int64_t b, int64_t h, int64_t i, int64_t j, double most,
                       double relative, double weight)
{
    const choice *c = &x->s->c;
    const scene *s = x->s;
    int64_t g = h / (c->H / c->G);
    double sums = EPS * (double)(ATT_TILE_LANES + c->T * c->H / ATT_TILE_LANES + 80 + c->S / 64);
    double error = most * (relative + sums), tiny = FLT_MIN;
    for (int64_t k = 0; k < c->K; k++) {
        limit_add(x, ATT_SLOT_QUERY, b, i, h, k,
                  scale_of(c) * error * fabs(get(s->in.key, b, j, g, k)) + tiny);
        limit_add(x, ATT_SLOT_KEY, b, j, g, k,
                  scale_of(c) * error * fabs(get(s->in.query, b, i, h, k)) + tiny);
    }
    for (int64_t m = 0; m < c->M; m++)
        limit_add(x, ATT_SLOT_VALUE, b, j, g, m,
                  weight * (relative + sums) * fabs(get(&x->l->grad.tensor[0], b, i, h, m)) + tiny);
    int64_t distance = distance_of(s, b, i, j);
    limit_add(x, ATT_SLOT_BIAS, b, h, i, j, error + tiny);
    limit_add(x, ATT_SLOT_ALIBI, h, 0, 0, 0, error * (double)llabs(distance) + tiny);
    distance = distance < -20 ? -20 : distance > 20 ? 20 : distance;
    limit_add(x, ATT_SLOT_RELATIVE, h, distance + 20, 0, 0, error + tiny);
}

static void limit_row(limits *x, int64_t b, int64_t h, int64_t i)
{
    const choice *c = &x->s->c;
    int64_t g = h / (c->H / c->G);
    bounds bound = row_bounds(x->s, x->exact, b, h, i);
    double along = 0, *of_key = calloc((size_t)(c->S + 1), sizeof *of_key);
    for (int64_t j = 0; j < c->S; j++) {
        double weight = get(x->exact->out.weights, b, h, i, j);
        if (weight == 0)
            continue;
        for (int64_t m = 0; m < c->M; m++)
            of_key[j] +=
                fabs(get(&x->l->grad.tensor[0], b, i, h, m) * get(x->s->in.value, b, j, g, m)) /
                (1 - c->dropout);
        along += weight * of_key[j];
    }
    double sum = get(x->exact->out.log_sum_exp, b, h, i, 0);
    double relative = 2 * (bound.weight + 4 * EPS * fabs(sum)) + (2 * (double)c->M + 32) * EPS;
    if (c->cap > 0)
        relative += bound.score / c->cap + 8 * EPS;
    for (int64_t j = 0; j < c->S; j++) {
        double weight = get(x->exact->out.weights, b, h, i, j);
        if (weight > 0)
            limit_pair(x, b, h, i, j, weight * (of_key[j] + along), relative,
                       weight / (1 - c->dropout));
    }
    free(of_key);
}

static void limits_new(limits *x, scene *s, const results *exact, const loss *l)
{
    *x = (limits){ .s = s, .exact = exact, .l = l };
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++)
        if (s->tensor[slot].data)
            x->of[slot] = calloc((size_t)att_tensor_count(&s->tensor[slot]) + 1, sizeof(double));
    for (int64_t b = 0; b < s->c.B; b++)
        for (int64_t h = 0; h < s->c.H; h++)
            for (int64_t i = 0; i < s->c.T; i++)
                limit_row(x, b, h, i);
}

/* Every element of every gradient; the 1 it began with costs a rounding. */
static void check_grads(const limits *x, const grads *found, const grads *exact)
{
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++) {
        const att_tensor *t = &x->s->tensor[slot];
        int64_t index[4] = { 0 };
        for (int64_t n = 0; t->data && n < att_tensor_count(t); n++) {
            double a = att_tensor_get(&found->tensor[slot], index);
            double b = att_tensor_get(&exact->tensor[slot], index);
            double limit = x->of[slot][n] + 4 * EPS * (1 + fabs(b) + (double)x->s->c.S / 128);
            if (!(fabs(a - b) <= limit))
                fail_msg("gradient of %s, element %d, is %.9g, expected %.9g within %.3g: %s",
                         grad_names[slot], (int)n, a - 1, b - 1, limit, choice_name(&x->s->c));
            for (int d = t->rank - 1; d >= 0 && ++index[d] == t->shape[d]; d--)
                index[d] = 0;
        }
    }
}

static void agree(choice c)
{
    backward b;
    results forward, exact;
    limits x;
    backward_open(&b, c);
    results_new(&forward, &b.s, ATT_F32, false);
    results_new(&exact, &b.s, ATT_F64, true);
    ASSERT_OK(att_attention_forward(&b.s.options, &b.s.in, &forward.out, NULL, err));
    ASSERT_OK(att_attention_forward_reference(&b.s.options, &b.s.in, &exact.out, err));
    ASSERT_OK(att_attention_backward(&b.s.options, &b.s.in, &forward.out, b.l.grad.out.output,
                                     &b.found.to, NULL, err));
    ASSERT_OK(att_attention_backward_reference(&b.s.options, &b.s.in, b.l.grad.out.output,
                                               &b.wanted.to, err));
    limits_new(&x, &b.s, &exact, &b.l);
    check_grads(&x, &b.found, &b.wanted);
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++)
        free(x.of[slot]);
    results_free(&forward);
    results_free(&exact);
    backward_close(&b);
}

static void every_number_of_queries_and_keys_agrees(void **state)
{
    (void)state;
    for_every_count(agree);
}

static void every_width_agrees(void **state)
{
    (void)state;
    for (int64_t n = 0; n <= 130; n += 1 + n % 3 + 4 * (THIN - 1))
        agree(
            (choice){ 1, 6, 20, 1, 1, n, 130 - n, .seed = (uint64_t)n, .score = ATT_SCORE_SCALED });
    agree((choice){ 1, 20, 30, 1, 1, 300, 300, .seed = 1, .score = ATT_SCORE_SCALED });
}

static void every_mask_and_bias_agrees(void **state)
{
    (void)state;
    for_every_mask_and_bias((choice){ .B = 2, .K = 6, .M = 5 }, agree);
}

/* The gradient of a bias that is the same for all keys is 0 but for rounding. */
static void a_bias_shared_by_keys_or_by_all_agrees(void **state)
{
    (void)state;
    for (int shape = 0; shape < 8; shape++) {
        scene s;
        loss l;
        grads found, wanted;
        scene_new(&s, (choice){ 2, 40, 300, 2, 1, 4, 4, .bias = FULL_BIAS, .seed = 3 });
        att_tensor *bias = &s.tensor[ATT_SLOT_BIAS];
        bias->shape[0] = shape & 1 ? 2 : 1;
        bias->shape[1] = shape & 2 ? 2 : 1;
        bias->shape[2] = shape & 4 ? 40 : 1;
        bias->shape[3] = 1;
        loss_new(&l, &s);
        grads_new(&found, &s, ATT_F32);
        grads_new(&wanted, &s, ATT_F64);
        ASSERT_OK(att_attention_backward(&s.options, &s.in, NULL, l.grad.out.output, &found.to,
                                         NULL, err));
        ASSERT_OK(att_attention_backward_reference(&s.options, &s.in, l.grad.out.output, &wanted.to,
                                                   err));
        for (int64_t b = 0; b < bias->shape[0]; b++)
            for (int64_t h = 0; h < bias->shape[1]; h++)
                for (int64_t i = 0; i < bias->shape[2]; i++) {
                    double error = get(found.to.bias, b, h, i, 0) - get(wanted.to.bias, b, h, i, 0);
                    assert_true(fabs(error) <= 2 * 2 * 40 * 100 * EPS);
                }
        grads_free(&found);
        grads_free(&wanted);
        results_free(&l.grad);
        scene_free(&s);
    }
}

static void same_bits(choice c)
{
    promise_same_grad_bits(c, 2);
}

static void every_instruction_set_and_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    for_every_mask_shared((choice){ .S = 270, .K = 5, .M = 18 }, same_bits);
    same_bits((choice){ 1, 300, 900, 1, 1, 64, 64, .mask = CAUSAL, .seed = 3 });
    /* Wide enough that workers add their partial query gradients several times. */
    same_bits((choice){ 1, 100, 260, 2, 1, 1024, 3, .mask = CAUSAL, .bias = ALIBI, .seed = 1 });
}

static void what_is_not_finite_shows_exactly_where_it_is_used(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT(masks); m++)
        for (int where = (int)m % THIN; where < 12; where += THIN)
            promise_finite_grads((choice){ 1, where % 2 ? 3 : 60, 150, 1, 1, 4, 6, .mask = masks[m],
                                           .dropout = m % 2 ? 0.3 : 0, .seed = 40 + m },
                                 where, 2, 37);
}

static void a_query_alone_gets_the_gradient_it_gets_among_many(void **state)
{
    (void)state;
    promise_query_grads(
        (choice){ 1, 75, 600, 1, 1, 24, 40, .mask = CAUSAL, .bias = ALIBI, .seed = 8 }, 1);
}

static void a_gradient_wanted_alone_is_the_same(void **state)
{
    (void)state;
    promise_one_grad_alone((choice){ 2, 50, 300, 2, 1, 8, 8,
                                     .bias = TRANSPOSED_BIAS | ALIBI | RELATIVE, .mask = CAUSAL,
                                     .cap = 2, .seed = 8 });
}

static void a_workspace_of_the_size_told_is_enough(void **state)
{
    (void)state;
    const uint64_t step = THIN == 1 ? 1 : 5;
    for (uint64_t seed = 0; seed < 12; seed += step)
        promise_backward_workspace((choice){ 1 + (int64_t)seed % 3, 9 + 17 * (int64_t)seed, 600, 3,
                                             1, 20, 33, .bias = biases[seed % COUNT(biases)],
                                             .layout = (layout)(seed % LAYOUTS), .seed = seed },
                                   1 + (int)seed % 5);
}

/* One head of 64, 65,536 positions: inputs and outputs take 16 MB each. */
static void a_long_sequence_takes_little_workspace_at_any_number_of_threads(void **state)
{
    (void)state;
    float zero = 0;
    att_tensor all = att_tensor_view(&zero, ATT_F32, 4, (int64_t[]){ 1, 65536, 1, 64 });
    att_attention_options options = { .size = sizeof(att_attention_options),
                                      .score = ATT_SCORE_SCALED };
    att_attention_inputs in = { .query = &all, .key = &all, .value = &all };
    for (int threads = 1; threads <= 64; threads *= 2) {
        att_threads_set(threads);
        size_t size = att_attention_workspace(&options, &in, true);
        assert_in_range(size, 1, (64 << 20) - 1);
    }
    att_threads_set(1);
}

static void every_failed_allocation_is_told_and_nothing_leaks(void **state)
{
    (void)state;
    backward b;
    backward_open(&b, (choice){ 1, 40, 100, 1, 1, 8, 8, .mask = BLOCKS, .seed = 1 });
    promise_backward_failures(&b, 12);
    backward_close(&b);
}

static void double_gradients_come_from_the_reference(void **state)
{
    (void)state;
    scene s;
    loss l;
    grads found, wanted;
    scene_new(&s, (choice){ 1, 20, 40, 1, 1, 4, 4, .seed = 3 });
    loss_new(&l, &s);
    grads_new(&found, &s, ATT_F64);
    grads_new(&wanted, &s, ATT_F64);
    ASSERT_OK(
        att_attention_backward(&s.options, &s.in, NULL, l.grad.out.output, &found.to, NULL, err));
    ASSERT_OK(
        att_attention_backward_reference(&s.options, &s.in, l.grad.out.output, &wanted.to, err));
    assert_true(grads_hash(&found) == grads_hash(&wanted));
    grads_free(&found);
    grads_free(&wanted);
    results_free(&l.grad);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_of_queries_and_keys_agrees),
        cmocka_unit_test(every_width_agrees),
        cmocka_unit_test(every_mask_and_bias_agrees),
        cmocka_unit_test(a_bias_shared_by_keys_or_by_all_agrees),
        cmocka_unit_test(every_instruction_set_and_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(what_is_not_finite_shows_exactly_where_it_is_used),
        cmocka_unit_test(a_query_alone_gets_the_gradient_it_gets_among_many),
        cmocka_unit_test(a_gradient_wanted_alone_is_the_same),
        cmocka_unit_test(a_workspace_of_the_size_told_is_enough),
        cmocka_unit_test(a_long_sequence_takes_little_workspace_at_any_number_of_threads),
        cmocka_unit_test(every_failed_allocation_is_told_and_nothing_leaks),
        cmocka_unit_test(double_gradients_come_from_the_reference),
    };
    att_threads_set(1); /* except in tests of threads */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
