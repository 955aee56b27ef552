/* Making a token file (token_file.h) from corpora that are read as streams: counting tokens for the
 * vocabularies, encoding the validation data, encoding the training data, each in one pass. Memory
 * is that of the vocabularies and of a part of a corpus, some megabytes. */
#ifndef ATT_DATA_PREPARE_H
#define ATT_DATA_PREPARE_H

#include "data/data_loaders.h"
#include "data/known_sources.h"
#include "data/text_stream.h"
#include "data/token_writer.h"

/* A corpus: one file, or two parallel files. */
typedef struct att_prepare_corpus {
    att_text_stream *source, *target; /* `target` NULL: one file */
    double weight;                    /* how often an epoch reads each example */
    int64_t examples;                 /* pairs or tokens of training that it gave */
    int64_t source_tokens, target_tokens;
    int64_t train_bytes, valid_bytes; /* of a text: how much of it is for what; -1: to its end */
    bool has_bom;
} att_prepare_corpus;

typedef struct att_prepare_run {
    const char *path;
    att_settings *settings;
    size_t count_limit;                /* distinct tokens that are counted at once */
    att_prepare_corpus *train, *valid; /* `valid` NULL: a part of `train` */
    size_t train_count;
    att_data data;                   /* vocabularies, statistics, and what is stored */
    att_known_sources valid_sources; /* while pairs are encoded */
    att_token_writer *writer;
    att_vocab_pruned pruned[2];
} att_prepare_run;

/* Bytes of text that are encoded at once. Tests make it small. */
size_t att_prepare_part_size(void);
void att_prepare_set_part_size(size_t size); /* 0: the usual */

/* Everything but opening: run->data has the vocabularies of a model to fine-tune, or none. */
att_status att_prepare_pairs(att_prepare_run *run, att_error *err);
att_status att_prepare_text(att_prepare_run *run, att_error *err);

/* Bytes of all files of a list, and of those before `at` and of `at` so far: for progress. */
int64_t att_prepare_size(const att_prepare_corpus *list, size_t count);
int64_t att_prepare_position(const att_prepare_corpus *list, size_t at);

/* Starts the output, when the vocabularies are final. */
att_status att_prepare_start(att_prepare_run *run, att_error *err);

/* Ends it: mixes the files, computes the hash, writes the metadata. */
att_status att_prepare_finish(att_prepare_run *run, att_error *err);

#endif
