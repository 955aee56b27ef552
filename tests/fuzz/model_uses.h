/* What fuzz_model.c does with a model of each type. Calls may refuse what the model cannot do. */
#ifndef TESTS_FUZZ_MODEL_USES_H
#define TESTS_FUZZ_MODEL_USES_H

#include "base/utf8.h"
#include "fuzz/budget.h"
#include "fuzz/finite.h"
#include "model/model.h"

static const char *const model_lines[] = { "ab \xC3\xA9", "", "a b c" };
enum { MODEL_LINES = 3, MODEL_TOKENS = 6, MODEL_MAX_FEATURES = 1 << 12 };

/* ---- examples for evaluation */

typedef struct example_list {
    att_example items[2];
    size_t count;
} example_list;

static bool next_example(void *context, att_example *out)
{
    example_list *list = context;
    if (list->count == 0)
        return false;
    *out = list->items[--list->count];
    return true;
}

/* ---- tokens */

static inline void use_tokenizer(const att_model *model, att_side side)
{
    att_encoded_text *encoded = NULL;
    att_string text = { 0 };
    att_error err = { 0 };
    int32_t vocab = att_model_vocab_size(model, side);
    for (int32_t id = -1; id <= vocab && id < 300; id++) {
        const char *token = att_model_token(model, side, id);
        PROMISE((token != NULL) == (id >= 0 && id < vocab));
        if (token)
            PROMISE(att_model_token_id(model, side, token, strlen(token)) < vocab);
    }
    if (succeeded(
            att_model_encode(&encoded, model, side, model_lines[0], strlen(model_lines[0]), &err),
            &err)) {
        size_t count = att_encoded_text_count(encoded), start, end, before = 0;
        for (size_t i = 0; i < count; i++) {
            PROMISE(att_encoded_text_range(encoded, i, &start, &end));
            PROMISE(start <= end && end <= strlen(model_lines[0]) && start >= before);
            before = start;
            PROMISE(att_encoded_text_ids(encoded)[i] < vocab);
        }
        succeeded(att_model_decode(&text, model, side, att_encoded_text_ids(encoded), count, &err),
                  &err);
    }
    att_encoded_text_free(encoded);
    att_string_free(&text);
}

/* ---- outputs */

static inline void use_map(const att_map *map)
{
    att_string text = { 0 };
    att_error err = { 0 };
    check_map(map);
    for (int format = 0; format <= ATT_FORMAT_SVG; format += ATT_FORMAT_SVG) {
        att_render_options options = ATT_INIT(att_render_options);
        options.format = (att_format)format;
        succeeded(att_map_render(&text, map, &options, &err), &err);
    }
    att_string_free(&text);
}

static inline void use_output(const att_output *output)
{
    att_string text = { 0 };
    att_error err = { 0 };
    att_map map;
    check_output(output);
    succeeded(att_output_json(&text, output, &err), &err);
    succeeded(att_output_alignment(&text, output, &err), &err);
    if (att_output_map(&map, output)) {
        use_map(&map);
        succeeded(att_output_html(&text, output, &map, &err), &err);
    }
    if (att_output_layer_map(&map, output, 1))
        use_map(&map);
    att_render_options options = ATT_INIT(att_render_options);
    succeeded(att_output_overlay_render(&text, output, NULL, &options, &err), &err);
    att_string_free(&text);
}

static inline void use_outputs(att_outputs *outputs)
{
    for (size_t i = 0; i < att_outputs_count(outputs); i++)
        use_output(att_outputs_get(outputs, i));
    att_outputs_free(outputs);
}

/* ---- steps */

