/* Training runs small enough to be repeated many times, with everything that a checkpoint must
 * keep: dropout, scheduled sampling, gradient accumulation, a schedule, checkpoint averaging,
 * validation within epochs. */
#ifndef ATT_TESTS_TRAIN_SMALL_RUN_H
#define ATT_TESTS_TRAIN_SMALL_RUN_H

#include "attend.h"
#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const small_settings[][2] = {
    { "hidden-size", "12" }, { "embedding-size", "8" },      { "train-count", "60" },
    { "valid-count", "12" }, { "max-string-length", "6" },   { "batch-tokens", "64" },
    { "epochs", "2" },       { "dropout", "0.3" },           { "scheduled-sampling", "0.5" },
    { "accumulate", "2" },   { "average-checkpoints", "2" }, { "schedule", "plateau" },
    { "warmup", "3" },       { "clip-norm", "0.5" },         { "validate-every", "3" },
    { "save-every", "0" },   { "plateau-patience", "1" },
};

/* Sets a key; a refused value fails the test. */
static inline void small_set(att_settings *settings, const char *key, const char *value)
{
    att_error err = { 0 };
    if (att_settings_set(settings, key, value, &err) != ATT_OK)
        fail_msg("%s = %s: %s", key, value, err.message);
}

/* Settings of a seq2seq run that writes into `folder`. */
static inline att_settings *small_new(const char *folder)
{
    att_settings *settings;
    char path[256];
    assert_int_equal(att_settings_new(&settings, "reverse", NULL), ATT_OK);
    for (size_t i = 0; i < sizeof small_settings / sizeof *small_settings; i++)
        small_set(settings, small_settings[i][0], small_settings[i][1]);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    small_set(settings, "out", path);
    return settings;
}

/* The same for a language model of a text in `folder`: the checkpoint also has the RNN state that
 * is carried across batches. */
static inline att_settings *small_lm_new(const char *folder, const char *architecture)
{
    static const char text[] = "abc abd abe. acb adb aeb! bca bda bea? cab dab eab; ";
    static const char *const all[][2] = {
        { "hidden-size", "16" },   { "layers", "2" },           { "sequence-length", "6" },
        { "batch-tokens", "18" },  { "valid-fraction", "0.2" }, { "epochs", "2" },
        { "dropout", "0.3" },      { "accumulate", "2" },       { "average-checkpoints", "2" },
        { "schedule", "plateau" }, { "validate-every", "5" },   { "save-every", "0" },
    };
    att_settings *settings;
    char path[256];
    snprintf(path, sizeof path, "%s/text", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 8; i++)
        fputs(text, file);
    fclose(file);
    assert_int_equal(att_settings_new(&settings, "lm", NULL), ATT_OK);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        small_set(settings, all[i][0], all[i][1]);
    small_set(settings, "architecture", architecture);
    if (strcmp(architecture, "rnn") == 0) /* Transformers have no scheduled sampling */
        small_set(settings, "scheduled-sampling", "0.5");
    small_set(settings, "train", path);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    small_set(settings, "out", path);
    return settings;
}

/* Labeled sentences for a classifier; some labels are wrong, so that no prediction is certain. */
static inline void small_sentences_write(const char *folder)
{
    static const char *const words[] = { "good", "bad", "so", "film", "very", "dull" };
    char path[256];
    snprintf(path, sizeof path, "%s/data.tsv", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 120; i++) {
        int first = i * 7 % 6, second = i * 5 % 4;
        bool wrong = i % 9 == 4;
        fprintf(file, "%s %s %s\t%s\n", words[first], words[second + 1], words[i % 6],
                (first % 2 == 0) != wrong ? "up" : "down");
    }
    assert_int_equal(fclose(file), 0);
}

static inline att_settings *small_classifier_new(const char *folder, const char *architecture)
{
    static const char *const set[][2] = {
        { "hidden-size", "12" },     { "dropout", "0.3" },        { "word-dropout", "0.2" },
        { "valid-fraction", "0.3" }, { "batch-tokens", "60" },    { "epochs", "4" },
        { "accumulate", "2" },       { "learning-rate", "0.02" }, { "label-smoothing", "0.1" },
        { "validate-every", "3" },   { "schedule", "cosine" },    { "average-checkpoints", "2" },
        { "save-every", "0" },
    };
    att_settings *settings;
    char path[256];
    small_sentences_write(folder);
    assert_int_equal(att_settings_new(&settings, "classify", NULL), ATT_OK);
    small_set(settings, "architecture", architecture);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        small_set(settings, set[i][0], set[i][1]);
    snprintf(path, sizeof path, "%s/data.tsv", folder);
    small_set(settings, "train", path);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    small_set(settings, "out", path);
    return settings;
}

