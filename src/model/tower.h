/* The recurrent layers of a model that read tokens from the first to the last, one layer upon the
 * other: what can be looked into while it reads (src/inspect/). */
#ifndef ATT_MODEL_TOWER_H
#define ATT_MODEL_TOWER_H

#include "model/reader.h"

typedef struct att_tower {
    const att_vocab *words; /* the tokens that it reads */
    att_embedding embedding;
    int layers;
    const att_cell_layer *layer[ATT_MOST_LAYERS];
    int64_t width; /* N, of every layer */

    /* The scores of the next token from the last layer's hidden states [B,T,N]; NULL where the
     * model foresees something else than what it reads. */
    att_node *(*scores)(const att_model *model, att_tape *tape, att_node *hidden);
} att_tower;

/* ATT_BAD_INPUT where the model has none: it is no recurrent one, or reads in both directions. */
att_status att_model_tower(att_tower *out, const att_model *model, att_error *err);

#endif
