/* att_model_classify(): predictions in the order of the lines, the same alone and in a batch, from
 * one model or an ensemble. */
#include "failing_memory.h"
#include "json_help.h"
#include "model/classifier_help.h"

#include <math.h>

/* Two models trained on the same sentences, for all tests. */
static scene trained, other;

static int train(void **state)
{
    (void)state;
    label_scene_new(&trained, NULL, 0);
    scene_learn(&trained, 60, NULL);
    label_scene_new(&other, (setting_pair[]){ { "seed", "2" }, { "pool", "max" } }, 2);
    scene_learn(&other, 20, NULL);
    return 0;
}

static int forget(void **state)
{
    (void)state;
    scene_free(&trained);
    scene_free(&other);
    return 0;
}

static att_predictions *classify(att_model *model, const char *const *lines, size_t count,
                                 const att_classify_options *options)
{
    att_predictions *predictions;
    att_error err = { 0 };
    if (att_model_classify(&predictions, model, lines, count, options, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(att_predictions_count(predictions), count);
    return predictions;
}

static const char *const lines[] = { "a a b", "", "c b", " \t ", "b a b b a", "b", "A z" };
enum { LINES = sizeof lines / sizeof *lines };

static void predictions_come_in_order_and_an_empty_line_has_no_label(void **state)
{
    (void)state;
    static const char *const wanted[] = { "many", "", "see", "", "few", "few", NULL };
    att_predictions *predictions = classify(trained.model, lines, LINES, NULL);
    for (size_t i = 0; i < LINES; i++) {
        const att_prediction *prediction = att_predictions_get(predictions, i);
        if (wanted[i])
            assert_string_equal(prediction->label_text, wanted[i]);
        assert_int_equal(prediction->label < 0, prediction->token_count == 0);
        assert_int_equal(prediction->probabilities == NULL, prediction->label < 0);
        assert_null(prediction->weights);
    }
    assert_null(att_predictions_get(predictions, LINES));
    att_predictions_free(predictions);
}

static void tokens_are_those_of_the_line_and_unknown_ones_are_counted(void **state)
{
    (void)state;
    att_predictions *predictions = classify(trained.model, lines, LINES, NULL);
    const att_prediction *prediction = att_predictions_get(predictions, 6);
    assert_int_equal(prediction->token_count, 2);
    assert_string_equal(prediction->tokens[0], "a"); /* in lower case, by the model's settings */
    assert_string_equal(prediction->tokens[1], "z");
    assert_int_equal(prediction->unknown_tokens, 1);
    assert_true(prediction->spaced);
    att_predictions_free(predictions);
}

/* Also if the vocabulary adds tokens that are not in the line, or splits it differently. */
static void every_displayed_token_is_a_string(void **state)
{
    (void)state;
    for (int whole_text = 0; whole_text < 2; whole_text++) {
        scene s;
        label_scene_new(&s, NULL, 0);
        if (whole_text)
            att_vocab_set_whole_text(s.data.source_vocab);
        else
            att_vocab_set_prepend_bos(s.data.source_vocab);
        static const char *const line = "a   z b";
        att_predictions *predictions = classify(s.model, &line, 1, NULL);
        const att_prediction *prediction = att_predictions_get(predictions, 0);
        assert_true(prediction->token_count > 3);
        for (int64_t i = 0; i < prediction->token_count; i++)
            assert_non_null(prediction->tokens[i]);
        if (!whole_text) {
            assert_string_equal(prediction->tokens[0], "<start>");
            assert_string_equal(prediction->tokens[2], "z");
        }
        att_predictions_free(predictions);
        scene_free(&s);
    }
}

static void probabilities_add_up_to_one_and_the_label_has_the_largest(void **state)
{
    (void)state;
    att_predictions *predictions = classify(trained.model, lines, LINES, NULL);
    assert_int_equal(att_model_label_count(trained.model), 3);
    assert_null(att_model_label(trained.model, 3));
    for (size_t i = 0; i < LINES; i++) {
        const att_prediction *prediction = att_predictions_get(predictions, i);
        double sum = 0;
        for (int64_t k = 0; prediction->label >= 0 && k < 3; k++) {
            sum += prediction->probabilities[k];
            assert_true(prediction->probabilities[k] <=
                        prediction->probabilities[prediction->label]);
        }
        assert_true(prediction->label < 0 || fabs(sum - 1) < 1e-6);
        if (prediction->label >= 0)
            assert_string_equal(prediction->label_text,
                                att_model_label(trained.model, (size_t)prediction->label));
    }
    att_predictions_free(predictions);
}

static void a_line_is_classified_with_the_same_bits_in_any_batch(void **state)
{
    (void)state;
    const att_classify_options options = { .size = sizeof(att_classify_options),
                                           .attention = true },
                               small = { .size = sizeof(att_classify_options),
                                         .attention = true,
                                         .batch_size = 2 };
    att_predictions *all = classify(trained.model, lines, LINES, &options);
    att_predictions *pairs = classify(trained.model, lines, LINES, &small);
    for (size_t i = 0; i < LINES; i++) {
        att_predictions *alone = classify(trained.model, &lines[i], 1, &options);
        const att_prediction *a = att_predictions_get(all, i), *b = att_predictions_get(pairs, i),
                             *c = att_predictions_get(alone, 0);
        assert_string_equal(a->label_text, c->label_text);
        for (int64_t k = 0; a->label >= 0 && k < 3; k++) {
            assert_true(a->probabilities[k] == b->probabilities[k]);
            assert_true(a->probabilities[k] == c->probabilities[k]);
        }
        for (int64_t t = 0; t < a->token_count; t++)
            assert_true(a->weights[t] == c->weights[t] && b->weights[t] == c->weights[t]);
        att_predictions_free(alone);
    }
    att_predictions_free(all);
    att_predictions_free(pairs);
}

/* Of the uncalibrated ones: the temperatures of the models do not matter. */
static void an_ensemble_has_the_mean_of_the_probabilities(void **state)
{
    (void)state;
    att_model *with[] = { other.model };
    const att_classify_options options = { .size = sizeof(att_classify_options),
                                           .ensemble = with,
                                           .ensemble_count = 1 };
    att_predictions *one = classify(trained.model, lines, LINES, NULL);
    att_predictions *two = classify(other.model, lines, LINES, NULL);
    trained.model->temperature = 2;
    other.model->temperature = 0.5;
    att_predictions *both = classify(trained.model, lines, LINES, &options);
    trained.model->temperature = other.model->temperature = 1;
    for (size_t i = 0; i < LINES; i++)
        for (int64_t k = 0; att_predictions_get(one, i)->label >= 0 && k < 3; k++) {
            double mean = (att_predictions_get(one, i)->probabilities[k] +
                           att_predictions_get(two, i)->probabilities[k]) /
                          2;
            assert_true(fabs(att_predictions_get(both, i)->probabilities[k] - mean) < 1e-6);
        }
    att_predictions_free(one);
    att_predictions_free(two);
    att_predictions_free(both);
}

static void a_line_that_is_too_long_is_refused_or_truncated(void **state)
{
    (void)state;
    att_predictions *predictions;
    att_error err = { 0 };
    const att_classify_options refuse = { .size = sizeof(att_classify_options),
                                          .max_input_length = 4 };
    const att_classify_options truncate = { .size = sizeof(att_classify_options),
                                            .max_input_length = 4,
                                            .input_overflow = ATT_OVERFLOW_TRUNCATE };
    assert_int_equal(att_model_classify(&predictions, trained.model, lines, LINES, &refuse, &err),
                     ATT_BAD_INPUT);
    assert_null(predictions);
    assert_int_equal(err.line, 5);
    predictions = classify(trained.model, lines, LINES, &truncate);
    assert_int_equal(att_predictions_get(predictions, 4)->truncated_input_tokens, 1);
    assert_int_equal(att_predictions_get(predictions, 4)->token_count, 4);
    att_predictions_free(predictions);
}

static void a_line_that_is_not_utf8_is_named(void **state)
{
    (void)state;
    static const char *const bad[] = { "a", "b\xFF" };
    att_predictions *predictions;
    att_error err = { 0 };
    assert_int_equal(att_model_classify(&predictions, trained.model, bad, 2, NULL, &err),
                     ATT_BAD_INPUT);
    assert_int_equal(err.line, 2);
}

static void seq2seq_models_do_not_classify_and_classifiers_do_not_generate(void **state)
{
    (void)state;
    scene pairs;
    att_predictions *predictions;
    att_outputs *outputs;
    att_error err = { 0 };
    scene_new(&pairs, NULL, 0);
    assert_int_equal(att_model_classify(&predictions, pairs.model, lines, 1, NULL, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected a classifier, found a seq2seq model (rnn)");
    assert_int_equal(att_model_label_count(pairs.model), 0);
    assert_int_equal(att_model_generate(&outputs, trained.model, lines, 1, NULL, &err),
                     ATT_BAD_INPUT);
    scene_free(&pairs);
}

static void a_prediction_is_one_line_of_json(void **state)
{
    (void)state;
    const att_classify_options options = { .size = sizeof(att_classify_options),
                                           .attention = true };
    att_predictions *predictions = classify(trained.model, lines, LINES, &options);
    for (size_t i = 0; i < LINES; i++) {
        const att_prediction *prediction = att_predictions_get(predictions, i);
        att_string text = { 0 };
        assert_int_equal(att_prediction_json(&text, prediction, trained.model, NULL), ATT_OK);
        assert_true(strchr(text.data, '\n') == text.data + text.length - 1);
        att_json_doc doc = json_of(&text);
        const att_json *probabilities = att_json_find(doc.root, "probabilities");
        assert_int_equal(probabilities ? probabilities->count : 0, prediction->label >= 0 ? 3 : 0);
        if (prediction->label >= 0) {
            const char *label = string_of(doc.root, "label");
            assert_string_equal(label, prediction->label_text);
            assert_true(number_of(probabilities, label) ==
                        prediction->probabilities[prediction->label]);
            assert_int_equal(item_count(doc.root, "attention"), prediction->token_count);
        } else {
            assert_int_equal(member(doc.root, "label")->type, ATT_JSON_NULL);
        }
        att_json_free(&doc);
        att_string_free(&text);
    }
    att_predictions_free(predictions);
}

static att_status classify_some(void *context)
{
    const scene *const *scenes = context;
    const att_classify_options options = { .size = sizeof(att_classify_options),
                                           .ensemble = (att_model *[]){ scenes[1]->model },
                                           .ensemble_count = 1,
                                           .attention = true };
    att_predictions *predictions;
    att_status status =
        att_model_classify(&predictions, scenes[0]->model, lines, 3, &options, NULL);
    att_predictions_free(predictions);
    return status;
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    const scene *scenes[] = { &trained, &other };
    assert_int_equal(classify_some(scenes), ATT_OK); /* packs the weights, which stay */
    assert_true(every_arena_allocation_fails(classify_some, scenes, 10000) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_come_in_order_and_an_empty_line_has_no_label),
        cmocka_unit_test(tokens_are_those_of_the_line_and_unknown_ones_are_counted),
        cmocka_unit_test(every_displayed_token_is_a_string),
        cmocka_unit_test(probabilities_add_up_to_one_and_the_label_has_the_largest),
        cmocka_unit_test(a_line_is_classified_with_the_same_bits_in_any_batch),
        cmocka_unit_test(an_ensemble_has_the_mean_of_the_probabilities),
        cmocka_unit_test(a_line_that_is_too_long_is_refused_or_truncated),
        cmocka_unit_test(a_line_that_is_not_utf8_is_named),
        cmocka_unit_test(seq2seq_models_do_not_classify_and_classifiers_do_not_generate),
        cmocka_unit_test(a_prediction_is_one_line_of_json),
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests_name("classify", tests, train, forget);
}
