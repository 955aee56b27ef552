/* Sentences read by recurrent layers, to be sorted; see label.h. */
#include "model/label.h"
#include "model/reader.h"

#include "base/error.h"

static void read_sentences(const att_label_parts *parts, att_tape *tape, const att_sources *sources,
                           att_read *out)
{
    const att_reader *reader = parts->encoder;
    att_reader_ends ends = { 0 };
    *out = att_label_padded(tape, sources, att_reader_run(reader, tape, sources, &ends));
    if (parts->pooling.kind == ATT_POOL_LAST)
        out->ends = att_part(tape, ends.last, 0, reader->width);
}

static att_status check(const att_settings *settings, att_error *err)
{
    ATT_TRY(att_reader_check(settings, err));
    if (settings->pool == ATT_POOL_STOP && settings->bidirectional)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "bidirectional contradicts pool stop: who reads backwards meets the stop "
                        "token first, and knows nothing of the sentence then");
    return att_label_check(settings, err);
}

static att_status build(att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    ATT_TRY(check(settings, err));
    att_reader *reader = att_arena_take(&model->memory, 1, sizeof *reader);
    if (!reader)
        return att_fail_memory(err);
    att_builder builder = att_model_builder(model, err);
    att_reader_build_embedding(reader, &builder, settings, att_vocab_size(model->source_words));
    att_reader_build_layers(reader, &builder, settings, false);
    return att_label_build(model, &builder, read_sentences, reader, reader->width);
}

const att_family att_recurrent_label_family = ATT_LABEL_FAMILY("recurrent-label", build);
