/* The search for settings by successive halving. */
#include "train/small_run.h"

#include "base/clock.h"
#include "base/string.h"
#include "settings/settings.h"

#include <math.h>

/* ---- runs */

static att_settings *make(const char *folder, const char *tries)
{
    static const char *const all[][2] = {
        { "train-count", "24" }, { "valid-count", "6" },   { "max-string-length", "4" },
        { "dropout", "0.1" },    { "batch-tokens", "64" }, { "epochs", "4" },
        { "layers", "1" },       { "save-every", "1000" },
    };
    att_settings *settings;
    char path[256];
    assert_int_equal(att_settings_new(&settings, "reverse", NULL), ATT_OK);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        small_set(settings, all[i][0], all[i][1]);
    small_set(settings, "try", tries);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    small_set(settings, "out", path);
    return settings;
}

/* What the callbacks saw. */
typedef struct seen {
    int64_t tries[8]; /* by round, from 1 */
    int64_t rounds, stop_round;
} seen;

static bool on_event(void *context, const att_search_progress *progress)
{
    seen *all = context;
    assert_in_range(progress->round, 1, progress->rounds);
    assert_true(progress->index < progress->count);
    all->tries[progress->round] = progress->count;
    all->rounds = progress->rounds;
    return progress->round != all->stop_round;
}

