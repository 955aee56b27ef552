/* The numbers of the course handouts, computed by the reference. Where a handout rounds or errs,
 * the test has the true number, with as many digits as are known. */
#include "helper.h"

/* c [n,m] = a [n,k] times b [k,m]: the projections, which are not attention's business. */
static void multiply(double *c, const double *a, const double *b, int n, int k, int m)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            c[i * m + j] = 0;
            for (int r = 0; r < k; r++)
                c[i * m + j] += a[i * k + r] * b[r * m + j];
        }
}

/* One head: T queries and S keys of width K, values of width M. */
static void attend(att_score score, const double *q, const double *k, const double *v, int T, int S,
                   int K, int M, const double *w, double *scores, double *weights, double *output)
{
    att_attention_options options = { .size = sizeof(att_attention_options), .score = score };
    att_tensor query = view4(q, 1, T, 1, K);
    att_tensor key = view4(k, 1, S, 1, K);
    att_tensor value = view4(v, 1, S, 1, M);
    att_tensor score_w = view3(w, 1, K, K);
    att_tensor out = view4(output, 1, T, 1, M);
    att_tensor score_map = view4(scores, 1, 1, T, S);
    att_tensor weight_map = view4(weights, 1, 1, T, S);
    att_attention_inputs in = {
        .query = &query, .key = &key, .value = &value, .score_w = w ? &score_w : NULL
    };
    att_attention_outputs outputs = { .output = &out,
                                      .scores = &score_map,
                                      .weights = &weight_map };
    ASSERT_OK(att_attention_forward_reference(&options, &in, &outputs, err));
}

static const double h000[] = { 0.1, 0.2, 0.3, 0.4, 0.2, 0.3, 0.4, 0.5, 0.3, 0.4, 0.5, 0.6 };
static const double s000[] = { 0.4, 0.5, 0.6, 0.7 };

static void handout_000_dot_product(void **state)
{
    (void)state;
    double scores[3], weights[3], output[4];
    attend(ATT_SCORE_DOT, s000, h000, h000, 1, 3, 4, 4, NULL, scores, weights, output);
    assert_near(scores, (double[]){ 0.6, 0.82, 1.04 }, 3, 4e-16);
    assert_near(weights, (double[]){ 0.263242, 0.328020, 0.408738 }, 3, 5e-7);
    assert_near(output, (double[]){ 0.214550, 0.314550, 0.414550, 0.514550 }, 4, 5e-7);
}

static void handout_000_multiplicative(void **state)
{
    (void)state;
    const double w[] = { 0.1, 0.2, 0.3, 0.4, 0.2, 0.3, 0.4, 0.5,
                         0.3, 0.4, 0.5, 0.6, 0.4, 0.5, 0.6, 0.7 };
    double scores[3], weights[3], output[4];
    attend(ATT_SCORE_GENERAL, s000, h000, h000, 1, 3, 4, 4, w, scores, weights, output);
    assert_near(scores, (double[]){ 1.04, 1.412, 1.784 }, 3, 1e-15);
    assert_near(weights, (double[]){ 0.219540, 0.318473, 0.461987 }, 3, 5e-7);
    assert_near(output, (double[]){ 0.224245, 0.324245, 0.424245, 0.524245 }, 4, 5e-7);
}

static void handout_000_self_attention(void **state)
{
    (void)state;
    const double x[] = { 1, 0.3, 0.4, 1.5, 0.5, 1, 0.3, 1, 0.8 };
    const double wq[] = { 0, 0.7, 1, 1, 2, 0.3, 0.5, 1, 1 };
    const double wk[] = { 1.8, 1, 1, 1, 0.5, 0.7, 0.2, 1.5, 0.9 };
    const double wv[] = { 1, 1.3, 0.4, 2, 1, 2, 1, 1.5, 0.2 };
    double q[9], k[9], v[9], scores[9], weights[9], z[9];
    multiply(q, x, wq, 3, 3, 3);
    multiply(k, x, wk, 3, 3, 3);
    multiply(v, x, wv, 3, 3, 3);
    attend(ATT_SCORE_SCALED, q, k, v, 3, 3, 3, 3, NULL, scores, weights, z);
    assert_near(z,
                (double[]){ 3.396437, 3.770801, 1.794202, 3.488051, 3.928505, 1.799947, 3.479553,
                            3.915197, 1.798421 },
                9, 5e-7);
}

