/* The tape: life, memory, nodes, recording of operations and the backward pass. */
#include "tape/tape.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "tape/op.h"
#include "tensor/tensor.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct att_tape {
    const att_params *params;
    att_params *trained_params; /* the same; NULL: the tape is for inference and only reads them */
    att_memory_pool pool;
    att_node *last;
    att_node *first_layer, *last_layer; /* of the nodes with a name */
    att_node **leaves;                  /* [params->count] of the parameters in use, else NULL */
    bool training, rows_twice;
    uint64_t seed, step;
    struct free_grad *free_grads;               /* gradients of nodes whose backward is done */
    void (*on_final)(void *context, int param); /* NULL: none */
    void *final_context;
    int64_t unpacked_uses;
    att_error error; /* the first one */
};

/* ---------------------------------------------------------------- life */

static att_status new_tape(att_tape **out, const att_params *params, att_params *trained_params,
                           att_error *err)
{
    *out = att_alloc_zero(1, sizeof **out);
    if (!*out)
        return att_fail_memory(err);
    (*out)->params = params;
    (*out)->trained_params = trained_params;
    att_tape_begin(*out, false, 0, 0);
    att_status status = att_tape_status(*out, err);
    if (status != ATT_OK) {
        att_tape_free(*out);
        *out = NULL;
    }
    return status;
}

att_status att_tape_new(att_tape **out, const att_params *params, att_error *err)
{
    return new_tape(out, params, NULL, err);
}

att_status att_tape_new_training(att_tape **out, att_params *params, att_error *err)
{
    return new_tape(out, params, params, err);
}

void att_tape_free(att_tape *tape)
{
    if (!tape)
        return;
    att_memory_pool_free(&tape->pool);
    att_free(tape);
}

void att_tape_begin(att_tape *tape, bool training, uint64_t seed, uint64_t step)
{
    att_memory_pool_reset(&tape->pool);
    tape->error.status = ATT_OK;
    tape->last = tape->first_layer = tape->last_layer = NULL;
    tape->leaves = NULL;
    tape->free_grads = NULL;
    tape->training = training;
    tape->rows_twice = false;
    tape->seed = seed;
    tape->step = step;
    int count = tape->params ? tape->params->count : 0;
    if (count > 0)
        tape->leaves = att_tape_alloc(tape, count, sizeof(att_node *));
    if (tape->leaves)
        memset(tape->leaves, 0, (size_t)count * sizeof(att_node *));
}

att_status att_tape_status(const att_tape *tape, att_error *err)
{
    if (err && tape->error.status != ATT_OK)
        *err = tape->error;
    return tape->error.status;
}

bool att_tape_is_training(const att_tape *tape)
{
    return tape->training;
}

void att_tape_set_rows_twice(att_tape *tape)
{
    tape->rows_twice = true;
}

bool att_tape_has_rows_twice(const att_tape *tape)
{
    return tape->rows_twice;
}

uint64_t att_tape_seed(const att_tape *tape)
{
    return tape->seed;
}

uint64_t att_tape_step(const att_tape *tape)
{
    return tape->step;
}

size_t att_tape_peak_bytes(const att_tape *tape)
{
    return tape->pool.peak;
}

const float *att_tape_param_packed(att_tape *tape, int param, bool transposed)
{
    const float *packed = att_param_packed(tape->params, param, transposed);
    if (packed || tape->error.status != ATT_OK)
        return packed;
    if (!tape->trained_params) {
        tape->unpacked_uses++;
        return NULL;
    }
    packed = att_param_pack(tape->trained_params, param, transposed);
    if (!packed)
        att_fail_memory(&tape->error);
    return packed;
}

int64_t att_tape_unpacked_uses(const att_tape *tape)
{
    return tape->unpacked_uses;
}

