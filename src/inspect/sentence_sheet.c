/* Classifiers and taggers on a worksheet: the encoder, then pooling and the label of the sentence,
 * or the labels of its tokens, with a CRF by the forward-backward recursion. */
#include "inspect/attention_map.h"
#include "inspect/model_sheet.h"

#include "base/error.h"
#include "model/classifier.h"
#include "model/layer_check.h"
#include "model/tagger.h"
#include "decode/requests.h"

#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 64 };

/* ---- the input of the encoder */

/* The features of the words from their characters, as the model computed them. */
static att_status put_char_features(att_model_sheet_writer *s, const att_sentence_encoder *encoder,
                                    att_tape *tape, att_error *err)
{
    const att_input_limit limit = att_input_limit_of(s->model, NULL, 0, 0);
    att_requests requests = { 0 };
    att_request_words words = { 0 };
    att_sources sources = { 0 };
    const int32_t *rows = NULL;
    int64_t size = encoder->chars.size;
    att_status status =
        att_requests_tokenize(&requests, s->model->source_vocab, &s->input, 1, &limit, err);
    if (status == ATT_OK)
        status = att_request_sources(&sources, requests.items, 1, err);
    if (status == ATT_OK)
        status =
            att_request_words_add(&words, &sources, s->model->source_vocab, requests.items, err);
    att_node *features =
        status == ATT_OK
            ? att_char_features_run(&encoder->chars, tape, sources.words, sources.length, &rows)
            : NULL;
    if (features && (status = att_tape_status(tape, err)) == ATT_OK) {
        att_sheet_put(&s->w,
                      "\nLeft out: the network over the characters of each word. Its features, "
                      "as the model computed them:\n\nfeatures = [");
        for (int64_t i = 0; i < sources.length; i++) {
            att_sheet_put(&s->w, i > 0 ? "; " : "");
            for (int64_t j = 0; j < size; j++)
                att_sheet_put(&s->w, "%s%.9g", j > 0 ? " " : "",
                              (double)features->value[rows[i] * size + j]);
        }
        att_sheet_put(&s->w, "]\n");
    }
    att_request_sources_free(&sources);
    att_request_words_free(&words);
    att_requests_free(&requests);
    return status != ATT_OK ? status : att_tape_status(tape, err);
}

/* The stop token is no word and has no features. */
static void put_stop_row(att_model_sheet_writer *s, int64_t size)
{
    if (att_model_has_stop_token(s->model))
        att_sheet_put(&s->w, "features = [features; zeros(1, %lld)]\n", (long long)size);
}

/* x = the embeddings of the tokens, with the features of their characters. */
static att_status put_input(att_model_sheet_writer *s, const att_sentence_encoder *encoder,
                            const att_embedding *embedding, att_tape *tape, att_error *err)
{
    att_sheet_put(&s->w, "\n## Embeddings\n\n");
    att_sheet_put_embeddings(&s->w, embedding,
                             &(att_sheet_tokens){ .name = "x",
                                                  .side = "source",
                                                  .table = "source.embed",
                                                  .ids = s->source.items,
                                                  .count = s->source.count });
    if (encoder->chars.kind != ATT_CHAR_FEATURES_NONE) {
        ATT_TRY(put_char_features(s, encoder, tape, err));
        if (s->model->settings->architecture == ATT_ARCHITECTURE_TRANSFORMER) {
            att_sheet_put_linear(&s->w, "features", "features", "chars.projection", true);
            put_stop_row(s, s->model->settings->hidden_size);
            att_sheet_put(&s->w, "x = x + features\n");
        } else {
            put_stop_row(s, encoder->chars.size);
            att_sheet_put(&s->w, "x = [x, features]\n");
        }
    }
    att_sheet_put_labels(&s->w, "x", s->model->source_vocab, &s->source);
    return ATT_OK;
}

/* ---- convolutions */

static void put_convolution(att_model_sheet_writer *s, const att_text_cnn *cnn, int index)
{
    att_sheet_writer *w = &s->w;
    long long before = (long long)(cnn->max_window - 1) / 2, after = (long long)cnn->max_window / 2;
    long long tokens = (long long)s->source.count, width = (long long)cnn->input_size;
    att_sheet_put(w,
                  "\n## Convolution %d\n\nEach token with its neighbors side by side, zeros beyond "
                  "the ends.\n\npadded = [",
                  index + 1);
    if (before > 0)
        att_sheet_put(w, "zeros(%lld, %lld); ", before, width);
    att_sheet_put(w, "x");
    if (after > 0)
        att_sheet_put(w, "; zeros(%lld, %lld)", after, width);
    att_sheet_put(w, "]\n");
    for (long long size = (long long)cnn->min_window; size <= (long long)cnn->max_window; size++) {
        long long first = before - (size - 1) / 2;
        att_sheet_put(w, "w_%lld = relu(linear([", size);
        for (long long i = 0; i < size; i++)
            att_sheet_put(w, "%spadded[%lld:%lld, :]", i > 0 ? ", " : "", first + i + 1,
                          first + i + tokens);
        att_sheet_put(w, "], ");
        att_sheet_put_load(w, "encoder.%d.window%lld", index, size);
        att_sheet_put(w, ", ");
        att_sheet_put_load(w, "encoder.%d.window%lld_bias", index, size);
        att_sheet_put(w, "))\n");
    }
    att_sheet_put(w, "x = [");
    for (long long size = (long long)cnn->min_window; size <= (long long)cnn->max_window; size++)
        att_sheet_put(w, size > (long long)cnn->min_window ? ", w_%lld" : "w_%lld", size);
    att_sheet_put(w, "]\n");
    att_sheet_put_labels(w, "x", s->model->source_vocab, &s->source);
}

