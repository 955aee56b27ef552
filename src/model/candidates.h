/* Candidates: a decoder that may choose the next token only from a part of the target vocabulary,
 * which each source has for itself (a lexical shortlist). The output layer is computed for the
 * tokens of any source of the batch; the probabilities of a row are those of its source's own
 * tokens, so that they depend on the source and not on the batch. */
#ifndef ATT_MODEL_CANDIDATES_H
#define ATT_MODEL_CANDIDATES_H

#include "text/ids.h"
#include "tape/tape.h"

/* The candidates of a batch of sources. Start from {0}; release with att_candidates_free(). */
typedef struct att_candidates {
    int64_t sources;
    int64_t *offsets; /* [sources + 1] */
    size_t offset_capacity;
    att_ids ids;      /* source after source, rising */
    int32_t *columns; /* beside `ids`: the place of each in `all` */
    size_t column_capacity;
    att_ids all;    /* of any source, rising */
    int32_t *place; /* [vocabulary] place in `all`; scratch of att_candidates_finish() */
    int64_t place_count;
} att_candidates;

/* Forgets all sources. */
void att_candidates_clear(att_candidates *candidates);

/* Adds the next source: `count` tokens, rising, each once. */
att_status att_candidates_add(att_candidates *candidates, const int32_t *ids, size_t count,
                              att_error *err);

/* Call it after the last source; ids are below `vocabulary`. */
att_status att_candidates_finish(att_candidates *candidates, int64_t vocabulary, att_error *err);
void att_candidates_free(att_candidates *candidates);

/* The output layer of a network. */
typedef struct att_output_weights {
    int w;           /* parameter: [in,V], or [V,in] where transposed */
    int bias;        /* parameter, or ATT_NO_PARAM */
    bool transposed; /* it is the table of the target embeddings */
} att_output_weights;

/* The part of an output layer that belongs to candidates. Start from {0}. */
typedef struct att_candidate_layer {
    const att_candidates *candidates; /* borrowed; NULL: every token is a candidate */
    float *panels;                    /* packed; or, where the output layer is int8: */
    att_int8_matrix int8;             /* in int8_block */
    void *int8_block;
    size_t int8_capacity; /* bytes */
    float *bias;          /* [candidates->all.count] */
    size_t panel_capacity, bias_capacity;
    bool gathered; /* from the weights, for these candidates */
} att_candidate_layer;

/* Sets the candidates of the next steps, which must outlive them; NULL: every token. */
void att_candidate_layer_start(att_candidate_layer *layer, const att_candidates *candidates);
void att_candidate_layer_free(att_candidate_layer *layer);

/* The log-probabilities [rows,V] of the next tokens after hidden states x, -INFINITY for those that
 * are no candidates of a row's source; in the memory of the tape. NULL on failure, which the tape
 * keeps. */
const float *att_candidate_log_probs(att_candidate_layer *layer, att_tape *tape, att_node *x,
                                     const att_output_weights *weights, const int64_t *source_of);

#endif
