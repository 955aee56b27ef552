/* Writes worksheets that compute what a model computes: names, labels, numbers, and parameters
 * loaded from the model's file. After a failure nothing more is written. */
#ifndef ATT_INSPECT_SHEET_WRITER_H
#define ATT_INSPECT_SHEET_WRITER_H

#include "base/string.h"
#include "model/model.h"
#include "nn/embedding.h"

typedef struct att_sheet_writer {
    att_string *out;
    att_status status;
    const att_model *model;
    const char *file; /* the model's name in the sheet's folder */
} att_sheet_writer;

void att_sheet_put(att_sheet_writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A text in quotation marks. */
void att_sheet_put_string(att_sheet_writer *w, const char *text);

/* A token as a label: white space alone, a token of whole texts, becomes a visible sign. */
const char *att_visible_token(const char *token);

/* (load "file" "name"), the name by a format. */
void att_sheet_put_load(att_sheet_writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A matrix [rows,columns] as numbers that read back as the same floats. */
void att_sheet_put_matrix(att_sheet_writer *w, const float *values, int64_t rows, int64_t columns,
                          int64_t stride);

/* The tokens of ids as labels of the rows of a matrix. */
void att_sheet_put_labels(att_sheet_writer *w, const char *name, const att_vocab *vocab,
                          const att_ids *ids);

/* [i j k], from 1, as rows of a matrix: "[[2 3], :]". */
void att_sheet_put_rows(att_sheet_writer *w, const int32_t *ids, size_t count);

/* `name` = the embeddings of tokens at positions first, first+1, … or, where they are given, at
 * positions[i]. `side` is "source" or "target", `table` the parameter of the tokens. */
typedef struct att_sheet_tokens {
    const char *name, *side, *table;
    const int32_t *ids;
    size_t count;
    int64_t first;
    const int32_t *positions; /* [count] or NULL */
} att_sheet_tokens;
void att_sheet_put_embeddings(att_sheet_writer *w, const att_embedding *embedding,
                              const att_sheet_tokens *tokens);

/* name = linear(from, PREFIX.matrix, its bias): the bias named `matrix`_bias where `biased`. */
void att_sheet_put_linear(att_sheet_writer *w, const char *name, const char *from,
                          const char *matrix, bool biased);

/* expect `what` = values within a tolerance that suits single precision. */
void att_sheet_put_claim(att_sheet_writer *w, const char *what, const float *values, int64_t rows,
                         int64_t columns, int64_t stride);

#endif
