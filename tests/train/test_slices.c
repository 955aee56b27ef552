/* Training in slices, from examples in memory, and cancelled at many points: the parameters equal
 * those of an uninterrupted run from files. */
#include "train/small_run.h"

#include "base/progress.h"
#include "thin.h"

/* ---- comparing models */

static void assert_same_parameters(const att_model *a, const att_model *b)
{
    assert_int_equal(att_model_tensor_count(a), att_model_tensor_count(b));
    for (size_t i = 0; i < att_model_tensor_count(a); i++) {
        att_tensor one, other;
        const char *name = att_model_tensor_name(a, i);
        assert_int_equal(att_model_tensor_get(&one, a, name, NULL), ATT_OK);
        assert_int_equal(att_model_tensor_get(&other, b, name, NULL), ATT_OK);
        assert_memory_equal(one.data, other.data, (size_t)att_tensor_count(&one) * sizeof(float));
        att_tensor_free(&one);
        att_tensor_free(&other);
    }
}

static att_model *model_of(att_training *training)
{
    att_model *model;
    att_error err = { 0 };
    if (att_training_model(&model, training, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return model;
}

/* The model of an uninterrupted att_training_run(). */
static att_model *trained(const char *folder)
{
    char path[256];
    att_model *model;
    att_training *training;
    att_settings *settings = small_new(folder);
    assert_int_equal(att_training_new(&training, settings, NULL, NULL), ATT_OK);
    assert_int_equal(att_training_run(training, NULL, NULL, NULL), ATT_OK);
    att_training_free(training);
    att_settings_free(settings);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    assert_int_equal(att_model_load(&model, path, NULL), ATT_OK);
    return model;
}

/* ---- slices */

static void slices_of_any_size_end_with_the_parameters_of_a_run(void **state)
{
    (void)state;
    char folder[64], path[256];
    folder_new(folder);
    att_model *whole = trained(folder);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    for (int64_t size = 1; size < 20; size += 5) {
        att_training *training;
        att_settings *settings = small_new(folder);
        remove(path);
        assert_int_equal(att_training_new(&training, settings, NULL, NULL), ATT_OK);
        while (!att_training_finished(training)) {
            int64_t before = att_training_steps(training);
            assert_int_equal(att_training_advance(training, size, NULL, NULL, NULL), ATT_OK);
            assert_true(att_training_steps(training) <= before + size);
        }
        assert_int_equal(access(path, F_OK), -1); /* nothing was saved */
        att_model *model = model_of(training);
        assert_same_parameters(whole, model);
        att_model_free(model);
        assert_int_equal(att_training_save(training, NULL), ATT_OK);
        assert_int_equal(att_model_load(&model, path, NULL), ATT_OK);
        assert_same_parameters(whole, model);
        att_model_free(model);
        att_training_free(training);
        att_settings_free(settings);
    }
    att_model_free(whole);
    folder_remove(folder);
}

static void a_model_can_be_taken_before_the_first_validation(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    att_training *training;
    att_settings *settings = small_new(folder);
    assert_int_equal(att_training_new(&training, settings, NULL, NULL), ATT_OK);
    att_model *start = model_of(training);
    assert_int_equal(att_training_advance(training, 0, NULL, NULL, NULL), ATT_BAD_INPUT);
    assert_int_equal(att_training_advance(training, 1, NULL, NULL, NULL), ATT_OK);
    att_model *later = model_of(training);
    assert_int_equal(att_model_tensor_count(start), att_model_tensor_count(later));
    att_model_free(start);
    att_model_free(later);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

/* ---- examples in memory */

static const char *const lines[][2] = {
    { "abc", "cba" }, { "ab", "ba" },     { "cab", "bac" },   { "b", "b" },
    { "bca", "acb" }, { "aabb", "bbaa" }, { "cccb", "bccc" }, { "ca", "ac" },
};
enum { LINES = sizeof lines / sizeof *lines };

static bool next_line(void *context, att_example *out)
{
    size_t *at = context;
    if (*at >= 4 * LINES)
        return false;
    out->source = lines[*at % LINES][0];
    out->target = lines[(*at)++ % LINES][1];
    return true;
}

static att_settings *pair_settings(const char *folder)
{
    static const char *const all[][2] = {
        { "hidden-size", "12" }, { "embedding-size", "8" }, { "batch-tokens", "40" },
        { "epochs", "2" },       { "dropout", "0.2" },      { "valid-fraction", "0.3" },
    };
    char path[256];
    att_settings *settings;
    assert_int_equal(att_settings_new(&settings, "pairs", NULL), ATT_OK);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        small_set(settings, all[i][0], all[i][1]);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    small_set(settings, "out", path);
    return settings;
}

static att_model *trained_on(att_settings *settings, const att_training_options *options)
{
    att_training *training;
    att_error err = { 0 };
    if (att_training_new(&training, settings, options, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(att_training_advance(training, 1000, NULL, NULL, NULL), ATT_OK);
    assert_true(att_training_finished(training));
    att_model *model = model_of(training);
    att_training_free(training);
    att_settings_free(settings);
    return model;
}

static void examples_from_an_iterator_train_as_the_same_lines_in_files(void **state)
{
    (void)state;
    char folder[64], source[256], target[256];
    folder_new(folder);
    snprintf(source, sizeof source, "%s/source", folder);
    snprintf(target, sizeof target, "%s/target", folder);
    FILE *files[] = { fopen(source, "w"), fopen(target, "w") };
    for (size_t i = 0; i < 4 * LINES; i++)
        for (int side = 0; side < 2; side++)
            fprintf(files[side], "%s\n", lines[i % LINES][side]);
    fclose(files[0]);
    fclose(files[1]);
    att_settings *settings = pair_settings(folder);
    small_set(settings, "source", source);
    small_set(settings, "target", target);
    att_model *from_files = trained_on(settings, NULL);
    size_t at = 0;
    att_training_options options = ATT_INIT(att_training_options);
    options.train = next_line;
    options.train_context = &at;
    att_model *from_memory = trained_on(pair_settings(folder), &options);
    assert_same_parameters(from_files, from_memory);
    att_model_free(from_files);
    att_model_free(from_memory);
    folder_remove(folder);
}

static bool next_piece(void *context, att_example *out)
{
    size_t *at = context;
    out->target = *at % 2 ? "and again\n" : "once more ";
    return (*at)++ < 200;
}

static void a_language_model_trains_on_pieces_of_text(void **state)
{
    (void)state;
    char folder[64], path[256];
    folder_new(folder);
    att_settings *settings;
    assert_int_equal(att_settings_new(&settings, "lm", NULL), ATT_OK);
    small_set(settings, "hidden-size", "8");
    small_set(settings, "steps", "2");
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    small_set(settings, "out", path);
    size_t at = 0;
    att_training_options options = ATT_INIT(att_training_options);
    options.train = next_piece;
    options.train_context = &at;
    att_model *model = trained_on(settings, &options);
    assert_int_equal(att_model_type_get(model), ATT_MODEL_LM);
    assert_int_equal(at, 201);
    att_model_free(model);
    folder_remove(folder);
}

static bool next_bad(void *context, att_example *out)
{
    const char *const *texts = context;
    out->source = texts[0];
    out->target = texts[1];
    return true;
}

static void an_invalid_example_is_refused_with_its_number(void **state)
{
    (void)state;
    static const char *const bad[][3] = {
        { "a\nb", "c", "training example 1: expected a source without line ends" },
        { "a", "c\n", "training example 1: expected a target without line ends" },
        { NULL, "c", "training example 1: expected a source, found NULL" },
        { "a", NULL, "training example 1: expected a target, found NULL" },
    };
    char folder[64];
    folder_new(folder);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *texts[2] = { bad[i][0], bad[i][1] };
        att_training_options options = ATT_INIT(att_training_options);
        options.train = next_bad;
        options.train_context = (void *)texts;
        att_training *training;
        att_error err = { 0 };
        att_settings *settings = pair_settings(folder);
        assert_int_equal(att_training_new(&training, settings, &options, &err), ATT_BAD_INPUT);
        assert_string_equal(err.message, bad[i][2]);
        assert_null(training);
        att_settings_free(settings);
    }
    folder_remove(folder);
}

/* ---- cancelling */

typedef struct countdown {
    int calls, stop_at;
} countdown;

static bool count_down(void *context, const att_progress *progress)
{
    countdown *c = context;
    assert_true(progress->size >= sizeof *progress && progress->phase);
    return ++c->calls != c->stop_at;
}

/* The checkpoint has every step that the run has made: nothing is lost. */
static void assert_saved(const att_training *training)
{
    att_settings *settings;
    att_training *saved;
    assert_int_equal(att_settings_new(&settings, NULL, NULL), ATT_OK);
    small_set(settings, "resume", att_training_checkpoint_path(training));
    assert_int_equal(att_training_new(&saved, settings, NULL, NULL), ATT_OK);
    assert_int_equal(att_training_steps(saved), att_training_steps(training));
    att_training_free(saved);
    att_settings_free(settings);
}

/* Cancels a run at callback number `stop_at`, then continues it to its end. Returns the number of
 * callbacks up to the cancellation, or 0 if the run ended before. */
static int cancel_and_finish(const char *folder, bool lm, int stop_at, const att_model *whole)
{
    countdown c = { .stop_at = stop_at };
    att_callback_set(count_down, &c);
    att_training *training = NULL;
    att_error err = { 0 };
    att_settings *settings = lm ? small_lm_new(folder, "rnn") : small_new(folder);
    att_status status = att_training_new(&training, settings, NULL, &err);
    if (status == ATT_OK)
        status = att_training_run(training, NULL, NULL, &err);
    bool cancelled = status == ATT_CANCELLED;
    if (!cancelled && status != ATT_OK)
        fail_msg("%s", err.message);
    if (training) {
        c.stop_at = 0;
        if (cancelled)
            assert_saved(training);
        assert_int_equal(att_training_run(training, NULL, NULL, NULL), ATT_OK);
        assert_true(att_training_finished(training));
        att_model *model = model_of(training);
        assert_same_parameters(whole, model);
        att_model_free(model);
    }
    att_callback_set(NULL, NULL);
    att_training_free(training);
    att_settings_free(settings);
    return cancelled ? stop_at : 0;
}

/* A step that is cancelled is made anew: its gradients, and the states that a language model
 * carries from batch to batch, are those of before. */
static void a_cancelled_run_continues_to_the_same_parameters(void **state)
{
    (void)state;
    for (int lm = 0; lm < 2; lm++) {
        char folder[64];
        folder_new(folder);
        att_settings *settings = lm ? small_lm_new(folder, "rnn") : small_new(folder);
        att_training *training;
        assert_int_equal(att_training_new(&training, settings, NULL, NULL), ATT_OK);
        assert_int_equal(att_training_run(training, NULL, NULL, NULL), ATT_OK);
        att_model *whole = model_of(training);
        att_progress_set_interval(0); /* a callback at every poll */
        /* every 10th of the first hundred, then fewer: the rest of a run is repetitive */
        int stop_at = 1;
        while (cancel_and_finish(folder, lm, stop_at, whole) > 0)
            stop_at += stop_at < 100 ? 10 * THIN : stop_at / 2;
        assert_true(stop_at > 10);
        att_progress_set_interval(-1);
        att_model_free(whole);
        att_training_free(training);
        att_settings_free(settings);
        folder_remove(folder);
    }
}

/* Cancels from the last validation on. */
static bool go_on(void *context, const att_progress *progress)
{
    (void)progress;
    return !*(const bool *)context;
}

static bool stop_at_the_end(void *context, const att_training_progress *progress)
{
    if (progress->event == ATT_TRAINING_VALIDATED && progress->step == progress->steps)
        *(bool *)context = true;
    return true;
}

/* All steps and validations are done, but the mean of the snapshots, which is the result, is not.
 */
static void a_run_that_is_cancelled_before_averaging_is_not_finished(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    att_model *whole = trained(folder);
    att_progress_set_interval(0); /* a callback at every poll */
    for (int slices = 0; slices < 2; slices++) {
        bool stop = false;
        att_settings *settings = small_new(folder);
        att_training *training;
        assert_int_equal(att_training_new(&training, settings, NULL, NULL), ATT_OK);
        att_callback_set(go_on, &stop);
        assert_int_equal(slices ? att_training_advance(training, 1000, stop_at_the_end, &stop, NULL)
                                : att_training_run(training, stop_at_the_end, &stop, NULL),
                         ATT_CANCELLED);
        assert_true(stop);
        assert_false(att_training_finished(training));
        stop = false;
        while (!att_training_finished(training))
            assert_int_equal(att_training_advance(training, 1, NULL, NULL, NULL), ATT_OK);
        att_callback_set(NULL, NULL);
        att_model *model = model_of(training);
        assert_same_parameters(whole, model);
        att_model_free(model);
        att_training_free(training);
        att_settings_free(settings);
    }
    att_progress_set_interval(-1);
    att_model_free(whole);
    folder_remove(folder);
}

/* ---- two runs on one output */

static att_status save_or_run(att_training *training, bool save, att_error *err)
{
    return save ? att_training_save(training, err) : att_training_run(training, NULL, NULL, err);
}

/* The first saves; the second, of the same output, may advance but neither save nor run, until the
 * first is freed. */
static void a_saved_output_belongs_to_its_run_until_the_run_is_freed(void **state)
{
    (void)state;
    char folder[64], path[256];
    folder_new(folder);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    for (int save = 0; save < 2; save++) {
        att_settings *settings[] = { small_new(folder), small_new(folder) };
        att_training *training[2];
        att_error err = { 0 };
        for (int i = 0; i < 2; i++) {
            assert_int_equal(att_training_new(&training[i], settings[i], NULL, NULL), ATT_OK);
            assert_int_equal(att_training_advance(training[i], 1, NULL, NULL, NULL), ATT_OK);
        }
        assert_int_equal(att_training_save(training[0], NULL), ATT_OK);
        assert_int_equal(save_or_run(training[1], save, &err), ATT_BAD_INPUT);
        assert_string_equal(err.place, path);
        assert_int_equal(att_training_advance(training[1], 1, NULL, NULL, NULL), ATT_OK);
        assert_int_equal(att_training_save(training[0], NULL), ATT_OK);
        att_training_free(training[0]);
        assert_int_equal(save_or_run(training[1], save, NULL), ATT_OK);
        att_training_free(training[1]);
        att_settings_free(settings[0]);
        att_settings_free(settings[1]);
    }
    folder_remove(folder);
}

static bool run_a_second(void *context, const att_training_progress *progress)
{
    (void)progress;
    att_error err = { 0 };
    assert_int_equal(att_training_run(context, NULL, NULL, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "another training run is writing this file");
    return false;
}

static void a_run_locks_its_output_only_until_it_returns(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    att_settings *settings[] = { small_new(folder), small_new(folder) };
    att_training *training[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(att_training_new(&training[i], settings[i], NULL, NULL), ATT_OK);
    assert_int_equal(att_training_run(training[0], run_a_second, training[1], NULL), ATT_OK);
    assert_int_equal(att_training_run(training[1], NULL, NULL, NULL), ATT_OK);
    for (int i = 0; i < 2; i++) {
        att_training_free(training[i]);
        att_settings_free(settings[i]);
    }
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_of_any_size_end_with_the_parameters_of_a_run),
        cmocka_unit_test(a_model_can_be_taken_before_the_first_validation),
        cmocka_unit_test(examples_from_an_iterator_train_as_the_same_lines_in_files),
        cmocka_unit_test(a_language_model_trains_on_pieces_of_text),
        cmocka_unit_test(an_invalid_example_is_refused_with_its_number),
        cmocka_unit_test(a_cancelled_run_continues_to_the_same_parameters),
        cmocka_unit_test(a_run_that_is_cancelled_before_averaging_is_not_finished),
        cmocka_unit_test(a_saved_output_belongs_to_its_run_until_the_run_is_freed),
        cmocka_unit_test(a_run_locks_its_output_only_until_it_returns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
