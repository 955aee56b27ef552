/* Helpers that operations share. */
#include "tape/op_util.h"

#include "base/minmax.h"
#include "base/parallel.h"

#include <string.h>

int64_t att_row_grain(int64_t width)
{
    enum { NUMBERS_IN_RANGE = 1 << 14 }; /* a few microseconds: the cost of waking a thread */
    return att_max_i64(1, NUMBERS_IN_RANGE / att_max_i64(width, 1));
}

/* ---------------------------------------------------------------- sums */

typedef struct addition {
    float *y;
    const float *x;
    bool add;
} addition;

static void add_range(void *context, int64_t begin, int64_t end)
{
    const addition *a = context;
    size_t count = (size_t)(end - begin);
    if (a->add)
        att_kernels_get()->axpy(a->y + begin, 1, a->x + begin, count);
    else
        memcpy(a->y + begin, a->x + begin, count * sizeof(float));
}

void att_add_arrays(float *y, const float *x, int64_t count, bool add)
{
    addition a = { y, x, add };
    att_parallel_for(count, att_row_grain(1), add_range, &a);
}

/* A matrix product with a row of ones; strides of 0 make one number serve for all. The columns that
 * fill whole panels are summed in place: packing them would take longer than the sums. */
bool att_sum_rows(att_tape *tape, float *sums, const float *x, int64_t rows, int64_t width)
{
    static const float one = 1;
    att_matmul_call all = { .batch = 1,
                            .rows = 1,
                            .columns = (size_t)width,
                            .depth = (size_t)rows,
                            .a = &one,
                            .b = x,
                            .b_stride = (size_t)width,
                            .c = sums,
                            .accumulate = true };
    att_matmul_call whole = all, rest = all;
    whole.columns = all.columns / ATT_PANEL_COLUMNS * ATT_PANEL_COLUMNS;
    rest.columns -= whole.columns;
    rest.b += whole.columns;
    rest.c += whole.columns;
    return att_tape_matmul(tape, &whole) && att_tape_matmul(tape, &rest);
}

/* ---------------------------------------------------------------- products */

/* Up to this many rows of A, packing a B whose columns fill whole panels costs more than it saves.
 */
enum { MAX_ROWS_UNPACKED = 256 };

bool att_tape_matmul(att_tape *tape, const att_matmul_call *product)
{
    att_matmul_call call = *product;
    if (att_tape_status(tape, NULL) != ATT_OK) /* an allocation failed before */
        return false;
    if (call.batch == 0 || call.rows == 0 || call.columns == 0)
        return true;
    att_memory_pool_mark mark = att_tape_mark(tape);
    bool in_place = !call.b_transposed && call.columns % ATT_PANEL_COLUMNS == 0 &&
                    call.rows <= MAX_ROWS_UNPACKED;
    if (!call.panels && call.b_batch_stride == 0 && !in_place) {
        size_t size = att_matmul_packed_size(call.depth, call.columns);
        float *panels = att_tape_alloc(tape, (int64_t)size, sizeof(float));
        if (!panels)
            return false;
        att_matmul_pack(panels, call.b, call.b_stride, call.b_transposed, call.depth, call.columns);
        call.panels = panels;
    }
    bool done = att_matmul_run(&call, att_tape_error(tape)) == ATT_OK;
    att_tape_release_to_mark(tape, mark);
    return done;
}

bool att_tape_int8_matmul(att_tape *tape, const att_int8_linear *product)
{
    const att_int8_matrix *b = product->b;
    att_memory_pool_mark mark = att_tape_mark(tape);
    size_t size = att_int8_rows_size((size_t)product->rows, b->depth);
    void *scratch = att_tape_alloc(tape, (int64_t)size, 1);
    if (!scratch)
        return false;
    att_int8_matmul(&(att_int8_product){ .b = b,
                                         .rows = (size_t)product->rows,
                                         .a = product->a,
                                         .a_row_stride = b->depth,
                                         .scratch = scratch,
                                         .c = product->c,
                                         .c_row_stride = b->columns,
                                         .bias = product->bias,
                                         .activation = product->activation });
    att_tape_release_to_mark(tape, mark);
    return true;
}