/* ---- the encoder */

static att_status put_encoder(att_model_sheet_writer *s, const att_sentence_encoder *encoder,
                              bool final_states, att_error *err)
{
    att_tape *tape = NULL;
    att_attention_capture run = { 0 };
    att_status status = ATT_OK;
    const att_head_selection which = { .block = ATT_BLOCK_ENCODER, .input = s->input };
    if (s->model->settings->architecture == ATT_ARCHITECTURE_TRANSFORMER) {
        const att_transformer_network *network = encoder->network;
        bool small = att_transformer_sheet_is_small(s->model, network->encoder_layers);
        status = att_attention_capture_run(&run, s->model, &which, 0, 0, err);
        if (status == ATT_OK && small)
            status = put_input(s, encoder, &network->source_embedding, run.tape, err);
        if (status == ATT_OK)
            att_transformer_sheet_put_encoder(s, network, &run.probe);
        att_attention_capture_free(&run);
        return status;
    }
    ATT_TRY(att_tape_new(&tape, &s->model->params, err));
    if (s->model->settings->architecture == ATT_ARCHITECTURE_RNN) {
        const att_rnn_encoder *network = encoder->network;
        status = put_input(s, encoder, &network->embedding, tape, err);
        att_rnn_sheet_put_encoder(s, network, final_states);
        att_sheet_put_labels(&s->w, "x", s->model->source_vocab, &s->source);
    } else {
        const att_cnn_encoder *network = encoder->network;
        status = put_input(s, encoder, &network->embedding, tape, err);
        for (int i = 0; i < network->layers; i++)
            put_convolution(s, &network->layer[i], i);
    }
    att_tape_free(tape);
    return status;
}

/* ---- classifiers */

static void put_attention_pooling(att_model_sheet_writer *s, const att_pooling *pooling)
{
    att_sheet_writer *w = &s->w;
    bool projected = pooling->key.w != ATT_NO_PARAM;
    long long width = (long long)(pooling->hidden_size / pooling->heads);
    att_sheet_put(w, "query = ");
    att_sheet_put_load(w, "pool.query");
    att_sheet_put(w, "\n");
    if (projected) {
        att_sheet_put_linear(w, "keys", "x", "pool.key", true);
        att_sheet_put(w, "keys = tanh(keys)\n");
    }
    for (long long h = 0; h < pooling->heads; h++)
        att_sheet_put(w,
                      "a_%lld = attention(query[:, %lld:%lld], %s[:, %lld:%lld], x[:, %lld:%lld], "
                      "score = %s)\n",
                      h + 1, h * width + 1, (h + 1) * width, projected ? "keys" : "x",
                      h * width + 1, (h + 1) * width, h * width + 1, (h + 1) * width,
                      pooling->scaled ? "scaled" : "dot");
    att_sheet_put(w, "s = [");
    for (long long h = 0; h < pooling->heads; h++)
        att_sheet_put(w, h > 0 ? ", a_%lld" : "a_%lld", h + 1);
    att_sheet_put(w, "]\n");
}

static void put_pooling(att_model_sheet_writer *s, const att_pooling *pooling)
{
    att_sheet_writer *w = &s->w;
    bool rnn = s->model->settings->architecture == ATT_ARCHITECTURE_RNN;
    att_sheet_put(w, "\n## One vector of the sentence\n\n");
    switch (pooling->kind) {
    case ATT_POOL_ATTENTION:
        put_attention_pooling(s, pooling);
        break;
    case ATT_POOL_MEAN:
        att_sheet_put(w, "s = mean(x, cols)\n");
        break;
    case ATT_POOL_MAX:
        att_sheet_put(w, "s = max(x, cols)\n");
        break;
    default:
        att_sheet_put(w, pooling->kind == ATT_POOL_STOP ? "The state of the stop token.\n\n"
                                                        : "The last state.\n\n");
        if (pooling->kind == ATT_POOL_LAST && rnn)
            att_sheet_put(w, "s = h_%lld\n", (long long)s->model->settings->layers);
        else
            att_sheet_put(w, "s = x[%zu, :]\n", s->source.count);
    }
}

static void put_label_names(att_model_sheet_writer *s, const char *matrix)
{
    att_sheet_put(&s->w, "label %s cols", matrix);
    for (size_t i = 0; i < att_model_label_count(s->model); i++) {
        att_sheet_put(&s->w, " ");
        att_sheet_put_string(&s->w, att_model_label(s->model, i));
    }
    att_sheet_put(&s->w, "\n");
}

