/* The table of parameters, their initial values and their packed forms. */
#include "tape/params.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/random.h"
#include "kern/matmul.h"

#include <math.h>
#include <string.h>

enum { ALIGNED_FLOATS = 16 }; /* every parameter starts at a multiple of 64 bytes */

/* A matrix in panels, packed from some version of the values. */
typedef struct att_packed_weights {
    float *data;
    uint64_t version; /* 0: out of date */
} att_packed_weights;

/* ---------------------------------------------------------------- the table */

int att_params_find(const att_params *params, const char *name)
{
    for (int i = 0; i < params->count; i++)
        if (strcmp(params->items[i].name, name) == 0)
            return i;
    return -1;
}

static att_status grow_items(att_params *params, att_error *err)
{
    void *items = params->items;
    bool grown =
        att_array_grow(&items, &params->capacity, (size_t)params->count, sizeof *params->items);
    params->items = items;
    return grown ? ATT_OK : att_fail_memory(err);
}

/* The number of values of a row; false where its shape is invalid or too large for memory. */
static bool count_values(size_t *out, const att_param *row)
{
    *out = 1;
    if (row->rank < 0 || row->rank > ATT_PARAM_MAX_RANK)
        return false;
    for (int d = 0; d < row->rank; d++)
        if (row->shape[d] < 0 || __builtin_mul_overflow(*out, (size_t)row->shape[d], out))
            return false;
    return *out <= PTRDIFF_MAX / sizeof(float) - ALIGNED_FLOATS;
}

att_status att_params_add(att_params *params, const att_param *row, int *index, att_error *err)
{
    size_t count, past;
    if (params->value)
        return att_fail(err, ATT_BAD_INPUT, row->name,
                        "a parameter was added after the parameters were allocated");
    if (att_params_find(params, row->name) >= 0)
        return att_fail(err, ATT_BAD_INPUT, row->name, "there is already a parameter of this name");
    if (!count_values(&count, row))
        return att_fail(err, ATT_BAD_INPUT, row->name,
                        "the shape of this parameter is invalid or too large");
    size_t room = att_round_up(count, ALIGNED_FLOATS);
    if (__builtin_add_overflow(params->size, room, &past) || past > PTRDIFF_MAX / sizeof(float))
        return att_fail_memory(err);
    ATT_TRY(grow_items(params, err));
    char *name = att_arena_strndup(&params->names, row->name, strlen(row->name));
    if (!name)
        return att_fail_memory(err);
    *index = params->count++;
    att_param *item = &params->items[*index];
    *item = *row;
    item->name = name;
    item->offset = params->size;
    item->count = count;
    params->size = past;
    return ATT_OK;
}

/* ---------------------------------------------------------------- initial values */

/* Values drawn between two polls of the callback: less than a millisecond. */
enum { VALUES_PER_POLL = 1 << 14 };

static void poll_at(size_t i)
{
    if (i % VALUES_PER_POLL == VALUES_PER_POLL - 1)
        att_progress_poll();
}

static void fill_uniform(float *out, size_t count, double spread, uint64_t seed, uint64_t stream)
{
    for (size_t i = 0; i < count && !att_progress_cancelled(); i++, poll_at(i))
        out[i] = (float)(spread * (2 * att_random_double(seed, stream, i) - 1));
}

static void fill(float *out, const att_param *p, uint64_t seed)
{
    uint64_t stream =
        att_hash_fnv1a(p->name, strlen(p->name)); /* never changes: it seeds weights */
    double fan = p->rank >= 2 ? (double)p->shape[0] + (double)p->shape[1] : (double)p->count;
    switch (p->init) {
    case ATT_INIT_ZERO:
        break;
    case ATT_INIT_ONE:
        for (size_t i = 0; i < p->count; i++)
            out[i] = 1;
        break;
    case ATT_INIT_UNIFORM:
        fill_uniform(out, p->count, (double)p->init_scale, seed, stream);
        break;
    case ATT_INIT_NORMAL:
        for (size_t i = 0; i < p->count && !att_progress_cancelled(); i++, poll_at(i))
            out[i] = (float)((double)p->init_scale * att_random_normal(seed, stream, i));
        break;
    case ATT_INIT_GLOROT:
        fill_uniform(out, p->count, (double)p->init_scale * sqrt(6 / fan), seed, stream);
        break;
    case ATT_INIT_FORGET_BIAS:
        for (size_t i = p->count / 4; i < p->count / 2; i++)
            out[i] = 1;
        break;
    }
}