/* Self- or cross-attention of handout 002: queries from x [t,2], keys and values from y [s,2], the
 * unscaled dot product, and x added to what comes out. */
static void block_002(double *out, const double *x, int t, const double *y, int s, const double *wq,
                      const double *wk, const double *wv)
{
    double q[4], k[4], v[4], scores[4], weights[4];
    multiply(q, x, wq, t, 2, 2);
    multiply(k, y, wk, s, 2, 2);
    multiply(v, y, wv, s, 2, 2);
    attend(ATT_SCORE_DOT, q, k, v, t, s, 2, 2, NULL, scores, weights, out);
    for (int n = 0; n < 2 * t; n++)
        out[n] += x[n];
}

static void handout_002_encoder_decoder(void **state)
{
    (void)state;
    const double words[] = { 1.87, 1.09, -1.68, 0.67 }; /* Let's, go; positions added */
    const double eos[] = { 2.70, -0.34 };
    const double vamos_and_eos[] = { -0.86, 2.37, 2.70, -0.34 };
    const double encoder[3][4] = { { 1.1, 0.6, -2.8, 2.4 },
                                   { -1.7, 0.5, -1.5, 0.9 },
                                   { 1.5, -1.0, -0.3, -0.2 } };
    const double decoder[3][4] = { { 0.4, 0.4, -0.3, 0.1 },
                                   { 0.4, -0.7, -0.4, 0.3 },
                                   { -1.1, -0.7, -0.4, 1.3 } };
    const double cross[3][4] = { { 1.5, -0.3, 0.3, -1.0 },
                                 { -1.1, 0.3, -0.3, -0.8 },
                                 { 1.1, 0.6, -1.2, -0.5 } };
    double encoded[4], own[2], both[2];
    block_002(encoded, words, 2, words, 2, encoder[0], encoder[1], encoder[2]);
    assert_near(encoded, (double[]){ 4.347998, -0.997998, 0.798000, -1.418000 }, 4, 5e-7);
    block_002(own, eos, 1, eos, 1, decoder[0], decoder[1], decoder[2]);
    assert_near(own, (double[]){ -0.134, -2.672 }, 2, 5e-7);
    block_002(both, own, 1, encoded, 2, cross[0], cross[1], cross[2]);
    assert_near(both, (double[]){ 5.838142, 0.431138 }, 2, 5e-7);
    block_002(own, vamos_and_eos, 1, vamos_and_eos, 2, decoder[0], decoder[1], decoder[2]);
    assert_near(own, (double[]){ -1.121871, 5.501050 }, 2, 5e-7);
    block_002(both, own, 1, encoded, 2, cross[0], cross[1], cross[2]);
    assert_near(both, (double[]){ 1.545045, 6.738256 }, 2, 5e-7);
}

static const double x003[] = { -2.0, 1.0, 0.5, 1.0, 1.5, -0.5, -1.5, 1.0, -0.5, -2.0, -2.5, 1.5 };
static const double wq003[] = { 1, -1.5, 0, 2, -0.5, -1 };
static const double wk003[] = { -1.5, -1, 2.5, 0, 0.5, -1 };
static const double wv003[] = { 1, 2.5, -0.5, -2, 0, -1 };

static void handout_003_one_query(void **state)
{
    (void)state;
    const double q[] = { -2.0, 1.0, -1.0 };
    double scores[4], weights[4], output[3];
    attend(ATT_SCORE_SCALED, q, x003, x003, 1, 4, 3, 3, NULL, scores, weights, output);
    assert_near(scores, (double[]){ 2.59807621, 0, 2.59807621, 0 }, 4, 5e-9);
    assert_near(weights, (double[]){ 0.46536883, 0.03463117, 0.46536883, 0.03463117 }, 4, 5e-9);
    assert_near(output, (double[]){ -1.66342208, 0.8961065, 0.03463117 }, 3, 5e-9);
}

