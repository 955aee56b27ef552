/* The layers of a model that can be looked into; see tower.h. */
#include "model/tower.h"

#include "base/error.h"
#include "model/label.h"
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

/* As the model itself has them; but what is looked at is no lesson, and nothing is dropped. */
static att_node *text_scores(const att_model *model, att_tape *tape, att_node *hidden)
{
    att_recurrent_parts parts = *(const att_recurrent_parts *)model->parts;
    parts.dropout = 0;
    const att_walk walk = { .parts = &parts, .tape = tape };
    if (parts.project != ATT_NO_PARAM)
        hidden = att_linear(tape, hidden, att_tape_param(tape, parts.project), NULL,
                            ATT_ACTIVATION_NONE, false);
    return att_walk_scores(&walk, hidden, 0);
}

static att_status of_pairs(att_tower *out, const att_model *model, att_error *err)
{
    const att_recurrent_parts *parts = model->parts;
    return of_reader(out, model, &parts->reader, err);
}

static att_status of_labels(att_tower *out, const att_model *model, att_error *err)
{
    const att_label_parts *parts = model->parts;
    return of_reader(out, model, parts->encoder, err);
}

/* A decoder that stands alone reads what it goes on with. */
static att_status of_text(att_tower *out, const att_model *model, att_error *err)
{
    const att_recurrent_parts *parts = model->parts;
    (void)err;
    *out = (att_tower){ .words = model->target_words,
                        .embedding = parts->target,
                        .layers = parts->layers,
                        .width = parts->width,
                        .scores = text_scores };
    for (int i = 0; i < parts->layers; i++)
        out->layer[i] = &parts->decoder[i];
    return ATT_OK;
}

att_status att_model_tower(att_tower *out, const att_model *model, att_error *err)
{
    static const struct {
        const att_family *family;
        att_status (*find)(att_tower *out, const att_model *model, att_error *err);
    } ways[] = { { &att_recurrent_family, of_pairs },
                 { &att_recurrent_label_family, of_labels },
                 { &att_recurrent_text_family, of_text } };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (ways[i].family == model->family)
            return ways[i].find(out, model, err);
    return att_fail(err, ATT_BAD_INPUT, NULL, "the model has no recurrent layers that read a text");
}
