/* Evaluation of a classifier: its metrics are those of its own predictions, and data that cannot be
 * evaluated is refused with the reason. */
#include "json_help.h"
#include "model/classifier_help.h"

#include "metrics/classification.h"

#include <math.h>

static scene trained;
static char path[32];

static int train(void **state)
{
    (void)state;
    label_scene_new(&trained, NULL, 0);
    scene_learn(&trained, 12, NULL); /* stops early: there must be mistakes to count */
    write_sentences(path, 300);
    return 0;
}

static int release(void **state)
{
    (void)state;
    unlink(path);
    scene_free(&trained);
    return 0;
}

static att_classifier_eval *evaluate(const att_eval_options *options)
{
    att_classifier_eval *scores;
    att_error err = { 0 };
    if (att_model_evaluate_classifier(&scores, trained.model, path, options, NULL, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return scores;
}

static void the_uncalibrated_loss_is_that_at_temperature_1(void **state)
{
    (void)state;
    att_classifier_eval *plain = evaluate(NULL);
    trained.model->temperature = 2;
    att_classifier_eval *calibrated = evaluate(NULL);
    trained.model->temperature = 1;
    assert_true(plain->uncalibrated_loss == plain->loss);
    assert_true(fabs(calibrated->loss - plain->loss) > 1e-3);
    assert_true(fabs(calibrated->uncalibrated_loss - plain->loss) < 1e-6);
    att_classifier_eval_free(plain);
    att_classifier_eval_free(calibrated);
}

static void the_counts_are_those_of_the_predictions(void **state)
{
    (void)state;
    att_classifier_eval *scores = evaluate(NULL);
    int64_t counts[9] = { 0 };
    double loss = 0;
    char line[256];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *tab = strchr(line, '\t');
        *tab = tab[strlen(tab) - 1] = '\0';
        const char *sentence = line;
        att_predictions *predictions;
        assert_int_equal(att_model_classify(&predictions, trained.model, &sentence, 1, NULL, NULL),
                         ATT_OK);
        const att_prediction *prediction = att_predictions_get(predictions, 0);
        int64_t truth = 0;
        while (strcmp(att_model_label(trained.model, (size_t)truth), tab + 1) != 0)
            truth++;
        counts[truth * 3 + prediction->label]++;
        loss -= log(prediction->probabilities[truth]);
        att_predictions_free(predictions);
    }
    fclose(file);
    assert_int_equal(scores->lines, 300);
    assert_int_equal(scores->labels, 3);
    assert_memory_equal(scores->confusion, counts, sizeof counts);
    assert_true(scores->accuracy == att_confusion_accuracy(counts, NULL, 3));
    assert_true(scores->macro_f1 == att_confusion_macro_f1(counts, NULL, 3));
    assert_true(scores->accuracy < 1);
    assert_true(fabs(scores->loss - loss / 300) < 1e-6);
    assert_true(isnan(scores->accuracy_interval.low));
    att_classifier_eval_free(scores);
}

static void an_interval_holds_the_accuracy(void **state)
{
    (void)state;
    const att_eval_options options = { .size = sizeof(att_eval_options),
                                       .metric_options = &(const att_metric_options){
                                           .size = sizeof(att_metric_options),
                                           .resamples = 200,
                                           .seed = 1 } };
    att_classifier_eval *scores = evaluate(&options);
    assert_true(scores->accuracy_interval.low < scores->accuracy);
    assert_true(scores->accuracy_interval.high > scores->accuracy);
    att_classifier_eval_free(scores);
}

static void without_a_file_the_validation_data_is_used(void **state)
{
    (void)state;
    char train_file[32];
    att_classifier_eval *scores;
    att_error err = { 0 };
    write_sentences(train_file, 80);
    trained.settings->train = train_file; /* the same sentences in another file */
    att_eval_options options = ATT_INIT(att_eval_options);
    assert_int_equal(
        att_model_evaluate_classifier(&scores, trained.model, NULL, &options, NULL, &err),
        ATT_BAD_INPUT); /* only the model names the file */
    assert_non_null(strstr(err.message, train_file));
    options.recorded_data = true;
    if (att_model_evaluate_classifier(&scores, trained.model, NULL, &options, NULL, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(scores->lines, trained.data.valid.pairs);
    att_classifier_eval_free(scores);
    unlink(train_file);
}

static void assert_refused(const char *text, const char *expected)
{
    char file_path[] = "/tmp/attend-label-bad-XXXXXX";
    int fd = mkstemp(file_path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    att_classifier_eval *scores;
    att_error err = { 0 };
    assert_int_equal(
        att_model_evaluate_classifier(&scores, trained.model, file_path, NULL, NULL, &err),
        ATT_BAD_INPUT);
    assert_null(scores);
    assert_string_equal(err.message, expected);
    unlink(file_path);
}

static void data_that_cannot_be_evaluated_is_refused(void **state)
{
    (void)state;
    assert_refused("a b many\n", "expected sentence<TAB>label, found no tab");
    assert_refused("\n\tmany\na\t\n", "has no sentences, expected at least one");
}

static void a_label_that_the_model_lacks_counts_as_wrong_with_a_note(void **state)
{
    (void)state;
    char file_path[] = "/tmp/attend-label-odd-XXXXXX";
    const char text[] = "a b\tmany\na\tlots\na a a\tmany\n";
    int fd = mkstemp(file_path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    att_classifier_eval *scores;
    att_string notes = { 0 };
    att_error err = { 0 };
    if (att_model_evaluate_classifier(&scores, trained.model, file_path, NULL, &notes, &err) !=
        ATT_OK)
        fail_msg("%s", err.message);
    assert_non_null(strstr(notes.data, "1 label is not in the training data, counted as wrong; the "
                                       "first is 'lots' in line 2"));
    int64_t right = 0, known = 0;
    for (int64_t i = 0; i < 9; i++) {
        known += scores->confusion[i];
        right += i % 4 == 0 ? scores->confusion[i] : 0;
    }
    assert_int_equal(scores->lines, 3);
    assert_int_equal(scores->unknown_labels, 1);
    assert_int_equal(known, 2);
    assert_true(scores->accuracy == (double)right / 3);
    assert_true(isfinite(scores->loss));
    att_classifier_eval_free(scores);
    att_string_free(&notes);
    unlink(file_path);
}

/* A reserved token in the place of a label would be counted before the confusion matrix. */
static void a_reserved_token_is_not_a_label(void **state)
{
    (void)state;
    scene s;
    label_scene_new(&s, NULL, 0);
    att_vocab_set_prepend_bos(s.data.target_vocab); /* no model file can do this */
    att_classifier_eval *scores;
    att_error err = { 0 };
    assert_int_equal(att_model_evaluate_classifier(&scores, s.model, path, NULL, NULL, &err),
                     ATT_BAD_INPUT);
    assert_null(scores);
    assert_string_equal(err.message,
                        "sentence 1 has the token id 1 as its label, expected one of 3 to 5");
    scene_free(&s);
}

static void skipped_lines_are_reported(void **state)
{
    (void)state;
    char file_path[] = "/tmp/attend-label-bad-XXXXXX";
    static const char text[] = "\tmany\na\t\nb\tfew\n";
    int fd = mkstemp(file_path);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    att_classifier_eval *scores;
    att_string notes = { 0 };
    assert_int_equal(
        att_model_evaluate_classifier(&scores, trained.model, file_path, NULL, &notes, NULL),
        ATT_OK);
    assert_int_equal(scores->lines, 1);
    assert_non_null(strstr(notes.data, "1 with an empty source (line 1)"));
    att_string_free(&notes);
    att_classifier_eval_free(scores);
    unlink(file_path);
}

static void metrics_are_one_line_of_json(void **state)
{
    (void)state;
    const att_eval_options options = { .size = sizeof(att_eval_options),
                                       .metric_options = &(const att_metric_options){
                                           .size = sizeof(att_metric_options),
                                           .resamples = 50,
                                           .seed = 1 } };
    att_classifier_eval *scores = evaluate(&options);
    att_string text = { 0 };
    assert_int_equal(att_classifier_eval_json(&text, scores, trained.model, NULL), ATT_OK);
    att_json_doc doc = json_of(&text);
    assert_true(number_of(doc.root, "accuracy") == scores->accuracy);
    assert_int_equal(item_count(doc.root, "labels"), 3);
    assert_int_equal(item_count(doc.root, "confusion_matrix"), 3);
    for (size_t i = 0; i < 9; i++) {
        const att_json *row = item(doc.root, "confusion_matrix", i / 3);
        assert_int_equal(row->items[i % 3].integer, scores->confusion[i]);
    }
    att_json_free(&doc);
    att_string_free(&text);
    att_classifier_eval_free(scores);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_counts_are_those_of_the_predictions),
        cmocka_unit_test(the_uncalibrated_loss_is_that_at_temperature_1),
        cmocka_unit_test(an_interval_holds_the_accuracy),
        cmocka_unit_test(without_a_file_the_validation_data_is_used),
        cmocka_unit_test(data_that_cannot_be_evaluated_is_refused),
        cmocka_unit_test(a_label_that_the_model_lacks_counts_as_wrong_with_a_note),
        cmocka_unit_test(a_reserved_token_is_not_a_label),
        cmocka_unit_test(skipped_lines_are_reported),
        cmocka_unit_test(metrics_are_one_line_of_json),
    };
    return cmocka_run_group_tests_name("classifier evaluation", tests, train, release);
}
