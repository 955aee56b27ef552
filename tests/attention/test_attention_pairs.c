/* Gradients of weights and scores from the reference: a loss that uses the output, the weights and
 * the scores, against central differences, for every score and normalizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attention/normalize.h"
#include "attention/paths.h"
#include "attention/score.h"
#include "base/random.h"

#include <math.h>

enum { T = 3, S = 4, K = 3, M = 2, A = 3 };

/* One problem: query 1 may attend no key, and no query may attend key 3. */
struct problem {
    double q[T * K], k[S * K], v[S * M], w[A * K + S * K], u[A * K], b[A + S], param_v[2 * K + A];
    double g[T * M], g_weights[T * S], g_scores[T * S]; /* the loss is the sum of all, weighted */
    uint8_t mask[T * S];
    att_attention_options options;
    att_tensor tensor[7];
    att_attention_inputs in;
};

static void fill(double *out, int64_t count, uint64_t stream)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = 0.2 + att_random_double(5, stream, (uint64_t)i);
}

static void set_parameters(struct problem *p, att_score score)
{
    int64_t rows = score == ATT_SCORE_LOCATION ? S : A;
    if (score == ATT_SCORE_GENERAL || score == ATT_SCORE_ADDITIVE || score == ATT_SCORE_LOCATION) {
        p->tensor[3] = att_tensor_view(p->w, ATT_F64, 3, (int64_t[]){ 1, rows, K });
        p->in.score_w = &p->tensor[3];
    }
    if (score == ATT_SCORE_ADDITIVE) {
        p->tensor[4] = att_tensor_view(p->u, ATT_F64, 3, (int64_t[]){ 1, A, K });
        p->in.score_u = &p->tensor[4];
    }
    if (score == ATT_SCORE_ADDITIVE || score == ATT_SCORE_LOCATION) {
        p->tensor[5] = att_tensor_view(p->b, ATT_F64, 2, (int64_t[]){ 1, rows });
        p->in.score_b = &p->tensor[5];
    }
    if (score == ATT_SCORE_ADDITIVE || score == ATT_SCORE_CONCAT) {
        int64_t size = score == ATT_SCORE_CONCAT ? 2 * K : A;
        p->tensor[6] = att_tensor_view(p->param_v, ATT_F64, 2, (int64_t[]){ 1, size });
        p->in.score_v = &p->tensor[6];
    }
}

static void make_problem(struct problem *p, att_score score, att_normalizer normalizer)
{
    *p = (struct problem){ 0 };
    fill(p->q, T * K, 1);
    fill(p->k, S * K, 2);
    fill(p->v, S * M, 3);
    fill(p->w, A * K + S * K, 4);
    fill(p->u, A * K, 5);
    fill(p->b, A + S, 6);
    fill(p->param_v, 2 * K + A, 7);
    fill(p->g, T * M, 8);
    fill(p->g_weights, T * S, 9);
    fill(p->g_scores, T * S, 10);
    for (int i = 0; i < T * S; i++)
        p->mask[i] = i / S != 1 && i % S != 3;
    p->options = (att_attention_options){ .size = sizeof p->options,
                                          .score = score,
                                          .normalizer = normalizer,
                                          .scale = 0.7,
                                          .soft_cap = 3,
                                          .mask = p->mask,
                                          .mask_stride = { 0, 0, S, 1 } };
    p->tensor[0] = att_tensor_view(p->q, ATT_F64, 4, (int64_t[]){ 1, T, 1, K });
    p->tensor[1] = att_tensor_view(p->k, ATT_F64, 4, (int64_t[]){ 1, S, 1, K });
    p->tensor[2] = att_tensor_view(p->v, ATT_F64, 4, (int64_t[]){ 1, S, 1, M });
    p->in = (att_attention_inputs){ .query = &p->tensor[0],
                                    .key = &p->tensor[1],
                                    .value = &p->tensor[2] };
    set_parameters(p, score);
}

