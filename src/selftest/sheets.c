/* Worksheets: what they compute in double precision, gradients included. */
#include "selftest/selftest.h"

#include "base/error.h"
#include "base/minmax.h"
#include "sheet/trace.h"

#include <string.h>

static const struct sheet_case {
    const char *name;
    const char *text;
} sheets[] = {
    { "attention",
      "X = random(5, 6, seed = 1)\n"
      "W_q = random(6, 6, seed = 2)\n"
      "W_k = random(6, 6, seed = 3)\n"
      "W_v = random(6, 6, seed = 4)\n"
      "a = self_attention(X, W_q, W_k, W_v, causal)\n"
      "b = multihead(X, W_q, W_k, W_v, heads = 3, alibi = 0.5)\n"
      "c = attention(X, X, X, score = additive, W = W_q, U = W_k, v = W_v[1])\n"
      "d = attention(X, X, X, score = cosine, normalizer = entmax)\n"
      "e = attention(X, X, X, score = gaussian, normalizer = sum)\n"
      "f = attention(X, X, X, normalizer = sparsemax, softcap = 3)\n"
      "w = a.weights + b.head[2].weights + c.weights + d.weights + e.weights + f.weights\n"
      "L = cross_entropy(a + b, [1 2 3 4 5])\n"
      "gradient L\n" },
    { "recurrent cells", "X = random(4, 3, seed = 1, normal)\n"
                         "h = zeros(1, 5)\n"
                         "r = rnn(X, h, random(3, 5, seed = 2), random(5, 5, seed = 3))\n"
                         "l = lstm(X, h, h, random(3, 20, seed = 4), random(5, 20, seed = 5))\n"
                         "g = gru(X, h, random(3, 15, seed = 6), random(5, 15, seed = 7))\n"
                         "c = l.c + g.z\n"
                         "L = sum(r .* l + g)\n"
                         "gradient L\n" },
    { "functions",
      "X = random(4, 8, seed = 1, normal)\n"
      "n = layernorm(X)\n"
      "m = rmsnorm(X)\n"
      "p = positional(40, 8)\n"
      "s = softmax(X) + sigmoid(X) + tanh(X) + gelu(X) + relu(X)\n"
      "t = exp(X) + log(abs(X)) + sqrt(abs(X)) + sin(X) + cos(X)\n"
      "c = conv1d(X, {random(8, 3, seed = 2), random(8, 3, seed = 3), random(8, 3, seed = 4)})\n"
      "k = topk(X, 3) + sort(X)[1:4, 1:3]\n"
      "w = where(X > 0, X, dropout(X, 0.5, seed = 9))\n"
      "L = sum(n .* m + s) + sum(c) + sum(w)\n"
      "gradient L\n" },
};

static const char *name_case(size_t index)
{
    return index < ATT_COUNT(sheets) ? sheets[index].name : NULL;
}

static void add_matrix(att_sha256 *hash, const att_matrix *matrix)
{
    if (matrix)
        att_selftest_add_doubles(hash, matrix->data, (size_t)(matrix->rows * matrix->cols));
}

static bool is_gradient_of_value(const char *path)
{
    size_t length = path ? strlen(path) : 0, end = strlen(".grad");
    return length > end && strcmp(path + length - end, ".grad") == 0;
}

/* Values that the sheet names, and their gradients: how much a step shows does not matter. */
static void add_step(att_sha256 *hash, const att_trace_step *step)
{
    if (step->kind == ATT_STEP_VALUE)
        add_matrix(hash, step->value);
    for (size_t i = 0; step->kind == ATT_STEP_GRADIENT && i < step->part_count; i++)
        if (is_gradient_of_value(step->parts[i].path))
            add_matrix(hash, step->parts[i].value);
}

static att_status run_case(att_sha256 *hash, size_t index, att_error *err)
{
    const struct sheet_case *c = &sheets[index];
    att_sheet *sheet = NULL;
    ATT_TRY(att_sheet_read(&sheet, c->text, strlen(c->text), c->name, NULL, err));
    for (size_t i = 0; i < sheet->step_count; i++)
        add_step(hash, &sheet->steps[i]);
    att_sheet_free(sheet);
    return ATT_OK;
}

const att_selftest_item att_selftest_sheets = {
    .name = "worksheets",
    .help = "double precision: attention, recurrent cells, functions, gradients",
    .name_case = name_case,
    .run_case = run_case,
};
