/* Gradients of the reference against central differences of its forward.
 *
 * The loss is Σ c·output with random c. Along a direction d its slope at 0 is found from
 *     D(h) = (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h,
 * whose error is f⁽⁵⁾h⁴/30 and whose rounding is at most 18/12 of the error of f over h. The first
 * is estimated by D(h) - D(h/2), about 16/15 of it; so the tolerance is measured at each point, and
 * a bound on it keeps the test from becoming void.
 *
 * relu, sparsemax and 1.5-entmax have kinks, where differences say nothing about the gradient. A
 * scene is used only if no kink lies between its outermost points: the same keys have weight 0 and
 * the same sums are clipped at 0 at all of them; otherwise the next seed is tried. */
#include "oracle.h"
#include "thin.h"

static const double step = 0x1p-9;

/* The gradients of a scene, and a direction to move its inputs along, both as its tensors. */
typedef struct slopes {
    att_tensor tensor[ATT_SLOT_COUNT];
    double grad[ATT_SLOT_COUNT][ROOM];
    double direction[ATT_SLOT_COUNT][ROOM];
    double output_grad[ROOM];
} slopes;

static int64_t size_of(const scene *s, int slot)
{
    return s->tensor[slot].data ? att_tensor_count(&s->tensor[slot]) : 0;
}

static att_attention_grads grads_of(slopes *l, const scene *s)
{
    att_tensor *grad[ATT_SLOT_COUNT];
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++) {
        l->tensor[slot] = s->tensor[slot];
        l->tensor[slot].data = l->grad[slot];
        grad[slot] = s->tensor[slot].data ? &l->tensor[slot] : NULL;
    }
    return (att_attention_grads){
        .query = grad[ATT_SLOT_QUERY],
        .key = grad[ATT_SLOT_KEY],
        .value = grad[ATT_SLOT_VALUE],
        .score_w = grad[ATT_SLOT_SCORE_W],
        .score_u = grad[ATT_SLOT_SCORE_U],
        .score_b = grad[ATT_SLOT_SCORE_B],
        .score_v = grad[ATT_SLOT_SCORE_V],
        .bias = grad[ATT_SLOT_BIAS],
        .alibi = grad[ATT_SLOT_ALIBI],
        .relative = grad[ATT_SLOT_RELATIVE],
    };
}

static void random_fill(double *to, int64_t count, uint64_t seed, uint64_t stream)
{
    for (int64_t n = 0; n < count; n++)
        to[n] = 2 * att_random_double(seed, stream, (uint64_t)n) - 1;
}

/* Everything that can be cut off at 0, as bits mixed into one number. */
static uint64_t pieces(const scene *s, const scene_results *r)
{
    uint64_t mixed = 0;
    for (int64_t n = 0; n < s->B * s->H * s->T * s->S; n++)
        mixed = mixed * 3 + (r->weights[n] == 0);
    if (s->choice.score != ATT_SCORE_CONCAT)
        return mixed;
    for (int64_t b = 0; b < s->B; b++)
        for (int64_t h = 0; h < s->H; h++)
            for (int64_t i = 0; i < s->T; i++)
                for (int64_t j = 0; j < s->S; j++)
                    mixed = mixed * 3 + (oracle_concat(s, b, h, i, j) > 0);
    return mixed;
}

/* The loss with the inputs moved by `along` times the direction. */
static double loss(const scene *s, const slopes *l, double along, uint64_t *piece)
{
    static scene moved;
    static scene_results r;
    moved = *s;
    scene_connect(&moved);
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++)
        for (int64_t n = 0; n < size_of(s, slot); n++)
            moved.data[slot][n] += along * l->direction[slot][n];
    scene_results_new(&r, s);
    ASSERT_OK(att_attention_forward_reference(&moved.options, &moved.in, &r.out, err));
    *piece = pieces(&moved, &r);
    double sum = 0;
    for (int64_t n = 0; n < s->B * s->T * s->H * s->M; n++)
        sum += l->output_grad[n] * r.output[n];
    return sum;
}

/* The slope by differences, the error it may have, and whether a kink lies between. */
static bool measure(const scene *s, const slopes *l, double *slope, double *error)
{
    static const double along[] = { 0.5, -0.5, 1, -1, 2, -2 };
    double f[6], largest = 0;
    uint64_t piece[6];
    for (int n = 0; n < 6; n++) {
        f[n] = loss(s, l, along[n] * step, &piece[n]);
        largest = fmax(largest, fabs(f[n]));
        if (piece[n] != piece[0])
            return false;
    }
    double wide = (8 * (f[2] - f[3]) - (f[4] - f[5])) / (12 * step);
    double narrow = (8 * (f[0] - f[1]) - (f[2] - f[3])) / (6 * step);
    /* The loss sums up to 24 outputs of error below 100 eps each (as in the oracle's test, where
     * the worst case is far above what is met). */
    double rounding = 24 * 100 * DBL_EPSILON * fmax(1, largest) * 1.5 / (step / 2);
    *slope = narrow;
    *error = fabs(wide - narrow) + rounding;
    return true;
}

