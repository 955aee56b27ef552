/* The matrix product of tensors: checks the arguments, broadcasts the leading dimensions, and calls
 * the product on arrays (kern/matmul.h) for each of their indices, the last dimension as a batch.
 */
#include "kern/matmul.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "base/progress.h"
#include "tensor/tensor.h"

struct att_packed_matrix {
    size_t depth, columns;
    _Alignas(64) float panels[];
};

/* A matrix with its leading dimensions broadcast to those of c. */
typedef struct operand {
    const char *name;
    int64_t rows, columns, row_stride, column_stride;
    int64_t lead_stride[ATT_MAX_RANK];
} operand;

static att_status check_matrix(const char *name, const att_tensor *t, att_error *err)
{
    char shape[ATT_SHAPE_STRING_SIZE];
    if (t->dtype != ATT_F32)
        return att_fail(err, ATT_BAD_INPUT, "matmul", "%s: expected float32, found %s", name,
                        att_dtype_name(t->dtype));
    if (t->rank < 2)
        return att_fail(err, ATT_BAD_INPUT, "matmul",
                        "%s has shape %s, expected two dimensions or more", name,
                        att_shape_to_string(shape, t->rank, t->shape));
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] < 0)
            return att_fail(err, ATT_BAD_INPUT, "matmul", "%s %s has a negative size", name,
                            att_shape_to_string(shape, t->rank, t->shape));
    for (int i = 0; i < t->rank; i++)
        if (t->stride[i] < 0)
            return att_fail(err, ATT_BAD_INPUT, "matmul",
                            "%s has a negative stride in dimension %d, copy it first", name, i + 1);
    if (!t->data && !att_tensor_is_empty(t))
        return att_fail(err, ATT_BAD_INPUT, "matmul", "%s %s has no data", name,
                        att_shape_to_string(shape, t->rank, t->shape));
    return ATT_OK;
}

/* Each element of c must have its own address. */
static att_status check_writable(const att_tensor *c, att_error *err)
{
    for (int i = 0; i < c->rank && !att_tensor_is_empty(c); i++)
        if (c->stride[i] == 0 && c->shape[i] > 1)
            return att_fail(err, ATT_BAD_INPUT, "matmul",
                            "c is broadcast in dimension %d (stride 0), expected separate "
                            "elements",
                            i + 1);
    return ATT_OK;
}

/* Broadcasts t's leading dimensions to those of c, aligned at the last. */
static att_status broadcast_operand(operand *out, const char *name, const att_tensor *t,
                                    const att_tensor *c, att_error *err)
{
    char shape[ATT_SHAPE_STRING_SIZE], other[ATT_SHAPE_STRING_SIZE];
    int last = t->rank - 1;
    *out = (operand){ .name = name,
                      .rows = t->shape[last - 1],
                      .columns = t->shape[last],
                      .row_stride = t->stride[last - 1],
                      .column_stride = t->stride[last] };
    bool fits = t->rank <= c->rank;
    for (int i = 0; i < t->rank - 2 && fits; i++) {
        int at = c->rank - t->rank + i;
        fits = t->shape[i] == c->shape[at] || t->shape[i] == 1;
        out->lead_stride[at] = t->shape[i] == 1 ? 0 : t->stride[i];
    }
    if (fits)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, "matmul",
                    "the leading dimensions of %s %s cannot be broadcast to those of c %s", name,
                    att_shape_to_string(shape, t->rank, t->shape),
                    att_shape_to_string(other, c->rank, c->shape));
}

