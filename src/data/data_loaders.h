/* How the data of each type of model are loaded, batched and reported: one row per type. */
#ifndef ATT_DATA_DATA_LOADERS_H
#define ATT_DATA_DATA_LOADERS_H

#include "data/data.h"

typedef struct att_data_loader {
    att_status (*load)(att_data *out, att_settings *settings, att_error *err);
    att_status (*read)(att_corpus *out, const att_data_read_options *options, att_error *err);
    att_status (*batches)(att_batches **out, const att_corpus *corpus, const att_settings *settings,
                          int64_t tokens, uint64_t seed, att_error *err);
    att_status (*report)(att_string *out, const att_data *data);
} att_data_loader;

extern const att_data_loader att_seq2seq_data, att_lm_data, att_classifier_data, att_tagger_data,
    att_caption_data;

/* Finalizes a vocabulary after counting. *final receives the final id of each provisional id; NULL
 * if the data must be encoded again, because a word becomes several subwords (or ids were final).
 */
att_status att_data_finish_vocab(att_vocab *vocab, int32_t **final, const att_settings *settings,
                                 att_error *err);

/* Whether the vocabularies are those of a model, so that nothing is counted. */
static inline bool att_data_keeps_vocab(const att_data *data)
{
    return data->initial && !data->initial->extend;
}

/* Starts a vocabulary: a copy of `initial` where it is kept, else an empty one. */
att_status att_data_start_vocab(att_vocab **out, const att_data *data, const att_vocab *initial,
                                att_tokenizer_kind kind, bool lower, att_error *err);

/* Replaces a vocabulary that was counted and finalized by `initial`, extended by its tokens. *added
 * is their number. */
att_status att_data_extend_vocab(att_vocab **vocab, const att_vocab *initial, int64_t *added,
                                 att_error *err);

/* The fraction of the training data that is validated on if no validation data are given: with
 * valid-fraction 0 all are trained on, and a sample of them is validated on. */
#define ATT_VALID_SAMPLE 0.05
static inline double att_data_valid_part(const att_settings *settings)
{
    return settings->valid_fraction > 0 ? settings->valid_fraction : ATT_VALID_SAMPLE;
}

#define ATT_NOTHING_HELD_OUT                                                                       \
    "has too few different sources to hold some out for validation; give valid, or "               \
    "valid-fraction 0 to validate on the training data"

/* The error that all labels that were held out are unknown; takes one of them. */
#define ATT_LABELS_HELD_OUT                                                                        \
    "expected labels of the training data, found only others: '%s'; give valid, or "               \
    "valid-fraction 0"

/* The reports of pairs and of classification data (data_report.c). */
att_status att_seq2seq_data_report(att_string *out, const att_data *data);
att_status att_classifier_data_report(att_string *out, const att_data *data);

/* Continues the line on the validation data: whether they were held out of the training data. */
att_status att_data_report_split(att_string *out, const att_data *data);

/* Appends the lines on one side: tokens, vocabulary size, sequence lengths, unknown tokens. */
att_status att_sequence_stats_report(att_string *out, const char *name, const att_vocab *vocab,
                                     const att_sequence_stats *train,
                                     const att_sequence_stats *valid, int64_t pairs);

#endif