static double along_gradient(const scene *s, const slopes *l, int slot)
{
    double sum = 0;
    for (int64_t n = 0; n < size_of(s, slot); n++)
        sum += l->grad[slot][n] * l->direction[slot][n];
    return sum;
}

static void check(const scene *s, double found, double slope, double error, const char *what)
{
    if (error > 1e-6 * (1 + fabs(slope)))
        fail_msg("%s (seed %llu), %s: the difference %g is only known to %g",
                 scene_name(&s->choice), (unsigned long long)s->seed, what, slope, error);
    if (!(fabs(found - slope) <= error))
        fail_msg("%s (seed %llu), %s: gradient %.15g, difference %.15g, allowed %g",
                 scene_name(&s->choice), (unsigned long long)s->seed, what, found, slope, error);
}

static void run_backward(const scene *s, slopes *l)
{
    memset(l->grad, 0, sizeof l->grad);
    random_fill(l->output_grad, s->B * s->T * s->H * s->M, s->seed, 50);
    att_tensor output_grad = view4(l->output_grad, s->B, s->T, s->H, s->M);
    att_attention_grads grads = grads_of(l, s);
    ASSERT_OK(att_attention_backward_reference(&s->options, &s->in, &output_grad, &grads, err));
}

/* One direction through all tensors at once; gives false where a kink is in the way. */
static bool check_direction(const scene *s, slopes *l)
{
    double found = 0, slope, error;
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++) {
        random_fill(l->direction[slot], size_of(s, slot), s->seed, 60 + (uint64_t)slot);
        found += along_gradient(s, l, slot);
    }
    if (!measure(s, l, &slope, &error))
        return false;
    check(s, found, slope, error, "all inputs");
    return true;
}

/* A random direction sees every element of every gradient: one wrong element changes the slope. */
static void gradients_agree_with_differences_in_every_combination(void **state)
{
    (void)state;
    static scene s;
    static slopes l;
    int skipped = 0;
    for (int n = 0; n < SCENES; n += THIN) {
        uint64_t seed = (uint64_t)n;
        for (bool done = false; !done; seed += SCENES) {
            scene_new(&s, scene_choose(n), seed);
            run_backward(&s, &l);
            done = check_direction(&s, &l);
            skipped += !done;
            if (seed > 50 * SCENES)
                fail_msg("%s: no seed without a kink", scene_name(&s.choice));
        }
    }
    print_message("# %d combinations, %d points skipped for a kink\n", SCENES / THIN, skipped);
}

static const char *const slot_names[] = { "query",   "key",     "value", "score_w", "score_u",
                                          "score_b", "score_v", "bias",  "alibi",   "relative" };

/* Element by element, where everything else is switched on as well. */
static void each_element_of_each_gradient_agrees_with_its_difference(void **state)
{
    (void)state;
    static scene s;
    static slopes l;
    int checked = 0, skipped = 0;
    for (int n = 0; n < SCORES * NORMALIZERS; n++) {
        scene_choice choice = { .score = (att_score)(n / NORMALIZERS),
                                .normalizer = (att_normalizer)(n % NORMALIZERS),
                                .mask = LENGTHS | CAUSAL | DENSE,
                                .bias = FULL_BIAS | ALIBI | RELATIVE,
                                .heads = scene_heads[2],
                                .capped = true,
                                .dropped = true };
        scene_new(&s, choice, (uint64_t)n + 1000);
        run_backward(&s, &l);
        memset(l.direction, 0, sizeof l.direction);
        for (int slot = 0; slot < ATT_SLOT_COUNT; slot++)
            for (int64_t e = 0; e < size_of(&s, slot); e++) {
                double slope, error;
                l.direction[slot][e] = 1;
                if (measure(&s, &l, &slope, &error)) {
                    check(&s, l.grad[slot][e], slope, error, slot_names[slot]);
                    checked++;
                } else {
                    skipped++;
                }
                l.direction[slot][e] = 0;
            }
    }
    assert_true(skipped * 20 < checked);
    print_message("# %d elements, %d skipped for a kink\n", checked, skipped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_agree_with_differences_in_every_combination),
        cmocka_unit_test(each_element_of_each_gradient_agrees_with_its_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
