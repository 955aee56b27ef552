/* Training runs with the consistency loss: each batch runs twice, and is counted once. */
#include "train/small_run.h"

#include "base/alloc.h"
#include "train/training.h"

#include <math.h>

static att_settings *consistency_new(const char *folder, const char *weight)
{
    att_settings *settings = small_consistency_new(folder, "reverse");
    small_set(settings, "consistency", weight);
    return settings;
}

static att_training *begin(att_settings *settings)
{
    att_training *training = NULL;
    att_error err = { 0 };
    if (att_training_new(&training, settings, NULL, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    return training;
}

/* What a run with this weight counts and reports after its first step. */
typedef struct first_step {
    int64_t tokens;
    double loss, norm;
} first_step;

static first_step run_first_step(const char *weight)
{
    char folder[64];
    first_step out;
    folder_new(folder);
    att_settings *settings = consistency_new(folder, weight);
    att_training *training = begin(settings);
    assert_int_equal(att_training_step(training, &out.norm, NULL), ATT_OK);
    out.tokens = training->state.tokens;
    out.loss = training->state.interval_loss / (double)training->state.interval_tokens;
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
    return out;
}

static void a_batch_that_runs_twice_counts_once(void **state)
{
    (void)state;
    const first_step plain = run_first_step("0"), one = run_first_step("1"),
                     none = run_first_step("1e-60"); /* 0 as a float */
    assert_true(one.tokens == plain.tokens && none.tokens == plain.tokens);
    /* The loss that is reported is the cross-entropy alone; its dropout is another one. */
    assert_true(one.loss == none.loss);
    assert_true(fabs(one.loss - plain.loss) < 0.1 * plain.loss);
    assert_true(fabs(none.norm - plain.norm) < 0.5 * plain.norm);
}

static void the_memory_of_a_batch_that_runs_twice_is_reported(void **state)
{
    (void)state;
    char folder[64];
    size_t peak[2];
    folder_new(folder);
    for (int i = 0; i < 2; i++) {
        att_settings *settings = consistency_new(folder, i == 0 ? "0" : "1");
        small_set(settings, "train-count", "400");
        small_set(settings, "batch-tokens", "1024"); /* small batches need less than one block */
        att_training *training = begin(settings);
        peak[i] = att_tape_peak_bytes(training->tape);
        att_training_free(training);
        att_settings_free(settings);
    }
    assert_true((double)peak[1] > 1.5 * (double)peak[0]);
    folder_remove(folder);
}

static void a_step_with_consistency_allocates_no_memory(void **state)
{
    (void)state;
    char folder[64];
    double norm;
    folder_new(folder);
    att_settings *settings = consistency_new(folder, "1");
    att_training *training = begin(settings);
    assert_int_equal(att_training_step(training, &norm, NULL), ATT_OK);
    for (int i = 0; i < 3; i++) {
        att_alloc_fail_at(1);
        att_status status = att_training_step(training, &norm, NULL);
        att_alloc_fail_at(0);
        assert_int_equal(status, ATT_OK);
    }
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

static void failing_memory_fails_the_run_and_leaks_nothing(void **state)
{
    (void)state;
    char folder[64];
    att_training *training;
    folder_new(folder);
    att_settings *settings = consistency_new(folder, "1");
    size_t live = att_alloc_live();
    att_alloc_fail_at(0);
    assert_int_equal(att_training_new(&training, settings, NULL, NULL), ATT_OK);
    size_t calls = att_alloc_calls();
    att_training_free(training);
    for (size_t n = calls; n > 0 && n + 20 > calls; n--) { /* the last: of the first batch */
        att_alloc_fail_at(n);
        assert_int_equal(att_training_new(&training, settings, NULL, NULL), ATT_NO_MEMORY);
        assert_null(training);
        att_alloc_fail_at(0);
        assert_int_equal(att_alloc_live(), live);
    }
    att_settings_free(settings);
    folder_remove(folder);
}

/* A model that copies has no consistency loss, also where it is the model to start from. */
static void fine_tuning_a_model_that_copies_is_refused(void **state)
{
    (void)state;
    char folder[64];
    att_error err = { 0 };
    att_training *training;
    folder_new(folder);
    att_settings *settings = small_copying_new(folder, "transformer");
    small_set(settings, "steps", "1");
    training = begin(settings);
    assert_int_equal(att_training_run(training, NULL, NULL, &err), ATT_OK);
    att_training_free(training);
    att_settings_free(settings);

    assert_int_equal(att_settings_new(&settings, "pairs", NULL), ATT_OK);
    small_set_path(settings, "train", folder, "names.tsv");
    small_set_path(settings, "init-from", folder, "m.safetensors");
    small_set_path(settings, "out", folder, "next.safetensors");
    small_set(settings, "valid-fraction", "0.2");
    small_set(settings, "consistency", "1");
    assert_int_equal(att_training_new(&training, settings, NULL, &err), ATT_BAD_INPUT);
    assert_string_equal(
        err.message,
        "consistency contradicts copy: it compares predictions of the vocabulary alone");
    att_settings_free(settings);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_that_runs_twice_counts_once),
        cmocka_unit_test(the_memory_of_a_batch_that_runs_twice_is_reported),
        cmocka_unit_test(a_step_with_consistency_allocates_no_memory),
        cmocka_unit_test(failing_memory_fails_the_run_and_leaks_nothing),
        cmocka_unit_test(fine_tuning_a_model_that_copies_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
