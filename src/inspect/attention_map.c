/* The attention weights of the blocks of a Transformer for one input line: computed once with a
 * probe on the blocks, for a worksheet (head_sheet.c) or as an attention map to draw
 * (att_model_attention_map). */
#include "inspect/attention_map.h"
#include "inspect/sheet_writer.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "decode/requests.h"
#include "model/classifier.h"
#include "model/layer_check.h"
#include "model/tagger.h"

#include <string.h>

/* ---- selection of the layer and the head */

const att_transformer_network *att_model_transformer(const att_model *model)
{
    const att_architecture *kind = model->architecture;
    if (kind == &att_transformer_architecture || kind == &att_transformer_lm_architecture ||
        kind == &att_transformer_caption_architecture)
        return model->network;
    if (kind == &att_transformer_classifier_architecture)
        return ((const att_classifier_network *)model->network)->encoder.network;
    if (kind == &att_transformer_tagger_architecture)
        return ((const att_tagger_network *)model->network)->encoder.network;
    return NULL;
}

int64_t att_model_attention_layers(const att_model *model, att_attention_block block)
{
    const att_transformer_network *network = att_model_transformer(model);
    if (!network)
        return 0;
    if (block == ATT_BLOCK_ENCODER)
        return network->encoder_layers;
    return block == ATT_BLOCK_CROSS && !network->has_encoder ? 0 : network->decoder_layers;
}

int64_t att_model_attention_heads(const att_model *model)
{
    return att_model_transformer(model) ? model->settings->heads : 0;
}

bool att_model_has_stop_token(const att_model *model)
{
    return att_model_type_get(model) == ATT_MODEL_CLASSIFIER &&
           model->settings->pool == ATT_POOL_STOP;
}

static att_status fail_out_of_range(const char *what, int64_t index, int64_t count, att_error *err)
{
    return att_fail(err, ATT_BAD_INPUT, NULL, "there is no %s %lld: the model has %lld", what,
                    (long long)index, (long long)count);
}

static att_status check_block(att_attention_capture *l, att_error *err)
{
    static const char *const names[] = { "encoder self-attention", "decoder self-attention",
                                         "cross attention" };
    att_model_type type = att_model_type_get(l->model);
    if (!l->network)
        return att_fail(err, ATT_BAD_INPUT, NULL, "expected a Transformer, found architecture %s",
                        l->model->architecture->name);
    if (type == ATT_MODEL_CAPTION && !l->grid)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "expected a model that reads a line, found one that reads images");
    if (l->layers == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL, "%s has no %s: it has %s self-attention alone",
                        att_model_type_phrase(type), names[l->part],
                        type == ATT_MODEL_LM ? "decoder" : "encoder");
    return ATT_OK;
}

static att_status choose_layer(att_attention_capture *l, const att_head_selection *which,
                               int64_t default_layer, att_error *err)
{
    ATT_TRY(check_block(l, err));
    int64_t layer = which->layer > 0 ? which->layer : default_layer > 0 ? default_layer : l->layers;
    if (layer > l->layers)
        return fail_out_of_range("layer", layer, l->layers, err);
    if (which->head > l->model->settings->heads)
        return fail_out_of_range("head", which->head, l->model->settings->heads, err);
    l->layer = layer - 1;
    return ATT_OK;
}

/* ---- tokens */

static att_status encode_target(att_attention_capture *l, const att_head_selection *which,
                                att_error *err)
{
    if (att_ids_add(&l->target, ATT_ID_BOS) != ATT_OK)
        return att_fail_memory(err);
    if (l->part == ATT_BLOCK_ENCODER)
        return ATT_OK;
    const att_vocab *vocab = l->model->target_vocab;
    if (which->target)
        return att_vocab_encode(vocab, NULL, &l->target, which->target, strlen(which->target), err);
    att_outputs *outputs;
    const att_generate_options greedy = ATT_INIT(att_generate_options);
    ATT_TRY(att_model_generate(&outputs, l->model, &which->input, 1, &greedy, err));
    const char *text = att_outputs_get(outputs, 0)->text;
    att_status status = att_vocab_encode(vocab, NULL, &l->target, text, strlen(text), err);
    att_outputs_free(outputs);
    return status;
}

static att_status fail_context(size_t tokens, int64_t context, att_error *err)
{
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "the text has %zu tokens; the context of the model has %lld", tokens,
                    (long long)context);
}

