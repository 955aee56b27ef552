/* Any bytes as a checkpoint: a run is resumed from it and makes two steps. The file is in memory
 * (memfd), and so is the text of a language model; synthetic tasks generate their data. */
#include "fuzz/budget.h"

#include "tensor/bundle.h"

#include <sys/mman.h>
#include <unistd.h>

/* The text that make-seeds trains on: a checkpoint has a hash of it. */
static const char text[] = "ab ba\naab \"x\" {y}\nba b\nabab\nab a\n";

static bool next_text(void *context, att_example *out)
{
    bool *given = context;
    if (*given)
        return false;
    *given = true;
    out->target = text;
    return true;
}

static bool is_text_task(const uint8_t *data, size_t size)
{
    static const char task[] = "{\\\"task\\\":\\\"lm\\\"";
    return memmem(data, size, task, sizeof task - 1) != NULL;
}

static void check_progress(const att_training *training)
{
    for (size_t i = 0; i < att_training_validation_count(training); i++)
        PROMISE(att_training_validation(training, i) != NULL);
    PROMISE(att_training_steps(training) >= 0);
}

static void resume(const char *path, bool is_text)
{
    static const char *const pairs[][2] = { { "out", "/nonexistent/fuzz.safetensors" },
                                            { "epochs", "3" },
                                            { "steps", "0" } };
    att_settings *settings;
    att_training *training = NULL;
    att_training_options options = ATT_INIT(att_training_options);
    att_string report = { 0 };
    att_error err = { 0 };
    bool given = false;
    PROMISE(att_settings_new(&settings, is_text ? "lm" : NULL, &err) == ATT_OK);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        PROMISE(att_settings_set(settings, pairs[i][0], pairs[i][1], &err) == ATT_OK);
    PROMISE(att_settings_set(settings, "resume", path, &err) == ATT_OK);
    if (is_text) {
        options.train = next_text;
        options.train_context = &given;
    }
    if (succeeded(att_training_new(&training, settings, &options, &err), &err)) {
        succeeded(att_training_report(&report, training, &err), &err);
        succeeded(att_training_advance(training, 2, NULL, NULL, &err), &err);
        check_progress(training);
    }
    att_string_free(&report);
    att_training_free(training);
    att_settings_free(settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    char path[64];
    int file = memfd_create("checkpoint", 0);
    PROMISE(file >= 0);
    if (write(file, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    budget_start();
    resume(path, is_text_task(data, size));
    close(file);
    PROMISE(att_alloc_live() == live);
    return 0;
}