/* Claims what att_model_classify() and att_model_tag() return: p [rows,labels]. */
static void put_label_claim(att_model_sheet_writer *s, const double *probabilities, int64_t rows,
                            int64_t labels)
{
    att_sheet_put(&s->w, "expect p = [");
    for (int64_t i = 0; i < rows * labels; i++)
        att_sheet_put(&s->w, "%s%.9g",
                      i == 0            ? ""
                      : i % labels == 0 ? "; "
                                        : " ",
                      probabilities[i]);
    att_sheet_put(&s->w, "] within 0.0002\n");
}

static att_status write_classifier(att_model_sheet_writer *s, att_error *err)
{
    const att_classifier_network *network = s->model->network;
    att_predictions *predictions;
    ATT_TRY(att_model_classify(&predictions, s->model, &s->input, 1, NULL, err));
    const att_prediction *prediction = att_predictions_get(predictions, 0);
    att_status status = ATT_OK;
    if (att_model_has_stop_token(s->model) && att_ids_add(&s->source, ATT_ID_EOS) != ATT_OK)
        status = att_fail_memory(err);
    s->source_length = s->source.count;
    if (status == ATT_OK)
        status = put_encoder(s, &network->encoder, network->pooling.kind == ATT_POOL_LAST, err);
    if (status == ATT_OK) {
        put_pooling(s, &network->pooling);
        att_sheet_put(&s->w, "\n## The label\n\n");
        att_sheet_put_linear(&s->w, "z", "s", "output.w", true);
        put_label_names(s, "z");
        if (s->model->temperature != 1)
            att_sheet_put(&s->w, "p = softmax(z / %.17g)   # calibrated by its temperature\n",
                          s->model->temperature);
        else
            att_sheet_put(&s->w, "p = softmax(z)\n");
        put_label_claim(s, prediction->probabilities, 1, prediction->label_count);
    }
    att_predictions_free(predictions);
    return status;
}

/* ---- taggers */

/* Forward and backward recursions over the labels: f_t and b_t are logarithms of sums over all
 * sequences of labels up to token t and behind it. */
static void put_crf(att_model_sheet_writer *s)
{
    att_sheet_writer *w = &s->w;
    size_t n = s->source.count;
    att_sheet_put(w, "\n## The CRF\n\nThe score of a sequence of labels is the sum of its scores z "
                     "and of its transitions. f_t and b_t are the logarithms of the sums over all "
                     "sequences up to token t, and behind it.\n\ntransitions = ");
    att_sheet_put_load(w, "crf.transitions");
    att_sheet_put(w, "\nf_1 = z[1, :] + ");
    att_sheet_put_load(w, "crf.start");
    att_sheet_put(w, "\n");
    for (size_t t = 2; t <= n; t++)
        att_sheet_put(w, "f_%zu = log(sum(exp(f_%zu' + transitions), cols)) + z[%zu, :]\n", t,
                      t - 1, t);
    att_sheet_put(w, "b_%zu = ", n);
    att_sheet_put_load(w, "crf.end");
    att_sheet_put(w, "\n");
    for (size_t t = n - 1; t >= 1; t--)
        att_sheet_put(w, "b_%zu = log(sum(exp(transitions + z[%zu, :] + b_%zu), rows))'\n", t,
                      t + 1, t + 1);
    att_sheet_put(w, "total = log(sum(exp(f_%zu + b_%zu)))\np = exp([", n, n);
    for (size_t t = 1; t <= n; t++)
        att_sheet_put(w, "%sf_%zu + b_%zu", t > 1 ? "; " : "", t, t);
    att_sheet_put(w, "] - total)\n");
    att_sheet_put_labels(w, "p", s->model->source_vocab, &s->source);
    put_label_names(s, "p");
}

static att_status write_tagger(att_model_sheet_writer *s, att_error *err)
{
    const att_tagger_network *network = s->model->network;
    att_taggings *taggings;
    ATT_TRY(att_model_tag(&taggings, s->model, &s->input, 1, NULL, err));
    const att_tagging *tagging = att_taggings_get(taggings, 0);
    att_status status = put_encoder(s, &network->encoder, false, err);
    if (status == ATT_OK) {
        att_sheet_put(&s->w, "\n## The labels\n\n");
        att_sheet_put_linear(&s->w, "z", "x", "output.w", true);
        put_label_names(s, "z");
        if (network->has_crf)
            put_crf(s);
        else
            att_sheet_put(&s->w, "p = softmax(z)\n");
        put_label_claim(s, tagging->probabilities, tagging->token_count, tagging->label_count);
    }
    att_taggings_free(taggings);
    return status;
}

att_status att_sentence_sheet_write(att_model_sheet_writer *s, att_error *err)
{
    return att_model_type_get(s->model) == ATT_MODEL_CLASSIFIER ? write_classifier(s, err)
                                                                : write_tagger(s, err);
}
