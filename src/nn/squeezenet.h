/* SqueezeNet v1.0 (Iandola et al. 2016): a small network that tells what is on a photograph, and
 * whose last grid serves as a picture's features. */
#ifndef ATT_NN_SQUEEZENET_H
#define ATT_NN_SQUEEZENET_H

#include "nn/param_builder.h"
#include "tape/tape.h"

enum {
    ATT_SQUEEZENET_IMAGE_SIZE = 227, /* pixels of a picture */
    ATT_SQUEEZENET_GRID_SIZE = 7,    /* cells on a side of the features */
    ATT_SQUEEZENET_CHANNELS = 512,   /* numbers in a cell */
    ATT_SQUEEZENET_LABELS = 1000,    /* that it knows */
};

/* Adds its parameters, "conv1.weight" to "convf.bias". A weight is [height width channels, columns]
 * as att_conv2d() takes it. */
void att_squeezenet_build(att_param_builder *builder);

/* How far to run. */
typedef enum att_squeezenet_output {
    ATT_SQUEEZENET_FEATURES,
    ATT_SQUEEZENET_LOGITS
} att_squeezenet_output;

/* Runs pictures [B,227,227,3]: blue, green and red of 0 to 255, less 104, 117 and 123. Gives
 * features [B,7,7,512], means of two by two cells of the last grid; or scores [B,1000]. */
att_node *att_squeezenet_run(att_tape *tape, att_node *images, att_squeezenet_output end);

#endif
