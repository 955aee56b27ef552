/* Target tokens that the vocabulary of a fine-tuned model lacks, for messages. */
#ifndef ATT_DATA_UNKNOWN_TOKENS_H
#define ATT_DATA_UNKNOWN_TOKENS_H

#include "data/corpus.h"

/* Appends the first few different ones of the training pairs: "'ж', 'ö', 'ß'". */
att_status att_unknown_targets(att_string *out, const att_pair_text *train,
                               const att_settings *settings, const att_vocab *vocab,
                               att_error *err);

#endif
