/* The training state: which validation is the best, and JSON that keeps every bit. */
#include "train/training_state.h"

#include "failing_memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static att_validation validation(double errors, double exact, double loss)
{
    return (att_validation){
        .step = 1, .token_error_rate = errors, .exact_match = exact, .loss = loss
    };
}

static bool add(att_training_state *state, att_validation row, att_best_metric by)
{
    bool better;
    assert_int_equal(att_training_state_add_validation(state, &row, by, &better, NULL), ATT_OK);
    return better;
}

static void the_best_validation_depends_on_the_metric(void **state)
{
    (void)state;
    static const struct {
        att_best_metric by;
        bool better;
    } cases[] = { { ATT_BEST_METRIC_TOKENS, true },
                  { ATT_BEST_METRIC_LINES, false },
                  { ATT_BEST_METRIC_LOSS, false } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        att_training_state run = { 0 };
        assert_null(att_training_state_best(&run));
        assert_true(add(&run, validation(0.2, 0.6, 1.0), cases[i].by));
        assert_int_equal(add(&run, validation(0.1, 0.5, 1.5), cases[i].by), cases[i].better);
        assert_int_equal(run.best_validation, cases[i].better ? 2 : 1);
        att_training_state_free(&run);
    }
}

static void the_highest_bleu_is_the_best_and_a_missing_one_the_worst(void **state)
{
    (void)state;
    static const struct {
        double bleu;
        bool better;
    } rows[] = { { NAN, true }, { 3, true }, { NAN, false }, { 2, false }, { 4, true } };
    att_training_state run = { 0 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_validation row =
            validation(0.5, 0.5, 1 + (double)i); /* the loss gives the opposite order */
        row.bleu = rows[i].bleu;
        assert_int_equal(add(&run, row, ATT_BEST_METRIC_BLEU), rows[i].better);
    }
    att_training_state_free(&run);
}

static void among_equal_scores_only_a_smaller_loss_is_better(void **state)
{
    (void)state;
    att_training_state run = { 0 };
    assert_true(add(&run, validation(0, 1, 0.5), ATT_BEST_METRIC_TOKENS));
    assert_false(add(&run, validation(0, 1, 0.5), ATT_BEST_METRIC_TOKENS));
    assert_true(add(&run, validation(0, 1, 0.4), ATT_BEST_METRIC_TOKENS));
    assert_int_equal(run.best_validation, 3);
    att_training_state_free(&run);
}

/* No label of the validation data is known: nothing speaks for an older model. */
static void without_a_loss_the_newest_of_equal_scores_is_the_best(void **state)
{
    (void)state;
    static const att_best_metric metrics[] = { ATT_BEST_METRIC_LINES, ATT_BEST_METRIC_LOSS };
    for (size_t i = 0; i < 2; i++) {
        att_training_state run = { 0 };
        att_string json = { 0 };
        for (int k = 1; k <= 3; k++) {
            assert_true(add(&run, validation(1, 0, NAN), metrics[i]));
            assert_int_equal(run.best_validation, k);
        }
        assert_int_equal(att_training_state_to_json(&json, &run, NULL), ATT_OK);
        assert_null(strstr(json.data, "\"loss\""));
        att_string_free(&json);
        att_training_state_free(&run);
    }
}

static void a_validation_resets_the_training_loss(void **state)
{
    (void)state;
    att_training_state run = { .interval_loss = 3, .interval_tokens = 4, .interval_correct = 2 };
    add(&run, validation(1, 0, 1), ATT_BEST_METRIC_LOSS);
    assert_true(run.interval_loss == 0);
    assert_int_equal(run.interval_tokens + run.interval_correct, 0);
    att_training_state_free(&run);
}

/* Numbers that need the longest decimal form. */
static att_training_state filled(void)
{
    att_training_state run = { .step = 123,
                               .epoch = 4,
                               .epoch_batches = 5,
                               .batches = INT64_C(9007199254740993),
                               .tokens = 77,
                               .interval_loss = 0.1 + 0.2,
                               .interval_tokens = 8,
                               .interval_correct = 7,
                               .plateau = { 1.0 / 3, 9, 2, 1 },
                               .train_pairs = 10,
                               .valid_pairs = 11,
                               .data_hash = INT64_MIN + 5 };
    for (int i = 0; i < 50; i++) {
        att_validation row = { i,
                               i / 10,
                               1e-3 / (i + 1),
                               5e-324 * i,
                               0.7 / (i + 1),
                               3.0 / (i + 7),
                               1 / (i + 3.0),
                               0.3 * i,
                               1e308 / (i + 1),
                               i % 2 == 0 ? 100 / (i + 3.0) : NAN,
                               i % 3 == 0 ? 2.0 / (i + 1) : NAN,
                               0, /* the perplexity is computed from the loss */
                               i % 4 == 0 ? NAN : (double)i,
                               i % 5 == 0 ? 1 / (i + 2.0) : NAN };
        add(&run, row, ATT_BEST_METRIC_LOSS);
    }
    run.interval_loss = 1e-300 / 3;
    run.averaged_checkpoints = 3;
    return run;
}

