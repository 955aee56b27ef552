/* Image embedding of a caption model: convolutions over pixels, or a layer norm over the features
 * of an image encoder; then a projection of every cell to the model's width, with the vectors of
 * its row and column added. */
#ifndef ATT_NN_IMAGE_EMBEDDING_H
#define ATT_NN_IMAGE_EMBEDDING_H

#include "nn/param_builder.h"
#include "settings/settings.h"
#include "tape/ops.h"

enum { ATT_MAX_CONV_LAYERS = 8 };

typedef struct att_image_embedding {
    int64_t in_rows, in_columns, channels; /* of the input images */
    int64_t rows, columns;                 /* of the cells that the decoder attends to */
    int64_t hidden_size;                   /* N */
    int conv_layers;
    struct {
        int w, bias; /* [3 3 C, C'], [C'] */
    } conv[ATT_MAX_CONV_LAYERS];
    int norm_gain, norm_bias;            /* [channels]; ATT_NO_PARAM with convolutions */
    int projection_w, projection_bias;   /* [C,N], [N] */
    int row_positions, column_positions; /* [rows,N], [columns,N]; or ATT_NO_PARAM */
    float dropout;
    uint64_t dropout_id;
} att_image_embedding;

/* Adds its parameters. Images that are empty or too small for the convolutions are ATT_BAD_INPUT.
 */
void att_image_embedding_build(att_image_embedding *out, att_param_builder *builder,
                               const att_settings *settings, uint64_t dropout_id);

/* The cells [count, rows columns, N] of images [count,in_rows,in_columns,channels], which must live
 * as long as the tape's nodes. */
att_node *att_image_embedding_run(const att_image_embedding *embedding, att_tape *tape,
                                  int64_t count, const float *images);

/* The first part of it: the features [count,rows,columns,C] behind the convolutions, or the images
 * themselves where there are none. */
att_node *att_image_embedding_convolve(const att_image_embedding *embedding, att_tape *tape,
                                       int64_t count, const float *images);

/* rows columns */
int64_t att_image_embedding_cell_count(const att_image_embedding *embedding);

/* The mean of each image's cells, x [count,cells,N]: [count,N]. */
att_node *att_image_embedding_mean(const att_image_embedding *embedding, att_tape *tape,
                                   att_node *x);

#endif