static inline void use_steps(att_session *session)
{
    att_error err = { 0 };
    const att_session_output *out;
    int64_t rows = att_session_source_count(session);
    int32_t tokens[2] = { att_session_start_token(session), att_session_start_token(session) };
    const int64_t order[2] = { 0, 0 };
    if (rows != 1 || !succeeded(att_session_step(session, 1, tokens, NULL, &out, &err), &err))
        return;
    PROMISE(out->rows == 1 && out->vocab_size == att_session_vocab_size(session));
    PROMISE(att_session_token(session, 0, (int32_t)out->vocab_size - 1) != NULL);
    PROMISE(att_session_token(session, 0, (int32_t)out->vocab_size) == NULL);
    check_step(out);
    tokens[0] = (int32_t)(out->vocab_size - 1);
    tokens[1] = 0;
    if (!succeeded(att_session_step(session, 2, tokens, order, &out, &err), &err))
        return;
    check_step(out);
    if (succeeded(att_session_feed(session, 2, tokens, 1, &out, &err), &err))
        check_step(out);
}

static inline void use_session(const att_model *model, const att_tensor *image)
{
    att_session_options options = ATT_INIT(att_session_options);
    att_session *session = NULL;
    att_error err = { 0 };
    options.attention = options.hidden_states = true;
    if (!succeeded(att_session_new(&session, model, &options, &err), &err))
        return;
    att_status status;
    if (image)
        status = att_session_start_images(session, image, &err);
    else if (att_model_type_get(model) == ATT_MODEL_LM)
        status = att_session_start_text(session, 1, &err);
    else
        status = att_session_start_lines(session, model_lines, 1, &err);
    if (succeeded(status, &err))
        use_steps(session);
    att_session_free(session);
}

static inline att_decoding_options short_decoding(void)
{
    att_decoding_options decoding = ATT_INIT(att_decoding_options);
    decoding.beam = decoding.n_best = 2;
    decoding.max_output_length = MODEL_TOKENS;
    decoding.coverage_penalty = 0.1;
    return decoding;
}

/* ---- evaluation */

static inline void evaluate_outputs(const att_model *model, const att_tensor *image)
{
    static const char *const names[] = { "bleu", "ter" };
    att_decoding_options decoding = short_decoding();
    att_eval_options options = ATT_INIT(att_eval_options);
    att_seq2seq_eval eval = ATT_INIT(att_seq2seq_eval);
    att_metric_scores *scores = NULL;
    att_string notes = { 0 };
    att_error err = { 0 };
    example_list list = { { { image ? NULL : model_lines[2], "b a", 0 } }, 1 };
    options.decoding = &decoding;
    options.metrics = names;
    options.metric_count = 2;
    options.examples = next_example;
    options.examples_context = &list;
    options.feature_values = image;
    if (succeeded(att_model_evaluate_seq2seq(&eval, &scores, model, NULL, &options, &notes, &err),
                  &err)) {
        check_rate(eval.exact_match, 1, eval.lines);
        check_rate(eval.token_accuracy, 1, eval.tokens);
        check_rate(eval.token_error_rate, HUGE_VAL, eval.tokens);
        if (eval.tokens > 0)
            PROMISE(eval.perplexity >= 1 - FINITE_ROUNDING); /* infinite after a large loss */
    }
    att_metric_scores_free(scores);
    att_string_free(&notes);
}

/* ---- each type */

static inline void use_seq2seq(const att_model *model)
{
    static const char *const targets[] = { "b a", "a", "" };
    att_decoding_options decoding = short_decoding();
    att_generate_options options = ATT_INIT(att_generate_options);
    att_outputs *outputs = NULL;
    att_error err = { 0 };
    options.decoding = &decoding;
    options.attention = options.all_heads = options.replace_unknown = true;
    options.input_overflow = ATT_OVERFLOW_TRUNCATE;
    if (succeeded(att_model_generate(&outputs, model, model_lines, MODEL_LINES, &options, &err),
                  &err))
        use_outputs(outputs);
    options.targets = targets;
    options.decoding = NULL;
    if (succeeded(att_model_generate(&outputs, model, model_lines, MODEL_LINES, &options, &err),
                  &err))
        use_outputs(outputs);
    evaluate_outputs(model, NULL);
    use_session(model, NULL);
}