static att_status check_sizes(const operand *a, int64_t depth, int64_t columns, const att_tensor *c,
                              att_error *err)
{
    int64_t c_rows = c->shape[c->rank - 2], c_columns = c->shape[c->rank - 1];
    if (a->columns != depth)
        return att_fail(err, ATT_BAD_INPUT, "matmul",
                        "a has %lld columns and b has %lld rows, expected the same number",
                        (long long)a->columns, (long long)depth);
    if (c_rows != a->rows || c_columns != columns)
        return att_fail(err, ATT_BAD_INPUT, "matmul",
                        "c is [%lld, %lld], expected [%lld, %lld], the rows of a by the columns "
                        "of b",
                        (long long)c_rows, (long long)c_columns, (long long)a->rows,
                        (long long)columns);
    if (c->stride[c->rank - 1] != 1 && c_columns > 1)
        return att_fail(err, ATT_BAD_INPUT, "matmul",
                        "the last dimension of c has stride %lld, expected 1",
                        (long long)c->stride[c->rank - 1]);
    return ATT_OK;
}

/* Sets the layout of b in the call: which of its two strides is 1. The stride of a dimension with
 * one element does not matter. */
static att_status set_layout(att_matmul_call *call, const operand *b, att_error *err)
{
    bool by_rows = b->column_stride == 1 || b->columns <= 1;
    bool by_columns = b->row_stride == 1 || b->rows <= 1;
    if (!by_rows && !by_columns)
        return att_fail(err, ATT_BAD_INPUT, "matmul",
                        "neither of the last two dimensions of %s has stride 1, copy it first",
                        b->name);
    call->b_transposed = !by_rows;
    call->b_stride = (size_t)(by_rows ? b->row_stride : b->column_stride);
    return ATT_OK;
}

static att_status set_options(att_matmul_call *call, const att_matmul_options *options,
                              att_error *err)
{
    att_matmul_options resolved;
    ATT_TRY(ATT_OPTIONS_COPY(att_matmul_options, &resolved, options, err));
    const att_tensor *bias = resolved.bias;
    char shape[ATT_SHAPE_STRING_SIZE];
    if (bias &&
        (bias->dtype != ATT_F32 || bias->rank != 1 ||
         (bias->stride[0] != 1 && bias->shape[0] > 1) || bias->shape[0] != (int64_t)call->columns))
        return att_fail(err, ATT_BAD_INPUT, "matmul",
                        "the bias is %s of type %s, expected [%zu] of float32 with stride 1",
                        att_shape_to_string(shape, bias->rank, bias->shape),
                        att_dtype_name(bias->dtype), call->columns);
    if (bias && !bias->data && call->columns > 0)
        return att_fail(err, ATT_BAD_INPUT, "matmul", "the bias has no data");
    if ((unsigned)resolved.activation >= ATT_ACTIVATION_COUNT)
        return att_fail(err, ATT_BAD_INPUT, "matmul", "unknown activation %d",
                        (int)resolved.activation);
    call->accumulate = resolved.add;
    call->bias = bias ? bias->data : NULL;
    call->activation = resolved.activation;
    return ATT_OK;
}

/* Runs the call for every index of c's leading dimensions; the last of them is the batch of a call.
 */
static att_status run_calls(att_matmul_call call, const att_tensor *c, const operand *a,
                            const operand *b, att_error *err)
{
    int leading = c->rank - 2, inner = leading - 1;
    int64_t index[ATT_MAX_RANK] = { 0 }, count = 1;
    for (int i = 0; i < inner; i++)
        count *= c->shape[i];
    call.batch = inner >= 0 ? (size_t)c->shape[inner] : 1;
    call.a_batch_stride = inner >= 0 ? (size_t)a->lead_stride[inner] : 0;
    call.b_batch_stride = inner >= 0 && b ? (size_t)b->lead_stride[inner] : 0;
    call.c_batch_stride = inner >= 0 ? (size_t)c->stride[inner] : 0;
    const att_matmul_call first = call;
    for (int64_t n = 0; n < count; n++) {
        call = first;
        for (int i = 0; i < inner; i++) {
            call.a += index[i] * a->lead_stride[i];
            call.c += index[i] * c->stride[i];
            if (b)
                call.b += index[i] * b->lead_stride[i];
        }
        ATT_TRY(att_matmul_run(&call, err));
        for (int i = inner - 1; i >= 0 && ++index[i] == c->shape[i]; i--)
            index[i] = 0;
    }
    return ATT_OK;
}