/* The same for a tagger with a CRF. */
static inline att_settings *small_tagger_new(const char *folder, const char *architecture)
{
    static const char *const set[][2] = {
        { "hidden-size", "12" },
        { "dropout", "0.3" },
        { "word-dropout", "0.2" },
        { "batch-tokens", "60" },
        { "epochs", "4" },
        { "accumulate", "2" },
        { "validate-every", "3" },
        { "valid-fraction", "0.3" },
        { "average-checkpoints", "2" },
        { "save-every", "0" },
        { "crf", "yes" },
        { "char-features", "cnn" },
    };
    att_settings *settings;
    char path[256];
    snprintf(path, sizeof path, "%s/data.conll", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 40; i++) {
        for (int j = 0; j <= i % 5; j++)
            fprintf(file, "%c %s\n", 'a' + (i * 7 + j * 3) % 6, (i + j) % 3 ? "O" : "B-x");
        fprintf(file, "\n");
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(att_settings_new(&settings, "tag", NULL), ATT_OK);
    small_set(settings, "architecture", architecture);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        small_set(settings, set[i][0], set[i][1]);
    small_set(settings, "train", path);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    small_set(settings, "out", path);
    return settings;
}

/* Pairs with words that occur once, to be copied: the vocabulary lacks them. Some are in the
 * validation data alone. */
static inline void small_names_write(const char *path, int first, int count)
{
    static const char *const parts[] = { "bo", "ka", "ru", "me", "si", "ta", "no", "li" };
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = first; i < first + count; i++) {
        const char *a = parts[i % 8], *b = parts[i / 8 % 8], *c = parts[i / 64 % 8];
        if (i % 3 == 0)
            fprintf(file, "my name is %s%s%s\thello %s%s%s\n", a, b, c, a, b, c);
        else if (i % 3 == 1)
            fprintf(file, "%s%s%s met %s%s%s\t%s%s%s was met by %s%s%s\n", a, b, c, c, a, b, c, a,
                    b, a, b, c);
        else
            fprintf(file, "this is %s%s%s now\tthat is %s%s%s\n", a, b, c, a, b, c);
    }
    assert_int_equal(fclose(file), 0);
}

/* A pointer-generator for them. */
static inline att_settings *small_copying_new(const char *folder, const char *architecture)
{
    static const char *const set[][2] = {
        { "source-tokens", "space" },
        { "target-tokens", "space" },
        { "min-count", "5" },
        { "hidden-size", "12" },
        { "layers", "1" },
        { "dropout", "0.3" },
        { "word-dropout", "0.2" },
        { "batch-tokens", "60" },
        { "epochs", "3" },
        { "accumulate", "2" },
        { "validate-every", "3" },
        { "label-smoothing", "0.1" },
        { "save-every", "0" },
        { "copy", "yes" },
    };
    att_settings *settings;
    char path[256];
    snprintf(path, sizeof path, "%s/names.tsv", folder);
    small_names_write(path, 0, 60);
    assert_int_equal(att_settings_new(&settings, "pairs", NULL), ATT_OK);
    small_set(settings, "architecture", architecture);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        small_set(settings, set[i][0], set[i][1]);
    if (strcmp(architecture, "rnn") == 0)
        small_set(settings, "scheduled-sampling", "0.5");
    small_set(settings, "train", path);
    small_set(settings, "valid-fraction", "0.2");
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    small_set(settings, "out", path);
    return settings;
}

/* The same for a caption model, with word dropout in the decoder. */
static inline att_settings *small_image_new(const char *folder, const char *task,
                                            const char *architecture)
{
    static const char *const all[][2] = {
        { "hidden-size", "12" },        { "dropout", "0.3" },        { "word-dropout", "0.3" },
        { "batch-tokens", "64" },       { "epochs", "2" },           { "accumulate", "2" },
        { "average-checkpoints", "2" }, { "learning-rate", "0.01" }, { "warmup", "3" },
        { "validate-every", "3" },      { "save-every", "0" },       { "schedule", "plateau" },
        { "conv-layers", "1" },         { "conv-channels", "4" },    { "layers", "1" },
    };
    att_settings *settings;
    char path[256];
    assert_int_equal(att_settings_new(&settings, task, NULL), ATT_OK);
    small_set(settings, "architecture", architecture);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        small_set(settings, all[i][0], all[i][1]);
    if (strcmp(architecture, "rnn") == 0)
        small_set(settings, "scheduled-sampling", "0.5");
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    small_set(settings, "out", path);
    return settings;
}

static inline att_settings *small_shapes_new(const char *folder, const char *architecture)
{
    att_settings *settings = small_image_new(folder, "shapes", architecture);
    small_set(settings, "image-size", "24");
    small_set(settings, "train-count", "40");
    small_set(settings, "valid-count", "6");
    return settings;
}

