/* Evaluation of a seq2seq model: its metrics are those of its outputs and of teacher forcing. */
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

static int release(void **state)
{
    (void)state;
    scene_free(&trained);
    return 0;
}

/* Compares with a count over the outputs of the public API. */
static void exact_matches_are_those_of_the_outputs(void **state)
{
    (void)state;
    att_token_metrics metrics = { 0 };
    const att_corpus_eval_options options = { .decode = true };
    const att_corpus *valid = &trained.data.valid;
    assert_int_equal(att_corpus_eval(&metrics, trained.model, valid, &options, NULL), ATT_OK);
    int64_t exact = 0;
    for (int64_t p = 0; p < valid->pairs; p++) {
        att_string source = { 0 }, target = { 0 };
        att_outputs *outputs;
        int64_t length;
        const int32_t *ids = att_sequences_get(&valid->source, p, &length);
        att_vocab_decode(trained.data.source_vocab, &source, ids, (size_t)length);
        ids = att_sequences_get(&valid->target, p, &length);
        att_vocab_decode(trained.data.target_vocab, &target, ids, (size_t)length);
        const char *line = source.data;
        assert_int_equal(att_model_generate(&outputs, trained.model, &line, 1, NULL, NULL), ATT_OK);
        exact += strcmp(att_outputs_get(outputs, 0)->text, target.data) == 0;
        att_outputs_free(outputs);
        att_string_free(&source);
        att_string_free(&target);
    }
    assert_int_equal(metrics.lines, valid->pairs);
    assert_int_equal(metrics.exact_matches, exact);
    assert_true(exact > 0 && exact < valid->pairs); /* the extremes would match by accident */
}

static void counts_do_not_depend_on_the_batch_size(void **state)
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
    assert_true(fabs(one.loss - other.loss) < 1e-12 * other.loss); /* summed in another order */
}

static void without_decoding_only_teacher_forcing_is_counted(void **state)
{
    (void)state;
    att_token_metrics metrics = { 0 };
    assert_int_equal(att_corpus_eval(&metrics, trained.model, &trained.data.valid,
                                     &(att_corpus_eval_options){ .max_pairs = 3 }, NULL),
                     ATT_OK);
    assert_int_equal(metrics.lines, 0);
    assert_int_equal(metrics.steps,
                     trained.data.valid.target.offsets[3] + 3); /* and three <end> tokens */
}

static bool stop_at_once(void *context)
{
    (*(int *)context)++;
    return false;
}

static void an_evaluation_ends_when_the_callback_returns_false(void **state)
{
    (void)state;
    att_token_metrics metrics = { 0 };
    int calls = 0;
    const att_corpus_eval_options options = { .batch_tokens = 1,
                                              .on_batch = stop_at_once,
                                              .context = &calls };
    assert_int_equal(att_corpus_eval(&metrics, trained.model, &trained.data.valid, &options, NULL),
                     ATT_OK);
    assert_int_equal(calls, 1);
    assert_true(metrics.steps > 0 && metrics.steps < trained.data.valid.target.offsets[2] + 2);
}

static void counts_per_pair_add_up(void **state)
{
    (void)state;
    const att_corpus *valid = &trained.data.valid;
    att_token_metrics all = { 0 }, sum = { 0 };
    att_token_metrics *per_pair = calloc((size_t)valid->pairs, sizeof *per_pair);
    assert_int_equal(
        att_corpus_eval(&all, trained.model, valid,
                        &(att_corpus_eval_options){ .decode = true, .per_pair = per_pair }, NULL),
        ATT_OK);
    for (int64_t p = 0; p < valid->pairs; p++) {
        int64_t length;
        att_sequences_get(&valid->target, p, &length);
        assert_int_equal(per_pair[p].steps, length + 1);
        assert_int_equal(per_pair[p].lines, 1);
        att_token_metrics_merge(&sum, &per_pair[p]);
    }
    assert_int_equal(sum.correct_steps, all.correct_steps);
    assert_int_equal(sum.edits, all.edits);
    assert_true(fabs(sum.loss - all.loss) < 1e-12 * all.loss);
    free(per_pair);
}

