/* What reading and describing a model share; for the files of this folder alone. */
#ifndef ATT_MODEL_FORMAT_H
#define ATT_MODEL_FORMAT_H

#include "model/model.h"

/* A model with nothing in it, to be filled; NULL when memory is out. */
att_model *att_model_blank(void);

/* Whether `json`, the metadata `key` of the file `name`, is an object as a training loop or an
 * import leaves it. */
att_status att_notes_check(const char *json, const char *key, const char *name, att_error *err);

/* Adds the plain values of such an object to *out, a line each: the key, then the value. */
att_status att_notes_lines(att_text *out, const char *json);

#endif
