/* att_model_generate(): outputs in the order of the lines, the same alone and in a batch, with
 * attention maps and alignments. */
#include "base/alloc.h"
#include "failing_memory.h"
#include "model/model_help.h"

#include <math.h>
#include <stdlib.h>

/* One model trained to reverse strings over abcd, for all tests. */
static scene trained;

static int train(void **state)
{
    (void)state;
    static const setting_pair set[] = {
        { "hidden-size", "32" },   { "embedding-size", "16" }, { "max-string-length", "12" },
        { "train-count", "1500" }, { "batch-tokens", "600" },  { "learning-rate", "0.01" },
    };
    scene_new(&trained, set, sizeof set / sizeof *set);
    scene_learn(&trained, 14, NULL);
    return 0;
}

static int forget(void **state)
{
    (void)state;
    scene_free(&trained);
    return 0;
}

static att_outputs *outputs_of(const char *const *lines, size_t count,
                               const att_generate_options *options)
{
    att_outputs *outputs;
    att_error err = { 0 };
    if (att_model_generate(&outputs, trained.model, lines, count, options, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(att_outputs_count(outputs), count);
    return outputs;
}

static void outputs_come_in_order_and_an_empty_line_has_an_empty_output(void **state)
{
    (void)state;
    static const char *const lines[] = { "abc", "", "d", "   ", "bbbbbca" };
    static const char *const wanted[] = { "cba", "", "d", "", "acbbbbb" };
    att_outputs *outputs = outputs_of(lines, 5, NULL);
    for (size_t i = 0; i < 5; i++) {
        const att_output *output = att_outputs_get(outputs, i);
        assert_string_equal(output->text, wanted[i]);
        assert_false(output->truncated);
        assert_null(output->weights);
    }
    assert_int_equal(att_outputs_get(outputs, 1)->target_count, 0);
    assert_int_equal(att_outputs_get(outputs, 0)->target_count, 4);
    assert_string_equal(att_outputs_get(outputs, 0)->target_tokens[3], "<end>");
    assert_null(att_outputs_get(outputs, 5));
    att_outputs_free(outputs);
}

/* tests/train/test_learns.c checks that the weights are where they should be. */
static void a_map_has_a_row_for_each_output_and_weights_that_add_to_one(void **state)
{
    (void)state;
    static const char *const line = "abacadabacc";
    const int64_t n = 11;
    att_outputs *outputs = outputs_of(
        &line, 1,
        &(att_generate_options){ .size = sizeof(att_generate_options), .attention = true });
    const att_output *output = att_outputs_get(outputs, 0);
    assert_string_equal(output->text, "ccabadacaba");
    att_map map;
    assert_true(att_output_map(&map, output));
    assert_int_equal(map.queries, n + 1);
    assert_int_equal(map.keys, n);
    assert_string_equal(map.key_labels[3], "c");
    assert_string_equal(map.query_labels[3], "b");
    assert_string_equal(map.query_labels[n], "<end>");
    for (int64_t t = 0; t <= n; t++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += map.weights[t * n + i];
        assert_true(fabs(sum - 1) < 12 * 0x1p-24); /* roundings of the floats added */
    }
    att_outputs_free(outputs);
}

static void without_weights_there_is_no_map(void **state)
{
    (void)state;
    static const char *const line = "ab";
    att_outputs *outputs = outputs_of(&line, 1, NULL);
    att_map map;
    assert_false(att_output_map(&map, att_outputs_get(outputs, 0)));
    att_outputs_free(outputs);
}

/* Enough lines for several batches; each has the output that it has alone. */
static void an_output_does_not_depend_on_the_other_lines(void **state)
{
    (void)state;
    enum { COUNT = 900 };
    static char text[COUNT][16];
    const char *lines[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        size_t length = i * 7 % 13;
        for (size_t j = 0; j < length; j++)
            text[i][j] = (char)('a' + (i * 31 + j * j * 17 + i * j) % 5); /* an unknown e too */
        lines[i] = text[i];
    }
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .attention = true };
    att_outputs *all = outputs_of(lines, COUNT, &options);
    for (size_t i = 0; i < COUNT; i += 23) {
        att_threads_set(1 + (int)(i % 3));
        att_outputs *one = outputs_of(&lines[i], 1, &options);
        const att_output *a = att_outputs_get(all, i), *b = att_outputs_get(one, 0);
        assert_string_equal(a->text, b->text);
        assert_true(a->score == b->score);
        assert_int_equal(a->target_count, b->target_count);
        size_t cells = (size_t)(a->target_count * a->source_count);
        if (cells > 0)
            assert_memory_equal(a->weights, b->weights, cells * sizeof *a->weights);
        att_outputs_free(one);
    }
    att_threads_set(0);
    att_outputs_free(all);
}

static void a_given_target_is_forced_and_scored(void **state)
{
    (void)state;
    static const char *const line = "abc", *const right = "cba", *const wrong = "dd";
    att_outputs *own = outputs_of(&line, 1, NULL);
    att_outputs *good = outputs_of(
        &line, 1,
        &(att_generate_options){ .size = sizeof(att_generate_options), .targets = &right });
    att_outputs *bad = outputs_of(
        &line, 1,
        &(att_generate_options){ .size = sizeof(att_generate_options), .targets = &wrong });
    assert_string_equal(att_outputs_get(bad, 0)->text, "dd");
    assert_true(att_outputs_get(good, 0)->score == att_outputs_get(own, 0)->score);
    assert_true(att_outputs_get(bad, 0)->score < att_outputs_get(own, 0)->score - 3);
    att_outputs_free(own);
    att_outputs_free(good);
    att_outputs_free(bad);
}

static void an_output_is_truncated_at_its_max_length(void **state)
{
    (void)state;
    static const char *const line = "abcd";
    att_outputs *outputs =
        outputs_of(&line, 1,
                   &(att_generate_options){
                       .size = sizeof(att_generate_options),
                       .decoding = &(const att_decoding_options){
                           .size = sizeof(att_decoding_options), .max_output_length = 2 } });
    assert_string_equal(att_outputs_get(outputs, 0)->text, "dc");
    assert_true(att_outputs_get(outputs, 0)->truncated);
    assert_int_equal(att_outputs_get(outputs, 0)->target_count, 2);
    att_outputs_free(outputs);
}

static void unknown_tokens_are_counted_and_displayed_as_typed(void **state)
{
    (void)state;
    static const char *const line = "a\xc3\xa9z";
    att_outputs *outputs = outputs_of(&line, 1, NULL);
    const att_output *output = att_outputs_get(outputs, 0);
    assert_int_equal(output->unknown_tokens, 2);
    assert_int_equal(output->source_count, 3);
    assert_string_equal(output->source_tokens[1], "\xc3\xa9");
    att_outputs_free(outputs);
}

static void a_line_that_is_not_utf8_is_named(void **state)
{
    (void)state;
    static const char *const lines[] = { "ab", "c\xff", "d" };
    att_outputs *outputs;
    att_error err = { 0 };
    assert_int_equal(att_model_generate(&outputs, trained.model, lines, 3, NULL, &err),
                     ATT_BAD_INPUT);
    assert_null(outputs);
    assert_int_equal(err.line, 2);
}

static void the_json_of_an_output_has_everything(void **state)
{
    (void)state;
    static const char *const line = "a";
    att_outputs *outputs = outputs_of(
        &line, 1,
        &(att_generate_options){ .size = sizeof(att_generate_options), .attention = true });
    att_string out = { 0 };
    assert_int_equal(att_output_json(&out, att_outputs_get(outputs, 0), NULL), ATT_OK);
    assert_memory_equal(out.data, "{\"text\":\"a\",\"score\":-", 21);
    assert_non_null(strstr(
        out.data,
        ",\"truncated\":false,\"unknown_tokens\":0,\"source_tokens\":[\"a\"],\"target_tokens\":"
        "[\"a\",\"<end>\"],\"token_scores\":[-"));
    assert_non_null(strstr(out.data, ",\"attention\":[[1],[1]]}\n"));
    att_string_free(&out);
    att_outputs_free(outputs);
}

/* An RNN model has one head in one layer: every valid choice of layer and head is the same map. */
static void heads_can_be_chosen_and_a_missing_one_is_refused(void **state)
{
    (void)state;
    static const char *const line = "abc";
    att_outputs *outputs = outputs_of(&line, 1,
                                      &(att_generate_options){ .size = sizeof(att_generate_options),
                                                               .attention = true,
                                                               .all_heads = true });
    const att_output *output = att_outputs_get(outputs, 0);
    att_map whole, layer;
    assert_int_equal(output->layers, 1);
    assert_int_equal(output->heads, 1);
    assert_true(att_output_map(&whole, output));
    assert_true(att_output_layer_map(&layer, output, 1));
    assert_int_equal(layer.panels, 1);
    assert_memory_equal(whole.weights, layer.weights, 4 * 3 * sizeof *whole.weights);
    assert_false(att_output_layer_map(&layer, output, 2));
    att_string out = { 0 };
    assert_int_equal(att_output_json(&out, output, NULL), ATT_OK);
    assert_non_null(strstr(out.data, ",\"head_attention\":[[[["));
    att_string_free(&out);
    att_outputs_free(outputs);

    static const att_generate_options wrong[] = {
        { .size = sizeof(att_generate_options), .attention = true, .layer = 2 },
        { .size = sizeof(att_generate_options), .attention = true, .head = 3 }
    };
    static const char *const messages[] = { "there is no layer 2: the model has 1",
                                            "there is no head 3: the model has 1" };
    for (size_t i = 0; i < 2; i++) {
        att_error err = { 0 };
        assert_int_equal(att_model_generate(&outputs, trained.model, &line, 1, &wrong[i], &err),
                         ATT_BAD_INPUT);
        assert_string_equal(err.message, messages[i]);
    }
}

static void alternatives_belong_to_the_best_output(void **state)
{
    (void)state;
    static const char *const lines[] = { "abcd", "" };
    const att_generate_options options = {
        .size = sizeof(att_generate_options),
        .decoding = &(const att_decoding_options){ .size = sizeof(att_decoding_options),
                                                   .beam = 4,
                                                   .n_best = 3 },
        .attention = true
    };
    att_outputs *outputs = outputs_of(lines, 2, &options);
    const att_output *output = att_outputs_get(outputs, 0);
    assert_int_equal(output->alternative_count, 2);
    assert_true(output->normalized_score > output->alternatives[0]->normalized_score);
    assert_true(output->alternatives[0]->normalized_score >
                output->alternatives[1]->normalized_score);
    for (int64_t i = 0; i < 2; i++) {
        const att_output *other = output->alternatives[i];
        assert_string_not_equal(other->text, output->text);
        assert_ptr_equal(other->source_tokens, output->source_tokens);
        assert_non_null(other->weights);
        assert_true(other->normalized_score == other->score / (double)other->target_count);
    }
    assert_int_equal(att_outputs_get(outputs, 1)->alternative_count, 0);
    att_string json = { 0 };
    assert_int_equal(att_output_json(&json, output, NULL), ATT_OK);
    assert_non_null(strstr(json.data, ",\"n_best\":[{\"text\":\""));
    att_string_free(&json);
    att_outputs_free(outputs);
}

static void an_output_begins_with_its_prefix(void **state)
{
    (void)state;
    static const char *const lines[] = { "abc", "abc", "abc" };
    static const char *const prefixes[] = { "dd", "", "cb" };
    att_outputs *outputs = outputs_of(
        lines, 3,
        &(att_generate_options){ .size = sizeof(att_generate_options), .prefixes = prefixes });
    assert_memory_equal(att_outputs_get(outputs, 0)->text, "dd", 2);
    assert_string_equal(att_outputs_get(outputs, 1)->text, "cba");
    assert_string_equal(att_outputs_get(outputs, 2)->text, "cba");
    att_outputs_free(outputs);
}

/* An empty target forces the end token at once; it does not mean that there is no target. */
static void an_empty_target_is_forced_too(void **state)
{
    (void)state;
    static const char *const line = "abc", *const nothing = "";
    att_outputs *outputs = outputs_of(
        &line, 1,
        &(att_generate_options){ .size = sizeof(att_generate_options), .targets = &nothing });
    assert_string_equal(att_outputs_get(outputs, 0)->text, "");
    assert_int_equal(att_outputs_get(outputs, 0)->target_count, 1);
    assert_true(att_outputs_get(outputs, 0)->score < 0);
    att_outputs_free(outputs);
}

static void a_line_that_is_too_long_is_refused_or_truncated(void **state)
{
    (void)state;
    static const char *const lines[] = { "ab", "abcdd", "dcb" };
    att_generate_options options = { .size = sizeof(att_generate_options), .max_input_length = 3 };
    att_outputs *outputs;
    att_error err = { 0 };
    assert_int_equal(att_model_generate(&outputs, trained.model, lines, 3, &options, &err),
                     ATT_BAD_INPUT);
    assert_int_equal(err.line, 2);
    assert_string_equal(err.message, "expected at most 3 tokens, found 5");
    options.input_overflow = ATT_OVERFLOW_TRUNCATE;
    outputs = outputs_of(lines, 3, &options);
    assert_string_equal(att_outputs_get(outputs, 1)->text, "cba");
    assert_int_equal(att_outputs_get(outputs, 1)->truncated_input_tokens, 2);
    assert_int_equal(att_outputs_get(outputs, 1)->source_count, 3);
    assert_int_equal(att_outputs_get(outputs, 2)->truncated_input_tokens, 0);
    att_outputs_free(outputs);
}

/* Each token of the output without the end token, and the source token with its largest weight. */
static void an_alignment_is_where_the_weights_are_largest(void **state)
{
    (void)state;
    static const double weights[] = { 0.2, 0.5, 0.3, 0.4, 0.3, 0.4, 0.9, 0.1, 0 };
    att_output output = { .source_count = 3, .target_count = 3, .weights = weights };
    att_string out = { 0 };
    assert_int_equal(att_output_alignment(&out, &output, NULL), ATT_OK);
    assert_string_equal(out.data, "1-0 0-1");
    out.length = 0;
    output.truncated = true; /* then the last token is not an end token */
    assert_int_equal(att_output_alignment(&out, &output, NULL), ATT_OK);
    assert_string_equal(out.data, "1-0 0-1 0-2");
    output.weights = NULL;
    assert_int_equal(att_output_alignment(&out, &output, NULL), ATT_BAD_INPUT);
    att_string_free(&out);
}

static void decoding_options_out_of_range_are_refused(void **state)
{
    (void)state;
    static const char *const line = "abc";
    const att_decoding_options wrong[] = {
        { .size = sizeof *wrong, .beam = -2 },
        { .size = sizeof *wrong, .n_best = -1 },
        { .size = sizeof *wrong, .max_output_length = -5 },
        { .size = sizeof *wrong, .sample = true, .temperature = -1 },
        { .size = sizeof *wrong, .sample = true, .top_k = -1 },
        { .size = sizeof *wrong, .sample = true, .top_p = 2 },
        { .size = sizeof *wrong, .length_penalty = NAN },
        { .beam = 2 }, /* its size is 0 */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        att_generate_options options = ATT_INIT(att_generate_options);
        att_outputs *outputs;
        att_error err = { 0 };
        options.decoding = &wrong[i];
        assert_int_equal(att_model_generate(&outputs, trained.model, &line, 1, &options, &err),
                         ATT_BAD_INPUT);
        assert_null(outputs);
        assert_string_equal(err.place, "att_decoding_options");
    }
}

static att_status generate_some(void *context)
{
    static const char *const lines[] = { "abc", "", "dd" };
    const att_generate_options options = {
        .size = sizeof(att_generate_options),
        .decoding = &(const att_decoding_options){ .size = sizeof(att_decoding_options),
                                                   .beam = 3,
                                                   .n_best = 2,
                                                   .no_repeat_ngram = 4 },
        .attention = true,
        .all_heads = true
    };
    att_outputs *outputs;
    att_status status = att_model_generate(&outputs, context, lines, 3, &options, NULL);
    att_outputs_free(outputs);
    return status;
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    assert_int_equal(generate_some(trained.model), ATT_OK); /* packs the weights, which stay */
    size_t rounds = every_allocation_fails(generate_some, trained.model, 10000);
    assert_true(rounds > 20);
    /* Texts, tokens, scores and weights of the outputs are in an arena. */
    assert_true(every_arena_allocation_fails(generate_some, trained.model, 10000) > rounds + 20);
}

static att_status align_some(void *context)
{
    static const char *const line = "ab";
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .attention = true };
    att_outputs *outputs;
    att_string text = { 0 };
    att_status status = att_model_generate(&outputs, context, &line, 1, &options, NULL);
    if (status == ATT_OK)
        status = att_output_alignment(&text, att_outputs_get(outputs, 0), NULL);
    att_string_free(&text);
    att_outputs_free(outputs);
    return status;
}

