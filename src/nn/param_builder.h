/* How layers come by their parameters. The first failure sticks, so that a layer is built as a
 * plain list of its parts and asks once, at the end. */
#ifndef ATT_NN_PARAM_BUILDER_H
#define ATT_NN_PARAM_BUILDER_H

#include "tape/params.h"

typedef struct att_param_builder {
    att_params *params;
    float init_range;  /* weights start between -spread and spread; 0: by the size of each */
    att_status status; /* the first failure */
    att_error *err;
} att_param_builder;

/* No parameter: what a layer has in the place of one that its settings leave out. */
enum { ATT_NO_PARAM = -1 };

/* Adds a parameter of the shape and start of `like`, named `prefix`.`name`, and gives its index;
 * ATT_NO_PARAM after a failure. */
int att_build_param(att_param_builder *builder, const att_param *like, const char *prefix,
                    const char *name);

/* The usual ones: a matrix [rows,columns] that keeps the size of what goes through it (Glorot and
 * Bengio 2010); a vector; one of zeros; a table of rows drawn with deviation `spread`. */
int att_build_matrix(att_param_builder *builder, int64_t rows, int64_t columns, const char *prefix,
                     const char *name);
int att_build_vector(att_param_builder *builder, int64_t count, const char *prefix,
                     const char *name);
int att_build_zeros(att_param_builder *builder, int64_t count, const char *prefix,
                    const char *name);
int att_build_embedding(att_param_builder *builder, int64_t rows, int64_t columns, float spread,
                        const char *prefix, const char *name);

#endif
