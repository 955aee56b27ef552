/* What operations share; see help.h. */
#include "tape/op_util.h"

#include "base/math.h"
#include "base/parallel.h"

#include <math.h>
#include <string.h>

int64_t att_row_grain(int64_t width)
{
    enum { NUMBERS_IN_RANGE = 1 << 14 }; /* a few microseconds: what waking a thread costs */
    return width >= NUMBERS_IN_RANGE ? 1 : NUMBERS_IN_RANGE / (width > 0 ? width : 1);
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

/* A product with a row of ones, all of them the same number. */
bool att_sum_rows(att_tape *tape, float *sums, const float *x, int64_t rows, int64_t width)
{
    static const float one = 1;
    return att_tape_matmul(tape, &(att_matmul_call){ .batch = 1,
                                                     .rows = 1,
                                                     .columns = (size_t)width,
                                                     .depth = (size_t)rows,
                                                     .a = &one,
                                                     .b = x,
                                                     .b_stride = (size_t)width,
                                                     .c = sums,
                                                     .accumulate = true });
}

/* ---------------------------------------------------------------- products */

enum { MAX_ROWS_UNPACKED = 256 }; /* up to so many rows, a B of whole panels is used as it is */

bool att_tape_matmul(att_tape *tape, const att_matmul_call *product)
{
    att_matmul_call call = *product;
    if (att_tape_status(tape, NULL) != ATT_OK) /* a gradient could not be had */
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

const float *att_node_packed_weights(att_tape *tape, const att_node *w, bool transposed)
{
    if (w->param >= 0) {
        const float *panels = att_param_packed(att_tape_params(tape), w->param, transposed);
        if (!panels)
            (void)att_tape_alloc(tape, -1, 1); /* out of memory, as if the tape's were */
        return panels;
    }
    size_t depth = (size_t)w->shape[transposed], columns = (size_t)w->shape[!transposed];
    float *panels =
        att_tape_alloc(tape, (int64_t)att_matmul_packed_size(depth, columns), sizeof(float));
    if (panels)
        att_matmul_pack(panels, w->value, (size_t)w->shape[1], transposed, depth, columns);
    return panels;
}

/* ---------------------------------------------------------------- activations */

att_activation_kernels att_activation_kernels_get(att_activation activation)
{
    const att_kernels *k = att_kernels_get();
    const att_activation_kernels maps[ATT_ACTIVATION_COUNT] = {
        [ATT_ACTIVATION_RELU] = { k->relu, k->relu_backward, false },
        [ATT_ACTIVATION_GELU] = { k->gelu, k->gelu_backward, true },
        [ATT_ACTIVATION_SILU] = { k->silu, k->silu_backward, true },
        [ATT_ACTIVATION_TANH] = { k->tanh, k->tanh_backward, false },
        [ATT_ACTIVATION_SIGMOID] = { k->sigmoid, k->sigmoid_backward, false },
    };
    return maps[activation];
}

typedef struct activation_grad {
    float *out;
    const float *dy, *saved;
    att_kern_elementwise_backward *map;
} activation_grad;

static void activation_grad_range(void *context, int64_t begin, int64_t end)
{
    const activation_grad *b = context;
    memset(b->out + begin, 0, (size_t)(end - begin) * sizeof(float));
    b->map(b->out + begin, b->dy + begin, b->saved + begin, (size_t)(end - begin));
}

const float *att_activation_backward(att_tape *tape, const att_node *node,
                                     att_activation activation)
{
    att_activation_kernels maps = att_activation_kernels_get(activation);
    if (!maps.backward)
        return node->grad;
    activation_grad b = { .out = att_tape_alloc(tape, node->count, sizeof(float)),
                          .dy = node->grad,
                          .saved = maps.saves_input ? node->saved : node->value,
                          .map = maps.backward };
    if (b.out)
        att_parallel_for(node->count, att_row_grain(1), activation_grad_range, &b);
    return b.out;
}

double att_reference_activation(att_activation activation, double x)
{
    switch (activation) {
    case ATT_ACTIVATION_NONE:
        return x;
    case ATT_ACTIVATION_RELU:
        return x > 0 ? x : 0;
    case ATT_ACTIVATION_GELU:
        return x * 0.5 * att_erfc(-x / sqrt(2.0));
    case ATT_ACTIVATION_SILU:
        return x / (1 + att_exp(-x));
    case ATT_ACTIVATION_TANH:
        return att_tanh(x);
    case ATT_ACTIVATION_SIGMOID:
        return 1 / (1 + att_exp(-x));
    }
    return NAN;
}
