/* What every reader of foreign weights does at its end: settings, vocabularies and tensors become
 * the contents of a model file. That it is one is proved by loading it, so a tensor that is
 * missing, misshapen or too much is refused as in any other model file. */
#ifndef ATT_IMPORT_MODEL_WRITER_H
#define ATT_IMPORT_MODEL_WRITER_H

#include "attend.h"
#include "model/model.h"

/* One setting: a word, or a number where there is none. */
typedef struct att_model_writer_setting {
    const char *key, *value;
    int64_t number;
} att_model_writer_setting;

/* The tokens of one side. Ours are numbered <unknown>, <start>, <end> and then the others in the
 * order of the file. */
typedef struct att_imported_vocab {
    att_vocab *vocab;
    int32_t
        *file_rows; /* [count] which row of the file's tables each of our tokens has; -1: none */
    size_t count;
    size_t file_row_count; /* of rows that the file's tables have to have */
} att_imported_vocab;

/* The file's tokens in its order, and the numbers of the three that we have on our own; -1 where it
 * has none. */
typedef struct att_foreign_vocab {
    const char *const *tokens; /* [count] */
    size_t count;
    int32_t unk_id, bos_id, eos_id;
    att_tokenizer_kind kind;
    bool lowercase;
} att_foreign_vocab;

att_status att_imported_vocab_new(att_imported_vocab *out, const att_foreign_vocab *foreign,
                                  att_error *err);
void att_imported_vocab_free(att_imported_vocab *words);

typedef struct att_model_writer {
    att_bundle *bundle;
    const char *name; /* stands for the file in errors */
} att_model_writer;

/* Adds `values`, a view in any order, as our tensor `into`. */
att_status att_model_writer_add(const att_model_writer *graft, const char *into,
                                const att_tensor *values, att_error *err);

/* The same for a table with a row, and for a matrix or a bias with a column, for each token. Tokens
 * that the file lacks have rows of zeros, and a bias that rules them out. */
att_status att_model_writer_add_embedding(const att_model_writer *graft, const char *into,
                                          const att_tensor *table, const att_imported_vocab *words,
                                          att_error *err);
att_status att_model_writer_add_output(const att_model_writer *graft, const char *into,
                                       const att_tensor *table, const att_imported_vocab *words,
                                       att_error *err);
att_status att_model_writer_add_output_bias(const att_model_writer *graft, const char *into,
                                            const att_tensor *bias, const att_imported_vocab *words,
                                            att_error *err);

/* The whole model, but for its tensors. */
typedef struct att_model_writer_metadata {
    const att_model_writer_setting *settings;
    size_t setting_count;
    const att_vocab *source_vocab, *target_vocab;
    const att_metadata_entry *entries;
    size_t entry_count;
} att_model_writer_metadata;

/* Adds the metadata and proves that the bundle is a model. */
att_status att_model_writer_finish(const att_model_writer *graft,
                                   const att_model_writer_metadata *model, att_error *err);

#endif
