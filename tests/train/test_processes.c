/* Runs shared by several processes, which are threads here: the same bytes at any number of them,
 * resumed with another number; and what happens when one differs, fails or stops. */
#include "train/small_run.h"
#include "train/thread_transport.h"
#include "train/training.h"

#include "thin.h"

#include <math.h>

typedef att_settings *settings_maker(const char *folder, const char *architecture);

/* A run of several processes. */
typedef struct shared_run {
    const char *folder, *out;
    settings_maker *make;
    const char *architecture;
    const char *keys[8][2]; /* further settings */
    const char *resume;     /* a file of the folder, or NULL */
    int64_t stop_at;        /* step after which process `stopper` asks to stop; 0: never */
    int stopper;
    const char *odd_key, *odd_value; /* a setting that the last process has alone */
    double timeout;
    bool absent;   /* the last process never comes */
    bool poisoned; /* the parameters of the last process are not numbers */
} shared_run;

typedef struct process {
    const shared_run *run;
    hub_member *member;
    att_settings *settings;
    pthread_t thread;
    att_status status;
    att_error err;
    int64_t steps, best;
    double loss;
    bool finished;
} process;

static bool stop_at_step(void *context, const att_training_progress *progress)
{
    const process *own = context;
    const shared_run *run = own->run;
    return run->stop_at == 0 || own->member->rank != run->stopper || progress->step < run->stop_at;
}

static att_settings *settings_of(const process *own)
{
    const shared_run *run = own->run;
    char path[256];
    att_settings *settings;
    if (run->resume) {
        assert_int_equal(att_settings_new(&settings, NULL, NULL), ATT_OK);
        snprintf(path, sizeof path, "%s/%s", run->folder, run->resume);
        small_set(settings, "resume", path);
        small_set(settings, "save-every", "0");
    } else {
        settings = run->make(run->folder, run->architecture);
        for (int i = 0; i < 8 && run->keys[i][0]; i++)
            small_set(settings, run->keys[i][0], run->keys[i][1]);
    }
    if (run->odd_key && own->member->rank + 1 == own->member->transport.ranks)
        small_set(settings, run->odd_key, run->odd_value);
    snprintf(path, sizeof path, "%s/%s.safetensors", run->folder, run->out);
    small_set(settings, "out", path);
    return settings;
}

static void *run_process(void *context)
{
    process *own = context;
    att_training *training;
    att_training_options options = ATT_INIT(att_training_options);
    options.transport = own->member->transport.ranks > 1 ? &own->member->transport : NULL;
    own->status = att_training_new(&training, own->settings, &options, &own->err);
    if (own->status == ATT_OK) {
        att_params *params = &training->model->params;
        for (size_t i = 0; own->run->poisoned && options.transport && i < params->size &&
                           own->member->rank + 1 == own->member->transport.ranks;
             i++)
            params->value[i] = NAN;
        own->status = att_training_run(training, stop_at_step, own, &own->err);
        own->steps = att_training_steps(training);
        own->finished = att_training_finished(training);
        const att_validation *best = att_training_best(training);
        own->best = best ? best->step : 0;
        own->loss = best ? best->loss : 0;
    }
    att_training_free(training);
    return NULL;
}

/* Runs with `ranks` processes. The makers of settings write the data files: before the first
 * process starts. */
static void run_with(process *processes, const shared_run *run, int ranks)
{
    hub at;
    hub_new(&at);
    int started = ranks - run->absent;
    for (int r = 0; r < started; r++) {
        processes[r] = (process){ .run = run, .member = hub_join(&at, r, ranks) };
        processes[r].member->transport.timeout = run->timeout;
        processes[r].settings = settings_of(&processes[r]);
    }
    for (int r = 0; r < started; r++)
        assert_int_equal(pthread_create(&processes[r].thread, NULL, run_process, &processes[r]), 0);
    for (int r = 0; r < started; r++) {
        pthread_join(processes[r].thread, NULL);
        if (processes[r].status == ATT_OK) { /* nothing was sent in vain */
            for (int i = 0; i < HUB_REQUESTS; i++)
                assert_null(processes[r].member->receives[i].data);
        }
        free(processes[r].member);
        att_settings_free(processes[r].settings);
    }
    bool ok = processes[0].status == ATT_OK;
    assert_true(!ok || !at.first);
    hub_free(&at);
}

static void assert_ok(const process *processes, int ranks)
{
    for (int r = 0; r < ranks; r++) {
        if (processes[r].status != ATT_OK)
            fail_msg("process %d: %s", r, processes[r].err.message);
        assert_int_equal(processes[r].steps, processes[0].steps);
        assert_int_equal(processes[r].best, processes[0].best);
        assert_true(processes[r].loss == processes[0].loss);
        assert_int_equal(processes[r].finished, processes[0].finished);
    }
}

static void assert_same_files(const char *folder, const char *one, const char *other)
{
    static const char *const ends[] = { ".safetensors", ".last.safetensors" };
    for (int i = 0; i < 2; i++) {
        char name[64];
        att_string a = { 0 }, b = { 0 };
        snprintf(name, sizeof name, "%s%s", one, ends[i]);
        folder_file(&a, folder, name);
        snprintf(name, sizeof name, "%s%s", other, ends[i]);
        folder_file(&b, folder, name);
        assert_true(a.length > 0);
        if (a.length != b.length || memcmp(a.data, b.data, a.length) != 0)
            fail_msg("%s differs from %s%s", name, one, ends[i]);
        att_string_free(&a);
        att_string_free(&b);
    }
}

