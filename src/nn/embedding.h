/* Token embeddings: a row of a table for each token, with its position vector added or
 * concatenated. */
#ifndef ATT_NN_EMBEDDING_H
#define ATT_NN_EMBEDDING_H

#include "nn/param_builder.h"
#include "settings/settings.h"
#include "tape/ops.h"

typedef struct att_embedding {
    int table;          /* [V,E], or ATT_NO_PARAM: not built yet */
    int position_table; /* [P,E] learned positions, or ATT_NO_PARAM */
    att_positions positions;
    att_positions_join join;
    int64_t embedding_size; /* E */
    int64_t max_positions;  /* P; later positions take the last row */
    int64_t output_size;    /* of the result: E, or 2 E with concatenated positions */
    float scale;            /* factor of the table's rows, before positions */
    float dropout;
    uint64_t dropout_id;
} att_embedding;

/* Adds the parameters of an embedding whose other members are set: its table [vocabulary,E], unless
 * it has one already, and its learned positions, with initial values of standard deviation
 * `init_std`. Sets output_size. */
void att_embedding_add_params(att_embedding *embedding, att_param_builder *builder,
                              int64_t vocabulary, float init_std, const char *prefix);

/* Checks the settings for architectures `rnn` and `cnn`, where positions count from the first
 * token.
 */
att_status att_embedding_check(const att_settings *settings, att_error *err);

/* Builds the embedding that the settings ask for, for architectures `rnn` and `cnn`. */
void att_embedding_build(att_embedding *out, att_param_builder *builder,
                         const att_settings *settings, int64_t vocabulary, const char *prefix,
                         uint64_t dropout_id);

/* The embeddings of tokens [rows,columns] at positions first, first+1, …:
 * [rows,columns,output_size]. In training, dropout removes the same columns of a token wherever it
 * occurs in its row, for any `first`. */
att_node *att_embedding_run(const att_embedding *embedding, att_tape *tape, int64_t rows,
                            int64_t columns, const int32_t *ids, int64_t first);

/* Packed sequences: `count` tokens, each with its own position, [1,count,output_size]. */
att_node *att_embedding_run_packed(const att_embedding *embedding, att_tape *tape, int64_t count,
                                   const int32_t *ids, const int32_t *positions);

#endif
