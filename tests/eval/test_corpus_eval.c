/* A model measured: the figures are those of its answers, and of its steps. */
#include "eval/corpus_eval.h"

#include "model/model_help.h"

#include <math.h>
#include <stdlib.h>

static scene trained;

static int train(void **state)
{
    (void)state;
    static const setting_pair set[] = { { "hidden-size", "16" }, { "train-count", "400" } };
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
    att_token_metrics tally = { 0 };
    const att_corpus_eval_options how = { .decode = true };
    const att_corpus *valid = &trained.data.valid;
    assert_int_equal(att_corpus_eval(&tally, trained.model, valid, &how, NULL), ATT_OK);
    int64_t exact = 0;
    for (int64_t p = 0; p < valid->pairs; p++) {
        att_string source = { 0 }, target = { 0 };
        att_outputs *answers;
        int64_t length;
        const int32_t *ids = att_sequences_get(&valid->source, p, &length);
        att_vocab_decode(trained.data.source_vocab, &source, ids, (size_t)length);
        ids = att_sequences_get(&valid->target, p, &length);
        att_vocab_decode(trained.data.target_vocab, &target, ids, (size_t)length);
        const char *line = source.data;
        assert_int_equal(att_model_generate(&answers, trained.model, &line, 1, NULL, NULL), ATT_OK);
        exact += strcmp(att_outputs_get(answers, 0)->text, target.data) == 0;
        att_outputs_free(answers);
        att_string_free(&source);
        att_string_free(&target);
    }
    assert_int_equal(tally.lines, valid->pairs);
    assert_int_equal(tally.exact_matches, exact);
    assert_true(exact > 0 && exact < valid->pairs); /* neither is a figure that cannot be wrong */
}

static void what_is_counted_does_not_depend_on_the_batches(void **state)
{
    (void)state;
    att_token_metrics one = { 0 }, other = { 0 };
    assert_int_equal(
        att_corpus_eval(&one, trained.model, &trained.data.valid,
                        &(att_corpus_eval_options){ .decode = true, .batch_tokens = 7 }, NULL),
        ATT_OK);
    assert_int_equal(
        att_corpus_eval(&other, trained.model, &trained.data.valid,
                        &(att_corpus_eval_options){ .decode = true, .batch_tokens = 5000 }, NULL),
        ATT_OK);
    assert_int_equal(one.exact_matches, other.exact_matches);
    assert_int_equal(one.edits, other.edits);
    assert_int_equal(one.correct_steps, other.correct_steps);
    assert_true(fabs(one.loss - other.loss) < 1e-12 * other.loss); /* added in another order */
}

static void without_answers_only_steps_are_measured(void **state)
{
    (void)state;
    att_token_metrics tally = { 0 };
    assert_int_equal(att_corpus_eval(&tally, trained.model, &trained.data.valid,
                                     &(att_corpus_eval_options){ .max_pairs = 3 }, NULL),
                     ATT_OK);
    assert_int_equal(tally.lines, 0);
    assert_int_equal(tally.steps, trained.data.valid.target.offsets[3] + 3); /* and three ends */
}

static bool never(void *context)
{
    (*(int *)context)++;
    return false;
}

static void an_evaluation_ends_when_told(void **state)
{
    (void)state;
    att_token_metrics tally = { 0 };
    int asked = 0;
    const att_corpus_eval_options how = { .batch_tokens = 1, .on_batch = never, .context = &asked };
    assert_int_equal(att_corpus_eval(&tally, trained.model, &trained.data.valid, &how, NULL),
                     ATT_OK);
    assert_int_equal(asked, 1);
    assert_true(tally.steps > 0 && tally.steps < trained.data.valid.target.offsets[2] + 2);
}

static void what_is_counted_of_each_pair_adds_up(void **state)
{
    (void)state;
    const att_corpus *valid = &trained.data.valid;
    att_token_metrics all = { 0 }, sum = { 0 };
    att_token_metrics *each = calloc((size_t)valid->pairs, sizeof *each);
    assert_int_equal(att_corpus_eval(&all, trained.model, valid,
                                     &(att_corpus_eval_options){ .decode = true, .per_pair = each },
                                     NULL),
                     ATT_OK);
    for (int64_t p = 0; p < valid->pairs; p++) {
        int64_t length;
        att_sequences_get(&valid->target, p, &length);
        assert_int_equal(each[p].steps, length + 1);
        assert_int_equal(each[p].lines, 1);
        att_token_metrics_merge(&sum, &each[p]);
    }
    assert_int_equal(sum.correct_steps, all.correct_steps);
    assert_int_equal(sum.edits, all.edits);
    assert_true(fabs(sum.loss - all.loss) < 1e-12 * all.loss);
    free(each);
}

