/* SqueezeNet: a table of layers, from which parameters are built and the network is run. */
#include "nn/squeezenet.h"

#include "tape/ops.h"

#include <stdio.h>
#include <string.h>

typedef enum layer_kind { LAYER_CONV2D, LAYER_MAX_POOL, LAYER_FIRE, LAYER_FEATURES } layer_kind;

/* A fire module has a 1 x 1 convolution to few channels (squeeze, `name`s), then a 1 x 1 and a 3 x
 * 3 convolution to half of the output channels each (expand, `name`a and `name`b), concatenated. */
typedef struct layer {
    layer_kind kind;
    const char *name;
    int64_t out_channels;
    int64_t squeeze; /* channels of a fire module's first convolution */
    int64_t size, stride;
} layer;

#define CONV2D(name, columns, size, stride)                                                        \
    {                                                                                              \
        LAYER_CONV2D, name, columns, 0, size, stride                                               \
    }
#define FIRE(name, columns, squeeze)                                                               \
    {                                                                                              \
        LAYER_FIRE, name, columns, squeeze, 0, 0                                                   \
    }
#define POOL(size, stride)                                                                         \
    {                                                                                              \
        LAYER_MAX_POOL, NULL, 0, 0, size, stride                                                   \
    }

/* The published file pads the last convolution by 1, which only mixes its biases into the mean; the
 * published results are without the padding. */
static const layer layers[] = {
    CONV2D("conv1", 96, 7, 2),
    POOL(3, 2),
    FIRE("f2", 128, 16),
    FIRE("f3", 128, 16),
    FIRE("f4", 256, 32),
    POOL(3, 2),
    FIRE("f5", 256, 32),
    FIRE("f6", 384, 48),
    FIRE("f7", 384, 48),
    FIRE("f8", 512, 64),
    POOL(3, 2),
    FIRE("f9", ATT_SQUEEZENET_CHANNELS, 64),
    { .kind = LAYER_FEATURES, .size = 2 },
    CONV2D("convf", ATT_SQUEEZENET_LABELS, 1, 1),
};
enum { LAYER_COUNT = sizeof layers / sizeof *layers, NAME = 16, COLOR_CHANNELS = 3 };

/* ---------------------------------------------------------------- parameters */

static void build_conv2d(att_param_builder *builder, const char *prefix, const char *suffix,
                         int64_t depth, int64_t columns)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s%s", prefix, suffix);
    att_build_matrix(builder, depth, columns, name, "weight");
    att_build_zeros(builder, columns, name, "bias");
}

void att_squeezenet_build(att_param_builder *builder)
{
    int64_t channels = COLOR_CHANNELS;
    for (const layer *p = layers; p < layers + LAYER_COUNT; p++) {
        if (p->kind == LAYER_CONV2D)
            build_conv2d(builder, p->name, "", p->size * p->size * channels, p->out_channels);
        if (p->kind == LAYER_FIRE) {
            build_conv2d(builder, p->name, "s", channels, p->squeeze);
            build_conv2d(builder, p->name, "a", p->squeeze, p->out_channels / 2);
            build_conv2d(builder, p->name, "b", 9 * p->squeeze, p->out_channels / 2);
        }
        channels = p->out_channels ? p->out_channels : channels;
    }
}

/* ---------------------------------------------------------------- running */

/* Parameters are used in the order in which they were added. */
typedef struct param_cursor {
    att_tape *tape;
    int next;
} param_cursor;

static att_node *conv2d(param_cursor *w, att_node *x, int64_t size, int64_t stride, int64_t padding)
{
    att_node *weight = att_tape_param(w->tape, w->next),
             *bias = att_tape_param(w->tape, w->next + 1);
    w->next += 2;
    return att_conv2d(w->tape, x, weight, bias,
                      &(att_conv2d_options){ size, size, stride, padding, ATT_ACTIVATION_RELU });
}

static att_node *fire(param_cursor *w, att_node *x)
{
    att_node *squeezed = conv2d(w, x, 1, 1, 0);
    att_node *expand1 = conv2d(w, squeezed, 1, 1, 0);
    att_node *expand3 = conv2d(w, squeezed, 3, 1, 1);
    return att_concat(w->tape, (att_node *const[]){ expand1, expand3 }, 2);
}

att_node *att_squeezenet_run(att_tape *tape, att_node *x, att_squeezenet_output output)
{
    param_cursor w = { .tape = tape };
    for (const layer *p = layers; p < layers + LAYER_COUNT; p++) {
        if (p->kind == LAYER_CONV2D)
            x = conv2d(&w, x, p->size, p->stride, 0);
        else if (p->kind == LAYER_FIRE)
            x = fire(&w, x);
        else if (p->kind == LAYER_MAX_POOL)
            x = att_max_pool2d(tape, x, p->size, p->stride, true);
        else if (output == ATT_SQUEEZENET_FEATURES)
            return att_avg_pool2d(tape, x, p->size, p->size);
        if (p->name)
            att_tape_name_layer(tape, x, p->name, 0);
    }
    if (!x)
        return NULL;
    x = att_avg_pool2d(tape, x, x->shape[1], x->shape[2]);
    return x ? att_reshape(tape, x, 2, (int64_t[]){ x->shape[0], x->shape[3] }) : NULL;
}
