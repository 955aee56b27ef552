/* Where data of each kind come from, and how they go into batches: a row for each kind. */
#ifndef ATT_TEXT_DATA_KINDS_H
#define ATT_TEXT_DATA_KINDS_H

#include "text/data.h"

typedef struct att_data_kind {
    att_status (*load)(att_data *out, const att_settings *settings, att_error *err);
    att_status (*read)(att_corpus *out, const att_data_reading *how, att_error *err);
    att_status (*batches)(att_batches **out, const att_corpus *corpus, const att_settings *settings,
                          int64_t tokens, uint64_t seed, att_error *err);
    att_status (*report)(att_text *out, const att_data *data);
} att_data_kind;

extern const att_data_kind att_data_of_pairs, att_data_of_text, att_data_of_labels,
    att_data_of_pictures;

/* Closes a vocabulary after counting. *final receives the numbers that its tokens have now; NULL
 * where what was counted has to be read again: a word becomes several subwords. */
att_status att_data_close_words(att_vocab *vocab, int32_t **final, const att_settings *settings,
                                att_error *err);

/* What tokens are called in reports: "characters". */
const char *att_tokens_name(att_tokens tokens);

/* "training    …": the lines of a report on pairs (report.c). */
att_status att_pairs_report(att_text *out, const att_data *data);

/* The same of sentences and labels. */
att_status att_labels_report(att_text *out, const att_data *data);

/* What is known of one side's tokens, likewise. */
att_status att_report_side(att_text *out, const char *name, const att_vocab *vocab,
                           const att_side_facts *train, const att_side_facts *valid, int64_t pairs);

#endif
