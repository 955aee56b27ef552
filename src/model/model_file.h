/* What reading and describing a model share; for the files of this folder alone. */
#ifndef ATT_MODEL_MODEL_FILE_H
#define ATT_MODEL_MODEL_FILE_H

#include "model/model.h"

#define ATT_KEY_FORMAT       "attend.format"
#define ATT_KEY_ARCHITECTURE "attend.family"

/* The family in files of att_image_encoder, which are no models. */
#define ATT_IMAGE_ENCODER_ARCHITECTURE "squeezenet"

/* A model with nothing in it, to be filled; NULL when memory is out. */
att_model *att_model_alloc(void);

/* Makes room for parameters and fills them with the tensors of their names. One that is missing,
 * too much or misshapen is ATT_BAD_INPUT; `name` stands for the file. And the way back. */
att_status att_params_from_bundle(att_params *params, const att_bundle *bundle, const char *name,
                                  att_error *err);
att_status att_params_to_bundle(att_bundle *bundle, const att_params *params, att_error *err);

/* Whether `json`, the metadata `key` of the file `name`, is an object as a training loop or an
 * import leaves it. */
att_status att_metadata_check(const char *json, const char *key, const char *name, att_error *err);

/* Adds the plain values of such an object to *out, a line each: the key, then the value. */
att_status att_metadata_print(att_string *out, const char *json);

#endif
