/* Attention as an operation, on att_attention_forward() and _backward(). */
#include "base/minmax.h"
#include "tape/op_util.h"
#include "tape/ops.h"
#include "tape/attention_samples.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    ATTENTION_QUERY,
    ATTENTION_KEY,
    ATTENTION_VALUE,
    ATTENTION_W,
    ATTENTION_U,
    ATTENTION_B,
    ATTENTION_V,
    ATTENTION_BIAS,
    ATTENTION_INPUT_COUNT
};

/* What backward needs besides inputs and value. */
typedef struct attention_saved {
    float *log_sum_exp; /* [B,H,T] */
    void *identity;     /* [S,S] where the result is the weights; else NULL */
} attention_saved;

/* ---------------------------------------------------------------- tensors of a node */

/* Views of one set of arrays: values or gradients, float or double. */
typedef struct views {
    att_tensor of[ATTENTION_INPUT_COUNT];
    const att_tensor *at[ATTENTION_INPUT_COUNT]; /* NULL where not given */
    att_tensor output;                           /* [B,T,H,M] */
} views;

static int64_t keys_of(const att_node *node)
{
    return node->in[ATTENTION_KEY]->shape[1];
}

/* [B, rows, heads * width] as [B, rows, heads, width]. */
static att_tensor by_heads(const att_node *node, const void *data, att_dtype dtype, int64_t heads)
{
    const int64_t shape[4] = { node->shape[0], node->shape[1], heads, node->shape[2] / heads };
    return att_tensor_view(data, dtype, 4, shape);
}

/* The columns of an input that hold the query, key or value. */
static att_column_range columns_of(const att_node *node, int input)
{
    att_column_range columns = ((const attention_op *)node->options)->columns[input];
    return columns.count > 0 ? columns : (att_column_range){ 0, node->in[input]->shape[2] };
}

/* The heads of a query, key or value, as [B,rows,heads,width]. */
static att_tensor head_view(const att_node *node, int input, const void *data, att_dtype dtype,
                            int64_t heads)
{
    const att_node *in = node->in[input];
    att_column_range columns = columns_of(node, input);
    size_t skipped = (size_t)columns.first * (dtype == ATT_F64 ? sizeof(double) : sizeof(float));
    const int64_t shape[4] = { in->shape[0], in->shape[1], heads, columns.count / heads };
    att_tensor view = att_tensor_view((const char *)data + skipped, dtype, 4, shape);
    view.stride[1] = in->shape[2];
    view.stride[0] = in->shape[1] * in->shape[2];
    return view;
}

/* A parameter of the score, shared by all heads: [.,.] as [1,.,.]. */
static att_tensor for_all_heads(const att_node *node, const void *data, att_dtype dtype)
{
    int64_t shape[ATT_NODE_MAX_RANK + 1] = { 1 };
    memcpy(shape + 1, node->shape, sizeof node->shape);
    return att_tensor_view(data, dtype, node->rank + 1, shape);
}

/* Values that make the attention output equal its weights: key s has the s-th unit vector. */
static att_tensor identity_values(const att_node *node, const void *identity, att_dtype dtype)
{
    const attention_op *options = node->options;
    const att_node *key = node->in[ATTENTION_KEY];
    int64_t keys = keys_of(node);
    const int64_t shape[4] = { key->shape[0], keys, options->kv_heads, keys };
    att_tensor view = att_tensor_view(identity, dtype, 4, shape);
    view.stride[0] = view.stride[2] = 0;
    view.stride[1] = keys;
    return view;
}

static void view_input(views *v, const att_node *node, int input, const void *data, att_dtype dtype)
{
    const attention_op *options = node->options;
    const att_node *in = node->in[input];
    if (input <= ATTENTION_VALUE)
        v->of[input] = head_view(node, input, data, dtype,
                                 input == ATTENTION_QUERY ? options->heads : options->kv_heads);
    else if (input == ATTENTION_BIAS)
        v->of[input] = att_tensor_view(data, dtype, in->rank, in->shape);
    else
        v->of[input] = for_all_heads(in, data, dtype);
    v->at[input] = &v->of[input];
}

