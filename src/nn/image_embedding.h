/* How a model sees pictures: convolutions where it is given pixels, or what another network saw
 * normalised; then every cell as a vector of the model's width, with its row and column added. */
#ifndef ATT_NN_IMAGE_EMBEDDING_H
#define ATT_NN_IMAGE_EMBEDDING_H

#include "nn/param_builder.h"
#include "settings/settings.h"
#include "tape/ops.h"

enum { ATT_MAX_CONV_LAYERS = 8 };

typedef struct att_image_embedding {
    int64_t in_rows, in_columns, channels; /* of pictures as they come */
    int64_t rows, columns;                 /* of the cells that the model looks at */
    int64_t hidden_size;                   /* N */
    int conv_layers;
    struct {
        int w, bias; /* [3 3 C, C'], [C'] */
    } conv[ATT_MAX_CONV_LAYERS];
    int norm_gain, norm_bias;            /* [depth] of the norm, where there are no convolutions */
    int projection_w, projection_bias;   /* [C,N], [N] */
    int row_positions, column_positions; /* [rows,N], [columns,N]; or none */
    float dropout;
    uint64_t dropout_id;
} att_image_embedding;

/* Adds its parameters, named "eye.…". Pictures too small for their convolutions, or of no size, are
 * ATT_BAD_INPUT. */
void att_image_embedding_build(att_image_embedding *out, att_param_builder *builder,
                               const att_settings *settings, uint64_t drop_place);

/* Sees `count` pictures [count,in_rows,in_columns,depth], which are lent to the tape: [count, rows
 * columns, N]. */
att_node *att_image_embedding_run(const att_image_embedding *embedding, att_tape *tape,
                                  int64_t count, const float *images);

/* Cells that the model looks at. */
int64_t att_image_embedding_cell_count(const att_image_embedding *embedding);

/* The mean of each picture's cells, x [count,cells,N]: [count,N]. */
att_node *att_image_embedding_mean(const att_image_embedding *embedding, att_tape *tape,
                                   att_node *x);

#endif