static double loss_of(const struct problem *p)
{
    double output[T * M] = { 0 }, weights[T * S] = { 0 }, scores[T * S] = { 0 }, sum = 0;
    att_tensor out = att_tensor_view(output, ATT_F64, 4, (int64_t[]){ 1, T, 1, M });
    att_tensor of_weights = att_tensor_view(weights, ATT_F64, 4, (int64_t[]){ 1, 1, T, S });
    att_tensor of_scores = att_tensor_view(scores, ATT_F64, 4, (int64_t[]){ 1, 1, T, S });
    const att_attention_outputs outputs = { .output = &out,
                                            .weights = &of_weights,
                                            .scores = &of_scores };
    assert_int_equal(att_attention_forward_reference(&p->options, &p->in, &outputs, NULL), ATT_OK);
    for (int i = 0; i < T * M; i++)
        sum += p->g[i] * output[i];
    for (int i = 0; i < T * S; i++)
        if (p->mask[i])
            sum += p->g_weights[i] * weights[i] + p->g_scores[i] * scores[i];
    return sum;
}

static void check_numbers(struct problem *p, const char *what, double *numbers, const double *grads,
                          int count)
{
    for (int i = 0; i < count; i++) {
        double x = numbers[i], h = 1e-5, up, down;
        numbers[i] = x + h;
        up = loss_of(p);
        numbers[i] = x - h;
        down = loss_of(p);
        numbers[i] = x;
        if (!(fabs(grads[i] - (up - down) / (2 * h)) <= 1e-8 * (1 + fabs(grads[i]))))
            fail_msg("%s, %s: %s[%d] is %.12g, differences say %.12g",
                     att_score_name(p->options.score), att_normalizer_name(p->options.normalizer),
                     what, i, grads[i], (up - down) / (2 * h));
    }
}

/* The gradient of a weight is what the loss sends it directly, and its value times the gradient of
 * the output. Pairs that take no part are left as they were. */
static void check_totals(const struct problem *p, const double *dweights, const double *dscores)
{
    for (int i = 0; i < T; i++)
        for (int j = 0; j < S; j++) {
            double want = p->g_weights[i * S + j];
            for (int m = 0; m < M; m++)
                want += p->g[i * M + m] * p->v[j * M + m];
            if (p->mask[i * S + j])
                assert_true(fabs(dweights[i * S + j] - want) < 1e-14 * (1 + fabs(want)));
            else
                assert_true(dweights[i * S + j] == 0 && dscores[i * S + j] == 0);
        }
}

static void check_pair(att_score score, att_normalizer normalizer)
{
    struct problem p;
    double dq[T * K] = { 0 }, dk[S * K] = { 0 }, dv[S * M] = { 0 };
    double dweights[T * S] = { 0 }, dscores[T * S] = { 0 }, dproducts[T * S] = { 0 };
    make_problem(&p, score, normalizer);
    att_tensor g = att_tensor_view(p.g, ATT_F64, 4, (int64_t[]){ 1, T, 1, M });
    att_tensor query = p.tensor[0], key = p.tensor[1], value = p.tensor[2];
    query.data = dq;
    key.data = dk;
    value.data = dv;
    const att_attention_grads grads = { .query = &query, .key = &key, .value = &value };
    const att_pair_grads pairs = { .weights = p.g_weights,
                                   .scores = p.g_scores,
                                   .weights_total = dweights,
                                   .scores_total = dscores,
                                   .products_total = dproducts };
    assert_int_equal(att_attention_backward_pairs(&p.options, &p.in, &g, &grads, &pairs, NULL),
                     ATT_OK);
    check_totals(&p, dweights, dscores);
    check_numbers(&p, "query", p.q, dq, T * K);
    check_numbers(&p, "key", p.k, dk, S * K);
    check_numbers(&p, "value", p.v, dv, S * M);
    for (int c = 0; c < K; c++)
        assert_true(dq[K + c] == 0 && dk[3 * K + c] == 0); /* of what is never attended */
    if (score == ATT_SCORE_DOT)                            /* dq = dproducts k */
        for (int c = 0; c < K; c++) {
            double want = 0;
            for (int j = 0; j < S; j++)
                want += dproducts[j] * p.k[j * K + c];
            assert_true(fabs(dq[c] - want) < 1e-14 * (1 + fabs(want)));
        }
}

static void weights_and_scores_may_be_in_the_loss(void **state)
{
    (void)state;
    for (int s = 0; s < ATT_SCORE_COUNT; s++)
        for (int n = 0; n < ATT_NORMALIZER_COUNT; n++)
            check_pair((att_score)s, (att_normalizer)n);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(weights_and_scores_may_be_in_the_loss) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