att_node *att_tape_fail(att_tape *tape, const char *op, const char *format, ...)
{
    if (tape->error.status != ATT_OK)
        return NULL;
    char message[sizeof tape->error.message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    att_fail(&tape->error, ATT_BAD_INPUT, op, "%s", message);
    return NULL;
}

att_error *att_tape_error(att_tape *tape)
{
    assert(tape->error.status == ATT_OK); /* only the first error is kept */
    return &tape->error;
}

/* ---------------------------------------------------------------- memory */

void *att_tape_alloc(att_tape *tape, int64_t count, size_t size)
{
    if (tape->error.status != ATT_OK)
        return NULL;
    void *out = count < 0 ? NULL : att_memory_pool_alloc(&tape->pool, (size_t)count, size);
    if (!out)
        att_fail_memory(&tape->error);
    return out;
}

void *att_tape_copy(att_tape *tape, const void *items, int64_t count, size_t size)
{
    void *out = items ? att_tape_alloc(tape, count, size) : NULL;
    if (out && count > 0)
        memcpy(out, items, (size_t)count * size);
    return out;
}

att_memory_pool_mark att_tape_mark(const att_tape *tape)
{
    return att_memory_pool_get_mark(&tape->pool);
}

void att_tape_release_to_mark(att_tape *tape, att_memory_pool_mark mark)
{
    att_memory_pool_release_to(&tape->pool, mark);
}

/* ---------------------------------------------------------------- nodes */

void att_node_set_shape(att_node *node, int rank, const int64_t *shape)
{
    assert(rank <= ATT_NODE_MAX_RANK);
    node->rank = rank;
    for (int d = 0; d < rank; d++)
        node->shape[d] = shape[d];
}

void att_node_shape_like(att_node *node, const att_node *other)
{
    att_node_set_shape(node, other->rank, other->shape);
}

int64_t att_node_last_dim(const att_node *node)
{
    return node->rank > 0 ? node->shape[node->rank - 1] : 1;
}

int64_t att_node_rows(const att_node *node)
{
    int64_t rows = 1;
    for (int d = 0; d + 1 < node->rank; d++)
        rows *= node->shape[d];
    return rows;
}

bool att_node_check_shape(att_tape *tape, const att_node *node, const char *name,
                          const att_node *input, int rank, const int64_t *shape)
{
    bool fits = input->rank == rank;
    for (int d = 0; fits && d < rank; d++)
        fits = shape[d] < 0 || input->shape[d] == shape[d];
    if (fits)
        return true;
    char want[ATT_SHAPE_STRING_SIZE] = "", found[ATT_SHAPE_STRING_SIZE];
    size_t length = 0;
    for (int d = 0; d < rank; d++) {
        const char *comma = d ? ", " : "";
        if (shape[d] < 0)
            length += (size_t)snprintf(want + length, sizeof want - length, "%s*", comma);
        else
            length += (size_t)snprintf(want + length, sizeof want - length, "%s%lld", comma,
                                       (long long)shape[d]);
    }
    att_tape_fail(tape, node->op->name, "%s is %s, expected [%s]", name,
                  att_shape_to_string(found, input->rank, input->shape), want);
    return false;
}

/* An empty node; it is recorded when it is complete. */
static att_node *new_node(att_tape *tape)
{
    att_node *node = att_tape_alloc(tape, 1, sizeof *node);
    if (node)
        *node = (att_node){ .param = -1 };
    return node;
}

static bool count_elements(att_tape *tape, att_node *node)
{
    node->count = att_shape_count(node->rank, node->shape, PTRDIFF_MAX / (int64_t)sizeof(float));
    if (node->count < 0)
        att_tape_fail(tape, node->op ? node->op->name : "tape",
                      "the result is too large to be allocated");
    return node->count >= 0;
}

static att_node *record(att_tape *tape, att_node *node)
{
    node->prev = tape->last;
    tape->last = node;
    return node;
}

/* A leaf without values, not yet recorded. */
static att_node *shaped_leaf(att_tape *tape, int rank, const int64_t *shape)
{
    att_node *node = new_node(tape);
    if (!node)
        return NULL;
    att_node_set_shape(node, rank, shape);
    return count_elements(tape, node) ? node : NULL;
}

att_node *att_tape_input(att_tape *tape, int rank, const int64_t *shape, const float *values)
{
    att_node *node = shaped_leaf(tape, rank, shape);
    if (!node)
        return NULL;
    node->value = att_tape_alloc(tape, node->count, sizeof(float));
    if (!node->value)
        return NULL;
    if (values && node->count > 0)
        memcpy(node->value, values, (size_t)node->count * sizeof(float));
    else
        (void)att_memory_zero(node->value, (size_t)node->count * sizeof(float));
    return record(tape, node);
}

att_node *att_tape_input_view(att_tape *tape, int rank, const int64_t *shape, const float *values)
{
    att_node *node = shaped_leaf(tape, rank, shape);
    if (!node)
        return NULL;
    node->value = (float *)values; /* never written: an operation writes its own node's value */
    return record(tape, node);
}

att_node *att_tape_variable(att_tape *tape, int rank, const int64_t *shape, const float *values)
{
    att_node *node = att_tape_input(tape, rank, shape, values);
    if (node)
        node->requires_grad = tape->training;
    return node;
}

att_node *att_tape_param(att_tape *tape, int index)
{
    if (tape->error.status != ATT_OK)
        return NULL;
    if (tape->leaves[index])
        return tape->leaves[index];
    att_node *node = new_node(tape);
    if (!node)
        return NULL;
    const att_params *params = tape->params;
    const att_param *param = &params->items[index];
    att_node_set_shape(node, param->rank, param->shape);
    node->count = (int64_t)param->count;
    node->param = index;
    node->int8 = att_param_int8(params, index);
    node->value = node->int8 ? NULL : params->value + param->offset;
    node->requires_grad = tape->training && tape->trained_params && params->grad;
    node->grad = node->requires_grad ? params->grad + param->offset : NULL;
    tape->leaves[index] = node;
    return record(tape, node);
}

att_node *att_tape_name_layer(att_tape *tape, att_node *node, const char *layer, int number)
{
    if (!node || node->layer)
        return node;
    node->layer = layer;
    node->layer_number = number;
    if (tape->last_layer)
        tape->last_layer->next_layer = node;
    else
        tape->first_layer = node;
    tape->last_layer = node;
    return node;
}

const att_node *att_tape_first_layer(const att_tape *tape)
{
    return tape->first_layer;
}

/* ---------------------------------------------------------------- operations */

/* The node that owns the memory: of a view, the node it is a view of. */
static att_node *storage_node(att_node *node)
{
    while (node->op && !node->op->forward)
        node = node->in[0];
    return node;
}

static bool run(att_tape *tape, att_node *node)
{
    if (!node->op->shape(tape, node) || !count_elements(tape, node))
        return false;
    if (!node->op->forward) {
        node->value = node->in[0]->value;
        return true;
    }
    node->value = att_tape_alloc(tape, node->count, sizeof(float));
    return node->value && node->op->forward(tape, node);
}

/* Int8 weights are for inference, and for the operations that read them. */
static bool check_int8(att_tape *tape, const att_node *node)
{
    for (int i = 0; i < node->input_count; i++) {
        if (!node->in[i] || !node->in[i]->int8)
            continue;
        if (node->requires_grad)
            return att_tape_fail(tape, node->op->name, "gradients need float weights, found int8");
        if (!node->op->reads_int8)
            return att_tape_fail(tape, node->op->name, "expected float weights, found int8");
    }
    return true;
}

att_node *att_op_apply(att_tape *tape, const att_op *op, att_node *const *in, int count,
                       const void *options)
{
    att_node *node = new_node(tape);
    if (!node)
        return NULL;
    node->op = op;
    node->input_count = count;
    node->in = att_tape_copy(tape, in, count, sizeof(att_node *));
    node->options = att_tape_copy(tape, options, 1, op->options_size);
    if (tape->error.status != ATT_OK)
        return NULL;
    for (int i = 0; i < count; i++)
        node->requires_grad = node->requires_grad || (in[i] && in[i]->requires_grad);
    if (!check_int8(tape, node) || !run(tape, node))
        return NULL;
    if (att_progress_abandoned()) { /* the value is incomplete, and nobody may read it */
        att_progress_check(&tape->error);
        return NULL;
    }
    return record(tape, node);
}

/* After a node's backward its gradient is not read again, and its memory is reused for a gradient
 * of the same size. Layers are alike, so that a few gradients suffice for all. The list of free
 * gradients is kept in that memory itself. */
typedef struct free_grad {
    struct free_grad *next;
    int64_t count;
} free_grad;

static void recycle_grad(att_tape *tape, att_node *node)
{
    if (!node->grad || (size_t)node->count * sizeof(float) < sizeof(free_grad))
        return;
    free_grad *entry = (free_grad *)(void *)node->grad; /* aligned to 64 bytes by the pool */
    *entry = (free_grad){ tape->free_grads, node->count };
    tape->free_grads = entry;
}

static float *alloc_grad(att_tape *tape, int64_t count)
{
    for (free_grad **at = &tape->free_grads; *at; at = &(*at)->next)
        if ((*at)->count == count) {
            free_grad *found = *at;
            *at = found->next;
            return (float *)(void *)found;
        }
    return att_tape_alloc(tape, count, sizeof(float));
}

float *att_node_grad_overwrite(att_tape *tape, att_node *node, bool *add)
{
    if (!node || !node->requires_grad)
        return NULL;
    node = storage_node(node);
    *add = node->grad != NULL;
    if (!node->grad)
        node->grad = alloc_grad(tape, node->count);
    return node->grad;
}

bool att_node_grad_move(att_node *node, att_node *input)
{
    if (!input->requires_grad)
        return true;
    input = storage_node(input);
    if (input->grad || input->count != node->count)
        return false;
    input->grad = node->grad;
    node->grad = NULL;
    return true;
}

float *att_node_grad(att_tape *tape, att_node *node)
{
    bool add = true;
    float *grad = att_node_grad_overwrite(tape, node, &add);
    if (grad && !add)
        (void)att_memory_zero(grad, (size_t)storage_node(node)->count * sizeof(float));
    return grad;
}

att_status att_tape_backward(att_tape *tape, att_node *loss, float scale, att_error *err)
{
    if (tape->error.status == ATT_OK && loss->count != 1)
        att_tape_fail(tape, "backward", "expected a scalar loss, found one of %lld elements",
                      (long long)loss->count);
    if (tape->error.status != ATT_OK || !loss->requires_grad)
        return att_tape_status(tape, err);
    float *grad = att_node_grad(tape, loss);
    if (grad)
        grad[0] += scale;
    return att_tape_run_backward(tape, err);
}

void att_tape_on_final_param(att_tape *tape, void (*on_final)(void *context, int param),
                             void *context)
{
    tape->on_final = on_final;
    tape->final_context = context;
}

att_status att_tape_run_backward(att_tape *tape, att_error *err)
{
    for (att_node *node = tape->last; node && tape->error.status == ATT_OK; node = node->prev)
        if (node->op && node->op->backward && node->grad) {
            node->op->backward(tape, node);
            recycle_grad(tape, node);
            att_progress_poll();
            if (att_progress_abandoned())
                att_progress_check(&tape->error);
        } else if (node->param >= 0 && tape->on_final) {
            /* the leaf was recorded before its first use: no node before it adds to its gradient */
            tape->on_final(tape->final_context, node->param);
        }
    return att_tape_status(tape, err);
}
