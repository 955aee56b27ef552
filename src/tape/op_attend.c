/* Attention as an operation, on att_attention_forward() and _backward(). */
#include "tape/help.h"
#include "tape/ops.h"
#include "tape/attend_samples.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    ATTEND_QUERY,
    ATTEND_KEY,
    ATTEND_VALUE,
    ATTEND_W,
    ATTEND_U,
    ATTEND_B,
    ATTEND_V,
    ATTEND_BIAS,
    ATTEND_INPUTS
};

/* What a backward needs besides inputs and value. */
typedef struct attend_kept {
    float *log_sum_exp; /* [B,H,T] */
    void *identity;     /* [S,S], where the weights themselves are the result; else NULL */
} attend_kept;

/* ---------------------------------------------------------------- tensors of a node */

/* Views of one set of arrays: values or gradients, float or double. */
typedef struct views {
    att_tensor of[ATTEND_INPUTS];
    const att_tensor *at[ATTEND_INPUTS]; /* NULL where not given */
    att_tensor output;                   /* [B,T,H,M] */
} views;

static int64_t keys_of(const att_node *node)
{
    return node->in[ATTEND_KEY]->shape[1];
}

/* [B, rows, heads * width] as [B, rows, heads, width]. */
static att_tensor by_heads(const att_node *node, const void *data, att_dtype dtype, int64_t heads)
{
    const int64_t shape[4] = { node->shape[0], node->shape[1], heads, node->shape[2] / heads };
    return att_tensor_view(data, dtype, 4, shape);
}

/* The columns of query, key or value that are meant. */
static att_columns columns_of(const att_node *node, int input)
{
    att_columns columns = ((const attend *)node->how)->columns[input];
    return columns.count > 0 ? columns : (att_columns){ 0, node->in[input]->shape[2] };
}

/* The heads in some columns of an input. */
static att_tensor some_heads(const att_node *node, int input, const void *data, att_dtype dtype,
                             int64_t heads)
{
    const att_node *in = node->in[input];
    att_columns columns = columns_of(node, input);
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
    int64_t shape[ATT_NODE_RANK + 1] = { 1 };
    memcpy(shape + 1, node->shape, sizeof node->shape);
    return att_tensor_view(data, dtype, node->rank + 1, shape);
}

/* Values that turn attention into its own weights: key s has the s-th unit vector. */
static att_tensor unit_vectors(const att_node *node, const void *identity, att_dtype dtype)
{
    const attend *how = node->how;
    const att_node *key = node->in[ATTEND_KEY];
    int64_t keys = keys_of(node);
    const int64_t shape[4] = { key->shape[0], keys, how->key_heads, keys };
    att_tensor view = att_tensor_view(identity, dtype, 4, shape);
    view.stride[0] = view.stride[2] = 0;
    view.stride[1] = keys;
    return view;
}

static void view_input(views *v, const att_node *node, int input, const void *data, att_dtype dtype)
{
    const attend *how = node->how;
    const att_node *in = node->in[input];
    if (input <= ATTEND_VALUE)
        v->of[input] = some_heads(node, input, data, dtype,
                                  input == ATTEND_QUERY ? how->heads : how->key_heads);
    else if (input == ATTEND_BIAS)
        v->of[input] = att_tensor_view(data, dtype, in->rank, in->shape);
    else
        v->of[input] = for_all_heads(in, data, dtype);
    v->at[input] = &v->of[input];
}

static void view_values(views *v, const att_node *node, const void *identity)
{
    const attend *how = node->how;
    *v = (views){ .output = by_heads(node, node->value, ATT_F32, how->heads) };
    for (int i = 0; i < ATTEND_INPUTS; i++)
        if (node->in[i])
            view_input(v, node, i, node->in[i]->value, ATT_F32);
    if (!node->in[ATTEND_VALUE]) {
        v->of[ATTEND_VALUE] = unit_vectors(node, identity, ATT_F32);
        v->at[ATTEND_VALUE] = &v->of[ATTEND_VALUE];
    }
}

static att_attention_inputs inputs_of(const views *v)
{
    return (att_attention_inputs){ .query = v->at[ATTEND_QUERY],
                                   .key = v->at[ATTEND_KEY],
                                   .value = v->at[ATTEND_VALUE],
                                   .score_w = v->at[ATTEND_W],
                                   .score_u = v->at[ATTEND_U],
                                   .score_b = v->at[ATTEND_B],
                                   .score_v = v->at[ATTEND_V],
                                   .bias = v->at[ATTEND_BIAS] };
}

static att_tensor log_sums(const att_node *node, float *data)
{
    const attend *how = node->how;
    const int64_t shape[3] = { node->shape[0], how->heads, node->shape[1] };
    return att_tensor_view(data, ATT_F32, 3, shape);
}

/* ---------------------------------------------------------------- the operation */

