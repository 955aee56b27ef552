/* A run that is killed at any moment and resumed writes the same bytes as an uninterrupted one.
 * Runs are child processes; the parent starts no threads, so that it may fork. */
#include "train/small_run.h"

#include "base/random.h"
#include "model/model.h"
#include "thin.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

/* The options of a child process. */
typedef struct attempt {
    const char *folder;
    int threads;
    const char *cpu;                /* NULL: the best */
    int64_t die_after;              /* events until the process kills itself; 0: never */
    const char *changes[2];         /* a key and value besides those of small_run.h */
    const struct other_task *other; /* another type of model than seq2seq, or NULL */
} attempt;

/* Other tasks than seq2seq. */
typedef struct other_task {
    const char *task, *architecture; /* with "consistency", the task */
    att_settings *(*settings)(const char *folder,
                              const char *architecture); /* also writes the data files */
} other_task;

/* Pairs with tags beside the text, which copy. */
static att_settings *small_tags_new(const char *folder, const char *architecture)
{
    static const char *const set[][2] = {
        { "hidden-size", "12" },   { "embedding-size", "8" },   { "dropout", "0.3" },
        { "batch-tokens", "60" },  { "epochs", "4" },           { "accumulate", "2" },
        { "validate-every", "3" }, { "valid-fraction", "0.3" }, { "save-every", "0" },
        { "copy", "yes" },
    };
    att_settings *settings;
    char text[4096];
    int length = 0;
    for (int i = 0; i < 40; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%c%c%c\t%c%c%c%s\t%s\n",
                           'a' + i % 5, 'a' + i % 3, 'a' + i / 7, 'a' + i % 5, 'a' + i % 3,
                           'a' + i / 7, i % 2 ? "ed" : "s", i % 2 ? "V;PST" : "V;PRS;3");
    small_write(folder, "data.tsv", text);
    assert_int_equal(att_settings_new(&settings, "pairs", NULL), ATT_OK);
    small_set(settings, "architecture", architecture);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        if (strcmp(architecture, "rnn") == 0 || strcmp(set[i][0], "embedding-size") != 0)
            small_set(settings, set[i][0], set[i][1]);
    small_set_path(settings, "train", folder, "data.tsv");
    small_set_path(settings, "out", folder, "m.safetensors");
    return settings;
}

static att_settings *small_char_classifier_new(const char *folder, const char *architecture)
{
    att_settings *settings = small_classifier_new(folder, architecture);
    small_set(settings, "char-features", "lstm");
    return settings;
}

static const other_task others[] = {
    { "lm", "rnn", small_lm_new },
    { "lm", "transformer", small_lm_new },
    { "classify", "rnn", small_classifier_new },
    { "classify", "transformer", small_classifier_new },
    { "classify", "cnn", small_classifier_new },
    { "tag", "rnn", small_tagger_new },
    { "tag", "transformer", small_tagger_new },
    { "copying", "rnn", small_copying_new },
    { "copying", "transformer", small_copying_new },
    { "tags", "rnn", small_tags_new },
    { "tags", "transformer", small_tags_new },
    { "characters of a classifier", "rnn", small_char_classifier_new },
    { "caption", "rnn", small_captions_new },
    { "caption", "transformer", small_captions_new },
    { "shapes", "rnn", small_shapes_new },
    { "shapes", "transformer", small_shapes_new },
    { "consistency", "reverse", small_consistency_new },
    { "consistency", "lm", small_consistency_new },
    { "consistency", "classify", small_consistency_new },
    { "consistency", "tag", small_consistency_new },
    { "consistency", "caption", small_consistency_new },
};
enum { OTHERS = sizeof others / sizeof *others };

static att_settings *make_settings(const attempt *options)
{
    return options->other ? options->other->settings(options->folder, options->other->architecture)
                          : small_new(options->folder);
}

typedef struct countdown {
    int64_t left;
} countdown;

static bool count_down(void *context, const att_training_progress *progress)
{
    countdown *count = context;
    (void)progress;
    if (count->left > 0 && --count->left == 0)
        raise(SIGKILL);
    return true;
}

