/* A program outside the tree that uses the installed library; README.md shows it. */
#include <attend.h>
#include <stdio.h>

int main(void)
{
    const double s[] = { 0.4, 0.5, 0.6, 0.7 };
    const double h[] = { 0.1, 0.2, 0.3, 0.4, 0.2, 0.3, 0.4, 0.5, 0.3, 0.4, 0.5, 0.6 };
    double y[4];
    att_tensor query = att_tensor_view(s, ATT_F64, 4, (int64_t[]){ 1, 1, 1, 4 });
    att_tensor keys = att_tensor_view(h, ATT_F64, 4, (int64_t[]){ 1, 3, 1, 4 });
    att_tensor output = att_tensor_view(y, ATT_F64, 4, (int64_t[]){ 1, 1, 1, 4 });
    att_attention_options options = ATT_INIT(att_attention_options); /* dot score, softmax */
    att_attention_inputs in = { .query = &query, .key = &keys, .value = &keys };
    att_attention_outputs out = { .output = &output };
    att_error err;
    if (att_attention_forward_reference(&options, &in, &out, &err) != ATT_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("%f %f %f %f\n", y[0], y[1], y[2], y[3]);
    return 0;
}
