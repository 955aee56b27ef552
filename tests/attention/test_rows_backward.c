/* Gradients of attention by rows and of folded scores against the reference's; their promises. */
#include "rows_check.h"

static choice kind(int score, int normaliser, uint64_t seed)
{
    return (choice){ .B = 2,
                     .T = 7,
                     .S = 20,
                     .H = 2,
                     .G = 1,
                     .K = 6,
                     .M = 5,
                     .A = 9,
                     .spread = 0.7,
                     .score = (att_score)score,
                     .normaliser = (att_normaliser)normaliser,
                     .seed = seed };
}

/* Sums of gradients over all pairs have as many steps, and 1/Σs comes in twice. */
static double grad_tolerance(const scene *s, const results *exact)
{
    const choice *c = &s->c;
    double limit = tolerance(s, exact), cancelled = 1;
    (void)largest(exact->out.scores, &cancelled);
    if (c->normaliser == ATT_NORMALISE_SUM)
        limit *= cancelled * cancelled;
    return 4 * limit * (1 + largest(exact->out.scores, NULL));
}

/* Where relu or the support of a simplex has its edge at a score, rounding decides the gradient's
 * side; such scenes say nothing. */
static bool on_an_edge(const scene *s, const results *exact, double limit)
{
    const choice *c = &s->c;
    bool support =
        c->normaliser == ATT_NORMALISE_SPARSEMAX || c->normaliser == ATT_NORMALISE_ENTMAX15;
    for (int64_t n = 0; support && n < att_tensor_count(exact->out.weights); n++) {
        double weight = ((const double *)exact->out.weights->data)[n];
        if (c->layout == LAYOUT_ROWS && weight > 0 && weight < limit)
            return true;
    }
    return false;
}

static void agree(choice c)
{
    scene s;
    results exact;
    grads found, wanted;
    loss l;
    scene_new(&s, c);
    loss_new(&l, &s);
    results_new(&exact, &s, ATT_F64, true);
    grads_new(&found, &s, ATT_F32);
    grads_new(&wanted, &s, ATT_F64);
    ASSERT_OK(att_attention_forward_ref(&s.how, &s.in, &exact.out, err));
    ASSERT_OK(att_attention_backward(&s.how, &s.in, NULL, l.grad.out.output, &found.to, NULL, err));
    ASSERT_OK(att_attention_backward_ref(&s.how, &s.in, l.grad.out.output, &wanted.to, err));
    double limit = grad_tolerance(&s, &exact);
    for (int slot = 0; slot < ATT_SLOTS && !on_an_edge(&s, &exact, limit); slot++)
        if (s.tensor[slot].data)
            check_tensor(grad_names[slot], &found.tensor[slot], &wanted.tensor[slot], limit, &c);
    grads_free(&found);
    grads_free(&wanted);
    results_free(&exact);
    results_free(&l.grad);
    scene_free(&s);
}

static void every_score_and_normaliser_agrees_at_every_size(void **state)
{
    (void)state;
    static const int64_t sizes[][5] = {
        /* T, S, K, M, A */
        { 1, 1, 1, 1, 1 },  { 1, 40, 64, 64, 64 }, { 33, 17, 16, 3, 17 }, { 5, 300, 3, 20, 40 },
        { 40, 0, 4, 4, 4 }, { 0, 9, 4, 4, 4 },     { 3, 5, 0, 2, 0 },     { 65, 129, 7, 0, 5 }
    };
    FOR_KINDS(score, normaliser)
    for (size_t n = 0; n < COUNT(sizes); n++) {
        choice c = kind(score, normaliser, n);
        c.T = sizes[n][0];
        c.S = sizes[n][1];
        c.K = sizes[n][2];
        c.M = sizes[n][3];
        c.A = sizes[n][4];
        agree(c);
    }
}

static void every_mask_and_bias_agrees(void **state)
{
    (void)state;
    uint64_t seed = 0;
    FOR_KINDS(score, normaliser)
    for (size_t m = 0; m < COUNT(masks); m++, seed++) {
        choice c = kind(score, normaliser, seed);
        c.mask = masks[m];
        c.bias = biases[seed % COUNT(biases)];
        c.B = masks[m] & PACKED ? 1 : 2;
        c.T = 35 + (int64_t)seed % 5;
        c.S = 90 - (int64_t)seed % 7;
        c.H = 4;
        c.G = 1 << seed % 3;
        c.cap = seed % 5 == 1 ? 1.5 : 0;
        c.dropout = seed % 4 == 2 ? 0.3 : 0;
        c.scale = seed % 3 == 1 ? -0.7 : 0;
        c.layout = (layout)(seed % LAYOUTS);
        agree(c);
    }
}

