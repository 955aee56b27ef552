/* Eyes: SqueezeNet with the names of what it knows, and a linear map that features go through where
 * they were made elsewhere. A file of them has the network's tensors, "features.weight" and
 * "features.bias" where there is a map, and the labels, a line each, in the metadata. */
#ifndef ATT_MODEL_IMAGE_ENCODER_H
#define ATT_MODEL_IMAGE_ENCODER_H

#include "base/arena.h"
#include "tape/tape.h"

struct att_image_encoder {
    att_params params;
    att_tape *tape;
    int projection;        /* the parameter of its weights, its bias after it; ATT_NO_PARAM: none */
    int64_t feature_depth; /* numbers in a cell of the features */
    const char **labels;   /* [ATT_SQUEEZENET_LABELS] */
    att_arena arena;
};

/* Reads eyes from a bundle; `name` stands for the file in errors. */
att_status att_image_encoder_from_bundle(att_image_encoder **out, const att_bundle *bundle,
                                         const char *name, att_error *err);

/* Adds what a file of eyes says beside its tensors; `labels` is a line each. */
att_status att_image_encoder_set_metadata(att_bundle *bundle, const char *labels, att_error *err);

/* The same network with a map to `depth` numbers, of zeros; to be filled. */
att_status att_image_encoder_add_projection(att_image_encoder *eyes, int64_t depth, att_error *err);

#endif