const float *att_node_packed_weights(att_tape *tape, const att_node *w, bool transposed)
{
    const float *shared = w->param >= 0 ? att_tape_param_packed(tape, w->param, transposed) : NULL;
    if (shared)
        return shared;
    size_t depth = (size_t)w->shape[transposed], columns = (size_t)w->shape[!transposed];
    float *panels =
        att_tape_alloc(tape, (int64_t)att_matmul_packed_size(depth, columns), sizeof(float));
    if (panels)
        att_matmul_pack(panels, w->value, (size_t)w->shape[1], transposed, depth, columns);
    return panels;
}

bool att_node_weights_matmul(att_tape *tape, const att_node *w, int64_t rows, const float *a,
                             float *c, const float *bias)
{
    size_t depth = (size_t)w->shape[0], columns = (size_t)w->shape[1];
    if (w->int8)
        return att_tape_int8_matmul(
            tape, &(att_int8_linear){ .b = w->int8, .rows = rows, .a = a, .c = c, .bias = bias });
    const float *panels = att_node_packed_weights(tape, w, false);
    return panels && att_tape_matmul(tape, &(att_matmul_call){ .batch = 1,
                                                               .rows = (size_t)rows,
                                                               .columns = columns,
                                                               .depth = depth,
                                                               .a = a,
                                                               .a_row_stride = depth,
                                                               .a_column_stride = 1,
                                                               .panels = panels,
                                                               .c = c,
                                                               .c_row_stride = columns,
                                                               .bias = bias });
}

void att_panel_matmul_run(const att_kernels *kernels, const att_panel_matmul *product)
{
    const att_panel_matmul *p = product;
    int64_t k = 0;
    do {
        int64_t depth = att_min_i64(p->depth - k, ATT_DEPTH_BLOCK);
        kernels->matmul(&(att_matmul_block){ .rows = (size_t)p->rows,
                                             .columns = (size_t)p->columns,
                                             .depth = (size_t)depth,
                                             .a = p->a + k,
                                             .a_row_stride = (size_t)p->depth,
                                             .a_column_stride = 1,
                                             .b = p->panels + k * ATT_PANEL_COLUMNS,
                                             .b_panel_stride = (size_t)p->depth * ATT_PANEL_COLUMNS,
                                             .b_row_stride = ATT_PANEL_COLUMNS,
                                             .c = p->c,
                                             .c_row_stride = (size_t)p->columns,
                                             .accumulate = p->accumulate || k > 0,
                                             .is_last = k + depth == p->depth,
                                             .bias = p->bias });
        k += depth;
    } while (k < p->depth);
}

/* ---------------------------------------------------------------- activations */

att_activation_kernels att_activation_kernels_get(att_activation activation)
{
    const att_kernels *k = att_kernels_get();
    const att_activation_kernels kernels[ATT_ACTIVATION_COUNT] = {
        [ATT_ACTIVATION_RELU] = { k->relu, k->relu_backward, false },
        [ATT_ACTIVATION_GELU] = { k->gelu, k->gelu_backward, true },
        [ATT_ACTIVATION_SILU] = { k->silu, k->silu_backward, true },
        [ATT_ACTIVATION_TANH] = { k->tanh, k->tanh_backward, false },
        [ATT_ACTIVATION_SIGMOID] = { k->sigmoid, k->sigmoid_backward, false },
    };
    return kernels[activation];
}

typedef struct activation_grad {
    float *out;
    const float *dy, *saved;
    att_kern_elementwise_backward *kernel;
} activation_grad;

static void activation_grad_range(void *context, int64_t begin, int64_t end)
{
    const activation_grad *b = context;
    memset(b->out + begin, 0, (size_t)(end - begin) * sizeof(float));
    b->kernel(b->out + begin, b->dy + begin, b->saved + begin, (size_t)(end - begin));
}

const float *att_activation_backward(att_tape *tape, const att_node *node,
                                     att_activation activation)
{
    att_activation_kernels kernels = att_activation_kernels_get(activation);
    if (!kernels.backward)
        return node->grad;
    activation_grad b = { .out = att_tape_alloc(tape, node->count, sizeof(float)),
                          .dy = node->grad,
                          .saved = kernels.saves_input ? node->saved : node->value,
                          .kernel = kernels.backward };
    if (b.out)
        att_parallel_for(node->count, att_row_grain(1), activation_grad_range, &b);
    return b.out;
}
