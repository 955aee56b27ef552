/* Training classifiers: a stopped and resumed run writes the same bytes as an uninterrupted one,
 * and the model is calibrated on the validation sentences. */
#include "train/small_run.h"

#include "eval/classifier_predict.h"
#include "train/training.h"

#include <math.h>

/* Stops after a number of events; 0: never. */
static bool stop_after(void *context, const att_training_progress *progress)
{
    int *left = context;
    (void)progress;
    return *left == 0 || --*left > 0;
}

/* Runs in `folder`, from its checkpoint if there is one. Returns whether the run is finished. */
static bool run(const char *folder, const char *architecture, int events)
{
    char last[256];
    att_error err = { 0 };
    att_training *training;
    att_settings *settings = small_classifier_new(folder, architecture);
    snprintf(last, sizeof last, "%s/m.last.safetensors", folder);
    if (access(last, F_OK) == 0)
        small_set(settings, "resume", last);
    if (att_training_new(&training, settings, NULL, &err) != ATT_OK ||
        att_training_run(training, stop_after, &events, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    bool over = att_training_finished(training);
    att_training_free(training);
    att_settings_free(settings);
    return over;
}

/* Both runs read the same file, so that their settings are equal. */
static void a_run_that_is_often_interrupted_writes_the_same_bytes(void **state)
{
    (void)state;
    static const char *const architectures[] = { "rnn", "transformer" };
    for (int f = 0; f < 2; f++) {
        char folder[64], kept[128], command[512];
        folder_new(folder);
        assert_true(run(folder, architectures[f], 0));
        snprintf(kept, sizeof kept, "%s/whole", folder);
        snprintf(command, sizeof command, "mkdir %s && mv %s/m.*safetensors %s", kept, folder,
                 kept);
        assert_int_equal(system(command), 0);
        int parts = 1;
        while (!run(folder, architectures[f], 4))
            parts++;
        assert_true(parts > 3);
        folders_equal(kept, folder, architectures[f]);
        folder_remove(folder);
    }
}

static void the_model_has_the_best_temperature_for_the_validation_data(void **state)
{
    (void)state;
    char folder[64], path[256];
    folder_new(folder);
    run(folder, "rnn", 0);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    att_model *model;
    assert_int_equal(att_model_load(&model, path, NULL), ATT_OK);
    double fitted = model->temperature;
    assert_true(fitted != 1);
    att_corpus corpus;
    const att_data_read_options reading = { .settings = model->settings,
                                            .recorded_data = true,
                                            .source_vocab = model->source_vocab,
                                            .target_vocab = model->target_vocab };
    assert_int_equal(att_data_read(&corpus, &reading, NULL), ATT_OK);
    double loss[3];
    for (int i = 0; i < 3; i++) {
        att_corpus_predictions judged;
        model->temperature = fitted * (1 + 0.05 * (i - 1));
        assert_int_equal(att_corpus_predict(&judged, model, NULL, 0, &corpus, NULL, NULL), ATT_OK);
        loss[i] = att_label_predictions_loss(&judged.predictions, 1);
        att_corpus_predictions_free(&judged);
    }
    assert_true(loss[1] < loss[0] && loss[1] < loss[2]);
    att_corpus_free(&corpus);
    att_model_free(model);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_is_often_interrupted_writes_the_same_bytes),
        cmocka_unit_test(the_model_has_the_best_temperature_for_the_validation_data),
    };
    return cmocka_run_group_tests_name("train classifiers", tests, NULL, NULL);
}
