/* Int8 parameters: which matrices can be int8, their memory, and their values. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "tape/params.h"

bool att_param_outputs_are_rows(const att_param *param)
{
    return param->packing & (ATT_PACK_TRANSPOSED | ATT_PACK_ROWS);
}

bool att_int8_shape_fits(int64_t outputs, int64_t depth)
{
    return outputs >= ATT_INT8_MIN_OUTPUTS && depth >= 1 && depth <= ATT_INT8_MAX_DEPTH;
}

bool att_param_can_be_int8(const att_param *param)
{
    unsigned rows = ATT_PACK_TRANSPOSED | ATT_PACK_ROWS;
    bool one_form =
        param->packing == ATT_PACK_PLAIN || (param->packing != 0 && (param->packing & ~rows) == 0);
    if (param->rank != 2 || param->float_only || !one_form)
        return false;
    bool by_row = att_param_outputs_are_rows(param);
    return att_int8_shape_fits(param->shape[!by_row], param->shape[by_row]);
}

const att_int8_matrix *att_param_int8(const att_params *params, int index)
{
    return params->int8 && params->int8[index].panels ? &params->int8[index] : NULL;
}

static att_status alloc_matrix(att_int8_matrix *out, const att_param *param, att_error *err)
{
    bool by_row = att_param_outputs_are_rows(param);
    size_t outputs = (size_t)param->shape[!by_row], depth = (size_t)param->shape[by_row];
    void *block = att_alloc_zero(att_int8_matrix_size(depth, outputs), 1);
    if (!block)
        return att_fail_memory(err);
    *out = att_int8_matrix_place(block, depth, outputs);
    return ATT_OK;
}

/* The other parameters move together in the block of floats. */
att_status att_params_alloc_int8(att_params *params, att_error *err)
{
    enum { ALIGNED_FLOATS = 16 };
    params->int8 = att_alloc_zero((size_t)params->count, sizeof *params->int8);
    if (!params->int8)
        return att_fail_memory(err);
    params->size = 0;
    for (int i = 0; i < params->count; i++) {
        att_param *param = &params->items[i];
        param->offset = params->size;
        if (att_param_can_be_int8(param))
            ATT_TRY(alloc_matrix(&params->int8[i], param, err));
        else
            params->size += att_round_up(param->count, ALIGNED_FLOATS);
    }
    return att_params_alloc(params, err);
}

/* Copies by column of the int8 matrix, which is a row of the parameter or a column. */
void att_param_int8_values(int8_t *to, const att_params *params, int index)
{
    const att_int8_matrix *matrix = &params->int8[index];
    bool by_row = att_param_outputs_are_rows(&params->items[index]);
    for (size_t j = 0; j < matrix->columns; j++)
        att_int8_matrix_column(by_row ? to + j * matrix->depth : to + j, matrix, j,
                               by_row ? 1 : matrix->columns);
}

void att_param_int8_floats(float *to, const att_params *params, int index)
{
    const att_int8_matrix *matrix = &params->int8[index];
    bool by_row = att_param_outputs_are_rows(&params->items[index]);
    for (size_t j = 0; j < matrix->columns; j++)
        att_int8_matrix_column_floats(by_row ? to + j * matrix->depth : to + j, matrix, j,
                                      by_row ? 1 : matrix->columns);
}