static inline void use_caption_steps(const att_model *model, const att_tensor *image)
{
    const att_decoding_options decoding = { .size = sizeof(att_decoding_options),
                                            .beam = 2,
                                            .max_output_length = 4 };
    const att_alternatives_options asked = { .size = sizeof(att_alternatives_options),
                                             .decoding = &decoding };
    att_alternatives *alternatives;
    att_beam_tree *tree;
    att_string text = { 0 };
    att_error err = { 0 };
    if (succeeded(att_model_caption_alternatives(&alternatives, model, image, &asked, &err), &err))
        PROMISE(att_alternatives_render(&text, alternatives, NULL, NULL) == ATT_OK);
    att_alternatives_free(alternatives);
    if (succeeded(att_model_caption_beam_tree(&tree, model, image, &decoding, &err), &err))
        PROMISE(att_beam_tree_render(&text, tree, NULL, NULL) == ATT_OK);
    att_beam_tree_free(tree);
    att_string_free(&text);
}

static inline void use_caption(const att_model *model)
{
    const att_settings *settings = model->settings;
    const int64_t shape[] = { 1, settings->image_rows, settings->image_columns,
                              settings->image_depth };
    att_tensor image;
    att_error err = { 0 };
    att_outputs *outputs = NULL;
    att_decoding_options decoding = short_decoding();
    att_generate_options options = ATT_INIT(att_generate_options);
    int64_t count = att_shape_count(4, shape, MODEL_MAX_FEATURES);
    if (count <= 0 || !succeeded(att_tensor_new(&image, ATT_F32, 4, shape, &err), &err))
        return;
    for (int64_t i = 0; i < count; i++)
        ((float *)image.data)[i] = (float)(i % 7) / 7;
    options.decoding = &decoding;
    options.attention = true;
    use_caption_steps(model, &image);
    if (succeeded(att_model_caption(&outputs, model, &image, &options, &err), &err))
        use_outputs(outputs);
    evaluate_outputs(model, &image);
    use_session(model, &image);
    att_tensor_free(&image);
}

static inline void use_classifier(const att_model *model)
{
    att_classify_options options = ATT_INIT(att_classify_options);
    att_eval_options eval_options = ATT_INIT(att_eval_options);
    att_predictions *predictions = NULL;
    att_classifier_eval *eval = NULL;
    att_string text = { 0 };
    att_error err = { 0 };
    size_t labels = att_model_label_count(model);
    options.attention = true;
    if (succeeded(att_model_classify(&predictions, model, model_lines, MODEL_LINES, &options, &err),
                  &err))
        for (size_t i = 0; i < MODEL_LINES; i++) {
            const att_prediction *prediction = att_predictions_get(predictions, i);
            check_prediction(prediction);
            PROMISE(prediction->label >= -1 && prediction->label < (int64_t)labels);
            succeeded(att_prediction_json(&text, prediction, model, &err), &err);
        }
    example_list list = { { { model_lines[0], att_model_label(model, 0), 0 },
                            { model_lines[2], att_model_label(model, labels - 1), 0 } },
                          labels > 0 ? 2 : 0 };
    eval_options.examples = next_example;
    eval_options.examples_context = &list;
    if (succeeded(att_model_evaluate_classifier(&eval, model, NULL, &eval_options, &text, &err),
                  &err)) {
        check_rate(eval->accuracy, 1, eval->lines);
        check_rate(eval->macro_f1, 1, eval->lines);
        check_rate(eval->calibration_error, 1 + FINITE_ROUNDING, eval->lines);
        PROMISE(eval->lines == 0 || (isfinite(eval->loss) && eval->loss >= -FINITE_ROUNDING));
        succeeded(att_classifier_eval_json(&text, eval, model, &err), &err);
    }
    att_classifier_eval_free(eval);
    att_predictions_free(predictions);
    att_string_free(&text);
}

