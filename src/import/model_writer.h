/* Writes imported settings, vocabularies and tensors as the contents of a model file; the last step
 * of every importer. The result is checked by loading it, so a missing, unexpected or misshapen
 * tensor is refused as in any other model file. */
#ifndef ATT_IMPORT_MODEL_WRITER_H
#define ATT_IMPORT_MODEL_WRITER_H

#include "attend.h"
#include "model/model.h"

/* A setting: `value`, or `number` if that is NULL. */
typedef struct att_model_writer_setting {
    const char *key, *value;
    int64_t number;
} att_model_writer_setting;

/* The vocabulary of one side. Our ids are <unknown>, <start>, <end> and then the other tokens in
 * the order of the file. */
typedef struct att_imported_vocab {
    att_vocab *vocab;
    int32_t
        *file_rows; /* [count] the row of each of our tokens in the tables of the file; -1: none */
    size_t count;
    size_t file_row_count; /* rows of the tables of the file */
} att_imported_vocab;

/* The tokens of the file in order, and the rows of its special tokens; -1: it has none. */
typedef struct att_foreign_vocab {
    const char *const *tokens; /* [count] */
    size_t count;
    int32_t unk_id, bos_id, eos_id;
    att_tokenizer_kind kind;
    bool lowercase;
} att_foreign_vocab;

att_status att_imported_vocab_new(att_imported_vocab *out, const att_foreign_vocab *foreign,
                                  att_error *err);
void att_imported_vocab_free(att_imported_vocab *vocab);

typedef struct att_model_writer {
    att_bundle *bundle;
    const char *name; /* the file, in errors */
    bool int8;        /* whether an int8 tensor was added */
} att_model_writer;

/* Adds `values`, a view with any strides, as the tensor `into`. */
att_status att_model_writer_add(const att_model_writer *writer, const char *into,
                                const att_tensor *values, att_error *err);

/* Adds an int8 matrix, given with a row and a scale for each output, as the tensor `into` and its
 * scales: as it is (a table of embeddings), or `transposed` (the weights of a product). With a
 * `vocab`, outputs are the tokens of the file and go into the order of our ids; tokens that the
 * file lacks get zeros. */
typedef struct att_int8_rows_view {
    const att_tensor *integers, *scales; /* [rows,columns], [rows]; contiguous */
    bool transposed;
    const att_imported_vocab *vocab; /* or NULL */
} att_int8_rows_view;

att_status att_model_writer_add_int8(att_model_writer *writer, const char *into,
                                     const att_int8_rows_view *matrix, att_error *err);

/* Adds an embedding table, an output matrix or an output bias, given with one row per token of the
 * file, in the order of our ids. Tokens that the file lacks get zeros, and a bias that excludes
 * them. */
att_status att_model_writer_add_embedding(const att_model_writer *writer, const char *into,
                                          const att_tensor *table, const att_imported_vocab *vocab,
                                          att_error *err);
att_status att_model_writer_add_output(const att_model_writer *writer, const char *into,
                                       const att_tensor *table, const att_imported_vocab *vocab,
                                       att_error *err);
att_status att_model_writer_add_output_bias(const att_model_writer *writer, const char *into,
                                            const att_tensor *bias, const att_imported_vocab *vocab,
                                            att_error *err);

/* Everything of a model except its tensors. */
typedef struct att_model_writer_metadata {
    const att_model_writer_setting *settings;
    size_t setting_count;
    const att_vocab *source_vocab, *target_vocab;
    const att_metadata_entry *entries;
    size_t entry_count;
} att_model_writer_metadata;

/* Adds the metadata. */
att_status att_model_writer_finish(const att_model_writer *writer,
                                   const att_model_writer_metadata *model, att_error *err);

/* Checks that a converted bundle loads as a model: shapes fit the settings, and values are finite.
 * If not, it is freed and becomes NULL. `name` is the file, in errors. */
att_status att_imported_model_check(att_bundle **bundle, const char *name, att_error *err);

#endif
