/* Where data of each kind come from, and how they go into batches: a row for each kind. */
#ifndef ATT_DATA_DATA_LOADERS_H
#define ATT_DATA_DATA_LOADERS_H

#include "data/data.h"

typedef struct att_data_loader {
    att_status (*load)(att_data *out, const att_settings *settings, att_error *err);
    att_status (*read)(att_corpus *out, const att_data_read_options *how, att_error *err);
    att_status (*batches)(att_batches **out, const att_corpus *corpus, const att_settings *settings,
                          int64_t tokens, uint64_t seed, att_error *err);
    att_status (*report)(att_string *out, const att_data *data);
} att_data_loader;

extern const att_data_loader att_seq2seq_data, att_lm_data, att_classifier_data, att_caption_data;

/* Closes a vocabulary after counting. *final receives the numbers that its tokens have now; NULL
 * where what was counted has to be read again: a word becomes several subwords. */
att_status att_data_finish_vocab(att_vocab *vocab, int32_t **final, const att_settings *settings,
                                 att_error *err);

/* What tokens are called in reports: "characters". */
const char *att_tokenizer_kind_name(att_tokenizer_kind tokens);

/* "training    …": the lines of a report on pairs (report.c). */
att_status att_seq2seq_data_report(att_string *out, const att_data *data);

/* The same of sentences and labels. */
att_status att_classifier_data_report(att_string *out, const att_data *data);

/* What is known of one side's tokens, likewise. */
att_status att_sequence_stats_report(att_string *out, const char *name, const att_vocab *vocab,
                                     const att_sequence_stats *train,
                                     const att_sequence_stats *valid, int64_t pairs);

#endif
