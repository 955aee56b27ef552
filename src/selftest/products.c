/* Matrix products: few rows and many, depths beyond a block, transposed and packed, activations. */
#include "selftest/selftest.h"

#include "base/error.h"
#include "base/minmax.h"

static const struct product {
    const char *name;
    int64_t rows, depth, columns;
    bool transposed, packed;
    att_activation activation;
} products[] = {
    { .name = "1 x 300 x 77", 1, 300, 77 },
    { .name = "3 x 64 x 40, b transposed", 3, 64, 40, .transposed = true },
    { .name = "33 x 517 x 129, relu", 33, 517, 129, .activation = ATT_ACTIVATION_RELU },
    { .name = "70 x 256 x 64, packed, gelu",
      70,
      256,
      64,
      .packed = true,
      .activation = ATT_ACTIVATION_GELU },
    { .name = "130 x 200 x 96, b transposed, tanh",
      130,
      200,
      96,
      .transposed = true,
      .activation = ATT_ACTIVATION_TANH },
};

static const char *name_case(size_t index)
{
    return index < ATT_COUNT(products) ? products[index].name : NULL;
}

typedef struct product_tensors {
    att_tensor a, b, bias, c;
} product_tensors;

static att_status compute(product_tensors *t, const struct product *p, att_error *err)
{
    int64_t stored[] = { p->depth, p->columns };
    if (p->transposed) {
        stored[0] = p->columns;
        stored[1] = p->depth;
    }
    ATT_TRY(att_selftest_random(&t->a, 2, (int64_t[]){ p->rows, p->depth }, 1, err));
    ATT_TRY(att_selftest_random(&t->b, 2, stored, 2, err));
    ATT_TRY(att_selftest_random(&t->bias, 1, &p->columns, 3, err));
    ATT_TRY(att_tensor_new(&t->c, ATT_F32, 2, (int64_t[]){ p->rows, p->columns }, err));
    att_tensor b = t->b;
    if (p->transposed)
        ATT_TRY(att_tensor_transpose(&b, &t->b, 0, 1, err));
    att_matmul_options options = ATT_INIT(att_matmul_options);
    options.bias = &t->bias;
    options.activation = p->activation;
    if (!p->packed)
        return att_matmul(&t->c, &t->a, &b, &options, err);
    att_packed_matrix *packed = NULL;
    ATT_TRY(att_packed_matrix_new(&packed, &b, err));
    att_status status = att_matmul_packed(&t->c, &t->a, packed, &options, err);
    att_packed_matrix_free(packed);
    return status;
}

static att_status run_case(att_sha256 *hash, size_t index, att_error *err)
{
    product_tensors t = { 0 };
    att_status status = compute(&t, &products[index], err);
    if (status == ATT_OK)
        att_selftest_add_tensor(hash, &t.c);
    att_tensor_free(&t.a);
    att_tensor_free(&t.b);
    att_tensor_free(&t.bias);
    att_tensor_free(&t.c);
    return status;
}

const att_selftest_item att_selftest_products = {
    .name = "matrix products",
    .help = "float products, plain, transposed and packed",
    .every_cpu = true,
    .name_case = name_case,
    .run_case = run_case,
};