static void view_values(views *v, const att_node *node, const void *identity)
{
    const attention_op *options = node->options;
    *v = (views){ .output = by_heads(node, node->value, ATT_F32, options->heads) };
    for (int i = 0; i < ATTENTION_INPUT_COUNT; i++)
        if (node->in[i])
            view_input(v, node, i, node->in[i]->value, ATT_F32);
    if (!node->in[ATTENTION_VALUE]) {
        v->of[ATTENTION_VALUE] = identity_values(node, identity, ATT_F32);
        v->at[ATTENTION_VALUE] = &v->of[ATTENTION_VALUE];
    }
}

static att_attention_inputs inputs_of(const views *v)
{
    return (att_attention_inputs){ .query = v->at[ATTENTION_QUERY],
                                   .key = v->at[ATTENTION_KEY],
                                   .value = v->at[ATTENTION_VALUE],
                                   .score_w = v->at[ATTENTION_W],
                                   .score_u = v->at[ATTENTION_U],
                                   .score_b = v->at[ATTENTION_B],
                                   .score_v = v->at[ATTENTION_V],
                                   .bias = v->at[ATTENTION_BIAS] };
}

static att_tensor log_sums(const att_node *node, float *data)
{
    const attention_op *options = node->options;
    const int64_t shape[3] = { node->shape[0], options->heads, node->shape[1] };
    return att_tensor_view(data, ATT_F32, 3, shape);
}

/* ---------------------------------------------------------------- the operation */

static bool check_heads(att_tape *tape, const att_node *node, const char *name, int index,
                        int64_t heads)
{
    const att_node *input = node->in[index];
    const int64_t want[3] = { node->in[ATTENTION_QUERY]->shape[0], -1, -1 };
    if (!att_node_check_shape(tape, node, name, input, 3, want))
        return false;
    att_column_range columns = columns_of(node, index);
    if (columns.first + columns.count > input->shape[2])
        att_tape_fail(tape, node->op->name,
                      "expected %s within %lld columns, found columns up to %lld", name,
                      (long long)input->shape[2], (long long)(columns.first + columns.count));
    else if (heads < 1 || columns.count % heads != 0)
        att_tape_fail(tape, node->op->name,
                      "expected the columns of %s to be a multiple of %lld heads, found %lld", name,
                      (long long)heads, (long long)columns.count);
    else
        return true;
    return false;
}

static bool attention_shape(att_tape *tape, att_node *node)
{
    const attention_op *options = node->options;
    const att_node *query = node->in[ATTENTION_QUERY], *value = node->in[ATTENTION_VALUE];
    const int64_t any[3] = { -1, -1, -1 };
    if (!att_node_check_shape(tape, node, "query", query, 3, any) ||
        !check_heads(tape, node, "query", ATTENTION_QUERY, options->heads) ||
        !check_heads(tape, node, "key", ATTENTION_KEY, options->kv_heads) ||
        (value && !check_heads(tape, node, "value", ATTENTION_VALUE, options->kv_heads)))
        return false;
    int64_t width =
        value ? columns_of(node, ATTENTION_VALUE).count / options->kv_heads : keys_of(node);
    const int64_t shape[3] = { query->shape[0], query->shape[1], options->heads * width };
    att_node_set_shape(node, 3, shape);
    return true;
}

static void *make_identity(att_tape *tape, int64_t n)
{
    float *out = att_tape_alloc(tape, n * n, sizeof(float));
    for (int64_t i = 0; out && i < n * n; i++)
        out[i] = i % (n + 1) == 0;
    return out;
}

static bool run_forward(att_tape *tape, att_node *node, const attention_saved *saved)
{
    const attention_op *options = node->options;
    views v;
    view_values(&v, node, saved->identity);
    att_attention_inputs in = inputs_of(&v);
    att_tensor lse = log_sums(node, saved->log_sum_exp);
    att_attention_outputs out = { .output = &v.output,
                                  .log_sum_exp = saved->log_sum_exp ? &lse : NULL };
    att_memory_pool_mark mark = att_tape_mark(tape);
    size_t room = att_attention_workspace(&options->options, &in, false);
    void *workspace = room ? att_tape_alloc(tape, (int64_t)room, 1) : NULL;
    if (room && !workspace)
        return false;
    bool done = att_attention_forward(&options->options, &in, &out, workspace,
                                      att_tape_error(tape)) == ATT_OK;
    att_tape_release_to_mark(tape, mark);
    return done;
}