/* In the child: trains from the checkpoint if there is one, else from the start. */
static int train(const attempt *options)
{
    char last[256];
    att_error err = { 0 };
    att_training *training = NULL;
    countdown count = { options->die_after };
    if (options->cpu)
        setenv("ATTEND_CPU", options->cpu, 1);
    att_threads_set(options->threads);
    att_settings *settings = make_settings(options);
    if (options->changes[0])
        small_set(settings, options->changes[0], options->changes[1]);
    snprintf(last, sizeof last, "%s/m.last.safetensors", options->folder);
    if (access(last, F_OK) == 0)
        small_set(settings, "resume", last);
    att_status status = att_training_new(&training, settings, NULL, &err);
    if (status == ATT_OK)
        status = att_training_run(training, count_down, &count, &err);
    if (status != ATT_OK)
        fprintf(stderr, "%s: %s\n", err.place, err.message);
    att_training_free(training);
    att_settings_free(settings);
    return (int)status;
}

static pid_t start(const attempt *options)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(train(options));
    return child;
}

/* Waits for a child: true if it exited with success, false if it was killed. */
static bool finished(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        assert_int_equal(WTERMSIG(status), SIGKILL);
        return false;
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    return true;
}

static int files_in(const char *folder)
{
    DIR *open = opendir(folder);
    int count = 0;
    assert_non_null(open);
    for (struct dirent *entry = readdir(open); entry; entry = readdir(open))
        count += entry->d_type == DT_REG;
    closedir(open);
    return count;
}

static double run_whole(const char *folder)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    assert_true(finished(start(&(attempt){ folder, .threads = 1 })));
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
}

/* `make test-long PARTS=kill` kills a thousand runs of every kind. */
static void a_run_killed_after_any_event_ends_the_same(void **state)
{
    (void)state;
    char whole[64], broken[64], what[64];
    folder_new(whole);
    run_whole(whole);
    bool reached = false; /* the run ended without being killed */
    for (int64_t n = 1; !reached; n += 2 * THIN) {
        folder_new(broken);
        reached = finished(start(&(attempt){ broken, .threads = 1, .die_after = n }));
        if (!reached)
            assert_true(finished(start(&(attempt){ broken, .threads = 1 + (int)(n % 2) })));
        snprintf(what, sizeof what, "killed after event %d", (int)n);
        folders_equal(whole, broken, what);
        folder_remove(broken);
        assert_true(reached || n < 1000);
    }
    folder_remove(whole);
}

/* Killed repeatedly after the same few events, the run still finishes. */
static void a_run_killed_repeatedly_ends_the_same(void **state)
{
    (void)state;
    char whole[64], broken[64];
    folder_new(whole);
    folder_new(broken);
    run_whole(whole);
    int lives = 1;
    while (!finished(start(&(attempt){ broken, .threads = 1 + lives % 3, .die_after = 4 })))
        assert_true(++lives < 1000);
    assert_true(lives > 3);
    folders_equal(whole, broken, "killed every four events");
    folder_remove(broken);
    folder_remove(whole);
}

/* At arbitrary moments: within a step, a write or a rename. */
static void a_run_killed_at_any_moment_ends_the_same(void **state)
{
    (void)state;
    enum { TRIALS = 24 / THIN };
    char whole[64], broken[64], what[64];
    folder_new(whole);
    double seconds = run_whole(whole);
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        folder_new(broken);
        double wait = seconds * att_random_double(11, 12, trial);
        pid_t child = start(&(attempt){ broken, .threads = 1 });
        struct timespec pause = { (time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9) };
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        if (!finished(child))
            assert_true(finished(start(&(attempt){ broken, .threads = 1 })));
        snprintf(what, sizeof what, "killed after %.1f ms", 1e3 * wait);
        folders_equal(whole, broken, what);
        assert_int_equal(files_in(broken),
                         2); /* no temporary files remain of an interrupted save */
        folder_remove(broken);
    }
    folder_remove(whole);
}

static void results_do_not_depend_on_threads_or_instruction_sets(void **state)
{
    (void)state;
    static const char *const cpus[] = { "scalar", "avx2", "avx512" };
    char whole[64], other[64], what[64];
    folder_new(whole);
    run_whole(whole);
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
        for (int threads = 1; threads <= 8; threads *= 2 * THIN) {
            folder_new(other);
            assert_true(finished(start(&(attempt){ other, .threads = threads, .cpu = cpus[i] })));
            snprintf(what, sizeof what, "%s, %d threads", cpus[i], threads);
            folders_equal(whole, other, what);
            folder_remove(other);
        }
    }
    folder_remove(whole);
}

