/* A model measured: the figures are those of its answers, and of its steps. */
#include "metrics/evaluate.h"

#include "model/model_help.h"

#include <math.h>
#include <stdlib.h>

static scene trained;

static int train(void **state)
{
    (void)state;
    static const setting_pair set[] = { { "width", "16" }, { "train-count", "400" } };
    scene_new(&trained, set, 2);
    scene_learn(&trained, 8, NULL);
    return 0;
}

static int forget(void **state)
{
    (void)state;
    scene_free(&trained);
    return 0;
}

/* Counted again from the answers that anyone can ask for. */
static void exact_matches_are_those_of_the_answers(void **state)
{
    (void)state;
    att_tally tally = { 0 };
    const att_evaluate_how how = { .answers = true };
    const att_corpus *valid = &trained.data.valid;
    assert_int_equal(att_evaluate(&tally, trained.model, valid, &how, NULL), ATT_OK);
    int64_t exact = 0;
    for (int64_t p = 0; p < valid->pairs; p++) {
        att_text source = { 0 }, target = { 0 };
        att_answers *answers;
        int64_t length;
        const int32_t *ids = att_side_get(&valid->source, p, &length);
        att_vocab_decode(trained.data.source_words, &source, ids, (size_t)length);
        ids = att_side_get(&valid->target, p, &length);
        att_vocab_decode(trained.data.target_words, &target, ids, (size_t)length);
        const char *line = source.data;
        assert_int_equal(att_model_answer(&answers, trained.model, &line, 1, NULL, NULL), ATT_OK);
        exact += strcmp(att_answers_get(answers, 0)->text, target.data) == 0;
        att_answers_free(answers);
        att_text_free(&source);
        att_text_free(&target);
    }
    assert_int_equal(tally.lines, valid->pairs);
    assert_int_equal(tally.exact, exact);
    assert_true(exact > 0 && exact < valid->pairs); /* neither is a figure that cannot be wrong */
}

static void what_is_counted_does_not_depend_on_the_batches(void **state)
{
    (void)state;
    att_tally one = { 0 }, other = { 0 };
    assert_int_equal(att_evaluate(&one, trained.model, &trained.data.valid,
                                  &(att_evaluate_how){ .answers = true, .tokens = 7 }, NULL),
                     ATT_OK);
    assert_int_equal(att_evaluate(&other, trained.model, &trained.data.valid,
                                  &(att_evaluate_how){ .answers = true, .tokens = 5000 }, NULL),
                     ATT_OK);
    assert_int_equal(one.exact, other.exact);
    assert_int_equal(one.edits, other.edits);
    assert_int_equal(one.right_steps, other.right_steps);
    assert_true(fabs(one.loss - other.loss) < 1e-12 * other.loss); /* added in another order */
}

static void without_answers_only_steps_are_measured(void **state)
{
    (void)state;
    att_tally tally = { 0 };
    assert_int_equal(att_evaluate(&tally, trained.model, &trained.data.valid,
                                  &(att_evaluate_how){ .most = 3 }, NULL),
                     ATT_OK);
    assert_int_equal(tally.lines, 0);
    assert_int_equal(tally.steps, trained.data.valid.target.at[3] + 3); /* and three ends */
}

static bool never(void *context)
{
    (*(int *)context)++;
    return false;
}

static void an_evaluation_ends_when_told(void **state)
{
    (void)state;
    att_tally tally = { 0 };
    int asked = 0;
    const att_evaluate_how how = { .tokens = 1, .go_on = never, .context = &asked };
    assert_int_equal(att_evaluate(&tally, trained.model, &trained.data.valid, &how, NULL), ATT_OK);
    assert_int_equal(asked, 1);
    assert_true(tally.steps > 0 && tally.steps < trained.data.valid.target.at[2] + 2);
}

static void what_is_counted_of_each_pair_adds_up(void **state)
{
    (void)state;
    const att_corpus *valid = &trained.data.valid;
    att_tally all = { 0 }, sum = { 0 };
    att_tally *each = calloc((size_t)valid->pairs, sizeof *each);
    assert_int_equal(att_evaluate(&all, trained.model, valid,
                                  &(att_evaluate_how){ .answers = true, .each = each }, NULL),
                     ATT_OK);
    for (int64_t p = 0; p < valid->pairs; p++) {
        int64_t length;
        att_side_get(&valid->target, p, &length);
        assert_int_equal(each[p].steps, length + 1);
        assert_int_equal(each[p].lines, 1);
        att_tally_join(&sum, &each[p]);
    }
    assert_int_equal(sum.right_steps, all.right_steps);
    assert_int_equal(sum.edits, all.edits);
    assert_true(fabs(sum.loss - all.loss) < 1e-12 * all.loss);
    free(each);
}

