/* SqueezeNet v1.0 (Iandola et al. 2016): a small image classifier whose last feature map serves as
 * the image encoder of caption models. */
#ifndef ATT_NN_SQUEEZENET_H
#define ATT_NN_SQUEEZENET_H

#include "nn/param_builder.h"
#include "tape/tape.h"

enum {
    ATT_SQUEEZENET_IMAGE_SIZE = 227, /* pixels on a side of the image */
    ATT_SQUEEZENET_GRID_SIZE = 7,    /* cells on a side of the features */
    ATT_SQUEEZENET_CHANNELS = 512,   /* numbers per cell */
    ATT_SQUEEZENET_LABELS = 1000,    /* classes */
};

/* Adds its parameters, "conv1.weight" to "convf.bias". A weight is [height width channels, columns]
 * as att_conv2d() takes it. */
void att_squeezenet_build(att_param_builder *builder);

typedef enum att_squeezenet_output {
    ATT_SQUEEZENET_FEATURES,
    ATT_SQUEEZENET_LOGITS
} att_squeezenet_output;

/* Runs images [B,227,227,3]: blue, green and red from 0 to 255, minus 104, 117 and 123. Returns the
 * features [B,7,7,512], means of 2 x 2 cells of the last feature map; or the logits [B,1000]. */
att_node *att_squeezenet_run(att_tape *tape, att_node *images, att_squeezenet_output output);

#endif