static bool attention_forward(att_tape *tape, att_node *node)
{
    const attention_op *options = node->options;
    attention_saved *saved = att_tape_alloc(tape, 1, sizeof *saved);
    if (!saved)
        return false;
    *saved = (attention_saved){ 0 };
    node->saved = saved;
    if (node->requires_grad) {
        int64_t count = node->shape[0] * node->shape[1] * options->heads;
        saved->log_sum_exp = att_tape_alloc(tape, count, sizeof(float));
        if (!saved->log_sum_exp)
            return false;
    }
    if (!node->in[ATTENTION_VALUE]) {
        saved->identity = make_identity(tape, keys_of(node));
        if (!saved->identity)
            return false;
    }
    return run_forward(tape, node, saved);
}

/* Gradients of the inputs that learn, as tensors; false when memory is out. */
static bool alloc_grads(att_tape *tape, const att_node *node, views *grads)
{
    const attention_op *options = node->options;
    *grads = (views){ .output = by_heads(node, node->grad, ATT_F32, options->heads) };
    for (int i = 0; i < ATTENTION_INPUT_COUNT; i++) {
        att_node *in = node->in[i];
        float *grad = in ? att_node_grad(tape, in) : NULL;
        if (in && in->requires_grad && !grad)
            return false;
        if (grad)
            view_input(grads, node, i, grad, ATT_F32);
    }
    return true;
}

static att_tensor *grad_at(views *grads, int input)
{
    return grads->at[input] ? &grads->of[input] : NULL;
}

static bool attention_backward(att_tape *tape, att_node *node)
{
    const attention_op *options = node->options;
    const attention_saved *saved = node->saved;
    views v, g;
    if (!alloc_grads(tape, node, &g))
        return false;
    view_values(&v, node, saved->identity);
    att_attention_inputs in = inputs_of(&v);
    att_tensor lse = log_sums(node, saved->log_sum_exp);
    att_attention_outputs forward = { .output = &v.output, .log_sum_exp = &lse };
    att_attention_grads grads = { .query = grad_at(&g, ATTENTION_QUERY),
                                  .key = grad_at(&g, ATTENTION_KEY),
                                  .value = grad_at(&g, ATTENTION_VALUE),
                                  .score_w = grad_at(&g, ATTENTION_W),
                                  .score_u = grad_at(&g, ATTENTION_U),
                                  .score_b = grad_at(&g, ATTENTION_B),
                                  .score_v = grad_at(&g, ATTENTION_V),
                                  .bias = grad_at(&g, ATTENTION_BIAS) };
    att_memory_pool_mark mark = att_tape_mark(tape);
    size_t room = att_attention_workspace(&options->options, &in, true);
    void *workspace = room ? att_tape_alloc(tape, (int64_t)room, 1) : NULL;
    if (room && !workspace)
        return false;
    bool done = att_attention_backward(&options->options, &in, &forward, &g.output, &grads,
                                       workspace, att_tape_error(tape)) == ATT_OK;
    att_tape_release_to_mark(tape, mark);
    return done;
}

/* Where the reference fails, the result is NaN, which fails every check. */
static void attention_truth(double *value, const att_node *node, const double *const *in)
{
    const attention_op *options = node->options;
    views v = { .output = by_heads(node, value, ATT_F64, options->heads) };
    double identity[ATTENTION_SAMPLE_MAX_KEYS * ATTENTION_SAMPLE_MAX_KEYS];
    int64_t keys = keys_of(node);
    for (int i = 0; i < ATTENTION_INPUT_COUNT; i++)
        if (in[i])
            view_input(&v, node, i, in[i], ATT_F64);
    if (!in[ATTENTION_VALUE]) {
        assert(keys <= ATTENTION_SAMPLE_MAX_KEYS);
        for (int64_t i = 0; i < keys * keys; i++)
            identity[i] = i % (keys + 1) == 0;
        v.of[ATTENTION_VALUE] = identity_values(node, identity, ATT_F64);
        v.at[ATTENTION_VALUE] = &v.of[ATTENTION_VALUE];
    }
    att_attention_inputs inputs = inputs_of(&v);
    att_attention_outputs out = { .output = &v.output };
    if (att_attention_forward_reference(&options->options, &inputs, &out, NULL) != ATT_OK &&
        node->count > 0)
        value[0] = NAN;
}

