/* Parameters of layers; see build.h. */
#include "nn/build.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>

/* The longest name; those that layers make are far shorter. */
enum { NAME_ROOM = 96 };

int att_build_param(att_builder *builder, const att_param *like, const char *prefix,
                    const char *name)
{
    if (builder->status != ATT_OK)
        return ATT_NO_PARAM;
    char full[NAME_ROOM];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    att_param row = *like;
    row.name = full;
    bool weights =
        row.start != ATT_START_ZERO && row.start != ATT_START_ONE && row.start != ATT_START_FORGET;
    if (weights && builder->spread > 0) {
        row.start = ATT_START_UNIFORM;
        row.spread = builder->spread;
    }
    int index = ATT_NO_PARAM;
    builder->status = att_params_add(builder->params, &row, &index, builder->err);
    return index;
}

int att_build_matrix(att_builder *builder, int64_t rows, int64_t columns, const char *prefix,
                     const char *name)
{
    const att_param like = {
        .rank = 2, .shape = { rows, columns }, .start = ATT_START_GLOROT, .spread = 1
    };
    return att_build_param(builder, &like, prefix, name);
}

int att_build_vector(att_builder *builder, int64_t count, const char *prefix, const char *name)
{
    const att_param like = {
        .rank = 1, .shape = { count }, .start = ATT_START_UNIFORM, .spread = 1 / sqrtf((float)count)
    };
    return att_build_param(builder, &like, prefix, name);
}

int att_build_zeros(att_builder *builder, int64_t count, const char *prefix, const char *name)
{
    const att_param like = { .rank = 1, .shape = { count }, .start = ATT_START_ZERO };
    return att_build_param(builder, &like, prefix, name);
}

int att_build_table(att_builder *builder, int64_t rows, int64_t columns, float spread,
                    const char *prefix, const char *name)
{
    const att_param like = {
        .rank = 2, .shape = { rows, columns }, .start = ATT_START_NORMAL, .spread = spread
    };
    return att_build_param(builder, &like, prefix, name);
}
