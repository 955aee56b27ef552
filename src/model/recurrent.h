/* The recurrent family: an encoder and a decoder of RNN, GRU or LSTM layers, and between them any
 * of the attentions (handouts 003 and 004). Shared by its own files alone:
 *
 *   recurrent.c         its parameters, and the row of the table
 *   recurrent_encode.c  a source read
 *   recurrent_walk.c    a decoder going along a target, many steps at once where nothing it needs
 *                       depends on the step before, else one by one
 *   recurrent_loss.c    learning
 *   recurrent_decode.c  decoding: the same walk, one step at a time, its state kept between calls
 */
#ifndef ATT_MODEL_RECURRENT_H
#define ATT_MODEL_RECURRENT_H

#include "model/model.h"
#include "model/output.h"
#include "nn/cell.h"
#include "nn/embedding.h"
#include "nn/glimpse.h"

enum { ATT_MOST_LAYERS = 64 };

typedef struct att_encoder_layer {
    att_cell_layer forward;
    att_cell_layer backward; /* where the encoder is bidirectional, each has half the width */
    int bridge_w, bridge_b;  /* from the ends of both directions to the decoder's start */
} att_encoder_layer;

typedef struct att_recurrent_parts {
    int layers;
    bool bidirectional;
    bool fixed;            /* the context is the encoder's last state */
    bool scored;           /* the context comes from attention */
    bool at_input;         /* the context is part of the decoder's input (feed state) */
    bool readout_at_input; /* the last readout is (feed both) */
    int64_t width;         /* N */
    int64_t readout_width; /* R */
    float dropout;
    float align_weight;

    att_embedding source, target;
    att_encoder_layer encoder[ATT_MOST_LAYERS];
    att_cell_layer decoder[ATT_MOST_LAYERS];
    att_glimpse glimpse;
    int join;     /* W_c [2 N,R]: readout = tanh([context; state] W_c); or none */
    int project;  /* [N,R] where the readout is the state but has another width; or none */
    int output_w; /* [R,V], or none: the target embedding */
    int output_b; /* [V] */
} att_recurrent_parts;

/* Where dropout acts, told apart from other places and steps: draws of step t are at place + t. */
enum { ATT_DROP_SOURCE = 1, ATT_DROP_TARGET, ATT_DROP_OUTPUT, ATT_DROP_LAYER };

/* Layers count from the encoder's first to the decoder's last. */
static inline uint64_t att_drop_place(int which, int layer)
{
    return (uint64_t)(which + layer) << 40;
}

/* A decoder under way. */
typedef struct att_walk {
    const att_recurrent_parts *parts;
    att_tape *tape;
    int64_t rows;           /* B */
    att_memory memory;      /* of the source */
    att_node *last;         /* [B,N] the encoder's last state, where the context is fixed */
    const int64_t *lengths; /* [B] of the targets, or NULL: not known */
    bool want_weights;
    const att_lesson *lesson; /* whether to feed own predictions; NULL: no */
    const int64_t *pair;      /* [B] names the rows for that */

    att_node *state[ATT_MOST_LAYERS]; /* [B, states N] */
    att_node *readout;                /* [B,1,R] of the step before; NULL: zeros */
    att_node *covered;                /* [B,S] weights so far; NULL: zeros */
    int64_t position;                 /* steps taken */
    att_node *weights;                /* [B,T,S] of the steps just taken; NULL if unwanted */
} att_walk;

/* Reads sources: sets `rows`, `memory`, `last` and `state`. */
void att_recurrent_encode(att_walk *walk, const att_sources *sources);

/* Takes `count` steps on tokens [B,count]: readouts [B,count,R]. */
att_node *att_walk_on(att_walk *walk, const int32_t *tokens, int64_t count);

/* The scores of the next token, [B,count,V], from readouts of steps that began at `first`. */
att_node *att_walk_scores(const att_walk *walk, att_node *readouts, int64_t first);

att_node *att_recurrent_loss(att_model *model, att_tape *tape, const att_batch *batch,
                             const att_lesson *lesson, att_lesson_result *result);

att_status att_recurrent_open(att_decoder *decoder, att_error *err);
void att_recurrent_close(att_decoder *decoder);
att_status att_recurrent_start(att_decoder *decoder, const att_sources *sources, att_error *err);
att_status att_recurrent_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                              const int64_t *order, att_decoded *out, att_error *err);

extern const att_family att_recurrent_family;

#endif