static void a_failing_allocation_of_an_alignment_is_reported(void **state)
{
    (void)state;
    assert_int_equal(align_some(trained.model), ATT_OK);
    every_allocation_fails(align_some, trained.model, 10000);
}

static void unknown_tokens_are_not_replaced_without_attention(void **state)
{
    (void)state;
    static const char *const line = "ab";
    static const setting_pair none[] = { { "attention", "none" } };
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .replace_unknown = true };
    scene s;
    att_outputs *outputs;
    att_error err = { 0 };
    scene_new(&s, none, 1);
    assert_int_equal(att_model_generate(&outputs, s.model, &line, 1, &options, &err),
                     ATT_BAD_INPUT);
    assert_null(outputs);
    assert_string_equal(err.message,
                        "replace_unknown: expected a model with attention, found one without");
    scene_free(&s);
}

static void an_ensemble_is_of_one_type(void **state)
{
    (void)state;
    static const char *const line = "ab";
    static const char *const letters[] = { "a", "b" };
    const att_token_list tokens = { letters, 2 };
    att_settings *settings;
    att_model *lm;
    assert_int_equal(att_settings_new(&settings, "lm", NULL), ATT_OK);
    assert_int_equal(att_settings_set(settings, "hidden-size", "4", NULL), ATT_OK);
    assert_int_equal(att_model_build(&lm, settings, NULL, &tokens, NULL), ATT_OK);
    const att_decoding_options decoding = { .size = sizeof(att_decoding_options),
                                            .ensemble = &lm,
                                            .ensemble_count = 1 };
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .decoding = &decoding };
    att_outputs *outputs;
    att_error err = { 0 };
    assert_int_equal(att_model_generate(&outputs, trained.model, &line, 1, &options, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "ensemble: model 2 is a language model, expected a seq2seq "
                                     "model like model 1");
    att_model_free(lm);
    att_settings_free(settings);
}

