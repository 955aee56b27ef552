/* Adds the parameters of layers: matrices, vectors, biases and embedding tables, each with its
 * initial values. */
#include "nn/param_builder.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>

enum { NAME_SIZE = 96 }; /* far more than the names that layers make */

int att_build_param(att_param_builder *builder, const att_param *like, const char *prefix,
                    const char *name)
{
    if (builder->status != ATT_OK)
        return ATT_NO_PARAM;
    char full[NAME_SIZE];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    att_param row = *like;
    row.name = full;
    bool weights =
        row.init != ATT_INIT_ZERO && row.init != ATT_INIT_ONE && row.init != ATT_INIT_FORGET_BIAS;
    if (weights && builder->init_range > 0) {
        row.init = ATT_INIT_UNIFORM;
        row.init_scale = builder->init_range;
    }
    int index = ATT_NO_PARAM;
    builder->status = att_params_add(builder->params, &row, &index, builder->err);
    return index;
}

int att_build_matrix_packed(att_param_builder *builder, int64_t rows, int64_t columns,
                            unsigned packing, const char *prefix, const char *name)
{
    const att_param like = { .rank = 2,
                             .shape = { rows, columns },
                             .init = ATT_INIT_GLOROT,
                             .init_scale = 1,
                             .packing = packing };
    return att_build_param(builder, &like, prefix, name);
}

int att_build_matrix(att_param_builder *builder, int64_t rows, int64_t columns, const char *prefix,
                     const char *name)
{
    return att_build_matrix_packed(builder, rows, columns, ATT_PACK_PLAIN, prefix, name);
}

int att_build_filters(att_param_builder *builder, int64_t rows, int64_t columns, const char *prefix,
                      const char *name)
{
    int index = att_build_matrix(builder, rows, columns, prefix, name);
    if (index != ATT_NO_PARAM)
        builder->params->items[index].float_only = true;
    return index;
}

int att_build_vector(att_param_builder *builder, int64_t count, const char *prefix,
                     const char *name)
{
    const att_param like = { .rank = 1,
                             .shape = { count },
                             .init = ATT_INIT_UNIFORM,
                             .init_scale = 1 / sqrtf((float)count) };
    return att_build_param(builder, &like, prefix, name);
}

int att_build_zeros(att_param_builder *builder, int64_t count, const char *prefix, const char *name)
{
    const att_param like = { .rank = 1, .shape = { count }, .init = ATT_INIT_ZERO };
    return att_build_param(builder, &like, prefix, name);
}

int att_build_embedding(att_param_builder *builder, int64_t rows, int64_t columns, float init_std,
                        const char *prefix, const char *name)
{
    const att_param like = {
        .rank = 2,
        .shape = { rows, columns },
        .init = ATT_INIT_NORMAL,
        .init_scale = init_std,
        .packing = ATT_PACK_ROWS,
    };
    return att_build_param(builder, &like, prefix, name);
}
