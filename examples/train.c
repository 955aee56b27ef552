/* train MODEL [STEPS]: trains a small model from examples in memory, here strings and their
 * reversals, with progress on standard error. Ctrl-C cancels; what was learned is saved either way.
 * A program with data of its own replaces next_example(). */
#include <attend.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

/* The callback of this thread: cancels the call under way after a signal. */
static bool on_progress(void *context, const att_progress *progress)
{
    (void)context;
    if (progress->total > 0)
        fprintf(stderr, "\r%s: %lld of %lld ", progress->phase, (long long)progress->done,
                (long long)progress->total);
    return !stopped;
}

/* A dataset that is made as it is read. */
typedef struct dataset {
    int next, count;
    char source[16], target[16];
} dataset;

static bool next_example(void *context, att_example *out)
{
    dataset *data = (dataset *)context;
    if (data->next == data->count)
        return false;
    int length = 3 + data->next % 6, seed = 7919 * ++data->next;
    for (int i = 0; i < length; i++, seed /= 3)
        data->source[i] = data->target[length - 1 - i] = (char)('a' + seed % 3);
    data->source[length] = data->target[length] = '\0';
    out->source = data->source;
    out->target = data->target;
    return true;
}

static att_status set_up(att_settings *settings, att_error *err)
{
    static const char *const values[][2] = { { "hidden-size", "32" },
                                             { "learning-rate", "0.01" },
                                             { "valid-fraction", "0.1" },
                                             { "batch-tokens", "2048" },
                                             { "epochs", "200" } };
    att_status status = ATT_OK;
    for (size_t i = 0; i < sizeof values / sizeof *values && status == ATT_OK; i++)
        status = att_settings_set(settings, values[i][0], values[i][1], err);
    return status;
}

/* Nothing is written before the end: the steps are made in one slice, and the best model saved. */
static att_status run(att_training *training, int64_t steps, const char *path, att_error *err)
{
    att_model *model = NULL;
    att_status status = att_training_advance(training, steps, NULL, NULL, err);
    if (status != ATT_OK && status != ATT_CANCELLED)
        return status;
    const att_validation *best = att_training_best(training);
    fprintf(stderr, "\r%lld steps, %s\n", (long long)att_training_steps(training),
            status == ATT_CANCELLED ? "cancelled" : "done");
    if (best)
        printf("validation: %.0f %% of the tokens\n", 100 * best->accuracy);
    att_callback_set(NULL, NULL); /* saving is not to be cancelled */
    status = att_training_model(&model, training, err);
    if (status == ATT_OK)
        status = att_model_save(model, path, err);
    att_model_free(model);
    return status;
}

int main(int argc, char **argv)
{
    att_error err;
    att_settings *settings = NULL;
    att_training *training = NULL;
    dataset data = { 0, 400, "", "" };
    att_training_options options = ATT_INIT(att_training_options);
    if (argc < 2)
        return fprintf(stderr, "usage: train MODEL [STEPS]\n"), 2;
    signal(SIGINT, on_signal);
    att_callback_set(on_progress, NULL);
    options.train = next_example;
    options.train_context = &data;
    att_status status = att_settings_new(&settings, "pairs", &err);
    if (status == ATT_OK)
        status = set_up(settings, &err);
    if (status == ATT_OK)
        status = att_training_new(&training, settings, &options, &err);
    if (status == ATT_OK)
        status = run(training, argc > 2 ? atoi(argv[2]) : 500, argv[1], &err);
    if (status != ATT_OK)
        fprintf(stderr, "%s%s%s\n", err.place, err.place[0] ? ": " : "", err.message);
    att_training_free(training);
    att_settings_free(settings);
    return status == ATT_OK ? 0 : 1;
}
