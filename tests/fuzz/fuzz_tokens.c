/* Any bytes as a token file: its dataset is loaded, and batches of it are read, in windows of the
 * usual size and in small ones. The file is in memory (memfd). */
#include "fuzz/budget.h"

#include "data/batch_lm.h"
#include "data/data_hash.h"
#include "data/prepared.h"

#include <sys/mman.h>
#include <unistd.h>

enum { MAX_PAIRS = 5000, MAX_BATCHES = 40 };

/* Every token of a batch is one of the vocabulary, or padding. */
static void check_ids(const int32_t *ids, int64_t count, int32_t size)
{
    for (int64_t i = 0; ids && i < count; i++)
        PROMISE(ids[i] == ATT_ID_PAD || (ids[i] >= 0 && ids[i] < size));
}

static void read_batches(att_batches *batches, const att_data *data)
{
    const att_batch_limits limits = att_batches_limits(batches);
    att_error err = { 0 };
    for (int64_t i = 0; i < att_batches_count(batches) && i < MAX_BATCHES; i++) {
        const att_batch *batch = att_batches_get(batches, i);
        PROMISE(batch->rows >= 1 && batch->rows <= limits.rows);
        PROMISE(batch->rows * batch->target_length <= limits.target_padded_tokens);
        PROMISE(batch->rows * batch->source_length <= limits.source_padded_tokens);
        check_ids(batch->target_out, batch->rows * batch->target_length,
                  att_vocab_size(data->target_vocab));
        if (data->source_vocab)
            check_ids(batch->source, batch->rows * batch->source_length,
                      att_vocab_size(data->source_vocab));
    }
    succeeded(att_batches_status(batches, &err), &err);
}

static void use_batches(att_batches *batches, const att_data *data)
{
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        att_batches_start_epoch(batches, epoch);
        read_batches(batches, data);
    }
    att_batches_start_sequential(batches);
    read_batches(batches, data);
    att_batches_free(batches);
}

static void use(const att_data *data, const att_settings *settings)
{
    static const att_window_size small = { 2, 2, 1 << 20 };
    att_error err = { 0 };
    att_batches *batches;
    bool few = data->train.pairs <= MAX_PAIRS, pairs = data->model_type != ATT_MODEL_LM;
    (void)att_data_hash(data);
    if (few && succeeded(att_data_batches(&batches, &data->train, settings, 32, 1, &err), &err))
        use_batches(batches, data);
    if (few && pairs &&
        succeeded(att_pair_batches_in_windows(&batches, &data->train, 32, 1, &small, &err), &err))
        use_batches(batches, data);
    if (succeeded(att_data_batches(&batches, &data->valid, settings, 32, 1, &err), &err))
        use_batches(batches, data);
}

static void load(const char *path)
{
    att_settings *settings;
    att_data data;
    att_string report = { 0 };
    att_error err = { 0 };
    PROMISE(att_settings_new(&settings, NULL, &err) == ATT_OK);
    PROMISE(att_settings_set(settings, "train", path, &err) == ATT_OK);
    const char *prepared;
    if (succeeded(att_prepared_path(&prepared, settings, &err), &err) && prepared &&
        succeeded(att_prepared_settings(settings, &err), &err) &&
        succeeded(att_data_load(&data, settings, &err), &err)) {
        PROMISE(att_data_report(&report, &data) != ATT_SYSTEM);
        use(&data, settings);
        att_data_free(&data);
    }
    att_string_free(&report);
    att_settings_free(settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    char path[64];
    int file = memfd_create("tokens", 0);
    PROMISE(file >= 0);
    if (write(file, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    budget_start();
    load(path);
    close(file);
    PROMISE(att_alloc_live() == live);
    return 0;
}
