/* Recurrent layers that read a source, in one direction or both: the encoder of the recurrent
 * family, and what its classifiers read sentences with. */
#ifndef ATT_MODEL_READER_H
#define ATT_MODEL_READER_H

#include "model/model.h"
#include "nn/cell.h"
#include "nn/embedding.h"

enum { ATT_MOST_LAYERS = 64 };

typedef struct att_reader_layer {
    att_cell_layer forward;
    att_cell_layer backward; /* where it reads in both directions, each has half the width */
    int bridge_w, bridge_b;  /* from the ends of both directions to a decoder's start; or none */
} att_reader_layer;

typedef struct att_reader {
    int layers;
    bool bidirectional;
    int64_t width; /* N */
    float dropout; /* between layers */
    att_embedding embedding;
    att_reader_layer layer[ATT_MOST_LAYERS];
} att_reader;

/* Where dropout acts, told apart from other places and steps: draws of step t are at place + t. */
enum { ATT_DROP_SOURCE = 1, ATT_DROP_TARGET, ATT_DROP_OUTPUT, ATT_DROP_LAYER };

/* Layers count from the encoder's first to the decoder's last. */
static inline uint64_t att_drop_place(int which, int layer)
{
    return (uint64_t)(which + layer) << 40;
}

/* What can be said of the settings by whoever reads with it. */
att_status att_reader_check(const att_settings *settings, att_error *err);

/* Adds the embedding of the source's tokens. */
void att_reader_build_embedding(att_reader *out, att_builder *builder, const att_settings *settings,
                                int64_t vocabulary);

/* Adds the layers of a reader that has its embedding; with `bridges`, what leads from their ends to
 * the starts of a decoder. */
void att_reader_build_layers(att_reader *reader, att_builder *builder, const att_settings *settings,
                             bool bridges);

/* What reading leaves, but for the states of the last layer. */
typedef struct att_reader_ends {
    att_node *last;                   /* [B, states N] where the last layer ended */
    att_node *start[ATT_MOST_LAYERS]; /* [B, states N] and where each layer of a decoder starts */
} att_reader_ends;

/* Reads sources: hidden states [B,S,N] of the last layer. */
att_node *att_reader_run(const att_reader *reader, att_tape *tape, const att_sources *sources,
                         att_reader_ends *ends);

#endif
