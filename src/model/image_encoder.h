/* The image encoder: SqueezeNet v1.0 with its labels and, optionally, a linear projection of its
 * features (att_image_encoder_fit). Immutable after it is built; each call uses its own tape.
 *
 * The file holds the tensors of the network, "features.weight" and "features.bias" if there is a
 * projection, and the labels, one per line, in the metadata. */
#ifndef ATT_MODEL_IMAGE_ENCODER_H
#define ATT_MODEL_IMAGE_ENCODER_H

#include "base/arena.h"
#include "tape/tape.h"

#include <stdatomic.h>

struct att_image_encoder {
    att_params params;
    int projection;        /* index of the projection's weight, its bias follows; or ATT_NO_PARAM */
    int64_t feature_depth; /* channels of the features */
    const char **labels;   /* [ATT_SQUEEZENET_LABELS] */
    att_arena arena;       /* of the labels */
    _Atomic(att_tape *) *idle_tape; /* a tape that no call uses now, or NULL */
};

/* Reads an image encoder from a bundle; `name` is the file in errors. */
att_status att_image_encoder_from_bundle(att_image_encoder **out, const att_bundle *bundle,
                                         const char *name, att_error *err);

/* Adds the metadata of an image encoder's file; `labels` has one per line. */
att_status att_image_encoder_set_metadata(att_bundle *bundle, const char *labels, att_error *err);

/* A copy with a projection to `depth` channels, all zeros, which the caller fills and packs. */
att_status att_image_encoder_with_projection(att_image_encoder **out,
                                             const att_image_encoder *encoder, int64_t depth,
                                             att_error *err);

#endif