static void metrics_lie_within_their_intervals(void **state)
{
    (void)state;
    att_seq2seq_eval scores = ATT_INIT(att_seq2seq_eval);
    const att_eval_options options = { .size = sizeof(att_eval_options),
                                       .metric_options = &(const att_metric_options){
                                           .size = sizeof(att_metric_options),
                                           .resamples = 200,
                                           .seed = 1 } };
    assert_int_equal(
        att_model_evaluate_seq2seq(&scores, NULL, trained.model, NULL, &options, NULL, NULL),
        ATT_OK);
    assert_true(scores.perplexity_interval.low < scores.perplexity &&
                scores.perplexity < scores.perplexity_interval.high);
    assert_true(scores.token_accuracy_interval.low < scores.token_accuracy &&
                scores.token_accuracy < scores.token_accuracy_interval.high);
    assert_int_equal(
        att_model_evaluate_seq2seq(&scores, NULL, trained.model, NULL, NULL, NULL, NULL), ATT_OK);
    assert_true(isnan(scores.perplexity_interval.low) &&
                isnan(scores.token_accuracy_interval.high));
}

/* The log-probability of the references by the ensemble, computed by the search (forced targets).
 */
static double sum_of_scores(const att_decoding_options *decoding)
{
    const att_corpus *valid = &trained.data.valid;
    double sum = 0;
    for (int64_t p = 0; p < valid->pairs; p++) {
        att_string source = { 0 }, target = { 0 };
        att_outputs *outputs;
        int64_t length;
        const int32_t *ids = att_sequences_get(&valid->source, p, &length);
        att_vocab_decode(trained.data.source_vocab, &source, ids, (size_t)length);
        ids = att_sequences_get(&valid->target, p, &length);
        att_vocab_decode(trained.data.target_vocab, &target, ids, (size_t)length);
        const char *line = source.data, *reference = target.data;
        const att_generate_options options = { .size = sizeof(att_generate_options),
                                               .decoding = decoding,
                                               .targets = &reference };
        assert_int_equal(att_model_generate(&outputs, trained.model, &line, 1, &options, NULL),
                         ATT_OK);
        sum += att_outputs_get(outputs, 0)->score;
        att_outputs_free(outputs);
        att_string_free(&source);
        att_string_free(&target);
    }
    return sum;
}

static void an_ensemble_is_evaluated_as_one_model(void **state)
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
    const att_corpus_eval_options options = { .decoding = &decoding };
    const att_corpus *valid = &trained.data.valid;
    assert_int_equal(
        att_corpus_eval(&alone, trained.model, valid, &(att_corpus_eval_options){ 0 }, NULL),
        ATT_OK);
    assert_int_equal(
        att_corpus_eval(&less, other.model, valid, &(att_corpus_eval_options){ 0 }, NULL), ATT_OK);
    assert_int_equal(att_corpus_eval(&both, trained.model, valid, &options, NULL), ATT_OK);
    assert_int_equal(both.steps, alone.steps);
    assert_true(both.loss != alone.loss && both.loss < less.loss);
    double scores = sum_of_scores(&decoding);
    assert_true(fabs(both.loss + scores) < 1e-12 * both.loss);
    scene_free(&other);
}

/* Without a file: the validation strings, generated again. */
static void without_a_file_the_validation_data_is_used(void **state)
{
    (void)state;
    att_token_metrics metrics = { 0 };
    att_seq2seq_eval scores = ATT_INIT(att_seq2seq_eval);
    assert_int_equal(att_corpus_eval(&metrics, trained.model, &trained.data.valid,
                                     &(att_corpus_eval_options){ .decode = true }, NULL),
                     ATT_OK);
    assert_int_equal(
        att_model_evaluate_seq2seq(&scores, NULL, trained.model, NULL, NULL, NULL, NULL), ATT_OK);
    assert_int_equal(scores.lines, metrics.lines);
    assert_true(scores.exact_match == att_token_metrics_exact_match(&metrics));
    assert_true(scores.perplexity == att_token_metrics_perplexity(&metrics));
}

static void a_missing_file_is_named(void **state)
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
        cmocka_unit_test(exact_matches_are_those_of_the_outputs),
        cmocka_unit_test(counts_do_not_depend_on_the_batch_size),
        cmocka_unit_test(without_decoding_only_teacher_forcing_is_counted),
        cmocka_unit_test(an_evaluation_ends_when_the_callback_returns_false),
        cmocka_unit_test(counts_per_pair_add_up),
        cmocka_unit_test(metrics_lie_within_their_intervals),
        cmocka_unit_test(an_ensemble_is_evaluated_as_one_model),
        cmocka_unit_test(without_a_file_the_validation_data_is_used),
        cmocka_unit_test(a_missing_file_is_named),
    };
    return cmocka_run_group_tests(tests, train, release);
}
