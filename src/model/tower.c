/* The layers of a model that can be looked into; see tower.h. */
#include "model/tower.h"

#include "base/error.h"
#include "model/recurrent.h"

static att_status of_reader(att_tower *out, const att_model *model, const att_reader *reader,
                            att_error *err)
{
    if (reader->bidirectional)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the model reads in both directions: what a unit knows of a text goes one "
                        "way alone where bidirectional is no");
    *out = (att_tower){ .words = model->source_words,
                        .embedding = reader->embedding,
                        .layers = reader->layers,
                        .width = reader->width };
    for (int i = 0; i < reader->layers; i++)
        out->layer[i] = &reader->layer[i].forward;
    return ATT_OK;
}

att_status att_model_tower(att_tower *out, const att_model *model, att_error *err)
{
    if (model->family == &att_recurrent_family) {
        const att_recurrent_parts *parts = model->parts;
        return of_reader(out, model, &parts->reader, err);
    }
    return att_fail(err, ATT_BAD_INPUT, NULL, "the model has no recurrent layers to look into");
}
