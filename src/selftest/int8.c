/* Int8 products: quantization, packing and the product of every version for an instruction set. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "kern/int8/kernels.h"
#include "selftest/selftest.h"

static const struct {
    const char *name;
    int64_t rows, columns, depth;
    bool transposed;
    att_activation activation;
} products[] = {
    { "1 x 64 x 256", 1, 64, 256, false, ATT_ACTIVATION_NONE },
    { "3 x 37 x 83, transposed", 3, 37, 83, true, ATT_ACTIVATION_NONE },
    { "70 x 256 x 64, relu", 70, 256, 64, false, ATT_ACTIVATION_RELU },
    { "33 x 100 x 1030, gelu", 33, 100, 1030, true, ATT_ACTIVATION_GELU },
};

static const char *name_case(size_t index)
{
    return index < ATT_COUNT(products) ? products[index].name : NULL;
}

typedef struct int8_tensors {
    att_tensor a, b, bias, c;
    void *block, *scratch;
} int8_tensors;

static att_status compute(int8_tensors *t, size_t index, att_error *err)
{
    int64_t rows = products[index].rows, columns = products[index].columns,
            depth = products[index].depth;
    bool transposed = products[index].transposed;
    const int64_t b_shape[] = { transposed ? columns : depth, transposed ? depth : columns };
    ATT_TRY(att_selftest_random(&t->a, 2, (int64_t[]){ rows, depth }, 1, err));
    ATT_TRY(att_selftest_random(&t->b, 2, b_shape, 2, err));
    ATT_TRY(att_selftest_random(&t->bias, 1, &columns, 3, err));
    ATT_TRY(att_tensor_new(&t->c, ATT_F32, 2, (int64_t[]){ rows, columns }, err));
    size_t scratch = att_max_size(att_int8_rows_size((size_t)rows, (size_t)depth),
                                  2 * (size_t)depth * sizeof(float));
    t->block = att_alloc(att_int8_matrix_size((size_t)depth, (size_t)columns), 1);
    t->scratch = att_alloc(scratch, 1);
    if (!t->block || !t->scratch)
        return att_fail_memory(err);
    att_int8_matrix b = att_int8_matrix_place(t->block, (size_t)depth, (size_t)columns);
    att_int8_matrix_quantize(&b, t->b.data, (size_t)b_shape[1], transposed, t->scratch);
    att_int8_matmul(&(att_int8_product){ .b = &b,
                                         .rows = (size_t)rows,
                                         .a = t->a.data,
                                         .a_row_stride = (size_t)depth,
                                         .scratch = t->scratch,
                                         .c = t->c.data,
                                         .c_row_stride = (size_t)columns,
                                         .bias = t->bias.data,
                                         .activation = products[index].activation });
    return ATT_OK;
}

static att_status run_case(att_sha256 *hash, size_t index, att_error *err)
{
    int8_tensors t = { 0 };
    att_status status = compute(&t, index, err);
    if (status == ATT_OK)
        att_selftest_add_tensor(hash, &t.c);
    att_tensor_free(&t.a);
    att_tensor_free(&t.b);
    att_tensor_free(&t.bias);
    att_tensor_free(&t.c);
    att_free(t.block);
    att_free(t.scratch);
    return status;
}

static const char *use_version(size_t index)
{
    for (int i = 0; i < att_int8_version_count; i++)
        if (att_int8_version_runs(att_int8_versions[i], att_cpu_get()) && index-- == 0) {
            att_int8_kernels_use(att_int8_versions[i]);
            return att_int8_versions[i]->name;
        }
    att_int8_kernels_use(NULL);
    return NULL;
}

const att_selftest_item att_selftest_int8 = {
    .name = "int8 products",
    .help = "products of quantized weights and rows",
    .every_cpu = true,
    .name_case = name_case,
    .run_case = run_case,
    .use_version = use_version,
};