/* Parameters of several slices, moments, averaging, an epoch whose last step has fewer. */
#define WIDE                                                                                       \
    {                                                                                              \
        { "hidden-size", "96" }, { "accumulate", "5" }, { "epochs", "1" },                         \
    }

static const shared_run kinds[] = {
    { .make = small_strings_new, .keys = WIDE },
    { .make = small_lm_new, .architecture = "rnn", .keys = { { "accumulate", "5" } } },
    { .make = small_lm_new, .architecture = "transformer", .keys = { { "accumulate", "3" } } },
    { .make = small_classifier_new, .architecture = "cnn", .keys = { { "accumulate", "4" } } },
    { .make = small_tagger_new, .architecture = "rnn", .keys = { { "accumulate", "3" } } },
    { .make = small_captions_new,
      .architecture = "transformer",
      .keys = { { "accumulate", "3" } } },
    { .make = small_consistency_new,
      .architecture = "classify",
      .keys = { { "accumulate", "3" } } },
};

static void any_number_of_processes_writes_the_same_bytes(void **state)
{
    (void)state;
    static const int numbers[] = { 2, 3, 4, 7 };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        char folder[64];
        folder_new(folder);
        process processes[HUB_RANKS];
        shared_run run = kinds[k];
        run.folder = folder;
        run.out = "one";
        run_with(processes, &run, 1);
        assert_ok(processes, 1);
        assert_true(processes[0].finished);
        run.out = "many";
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            if ((4 * k + i) % THIN != 0)
                continue;
            run_with(processes, &run, numbers[i]);
            assert_ok(processes, numbers[i]);
            assert_same_files(folder, "one", "many");
        }
        folder_remove(folder);
    }
}

/* Stopped by one of three, resumed by two, stopped again, ended by one. */
static void a_run_resumes_with_another_number_of_processes(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        char folder[64];
        folder_new(folder);
        process processes[HUB_RANKS];
        shared_run run = kinds[k];
        run.folder = folder;
        run.out = "one";
        run_with(processes, &run, 1);
        assert_ok(processes, 1);
        run.out = "many";
        run.stop_at = 1;
        run.stopper = 2;
        run_with(processes, &run, 3);
        assert_ok(processes, 3);
        assert_false(processes[0].finished);
        assert_in_range(processes[0].steps, 1, 2); /* all leave after the step that hears of it */
        run.resume = "many.last.safetensors";
        run.stop_at = 3;
        run.stopper = 0;
        run_with(processes, &run, 2);
        assert_ok(processes, 2);
        run.stop_at = 0;
        run_with(processes, &run, 1);
        assert_ok(processes, 1);
        assert_true(processes[0].finished);
        assert_same_files(folder, "one", "many");
        folder_remove(folder);
    }
}

/* Runs that must fail in every process with the same error. */
static void assert_all_fail(const shared_run *run, int ranks, const char *message)
{
    process processes[HUB_RANKS];
    run_with(processes, run, ranks);
    for (int r = 0; r < ranks - run->absent; r++) {
        assert_int_not_equal(processes[r].status, ATT_OK);
        if (!strstr(processes[r].err.message, message))
            fail_msg("process %d: expected '%s' in: %s", r, message, processes[r].err.message);
    }
}

static void processes_that_differ_are_named_by_host(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    shared_run run = { .folder = folder, .out = "m", .make = small_strings_new };
    run.odd_key = "learning-rate";
    run.odd_value = "0.5";
    assert_all_fail(&run, 3, "process 2 on host2 was started with learning-rate '0.5'");
    run.odd_key = "data-seed";
    run.odd_value = "77";
    assert_all_fail(&run, 2, "process 1 on host1 was started with data-seed '77'");
    run.make = small_lm_new;
    run.architecture = "rnn";
    run.odd_key = "train";
    run.odd_value = "/nowhere/text";
    assert_all_fail(&run, 2, "(process 1 on host1)");
    folder_remove(folder);
}

static void a_loss_that_is_not_finite_ends_all(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    shared_run run = { .folder = folder, .out = "m", .make = small_strings_new, .poisoned = true };
    assert_all_fail(&run, 3, "is NaN or infinite; try a lower learning-rate");
    folder_remove(folder);
}

static void a_model_that_cannot_be_written_ends_all(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    shared_run run = { .folder = folder, .out = "missing/m", .make = small_strings_new };
    assert_all_fail(&run, 2, "cannot create");
    folder_remove(folder);
}

static void a_process_that_never_comes_is_given_up(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    shared_run run = {
        .folder = folder, .out = "m", .make = small_strings_new, .timeout = 0.3, .absent = true
    };
    assert_all_fail(&run, 2, "no message from or to process 1");
    folder_remove(folder);
}

static void an_incomplete_transport_is_refused(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    att_settings *settings = small_new(folder);
    att_training *training;
    att_error err = { 0 };
    att_transport transport = { .size = sizeof transport, .ranks = 2 };
    att_training_options options = ATT_INIT(att_training_options);
    options.transport = &transport;
    assert_int_equal(att_training_new(&training, settings, &options, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "expected all functions"));
    assert_null(training);
    att_settings_free(settings);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_processes_writes_the_same_bytes),
        cmocka_unit_test(a_run_resumes_with_another_number_of_processes),
        cmocka_unit_test(processes_that_differ_are_named_by_host),
        cmocka_unit_test(a_loss_that_is_not_finite_ends_all),
        cmocka_unit_test(a_model_that_cannot_be_written_ends_all),
        cmocka_unit_test(a_process_that_never_comes_is_given_up),
        cmocka_unit_test(an_incomplete_transport_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