static uint64_t hash_of(const scene *s, const loss *l, att_cpu cpu, int threads)
{
    grads found;
    assert_true(att_cpu_use(cpu));
    att_threads_set(threads);
    grads_new(&found, s, ATT_F32);
    ASSERT_OK(
        att_attention_backward(&s->how, &s->in, NULL, l->grad.out.output, &found.to, NULL, err));
    uint64_t hash = grads_hash(&found);
    grads_free(&found);
    return hash;
}

static void every_instruction_set_and_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    static const int threads[] = { 1, 2, 3, 8 };
    uint64_t seed = 0;
    FOR_KINDS(score, normaliser)
    {
        choice c = kind(score, normaliser, seed++);
        scene s;
        loss l;
        c.mask = masks[seed % COUNT(masks)];
        c.bias = seed % 3 ? 0 : biases[seed % COUNT(biases)];
        c.B = c.mask & PACKED ? 1 : 5;
        c.T = 40;
        c.S = 150;
        c.K = 19;
        c.A = 35;
        c.dropout = seed % 3 == 0 ? 0.2 : 0;
        scene_new(&s, c);
        loss_new(&l, &s);
        uint64_t plain = hash_of(&s, &l, ATT_CPU_REF, 1);
        for (int cpu = ATT_CPU_REF; cpu <= (int)att_cpu_best(); cpu++)
            for (size_t t = 0; t < COUNT(threads); t++)
                if (hash_of(&s, &l, (att_cpu)cpu, threads[t]) != plain)
                    fail_msg("other bits on set %d with %d threads: %s by %s, %s", cpu, threads[t],
                             att_score_name(c.score), att_normaliser_name(c.normaliser),
                             choice_name(&c));
        results_free(&l.grad);
        scene_free(&s);
    }
    att_cpu_use(att_cpu_best());
    att_threads_set(1);
}

/* The gradient of one query, whose result does not depend on the others. */
static void a_query_alone_gets_the_gradient_it_gets_among_many(void **state)
{
    (void)state;
    FOR_KINDS(score, normaliser)
    {
        choice c = kind(score, normaliser, 7);
        scene s;
        loss l;
        grads whole;
        c.B = c.H = 1;
        c.T = 40;
        c.S = 150;
        c.mask = CAUSAL | WINDOW;
        scene_new(&s, c);
        loss_new(&l, &s);
        grads_new(&whole, &s, ATT_F32);
        ASSERT_OK(
            att_attention_backward(&s.how, &s.in, NULL, l.grad.out.output, &whole.to, NULL, err));
        for (int64_t i = 0; i < c.T; i += 3) {
            float found[6] = { 1, 1, 1, 1, 1, 1 };
            att_tensor query = s.tensor[ATT_SLOT_QUERY], grad = *l.grad.out.output;
            att_tensor to = att_tensor_view(found, ATT_F32, 4, SHAPE(1, 1, 1, 6));
            att_attention how = s.how;
            att_attention_inputs in = s.in;
            query.data = (float *)query.data + i * query.stride[1];
            grad.data = (float *)grad.data + i * grad.stride[1];
            query.shape[1] = grad.shape[1] = 1;
            in.query = &query;
            how.offset += i;
            ASSERT_OK(att_attention_backward(&how, &in, NULL, &grad,
                                             &(att_attention_grads){ .query = &to }, NULL, err));
            for (int k = 0; k < 6; k++) {
                double wanted = get(whole.to.query, 0, i, 0, k);
                if ((double)found[k] != wanted && !(isnan(found[k]) && isnan(wanted)))
                    fail_msg("query %d got %.9g, expected %.9g: %s by %s", (int)i, (double)found[k],
                             wanted, att_score_name(c.score), att_normaliser_name(c.normaliser));
            }
        }
        grads_free(&whole);
        results_free(&l.grad);
        scene_free(&s);
    }
}

