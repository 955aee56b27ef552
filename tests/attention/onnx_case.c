/* Runs one case of tests/attention/onnx_cases: reads an attention problem as words from standard
 * input and writes the results to standard output, one number per line, as hexadecimal floats.
 *
 *     sizes B T S H G K M   scale X   soft_cap X   causal 0|1   window LEFT RIGHT
 *     layout bhsd|bshd      order of batch, head, sequence, width in memory
 *     NAME COUNT NUMBERS…   NAME: offsets, key_lengths, mask, bias
 *     NAME DTYPE COUNT …    NAME: query, key, value; DTYPE: f32 (values), f16, bf16 (bits)
 *     run output|scores|weights */
#include "attend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct onnx_case {
    int64_t B, T, S, H, G, K, M;
    att_attention_options options;
    att_tensor query, key, value, bias;
    bool heads_first;
} onnx_case;

static void fail(const char *what)
{
    fprintf(stderr, "onnx_case: %s\n", what);
    exit(2);
}

static int64_t read_integer(void)
{
    long long value;
    if (scanf("%lld", &value) != 1)
        fail("expected an integer");
    return value;
}

static double read_number(void)
{
    double value;
    if (scanf("%la", &value) != 1)
        fail("expected a number");
    return value;
}

static void *checked(void *block)
{
    if (!block)
        fail("out of memory");
    return block;
}

static int64_t *read_integers(void)
{
    int64_t count = read_integer(), *to = checked(calloc((size_t)count + 1, sizeof *to));
    for (int64_t n = 0; n < count; n++)
        to[n] = read_integer();
    return to;
}

/* [B,N,heads,width], from memory in the layout of the case. */
static att_tensor read_tensor(const onnx_case *c, int64_t N, int64_t heads, int64_t width)
{
    char dtype[8];
    if (scanf("%7s", dtype) != 1)
        fail("expected a dtype");
    bool wide = strcmp(dtype, "f32") == 0;
    int64_t count = read_integer();
    if (count != c->B * N * heads * width)
        fail("wrong number of elements");
    void *data = checked(calloc((size_t)count + 1, sizeof(float)));
    for (int64_t n = 0; n < count; n++)
        if (wide)
            ((float *)data)[n] = (float)read_number();
        else
            ((uint16_t *)data)[n] = (uint16_t)read_integer();
    att_tensor t = att_tensor_view(data,
                                   wide              ? ATT_F32
                                   : dtype[0] == 'f' ? ATT_F16
                                                     : ATT_BF16,
                                   4, (int64_t[]){ c->B, N, heads, width });
    if (c->heads_first) {
        t.stride[1] = width;
        t.stride[2] = N * width;
    }
    return t;
}

static void read_mask(onnx_case *c)
{
    int64_t count = read_integer();
    uint8_t *mask = checked(calloc((size_t)count + 1, 1));
    for (int64_t n = 0; n < count; n++)
        mask[n] = (uint8_t)read_integer();
    const int64_t stride[] = { c->H * c->T * c->S, c->T * c->S, c->S, 1 };
    c->options.mask = mask;
    memcpy(c->options.mask_stride, stride, sizeof stride);
}

static void read_bias(onnx_case *c)
{
    int64_t count = read_integer();
    float *bias = checked(calloc((size_t)count + 1, sizeof *bias));
    for (int64_t n = 0; n < count; n++)
        bias[n] = (float)read_number();
    c->bias = att_tensor_view(bias, ATT_F32, 4, (int64_t[]){ c->B, c->H, c->T, c->S });
}

static void run(const onnx_case *c)
{
    char what[16];
    att_tensor output, scores, weights;
    att_error err = { 0 };
    const int64_t of_output[] = { c->B, c->T, c->H, c->M }, of_map[] = { c->B, c->H, c->T, c->S };
    if (att_tensor_new(&output, ATT_F32, 4, of_output, &err) != ATT_OK ||
        att_tensor_new(&scores, ATT_F32, 4, of_map, &err) != ATT_OK ||
        att_tensor_new(&weights, ATT_F32, 4, of_map, &err) != ATT_OK)
        fail(err.message);
    att_attention_inputs in = { .query = &c->query, .key = &c->key, .value = &c->value };
    in.bias = c->bias.data ? &c->bias : NULL;
    att_attention_outputs out = { .output = &output, .scores = &scores, .weights = &weights };
    if (att_attention_forward(&c->options, &in, &out, NULL, &err) != ATT_OK)
        fail(err.message);
    if (scanf("%15s", what) != 1)
        fail("expected what to write");
    const att_tensor *wanted = what[0] == 'o' ? &output : what[0] == 's' ? &scores : &weights;
    for (int64_t n = 0; n < att_tensor_count(wanted); n++)
        printf("%a\n", (double)((const float *)wanted->data)[n]);
    att_tensor_free(&output);
    att_tensor_free(&scores);
    att_tensor_free(&weights);
}

static void read_sizes(onnx_case *c)
{
    int64_t *const sizes[] = { &c->B, &c->T, &c->S, &c->H, &c->G, &c->K, &c->M };
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
        *sizes[n] = read_integer();
}

/* Acts on one word; false where it is not known. */
static bool obey(onnx_case *c, const char *word)
{
    att_attention_options *options = &c->options;
    options->size = sizeof *options;
    char layout[8];
    if (strcmp(word, "sizes") == 0)
        read_sizes(c);
    else if (strcmp(word, "scale") == 0)
        options->scale = read_number();
    else if (strcmp(word, "soft_cap") == 0)
        options->soft_cap = read_number();
    else if (strcmp(word, "causal") == 0)
        options->causal = read_integer() != 0;
    else if (strcmp(word, "window") == 0) {
        options->window = true;
        options->window_left = read_integer();
        options->window_right = read_integer();
    } else if (strcmp(word, "layout") == 0 && scanf("%7s", layout) == 1)
        c->heads_first = strcmp(layout, "bhsd") == 0;
    else if (strcmp(word, "offsets") == 0)
        options->offsets = read_integers();
    else if (strcmp(word, "key_lengths") == 0)
        options->key_lengths = read_integers();
    else if (strcmp(word, "mask") == 0)
        read_mask(c);
    else if (strcmp(word, "bias") == 0)
        read_bias(c);
    else if (strcmp(word, "query") == 0)
        c->query = read_tensor(c, c->T, c->H, c->K);
    else if (strcmp(word, "key") == 0)
        c->key = read_tensor(c, c->S, c->G, c->K);
    else if (strcmp(word, "value") == 0)
        c->value = read_tensor(c, c->S, c->G, c->M);
    else if (strcmp(word, "run") == 0)
        run(c);
    else
        return false;
    return true;
}

int main(void)
{
    onnx_case c = { .options = { .score = ATT_SCORE_SCALED } };
    char word[16];
    while (scanf("%15s", word) == 1)
        if (!obey(&c, word))
            fail(word);
    free(c.query.data);
    free(c.key.data);
    free(c.value.data);
    free(c.bias.data);
    free((void *)(uintptr_t)c.options.offsets);
    free((void *)(uintptr_t)c.options.key_lengths);
    free((void *)(uintptr_t)c.options.mask);
    return 0;
}
