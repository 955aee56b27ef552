/* Tokens as vectors: a row of a table for each, with its position added or beside it. */
#ifndef ATT_NN_EMBEDDING_H
#define ATT_NN_EMBEDDING_H

#include "nn/param_builder.h"
#include "settings/settings.h"
#include "tape/ops.h"

typedef struct att_embedding {
    int table;          /* [V,E], or ATT_NO_PARAM: not yet */
    int position_table; /* [P,E] learned positions, or ATT_NO_PARAM */
    att_positions positions;
    att_positions_join join;
    int64_t embedding_size; /* E */
    int64_t max_positions;  /* P; later positions count as the last */
    int64_t output_size;    /* of the result: E, or 2 E with positions beside it */
    float scale;            /* of the table's rows, before positions */
    float dropout;
    uint64_t dropout_id;
} att_embedding;

/* Adds the parameters of an embedding that says all else: its table [vocabulary,E], unless it has
 * one already, and its learned positions. Rows start with deviation `spread`. Sets its width. */
void att_embedding_add_params(att_embedding *embedding, att_param_builder *builder,
                              int64_t vocabulary, float spread, const char *prefix);

/* What can be said of the settings of one that counts from the first token on: that of the
 * recurrent family and of convolutions. */
att_status att_embedding_check(const att_settings *settings, att_error *err);

/* Such a one, by the settings. */
void att_embedding_build(att_embedding *out, att_param_builder *builder,
                         const att_settings *settings, int64_t vocabulary, const char *prefix,
                         uint64_t drop_place);

/* The tokens [rows,columns] at positions first, first+1, …: [rows,columns,width]. While learning,
 * dropout takes the same columns from a token wherever in its row it stands, at any `first`. */
att_node *att_embedding_run(const att_embedding *embedding, att_tape *tape, int64_t rows,
                            int64_t columns, const int32_t *ids, int64_t first);

/* Sequences end to end: `count` tokens, each at its own position, [1,count,width]. */
att_node *att_embedding_run_packed(const att_embedding *embedding, att_tape *tape, int64_t count,
                                   const int32_t *ids, const int32_t *positions);

#endif