static bool attend_heads(att_tape *tape, const att_node *node, const char *name, int index,
                         int64_t heads)
{
    const att_node *input = node->in[index];
    const int64_t want[3] = { node->in[ATTEND_QUERY]->shape[0], -1, -1 };
    if (!att_node_fits(tape, node, name, input, 3, want))
        return false;
    att_columns columns = columns_of(node, index);
    if (columns.first + columns.count > input->shape[2])
        att_tape_fail(tape, "attend", "%s is in columns up to %lld, but there are %lld", name,
                      (long long)(columns.first + columns.count), (long long)input->shape[2]);
    else if (heads < 1 || columns.count % heads != 0)
        att_tape_fail(tape, "attend", "%s has %lld columns, no multiple of its %lld heads", name,
                      (long long)columns.count, (long long)heads);
    else
        return true;
    return false;
}

static bool attend_shape(att_tape *tape, att_node *node)
{
    const attend *how = node->how;
    const att_node *query = node->in[ATTEND_QUERY], *value = node->in[ATTEND_VALUE];
    const int64_t any[3] = { -1, -1, -1 };
    if (!att_node_fits(tape, node, "query", query, 3, any) ||
        !attend_heads(tape, node, "query", ATTEND_QUERY, how->heads) ||
        !attend_heads(tape, node, "key", ATTEND_KEY, how->key_heads) ||
        (value && !attend_heads(tape, node, "value", ATTEND_VALUE, how->key_heads)))
        return false;
    int64_t width = value ? columns_of(node, ATTEND_VALUE).count / how->key_heads : keys_of(node);
    const int64_t shape[3] = { query->shape[0], query->shape[1], how->heads * width };
    att_node_set_shape(node, 3, shape);
    return true;
}

static void *make_identity(att_tape *tape, int64_t n)
{
    float *out = att_tape_take(tape, n * n, sizeof(float));
    for (int64_t i = 0; out && i < n * n; i++)
        out[i] = i % (n + 1) == 0;
    return out;
}

static bool run_forward(att_tape *tape, att_node *node, const attend_kept *kept)
{
    const attend *how = node->how;
    views v;
    view_values(&v, node, kept->identity);
    att_attention_inputs in = inputs_of(&v);
    att_tensor lse = log_sums(node, kept->log_sum_exp);
    att_attention_outputs out = { .output = &v.output,
                                  .log_sum_exp = kept->log_sum_exp ? &lse : NULL };
    att_pool_mark mark = att_tape_mark(tape);
    size_t room = att_attention_workspace(&how->how, &in, false);
    void *workspace = room ? att_tape_take(tape, (int64_t)room, 1) : NULL;
    if (room && !workspace)
        return false;
    bool done =
        att_attention_forward(&how->how, &in, &out, workspace, att_tape_error(tape)) == ATT_OK;
    att_tape_release(tape, mark);
    return done;
}

static bool attend_forward(att_tape *tape, att_node *node)
{
    const attend *how = node->how;
    attend_kept *kept = att_tape_take(tape, 1, sizeof *kept);
    if (!kept)
        return false;
    *kept = (attend_kept){ 0 };
    node->kept = kept;
    if (node->learns) {
        int64_t count = node->shape[0] * node->shape[1] * how->heads;
        kept->log_sum_exp = att_tape_take(tape, count, sizeof(float));
        if (!kept->log_sum_exp)
            return false;
    }
    if (!node->in[ATTEND_VALUE]) {
        kept->identity = make_identity(tape, keys_of(node));
        if (!kept->identity)
            return false;
    }
    return run_forward(tape, node, kept);
}