static void figures_of_steps_lie_within_their_intervals(void **state)
{
    (void)state;
    att_seq2seq_eval scores = ATT_INIT(att_seq2seq_eval);
    const att_eval_options how = { .size = sizeof(att_eval_options),
                                   .metric_options = &(const att_metric_options){
                                       .size = sizeof(att_metric_options),
                                       .resamples = 200,
                                       .seed = 1 } };
    assert_int_equal(
        att_model_evaluate_seq2seq(&scores, NULL, trained.model, NULL, &how, NULL, NULL), ATT_OK);
    assert_true(scores.perplexity_interval.low < scores.perplexity &&
                scores.perplexity < scores.perplexity_interval.high);
    assert_true(scores.token_accuracy_interval.low < scores.token_accuracy &&
                scores.token_accuracy < scores.token_accuracy_interval.high);
    assert_int_equal(
        att_model_evaluate_seq2seq(&scores, NULL, trained.model, NULL, NULL, NULL, NULL), ATT_OK);
    assert_true(isnan(scores.perplexity_interval.low) &&
                isnan(scores.token_accuracy_interval.high));
}

/* What models together give the references, along the search instead of along the loss. */
static double sum_of_scores(const att_decoding_options *decoding)
{
    const att_corpus *valid = &trained.data.valid;
    double sum = 0;
    for (int64_t p = 0; p < valid->pairs; p++) {
        att_string source = { 0 }, target = { 0 };
        att_outputs *answers;
        int64_t length;
        const int32_t *ids = att_sequences_get(&valid->source, p, &length);
        att_vocab_decode(trained.data.source_vocab, &source, ids, (size_t)length);
        ids = att_sequences_get(&valid->target, p, &length);
        att_vocab_decode(trained.data.target_vocab, &target, ids, (size_t)length);
        const char *line = source.data, *wanted = target.data;
        const att_generate_options how = { .size = sizeof(att_generate_options),
                                           .decoding = decoding,
                                           .targets = &wanted };
        assert_int_equal(att_model_generate(&answers, trained.model, &line, 1, &how, NULL), ATT_OK);
        sum += att_outputs_get(answers, 0)->score;
        att_outputs_free(answers);
        att_string_free(&source);
        att_string_free(&target);
    }
    return sum;
}

static void models_together_are_measured_together(void **state)
{
    (void)state;
    static const setting_pair set[] = { { "hidden-size", "12" },
                                        { "train-count", "400" },
                                        { "seed", "9" } };
    scene other;
    scene_new(&other, set, 3);
    scene_learn(&other, 3, NULL);
    att_token_metrics alone = { 0 }, less = { 0 }, both = { 0 };
    const att_decoding_options decoding = { .size = sizeof(att_decoding_options),
                                            .ensemble = &other.model,
                                            .ensemble_count = 1 };
    const att_corpus_eval_options how = { .decoding = &decoding };
    const att_corpus *valid = &trained.data.valid;
    assert_int_equal(
        att_corpus_eval(&alone, trained.model, valid, &(att_corpus_eval_options){ 0 }, NULL),
        ATT_OK);
    assert_int_equal(
        att_corpus_eval(&less, other.model, valid, &(att_corpus_eval_options){ 0 }, NULL), ATT_OK);
    assert_int_equal(att_corpus_eval(&both, trained.model, valid, &how, NULL), ATT_OK);
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
    att_token_metrics tally = { 0 };
    att_seq2seq_eval scores = ATT_INIT(att_seq2seq_eval);
    assert_int_equal(att_corpus_eval(&tally, trained.model, &trained.data.valid,
                                     &(att_corpus_eval_options){ .decode = true }, NULL),
                     ATT_OK);
    assert_int_equal(
        att_model_evaluate_seq2seq(&scores, NULL, trained.model, NULL, NULL, NULL, NULL), ATT_OK);
    assert_int_equal(scores.lines, tally.lines);
    assert_true(scores.exact_match == att_token_metrics_exact_match(&tally));
    assert_true(scores.perplexity == att_token_metrics_perplexity(&tally));
}

static void a_file_that_is_missing_is_named(void **state)
{
    (void)state;
    att_seq2seq_eval scores = ATT_INIT(att_seq2seq_eval);
    att_error err = { 0 };
    assert_int_equal(att_model_evaluate_seq2seq(&scores, NULL, trained.model, "no/such/file.tsv",
                                                NULL, NULL, &err),
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