/* Each weight is printed to nine digits, so it is held to half a unit of its own ninth. */
static void assert_nine_digits(const double *found, const double *printed, int count)
{
    for (int n = 0; n < count; n++)
        assert_near(found + n, printed + n, 1, 0.5 * pow(10, floor(log10(printed[n])) - 8));
}

static void handout_003_two_heads(void **state)
{
    (void)state;
    const double ones[] = { 1, 1, 1, 1, 1, 1 };
    const double wo[] = { -1, 1.5, 2, 0, -1, -2, 1, -1.5, 0, 2, 0, 1 };
    const double printed[2][16] = {
        { 4.79433566e-5, 3.22098620e-5, 1.71943035e-3, 9.98200416e-1, 5.97319598e-1, 1.28333499e-3,
          4.01298182e-1, 9.88847812e-5, 1.46423661e-2, 4.87223528e-4, 2.37021787e-1, 7.47848624e-1,
          9.06143069e-9, 1.87817885e-3, 2.98824011e-8, 9.98121782e-1 },
        { 1.18306921e-1, 2.01966211e-2, 1.68483136e-1, 6.93013322e-1, 8.48429312e-4, 9.98944583e-1,
          2.06267364e-4, 7.20592823e-7, 2.67590116e-2, 7.79843042e-4, 5.42703523e-2, 9.18190793e-1,
          2.47463407e-5, 6.12522986e-10, 2.06437556e-4, 9.99768815e-1 },
    };
    double one[3][8], two[8], q[16], k[16], v[16], weights[32], z[16], total[12];
    multiply(one[0], x003, wq003, 4, 3, 2);
    multiply(one[1], x003, wk003, 4, 3, 2);
    multiply(one[2], x003, wv003, 4, 3, 2);
    multiply(two, x003, ones, 4, 3, 2);
    for (int i = 0; i < 4; i++) /* heads side by side: [1,4,2,2] */
        for (int c = 0; c < 2; c++) {
            q[4 * i + c] = one[0][2 * i + c];
            k[4 * i + c] = one[1][2 * i + c];
            v[4 * i + c] = one[2][2 * i + c];
            q[4 * i + 2 + c] = k[4 * i + 2 + c] = v[4 * i + 2 + c] = two[2 * i + c];
        }
    att_attention_options options = { .size = sizeof(att_attention_options),
                                      .score = ATT_SCORE_SCALED };
    att_tensor query = view4(q, 1, 4, 2, 2), key = view4(k, 1, 4, 2, 2);
    att_tensor value = view4(v, 1, 4, 2, 2), output = view4(z, 1, 4, 2, 2);
    att_tensor map = view4(weights, 1, 2, 4, 4);
    att_attention_inputs in = { .query = &query, .key = &key, .value = &value };
    att_attention_outputs out = { .output = &output, .weights = &map };
    ASSERT_OK(att_attention_forward_reference(&options, &in, &out, err));
    assert_nine_digits(weights, printed[0], 16);
    assert_nine_digits(weights + 16, printed[1], 16);
    assert_near(z,
                (double[]){ -0.75220098, -1.50668721, -2.26628332, -2.26628332, -2.29564869,
                            -6.58686077, 1.99725652, 1.99725652, -1.07141415, -2.47595506,
                            -2.82066255, -2.82066255, -0.74812187, -1.4971829, -2.99952526,
                            -2.99952526 },
                16, 5.0001e-9);
    multiply(total, z, wo, 4, 4, 3);
    assert_near(total,
                (double[]){ -6.04664898, 3.77781072, -0.75731086, 8.28741825, 0.14750295,
                            10.57968068, -7.3905735, 5.09982766, -0.01158073, -8.25045389,
                            4.87428797, -1.50140321 },
                12, 5.0001e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handout_000_dot_product),    cmocka_unit_test(handout_000_multiplicative),
        cmocka_unit_test(handout_000_self_attention), cmocka_unit_test(handout_002_encoder_decoder),
        cmocka_unit_test(handout_003_one_query),      cmocka_unit_test(handout_003_two_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
