/* Image files and the image encoder. */
#ifndef TOOLS_ATTEND_IMAGES_H
#define TOOLS_ATTEND_IMAGES_H

#include "program.h"

/* Encodes image files: a new tensor, float [count, rows, columns, channels]. */
att_status images_encode(att_tensor *out, att_image_encoder *encoder, const char *const *paths,
                         size_t count, att_error *err);

/* The same with the image encoder in a file. */
att_status images_encode_with(att_tensor *out, const char *encoder_path, const char *const *paths,
                              size_t count, att_error *err);

/* The image that a caption model reads: number `index` of the features in the .npy file `features`
 * (NULL: of the validation images of its training), or the image file `path` with an encoder. */
typedef struct image_selection {
    const char *path, *features, *image_encoder;
    long index; /* from 0 */
    bool recorded_data;
} image_selection;

/* A new tensor, float [1, rows, columns, channels] or [1, cells, channels]. */
att_status images_select(att_tensor *out, const att_model *model, const image_selection *which,
                         att_error *err);

/* Prints the most probable labels of each image, as lines or as one JSON object per image. */
att_status images_classify(att_image_encoder *encoder, const char *const *paths, size_t count,
                           bool json, att_error *err);

#endif
