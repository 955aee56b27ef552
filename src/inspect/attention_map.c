/* The attention weights of one block of a Transformer for one input line: computed once with a
 * probe on the block, for a worksheet (head_sheet.c) or as an attention map to draw
 * (att_model_attention_map). */
#include "inspect/attention_map.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "model/layer_check.h"

#include <string.h>

/* ---- selection of the layer and the head */

static att_status fail_out_of_range(const char *what, int64_t index, int64_t count, att_error *err)
{
    return att_fail(err, ATT_BAD_INPUT, NULL, "there is no %s %lld: the model has %lld", what,
                    (long long)index, (long long)count);
}

static att_status choose_layer(att_attention_capture *l, const att_head_selection *which,
                               int64_t default_layer, att_error *err)
{
    const att_settings *settings = l->model->settings;
    if (l->model->architecture != &att_transformer_architecture)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "expected an encoder-decoder transformer, found architecture %s",
                        l->model->architecture->name);
    int64_t layers = l->part == ATT_BLOCK_ENCODER ? settings->layers : settings->decoder_layers;
    int64_t layer = which->layer > 0 ? which->layer : default_layer > 0 ? default_layer : layers;
    if (layer > layers)
        return fail_out_of_range("layer", layer, layers, err);
    if (which->head > settings->heads)
        return fail_out_of_range("head", which->head, settings->heads, err);
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

static att_status encode_tokens(att_attention_capture *l, const att_head_selection *which,
                                size_t max_tokens, att_error *err)
{
    ATT_TRY(att_vocab_encode(l->model->source_vocab, NULL, &l->source, which->input,
                             strlen(which->input), err));
    ATT_TRY(encode_target(l, which, err));
    if (l->source.count == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the input has no tokens");
    if (max_tokens > 0 && (l->source.count > max_tokens || l->target.count > max_tokens))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the line has %zu source and %zu target tokens; a worksheet takes at most "
                        "%zu",
                        l->source.count, l->target.count, max_tokens);
    return ATT_OK;
}

/* ---- the forward pass */

/* Runs the model once over the line; the probe records the inputs and the weights of the layer. */
static att_status run_model(att_attention_capture *l, att_error *err)
{
    const int64_t lengths[] = { (int64_t)l->source.count, (int64_t)l->target.count };
    att_transformer_pass run = { .network = l->model->network,
                                 .tape = l->tape,
                                 .probe = &l->probe };
    l->probe = (att_attention_probe){ .part = l->part, .layer = (int)l->layer };
    att_transformer_encode_packed(
        &run, att_packed_sequences_new(l->tape, 1, lengths[0], &lengths[0], l->source.items));
    const att_packed_sequences *target =
        att_packed_sequences_new(l->tape, 1, lengths[1], &lengths[1], l->target.items);
    if (target && l->part != ATT_BLOCK_ENCODER) {
        run.query_offsets = target->offsets;
        (void)att_transformer_decode(&run, target);
    }
    l->attention = att_attention_op_weights(l->tape, l->probe.attention);
    ATT_TRY(att_tape_status(l->tape, err));
    return att_layer_check(l->tape, err);
}

att_status att_attention_capture_run(att_attention_capture *capture, const att_model *model,
                                     const att_head_selection *which, int64_t default_layer,
                                     size_t max_tokens, att_error *err)
{
    *capture = (att_attention_capture){ .model = model, .part = which->block };
    ATT_TRY(choose_layer(capture, which, default_layer, err));
    ATT_TRY(encode_tokens(capture, which, max_tokens, err));
    ATT_TRY(att_tape_new(&capture->tape, &model->params, err));
    return run_model(capture, err);
}

void att_attention_capture_free(att_attention_capture *capture)
{
    att_tape_free(capture->tape);
    att_ids_free(&capture->source);
    att_ids_free(&capture->target);
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
        const char *token = att_vocab_token(vocab, ids->items[i]);
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

static att_status make_map(att_attention_map *out, const att_attention_capture *l,
                           const att_head_selection *which, bool every_head, att_error *err)
{
    int64_t heads = l->attention->shape[1];
    int64_t from = which->head > 0 ? which->head - 1 : 0, end = which->head > 0 ? from + 1 : heads;
    const att_ids *queries = l->part == ATT_BLOCK_ENCODER ? &l->source : &l->target;
    const att_ids *keys = l->part == ATT_BLOCK_DECODER ? &l->target : &l->source;
    const att_vocab *vocabs[] = { l->model->source_vocab, l->model->target_vocab };
    int64_t panels = every_head ? end - from : 1;
    size_t cells = queries->count * keys->count;
    double *weights = att_arena_alloc(&out->memory, (size_t)panels, cells * sizeof *weights);
    const char **rows = labels(&out->memory, vocabs[queries == &l->target], queries);
    const char **columns = labels(&out->memory, vocabs[keys == &l->target], keys);
    if (!weights || !rows || !columns)
        return att_fail_memory(err);
    copy_heads(weights, l->attention, from, end, every_head);
    out->map = (att_map){ .panels = panels,
                          .queries = (int64_t)queries->count,
                          .keys = (int64_t)keys->count,
                          .weights = weights,
                          .query_labels = rows,
                          .key_labels = columns,
                          .query_name = queries == &l->target ? "output" : "input",
                          .key_name = keys == &l->target ? "output" : "input" };
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
