/* Random attention problems with all options at once, against the reference: numbers within the
 * bounds of rowwise_check.h, the same bits at any number of threads and on any instruction set, in
 * a workspace of exactly the size that att_attention_workspace() returns, with NaN wherever nothing
 * may be read.
 *
 *   test_attention_random [FIRST [COUNT]]     runs other scenes than the default */
#include "random_scene.h"
#include "rowwise_check.h"
#include "thin.h"

static uint64_t first_seed = 1, seed_count = 200 / THIN;

/* One scene, the reference result, and the bounds of the comparison. */
typedef struct trial {
    dice dice;
    scene s;
    results exact;
    loss l;
    double limit, grad_limit;
    bool grads_decided; /* no kink within rounding of a score */
} trial;

/* ---------------------------------------------------------------- limits */

/* The shortest vector of a tensor that is not zero: the cosine's derivative is its inverse. */
static double shortest(const att_tensor *t)
{
    double least = 1;
    for (int64_t b = 0; b < t->shape[0]; b++)
        for (int64_t n = 0; n < t->shape[1]; n++)
            for (int64_t h = 0; h < t->shape[2]; h++) {
                double sum = 0;
                for (int64_t k = 0; k < t->shape[3]; k++)
                    sum += get(t, b, n, h, k) * get(t, b, n, h, k);
                if (sum > 0)
                    least = fmin(least, sqrt(sum));
            }
    return least;
}

/* Whether a score of sparsemax or entmax is within `limit` of the threshold of their support, which
 * follows from the weight of the largest score. */
static bool near_support_edge(const trial *t, double limit)
{
    const choice *c = &t->s.c;
    bool square = c->normalizer == ATT_NORMALIZE_ENTMAX15;
    if (!square && c->normalizer != ATT_NORMALIZE_SPARSEMAX)
        return false;
    for (int64_t row = 0; row < c->B * c->H * c->T; row++) {
        int64_t b = row / (c->H * c->T), h = row / c->T % c->H, i = row % c->T;
        double top = -INFINITY, weight = 0;
        for (int64_t j = 0; j < c->S; j++)
            if (get(t->exact.out.scores, b, h, i, j) > top) {
                top = get(t->exact.out.scores, b, h, i, j);
                weight = get(t->exact.out.weights, b, h, i, j);
            }
        double edge = square ? top - 2 * sqrt(weight) : top - weight;
        for (int64_t j = 0; j < c->S; j++)
            if (fabs(get(t->exact.out.scores, b, h, i, j) - edge) < limit)
                return true;
    }
    return false;
}

/* Whether vᵀ[q;k] of some pair lies within `limit` of relu's kink. */
static bool near_relu(const trial *t, double limit)
{
    const choice *c = &t->s.c;
    const att_tensor *v = t->s.in.score_v, *q = t->s.in.query, *k = t->s.in.key;
    if (c->score != ATT_SCORE_CONCAT)
        return false;
    for (int64_t n = 0; n < c->B * c->H * c->T * c->S; n++) {
        int64_t j = n % c->S, i = n / c->S % c->T, h = n / c->S / c->T % c->H;
        int64_t b = n / c->S / c->T / c->H, head = v->shape[0] == 1 ? 0 : h;
        double sum = 0;
        for (int64_t x = 0; x < q->shape[3]; x++)
            sum += get(v, head, x, 0, 0) * get(q, b, i, h, x);
        for (int64_t x = 0; x < k->shape[3]; x++)
            sum += get(v, head, q->shape[3] + x, 0, 0) * get(k, b, j, h / (c->H / c->G), x);
        if (fabs(sum) < limit)
            return true;
    }
    return false;
}

/* Sums of gradients over all pairs have as many steps, and 1/Σs comes in twice. */
static void set_limits(trial *t)
{
    const choice *c = &t->s.c;
    double cancelled = 1, score = largest(t->exact.out.scores, &cancelled);
    double edge = EPS * 8 * (double)(c->K + 8) * (1 + score);
    t->limit = tolerance(&t->s, &t->exact) / (1 - c->dropout);
    t->grad_limit = 4 * t->limit * (1 + score);
    if (c->normalizer == ATT_NORMALIZE_SUM)
        t->grad_limit *= cancelled * cancelled;
    if (c->score == ATT_SCORE_COSINE)
        t->grad_limit /= shortest(t->s.in.query) * shortest(t->s.in.key);
    t->grads_decided = !near_support_edge(t, edge) && !near_relu(t, edge);
}

/* ---------------------------------------------------------------- NaN in places not used */

/* Elements that no allowed pair of query and key uses; they become NaN. */
typedef struct marks {
    const att_tensor *tensor;
    const float *block;
    float *kept; /* [room] used elements, NaN elsewhere */
    int64_t room;
} marks;

