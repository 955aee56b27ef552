/* Reading the metadata of token files (prepared.h). */
#ifndef ATT_DATA_PREPARED_JSON_H
#define ATT_DATA_PREPARED_JSON_H

#include "data/data.h"

/* Fills the statistics of *out and of out->train.stored, which must exist. */
att_status att_prepared_data_parse(att_data *out, const char *json, const char *name,
                                   att_error *err);

/* Sets what the file was prepared with. */
att_status att_prepared_settings_apply(att_settings *settings, const char *json, const char *name,
                                       att_error *err);

#endif