/* The settings of models trained from files name different folders, so only the tensors and the
 * temperature are compared. */
static void models_equal(const char *a, const char *b, const char *context)
{
    att_model *models[2];
    const char *const folders[] = { a, b };
    for (int i = 0; i < 2; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/m.safetensors", folders[i]);
        assert_int_equal(att_model_load(&models[i], path, NULL), ATT_OK);
    }
    if (models[0]->temperature != models[1]->temperature)
        fail_msg("%s: the temperature differs", context);
    for (size_t i = 0; i < att_model_tensor_count(models[0]); i++) {
        att_tensor one, other;
        const char *name = att_model_tensor_name(models[0], i);
        assert_int_equal(att_model_tensor_get(&one, models[0], name, NULL), ATT_OK);
        assert_int_equal(att_model_tensor_get(&other, models[1], name, NULL), ATT_OK);
        size_t bytes = (size_t)att_tensor_count(&one) * sizeof(float);
        if (memcmp(one.data, other.data, bytes) != 0)
            fail_msg("%s: %s differs", context, name);
        att_tensor_free(&one);
        att_tensor_free(&other);
    }
    att_model_free(models[0]);
    att_model_free(models[1]);
}

static void other_tasks_do_not_depend_on_threads_or_instruction_sets_either(void **state)
{
    (void)state;
    static const char *const cpus[] = { "scalar", "avx2", "avx512" };
    static const int threads[] = { 2, 3, 8 };
    for (size_t i = 0; i < OTHERS; i++) {
        char whole[64], other[64], what[64];
        folder_new(whole);
        attempt options = { whole, .threads = 1, .other = &others[i] };
        assert_true(finished(start(&options)));
        for (size_t c = i % THIN % 3; c < sizeof cpus / sizeof *cpus; c += THIN) {
            folder_new(other);
            options.folder = other;
            options.threads = threads[c];
            options.cpu = cpus[c];
            assert_true(finished(start(&options)));
            snprintf(what, sizeof what, "%s, %s, %s", others[i].task, others[i].architecture,
                     options.cpu);
            models_equal(whole, other, what);
            folder_remove(other);
        }
        folder_remove(whole);
    }
}

static void every_optimizer_resumes_to_the_same_bytes(void **state)
{
    (void)state;
    static const char *const names[] = { "sgd", "adamw", "adadelta" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char whole[64], broken[64];
        folder_new(whole);
        folder_new(broken);
        attempt options = { whole, .threads = 1, .changes = { "optimizer", names[i] } };
        assert_true(finished(start(&options)));
        options.folder = broken;
        options.die_after = 7;
        assert_false(finished(start(&options)));
        options.die_after = 0;
        assert_true(finished(start(&options)));
        folders_equal(whole, broken, names[i]);
        folder_remove(whole);
        folder_remove(broken);
    }
}

/* Killed within an epoch, a language model restores its carried RNN state, and classifiers and
 * caption models restore the random stream of word dropout. */
static void other_tasks_resume_to_the_same_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < OTHERS; i++) {
        char whole[64], broken[64], what[64];
        folder_new(whole);
        attempt options = { whole, .threads = 1, .other = &others[i] };
        assert_true(finished(start(&options)));
        bool reached = false;
        for (int64_t n = 1 + (int64_t)i % 3; !reached; n += 7 * THIN) {
            folder_new(broken);
            options.folder = broken;
            options.die_after = n;
            reached = finished(start(&options));
            options.die_after = 0;
            options.threads = 1 + (int)(n % 2);
            if (!reached)
                assert_true(finished(start(&options)));
            snprintf(what, sizeof what, "%s, %s, killed after event %d", others[i].task,
                     others[i].architecture, (int)n);
            models_equal(whole, broken, what);
            folder_remove(broken);
        }
        folder_remove(whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_tasks_resume_to_the_same_parameters),
        cmocka_unit_test(other_tasks_do_not_depend_on_threads_or_instruction_sets_either),
        cmocka_unit_test(a_run_killed_after_any_event_ends_the_same),
        cmocka_unit_test(a_run_killed_repeatedly_ends_the_same),
        cmocka_unit_test(a_run_killed_at_any_moment_ends_the_same),
        cmocka_unit_test(results_do_not_depend_on_threads_or_instruction_sets),
        cmocka_unit_test(every_optimizer_resumes_to_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
