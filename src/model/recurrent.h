/* The recurrent family: an encoder and a decoder of RNN, GRU or LSTM layers, and between them any
 * of the attentions (handouts 003 and 004). Shared by its own files alone:
 *
 *   recurrent.c         its parameters, and the row of the table
 *   reader.c            an encoder
 *   recurrent_encode.c  a source read by it, for the decoder
 *   recurrent_see.c     a picture seen, in its place
 *   recurrent_walk.c    a decoder going along a target, many steps at once where nothing it needs
 *                       depends on the step before, else one by one
 *   recurrent_loss.c    learning
 *   recurrent_decode.c  decoding: the same walk, one step at a time, its state kept between calls
 */
#ifndef ATT_MODEL_RECURRENT_H
#define ATT_MODEL_RECURRENT_H

#include "model/model.h"
#include "model/output.h"
#include "model/reader.h"
#include "nn/eye.h"
#include "nn/glimpse.h"
#include "nn/heads.h"

typedef struct att_walk att_walk;

typedef struct att_recurrent_parts {
    /* Reads sources, whatever they are: sets `rows`, `memory`, `last` and `state` of the walk. */
    void (*read)(att_walk *walk, const att_sources *sources);

    int layers;
    bool reads;    /* there is an encoder; else the decoder stands alone and goes on with a text */
    bool fixed;    /* the context is the encoder's last state */
    bool scored;   /* the context comes from attention */
    bool at_input; /* the context is part of the decoder's input (feed state) */
    bool readout_at_input; /* the last readout is (feed both) */
    int64_t width;         /* N */
    int64_t readout_width; /* R */
    float dropout;
    float align_weight;

    att_reader reader;               /* the encoder */
    att_eye eye;                     /* in its place, where sources are pictures */
    bool starts_seeing;              /* the mean of a picture starts each layer; else nothing */
    att_affine see[ATT_MOST_LAYERS]; /* from that mean to the start */
    att_embedding target;
    att_cell_layer decoder[ATT_MOST_LAYERS];
    att_glimpse glimpse;
    int join;     /* W_c [2 N,R]: readout = tanh([context; state] W_c); or none */
    int project;  /* [N,R] where the readout is the state but has another width; or none */
    int output_w; /* [R,V], or none: the target embedding */
    int output_b; /* [V] */
} att_recurrent_parts;

/* A decoder under way. */
struct att_walk {
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
};

/* The two ways to read: tokens by an encoder, where there are any, and pictures. */
void att_recurrent_encode(att_walk *walk, const att_sources *sources);
void att_recurrent_see(att_walk *walk, const att_sources *sources);

/* Adds the parameters of the latter. */
void att_recurrent_build_sight(att_recurrent_parts *parts, att_builder *builder,
                               const att_settings *settings);

/* Takes `count` steps on tokens [B,count]: readouts [B,count,R]. */
att_node *att_walk_on(att_walk *walk, const int32_t *tokens, int64_t count);

/* The scores of the next token, [B,count,V], from readouts of steps that began at `first`. */
att_node *att_walk_scores(const att_walk *walk, att_node *readouts, int64_t first);

att_node *att_recurrent_loss(att_model *model, att_tape *tape, const att_batch *batch,
                             const att_lesson *lesson, att_lesson_result *result);

/* Floats that a row of a text carries from batch to batch. */
int64_t att_recurrent_carries(const att_model *model);

att_status att_recurrent_open(att_decoder *decoder, att_error *err);
void att_recurrent_close(att_decoder *decoder);
att_status att_recurrent_start(att_decoder *decoder, const att_sources *sources, att_error *err);
att_status att_recurrent_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                              const int64_t *order, att_decoded *out, att_error *err);

extern const att_family att_recurrent_family, att_recurrent_text_family,
    att_recurrent_picture_family;

#endif
