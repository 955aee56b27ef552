/* SqueezeNet; see squeezenet.h. The network is the table below. */
#include "nn/squeezenet.h"

#include "tape/ops.h"

#include <stdio.h>
#include <string.h>

typedef enum part_kind { PART_CONVOLVE, PART_POOL, PART_FIRE, PART_FEATURES } part_kind;

/* A fire module squeezes to few columns, 1 x 1, and expands these to many, half of them 1 x 1 and
 * half 3 x 3, side by side: convolutions `name`s, `name`a and `name`b. */
typedef struct part {
    part_kind kind;
    const char *name;
    int64_t columns; /* that it gives */
    int64_t squeeze; /* of a fire module */
    int64_t size, stride;
} part;

#define CONVOLVE(name, columns, size, stride)                                                      \
    {                                                                                              \
        PART_CONVOLVE, name, columns, 0, size, stride                                              \
    }
#define FIRE(name, columns, squeeze)                                                               \
    {                                                                                              \
        PART_FIRE, name, columns, squeeze, 0, 0                                                    \
    }
#define POOL(size, stride)                                                                         \
    {                                                                                              \
        PART_POOL, NULL, 0, 0, size, stride                                                        \
    }

/* The published file pads the last convolution by 1, which only mixes its biases into the mean;
 * the known answers are without. */
static const part parts[] = {
    CONVOLVE("conv1", 96, 7, 2),
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
    FIRE("f9", ATT_SQUEEZENET_DEPTH, 64),
    { .kind = PART_FEATURES, .size = 2 },
    CONVOLVE("convf", ATT_SQUEEZENET_LABELS, 1, 1),
};
enum { PARTS = sizeof parts / sizeof *parts, NAME = 16, COLOURS = 3 };

/* ---------------------------------------------------------------- parameters */

static void build_convolution(att_builder *builder, const char *prefix, const char *suffix,
                              int64_t depth, int64_t columns)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s%s", prefix, suffix);
    att_build_matrix(builder, depth, columns, name, "weight");
    att_build_zeros(builder, columns, name, "bias");
}

void att_squeezenet_build(att_builder *builder)
{
    int64_t channels = COLOURS;
    for (const part *p = parts; p < parts + PARTS; p++) {
        if (p->kind == PART_CONVOLVE)
            build_convolution(builder, p->name, "", p->size * p->size * channels, p->columns);
        if (p->kind == PART_FIRE) {
            build_convolution(builder, p->name, "s", channels, p->squeeze);
            build_convolution(builder, p->name, "a", p->squeeze, p->columns / 2);
            build_convolution(builder, p->name, "b", 9 * p->squeeze, p->columns / 2);
        }
        channels = p->columns ? p->columns : channels;
    }
}

/* ---------------------------------------------------------------- running */

/* Where the next parameter is: they are used in the order in which they were added. */
typedef struct walk {
    att_tape *tape;
    int next;
} walk;

static att_node *convolve(walk *w, att_node *x, int64_t size, int64_t stride, int64_t padding)
{
    att_node *weight = att_tape_param(w->tape, w->next),
             *bias = att_tape_param(w->tape, w->next + 1);
    w->next += 2;
    return att_convolve(w->tape, x, weight, bias,
                        &(att_convolution){ size, size, stride, padding, ATT_ACTIVATION_RELU });
}

static att_node *fire(walk *w, att_node *x)
{
    att_node *squeezed = convolve(w, x, 1, 1, 0);
    att_node *narrow = convolve(w, squeezed, 1, 1, 0);
    att_node *wide = convolve(w, squeezed, 3, 1, 1);
    return att_join(w->tape, (att_node *const[]){ narrow, wide }, 2);
}

att_node *att_squeezenet_run(att_tape *tape, att_node *x, att_squeezenet_end end)
{
    walk w = { .tape = tape };
    for (const part *p = parts; p < parts + PARTS; p++) {
        if (p->kind == PART_CONVOLVE)
            x = convolve(&w, x, p->size, p->stride, 0);
        else if (p->kind == PART_FIRE)
            x = fire(&w, x);
        else if (p->kind == PART_POOL)
            x = att_grid_max(tape, x, p->size, p->stride, true);
        else if (end == ATT_SQUEEZENET_FEATURES)
            return att_grid_mean(tape, x, p->size, p->size);
    }
    if (!x)
        return NULL;
    x = att_grid_mean(tape, x, x->shape[1], x->shape[2]);
    return x ? att_reshape(tape, x, 2, (int64_t[]){ x->shape[0], x->shape[3] }) : NULL;
}