static marks marks_new(const att_tensor *t, const float *block)
{
    int64_t offset, room = tensor_room(t, &offset);
    marks m = { t, block, malloc((size_t)room * sizeof(float)), room };
    for (int64_t n = 0; n < room; n++)
        m.kept[n] = NAN;
    return m;
}

/* The row [a,b,c] is used; `count` numbers of it. */
static void marks_keep(const marks *m, int64_t a, int64_t b, int64_t c, int64_t count)
{
    const att_tensor *t = m->tensor;
    const float *data = t->data;
    for (int64_t n = 0; n < count; n++) {
        int64_t at = (data - m->block) + a * t->stride[0] + b * t->stride[1] + c * t->stride[2] +
                     n * t->stride[3];
        m->kept[at] = m->block[at];
    }
}

static void marks_apply(marks *m, float *block)
{
    memcpy(block, m->kept, (size_t)m->room * sizeof(float));
    free(m->kept);
}

/* Keys, values and biases that no query sees, queries that see nothing, and the gradients of their
 * outputs become NaN. */
static void poison(trial *t)
{
    scene *s = &t->s;
    const choice *c = &s->c;
    float *blocks[4] = { s->block[0] + 1, s->block[1] + 1, s->block[2] + 1, NULL };
    float *grad = (float *)(void *)t->l.grad.block[0] + FENCE;
    att_tensor *out = &t->l.grad.tensor[0], *bias = &s->tensor[ATT_SLOT_BIAS];
    marks q = marks_new(&s->tensor[0], blocks[0]), k = marks_new(&s->tensor[1], blocks[1]),
          v = marks_new(&s->tensor[2], blocks[2]), g = marks_new(out, grad), x = { 0 };
    if (bias->data)
        x = marks_new(bias, s->block[ATT_SLOT_BIAS] + 1);
    for (int64_t n = 0; n < c->B * c->H * c->T * c->S; n++) {
        int64_t j = n % c->S, i = n / c->S % c->T, h = n / c->S / c->T % c->H;
        int64_t b = n / c->S / c->T / c->H, group = h / (c->H / c->G);
        if (get(t->exact.out.scores, b, h, i, j) == -INFINITY)
            continue;
        marks_keep(&q, b, i, h, s->tensor[0].shape[3]);
        marks_keep(&k, b, j, group, s->tensor[1].shape[3]);
        marks_keep(&v, b, j, group, c->M);
        marks_keep(&g, b, i, h, c->M);
        if (bias->data) {
            att_tensor one = *bias;
            one.data = (float *)bias->data + (bias->shape[0] == 1 ? 0 : b) * bias->stride[0] +
                       (bias->shape[1] == 1 ? 0 : h) * bias->stride[1] +
                       (bias->shape[2] == 1 ? 0 : i) * bias->stride[2] +
                       (bias->shape[3] == 1 ? 0 : j) * bias->stride[3];
            x.tensor = &one;
            marks_keep(&x, 0, 0, 0, 1);
        }
    }
    marks_apply(&q, blocks[0]);
    marks_apply(&k, blocks[1]);
    marks_apply(&v, blocks[2]);
    marks_apply(&g, grad);
    if (bias->data)
        marks_apply(&x, s->block[ATT_SLOT_BIAS] + 1);
}

/* ---------------------------------------------------------------- one run */

typedef struct run {
    att_cpu cpu;
    int threads;
    bool lent;    /* a workspace is given */
    bool forward; /* the backward pass gets the results of the forward pass */
} run;

static void *workspace_new(const trial *t, bool backward, bool lent, size_t *size)
{
    *size = lent ? att_attention_workspace(&t->s.options, &t->s.in, backward) : 0;
    unsigned char *room = malloc(*size + 65);
    memset(room, 0x77, *size + 65);
    return room;
}

static void workspace_free(unsigned char *room, size_t size)
{
    assert_int_equal(room[0], 0x77);
    for (size_t n = size + 1; n < size + 65; n++)
        if (room[n] != 0x77)
            fail_msg("byte %zu behind a workspace of %zu was written", n - size - 1, size);
    free(room);
}

/* Bits of NaN differ between instruction sets where they come from 0/0; that is no number. */
static void settle_nan(char *block, size_t bytes)
{
    float *at = (float *)(void *)block;
    for (size_t n = 0; n < bytes / sizeof *at; n++)
        if (isnan(at[n]))
            at[n] = NAN;
}

static void check_results(const trial *t, const results *found)
{
    for (int n = 0; n < RESULTS; n++)
        if (found->block[n]) {
            assert_int_equal(results_spilled(found, n), 0);
            check_tensor(result_names[n], &found->tensor[n], &t->exact.tensor[n], t->limit,
                         &t->s.c);
        }
}

