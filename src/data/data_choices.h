/* Settings that nobody gave, chosen by the training data. Each function appends a line for the user
 * to data->choices for each choice that differs from the default. */
#ifndef ATT_DATA_DATA_CHOICES_H
#define ATT_DATA_DATA_CHOICES_H

#include "data/data.h"

/* Fewer pairs say too little. */
enum { ATT_DATA_CHOICE_MIN_PAIRS = 100 };

/* From the text of pairs, before it is encoded: source-tokens and target-tokens; for sentences all
 * settings of the task translate. */
att_status att_data_choose_tokens(att_data *data, att_settings *settings,
                                  const att_pair_text *train, att_error *err);

/* After the tokens, from the text too: whether the model copies. */
att_status att_data_choose_copy(att_data *data, att_settings *settings, const att_pair_text *train,
                                att_error *err);

/* From the encoded pairs: the size of a batch and of the model, and how long it is trained. */
att_status att_data_choose_run(att_data *data, att_settings *settings, att_error *err);

/* Reads the word vectors that the settings name, unless the run is resumed from a checkpoint, which
 * has them. Their width becomes embedding-size (hidden-size of a Transformer) where it is not
 * given, and must be equal to it where it is. */
att_status att_data_load_vectors(att_data *data, att_settings *settings, att_error *err);

/* Sets one of them, and says why. */
att_status att_data_choose(att_data *data, att_settings *settings, const char *key,
                           const char *value, const char *reason, att_error *err);

#endif
