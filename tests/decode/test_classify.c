/* Lines sorted by a model: in order, the same alone or among others, by one model or several. */
#include "json_help.h"
#include "model/classifier_help.h"

#include <math.h>

/* Two models that have learnt the same sentences, for all tests. */
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

static att_predictions *sort(att_model *model, const char *const *lines, size_t count,
                             const att_classify_options *how)
{
    att_predictions *verdicts;
    att_error err = { 0 };
    if (att_model_classify(&verdicts, model, lines, count, how, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(att_predictions_count(verdicts), count);
    return verdicts;
}

static const char *const lines[] = { "a a b", "", "c b", " \t ", "b a b b a", "b", "A z" };
enum { LINES = sizeof lines / sizeof *lines };

static void verdicts_come_in_order_and_an_empty_line_has_none(void **state)
{
    (void)state;
    static const char *const wanted[] = { "many", "", "see", "", "few", "few", NULL };
    att_predictions *verdicts = sort(trained.model, lines, LINES, NULL);
    for (size_t i = 0; i < LINES; i++) {
        const att_prediction *verdict = att_predictions_get(verdicts, i);
        if (wanted[i])
            assert_string_equal(verdict->label_text, wanted[i]);
        assert_int_equal(verdict->label < 0, verdict->token_count == 0);
        assert_int_equal(verdict->probabilities == NULL, verdict->label < 0);
        assert_null(verdict->weights);
    }
    assert_null(att_predictions_get(verdicts, LINES));
    att_predictions_free(verdicts);
}

static void tokens_are_those_of_the_line_and_unknown_ones_are_counted(void **state)
{
    (void)state;
    att_predictions *verdicts = sort(trained.model, lines, LINES, NULL);
    const att_prediction *verdict = att_predictions_get(verdicts, 6);
    assert_int_equal(verdict->token_count, 2);
    assert_string_equal(verdict->tokens[0], "a"); /* in small letters, as the model has it */
    assert_string_equal(verdict->tokens[1], "z");
    assert_int_equal(verdict->unknown_tokens, 1);
    assert_true(verdict->spaced);
    att_predictions_free(verdicts);
}

static void probabilities_add_up_to_one_and_the_label_has_the_largest(void **state)
{
    (void)state;
    att_predictions *verdicts = sort(trained.model, lines, LINES, NULL);
    assert_int_equal(att_model_label_count(trained.model), 3);
    assert_null(att_model_label(trained.model, 3));
    for (size_t i = 0; i < LINES; i++) {
        const att_prediction *verdict = att_predictions_get(verdicts, i);
        double sum = 0;
        for (int64_t k = 0; verdict->label >= 0 && k < 3; k++) {
            sum += verdict->probabilities[k];
            assert_true(verdict->probabilities[k] <= verdict->probabilities[verdict->label]);
        }
        assert_true(verdict->label < 0 || fabs(sum - 1) < 1e-6);
        if (verdict->label >= 0)
            assert_string_equal(verdict->label_text,
                                att_model_label(trained.model, (size_t)verdict->label));
    }
    att_predictions_free(verdicts);
}

static void a_line_is_judged_the_same_bits_in_any_company(void **state)
{
    (void)state;
    const att_classify_options how = { .size = sizeof(att_classify_options), .attention = true },
                               small = { .size = sizeof(att_classify_options),
                                         .attention = true,
                                         .batch_size = 2 };
    att_predictions *all = sort(trained.model, lines, LINES, &how);
    att_predictions *pairs = sort(trained.model, lines, LINES, &small);
    for (size_t i = 0; i < LINES; i++) {
        att_predictions *alone = sort(trained.model, &lines[i], 1, &how);
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

static void models_that_decide_together_have_the_mean_of_their_probabilities(void **state)
{
    (void)state;
    att_model *with[] = { other.model };
    const att_classify_options how = { .size = sizeof(att_classify_options),
                                       .ensemble = with,
                                       .ensemble_count = 1 };
    att_predictions *one = sort(trained.model, lines, LINES, NULL);
    att_predictions *two = sort(other.model, lines, LINES, NULL);
    att_predictions *both = sort(trained.model, lines, LINES, &how);
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

static void a_line_that_is_too_long_is_refused_or_cut(void **state)
{
    (void)state;
    att_predictions *verdicts;
    att_error err = { 0 };
    const att_classify_options refuse = { .size = sizeof(att_classify_options),
                                          .max_input_length = 4 };
    const att_classify_options cut = { .size = sizeof(att_classify_options),
                                       .max_input_length = 4,
                                       .input_overflow = ATT_OVERFLOW_TRUNCATE };
    assert_int_equal(att_model_classify(&verdicts, trained.model, lines, LINES, &refuse, &err),
                     ATT_BAD_INPUT);
    assert_null(verdicts);
    assert_int_equal(err.line, 5);
    verdicts = sort(trained.model, lines, LINES, &cut);
    assert_int_equal(att_predictions_get(verdicts, 4)->truncated_input_tokens, 1);
    assert_int_equal(att_predictions_get(verdicts, 4)->token_count, 4);
    att_predictions_free(verdicts);
}

static void a_line_that_is_no_text_is_named(void **state)
{
    (void)state;
    static const char *const bad[] = { "a", "b\xFF" };
    att_predictions *verdicts;
    att_error err = { 0 };
    assert_int_equal(att_model_classify(&verdicts, trained.model, bad, 2, NULL, &err),
                     ATT_BAD_INPUT);
    assert_int_equal(err.line, 2);
}

static void models_that_answer_lines_do_not_sort_and_the_other_way_round(void **state)
{
    (void)state;
    scene pairs;
    att_predictions *verdicts;
    att_outputs *answers;
    att_error err = { 0 };
    scene_new(&pairs, NULL, 0);
    assert_int_equal(att_model_classify(&verdicts, pairs.model, lines, 1, NULL, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected a classifier, found a seq2seq model (rnn)");
    assert_int_equal(att_model_label_count(pairs.model), 0);
    assert_int_equal(att_model_generate(&answers, trained.model, lines, 1, NULL, &err),
                     ATT_BAD_INPUT);
    scene_free(&pairs);
}

static void a_verdict_is_one_line_of_json(void **state)
{
    (void)state;
    const att_classify_options how = { .size = sizeof(att_classify_options), .attention = true };
    att_predictions *verdicts = sort(trained.model, lines, LINES, &how);
    for (size_t i = 0; i < LINES; i++) {
        const att_prediction *verdict = att_predictions_get(verdicts, i);
        att_string text = { 0 };
        assert_int_equal(att_prediction_json(&text, verdict, trained.model, NULL), ATT_OK);
        assert_true(strchr(text.data, '\n') == text.data + text.length - 1);
        att_json_doc doc = json_of(&text);
        const att_json *probabilities = att_json_find(doc.root, "probabilities");
        assert_int_equal(probabilities ? probabilities->count : 0, verdict->label >= 0 ? 3 : 0);
        if (verdict->label >= 0) {
            const char *label = string_of(doc.root, "label");
            assert_string_equal(label, verdict->label_text);
            assert_true(number_of(probabilities, label) == verdict->probabilities[verdict->label]);
            assert_int_equal(item_count(doc.root, "attention"), verdict->token_count);
        } else {
            assert_int_equal(member(doc.root, "label")->type, ATT_JSON_NULL);
        }
        att_json_free(&doc);
        att_string_free(&text);
    }
    att_predictions_free(verdicts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_come_in_order_and_an_empty_line_has_none),
        cmocka_unit_test(tokens_are_those_of_the_line_and_unknown_ones_are_counted),
        cmocka_unit_test(probabilities_add_up_to_one_and_the_label_has_the_largest),
        cmocka_unit_test(a_line_is_judged_the_same_bits_in_any_company),
        cmocka_unit_test(models_that_decide_together_have_the_mean_of_their_probabilities),
        cmocka_unit_test(a_line_that_is_too_long_is_refused_or_cut),
        cmocka_unit_test(a_line_that_is_no_text_is_named),
        cmocka_unit_test(models_that_answer_lines_do_not_sort_and_the_other_way_round),
        cmocka_unit_test(a_verdict_is_one_line_of_json),
    };
    return cmocka_run_group_tests_name("sort", tests, train, forget);
}
