/* Finds the RNN layers of a model whose states can be inspected. */
#include "model/rnn_stack.h"

#include "base/error.h"
#include "model/classifier.h"
#include "model/rnn.h"
#include "model/tagger.h"

static att_status from_encoder(att_rnn_stack *out, const att_model *model,
                               const att_rnn_encoder *reader, att_error *err)
{
    if (reader->bidirectional)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "expected a model with bidirectional no, found a bidirectional encoder");
    *out = (att_rnn_stack){ .vocab = model->source_vocab,
                            .embedding = reader->embedding,
                            .layers = reader->layers,
                            .hidden_size = reader->hidden_size };
    for (int i = 0; i < reader->layers; i++)
        out->layer[i] = &reader->layer[i].forward;
    return ATT_OK;
}

/* The embeddings as the model computes them, but without dropout. */
static att_node *lm_logits(const att_model *model, att_tape *tape, att_node *hidden)
{
    att_rnn_network parts = *(const att_rnn_network *)model->network;
    parts.dropout = 0;
    const att_rnn_decoder walk = { .network = &parts, .tape = tape };
    if (parts.projection_w != ATT_NO_PARAM)
        hidden = att_linear(tape, hidden, att_tape_param(tape, parts.projection_w), NULL,
                            ATT_ACTIVATION_NONE, false);
    return att_rnn_decoder_logits(&walk, hidden, 0);
}

static att_status from_seq2seq(att_rnn_stack *out, const att_model *model, att_error *err)
{
    const att_rnn_network *parts = model->network;
    return from_encoder(out, model, &parts->encoder, err);
}

static att_status from_classifier(att_rnn_stack *out, const att_model *model, att_error *err)
{
    const att_classifier_network *parts = model->network;
    return from_encoder(out, model, parts->encoder.network, err);
}

static att_status from_tagger(att_rnn_stack *out, const att_model *model, att_error *err)
{
    const att_tagger_network *parts = model->network;
    if (parts->encoder.chars.kind != ATT_CHAR_FEATURES_NONE)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "expected a model with char-features none: its layers read tokens alone");
    return from_encoder(out, model, parts->encoder.network, err);
}

/* The decoder of a language model reads the text that it continues. */
static att_status from_lm(att_rnn_stack *out, const att_model *model, att_error *err)
{
    const att_rnn_network *parts = model->network;
    (void)err;
    *out = (att_rnn_stack){ .vocab = model->target_vocab,
                            .embedding = parts->target_embedding,
                            .layers = parts->layers,
                            .hidden_size = parts->hidden_size,
                            .logits = lm_logits };
    for (int i = 0; i < parts->layers; i++)
        out->layer[i] = &parts->decoder[i];
    return ATT_OK;
}

att_status att_model_rnn_stack(att_rnn_stack *out, const att_model *model, att_error *err)
{
    static const struct {
        const att_architecture *family;
        att_status (*find)(att_rnn_stack *out, const att_model *model, att_error *err);
    } ways[] = { { &att_rnn_architecture, from_seq2seq },
                 { &att_rnn_classifier_architecture, from_classifier },
                 { &att_rnn_tagger_architecture, from_tagger },
                 { &att_rnn_lm_architecture, from_lm } };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (ways[i].family == model->architecture)
            return ways[i].find(out, model, err);
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "expected a model with RNN layers that read a text, found none");
}