static inline void use_tagger(const att_model *model)
{
    att_tag_options options = ATT_INIT(att_tag_options);
    att_eval_options eval_options = ATT_INIT(att_eval_options);
    att_taggings *taggings = NULL;
    att_tagger_eval *eval = NULL;
    att_string text = { 0 };
    att_error err = { 0 };
    int64_t labels = (int64_t)att_model_label_count(model);
    if (succeeded(att_model_tag(&taggings, model, model_lines, MODEL_LINES, &options, &err), &err))
        for (size_t i = 0; i < MODEL_LINES; i++) {
            const att_tagging *tagging = att_taggings_get(taggings, i);
            for (int64_t t = 0; t < tagging->token_count; t++)
                PROMISE(tagging->label_indices[t] >= 0 && tagging->label_indices[t] < labels);
            succeeded(att_tagging_json(&text, tagging, &err), &err);
        }
    example_list list = { { { model_lines[0], "B-x O", 0 }, { model_lines[2], "O I-y I-x", 0 } },
                          2 };
    eval_options.examples = next_example;
    eval_options.examples_context = &list;
    if (succeeded(att_model_evaluate_tagger(&eval, model, NULL, &eval_options, &text, &err), &err))
        succeeded(att_tagger_eval_json(&text, eval, &err), &err);
    att_tagger_eval_free(eval);
    att_taggings_free(taggings);
    att_string_free(&text);
}

/* The text of a call is whole characters. */
static bool on_token(void *context, const char *text, size_t length, double score)
{
    (void)context;
    check_score(score);
    PROMISE(length == 0 || att_utf8_valid(text, length));
    return true;
}

/* Tokens of a scored text may be parts of characters. */
static bool on_scored_token(void *context, const char *text, size_t length, double score)
{
    (void)context;
    check_score(score);
    PROMISE(length == 0 || text != NULL);
    return true;
}

static inline void check_completion(const att_completion *completion)
{
    if (completion->tokens == 0)
        return;
    check_score(completion->score);
    check_perplexity(completion->perplexity, -completion->score / (double)completion->tokens);
}

static inline void use_lm(const att_model *model)
{
    static const char text[] = "ab \xC3\xA9\nba a";
    att_decoding_options decoding = short_decoding();
    att_complete_options options = ATT_INIT(att_complete_options);
    att_completion completion = ATT_INIT(att_completion);
    att_eval_options eval_options = ATT_INIT(att_eval_options);
    att_lm_eval eval = ATT_INIT(att_lm_eval);
    att_string notes = { 0 };
    att_error err = { 0 };
    example_list list = { { { NULL, text, 0 } }, 1 };
    options.max_new_tokens = MODEL_TOKENS + 6; /* beyond the context of the seeds */
    if (succeeded(att_model_complete(&completion, model, text, 4, &options, on_token, NULL, &err),
                  &err))
        check_completion(&completion);
    options.decoding = &decoding;
    if (succeeded(att_model_complete(&completion, model, "", 0, &options, on_token, NULL, &err),
                  &err))
        check_completion(&completion);
    if (succeeded(att_model_score_text(&completion, model, text, strlen(text), NULL,
                                       on_scored_token, NULL, &err),
                  &err))
        check_completion(&completion);
    eval_options.examples = next_example;
    eval_options.examples_context = &list;
    if (succeeded(att_model_evaluate_lm(&eval, model, NULL, &eval_options, &notes, &err), &err) &&
        eval.tokens > 0) {
        check_perplexity(eval.perplexity, eval.loss);
        PROMISE(isfinite(eval.bits_per_character));
        check_rate(eval.accuracy, 1, eval.tokens);
    }
    att_string_free(&notes);
    use_session(model, NULL);
}

/* ---- inside */