static att_status run_leading(att_matmul_call call, const att_tensor *c, const operand *a,
                              const operand *b, att_error *err)
{
    att_progress_scope scope;
    att_progress_begin_operation(&scope, "multiplying matrices");
    att_status status = run_calls(call, c, a, b, err);
    return att_progress_end(&scope, status, err);
}

/* The checks and settings that packed and unpacked products share; `depth` and `columns` are those
 * of b. */
static att_status prepare_call(att_matmul_call *call, operand *a_as, const att_tensor *c,
                               const att_tensor *a, int64_t depth, int64_t columns,
                               const att_matmul_options *options, att_error *err)
{
    ATT_TRY(check_matrix("a", a, err));
    ATT_TRY(check_matrix("c", c, err));
    ATT_TRY(check_writable(c, err));
    ATT_TRY(broadcast_operand(a_as, "a", a, c, err));
    ATT_TRY(check_sizes(a_as, depth, columns, c, err));
    *call = (att_matmul_call){ .rows = (size_t)a_as->rows,
                               .columns = (size_t)columns,
                               .depth = (size_t)depth,
                               .a = a->data,
                               .a_row_stride = (size_t)a_as->row_stride,
                               .a_column_stride = (size_t)a_as->column_stride,
                               .c = c->data,
                               .c_row_stride = (size_t)c->stride[c->rank - 2] };
    return set_options(call, options, err);
}

att_status att_matmul(att_tensor *c, const att_tensor *a, const att_tensor *b,
                      const att_matmul_options *options, att_error *err)
{
    att_matmul_call call;
    operand a_as, b_as;
    ATT_TRY(check_matrix("b", b, err));
    ATT_TRY(prepare_call(&call, &a_as, c, a, b->shape[b->rank - 2], b->shape[b->rank - 1], options,
                         err));
    ATT_TRY(broadcast_operand(&b_as, "b", b, c, err));
    ATT_TRY(set_layout(&call, &b_as, err));
    call.b = b->data;
    return run_leading(call, c, &a_as, &b_as, err);
}

att_status att_packed_matrix_new(att_packed_matrix **out, const att_tensor *b, att_error *err)
{
    *out = NULL;
    ATT_TRY(check_matrix("b", b, err));
    char shape[ATT_SHAPE_STRING_SIZE];
    if (b->rank != 2)
        return att_fail(err, ATT_BAD_INPUT, "matmul", "b has shape %s, expected two dimensions",
                        att_shape_to_string(shape, b->rank, b->shape));
    att_matmul_call call = { .b = b->data };
    operand b_as;
    ATT_TRY(broadcast_operand(&b_as, "b", b, b, err));
    ATT_TRY(set_layout(&call, &b_as, err));
    size_t depth = (size_t)b_as.rows, columns = (size_t)b_as.columns;
    if (depth != 0 && columns > SIZE_MAX / 2 / sizeof(float) / depth - ATT_PANEL_COLUMNS)
        return att_fail_memory(err);
    size_t floats = att_matmul_packed_size(depth, columns);
    att_packed_matrix *packed = att_alloc(1, sizeof *packed + floats * sizeof(float));
    if (!packed)
        return att_fail_memory(err);
    *packed = (att_packed_matrix){ .depth = depth, .columns = columns };
    att_matmul_pack(packed->panels, call.b, call.b_stride, call.b_transposed, depth, columns);
    *out = packed;
    return ATT_OK;
}

void att_packed_matrix_free(att_packed_matrix *packed)
{
    att_free(packed);
}

att_status att_matmul_packed(att_tensor *c, const att_tensor *a, const att_packed_matrix *b,
                             const att_matmul_options *options, att_error *err)
{
    att_matmul_call call;
    operand a_as;
    ATT_TRY(prepare_call(&call, &a_as, c, a, (int64_t)b->depth, (int64_t)b->columns, options, err));
    call.panels = b->panels;
    return run_leading(call, c, &a_as, NULL, err);
}
