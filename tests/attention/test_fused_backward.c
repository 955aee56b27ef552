/* Gradients of fused attention against the reference's, and their promises.
 *
 * With P the weights, f dropout's factor, A_ij = f Σ|dO V|, B_i = Σ_j P_ij A_ij, the gradient of a
 * score is at most N_ij = P_ij (A_ij + B_i). Weights are off by ρ relative (fused_bounds.h, and the
 * rounding of the log-sum-exp), A by its M roundings, B by those of the output, which is off by ρ
 * as well; so a score's gradient is off by N_ij (2 ρ_i + (2 M + 32) EPS), and with a soft cap by
 * its slope's error besides. What is summed over queries adds 32 roundings in a tile and one per
 * tile, what is summed over keys 64 in a block, one per block and one per chunk. */
#include "fused_bounds.h"
#include "grads.h"

#include <float.h>

/* Largest errors of each gradient, in the shape of the gradient. */
typedef struct limits {
    scene *s;
    const results *exact;
    const loss *l;
    double *of[ATT_SLOTS];
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

/* Position of a key less that of a query that sees it. */
static int64_t distance_of(const scene *s, int64_t i, int64_t j)
{
    int64_t n = 0;
    while (s->how.sequences > 0 && s->how.query_offsets[n + 1] <= i)
        n++;
    int64_t first_query = s->how.sequences > 0 ? s->how.query_offsets[n] : 0;
    int64_t first_key = s->how.sequences > 0 ? s->how.key_offsets[n] : 0;
    return j - first_key - (i - first_query) - s->how.offset;
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
    int64_t distance = distance_of(s, i, j);
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
    for (int slot = 0; slot < ATT_SLOTS; slot++)
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
    for (int slot = 0; slot < ATT_SLOTS; slot++) {
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
    scene s;
    results forward, exact;
    grads found, wanted;
    loss l;
    limits x;
    scene_new(&s, c);
    loss_new(&l, &s);
    results_new(&forward, &s, ATT_F32, false);
    results_new(&exact, &s, ATT_F64, true);
    grads_new(&found, &s, ATT_F32);
    grads_new(&wanted, &s, ATT_F64);
    ASSERT_OK(att_attention_forward(&s.how, &s.in, &forward.out, NULL, err));
    ASSERT_OK(att_attention_forward_ref(&s.how, &s.in, &exact.out, err));
    ASSERT_OK(att_attention_backward(&s.how, &s.in, &forward.out, l.grad.out.output, &found.to,
                                     NULL, err));
    ASSERT_OK(att_attention_backward_ref(&s.how, &s.in, l.grad.out.output, &wanted.to, err));
    limits_new(&x, &s, &exact, &l);
    check_grads(&x, &found, &wanted);
    for (int slot = 0; slot < ATT_SLOTS; slot++)
        free(x.of[slot]);
    grads_free(&found);
    grads_free(&wanted);
    results_free(&forward);
    results_free(&exact);
    results_free(&l.grad);
    scene_free(&s);
}

static void every_number_of_queries_and_keys_agrees(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 68; n++) {
        agree((choice){ 1, n, 67 - n, 1, 1, 5, 3, .seed = (uint64_t)n });
        agree((choice){ 1, 67 - n % 7, n, 2, 1, 4, 2, .mask = CAUSAL, .seed = (uint64_t)n });
    }
    agree((choice){ 1, 3, 300, 1, 1, 8, 8, .seed = 1 });
    agree((choice){ 1, 140, 600, 1, 1, 8, 8, .mask = CAUSAL, .seed = 2 });
    agree((choice){ 1, 300, 3, 1, 1, 8, 8, .seed = 3 });
    agree((choice){ 1, 1, 1, 1, 1, 1, 1, .seed = 4 });
}

static void every_width_agrees(void **state)
{
    (void)state;
    for (int64_t n = 0; n <= 130; n += 1 + n % 3)
        agree(
            (choice){ 1, 6, 20, 1, 1, n, 130 - n, .seed = (uint64_t)n, .score = ATT_SCORE_SCALED });
    agree((choice){ 1, 20, 30, 1, 1, 300, 300, .seed = 1, .score = ATT_SCORE_SCALED });
}

static void every_mask_and_bias_agrees(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (size_t m = 0; m < COUNT(masks); m++)
        for (size_t b = 0; b < COUNT(biases); b++)
            for (int extra = 0; extra < 3; extra++)
                agree((choice){ .B = masks[m] & PACKED ? 1 : 2,
                                .T = 51 + extra * 5,
                                .S = 150 - extra * 13,
                                .H = 4,
                                .G = extra == 0   ? 4
                                     : extra == 1 ? 2
                                                  : 1,
                                .K = 6,
                                .M = 5,
                                .mask = masks[m],
                                .bias = biases[b],
                                .cap = extra == 1 ? 1.5 : 0,
                                .dropout = extra == 2 ? 0.3 : 0,
                                .scale = extra == 1 ? -0.7 : 0,
                                .layout = (layout)extra,
                                .score = ATT_SCORE_SCALED,
                                .seed = seed++ });
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
        ASSERT_OK(
            att_attention_backward(&s.how, &s.in, NULL, l.grad.out.output, &found.to, NULL, err));
        ASSERT_OK(att_attention_backward_ref(&s.how, &s.in, l.grad.out.output, &wanted.to, err));
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

static uint64_t hash_of(const scene *s, const loss *l, const results *forward, att_cpu cpu,
                        int threads)
{
    grads found;
    assert_true(att_cpu_use(cpu));
    att_threads_set(threads);
    grads_new(&found, s, ATT_F32);
    ASSERT_OK(att_attention_backward(&s->how, &s->in, forward ? &forward->out : NULL,
                                     l->grad.out.output, &found.to, NULL, err));
    uint64_t hash = grads_hash(&found);
    grads_free(&found);
    return hash;
}

static void same_bits(choice c)
{
    static const int threads[] = { 1, 2, 3, 8 };
    scene s;
    loss l;
    results forward;
    scene_new(&s, c);
    loss_new(&l, &s);
    results_new(&forward, &s, ATT_F32, false);
    ASSERT_OK(att_attention_forward(&s.how, &s.in, &forward.out, NULL, err));
    uint64_t plain = hash_of(&s, &l, &forward, ATT_CPU_REF, 1);
    for (int cpu = ATT_CPU_REF; cpu <= (int)att_cpu_best(); cpu++)
        for (size_t t = c.seed; t < c.seed + 2; t++) /* two numbers of threads in each scene */
            if (hash_of(&s, &l, t % 2 ? &forward : NULL, (att_cpu)cpu,
                        threads[t % COUNT(threads)]) != plain)
                fail_msg("other bits on set %d with %d threads: %s", cpu,
                         threads[t % COUNT(threads)], choice_name(&c));
    results_free(&forward);
    results_free(&l.grad);
    scene_free(&s);
    att_cpu_use(att_cpu_best());
    att_threads_set(1);
}

static void every_instruction_set_and_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (size_t m = 0; m < COUNT(masks); m++)
        for (size_t b = 0; b < COUNT(biases); b++, seed++)
            same_bits((choice){ .B = masks[m] & PACKED ? 1 : 2,
                                .T = 45 + (int64_t)seed % 7,
                                .S = 270,
                                .H = 2,
                                .G = 1 + (int64_t)seed % 2,
                                .K = 5,
                                .M = 18,
                                .mask = masks[m],
                                .bias = biases[b],
                                .cap = seed % 3 == 1 ? 2 : 0,
                                .dropout = seed % 4 == 1 ? 0.2 : 0,
                                .layout = (layout)(seed % LAYOUTS),
                                .seed = seed });
    same_bits((choice){ 1, 300, 900, 1, 1, 64, 64, .mask = CAUSAL, .seed = 3 });
    /* So wide that workers hand in what queries get several times on their way. */
    same_bits((choice){ 1, 100, 260, 2, 1, 1024, 3, .mask = CAUSAL, .bias = ALIBI, .seed = 1 });
}

static void set(const scene *s, att_slot slot, int64_t b, int64_t n, int64_t g, int64_t c, double x)
{
    att_tensor t = s->tensor[slot];
    att_tensor_set(&t, SHAPE(b, n, g, c), x);
}

/* A number that is not finite in one place: gradients are finite where the reference's are. */
static void what_is_not_finite_shows_exactly_where_it_is_used(void **state)
{
    (void)state;
    static const double wild[] = { NAN, INFINITY, -INFINITY };
    for (size_t m = 0; m < COUNT(masks); m++)
        for (int where = 0; where < 12; where++) {
            scene s;
            loss l;
            grads found, wanted;
            scene_new(&s, (choice){ 1, where % 2 ? 3 : 60, 150, 1, 1, 4, 6, .mask = masks[m],
                                    .dropout = m % 2 ? 0.3 : 0, .seed = 40 + m });
            loss_new(&l, &s);
            if (where / 3 == 3)
                att_tensor_set(l.grad.out.output, SHAPE(0, 2, 0, 3), wild[where % 3]);
            else
                set(&s, (att_slot)(where / 3), 0, where / 3 == 0 ? 2 : 37, 0, 3, wild[where % 3]);
            grads_new(&found, &s, ATT_F32);
            grads_new(&wanted, &s, ATT_F64);
            ASSERT_OK(att_attention_backward(&s.how, &s.in, NULL, l.grad.out.output, &found.to,
                                             NULL, err));
            ASSERT_OK(
                att_attention_backward_ref(&s.how, &s.in, l.grad.out.output, &wanted.to, err));
            for (int slot = ATT_SLOT_QUERY; slot <= ATT_SLOT_VALUE; slot++)
                for (int64_t e = 0; e < att_tensor_count(&wanted.tensor[slot]); e++) {
                    double a = (double)((float *)found.tensor[slot].data)[e];
                    double b = ((double *)wanted.tensor[slot].data)[e];
                    if (isfinite(a) != isfinite(b))
                        fail_msg("gradient of %s, element %d, is %g, expected %g, case %d: %s",
                                 grad_names[slot], (int)e, a, b, where, choice_name(&s.c));
                }
            grads_free(&found);
            grads_free(&wanted);
            results_free(&l.grad);
            scene_free(&s);
        }
}

/* The gradient of one query, as bytes. */
static void a_query_alone_gets_the_gradient_it_gets_among_many(void **state)
{
    (void)state;
    scene s;
    loss l;
    grads whole;
    scene_new(&s, (choice){ 1, 75, 600, 1, 1, 24, 40, .mask = CAUSAL, .bias = ALIBI, .seed = 8 });
    loss_new(&l, &s);
    grads_new(&whole, &s, ATT_F32);
    ASSERT_OK(att_attention_backward(&s.how, &s.in, NULL, l.grad.out.output, &whole.to, NULL, err));
    for (int64_t i = 0; i < 75; i++) {
        float found[24] = { 0 };
        att_tensor query = s.tensor[ATT_SLOT_QUERY], grad = *l.grad.out.output;
        att_tensor to = att_tensor_view(found, ATT_F32, 4, SHAPE(1, 1, 1, 24));
        att_attention how = s.how;
        att_attention_inputs in = s.in;
        query.data = (float *)query.data + i * query.stride[1];
        grad.data = (float *)grad.data + i * grad.stride[1];
        query.shape[1] = grad.shape[1] = 1;
        in.query = &query;
        how.offset += i;
        for (int k = 0; k < 24; k++)
            found[k] = 1;
        ASSERT_OK(att_attention_backward(&how, &in, NULL, &grad,
                                         &(att_attention_grads){ .query = &to }, NULL, err));
        for (int k = 0; k < 24; k++)
            assert_true((double)found[k] == get(whole.to.query, 0, i, 0, k));
    }
    grads_free(&whole);
    results_free(&l.grad);
    scene_free(&s);
}

/* Any one gradient alone has the bits it has among all. */
static void a_gradient_wanted_alone_is_the_same(void **state)
{
    (void)state;
    scene s;
    loss l;
    grads all;
    scene_new(&s, (choice){ 2, 50, 300, 2, 1, 8, 8, .bias = TURNED_BIAS | ALIBI | RELATIVE,
                            .mask = CAUSAL, .cap = 2, .seed = 8 });
    loss_new(&l, &s);
    grads_new(&all, &s, ATT_F32);
    ASSERT_OK(att_attention_backward(&s.how, &s.in, NULL, l.grad.out.output, &all.to, NULL, err));
    for (int slot = 0; slot < ATT_SLOTS; slot++) {
        grads one;
        grads_new(&one, &s, ATT_F32);
        for (int other = 0; other < ATT_SLOTS; other++)
            if (other != slot)
                memset((char *)&one.to + (size_t)other * sizeof(att_tensor *), 0,
                       sizeof(att_tensor *));
        ASSERT_OK(
            att_attention_backward(&s.how, &s.in, NULL, l.grad.out.output, &one.to, NULL, err));
        if (one.block[slot])
            assert_memory_equal(one.block[slot], all.block[slot], one.bytes[slot]);
        grads_free(&one);
    }
    grads_free(&all);
    results_free(&l.grad);
    scene_free(&s);
}

static void a_workspace_of_the_size_told_is_enough(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        scene s;
        loss l;
        grads with, without;
        att_threads_set(1 + (int)seed % 5);
        scene_new(&s, (choice){ 1 + (int64_t)seed % 3, 9 + 17 * (int64_t)seed, 600, 3, 1, 20, 33,
                                .bias = biases[seed % COUNT(biases)],
                                .layout = (layout)(seed % LAYOUTS), .seed = seed });
        loss_new(&l, &s);
        grads_new(&with, &s, ATT_F32);
        grads_new(&without, &s, ATT_F32);
        size_t size = att_attention_workspace(&s.how, &s.in, true);
        assert_true(size > 0);
        unsigned char *workspace = malloc(size + 65);
        memset(workspace, 0x77, size + 65);
        ASSERT_OK(att_attention_backward(&s.how, &s.in, NULL, l.grad.out.output, &with.to,
                                         workspace + 1, err));
        ASSERT_OK(
            att_attention_backward(&s.how, &s.in, NULL, l.grad.out.output, &without.to, NULL, err));
        assert_true(grads_hash(&with) == grads_hash(&without));
        assert_int_equal(workspace[0], 0x77);
        for (size_t n = size + 1; n < size + 65; n++)
            assert_int_equal(workspace[n], 0x77);
        free(workspace);
        grads_free(&with);
        grads_free(&without);
        results_free(&l.grad);
        scene_free(&s);
    }
    att_threads_set(1);
}

