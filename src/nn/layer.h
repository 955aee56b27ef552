/* A layer of a Transformer: attention to its own sequence, in a decoder attention to the source,
 * and two matrices with an activation between. Each of these parts has a norm before or after it
 * and what went in added to what comes out. */
#ifndef ATT_NN_LAYER_H
#define ATT_NN_LAYER_H

#include "nn/heads.h"
#include "settings/settings.h"

typedef struct att_norm {
    int gain; /* [D], or ATT_NO_PARAM: no norm */
    int bias; /* [D], or ATT_NO_PARAM: the rows are divided by the root of their mean square alone
               */
} att_norm;

/* What surrounds a part. */
typedef struct att_frame {
    att_norm before, after;
    bool residual;
    float dropout; /* of what comes out */
    uint64_t drop_place;
} att_frame;

typedef struct att_feed_forward {
    bool present;
    bool gated; /* the first matrix gives two halves */
    att_activation activation;
    att_affine first, second;
} att_feed_forward;

typedef struct att_layer {
    att_frame self_frame, cross_frame, feed_frame;
    att_heads self, cross;
    att_feed_forward feed;
} att_layer;

/* Adds the norm that the settings ask for, named `prefix`.gain and `prefix`.bias. */
void att_norm_build(att_norm *out, att_builder *builder, const att_settings *settings,
                    const char *prefix);
att_node *att_norm_run(const att_norm *norm, att_tape *tape, att_node *x);

/* Adds the parameters of a layer, named after `prefix`; `place` tells its draws from those of
 * others, which are at least ATT_LAYER_PLACES away. */
enum { ATT_LAYER_PLACES = 8 };
void att_layer_build(att_layer *out, att_builder *builder, const att_settings *settings,
                     bool decoder, uint64_t place, const char *prefix);

/* What a part is given for x, and what becomes of x with what it gave. */
att_node *att_frame_enter(const att_frame *frame, att_tape *tape, att_node *x);
att_node *att_frame_leave(const att_frame *frame, att_tape *tape, att_node *x, att_node *y);

/* The last part of a layer, with its frame. */
att_node *att_layer_feed(const att_layer *layer, att_tape *tape, att_node *x);

#endif
