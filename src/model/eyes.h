/* Eyes: SqueezeNet with the names of what it knows, and a linear map that features go through where
 * they were made elsewhere. A file of them has the network's tensors, "features.weight" and
 * "features.bias" where there is a map, and the labels, a line each, in the metadata. */
#ifndef ATT_MODEL_EYES_H
#define ATT_MODEL_EYES_H

#include "base/arena.h"
#include "tape/tape.h"

struct att_eyes {
    att_params params;
    att_tape *tape;
    int map;             /* the parameter of its weights, its bias after it; ATT_NO_PARAM: none */
    int64_t depth;       /* numbers in a cell of the features */
    const char **labels; /* [ATT_SQUEEZENET_LABELS] */
    att_arena memory;
};

/* Reads eyes from a bundle; `name` stands for the file in errors. */
att_status att_eyes_from_bundle(att_eyes **out, const att_bundle *bundle, const char *name,
                                att_error *err);

/* Adds what a file of eyes says beside its tensors; `labels` is a line each. */
att_status att_eyes_set_meta(att_bundle *bundle, const char *labels, att_error *err);

/* The same network with a map to `depth` numbers, of zeros; to be filled. */
att_status att_eyes_add_map(att_eyes *eyes, int64_t depth, att_error *err);

#endif
