/* Training runs: events, stopping and resuming, early stopping, errors and the report. */
#include "train/small_run.h"

#include "base/alloc.h"
#include "base/string.h"
#include "tensor/bundle.h"
#include "train/training.h"

#include <math.h>

static att_training *begin(att_settings *settings)
{
    att_training *training = NULL;
    att_error err = { 0 };
    if (att_training_new(&training, settings, NULL, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    return training;
}

static void run_to_the_end(att_settings *settings, att_training_callback *on_event, void *context)
{
    att_error err = { 0 };
    att_training *training = begin(settings);
    if (att_training_run(training, on_event, context, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    att_training_free(training);
    att_settings_free(settings);
}

static att_settings *resumed(const char *folder)
{
    att_settings *settings;
    char path[256];
    assert_int_equal(att_settings_new(&settings, NULL, NULL), ATT_OK);
    snprintf(path, sizeof path, "%s/m.last.safetensors", folder);
    small_set(settings, "resume", path);
    return settings;
}

/* ---- stopping and resuming */

typedef struct event_counts {
    int64_t events, stop_at;
    int64_t steps, validations, validating;
} event_counts;

static bool count_event(void *context, const att_training_progress *at)
{
    event_counts *all = context;
    all->events++;
    all->steps += at->event == ATT_TRAINING_STEP;
    all->validating += at->event == ATT_TRAINING_VALIDATING;
    if (at->event == ATT_TRAINING_VALIDATED) {
        all->validations++;
        assert_int_equal(at->last->step, at->step);
        assert_true(at->last->token_error_rate >= at->best->token_error_rate);
        assert_true(at->improved == (at->last == at->best));
    }
    if (at->event == ATT_TRAINING_STEP)
        assert_true(at->gradient_norm > 0 && at->loss > 0 && at->learning_rate > 0);
    return all->events != all->stop_at;
}

static void every_step_and_validation_is_reported(void **state)
{
    (void)state;
    char folder[64];
    event_counts all = { 0 };
    folder_new(folder);
    att_training *training = begin(small_new(folder));
    att_settings *settings = training->settings;
    assert_int_equal(att_training_run(training, count_event, &all, NULL), ATT_OK);
    size_t count = att_training_validation_count(training);
    assert_int_equal(all.steps, att_training_steps(training));
    assert_int_equal(all.validations + 1,
                     count); /* the last validation is that of the averaged parameters */
    assert_true(all.validating >= all.validations);
    assert_true(att_training_finished(training));
    const att_validation *best = att_training_best(training);
    for (size_t i = 0; i < count; i++)
        assert_true(att_training_validation(training, i)->token_error_rate >=
                    best->token_error_rate);
    assert_null(att_training_validation(training, count));
    for (size_t i = 0; i + 2 < count; i++)
        assert_int_equal(att_training_validation(training, i)->step, 3 * (i + 1));
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

static void a_stopped_run_resumed_from_its_checkpoint_ends_the_same(void **state)
{
    (void)state;
    char whole[64], broken[64], what[64];
    folder_new(whole);
    run_to_the_end(small_new(whole), NULL, NULL);
    for (int64_t stop = 1; stop < 12; stop++) {
        folder_new(broken);
        att_settings *settings = small_new(broken);
        small_set(settings, "save-every", "1000");
        att_training *training = begin(settings);
        assert_int_equal(
            att_training_run(training, count_event, &(event_counts){ .stop_at = stop }, NULL),
            ATT_OK);
        assert_false(att_training_finished(training));
        att_training_free(training);
        att_settings_free(settings);
        run_to_the_end(resumed(broken), NULL, NULL);
        snprintf(what, sizeof what, "stopped after event %d", (int)stop);
        folders_equal(whole, broken, what);
        folder_remove(broken);
    }
    folder_remove(whole);
}

static void a_finished_run_continues_with_more_epochs(void **state)
{
    (void)state;
    char longer[64], twice[64];
    folder_new(longer);
    folder_new(twice);
    for (int i = 0; i < 2; i++) {
        att_settings *settings = small_new(i ? twice : longer);
        small_set(settings, "average-checkpoints", "0");
        small_set(settings, "validate-every", "0");
        small_set(settings, "scheduled-sampling",
                  "0"); /* it would depend on the planned number of steps */
        small_set(settings, "epochs", i ? "1" : "3");
        run_to_the_end(settings, NULL, NULL);
    }
    att_settings *more = resumed(twice);
    small_set(more, "epochs", "3");
    run_to_the_end(more, NULL, NULL);
    folders_equal(longer, twice, "one epoch, and two more");
    folder_remove(longer);
    folder_remove(twice);
}

static void patience_ends_a_run_that_makes_no_progress(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    att_settings *settings = small_new(folder);
    small_set(settings, "learning-rate",
              "0"); /* learning rate 0: the first validation stays the best */
    small_set(settings, "patience", "2");
    small_set(settings, "average-checkpoints", "0");
    small_set(settings, "epochs", "50");
    att_training *training = begin(settings);
    assert_int_equal(att_training_run(training, NULL, NULL, NULL), ATT_OK);
    assert_int_equal(att_training_validation_count(training), 3);
    assert_ptr_equal(att_training_best(training), att_training_validation(training, 0));
    assert_true(att_training_validation(training, 0)->loss ==
                att_training_validation(training, 2)->loss);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

/* At learning rate 0 the mean of the snapshots is the first model again. */
static void an_average_that_is_no_better_does_not_replace_the_best_model(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    att_settings *settings = small_new(folder);
    small_set(settings, "learning-rate", "0");
    small_set(settings, "average-checkpoints", "2");
    att_training *training = begin(settings);
    assert_int_equal(att_training_run(training, NULL, NULL, NULL), ATT_OK);
    assert_true(att_training_finished(training));
    assert_int_equal(training->state.averaged_checkpoints, 2);
    assert_ptr_equal(att_training_best(training), att_training_validation(training, 0));
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

/* ---- learning */

/* Sentences of five words and their reversals. */
static void write_sentences(const char *path)
{
    static const char *const words[] = { "you", "go", "home", "now", "then" };
    att_string text = { 0 };
    for (int i = 0; i < 25; i++) {
        for (int side = 0; side < 2; side++)
            for (int k = 0; k < 5; k++)
                assert_int_equal(
                    att_string_printf(&text, "%s%c",
                                      words[(i + (side ? 4 - k : k) * (1 + i / 5)) % 5],
                                      k < 4  ? ' '
                                      : side ? '\n'
                                             : '\t'),
                    ATT_OK);
    }
    assert_int_equal(att_file_save(path, text.data, text.length, NULL), ATT_OK);
    att_string_free(&text);
}

static void best_metric_bleu_selects_the_model_with_the_highest_bleu(void **state)
{
    (void)state;
    static const char *const keys[][2] = {
        { "hidden-size", "16" },     { "embedding-size", "8" }, { "epochs", "12" },
        { "learning-rate", "0.02" }, { "best-metric", "bleu" }, { "validate-every", "4" },
        { "batch-tokens", "40" },    { "dropout", "0" },        { "source-tokens", "word" },
        { "target-tokens", "word" },
    };
    char folder[64], path[256], out[256];
    att_settings *settings;
    folder_new(folder);
    snprintf(path, sizeof path, "%s/pairs.tsv", folder);
    snprintf(out, sizeof out, "%s/m.safetensors", folder);
    write_sentences(path);
    assert_int_equal(att_settings_new(&settings, "pairs", NULL), ATT_OK);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        small_set(settings, keys[i][0], keys[i][1]);
    small_set(settings, "train", path);
    small_set(settings, "valid", path);
    small_set(settings, "out", out);
    att_training *training = begin(settings);
    assert_int_equal(att_training_run(training, NULL, NULL, NULL), ATT_OK);
    size_t count = att_training_validation_count(training);
    const att_validation *best = att_training_best(training);
    assert_true(count > 5 && best);
    for (size_t i = 0; i < count; i++)
        assert_true(att_training_validation(training, i)->bleu <= best->bleu);
    assert_true(att_training_validation(training, 0)->bleu < best->bleu);

    att_model *model;
    att_seq2seq_eval scores = ATT_INIT(att_seq2seq_eval);
    att_metric_scores *bleu;
    static const char *const metric = "bleu";
    const att_eval_options options = { .size = sizeof(att_eval_options),
                                       .metrics = &metric,
                                       .metric_count = 1 };
    assert_int_equal(att_model_load(&model, out, NULL), ATT_OK);
    assert_int_equal(att_model_evaluate_seq2seq(&scores, &bleu, model, path, &options, NULL, NULL),
                     ATT_OK);
    assert_true(att_metric_scores_get(bleu, 0)->value == best->bleu);
    att_metric_scores_free(bleu);
    att_model_free(model);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

static void the_loss_falls(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    att_settings *settings = small_new(folder);
    static const char *const changes[][2] = {
        { "hidden-size", "32" },
        { "train-count", "300" },
        { "epochs", "8" },
        { "dropout", "0" },
        { "scheduled-sampling", "0" },
        { "accumulate", "1" },
        { "learning-rate", "0.02" },
        { "save-every", "60" },
        { "validate-every", "0" },
        { "average-checkpoints", "0" },
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        small_set(settings, changes[i][0], changes[i][1]);
    att_training *training = begin(settings);
    assert_int_equal(att_training_run(training, NULL, NULL, NULL), ATT_OK);
    size_t count = att_training_validation_count(training);
    assert_int_equal(count, 8);
    assert_true(att_training_validation(training, count - 1)->train_loss <
                0.5 * att_training_validation(training, 0)->train_loss);
    assert_true(att_training_validation(training, count - 1)->loss <
                0.7 * att_training_validation(training, 0)->loss);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

/* ---- errors */

static void a_nan_gradient_ends_the_run_and_keeps_the_files(void **state)
{
    (void)state;
    char folder[64];
    att_error err = { 0 };
    att_string before = { 0 }, after = { 0 };
    folder_new(folder);
    att_settings *settings = small_new(folder);
    att_training *training = begin(settings);
    assert_int_equal(att_training_run(training, count_event, &(event_counts){ .stop_at = 5 }, NULL),
                     ATT_OK);
    folder_file(&before, folder, "m.last.safetensors");
    int64_t steps = att_training_steps(training);
    for (size_t i = 0; i < training->model->params.size; i++)
        training->model->params.value[i] = NAN;
    att_params_mark_changed(&training->model->params);
    assert_int_equal(att_training_step(training, &(double){ 0 }, &err), ATT_BAD_INPUT);
    char step[32];
    snprintf(step, sizeof step, "step %d:", (int)steps + 1);
    assert_non_null(strstr(err.message, step));
    assert_int_equal(att_checkpoint_save(training, &err), ATT_BAD_INPUT);
    folder_file(&after, folder, "m.last.safetensors");
    assert_int_equal(before.length, after.length);
    assert_memory_equal(before.data, after.data, before.length);
    att_string_free(&before);
    att_string_free(&after);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

static void assert_refused(att_settings *settings, const char *expected)
{
    att_training *training = NULL;
    att_error err = { 0 };
    assert_int_equal(att_training_new(&training, settings, NULL, &err), ATT_BAD_INPUT);
    assert_null(training);
    if (!strstr(err.message, expected))
        fail_msg("'%s' lacks '%s'", err.message, expected);
    att_settings_free(settings);
}

static void a_resumed_run_refuses_changed_settings(void **state)
{
    (void)state;
    char folder[64], path[256];
    folder_new(folder);
    run_to_the_end(small_new(folder), NULL, NULL);
    static const char *const changes[][3] = {
        { "hidden-size", "13", "hidden-size 13: a resumed run cannot change it from 12" },
        { "task", "sort", "task sort: a resumed run cannot change it from reverse" },
        { "optimizer", "sgd", "optimizer sgd: a resumed run cannot change it from adam" },
        { "seed", "5", "seed 5: a resumed run cannot change it" },
        { "train-count", "61", "train-count 61: a resumed run cannot change it from 60" },
        { "accumulate", "3", "accumulate 3: a resumed run cannot change it from 2" },
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        att_settings *settings = resumed(folder);
        small_set(settings, changes[i][0], changes[i][1]);
        assert_refused(settings, changes[i][2]);
    }
    att_settings *settings = resumed(folder);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    small_set(settings, "resume", path);
    assert_refused(settings, "is missing: expected a checkpoint");
    folder_remove(folder);
}

static void a_checkpoint_of_format_1_is_refused(void **state)
{
    (void)state;
    char folder[64], path[256];
    att_bundle *bundle;
    folder_new(folder);
    run_to_the_end(small_new(folder), NULL, NULL);
    snprintf(path, sizeof path, "%s/m.last.safetensors", folder);
    assert_int_equal(att_bundle_load(&bundle, path, NULL), ATT_OK);
    assert_int_equal(att_bundle_meta_set(bundle, "attend.format", "1", NULL), ATT_OK);
    assert_int_equal(att_safetensors_save(bundle, path, NULL), ATT_OK);
    att_bundle_free(bundle);
    assert_refused(resumed(folder), "is a model of attend 0.1 (format 1)");
    folder_remove(folder);
}

/* Replaces the number of a key in the training state of a checkpoint. */
static void set_counter(const att_bundle *from, const char *path, const char *key, int64_t value)
{
    att_bundle *bundle;
    att_string json = { 0 };
    const char *record = att_bundle_meta_get(from, "attend.training"), *at = strstr(record, key);
    assert_non_null(at);
    at += strlen(key);
    const char *rest = at + strspn(at, "-0123456789");
    assert_int_equal(
        att_string_printf(&json, "%.*s%lld%s", (int)(at - record), record, (long long)value, rest),
        ATT_OK);
    assert_int_equal(att_safetensors_save(from, path, NULL), ATT_OK);
    assert_int_equal(att_bundle_load(&bundle, path, NULL), ATT_OK);
    assert_int_equal(att_bundle_meta_set(bundle, "attend.training", json.data, NULL), ATT_OK);
    assert_int_equal(att_safetensors_save(bundle, path, NULL), ATT_OK);
    att_string_free(&json);
    att_bundle_free(bundle);
}

static void a_counter_that_the_run_cannot_have_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        int64_t value;
        const char *message;
    } rows[] = {
        { "\"steps\":", INT64_MAX, "\"steps\" is 9223372036854775807, expected 0 to 11529215" },
        { "\"tokens\":", INT64_MAX, "\"tokens\" is 9223372036854775807, expected 0 to" },
        { "\"epoch\":", INT64_MAX, "\"epoch\" is 9223372036854775807, expected 0 to" },
        { "\"epoch_batch\":", INT64_MAX, "\"epoch_batch\" is 9223372036854775807, expected" },
        { "\"batches\":", INT64_MAX, "\"batches\" is 9223372036854775807, expected 0 to" },
        { "\"since_tokens\":", INT64_MAX, "\"since_tokens\" is 9223372036854775807, expected" },
        { "\"since_correct\":", INT64_MAX, "\"since_correct\" is 9223372036854775807" },
        { "\"plateau_validations\":", INT64_MAX, "\"plateau_validations\" is 92233720368547" },
        { "\"plateau_reductions\":", INT64_MAX, "\"plateau_reductions\" is 9223372036854775" },
        { "\"train_examples\":", -1, "\"train_examples\" is -1, expected 0 to" },
        { "\"train_examples\":", 7, "\"train_examples\" is 7, expected 60" },
        { "\"valid_examples\":", 7, "\"valid_examples\" is 7, expected 12" },
        { "\"averaged_checkpoints\":", 3, "\"averaged_checkpoints\" is 3, expected 0 to" },
        { "\"steps\":", INT64_C(1) << 59, "\"steps\" is 576460752303423488, expected 0 to" },
        { "\"epoch\":", 1000000, "\"epoch\" is 1000000, expected 0 to" },
        { "\"epoch_batch\":", 1000000, "\"epoch_batch\" is 1000000, expected 0 to" },
        { "\"plateau_reductions\":", 1000, "\"plateau_reductions\" is 1000, expected 0 to" },
        { "\"since_correct\":", 1000000, "\"since_correct\" is 1000000, expected 0 to" },
        { "{\"step\":", 1000000, "\"step\" is 1000000, expected 0 to" },
    };
    char folder[64], path[256];
    folder_new(folder);
    event_counts all = { .stop_at = 9 };
    run_to_the_end(small_new(folder), count_event, &all);
    snprintf(path, sizeof path, "%s/m.last.safetensors", folder);
    att_bundle *bundle;
    assert_int_equal(att_bundle_load(&bundle, path, NULL), ATT_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        set_counter(bundle, path, rows[i].key, rows[i].value);
        assert_refused(resumed(folder), rows[i].message);
    }
    assert_int_equal(att_safetensors_save(bundle, path, NULL), ATT_OK);
    run_to_the_end(resumed(folder), NULL, NULL);
    att_bundle_free(bundle);
    folder_remove(folder);
}

/* Weights that overflow on the validation data alone: the error names the step and the layer. */
static void a_validation_loss_that_is_not_finite_is_refused(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    att_settings *settings = small_new(folder);
    att_training *training = begin(settings);
    att_params *params = &training->model->params;
    const att_param *output = &params->items[att_params_find(params, "output.w")];
    bool done = false, better = false;
    att_error err = { 0 };
    for (size_t i = 0; i < output->count; i++)
        params->value[output->offset + i] = 3e38f;
    const att_param *bias = &params->items[att_params_find(params, "output.bias")];
    for (size_t i = 0; i < bias->count; i++)
        params->value[bias->offset + i] = i % 2 ? 3e38f : -3e38f;
    att_params_mark_changed(params);
    assert_int_equal(att_training_validate(training, NULL, NULL, &done, &better, &err),
                     ATT_BAD_INPUT);
    if (strncmp(err.message, "step 0: validation: output layer: ", 34) != 0 ||
        !strstr(err.message, "not finite (") ||
        !strstr(err.message, "; try a lower learning-rate or clip-norm"))
        fail_msg("%s", err.message);
    assert_false(better);
    assert_int_equal(att_training_validation_count(training), 0);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

/* The gradient of the second step of a language model, whose carried state was replaced by another
 * in between if `foreign`. */
static double second_norm(const char *reset, bool foreign)
{
    char folder[64];
    double norm;
    folder_new(folder);
    att_settings *settings = small_lm_new(folder, "rnn");
    small_set(settings, "state-reset", reset);
    att_training *training = begin(settings);
    assert_int_equal(att_training_step(training, &norm, NULL), ATT_OK);
    att_carried_state *carried = &training->carried_states[0];
    assert_true(carried->rows > 0);
    for (int64_t i = 0; foreign && i < carried->rows * carried->width; i++)
        carried->states[i] = 0.5f;
    assert_int_equal(att_training_step(training, &norm, NULL), ATT_OK);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
    return norm;
}

/* With probability 1 no state is carried over, with 0 each is. */
static void streams_start_from_the_zero_state_with_a_probability(void **state)
{
    (void)state;
    assert_true(second_norm("1", true) == second_norm("1", false));
    assert_true(second_norm("0", true) != second_norm("0", false));
    assert_true(second_norm("0.3", false) != second_norm("0", false));
    assert_true(second_norm("0.3", false) != second_norm("1", false));
}

/* A copy of a bundle, in which element 1 of one tensor is `value`. */
static att_bundle *with_value(const att_bundle *bundle, const char *tensor, float value)
{
    att_bundle *out;
    assert_int_equal(att_bundle_new(&out, NULL), ATT_OK);
    for (size_t i = 0; i < att_bundle_meta_count(bundle); i++) {
        const char *key, *text;
        att_bundle_meta_at(bundle, i, &key, &text);
        assert_int_equal(att_bundle_meta_set(out, key, text, NULL), ATT_OK);
    }
    for (size_t i = 0; i < att_bundle_count(bundle); i++)
        assert_int_equal(
            att_bundle_add(out, att_bundle_name(bundle, i), att_bundle_at(bundle, i), NULL),
            ATT_OK);
    const att_tensor *changed = att_bundle_get(out, tensor);
    if (!changed)
        fail_msg("no tensor '%s'", tensor);
    ((float *)changed->data)[1] = value;
    return out;
}

/* The root of a negative mean of squares is NaN, and a snapshot is averaged at the end of the run:
 * without a check here, the error would blame the learning rate or the model, not the file. */
static void moments_and_snapshots_that_no_run_has_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *tensor;
        float value;
        const char *expected;
    } rows[] = {
        { "training.exp_avg.target.embed", NAN, "holds nan at index 1, expected finite numbers" },
        { "training.exp_avg_sq.target.embed", -1,
          "holds -1 at index 1, expected finite numbers that are not negative" },
        { "training.exp_avg_sq.target.embed", INFINITY, "holds inf at index 1, expected finite" },
        { "training.best.target.embed", NAN, "holds nan at index 1, expected finite numbers" },
        { "training.checkpoint.0.target.embed", INFINITY, "holds inf at index 1, expected finite" },
    };
    char folder[64], path[256];
    folder_new(folder);
    att_settings *settings = small_lm_new(folder, "transformer");
    small_set(settings, "average-checkpoints", "2");
    event_counts all = { .stop_at = 14 };
    run_to_the_end(settings, count_event, &all);
    snprintf(path, sizeof path, "%s/m.last.safetensors", folder);
    att_bundle *bundle;
    assert_int_equal(att_bundle_load(&bundle, path, NULL), ATT_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_bundle *changed = with_value(bundle, rows[i].tensor, rows[i].value);
        assert_int_equal(att_safetensors_save(changed, path, NULL), ATT_OK);
        att_bundle_free(changed);
        assert_refused(resumed(folder), rows[i].expected);
    }
    att_bundle_free(bundle);
    folder_remove(folder);
}

static void a_step_plan_that_no_run_has_is_refused_by_the_name_of_the_file(void **state)
{
    (void)state;
    char folder[64], path[256], settings[8192], from[] = "\"step-plan\":null";
    folder_new(folder);
    event_counts all = { .stop_at = 2 };
    run_to_the_end(small_lm_new(folder, "transformer"), count_event, &all);
    snprintf(path, sizeof path, "%s/m.last.safetensors", folder);
    att_bundle *bundle;
    assert_int_equal(att_bundle_load(&bundle, path, NULL), ATT_OK);
    const char *saved = att_bundle_meta_get(bundle, "attend.settings");
    const char *at = strstr(saved, from);
    assert_non_null(at);
    snprintf(settings, sizeof settings, "%.*s\"step-plan\":\"7:x\"%s", (int)(at - saved), saved,
             at + strlen(from));
    assert_int_equal(att_bundle_meta_set(bundle, "attend.settings", settings, NULL), ATT_OK);
    assert_int_equal(att_safetensors_save(bundle, path, NULL), ATT_OK);
    att_bundle_free(bundle);
    att_settings *again = resumed(folder);
    small_set(again, "steps", "9");
    assert_refused(again, "the settings: step-plan expects STEP:STEPS");
    folder_remove(folder);
}

/* The next batch has as many rows as the carried state: with fewer, it would read beyond it. */
static void a_carried_state_of_other_rows_or_not_finite_is_refused(void **state)
{
    (void)state;
    char folder[64], path[256];
    folder_new(folder);
    event_counts all = { .stop_at = 2 };
    run_to_the_end(small_lm_new(folder, "rnn"), count_event, &all);
    snprintf(path, sizeof path, "%s/m.last.safetensors", folder);
    att_bundle *bundle, *changed;
    assert_int_equal(att_bundle_load(&bundle, path, NULL), ATT_OK);
    const att_tensor *carried = att_bundle_get(bundle, "training.rnn_state");
    assert_non_null(carried);
    assert_int_equal(carried->shape[0], 3);
    for (int nan = 0; nan < 2; nan++) {
        assert_int_equal(att_bundle_new(&changed, NULL), ATT_OK);
        for (size_t i = 0; i < att_bundle_meta_count(bundle); i++) {
            const char *key, *value;
            att_bundle_meta_at(bundle, i, &key, &value);
            assert_int_equal(att_bundle_meta_set(changed, key, value, NULL), ATT_OK);
        }
        for (size_t i = 0; i < att_bundle_count(bundle); i++) {
            att_tensor tensor = *att_bundle_at(bundle, i);
            if (tensor.data == carried->data && nan)
                ((float *)tensor.data)[1] = NAN;
            else if (tensor.data == carried->data)
                tensor.shape[0] = 1;
            assert_int_equal(att_bundle_add(changed, att_bundle_name(bundle, i), &tensor, NULL),
                             ATT_OK);
        }
        assert_int_equal(att_safetensors_save(changed, path, NULL), ATT_OK);
        att_bundle_free(changed);
        assert_refused(resumed(folder),
                       nan ? "the tensor 'training.rnn_state' holds nan"
                           : "the tensor 'training.rnn_state': expected shape [3, ");
    }
    att_bundle_free(bundle);
    folder_remove(folder);
}

static void a_resumed_run_refuses_changed_data(void **state)
{
    (void)state;
    char folder[64], path[256];
    folder_new(folder);
    snprintf(path, sizeof path, "%s/pairs.tsv", folder);
    static const char *const texts[] = { "ab\tba\nabc\tcba\nba\tab\nc\tc\n",
                                         "ab\tba\nabc\tcba\nba\tab\nc\tb\n" };
    assert_int_equal(att_file_save(path, texts[0], strlen(texts[0]), NULL), ATT_OK);
    att_settings *settings;
    assert_int_equal(att_settings_new(&settings, "pairs", NULL), ATT_OK);
    static const char *const keys[][2] = { { "hidden-size", "8" },
                                           { "embedding-size", "8" },
                                           { "epochs", "1" } };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        small_set(settings, keys[i][0], keys[i][1]);
    small_set(settings, "train", path);
    small_set(settings, "valid", path);
    char out[256];
    snprintf(out, sizeof out, "%s/m.safetensors", folder);
    small_set(settings, "out", out);
    run_to_the_end(settings, NULL, NULL);
    run_to_the_end(resumed(folder), NULL, NULL);
    assert_int_equal(att_file_save(path, texts[1], strlen(texts[1]), NULL), ATT_OK);
    assert_refused(resumed(folder), "was trained on different data");
    folder_remove(folder);
}

static void a_path_that_cannot_be_written_fails_before_the_first_step(void **state)
{
    (void)state;
    char folder[64];
    att_error err = { 0 };
    folder_new(folder);
    att_settings *settings = small_new(folder);
    small_set(settings, "out", "/nowhere/at/all.safetensors");
    att_training *training = begin(settings);
    assert_int_equal(att_training_run(training, NULL, NULL, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.place, "/nowhere/at/all"));
    assert_int_equal(att_training_steps(training), 0);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

static void failing_memory_fails_the_run_and_leaks_nothing(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    att_settings *settings = small_new(folder);
    size_t live = att_alloc_live();
    att_training *training;
    att_alloc_fail_at(0);
    assert_int_equal(att_training_new(&training, settings, NULL, NULL), ATT_OK);
    size_t calls = att_alloc_calls();
    att_training_free(training);
    assert_true(calls > 20);
    for (size_t n = 1; n <= calls; n += 1 + calls / 50) {
        att_alloc_fail_at(n);
        assert_int_equal(att_training_new(&training, settings, NULL, NULL), ATT_NO_MEMORY);
        assert_null(training);
        att_alloc_fail_at(0);
        assert_int_equal(att_alloc_live(), live);
    }
    att_settings_free(settings);
    folder_remove(folder);
}

static void a_step_allocates_no_memory(void **state)
{
    (void)state;
    char folder[64];
    double norm;
    folder_new(folder);
    att_settings *settings = small_new(folder);
    att_training *training = begin(settings);
    assert_int_equal(att_training_step(training, &norm, NULL), ATT_OK);
    size_t live = att_alloc_live();
    for (int i = 0; i < 3; i++) {
        att_alloc_fail_at(1);
        att_status status = att_training_step(training, &norm, NULL);
        att_alloc_fail_at(0);
        assert_int_equal(status, ATT_OK);
    }
    assert_int_equal(att_alloc_live(), live);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

/* ---- the report */

static void the_report_describes_data_model_and_memory(void **state)
{
    (void)state;
    char folder[64];
    att_string report = { 0 };
    folder_new(folder);
    att_settings *settings = small_new(folder);
    att_training *training = begin(settings);
    assert_int_equal(att_training_report(&report, training, NULL), ATT_OK);
    static const char *const expected[] = { "60 pairs",   "12 pairs", "rnn",
                                            "parameters", "MB:",      "steps in 2 epochs" };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_non_null(strstr(report.data, expected[i]));
    att_string_free(&report);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

static void paths_follow_from_the_task_and_from_the_checkpoint(void **state)
{
    (void)state;
    char folder[64], path[300];
    folder_new(folder);
    run_to_the_end(small_new(folder), NULL, NULL);
    att_settings *settings = resumed(folder);
    att_training *training = begin(settings);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    assert_string_equal(att_training_model_path(training), path);
    snprintf(path, sizeof path, "%s/m.last.safetensors", folder);
    assert_string_equal(att_training_checkpoint_path(training), path);
    att_training_free(training);
    att_settings_free(settings);
    assert_int_equal(att_settings_new(&settings, "sort", NULL), ATT_OK);
    small_set(settings, "train-count", "20");
    small_set(settings, "valid-count", "5");
    training = begin(settings);
    assert_string_equal(att_training_model_path(training), "sort.safetensors");
    assert_string_equal(att_training_checkpoint_path(training), "sort.last.safetensors");
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_and_validation_is_reported),
        cmocka_unit_test(a_stopped_run_resumed_from_its_checkpoint_ends_the_same),
        cmocka_unit_test(a_finished_run_continues_with_more_epochs),
        cmocka_unit_test(an_average_that_is_no_better_does_not_replace_the_best_model),
        cmocka_unit_test(patience_ends_a_run_that_makes_no_progress),
        cmocka_unit_test(best_metric_bleu_selects_the_model_with_the_highest_bleu),
        cmocka_unit_test(the_loss_falls),
        cmocka_unit_test(a_nan_gradient_ends_the_run_and_keeps_the_files),
        cmocka_unit_test(a_resumed_run_refuses_changed_settings),
        cmocka_unit_test(a_checkpoint_of_format_1_is_refused),
        cmocka_unit_test(a_counter_that_the_run_cannot_have_is_refused),
        cmocka_unit_test(streams_start_from_the_zero_state_with_a_probability),
        cmocka_unit_test(moments_and_snapshots_that_no_run_has_are_refused),
        cmocka_unit_test(a_step_plan_that_no_run_has_is_refused_by_the_name_of_the_file),
        cmocka_unit_test(a_carried_state_of_other_rows_or_not_finite_is_refused),
        cmocka_unit_test(a_validation_loss_that_is_not_finite_is_refused),
        cmocka_unit_test(a_resumed_run_refuses_changed_data),
        cmocka_unit_test(a_path_that_cannot_be_written_fails_before_the_first_step),
        cmocka_unit_test(failing_memory_fails_the_run_and_leaks_nothing),
        cmocka_unit_test(a_step_allocates_no_memory),
        cmocka_unit_test(the_report_describes_data_model_and_memory),
        cmocka_unit_test(paths_follow_from_the_task_and_from_the_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