/* Location-based attention has a weight for each position, so its model has a limit of its own. */
static void a_model_with_location_attention_limits_its_input(void **state)
{
    (void)state;
    static const char *const line = "abcdabcd";
    static const setting_pair location[] = { { "attention", "location" }, { "max-length", "6" } };
    static const int64_t limits[] = { 0, -1, 7, 100 };
    scene s;
    scene_new(&s, location, 2);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const att_generate_options options = { .size = sizeof(att_generate_options),
                                               .max_input_length = limits[i] };
        att_outputs *outputs;
        att_error err = { 0 };
        assert_int_equal(att_model_generate(&outputs, s.model, &line, 1, &options, &err),
                         ATT_BAD_INPUT);
        assert_string_equal(err.message, "expected at most 6 tokens, found 8");
    }
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_options_out_of_range_are_refused),
        cmocka_unit_test(outputs_come_in_order_and_an_empty_line_has_an_empty_output),
        cmocka_unit_test(a_map_has_a_row_for_each_output_and_weights_that_add_to_one),
        cmocka_unit_test(without_weights_there_is_no_map),
        cmocka_unit_test(an_output_does_not_depend_on_the_other_lines),
        cmocka_unit_test(a_given_target_is_forced_and_scored),
        cmocka_unit_test(an_output_is_truncated_at_its_max_length),
        cmocka_unit_test(unknown_tokens_are_counted_and_displayed_as_typed),
        cmocka_unit_test(a_line_that_is_not_utf8_is_named),
        cmocka_unit_test(the_json_of_an_output_has_everything),
        cmocka_unit_test(heads_can_be_chosen_and_a_missing_one_is_refused),
        cmocka_unit_test(alternatives_belong_to_the_best_output),
        cmocka_unit_test(an_output_begins_with_its_prefix),
        cmocka_unit_test(an_empty_target_is_forced_too),
        cmocka_unit_test(a_line_that_is_too_long_is_refused_or_truncated),
        cmocka_unit_test(an_alignment_is_where_the_weights_are_largest),
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(a_failing_allocation_of_an_alignment_is_reported),
        cmocka_unit_test(unknown_tokens_are_not_replaced_without_attention),
        cmocka_unit_test(an_ensemble_is_of_one_type),
        cmocka_unit_test(a_model_with_location_attention_limits_its_input),
    };
    return cmocka_run_group_tests(tests, train, forget);
}
