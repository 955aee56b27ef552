/* What every reader of foreign weights does at its end: settings, vocabularies and tensors become
 * the contents of a model file. That it is one is proved by loading it, so a tensor that is
 * missing, misshapen or too much is refused as in any other model file. */
#ifndef ATT_IMPORT_GRAFT_H
#define ATT_IMPORT_GRAFT_H

#include "attend.h"
#include "model/model.h"

/* One setting: a word, or a number where there is none. */
typedef struct att_graft_choice {
    const char *key, *word;
    int64_t number;
} att_graft_choice;

/* The tokens of one side. Ours are numbered <unknown>, <start>, <end> and then the others in the
 * order of the file. */
typedef struct att_graft_words {
    att_vocab *vocab;
    int32_t *rows; /* [count] which row of the file's tables each of our tokens has; -1: none */
    size_t count;
    size_t foreign_count; /* of rows that the file's tables have to have */
} att_graft_words;

/* The file's tokens in its order, and the numbers of the three that we have on our own; -1 where it
 * has none. */
typedef struct att_foreign_words {
    const char *const *tokens; /* [count] */
    size_t count;
    int32_t unknown, start, end;
    att_tokens kind;
    bool lower;
} att_foreign_words;

att_status att_graft_words_new(att_graft_words *out, const att_foreign_words *foreign,
                               att_error *err);
void att_graft_words_free(att_graft_words *words);

typedef struct att_graft {
    att_bundle *bundle;
    const char *name; /* stands for the file in errors */
} att_graft;

/* Adds `values`, a view in any order, as our tensor `into`. */
att_status att_graft_add(const att_graft *graft, const char *into, const att_tensor *values,
                         att_error *err);

/* The same for a table with a row, and for a matrix or a bias with a column, for each token. Tokens
 * that the file lacks have rows of zeros, and a bias that rules them out. */
att_status att_graft_table(const att_graft *graft, const char *into, const att_tensor *table,
                           const att_graft_words *words, att_error *err);
att_status att_graft_output(const att_graft *graft, const char *into, const att_tensor *table,
                            const att_graft_words *words, att_error *err);
att_status att_graft_output_bias(const att_graft *graft, const char *into, const att_tensor *bias,
                                 const att_graft_words *words, att_error *err);

/* The whole model, but for its tensors. */
typedef struct att_graft_model {
    const att_graft_choice *choices;
    size_t choice_count;
    const att_vocab *source, *target;
    const att_note *notes;
    size_t note_count;
} att_graft_model;

/* Adds the metadata and proves that the bundle is a model. */
att_status att_graft_finish(const att_graft *graft, const att_graft_model *model, att_error *err);

#endif
