/* Answers from hypotheses: numbers become tokens and text again. */
#ifndef ATT_DECODE_OUTPUT_BUILDER_H
#define ATT_DECODE_OUTPUT_BUILDER_H

#include "base/arena.h"
#include "decode/requests.h"
#include "decode/beam_search.h"

struct att_outputs {
    att_output *items; /* [count] */
    size_t count;
    att_arena arena;
};

/* What answers are made with. */
typedef struct att_output_builder {
    const att_model *model;
    const att_generate_options *options;
    int64_t attention_maps, heads;   /* of the weights */
    int64_t grid_rows, grid_columns; /* of a picture; 0: sources are lines */
    const char *const *cell_names;   /* [grid_rows * grid_columns] their names */
    att_arena *arena;                /* where answers live */
    att_string scratch;
} att_output_builder;

/* Sets the source's tokens, as they were typed, and what is said of them. */
att_status att_output_builder_source(att_output_builder *maker, att_output *answer,
                                     const att_request *question, att_error *err);

/* Makes an answer of `count` hypotheses, the best first: the others hang on to it. */
att_status att_output_builder_build(att_output_builder *maker, att_output *out,
                                    const att_request *question, const att_hypothesis *found,
                                    int64_t count, att_error *err);

#endif
