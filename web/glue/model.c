/* Calls that make a result, render it and release it. */
#include "web.h"

#include <string.h>

static att_status run_classifier(att_string *out, const att_model *model, const char *line,
                                 att_error *err)
{
    att_classify_options options = ATT_INIT(att_classify_options);
    options.attention = true;
    att_predictions *predictions;
    att_status status = att_model_classify(&predictions, model, &line, 1, &options, err);
    if (status == ATT_OK)
        status = att_prediction_json(out, att_predictions_get(predictions, 0), model, err);
    att_predictions_free(predictions);
    return status;
}

static att_status run_tagger(att_string *out, const att_model *model, const char *line,
                             att_error *err)
{
    att_taggings *taggings;
    att_status status = att_model_tag(&taggings, model, &line, 1, NULL, err);
    if (status == ATT_OK)
        status = att_tagging_json(out, att_taggings_get(taggings, 0), err);
    att_taggings_free(taggings);
    return status;
}

static att_status run_seq2seq(att_string *out, const att_model *model, const char *line,
                              const att_generate_options *options, att_error *err)
{
    att_outputs *outputs;
    att_status status = att_model_generate(&outputs, model, &line, 1, options, err);
    if (status == ATT_OK)
        status = att_output_json(out, att_outputs_get(outputs, 0), err);
    att_outputs_free(outputs);
    return status;
}

att_status web_model_run(att_string *out, const att_model *model, const char *line,
                         const att_generate_options *options, att_error *err)
{
    switch (att_model_type_get(model)) {
    case ATT_MODEL_CLASSIFIER:
        return run_classifier(out, model, line, err);
    case ATT_MODEL_TAGGER:
        return run_tagger(out, model, line, err);
    default:
        return run_seq2seq(out, model, line, options, err);
    }
}

att_status web_model_map(att_string *out, const att_model *model, const char *line,
                         const att_generate_options *options, const att_render_options *render,
                         att_error *err)
{
    att_outputs *outputs;
    att_map map;
    att_status status = att_model_generate(&outputs, model, &line, 1, options, err);
    const att_output *output = status == ATT_OK ? att_outputs_get(outputs, 0) : NULL;
    bool found = output && (options->all_heads ? att_output_layer_map(&map, output, options->layer)
                                               : att_output_map(&map, output));
    if (found)
        status = att_map_render(out, &map, render, err);
    att_outputs_free(outputs);
    return status;
}

att_status web_attention_map(att_string *out, const att_model *model,
                             const att_head_selection *which, bool every_head, bool overview,
                             const att_render_options *render, att_error *err)
{
    att_attention_map *map;
    att_status status = overview ? att_model_attention_overview(&map, model, which, err)
                                 : att_model_attention_map(&map, model, which, every_head, err);
    if (status == ATT_OK)
        status = att_map_render(out, att_attention_map_get(map), render, err);
    att_attention_map_free(map);
    return status;
}

typedef struct completed_text {
    att_string *out;
    att_status status;
} completed_text;

static bool append_token(void *context, const char *text, size_t length, double score)
{
    (void)score;
    completed_text *text_so_far = context;
    text_so_far->status = att_string_append(text_so_far->out, text, length);
    return text_so_far->status == ATT_OK;
}

att_status web_model_complete(att_string *out, const att_model *model, const char *prompt,
                              const att_decoding_options *decoding, int tokens, att_error *err)
{
    att_complete_options options = ATT_INIT(att_complete_options);
    att_completion counts = ATT_INIT(att_completion);
    completed_text text = { out, ATT_OK };
    options.decoding = decoding;
    options.max_new_tokens = tokens;
    att_status status = att_model_complete(&counts, model, prompt, strlen(prompt), &options,
                                           append_token, &text, err);
    return status == ATT_OK ? text.status : status;
}

att_status web_model_without_heads(att_model **out, const att_model *model, const int32_t *numbers,
                                   int count, att_error *err)
{
    att_attention_head heads[WEB_MAX_HEADS];
    if (count > WEB_MAX_HEADS)
        count = WEB_MAX_HEADS;
    for (int i = 0; i < count; i++)
        heads[i] = (att_attention_head){ (att_attention_block)numbers[3 * i], numbers[3 * i + 1],
                                         numbers[3 * i + 2] };
    return att_model_without_heads(out, model, heads, (size_t)count, err);
}

att_status web_unit_render(att_string *out, const att_model *model, const char *text, int layer,
                           int unit, int signal, const att_render_options *render, att_error *err)
{
    att_unit_activations *activations;
    att_status status =
        att_model_unit_activations(&activations, model, text, strlen(text),
                                   (att_layer_unit){ layer, unit }, (att_unit_signal)signal, err);
    if (status == ATT_OK)
        status = att_highlight_render(out, att_unit_activations_get(activations), render, err);
    att_unit_activations_free(activations);
    return status;
}

att_status web_cells_new(att_cells **out, const att_model *model, const char *text, int signal,
                         int n_best, const char *pattern, att_error *err)
{
    att_cells_options options = ATT_INIT(att_cells_options);
    options.text = text;
    options.length = strlen(text);
    options.signal = (att_unit_signal)signal;
    options.n_best = n_best;
    options.patterns = &pattern;
    options.pattern_count = pattern ? 1 : 0;
    return att_model_cells(out, model, NULL, &options, err);
}

att_status web_cells_sample(att_string *out, const att_cells *cells, int index,
                            const att_render_options *render, att_error *err)
{
    const att_cells_property *property = att_cells_get(cells, (size_t)index);
    return property && property->match_count > 0
               ? att_highlight_render(out, &property->sample, render, err)
               : ATT_OK;
}
