/* The dataset of a training run: training and validation corpus, and the vocabularies. */
#ifndef ATT_DATA_DATA_H
#define ATT_DATA_DATA_H

#include "data/batch.h"
#include "data/corpus.h"
#include "data/vectors.h"
#include "settings/settings.h"

/* The vocabularies of a model that is fine-tuned. */
typedef struct att_initial_vocabs {
    const att_vocab *source, *target; /* no source vocabulary for language models and captions */
    bool extend; /* add the new tokens of the training data, instead of leaving them unknown */
} att_initial_vocabs;

typedef struct att_data {
    att_model_type model_type;
    const att_initial_vocabs *initial;      /* borrowed while the data are loaded; NULL: none */
    int64_t added_source, added_target;     /* tokens by which initial vocabularies were extended */
    att_vocab *source_vocab, *target_vocab; /* the same pointer if joint and of one kind; no source
                                             * vocabulary for language models and captions */
    att_corpus train, valid;
    int64_t held_out;            /* pairs of `valid` that were held out of the training file */
    bool valid_in_train;         /* `valid` is a part of `train`: nothing was to be held out */
    int64_t overlapping_sources; /* pairs of `valid` whose source is also in `train` */
    att_word_vectors vectors;    /* of the source vocabulary; none if the run is resumed */
    att_string unknown_targets;  /* the first target tokens that a kept vocabulary lacks */
    att_string choices; /* settings that were chosen by the data, and why: for the report */
} att_data;

/* Reads or generates the data. The same settings and files give the same data. Settings that the
 * user did not give may be chosen by them (data_choices.h). */
att_status att_data_load(att_data *out, att_settings *settings, att_error *err);

/* The same with the vocabularies of a model; NULL: with new ones. */
att_status att_data_load_initial(att_data *out, att_settings *settings,
                                 const att_initial_vocabs *initial, att_error *err);
void att_data_free(att_data *data);

/* Data to evaluate a model on, encoded by its vocabularies. */
typedef struct att_data_read_options {
    const char *path; /* "-": standard input; NULL: the validation data of the settings */
    const att_settings *settings;
    const att_vocab *source_vocab, *target_vocab;
    bool keep_target_text;
    bool keep_words; /* of sources, for models with character features; else as the settings ask */
    const char *format, *columns; /* of `path`, as the settings of these names have them; both NULL:
                                   * those of the settings */
    const char *features;         /* the image features of `path`; NULL: those of the settings */
    bool recorded_data;           /* files that the settings name may be opened */
} att_data_read_options;

/* The settings of a model come from whoever made its file. ATT_BAD_INPUT, naming the file, if
 * att_data_read() would open a file that only the settings name, unless options->recorded_data. */
att_status att_data_check_recorded(const att_data_read_options *options, att_error *err);

att_status att_data_read(att_corpus *out, const att_data_read_options *options, att_error *err);

/* Batches of a corpus for the model type of the settings, of at most `tokens` tokens each. The
 * corpus must outlive them. */
att_status att_data_batches(att_batches **out, const att_corpus *corpus,
                            const att_settings *settings, int64_t tokens, uint64_t seed,
                            att_error *err);

/* How the settings describe the files of pairs, sentences or tagged sentences. */
att_status att_data_example_format(att_example_format *out, const att_settings *settings,
                                   att_error *err);

/* The batches of training: with the size and the seed of the settings. Those of a language model
 * that carries its state are `accumulate` groups of streams (batch_lm.h). */
att_status att_data_training_batches(att_batches **out, const att_corpus *corpus,
                                     const att_settings *settings, att_error *err);

/* Appends a report for the user: number of examples, vocabulary sizes, sequence lengths, unknown
 * tokens, skipped lines and why they were skipped. */
att_status att_data_report(att_string *out, const att_data *data);

/* Appends the warnings of that report for one corpus, called `name`: skipped lines, CRLF line ends,
 * a byte order mark. Nothing if there is nothing to warn of. */
att_status att_corpus_warnings(att_string *out, const char *name, const att_corpus *corpus);

#endif
