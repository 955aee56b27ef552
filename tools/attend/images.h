/* Photographs, and the network that looks at them. */
#ifndef TOOLS_ATTEND_IMAGES_H
#define TOOLS_ATTEND_IMAGES_H

#include "program.h"

/* What eyes see in photographs, float [count,rows,columns,depth]: a new tensor. */
att_status images_encode(att_tensor *out, att_image_encoder *eyes, const char *const *paths,
                         size_t count, att_error *err);

/* The same with the eyes in a file. */
att_status images_encode_with(att_tensor *out, const char *eyes, const char *const *paths,
                              size_t count, att_error *err);

/* The most probable labels of each photograph, on standard output: as lines, or an object each. */
att_status images_classify(att_image_encoder *eyes, const char *const *paths, size_t count,
                           bool json, att_error *err);

#endif