/* Images of 4 x 5 cells, each with two captions, in files. */
static inline att_settings *small_captions_new(const char *folder, const char *architecture)
{
    enum { IMAGES = 20, NUMBERS = 4 * 5 * 2 };
    static const char *const words[] = { "dog", "man", "ball", "runs", "jumps" };
    static float values[IMAGES * NUMBERS];
    char path[256];
    att_settings *settings = small_image_new(folder, "caption", architecture);
    for (int i = 0; i < IMAGES * NUMBERS; i++)
        values[i] = (float)(i * 37 % 101) / 50 - 1;
    const att_tensor grids = att_tensor_view(values, ATT_F32, 4, (int64_t[]){ IMAGES, 4, 5, 2 });
    snprintf(path, sizeof path, "%s/features.npy", folder);
    assert_int_equal(att_npy_save(&grids, path, NULL), ATT_OK);
    small_set(settings, "features", path);
    snprintf(path, sizeof path, "%s/captions", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 2 * IMAGES; i++)
        fprintf(file, "%d\ta %s %s .\n", i / 2, words[i * 3 % 5], words[i * i % 5]);
    assert_int_equal(fclose(file), 0);
    small_set(settings, "train", path);
    small_set(settings, "valid-fraction", "0.2");
    small_set(settings, "min-count", "1");
    return settings;
}

static inline att_settings *small_strings_new(const char *folder, const char *architecture)
{
    (void)architecture;
    return small_new(folder);
}

/* A run with the consistency loss, for a task, without what it does not go with. */
static inline att_settings *small_consistency_new(const char *folder, const char *task)
{
    static const struct {
        const char *task, *architecture;
        att_settings *(*make)(const char *folder, const char *architecture);
        const char *change[2];
    } rows[] = {
        { "reverse", "rnn", small_strings_new, { "scheduled-sampling", "0" } },
        { "lm", "transformer", small_lm_new, { "dropout", "0.3" } },
        { "classify", "transformer", small_classifier_new, { "dropout", "0.3" } },
        { "tag", "cnn", small_tagger_new, { "crf", "no" } },
        { "caption", "rnn", small_captions_new, { "scheduled-sampling", "0" } },
    };
    size_t i = 0;
    while (strcmp(rows[i].task, task) != 0)
        i++;
    att_settings *settings = rows[i].make(folder, rows[i].architecture);
    small_set(settings, rows[i].change[0], rows[i].change[1]);
    small_set(settings, "consistency", "2");
    return settings;
}

/* Makes a temporary folder; remove it with folder_remove(). */
static inline void folder_new(char folder[64])
{
    strcpy(folder, "/tmp/attend-train-XXXXXX");
    assert_non_null(mkdtemp(folder));
}

static inline void folder_remove(const char *folder)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static inline void folder_file(att_string *out, const char *folder, const char *name)
{
    char path[256];
    att_error err = { 0 };
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (att_file_read(out, path, SIZE_MAX, &err) != ATT_OK)
        fail_msg("%s: %s", path, err.message);
}

/* Fails unless both folders contain the same model and the same checkpoint. */
static inline void folders_equal(const char *a, const char *b, const char *context)
{
    static const char *const names[] = { "m.safetensors", "m.last.safetensors" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        att_string one = { 0 }, other = { 0 };
        folder_file(&one, a, names[i]);
        folder_file(&other, b, names[i]);
        if (one.length != other.length || memcmp(one.data, other.data, one.length) != 0)
            fail_msg("%s: %s differs", context, names[i]);
        att_string_free(&one);
        att_string_free(&other);
    }
}

/* Trains small_lm_new() in a new folder for so many steps (0: to the end) and saves its
 * model and checkpoint there. Returns 0, or -1 if it failed: for the set-up of a group of tests. */
static inline int small_lm_train(char *folder, int64_t steps)
{
    att_training *training;
    folder_new(folder);
    att_settings *settings = small_lm_new(folder, "rnn");
    att_status status = att_training_new(&training, settings, NULL, NULL);
    if (status == ATT_OK)
        status = steps > 0 ? att_training_advance(training, steps, NULL, NULL, NULL)
                           : att_training_run(training, NULL, NULL, NULL);
    if (status == ATT_OK)
        status = att_training_save(training, NULL);
    att_training_free(training);
    att_settings_free(settings);
    return status == ATT_OK ? 0 : -1;
}

/* Writes a file into the folder of a run. */
static inline void small_write(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* Sets a setting to a path in that folder. */
static inline void small_set_path(att_settings *settings, const char *key, const char *folder,
                                  const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    small_set(settings, key, path);
}

#endif
