/* Adds the parameters of layers. The first error is kept, so that a layer is built as a plain list
 * of its parts and the status is checked once, at the end. */
#ifndef ATT_NN_PARAM_BUILDER_H
#define ATT_NN_PARAM_BUILDER_H

#include "tape/params.h"

typedef struct att_param_builder {
    att_params *params;
    float init_range; /* weights start uniform in [-init_range, init_range); 0: each by its shape */
    att_status status; /* the first error */
    att_error *err;
} att_param_builder;

/* The index of a parameter that the settings leave out. */
enum { ATT_NO_PARAM = -1 };

/* Adds a parameter with the shape, initial values and packing of `like`, named `prefix`.`name`.
 * Returns its index; ATT_NO_PARAM after an error. */
int att_build_param(att_param_builder *builder, const att_param *like, const char *prefix,
                    const char *name);

/* A weight matrix [rows,columns] with the initial values of Glorot and Bengio (2010), used in
 * products x w; or used otherwise, with `packing` the ATT_PACK_* forms that inference reads. */
int att_build_matrix(att_param_builder *builder, int64_t rows, int64_t columns, const char *prefix,
                     const char *name);
int att_build_matrix_packed(att_param_builder *builder, int64_t rows, int64_t columns,
                            unsigned packing, const char *prefix, const char *name);

/* A matrix as att_build_matrix() adds, of a convolution, which stays float in an int8 model. */
int att_build_filters(att_param_builder *builder, int64_t rows, int64_t columns, const char *prefix,
                      const char *name);

/* A vector, uniform in ± 1 / sqrt(count); a vector of zeros (a bias); and a table of rows, normal
 * with standard deviation `init_std`, which is looked up and not multiplied. */
int att_build_vector(att_param_builder *builder, int64_t count, const char *prefix,
                     const char *name);
int att_build_zeros(att_param_builder *builder, int64_t count, const char *prefix,
                    const char *name);
int att_build_embedding(att_param_builder *builder, int64_t rows, int64_t columns, float init_std,
                        const char *prefix, const char *name);

#endif
