/* What a training run learns from: both corpora and both vocabularies, as the settings ask for. */
#ifndef ATT_DATA_DATA_H
#define ATT_DATA_DATA_H

#include "data/batch.h"
#include "data/corpus.h"
#include "settings/settings.h"

typedef struct att_data {
    att_model_type model_type;
    att_vocab *source_vocab, *target_vocab; /* one and the same where the sides share it;
                                             * a kind that reads no tokens has no source's */
    att_corpus train, valid;
    int64_t held_out;            /* pairs of `valid` that were taken from the training file */
    int64_t overlapping_sources; /* pairs of `valid` whose source is also in `train` */
} att_data;

/* Reads or makes up the data. The same settings and files give the same data. */
att_status att_data_load(att_data *out, const att_settings *settings, att_error *err);
void att_data_free(att_data *data);

/* Data to measure a model on, numbered by the vocabularies that it has. */
typedef struct att_data_read_options {
    const char *path; /* "-": standard input; NULL: what the settings say is validated on */
    const att_settings *settings;
    const att_vocab *source_vocab, *target_vocab;
    bool keep_target_text; /* of the targets */
    const char *features;  /* the pictures of `path`; NULL: those of the settings */
} att_data_read_options;

att_status att_data_read(att_corpus *out, const att_data_read_options *how, att_error *err);

/* Batches over a corpus, which must outlive them, of at most `tokens` tokens, as suits the kind. */
att_status att_data_batches(att_batches **out, const att_corpus *corpus,
                            const att_settings *settings, int64_t tokens, uint64_t seed,
                            att_error *err);

/* What was found, as lines of text for the user: pairs, lengths, vocabularies, unknown tokens, what
 * was dropped and why. */
att_status att_data_report(att_string *out, const att_data *data);

/* The part of it that a user must know of any corpus, `name` in the lines: what was left out of it,
 * and what was taken otherwise than it stands there. Nothing, where all is well. */
att_status att_corpus_warnings(att_string *out, const char *name, const att_corpus *corpus);

#endif