static att_search *search(const att_settings *settings, seen *all)
{
    att_search *found;
    att_error err = { 0 };
    if (att_search_run(&found, settings, on_event, all, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return found;
}

static int64_t count_files(const char *folder)
{
    char command[128];
    int count = 0;
    snprintf(command, sizeof command, "ls '%s' | wc -l", folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return count;
}

/* ---- tests */

static void each_round_has_half_the_tries_and_twice_the_steps(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    att_settings *settings = make(folder, "5");
    seen all = { 0 };
    att_search *found = search(settings, &all);
    assert_int_equal(all.rounds, 4);
    assert_int_equal(all.tries[1], 5);
    assert_int_equal(all.tries[2], 3);
    assert_int_equal(all.tries[3], 2);
    assert_int_equal(all.tries[4], 1);
    const att_try *best = att_search_get(found, 0);
    assert_non_null(best->best);
    size_t count = 0, given = 0;
    for (const att_try *row; (row = att_search_get(found, count)); count++) {
        assert_true(row->steps <= best->steps || strstr(row->options, "batch-tokens"));
        given += *row->options == '\0';
        for (size_t k = 0; k < count; k++)
            assert_string_not_equal(row->options, att_search_get(found, k)->options);
        assert_null(strstr(row->options, "--dropout")); /* it was given */
        assert_null(strstr(row->options, "--layers"));
    }
    assert_int_equal(count, 5);
    assert_int_equal(given, 1);               /* the first try */
    assert_int_equal(count_files(folder), 2); /* the model and its checkpoint */
    att_search_free(found);
    att_settings_free(settings);
    folder_remove(folder);
}

/* Splits the command of a search, without quotes, into settings. */
static att_settings *parse_command(const char *command, const char *folder)
{
    att_settings *settings;
    char text[2048], path[256];
    snprintf(text, sizeof text, "%s", command);
    char *rest = text, *word = strsep(&rest, " ");
    assert_int_equal(att_settings_new(&settings, word, NULL), ATT_OK);
    while ((word = strsep(&rest, " "))) {
        assert_memory_equal(word, "--", 2);
        small_set(settings, word + 2, strsep(&rest, " "));
    }
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    small_set(settings, "out", path);
    return settings;
}

static void the_command_trains_the_best_again_to_the_same_bytes(void **state)
{
    (void)state;
    char folder[64], again[64];
    att_training *training;
    folder_new(folder);
    folder_new(again);
    att_settings *settings = make(folder, "4");
    seen all = { 0 };
    att_search *found = search(settings, &all);
    att_settings *best = parse_command(att_search_command(found), again);
    assert_int_equal(att_training_new(&training, best, NULL, NULL), ATT_OK);
    assert_int_equal(att_training_run(training, NULL, NULL, NULL), ATT_OK);
    folders_equal(folder, again, att_search_command(found));
    att_training_free(training);
    att_search_free(found);
    att_settings_free(best);
    att_settings_free(settings);
    folder_remove(folder);
    folder_remove(again);
}

static void the_same_seed_tries_the_same_settings(void **state)
{
    (void)state;
    char folder[64];
    att_string commands[3] = { 0 };
    folder_new(folder);
    for (int i = 0; i < 3; i++) {
        att_settings *settings = make(folder, "3");
        small_set(settings, "seed", i < 2 ? "5" : "6");
        seen all = { 0 };
        att_search *found = search(settings, &all);
        for (size_t k = 0; att_search_get(found, k); k++)
            assert_int_equal(att_string_puts(&commands[i], att_search_get(found, k)->options),
                             ATT_OK);
        att_search_free(found);
        att_settings_free(settings);
    }
    assert_string_equal(commands[0].data, commands[1].data);
    assert_string_not_equal(commands[0].data, commands[2].data);
    for (int i = 0; i < 3; i++)
        att_string_free(&commands[i]);
    folder_remove(folder);
}

/* Dropout 0.1 may be varied to 0, which consistency refuses. */
static void no_try_is_without_dropout_where_consistency_needs_it(void **state)
{
    (void)state;
    static const char *const all[][2] = {
        { "architecture", "transformer" },
        { "hidden-size", "8" },
        { "heads", "2" },
        { "layers", "1" },
        { "learning-rate", "0.01" },
        { "batch-tokens", "64" },
        { "sequence-length", "8" },
        { "valid-fraction", "0.2" },
        { "steps", "4" },
        { "consistency", "1" },
        { "try", "3" },
    };
    char folder[64], text[400];
    att_settings *settings;
    folder_new(folder);
    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = "abc ."[i * i % 7 % 5];
    text[sizeof text - 1] = '\0';
    small_write(folder, "text", text);
    assert_int_equal(att_settings_new(&settings, "lm", NULL), ATT_OK);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        small_set(settings, all[i][0], all[i][1]);
    small_set_path(settings, "train", folder, "text");
    small_set_path(settings, "out", folder, "m.safetensors");
    att_search *found = search(settings, &(seen){ 0 });
    for (size_t k = 0; att_search_get(found, k); k++)
        assert_string_not_equal(att_search_get(found, k)->options, "--dropout 0");
    att_search_free(found);
    att_settings_free(settings);
    folder_remove(folder);
}

/* A clock that moves whenever it is read. */
static double now;

static double read_clock(void)
{
    return now += 0.2;
}

static void a_time_budget_is_shared_by_the_tries(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    att_settings *settings = make(folder, "4");
    att_settings *timed;
    assert_int_equal(att_settings_new(&timed, "reverse", NULL), ATT_OK);
    static const char *const kept[] = { "train-count", "valid-count",  "max-string-length",
                                        "dropout",     "batch-tokens", "try",
                                        "out" };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        att_string value = { 0 };
        assert_int_equal(att_settings_get(&value, settings, kept[i], NULL), ATT_OK);
        small_set(timed, kept[i], value.data);
        att_string_free(&value);
    }
    small_set(timed, "time", "60s");
    now = 1000;
    att_clock_replace(read_clock);
    seen all = { 0 };
    att_search *found = search(timed, &all);
    att_clock_replace(NULL);
    assert_true(now <= 1060);
    assert_true(now >= 1030);
    assert_non_null(att_search_get(found, 0)->best);
    att_search_free(found);
    att_settings_free(timed);
    att_settings_free(settings);
    folder_remove(folder);
}

static void a_stopped_search_leaves_runs_that_can_be_resumed(void **state)
{
    (void)state;
    char folder[64], path[256];
    folder_new(folder);
    att_settings *settings = make(folder, "2");
    seen all = { .stop_round = 1 };
    att_search *found;
    att_training *training;
    assert_int_equal(att_search_run(&found, settings, on_event, &all, NULL), ATT_CANCELLED);
    assert_null(found);
    att_settings *resumed;
    assert_int_equal(att_settings_new(&resumed, NULL, NULL), ATT_OK);
    snprintf(path, sizeof path, "%s/m.try-1.last.safetensors", folder);
    small_set(resumed, "resume", path);
    assert_int_equal(att_training_new(&training, resumed, NULL, NULL), ATT_OK);
    assert_int_equal(att_training_steps(training), 1);
    att_training_free(training);
    att_settings_free(resumed);
    att_settings_free(settings);
    folder_remove(folder);
}

/* Weights grow without bound in every try: the search ends with that error and leaves nothing.
 */
static void tries_whose_loss_is_not_finite_are_left_out(void **state)
{
    (void)state;
    char folder[64];
    att_search *found;
    att_error err = { 0 };
    folder_new(folder);
    att_settings *settings = make(folder, "2");
    small_set(settings, "learning-rate", "1000");
    small_set(settings, "weight-decay", "1");
    small_set(settings, "epochs", "20");
    small_set(settings, "optimizer", "sgd");
    small_set(settings, "clip-norm", "0");
    assert_int_equal(att_search_run(&found, settings, NULL, NULL, &err), ATT_BAD_INPUT);
    if (!strstr(err.message, "every try failed; the last: step "))
        fail_msg("%s", err.message);
    assert_int_equal(count_files(folder), 0);
    att_settings_free(settings);
    folder_remove(folder);
}

static void what_cannot_be_searched_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *settings[6][2];
        const char *message;
    } rows[] = {
        { { { "try", "3" }, { "hidden-size", "8" }, { "learning-rate", "0.01" }, { "time", NULL } },
          "there are only 1 different settings to try, since the others are given" },
        { { { "try", "0" } }, "try expects a number of tries, found 0" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[64];
        att_search *found;
        att_error err = { 0 };
        folder_new(folder);
        att_settings *settings = make(folder, "2");
        for (int k = 0; k < 6 && rows[i].settings[k][1]; k++)
            small_set(settings, rows[i].settings[k][0], rows[i].settings[k][1]);
        assert_int_equal(att_search_run(&found, settings, NULL, NULL, &err), ATT_BAD_INPUT);
        if (!strstr(err.message, rows[i].message))
            fail_msg("'%s' instead of '%s'", err.message, rows[i].message);
        assert_int_equal(count_files(folder), 0);
        att_settings_free(settings);
        folder_remove(folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_round_has_half_the_tries_and_twice_the_steps),
        cmocka_unit_test(the_command_trains_the_best_again_to_the_same_bytes),
        cmocka_unit_test(the_same_seed_tries_the_same_settings),
        cmocka_unit_test(no_try_is_without_dropout_where_consistency_needs_it),
        cmocka_unit_test(a_time_budget_is_shared_by_the_tries),
        cmocka_unit_test(a_stopped_search_leaves_runs_that_can_be_resumed),
        cmocka_unit_test(tries_whose_loss_is_not_finite_are_left_out),
        cmocka_unit_test(what_cannot_be_searched_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