static uint64_t run_forward(const trial *t, run options, bool check)
{
    results found;
    dice d = t->dice;
    size_t size;
    results_draw(&found, &t->s, &d, ATT_F32, false);
    unsigned char *room = workspace_new(t, false, options.lent, &size);
    ASSERT_OK(att_attention_forward(&t->s.options, &t->s.in, &found.out,
                                    options.lent ? room + 1 : NULL, err));
    workspace_free(room, size);
    if (check)
        check_results(t, &found);
    for (int n = 0; n < RESULTS; n++)
        settle_nan(found.block[n], found.bytes[n]);
    uint64_t hash = results_hash(&found);
    results_free(&found);
    return hash;
}

static void check_grads(const trial *t, const grads *found)
{
    grads wanted;
    dice d = t->dice;
    grads_draw(&wanted, &t->s, &d, ATT_F64, false);
    ASSERT_OK(att_attention_backward_reference(&t->s.options, &t->s.in, t->l.grad.out.output,
                                               &wanted.to, err));
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++)
        if (found->block[slot])
            check_tensor(grad_names[slot], &found->tensor[slot], &wanted.tensor[slot],
                         t->grad_limit, &t->s.c);
    grads_free(&wanted);
}

static uint64_t run_backward(const trial *t, run options, bool check)
{
    results forward;
    grads found;
    dice d = t->dice, e = t->dice;
    size_t size;
    grads_draw(&found, &t->s, &d, ATT_F32, false);
    results_draw(&forward, &t->s, &e, ATT_F32, true);
    ASSERT_OK(att_attention_forward(&t->s.options, &t->s.in, &forward.out, NULL, err));
    unsigned char *room = workspace_new(t, true, options.lent, &size);
    ASSERT_OK(att_attention_backward(&t->s.options, &t->s.in, options.forward ? &forward.out : NULL,
                                     t->l.grad.out.output, &found.to,
                                     options.lent ? room + 1 : NULL, err));
    workspace_free(room, size);
    if (check && t->grads_decided)
        check_grads(t, &found);
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++)
        if (found.block[slot])
            settle_nan(found.block[slot], found.bytes[slot]);
    uint64_t hash = grads_hash(&found);
    grads_free(&found);
    results_free(&forward);
    return hash;
}

/* ---------------------------------------------------------------- the test */

static void trial_new(trial *t, uint64_t seed)
{
    *t = (trial){ .dice = { .seed = seed } };
    scene_draw(&t->s, &t->dice);
    results_draw(&t->exact, &t->s, &t->dice, ATT_F64, true);
    results_draw(&t->l.grad, &t->s, &t->dice, ATT_F32, false);
    float *block = (float *)(void *)t->l.grad.block[0];
    for (size_t n = 0; n < t->l.grad.bytes[0] / sizeof *block; n++)
        block[n] = (float)uniform(seed, 55, n, 1);
    ASSERT_OK(att_attention_forward_reference(&t->s.options, &t->s.in, &t->exact.out, err));
    set_limits(t);
    poison(t);
}

static void trial_free(trial *t)
{
    results_free(&t->exact);
    results_free(&t->l.grad);
    scene_free(&t->s);
}

/* One thread of the scalar set defines the bits; a few other settings must give the same. */
static void try_seed(uint64_t seed)
{
    static const int threads[] = { 1, 2, 3, 8 };
    trial t;
    trial_new(&t, seed);
    uint64_t forward = 0, backward = 0;
    for (int n = 0; n < 6; n++) {
        run options = { .lent = n % 2 == 0, .forward = n % 3 == 0 };
        options.cpu = (att_cpu)((seed + (uint64_t)n) % (att_cpu_best() + 1));
        if (n == 0 || !att_cpu_has(options.cpu))
            options.cpu = ATT_CPU_SCALAR;
        options.threads = n == 0 ? 1 : threads[(seed / 3 + (uint64_t)n) % COUNT(threads)];
        assert_true(att_cpu_set(options.cpu));
        att_threads_set(options.threads);
        uint64_t outputs = run_forward(&t, options, n == 0),
                 gradients = run_backward(&t, options, n == 0);
        if (n == 0) {
            forward = outputs;
            backward = gradients;
        }
        if (outputs != forward || gradients != backward)
            fail_msg("other bits %s on set %d with %d threads: %s by %s, %s",
                     outputs != forward ? "forward" : "backward", (int)options.cpu, options.threads,
                     att_score_name(t.s.c.score), att_normalizer_name(t.s.c.normalizer),
                     choice_name(&t.s.c));
    }
    trial_free(&t);
}

static void every_problem_drawn_at_random_agrees_and_keeps_its_bits(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++)
        try_seed(seed);
    att_cpu_set(att_cpu_best());
    att_threads_set(1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_problem_drawn_at_random_agrees_and_keeps_its_bits),
    };
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        seed_count = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
