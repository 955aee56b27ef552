/* What reading, writing and describing model files share; private to this folder. */
#ifndef ATT_MODEL_MODEL_FILE_H
#define ATT_MODEL_MODEL_FILE_H

#include "model/model.h"
#include "tensor/checksum.h"

#define ATT_KEY_ARCHITECTURE "attend.architecture"

/* The architecture in files of att_image_encoder, which are not models. */
#define ATT_IMAGE_ENCODER_ARCHITECTURE "squeezenet"

/* Width of the keys in att_model_info(). */
enum { ATT_INFO_KEY_WIDTH = 24 };

/* An empty model, to be filled; NULL if memory cannot be allocated. */
att_model *att_model_alloc(void);

/* Which parameters become int8, of those that can (tape/params.h). */
typedef enum att_int8_scope {
    ATT_INT8_NONE,
    ATT_INT8_STORED, /* those that are int8 in the file; floats stay floats */
    ATT_INT8_ALL,
} att_int8_scope;

/* Allocates the parameters and copies the tensors of the same names into them. A tensor that is
 * missing, unknown or of the wrong shape is ATT_BAD_INPUT; `name` is the file in errors. */
att_status att_params_from_bundle(att_params *params, const att_bundle *bundle, att_int8_scope int8,
                                  const char *name, att_error *err);

/* Adds every parameter, or one, to the bundle: a tensor, or two for int8 (model_params.c). */
att_status att_param_to_bundle(att_bundle *bundle, const att_params *params, int index,
                               att_error *err);
att_status att_params_to_bundle(att_bundle *bundle, const att_params *params, att_error *err);

/* Adds an int8 parameter with other values, which are floats in its shape. */
att_status att_param_quantized_to_bundle(att_bundle *bundle, const att_param *param,
                                         const att_tensor *values, att_error *err);

/* Refuses `json`, the metadata `key` of the file `name`, unless it is a JSON object. */
att_status att_metadata_check(const char *json, const char *key, const char *name, att_error *err);

/* Appends the members of such an object to *out: a line with key and value for a scalar, a table
 * for an array of objects. */
att_status att_metadata_print(att_string *out, const char *json);

#endif