static void json_keeps_every_bit(void **state)
{
    (void)state;
    att_training_state run = filled(), back;
    att_string json = { 0 }, again = { 0 };
    assert_int_equal(att_training_state_to_json(&json, &run, NULL), ATT_OK);
    assert_int_equal(att_training_state_from_json(&back, json.data, "x", NULL), ATT_OK);
    assert_int_equal(back.history_count, run.history_count);
    assert_memory_equal(back.history, run.history, 50 * sizeof *run.history);
    assert_int_equal(back.batches, run.batches);
    assert_int_equal(back.data_hash, run.data_hash);
    assert_true(back.plateau.best == run.plateau.best);
    assert_true(back.interval_loss == run.interval_loss);
    assert_int_equal(att_training_state_to_json(&again, &back, NULL), ATT_OK);
    assert_string_equal(json.data, again.data);
    att_training_state_free(&run);
    att_training_state_free(&back);
    att_string_free(&json);
    att_string_free(&again);
}

/* Refuses the JSON of the state with `from` replaced by `to`. */
static void assert_refused(const char *from, const char *to, const char *expected)
{
    att_training_state run = filled(), back;
    att_string json = { 0 }, changed = { 0 };
    att_error err = { 0 };
    assert_int_equal(att_training_state_to_json(&json, &run, NULL), ATT_OK);
    char *at = strstr(json.data, from);
    assert_non_null(at);
    assert_int_equal(att_string_append(&changed, json.data, (size_t)(at - json.data)), ATT_OK);
    assert_int_equal(att_string_append(&changed, to, strlen(to)), ATT_OK);
    at += strlen(from);
    assert_int_equal(att_string_append(&changed, at, strlen(at)), ATT_OK);
    assert_int_equal(att_training_state_from_json(&back, changed.data, "m.safetensors", &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.place, "m.safetensors");
    assert_non_null(strstr(err.message, expected));
    assert_null(back.history);
    att_training_state_free(&run);
    att_string_free(&json);
    att_string_free(&changed);
}

static void invalid_json_is_refused_with_the_reason(void **state)
{
    (void)state;
    assert_refused("\"epoch\":4", "\"epoch\":-4",
                   "the training state: \"epoch\" is -4, expected 0 to");
    assert_refused(
        "\"epoch_batch\":5", "\"epoch_batch\":5.5",
        "the training state: expected a whole number for \"epoch_batch\", found a number with ");
    assert_refused("\"since_loss\":", "\"loss_since\":",
                   "the training state: expected a number for \"since_loss\", which is missing");
    assert_refused("\"best_validation\":50", "\"best_validation\":51",
                   "the training state: the best validation is number 51, but there are only 50");
    assert_refused(
        "\"history\":[", "\"history\":[3,",
        "the training state: expected an object for \"history\"[0], found a whole number");
    assert_refused("{", "[",
                   "the training state: line 1, column 9: expected ',' or ']', found ':'");
    assert_refused("\"resume\":{", "\"steps\":1,\"resume\":{", "has the key \"steps\" twice");
}

static att_status write_state(void *context)
{
    att_string json = { 0 };
    att_status status = att_training_state_to_json(&json, context, NULL);
    att_string_free(&json);
    return status;
}

static att_status read_state(void *context)
{
    att_training_state state;
    att_status status = att_training_state_from_json(&state, context, "x", NULL);
    att_training_state_free(&state);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    att_training_state run = filled();
    att_string json = { 0 };
    assert_int_equal(att_training_state_to_json(&json, &run, NULL), ATT_OK);
    every_allocation_fails(write_state, &run, 1000);
    every_allocation_fails(read_state, json.data, 1000);
    att_training_state_free(&run);
    att_string_free(&json);
}

static void a_number_that_json_cannot_represent_is_refused(void **state)
{
    (void)state;
    static const double bad[] = { NAN, INFINITY, -INFINITY };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        att_training_state run = { .interval_loss = bad[i] };
        att_string json = { 0 };
        att_error err = { 0 };
        assert_int_equal(att_training_state_to_json(&json, &run, &err), ATT_BAD_INPUT);
        assert_string_equal(err.place, "the training state");
        assert_string_equal(err.message, "cannot be written as JSON: a number is infinite or NaN");
        assert_int_equal(json.length, 0);
        att_string_free(&json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_validation_depends_on_the_metric),
        cmocka_unit_test(the_highest_bleu_is_the_best_and_a_missing_one_the_worst),
        cmocka_unit_test(among_equal_scores_only_a_smaller_loss_is_better),
        cmocka_unit_test(without_a_loss_the_newest_of_equal_scores_is_the_best),
        cmocka_unit_test(a_validation_resets_the_training_loss),
        cmocka_unit_test(json_keeps_every_bit),
        cmocka_unit_test(invalid_json_is_refused_with_the_reason),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_number_that_json_cannot_represent_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