/* A number that is not finite in one place: gradients are finite where the reference's are. */
static void what_is_not_finite_shows_exactly_where_it_is_used(void **state)
{
    (void)state;
    static const double wild[] = { NAN, INFINITY, -INFINITY };
    FOR_KINDS(score, normaliser)
    for (int where = 0; where < 12; where++)
        for (size_t m = 0; m < COUNT(masks); m += 1 + (size_t)where % 3) {
            choice c = kind(score, normaliser, 40 + m);
            scene s;
            loss l;
            grads found, wanted;
            c.B = 1;
            c.T = where % 2 ? 1 : 35;
            c.S = 45;
            c.mask = masks[m];
            scene_new(&s, c);
            loss_new(&l, &s);
            att_tensor *at = where < 9 ? &s.tensor[where / 3] : l.grad.out.output;
            bool by_query = where < 3 || where >= 9;
            att_tensor_set(at, SHAPE(0, by_query ? c.T / 2 : 12, 0, 2), wild[where % 3]);
            grads_new(&found, &s, ATT_F32);
            grads_new(&wanted, &s, ATT_F64);
            ASSERT_OK(att_attention_backward(&s.how, &s.in, NULL, l.grad.out.output, &found.to,
                                             NULL, err));
            ASSERT_OK(
                att_attention_backward_ref(&s.how, &s.in, l.grad.out.output, &wanted.to, err));
            for (int slot = 0; slot < ATT_SLOTS; slot++)
                for (int64_t e = 0; s.tensor[slot].data && e < att_tensor_count(&s.tensor[slot]);
                     e++) {
                    double a = (double)((float *)found.tensor[slot].data)[e];
                    double b = ((double *)wanted.tensor[slot].data)[e];
                    if (isfinite(a) != isfinite(b))
                        fail_msg("gradient of %s, element %d, is %g, expected %g, case %d: %s by "
                                 "%s, %s",
                                 grad_names[slot], (int)e, a, b, where, att_score_name(c.score),
                                 att_normaliser_name(c.normaliser), choice_name(&c));
                }
            grads_free(&found);
            grads_free(&wanted);
            results_free(&l.grad);
            scene_free(&s);
        }
}

/* Any one gradient alone has the bits it has among all. */
static void a_gradient_wanted_alone_is_the_same(void **state)
{
    (void)state;
    FOR_KINDS(score, normaliser)
    {
        choice c = kind(score, normaliser, 8);
        scene s;
        loss l;
        grads all;
        c.bias = TURNED_BIAS | ALIBI | RELATIVE;
        c.mask = CAUSAL;
        scene_new(&s, c);
        loss_new(&l, &s);
        grads_new(&all, &s, ATT_F32);
        ASSERT_OK(
            att_attention_backward(&s.how, &s.in, NULL, l.grad.out.output, &all.to, NULL, err));
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
}

static void a_workspace_of_the_size_told_is_enough(void **state)
{
    (void)state;
    uint64_t seed = 0;
    FOR_KINDS(score, normaliser)
    {
        choice c = kind(score, normaliser, seed++);
        scene s;
        loss l;
        grads with, without;
        att_threads_set(1 + (int)seed % 5);
        c.B = 3;
        c.T = 9 + (int64_t)seed * 3;
        c.S = 133;
        c.bias = biases[seed % COUNT(biases)];
        c.layout = (layout)(seed % LAYOUTS);
        scene_new(&s, c);
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

/* Also with parameters in a layout that products do not take as it is. */
static void every_failed_allocation_is_told_and_nothing_leaks(void **state)
{
    (void)state;
    scene s;
    loss l;
    grads found;
    choice c = kind(ATT_SCORE_ADDITIVE, ATT_NORMALISE_SOFTMAX, 1);
    c.mask = BLOCKS;
    c.bias = ALIBI | RELATIVE;
    scene_new(&s, c);
    loss_new(&l, &s);
    grads_new(&found, &s, ATT_F32);
    att_tensor *b = &s.tensor[ATT_SLOT_SCORE_B], *w = &s.tensor[ATT_SLOT_SCORE_W];
    b->stride[1] = 0; /* the same for all */
    w->stride[1] = w->stride[2] = 0;
    size_t live = att_alloc_live();
    att_status status = ATT_NO_MEMORY;
    for (size_t n = 1; status != ATT_OK; n++) {
        att_error err = { 0 };
        assert_true(n < 40);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_score_and_normaliser_agrees_at_every_size),
        cmocka_unit_test(every_mask_and_bias_agrees),
        cmocka_unit_test(every_instruction_set_and_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(a_query_alone_gets_the_gradient_it_gets_among_many),
        cmocka_unit_test(what_is_not_finite_shows_exactly_where_it_is_used),
        cmocka_unit_test(a_gradient_wanted_alone_is_the_same),
        cmocka_unit_test(a_workspace_of_the_size_told_is_enough),
        cmocka_unit_test(every_failed_allocation_is_told_and_nothing_leaks),
    };
    att_threads_set(1); /* but where a test is about threads */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
