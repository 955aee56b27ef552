/* The choice of a sentence encoder, and the input of all of them. */
#include "model/sentence_encoder.h"

#include "base/error.h"

att_encoded_batch att_encoded_batch_padded(att_tape *tape, const att_sources *sources,
                                           att_node *rows)
{
    int64_t *first = att_tape_alloc(tape, sources->rows, sizeof *first);
    for (int64_t r = 0; first && r < sources->rows; r++)
        first[r] = r * sources->length;
    return (att_encoded_batch){ .states = rows,
                                .sequences = sources->rows,
                                .offsets = first,
                                .lengths = sources->lengths,
                                .max_length = sources->length };
}

att_status att_sentence_encoder_build(att_sentence_encoder *out, att_model *model,
                                      att_param_builder *builder)
{
    static att_sentence_encoder_builder *const builders[ATT_ARCHITECTURE_COUNT] = {
        [ATT_ARCHITECTURE_RNN] = att_rnn_sentence_encoder_build,
        [ATT_ARCHITECTURE_TRANSFORMER] = att_transformer_sentence_encoder_build,
        [ATT_ARCHITECTURE_CNN] = att_cnn_sentence_encoder_build,
    };
    *out = (att_sentence_encoder){ 0 };
    ATT_TRY(att_char_features_check(model->settings, builder->err));
    att_char_features_build(&out->chars, builder, model->settings);
    return builders[model->settings->architecture](out, model, builder);
}

void att_sentence_encoder_run(const att_sentence_encoder *encoder, att_tape *tape,
                              const att_sources *sources, att_encoded_batch *out)
{
    att_sources input = *sources;
    if (encoder->chars.kind != ATT_CHAR_FEATURES_NONE) {
        input.word_features =
            att_char_features_run(&encoder->chars, tape, sources->words,
                                  sources->rows * sources->length, &input.word_rows);
        if (!input.word_features)
            return;
    }
    encoder->encode(encoder, tape, &input, out);
}

const att_sources *att_sentence_encoder_input(att_tape *tape, const att_sources *from, bool stop,
                                              float word_dropout, const att_loss_options *options,
                                              const int64_t *pair)
{
    int64_t length = from->length + stop;
    att_sources *out = att_tape_alloc(tape, 1, sizeof *out);
    int32_t *ids = att_tape_alloc(tape, from->rows * length, sizeof *ids);
    int64_t *lengths = att_tape_alloc(tape, from->rows, sizeof *lengths);
    bool has_words = from->words && stop;
    const char **words =
        has_words ? att_tape_alloc(tape, from->rows * length, sizeof *words) : NULL;
    if (!out || !ids || !lengths || (has_words && !words))
        return NULL;
    for (int64_t r = 0; r < from->rows; r++) {
        for (int64_t i = 0; words && i < length; i++)
            words[r * length + i] = i < from->length ? from->words[r * from->length + i] : NULL;
        int32_t *row = ids + r * length;
        lengths[r] = from->lengths[r];
        for (int64_t i = 0; i < length; i++)
            row[i] = i < lengths[r] ? from->ids[r * from->length + i] : ATT_ID_PAD;
        if (options && word_dropout > 0 && att_tape_is_training(tape))
            att_word_dropout(options, row, lengths[r], word_dropout, pair[r]);
        if (stop)
            row[lengths[r]++] = ATT_ID_EOS;
    }
    *out = *from;
    out->length = length;
    out->ids = ids;
    out->lengths = lengths;
    if (words)
        out->words = words;
    return out;
}
