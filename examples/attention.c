/* Attention in float32: two queries over three keys and values, then the gradient of the sum of the
 * outputs with respect to the queries. cc attention.c $(pkg-config --cflags --libs attend) */
#include <attend.h>
#include <stdio.h>

static att_tensor rows(const float *data, int64_t count) /* one batch, one head, rows of 2 */
{
    const int64_t shape[] = { 1, count, 1, 2 };
    return att_tensor_view(data, ATT_F32, 4, shape);
}

int main(void)
{
    const float q[] = { 1, 0, 0.5f, 1 }, k[] = { 1, 0, 0, 1, 1, 1 }, v[] = { 1, 2, 3, 4, 5, 6 };
    const float ones[] = { 1, 1, 1, 1 };
    float y[4], dq[4] = { 0, 0, 0, 0 };
    att_tensor query = rows(q, 2), key = rows(k, 3), value = rows(v, 3);
    att_tensor output = rows(y, 2), output_grad = rows(ones, 2), query_grad = rows(dq, 2);
    att_attention_options options =
        ATT_INIT(att_attention_options); /* dot score, softmax, no mask */
    static att_attention_inputs in;
    static att_attention_outputs out;
    static att_attention_grads grads;
    att_error err;
    options.score = ATT_SCORE_SCALED;
    in.query = &query, in.key = &key, in.value = &value;
    out.output = &output;
    grads.query = &query_grad;
    if (att_attention_forward(&options, &in, &out, NULL, &err) != ATT_OK ||
        att_attention_backward(&options, &in, NULL, &output_grad, &grads, NULL, &err) != ATT_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("output          %.4f %.4f   %.4f %.4f\n", y[0], y[1], y[2], y[3]);
    printf("query gradient  %.4f %.4f   %.4f %.4f\n", dq[0], dq[1], dq[2], dq[3]);
    return 0;
}