/* Gradients of the inputs that learn, as tensors; false when memory is out. */
static bool take_grads(att_tape *tape, const att_node *node, views *grads)
{
    const attend *how = node->how;
    *grads = (views){ .output = by_heads(node, node->grad, ATT_F32, how->heads) };
    for (int i = 0; i < ATTEND_INPUTS; i++) {
        att_node *in = node->in[i];
        float *grad = in ? att_node_grad(tape, in) : NULL;
        if (in && in->learns && !grad)
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

static bool attend_backward(att_tape *tape, att_node *node)
{
    const attend *how = node->how;
    const attend_kept *kept = node->kept;
    views v, g;
    if (!take_grads(tape, node, &g))
        return false;
    view_values(&v, node, kept->identity);
    att_attention_inputs in = inputs_of(&v);
    att_tensor lse = log_sums(node, kept->log_sum_exp);
    att_attention_outputs forward = { .output = &v.output, .log_sum_exp = &lse };
    att_attention_grads grads = { .query = grad_at(&g, ATTEND_QUERY),
                                  .key = grad_at(&g, ATTEND_KEY),
                                  .value = grad_at(&g, ATTEND_VALUE),
                                  .score_w = grad_at(&g, ATTEND_W),
                                  .score_u = grad_at(&g, ATTEND_U),
                                  .score_b = grad_at(&g, ATTEND_B),
                                  .score_v = grad_at(&g, ATTEND_V),
                                  .bias = grad_at(&g, ATTEND_BIAS) };
    att_pool_mark mark = att_tape_mark(tape);
    size_t room = att_attention_workspace(&how->how, &in, true);
    void *workspace = room ? att_tape_take(tape, (int64_t)room, 1) : NULL;
    if (room && !workspace)
        return false;
    bool done = att_attention_backward(&how->how, &in, &forward, &g.output, &grads, workspace,
                                       att_tape_error(tape)) == ATT_OK;
    att_tape_release(tape, mark);
    return done;
}

/* The reference; where it fails, NaN, which no check passes over. */
static void attend_truth(double *value, const att_node *node, const double *const *in)
{
    const attend *how = node->how;
    views v = { .output = by_heads(node, value, ATT_F64, how->heads) };
    double identity[ATTEND_SAMPLE_KEYS * ATTEND_SAMPLE_KEYS];
    int64_t keys = keys_of(node);
    for (int i = 0; i < ATTEND_INPUTS; i++)
        if (in[i])
            view_input(&v, node, i, in[i], ATT_F64);
    if (!in[ATTEND_VALUE]) {
        assert(keys <= ATTEND_SAMPLE_KEYS);
        for (int64_t i = 0; i < keys * keys; i++)
            identity[i] = i % (keys + 1) == 0;
        v.of[ATTEND_VALUE] = unit_vectors(node, identity, ATT_F64);
        v.at[ATTEND_VALUE] = &v.of[ATTEND_VALUE];
    }
    att_attention_inputs inputs = inputs_of(&v);
    att_attention_outputs out = { .output = &v.output };
    if (att_attention_forward_ref(&how->how, &inputs, &out, NULL) != ATT_OK && node->count > 0)
        value[0] = NAN;
}

const att_op att_op_attend = {
    .name = "attend",
    .how_size = sizeof(attend),
    .shape = attend_shape,
    .forward = attend_forward,
    .backward = attend_backward,
    .truth = attend_truth,
    .rounds = 150,
    .samples = attend_samples,
    .sample_count = sizeof attend_samples / sizeof *attend_samples,
};

/* The choices with what they point to, and dropout drawn under the tape. */
static attend copy_how(att_tape *tape, const att_attention *how, int64_t batch)
{
    attend copy = { .how = *how };
    att_attention *to = &copy.how;
    size_t size = sizeof(int64_t);
    to->query_lengths = att_tape_copy(tape, how->query_lengths, batch, size);
    to->key_lengths = att_tape_copy(tape, how->key_lengths, batch, size);
    to->blocks = att_tape_copy(tape, how->blocks, how->block_count, sizeof *how->blocks);
    to->query_offsets = att_tape_copy(tape, how->query_offsets, how->sequences + 1, size);
    to->key_offsets = att_tape_copy(tape, how->key_offsets, how->sequences + 1, size);
    to->dropout = att_tape_learns(tape) ? how->dropout : 0;
    to->drop_seed = att_tape_seed(tape);
    to->drop_step = att_tape_step(tape);
    return copy;
}

att_node *att_attend(att_tape *tape, const att_attend_inputs *in, int64_t heads, int64_t key_heads,
                     const att_attention *how)
{
    if (!in->query)
        return NULL;
    attend copy = copy_how(tape, how, in->query->shape[0]);
    copy.heads = heads;
    copy.key_heads = key_heads;
    copy.columns[ATTEND_QUERY] = in->query_columns;
    copy.columns[ATTEND_KEY] = in->key_columns;
    copy.columns[ATTEND_VALUE] = in->value_columns;
    att_node *const inputs[ATTEND_INPUTS] = {
        [ATTEND_QUERY] = in->query, [ATTEND_KEY] = in->key,   [ATTEND_VALUE] = in->value,
        [ATTEND_W] = in->w,         [ATTEND_U] = in->u,       [ATTEND_B] = in->b,
        [ATTEND_V] = in->v,         [ATTEND_BIAS] = in->bias,
    };
    return att_op_apply(tape, &att_op_attend, inputs, ATTEND_INPUTS, &copy);
}

att_node *att_attend_weights(att_tape *tape, att_node *node)
{
    if (!node)
        return NULL;
    const attend *how = node->how;
    const int64_t shape[4] = { node->shape[0], how->heads, node->shape[1], keys_of(node) };
    att_node *out = att_tape_input(tape, 4, shape, NULL);
    if (!out)
        return NULL;
    views v;
    view_values(&v, node, NULL);
    /* Values of no width: of the result only the weights are wanted. */
    float nothing;
    const int64_t no_values[4] = { shape[0], shape[3], how->key_heads, 0 };
    const int64_t no_output[4] = { shape[0], shape[2], shape[1], 0 };
    v.of[ATTEND_VALUE] = att_tensor_view(&nothing, ATT_F32, 4, no_values);
    v.at[ATTEND_VALUE] = &v.of[ATTEND_VALUE];
    v.output = att_tensor_view(&nothing, ATT_F32, 4, no_output);
    att_attention_inputs in = inputs_of(&v);
    att_tensor weights = att_tensor_view(out->value, ATT_F32, 4, shape);
    att_attention_outputs outputs = { .output = &v.output, .weights = &weights };
    att_status status = att_attention_forward(&how->how, &in, &outputs, NULL, att_tape_error(tape));
    return status == ATT_OK ? out : NULL;
}