static att_status encode_text(att_attention_capture *l, const char *text, att_error *err)
{
    int64_t context = l->network->context_length;
    ATT_TRY(att_vocab_encode(l->model->target_vocab, NULL, &l->target, text, strlen(text), err));
    if (context > 0 && (int64_t)l->target.count > context)
        return fail_context(l->target.count, context, err);
    return ATT_OK;
}

static att_status encode_tokens(att_attention_capture *l, const att_head_selection *which,
                                size_t max_tokens, att_error *err)
{
    if (att_model_type_get(l->model) == ATT_MODEL_LM) {
        ATT_TRY(encode_text(l, which->input, err));
    } else {
        ATT_TRY(att_vocab_encode(l->model->source_vocab, NULL, &l->source, which->input,
                                 strlen(which->input), err));
        if (att_model_type_get(l->model) == ATT_MODEL_SEQ2SEQ)
            ATT_TRY(encode_target(l, which, err));
    }
    if (l->source.count == 0 && (l->target.count == 0 || l->network->has_encoder))
        return att_fail(err, ATT_BAD_INPUT, NULL, "the input has no tokens");
    if (max_tokens > 0 && (l->source.count > max_tokens || l->target.count > max_tokens))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the line has %zu source and %zu target tokens; a worksheet takes at most "
                        "%zu",
                        l->source.count, l->target.count, max_tokens);
    return ATT_OK;
}

/* ---- the forward pass */

/* A seq2seq model, or a language model. */
static void run_decoder(att_attention_capture *l)
{
    const int64_t lengths[] = { (int64_t)l->source.count, (int64_t)l->target.count };
    att_transformer_pass run = { .network = l->network, .tape = l->tape, .probe = &l->probe };
    if (l->grid)
        att_transformer_encode_image(&run, &(att_sources){ .rows = 1, .image_grid = l->grid });
    else if (l->network->has_encoder)
        att_transformer_encode_packed(
            &run, att_packed_sequences_new(l->tape, 1, lengths[0], &lengths[0], l->source.items));
    const att_packed_sequences *target =
        att_packed_sequences_new(l->tape, 1, lengths[1], &lengths[1], l->target.items);
    if (target && l->part != ATT_BLOCK_ENCODER) {
        run.query_offsets = target->offsets;
        l->output = att_transformer_decode(&run, target);
    }
}

/* The encoder of a classifier or tagger. Its input may have a stop token behind the line. */
static att_status run_sentence_encoder(att_attention_capture *l, const char *line, att_error *err)
{
    bool classifier = att_model_type_get(l->model) == ATT_MODEL_CLASSIFIER;
    const att_classifier_network *labeler = l->model->network;
    const att_sentence_encoder *encoder =
        classifier ? &labeler->encoder : &((const att_tagger_network *)l->model->network)->encoder;
    bool stop = att_model_has_stop_token(l->model);
    const att_input_limit limit = att_input_limit_of(l->model, NULL, 0, 0);
    att_requests requests = { 0 };
    att_request_words words = { 0 };
    att_sources sources = { 0 };
    att_status status =
        att_requests_tokenize(&requests, l->model->source_vocab, &line, 1, &limit, err);
    if (status == ATT_OK)
        status = att_request_sources(&sources, requests.items, 1, err);
    if (status == ATT_OK)
        status =
            att_request_words_add(&words, &sources, l->model->source_vocab, requests.items, err);
    if (status == ATT_OK) {
        att_encoded_batch read = { 0 };
        sources.probe = &l->probe;
        const att_sources *input =
            att_sentence_encoder_input(l->tape, &sources, stop, 0, NULL, NULL);
        if (input)
            att_sentence_encoder_run(encoder, l->tape, input, &read);
        l->output = read.states;
        if (stop && att_ids_add(&l->source, ATT_ID_EOS) != ATT_OK)
            status = att_fail_memory(err);
    }
    att_request_sources_free(&sources);
    att_request_words_free(&words);
    att_requests_free(&requests);
    return status;
}

/* Runs the model once over the line; the probe records the inputs and the weights. */
static att_status run_model(att_attention_capture *l, const char *line, att_error *err)
{
    att_model_type type = att_model_type_get(l->model);
    l->probe = (att_attention_probe){ .part = l->part };
    if (type == ATT_MODEL_CLASSIFIER || type == ATT_MODEL_TAGGER)
        ATT_TRY(run_sentence_encoder(l, line, err));
    else
        run_decoder(l);
    ATT_TRY(att_tape_status(l->tape, err));
    l->attention = att_attention_op_weights(l->tape, l->probe.attention[l->layer]);
    ATT_TRY(att_tape_status(l->tape, err));
    return att_layer_check(l->tape, err);
}

