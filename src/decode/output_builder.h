/* Builds att_output structs from hypotheses: ids become tokens and text. */
#ifndef ATT_DECODE_OUTPUT_BUILDER_H
#define ATT_DECODE_OUTPUT_BUILDER_H

#include "base/arena.h"
#include "decode/beam_search.h"
#include "decode/requests.h"

struct att_outputs {
    att_output *items; /* [count] */
    size_t count;
    att_arena arena;
};

typedef struct att_output_builder {
    const att_model *model;
    const att_generate_options *options;
    int64_t attention_maps, heads;   /* of the attention weights */
    int64_t grid_rows, grid_columns; /* of an image; 0: sources are lines */
    const char *const *cell_names;   /* [grid_rows * grid_columns] */
    att_arena *arena;                /* of the outputs */
    att_string scratch;
} att_output_builder;

/* Sets the source tokens of an output, as they were typed, and the counts of unknown and truncated
 * ones. */
att_status att_output_builder_source(att_output_builder *builder, att_output *output,
                                     const att_request *request, att_error *err);

/* Builds the output of `count` hypotheses, the best first; the others become its alternatives. */
att_status att_output_builder_build(att_output_builder *builder, att_output *out,
                                    const att_request *request, const att_hypothesis *found,
                                    int64_t count, att_error *err);

/* Copies the options of a caller (base/options.h) with their decoding options, which *decoding
 * holds: out->decoding is never NULL. */
att_status att_generate_options_resolve(att_generate_options *out, att_decoding_options *decoding,
                                        const att_generate_options *options, att_error *err);

#endif
