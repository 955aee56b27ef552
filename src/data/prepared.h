/* The dataset of a token file: what stands in its metadata, and loading it for a training run. */
#ifndef ATT_DATA_PREPARED_H
#define ATT_DATA_PREPARED_H

#include "data/data.h"
#include "data/token_corpus.h"

#define ATT_PREPARED_SETTINGS "attend.settings"
#define ATT_PREPARED_SOURCE   "attend.source"
#define ATT_PREPARED_TARGET   "attend.target"
#define ATT_PREPARED_DATA     "attend.data"

/* The token file that the setting `train` names; NULL: it names none. */
att_status att_prepared_path(const char **out, const att_settings *settings, att_error *err);

/* If there is one, takes over the settings that it was prepared with. Refuses settings given by the
 * user that differ. Call it before the settings are checked. */
att_status att_prepared_settings(att_settings *settings, att_error *err);

/* Loads the dataset of a token file, after att_prepared_settings(): as att_data_load() does, except
 * that the tokens of the training data, and of a text for validation, stay in the file. */
att_status att_prepared_load(att_data *out, att_settings *settings, att_error *err);

/* Loads its validation data for a model with these vocabularies. */
att_status att_prepared_read_valid(att_corpus *out, const att_data_read_options *options,
                                   const char *path, att_error *err);

/* ---- the metadata, for the writer */

/* The JSON of ATT_PREPARED_SETTINGS: {"settings":{...},"chosen":{...}}, what is fixed by the tokens
 * and what the data chose. */
att_status att_prepared_settings_json(att_string *out, const att_settings *settings,
                                      att_error *err);

/* The JSON of ATT_PREPARED_DATA. `data` has statistics, and data->train.stored what is stored. */
att_status att_prepared_data_json(att_string *out, const att_data *data, att_error *err);

#endif