static void figures_of_steps_lie_within_their_intervals(void **state)
{
    (void)state;
    att_scores scores;
    const att_measuring how = { .text = { .resamples = 200, .seed = 1 } };
    assert_int_equal(att_model_evaluate(&scores, NULL, trained.model, NULL, &how, NULL, NULL),
                     ATT_OK);
    assert_true(scores.perplexity_within.low < scores.perplexity &&
                scores.perplexity < scores.perplexity_within.high);
    assert_true(scores.token_accuracy_within.low < scores.token_accuracy &&
                scores.token_accuracy < scores.token_accuracy_within.high);
    assert_int_equal(att_model_evaluate(&scores, NULL, trained.model, NULL, NULL, NULL, NULL),
                     ATT_OK);
    assert_true(isnan(scores.perplexity_within.low) && isnan(scores.token_accuracy_within.high));
}

/* What models together give the references, along the search instead of along the loss. */
static double sum_of_scores(const att_decoding *decoding)
{
    const att_corpus *valid = &trained.data.valid;
    double sum = 0;
    for (int64_t p = 0; p < valid->pairs; p++) {
        att_text source = { 0 }, target = { 0 };
        att_answers *answers;
        int64_t length;
        const int32_t *ids = att_side_get(&valid->source, p, &length);
        att_vocab_decode(trained.data.source_words, &source, ids, (size_t)length);
        ids = att_side_get(&valid->target, p, &length);
        att_vocab_decode(trained.data.target_words, &target, ids, (size_t)length);
        const char *line = source.data, *wanted = target.data;
        const att_answer_how how = { .decoding = *decoding, .targets = &wanted };
        assert_int_equal(att_model_answer(&answers, trained.model, &line, 1, &how, NULL), ATT_OK);
        sum += att_answers_get(answers, 0)->score;
        att_answers_free(answers);
        att_text_free(&source);
        att_text_free(&target);
    }
    return sum;
}

static void models_together_are_measured_together(void **state)
{
    (void)state;
    static const setting_pair set[] = { { "width", "12" },
                                        { "train-count", "400" },
                                        { "seed", "9" } };
    scene other;
    scene_new(&other, set, 3);
    scene_learn(&other, 3, NULL);
    att_tally alone = { 0 }, less = { 0 }, both = { 0 };
    const att_decoding decoding = { .with = &other.model, .with_count = 1 };
    const att_evaluate_how how = { .decoding = &decoding };
    const att_corpus *valid = &trained.data.valid;
    assert_int_equal(att_evaluate(&alone, trained.model, valid, &(att_evaluate_how){ 0 }, NULL),
                     ATT_OK);
    assert_int_equal(att_evaluate(&less, other.model, valid, &(att_evaluate_how){ 0 }, NULL),
                     ATT_OK);
    assert_int_equal(att_evaluate(&both, trained.model, valid, &how, NULL), ATT_OK);
    assert_int_equal(both.steps, alone.steps);
    assert_true(both.loss != alone.loss && both.loss < less.loss);
    double scores = sum_of_scores(&decoding);
    assert_true(fabs(both.loss + scores) < 1e-12 * both.loss);
    scene_free(&other);
}

/* Without a file: the strings of the validation, made up again. */
static void without_a_file_a_model_is_measured_on_what_validated_it(void **state)
{
    (void)state;
    att_tally tally = { 0 };
    att_scores scores;
    assert_int_equal(att_evaluate(&tally, trained.model, &trained.data.valid,
                                  &(att_evaluate_how){ .answers = true }, NULL),
                     ATT_OK);
    assert_int_equal(att_model_evaluate(&scores, NULL, trained.model, NULL, NULL, NULL, NULL),
                     ATT_OK);
    assert_int_equal(scores.lines, tally.lines);
    assert_true(scores.exact == att_tally_exact(&tally));
    assert_true(scores.perplexity == att_tally_perplexity(&tally));
}

static void a_file_that_is_missing_is_named(void **state)
{
    (void)state;
    att_scores scores;
    att_error err = { 0 };
    assert_int_equal(
        att_model_evaluate(&scores, NULL, trained.model, "no/such/file.tsv", NULL, NULL, &err),
        ATT_BAD_INPUT);
    assert_string_equal(err.place, "no/such/file.tsv");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_matches_are_those_of_the_answers),
        cmocka_unit_test(what_is_counted_does_not_depend_on_the_batches),
        cmocka_unit_test(without_answers_only_steps_are_measured),
        cmocka_unit_test(an_evaluation_ends_when_told),
        cmocka_unit_test(what_is_counted_of_each_pair_adds_up),
        cmocka_unit_test(figures_of_steps_lie_within_their_intervals),
        cmocka_unit_test(models_together_are_measured_together),
        cmocka_unit_test(without_a_file_a_model_is_measured_on_what_validated_it),
        cmocka_unit_test(a_file_that_is_missing_is_named),
    };
    return cmocka_run_group_tests(tests, train, forget);
}
