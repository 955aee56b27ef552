/* The attention of an RNN decoder to the encoder states (cross attention, Bahdanau and Luong
 * style): the parameters of its score, of local attention's window, or of coverage. */
#ifndef ATT_NN_DECODER_ATTENTION_H
#define ATT_NN_DECODER_ATTENTION_H

#include "nn/param_builder.h"
#include "nn/rows_by_source.h"
#include "settings/settings.h"
#include "tape/ops.h"

typedef struct att_decoder_attention {
    att_attention_mechanism mechanism;
    att_normalizer normalizer;
    int64_t hidden_size; /* N, of states, keys and values */
    int key_projection;  /* [N,N] from values to keys; ATT_NO_PARAM: the keys are the values */
    int w, u, b, v;      /* of the score; ATT_NO_PARAM where it has none */
    int window_w;        /* [N,N] and window_v [N,1] predict the window's center: local attention */
    int window_v;
    int coverage_weight;       /* [1] weight of the accumulated attention: coverage */
    float window;              /* standard deviation of the window, in source tokens */
    int64_t max_source_length; /* source positions that the location score has; 0: any number */
    bool guided_alignment;     /* a loss acts on the weights, so that they are a node of the tape */
    bool copies;               /* so it does where tokens are copied by them */
} att_decoder_attention;

/* Adds its parameters, named "attention.…", by the settings. */
void att_decoder_attention_build(att_decoder_attention *out, att_param_builder *builder,
                                 const att_settings *settings);

/* The encoder states of B sources. */
typedef struct att_memory {
    att_node *values;                         /* [B,S,N] */
    att_node *keys;                           /* [B,S,N] */
    const int64_t *lengths;                   /* [B] */
    const att_rows_by_source *rows_by_source; /* the source of each row; NULL: row b has source b */
} att_memory;

/* Keys from values; to be computed once per source. */
att_node *att_decoder_attention_keys(const att_decoder_attention *attention, att_tape *tape,
                                     att_node *values);

typedef struct att_decoder_attention_step {
    bool want_weights;
    att_node *coverage; /* in, out: [rows,S] sum of the weights so far; NULL: none yet */
    att_node *context;  /* out: [rows,T,N] */
    att_node *weights;  /* out: [rows,T,S], NULL unless wanted; with a gradient under guided
                           alignment and where they copy */
} att_decoder_attention_step;

/* Attends with queries [rows,T,N]. T must be 1 where memory->rows_by_source is given. */
void att_decoder_attention_run(const att_decoder_attention *attention, att_tape *tape,
                               const att_memory *memory, att_node *query,
                               att_decoder_attention_step *step);

#endif
