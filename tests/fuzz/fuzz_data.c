/* Any bytes as the files of a dataset: pairs in two parallel files with alignments, labeled
 * or tagged sentences, captions with image features, or the text of a language model. The first
 * byte chooses the task, the second the tokens; the parts of the rest are separated by 0x1E. The
 * data are loaded, reported and made into batches. */
#include "fuzz/budget.h"

#include "base/utf8.h"
#include "data/data.h"
#include "data/memory_files.h"

enum { PARTS = 3, SEPARATOR = 0x1E, IMAGES = 3, FEATURES = IMAGES * 2 * 2 * 2 };

typedef struct task {
    const char *name;
    const char *keys[PARTS]; /* the settings that name the parts */
    const char *tokens_key;  /* or NULL */
} task;

static const task tasks[] = {
    { "pairs", { "source", "target", "guided-alignment" }, "source-tokens" },
    { "pairs", { "train", "valid", NULL }, "target-tokens" },
    { "classify", { "train", "valid", NULL }, "source-tokens" },
    { "caption", { "train", "valid", NULL }, "target-tokens" },
    { "lm", { "train", "valid", NULL }, "tokens" },
    { "tag", { "train", "valid", NULL }, NULL },
};

static void set(att_settings *settings, const char *key, const char *value)
{
    att_error err = { 0 };
    PROMISE(att_settings_set(settings, key, value, &err) == ATT_OK);
}

static void check_corpus(const att_corpus *corpus, const att_settings *settings)
{
    att_batches *batches = NULL;
    att_error err = { 0 };
    if (corpus->pairs == 0)
        return;
    if (succeeded(att_data_batches(&batches, corpus, settings, 20, 1, &err), &err)) {
        att_batches_start_epoch(batches, 0);
        for (int64_t i = 0; i < att_batches_count(batches); i++)
            PROMISE(att_batches_get(batches, i)->rows > 0);
    }
    att_batches_free(batches);
}

static void load(att_settings *settings)
{
    att_data loaded;
    att_string report = { 0 };
    att_error err = { 0 };
    if (succeeded(att_data_load(&loaded, settings, &err), &err)) {
        check_corpus(&loaded.train, settings);
        check_corpus(&loaded.valid, settings);
        if (att_data_report(&report, &loaded) == ATT_OK && report.length > 0)
            PROMISE(att_utf8_valid(report.data, report.length));
        att_data_free(&loaded);
    }
    att_string_free(&report);
}

/* Mounts the parts under the names that the settings then have. Returns their number. */
static size_t mount(att_memory_file files[PARTS + 1], att_settings *settings, const task *which,
                    const char *text, size_t size)
{
    static const char *const names[] = { "<part 1>", "<part 2>", "<part 3>" };
    size_t count = 0;
    for (; count < PARTS && which->keys[count] && text; count++) {
        const char *cut = size > 0 ? memchr(text, SEPARATOR, size) : NULL;
        size_t length = cut ? (size_t)(cut - text) : size;
        files[count] = (att_memory_file){ .name = names[count], .text = text, .length = length };
        set(settings, which->keys[count], names[count]);
        size -= length + (cut != NULL);
        text = cut ? cut + 1 : NULL;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const tokens[] = { "char", "word", "byte", "bpe" };
    static float values[FEATURES];
    const att_tensor features =
        att_tensor_view(values, ATT_F32, 4, (const int64_t[]){ IMAGES, 2, 2, 2 });
    if (size < 2)
        return 0;
    size_t live = att_alloc_live();
    const task *which = &tasks[data[0] % (sizeof tasks / sizeof *tasks)];
    att_memory_file files[PARTS + 1];
    att_settings *settings;
    att_error err = { 0 };
    budget_start();
    PROMISE(att_settings_new(&settings, which->name, &err) == ATT_OK);
    if (which->tokens_key)
        set(settings, which->tokens_key, tokens[data[1] & 3]);
    else
        set(settings, "char-features", data[1] & 1 ? "cnn" : "none");
    set(settings, "bpe-merges", "10");
    set(settings, "lowercase", data[1] & 4 ? "yes" : "no");
    set(settings, "valid-fraction", data[1] & 8 ? "0.5" : "0.1");
    set(settings, "max-length", data[1] & 16 ? "3" : "0");
    size_t count = mount(files, settings, which, (const char *)data + 2, size - 2);
    if (strcmp(which->name, "caption") == 0) {
        files[count++] = (att_memory_file){ .name = "<images>", .tensor = &features };
        set(settings, "features", "<images>");
    }
    att_memory_files_mount(files, count);
    load(settings);
    att_memory_files_mount(NULL, 0);
    att_settings_free(settings);
    PROMISE(att_alloc_live() == live);
    return 0;
}