att_status att_attention_capture_run(att_attention_capture *capture, const att_model *model,
                                     const att_head_selection *which, int64_t default_layer,
                                     size_t max_tokens, att_error *err)
{
    *capture = (att_attention_capture){ .model = model,
                                        .network = att_model_transformer(model),
                                        .part = which->block,
                                        .layers = att_model_attention_layers(model, which->block) };
    ATT_TRY(choose_layer(capture, which, default_layer, err));
    ATT_TRY(encode_tokens(capture, which, max_tokens, err));
    ATT_TRY(att_tape_new(&capture->tape, &model->params, err));
    return run_model(capture, which->input, err);
}

att_status att_attention_capture_run_ids(att_attention_capture *capture, const att_model *model,
                                         const char *line, const float *grid, const att_ids *target,
                                         att_error *err)
{
    const att_head_selection last = { .block = ATT_BLOCK_DECODER };
    *capture = (att_attention_capture){ .model = model,
                                        .network = att_model_transformer(model),
                                        .part = last.block,
                                        .grid = grid,
                                        .layers = att_model_attention_layers(model, last.block) };
    ATT_TRY(choose_layer(capture, &last, 0, err));
    for (size_t i = 0; i < target->count; i++)
        if (att_ids_add(&capture->target, target->items[i]) != ATT_OK)
            return att_fail_memory(err);
    int64_t context = capture->network->context_length;
    if (context > 0 && (int64_t)target->count > context)
        return fail_context(target->count, context, err);
    if (model->source_vocab)
        ATT_TRY(
            att_vocab_encode(model->source_vocab, NULL, &capture->source, line, strlen(line), err));
    ATT_TRY(att_tape_new(&capture->tape, &model->params, err));
    return run_model(capture, line, err);
}

void att_attention_capture_free(att_attention_capture *capture)
{
    att_tape_free(capture->tape);
    att_ids_free(&capture->source);
    att_ids_free(&capture->target);
}

const att_ids *att_attention_capture_queries(const att_attention_capture *capture)
{
    return capture->part == ATT_BLOCK_ENCODER ? &capture->source : &capture->target;
}

const att_ids *att_attention_capture_keys(const att_attention_capture *capture)
{
    return capture->part == ATT_BLOCK_DECODER ? &capture->target : &capture->source;
}

const att_vocab *att_attention_capture_vocab(const att_attention_capture *capture,
                                             const att_ids *tokens)
{
    return tokens == &capture->target ? capture->model->target_vocab : capture->model->source_vocab;
}

/* ---- the map */

struct att_attention_map {
    att_map map;
    att_arena memory;
};

static const char **labels(att_arena *memory, const att_vocab *vocab, const att_ids *ids)
{
    const char **out = att_arena_alloc(memory, ids->count, sizeof *out);
    for (size_t i = 0; out && i < ids->count; i++) {
        const char *token = att_visible_token(att_vocab_token(vocab, ids->items[i]));
        out[i] = att_arena_strndup(memory, token, strlen(token));
        if (!out[i])
            return NULL;
    }
    return out;
}

/* The weights of heads from … end-1: all of them (`each`), or their mean. */
static void copy_heads(double *out, const att_node *weights, int64_t from, int64_t end, bool each)
{
    int64_t cells = weights->shape[2] * weights->shape[3];
    for (int64_t h = from; h < end; h++)
        for (int64_t i = 0; i < cells; i++) {
            double weight = (double)weights->value[h * cells + i];
            if (each)
                out[(h - from) * cells + i] = weight;
            else
                out[i] += weight / (double)(end - from);
        }
}

static const char *axis_name(const att_attention_capture *l, const att_ids *tokens)
{
    if (att_model_type_get(l->model) != ATT_MODEL_SEQ2SEQ)
        return "text";
    return tokens == &l->target ? "output" : "input";
}

/* Which pairs a causal mask allows, for every panel. NULL when memory is out. */
static const uint8_t *causal_pairs(att_arena *memory, int64_t panels, int64_t tokens)
{
    uint8_t *allowed = att_arena_alloc(memory, (size_t)(panels * tokens), (size_t)tokens);
    for (int64_t i = 0; allowed && i < panels * tokens; i++)
        for (int64_t j = 0; j < tokens; j++)
            allowed[i * tokens + j] = j <= i % tokens;
    return allowed;
}

