/* Sentences read by the encoder of a Transformer, to be sorted; see label.h. */
#include "model/label.h"
#include "model/transformer.h"

#include "base/error.h"

static void read_sentences(const att_label_parts *parts, att_tape *tape, const att_sources *sources,
                           att_read *out)
{
    att_run run = { .parts = parts->encoder, .tape = tape };
    const att_stretch *stretch =
        att_stretch_new(tape, sources->rows, sources->length, sources->lengths, sources->ids);
    att_node *rows = att_transformer_read(&run, stretch);
    if (!rows)
        return;
    *out = (att_read){ .rows = rows,
                       .sequences = sources->rows,
                       .first = stretch->offsets,
                       .lengths = sources->lengths,
                       .longest = sources->length,
                       .packed = true };
}

static att_status build(att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    ATT_TRY(att_transformer_check(settings, err));
    ATT_TRY(att_label_check(settings, err));
    att_transformer_parts *encoder = att_arena_take(&model->memory, 1, sizeof *encoder);
    if (!encoder)
        return att_fail_memory(err);
    att_builder builder = att_model_builder(model, err);
    att_transformer_build_encoder(encoder, &builder, settings, att_vocab_size(model->source_words));
    return att_label_build(model, &builder, read_sentences, encoder, encoder->width);
}

const att_family att_transformer_label_family = ATT_LABEL_FAMILY("transformer-label", build);