static inline void use_heads(const att_model *model)
{
    for (int block = ATT_BLOCK_ENCODER; block <= ATT_BLOCK_CROSS; block++) {
        const att_head_selection which = { .block = (att_attention_block)block,
                                           .input = model_lines[2],
                                           .target = block == ATT_BLOCK_CROSS ? NULL : "b a" };
        att_attention_map *map = NULL;
        att_string sheet = { 0 };
        att_error err = { 0 };
        if (succeeded(att_model_attention_map(&map, model, &which, true, &err), &err))
            use_map(att_attention_map_get(map));
        succeeded(att_model_head_sheet(&sheet, model, "model.safetensors", &which, &err), &err);
        att_attention_map_free(map);
        if (succeeded(att_model_attention_overview(&map, model, &which, &err), &err))
            use_map(att_attention_map_get(map));
        att_attention_map_free(map);
        att_string_free(&sheet);
    }
}

/* The whole model as a sheet, the alternatives of each step, and a beam search as a tree. */
static inline void use_decoding_steps(const att_model *model)
{
    const att_model_sheet_options options = { .size = sizeof(att_model_sheet_options),
                                              .input = model_lines[2],
                                              .target = "b a" };
    const att_decoding_options decoding = { .size = sizeof(att_decoding_options),
                                            .beam = 2,
                                            .max_output_length = 4 };
    att_alternatives *alternatives;
    att_beam_tree *tree;
    att_string text = { 0 };
    att_error err = { 0 };
    succeeded(att_model_sheet(&text, model, "model.safetensors", &options, &err), &err);
    for (int i = 0; i < 2; i++) { /* of a target, and of the model's own output or labels */
        const att_alternatives_options asked = { .size = sizeof(att_alternatives_options),
                                                 .count = 3,
                                                 .target = i == 0 ? "b a" : NULL,
                                                 .decoding = &decoding };
        if (succeeded(att_model_alternatives(&alternatives, model, model_lines[2], &asked, &err),
                      &err))
            PROMISE(att_alternatives_render(&text, alternatives, NULL, NULL) == ATT_OK);
        att_alternatives_free(alternatives);
    }
    if (succeeded(att_model_beam_tree(&tree, model, model_lines[2], &decoding, &err), &err))
        PROMISE(att_beam_tree_render(&text, tree, NULL, NULL) == ATT_OK);
    att_beam_tree_free(tree);
    att_string_free(&text);
}

/* As many tokens as the search for units needs, with quotes, brackets and lines of any length. */
static inline const char *long_text(void)
{
    static char text[1600];
    static const char letters[] = "ab \"a\" (b) [a]\n";
    if (text[0] == '\0')
        for (size_t i = 0; i + 1 < sizeof text; i++)
            text[i] = letters[(i * i + i / 7) % (sizeof letters - 1)];
    return text;
}

static inline void use_units(const att_model *model)
{
    static const char text[] = "ab ba\n\"a\" b";
    att_unit_activations *activations = NULL;
    att_gradient_flow *flow = NULL;
    att_cells *cells = NULL;
    att_cells_options options = ATT_INIT(att_cells_options);
    att_string out = { 0 };
    att_error err = { 0 };
    const att_render_options render = ATT_INIT(att_render_options);
    if (succeeded(att_model_unit_activations(&activations, model, text, strlen(text),
                                             (att_layer_unit){ 1, 1 }, ATT_SIGNAL_DEFAULT, &err),
                  &err)) {
        const att_highlight *highlight = att_unit_activations_get(activations);
        check_finite(highlight->values, highlight->count);
        succeeded(att_highlight_render(&out, highlight, &render, &err), &err);
    }
    if (succeeded(att_model_gradient_flow(&flow, model, text, strlen(text), &err), &err)) {
        PROMISE(isfinite(att_gradient_flow_loss(flow)));
        for (size_t i = 0; i < att_gradient_flow_layers(flow); i++)
            check_finite(att_gradient_flow_get(flow, i)->values, att_gradient_flow_count(flow));
    }
    options.text = long_text();
    options.length = strlen(options.text);
    if (succeeded(att_model_cells(&cells, model, NULL, &options, &err), &err)) {
        check_cells(cells);
        succeeded(att_cells_render(&out, cells, &render, &err), &err);
    }
    att_unit_activations_free(activations);
    att_gradient_flow_free(flow);
    att_cells_free(cells);
    att_string_free(&out);
}

#endif