/* A map without its weights: labels, names and room for `panels` panels. */
static att_status start_map(att_attention_map *out, const att_attention_capture *l, int64_t panels,
                            double **weights, att_error *err)
{
    const att_ids *queries = att_attention_capture_queries(l),
                  *keys = att_attention_capture_keys(l);
    const char **rows = labels(&out->memory, att_attention_capture_vocab(l, queries), queries);
    const char **columns = labels(&out->memory, att_attention_capture_vocab(l, keys), keys);
    bool causal = l->part == ATT_BLOCK_DECODER;
    const uint8_t *allowed =
        causal ? causal_pairs(&out->memory, panels, (int64_t)keys->count) : NULL;
    *weights = att_arena_alloc(&out->memory, (size_t)panels,
                               queries->count * keys->count * sizeof **weights);
    if (!*weights || !rows || !columns || (causal && !allowed))
        return att_fail_memory(err);
    out->map = (att_map){ .panels = panels,
                          .queries = (int64_t)queries->count,
                          .keys = (int64_t)keys->count,
                          .weights = *weights,
                          .allowed = allowed,
                          .query_labels = rows,
                          .key_labels = columns,
                          .query_name = axis_name(l, queries),
                          .key_name = axis_name(l, keys) };
    return ATT_OK;
}

static att_status make_map(att_attention_map *out, const att_attention_capture *l,
                           const att_head_selection *which, bool every_head, att_error *err)
{
    int64_t heads = l->attention->shape[1];
    int64_t from = which->head > 0 ? which->head - 1 : 0, end = which->head > 0 ? from + 1 : heads;
    double *weights;
    ATT_TRY(start_map(out, l, every_head ? end - from : 1, &weights, err));
    copy_heads(weights, l->attention, from, end, every_head);
    return ATT_OK;
}

att_status att_model_attention_map(att_attention_map **out, const att_model *model,
                                   const att_head_selection *which, bool every_head, att_error *err)
{
    *out = NULL;
    att_attention_capture capture;
    att_attention_map *result = att_alloc_zero(1, sizeof *result);
    if (!result)
        return att_fail_memory(err);
    att_progress_scope scope;
    att_progress_begin(&scope, "computing an attention map", 0);
    att_status status = att_attention_capture_run(&capture, model, which, 0, 0, err);
    if (status == ATT_OK)
        status = make_map(result, &capture, which, every_head, err);
    status = att_progress_end(&scope, status, err);
    att_attention_capture_free(&capture);
    if (status == ATT_OK)
        *out = result;
    else
        att_attention_map_free(result);
    return status;
}

static att_status make_overview(att_attention_map *out, const att_attention_capture *l,
                                att_error *err)
{
    int64_t heads = l->model->settings->heads;
    double *weights;
    ATT_TRY(start_map(out, l, l->layers * heads, &weights, err));
    const char **names = att_arena_alloc(&out->memory, (size_t)(l->layers * heads), sizeof *names);
    for (int64_t i = 0; names && i < l->layers * heads; i++) {
        names[i] = att_arena_printf(&out->memory, "layer %lld, head %lld",
                                    (long long)(i / heads) + 1, (long long)(i % heads) + 1);
        if (!names[i])
            return att_fail_memory(err);
    }
    if (!names)
        return att_fail_memory(err);
    out->map.panel_labels = names;
    out->map.panel_columns = heads;
    for (int64_t layer = 0; layer < l->layers; layer++) {
        const att_node *node = att_attention_op_weights(l->tape, l->probe.attention[layer]);
        ATT_TRY(att_tape_status(l->tape, err));
        copy_heads(weights + layer * heads * out->map.queries * out->map.keys, node, 0, heads,
                   true);
    }
    return ATT_OK;
}

att_status att_model_attention_overview(att_attention_map **out, const att_model *model,
                                        const att_head_selection *which, att_error *err)
{
    *out = NULL;
    att_attention_capture capture;
    att_head_selection all = *which;
    all.layer = all.head = 0;
    att_attention_map *result = att_alloc_zero(1, sizeof *result);
    if (!result)
        return att_fail_memory(err);
    att_progress_scope scope;
    att_progress_begin(&scope, "computing attention maps", 0);
    att_status status = att_attention_capture_run(&capture, model, &all, 0, 0, err);
    if (status == ATT_OK)
        status = make_overview(result, &capture, err);
    status = att_progress_end(&scope, status, err);
    att_attention_capture_free(&capture);
    if (status == ATT_OK)
        *out = result;
    else
        att_attention_map_free(result);
    return status;
}

void att_attention_map_free(att_attention_map *map)
{
    if (!map)
        return;
    att_arena_free(&map->memory);
    att_free(map);
}

const att_map *att_attention_map_get(const att_attention_map *map)
{
    return &map->map;
}