const att_op att_op_attention = {
    .name = "attention",
    .options_size = sizeof(attention_op),
    .shape = attention_shape,
    .forward = attention_forward,
    .backward = attention_backward,
    .truth = attention_truth,
    .rounding_steps = 150,
    .samples = attention_samples,
    .sample_count = ATT_COUNT(attention_samples),
};

/* The options with the arrays they point to, and dropout by the tape's seed and step. */
static attention_op copy_options(att_tape *tape, const att_attention_options *options,
                                 int64_t batch)
{
    attention_op copy = { .options = *options };
    att_attention_options *to = &copy.options;
    size_t size = sizeof(int64_t);
    to->query_lengths = att_tape_copy(tape, options->query_lengths, batch, size);
    to->key_lengths = att_tape_copy(tape, options->key_lengths, batch, size);
    to->blocks =
        att_tape_copy(tape, options->blocks, options->block_count, sizeof *options->blocks);
    to->query_offsets = att_tape_copy(tape, options->query_offsets, options->sequences + 1, size);
    to->key_offsets = att_tape_copy(tape, options->key_offsets, options->sequences + 1, size);
    to->dropout = att_tape_is_training(tape) ? options->dropout : 0;
    to->dropout_seed = att_tape_seed(tape);
    to->dropout_step = att_tape_step(tape);
    return copy;
}

att_node *att_attention_op(att_tape *tape, const att_attention_op_inputs *in, int64_t heads,
                           int64_t kv_heads, const att_attention_options *options)
{
    if (!in->query)
        return NULL;
    attention_op copy = copy_options(tape, options, in->query->shape[0]);
    copy.heads = heads;
    copy.kv_heads = kv_heads;
    copy.columns[ATTENTION_QUERY] = in->query_columns;
    copy.columns[ATTENTION_KEY] = in->key_columns;
    copy.columns[ATTENTION_VALUE] = in->value_columns;
    att_node *const inputs[ATTENTION_INPUT_COUNT] = {
        [ATTENTION_QUERY] = in->query, [ATTENTION_KEY] = in->key,   [ATTENTION_VALUE] = in->value,
        [ATTENTION_W] = in->w,         [ATTENTION_U] = in->u,       [ATTENTION_B] = in->b,
        [ATTENTION_V] = in->v,         [ATTENTION_BIAS] = in->bias,
    };
    return att_op_apply(tape, &att_op_attention, inputs, ATTENTION_INPUT_COUNT, &copy);
}

att_node *att_attention_op_weights(att_tape *tape, att_node *node)
{
    if (!node)
        return NULL;
    const attention_op *options = node->options;
    const int64_t shape[4] = { node->shape[0], options->heads, node->shape[1], keys_of(node) };
    att_node *out = att_tape_input(tape, 4, shape, NULL);
    if (!out)
        return NULL;
    views v;
    view_values(&v, node, NULL);
    /* Values of width 0: only the weights of the result are needed. */
    float nothing;
    const int64_t no_values[4] = { shape[0], shape[3], options->kv_heads, 0 };
    const int64_t no_output[4] = { shape[0], shape[2], shape[1], 0 };
    v.of[ATTENTION_VALUE] = att_tensor_view(&nothing, ATT_F32, 4, no_values);
    v.at[ATTENTION_VALUE] = &v.of[ATTENTION_VALUE];
    v.output = att_tensor_view(&nothing, ATT_F32, 4, no_output);
    att_attention_inputs in = inputs_of(&v);
    att_tensor weights = att_tensor_view(out->value, ATT_F32, 4, shape);
    att_attention_outputs outputs = { .output = &v.output, .weights = &weights };
    att_status status =
        att_attention_forward(&options->options, &in, &outputs, NULL, att_tape_error(tape));
    return status == ATT_OK ? out : NULL;
}