/* One head of 64, 65,536 positions: inputs and outputs take 16 MB each. */
static void a_long_sequence_takes_little_workspace_at_any_number_of_threads(void **state)
{
    (void)state;
    float zero = 0;
    att_tensor all = att_tensor_view(&zero, ATT_F32, 4, (int64_t[]){ 1, 65536, 1, 64 });
    att_attention how = { .score = ATT_SCORE_SCALED };
    att_attention_inputs in = { .query = &all, .key = &all, .value = &all };
    for (int threads = 1; threads <= 64; threads *= 2) {
        att_threads_set(threads);
        size_t size = att_attention_workspace(&how, &in, true);
        assert_in_range(size, 1, (64 << 20) - 1);
    }
    att_threads_set(1);
}

static void every_failed_allocation_is_told_and_nothing_leaks(void **state)
{
    (void)state;
    scene s;
    loss l;
    grads found;
    scene_new(&s, (choice){ 1, 40, 100, 1, 1, 8, 8, .mask = BLOCKS, .seed = 1 });
    loss_new(&l, &s);
    grads_new(&found, &s, ATT_F32);
    size_t live = att_alloc_live();
    att_status status = ATT_NO_MEMORY;
    for (size_t n = 1; status != ATT_OK; n++) {
        att_error err = { 0 };
        assert_true(n < 12);
        att_alloc_fail_at(n);
        status =
            att_attention_backward(&s.how, &s.in, NULL, l.grad.out.output, &found.to, NULL, &err);
        att_alloc_fail_at(0);
        assert_true(status == ATT_OK || status == ATT_NO_MEMORY);
        assert_true(status == err.status);
        assert_int_equal(att_alloc_live(), live);
    }
    grads_free(&found);
    results_free(&l.grad);
    scene_free(&s);
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
    ASSERT_OK(att_attention_backward(&s.how, &s.in, NULL, l.grad.out.output, &found.to, NULL, err));
    ASSERT_OK(att_attention_backward_ref(&s.how, &s.in, l.grad.out.output, &wanted.to, err));
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
    att_threads_set(1); /* but where a test is about threads */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
