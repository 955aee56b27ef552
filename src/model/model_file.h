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

/* Allocates the parameters and copies the tensors of the same names into them. A tensor that is
 * missing, unknown or of the wrong shape is ATT_BAD_INPUT; `name` is the file in errors. With
 * `int8`, the parameters that can be int8 become so (tape/params.h). */
att_status att_params_from_bundle(att_params *params, const att_bundle *bundle, bool int8,
                                  const char *name, att_error *err);

/* Adds every parameter, or one, to the bundle: a tensor, or two for int8 (model_params.c). */
att_status att_param_to_bundle(att_bundle *bundle, const att_params *params, int index,
                               att_error *err);
att_status att_params_to_bundle(att_bundle *bundle, const att_params *params, att_error *err);

/* Refuses `json`, the metadata `key` of the file `name`, unless it is a JSON object. */
att_status att_metadata_check(const char *json, const char *key, const char *name, att_error *err);

/* Appends the members of such an object to *out: a line with key and value for a scalar, a table
 * for an array of objects. */
att_status att_metadata_print(att_string *out, const char *json);

#endif
