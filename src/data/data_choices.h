/* Settings that nobody gave, chosen by the training data: the kinds of tokens and the batch size.
 */
#ifndef ATT_DATA_DATA_CHOICES_H
#define ATT_DATA_DATA_CHOICES_H

#include "data/data.h"

/* Chooses source-tokens and target-tokens from the text of pairs, before it is encoded. Appends a
 * line for the user to data->choices for each choice that differs from the default. */
att_status att_data_choose_tokens(att_data *data, att_settings *settings,
                                  const att_pair_text *train, att_error *err);

/* Chooses batch-tokens from the encoded pairs in the same way. */
att_status att_data_choose_batch(att_data *data, att_settings *settings, att_error *err);

/* Reads the word vectors that the settings name, unless the run is resumed from a checkpoint, which
 * has them. Their width becomes embedding-size (hidden-size of a Transformer) where it is not
 * given, and must be equal to it where it is. */
att_status att_data_load_vectors(att_data *data, att_settings *settings, att_error *err);

#endif