att_status att_params_alloc(att_params *params, att_error *err)
{
    params->version = 1;
    params->value = att_alloc_zero(params->size, sizeof(float));
    params->packed_weights =
        att_alloc_zero(2 * (size_t)params->count, sizeof *params->packed_weights);
    return params->value && params->packed_weights ? ATT_OK : att_fail_memory(err);
}

att_status att_params_init(att_params *params, uint64_t seed, att_error *err)
{
    ATT_TRY(att_params_alloc(params, err));
    for (int i = 0; i < params->count; i++) {
        fill(params->value + params->items[i].offset, &params->items[i], seed);
        ATT_TRY(att_progress_check(err));
    }
    att_params_mark_changed(params);
    return ATT_OK;
}

att_status att_params_alloc_grad(att_params *params, att_error *err)
{
    if (!params->grad)
        params->grad = att_alloc_zero(params->size, sizeof(float));
    return params->grad ? ATT_OK : att_fail_memory(err);
}

void att_params_free(att_params *params)
{
    for (int i = 0; params->packed_weights && i < 2 * params->count; i++)
        att_free(params->packed_weights[i].data);
    att_free(params->packed_weights);
    for (int i = 0; params->int8 && i < params->count; i++)
        att_free(params->int8[i].panels); /* the first of its block */
    att_free(params->int8);
    att_free(params->value);
    att_free(params->grad);
    att_free(params->items);
    att_arena_free(&params->names);
    *params = (att_params){ 0 };
}

/* ---------------------------------------------------------------- use */

att_tensor att_param_view(const att_params *params, int index)
{
    const att_param *p = &params->items[index];
    return att_tensor_view(params->value + p->offset, ATT_F32, p->rank, p->shape);
}

void att_params_mark_changed(att_params *params)
{
    params->version++;
}

void att_param_mark_changed(att_params *params, int index)
{
    for (int form = 0; form < 2; form++)
        params->packed_weights[2 * index + form].version = 0;
}

/* ---------------------------------------------------------------- packed forms */

void att_param_add_packing(att_params *params, int index, unsigned packing)
{
    if (index >= 0) /* -1: the parameter could not be added */
        params->items[index].packing |= packing;
}

const float *att_param_packed(const att_params *params, int index, bool transposed)
{
    const att_packed_weights *packed = &params->packed_weights[2 * index + transposed];
    return packed->version == params->version ? packed->data : NULL;
}

const float *att_param_pack(att_params *params, int index, bool transposed)
{
    const att_param *p = &params->items[index];
    att_packed_weights *packed = &params->packed_weights[2 * index + transposed];
    size_t depth = (size_t)p->shape[transposed], columns = (size_t)p->shape[!transposed];
    if (packed->data && packed->version == params->version)
        return packed->data;
    if (!packed->data)
        packed->data = att_alloc(att_matmul_packed_size(depth, columns), sizeof(float));
    if (packed->data) {
        att_matmul_pack(packed->data, params->value + p->offset, (size_t)p->shape[1], transposed,
                        depth, columns);
        packed->version = params->version;
    }
    return packed->data;
}

att_status att_params_pack(att_params *params, att_error *err)
{
    for (int i = 0; i < params->count; i++)
        for (int form = 0; form < 2; form++) {
            bool declared =
                params->items[i].packing & (form ? ATT_PACK_TRANSPOSED : ATT_PACK_PLAIN);
            if (declared && !att_param_int8(params, i) && !att_param_pack(params, i, form))
                return att_fail_memory(err);
        }
    return ATT_OK;
}
