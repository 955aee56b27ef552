/* What a resumed run may change, and how it knows that its data are the same. */
#include "train/training.h"

#include "base/error.h"
#include "base/string.h"

#include <string.h>

/* ---- settings */

/* Groups and keys that define what a run has computed so far. The rest (how long it goes on, how it
 * is judged, where files are) may change. */
static const char *const fixed_groups[] = { "task",   "synthetic",   "tokens", "model",
                                            "rnn",    "transformer", "cnn",    "classifier",
                                            "images", NULL };
static const char *const fixed_keys[] = {
    "valid-fraction", "optimizer", "average-checkpoints", "seed", "data-seed", "batch-tokens", NULL
};

static bool is_listed(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

static att_status value_of(att_string *out, const att_settings *settings, const char *key,
                           att_error *err)
{
    out->length = 0;
    ATT_TRY(att_settings_get(out, settings, key, err));
    return att_string_append(out, "", 0) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

/* Compares what was given with what the run was started with. */
static att_status check_fixed(const att_settings *given, const att_settings *before,
                              const char *name, att_string values[2], att_error *err)
{
    for (size_t i = 0; i < att_setting_count(); i++) {
        const att_setting *row = att_setting_get(i);
        if (!att_settings_is_given(given, row->key) ||
            (!is_listed(row->group, fixed_groups) && !is_listed(row->key, fixed_keys)))
            continue;
        ATT_TRY(value_of(&values[0], given, row->key, err));
        ATT_TRY(value_of(&values[1], before, row->key, err));
        if (strcmp(values[0].data, values[1].data) != 0)
            return att_fail(err, ATT_BAD_INPUT, name,
                            "%s %s contradicts resume: the run has %s %s and cannot change it",
                            row->key, values[0].data, row->key, values[1].data);
    }
    return ATT_OK;
}

att_status att_resume_settings(att_settings *settings, const att_bundle *bundle, const char *name,
                               att_error *err)
{
    ATT_TRY(att_model_check_format(bundle, name, err));
    const char *json = att_bundle_meta_get(bundle, "attend.settings");
    if (!json)
        return att_fail(err, ATT_BAD_INPUT, name, "is not a model: it has no settings");
    att_settings *before;
    att_string values[2] = { 0 };
    ATT_TRY(att_settings_new(&before, NULL, err));
    att_status status = att_settings_from_json(before, json, name, err);
    if (status == ATT_OK)
        status = check_fixed(settings, before, name, values, err);
    att_settings_free(before);
    att_string_free(&values[0]);
    att_string_free(&values[1]);
    return status == ATT_OK ? att_settings_from_json(settings, json, name, err) : status;
}

/* ---- data */

/* FNV-1a over bytes. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t hash_sequences(uint64_t hash, const att_sequences *side, int64_t pairs)
{
    hash = hash_bytes(hash, side->offsets, (size_t)(pairs + 1) * sizeof *side->offsets);
    return hash_bytes(hash, side->ids, (size_t)side->offsets[pairs] * sizeof *side->ids);
}

static uint64_t hash_corpus(uint64_t hash, const att_corpus *corpus)
{
    hash = hash_sequences(hash, &corpus->source, corpus->pairs);
    hash = hash_sequences(hash, &corpus->target, corpus->pairs);
    if (corpus->alignment)
        hash =
            hash_bytes(hash, corpus->alignment,
                       (size_t)corpus->target.offsets[corpus->pairs] * sizeof *corpus->alignment);
    size_t pixels =
        (size_t)(corpus->image_grids.count * att_image_grids_stride(&corpus->image_grids));
    return hash_bytes(hash, corpus->image_grids.values,
                      pixels * sizeof *corpus->image_grids.values);
}

static uint64_t hash_vocab(uint64_t hash, const att_vocab *vocab)
{
    for (int32_t id = 0; id < att_vocab_size(vocab); id++) {
        const char *word = att_vocab_token(vocab, id);
        hash = hash_bytes(hash, word, strlen(word) + 1);
    }
    return hash;
}

int64_t att_data_hash(const att_data *data)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    if (data->source_vocab)
        hash = hash_vocab(hash, data->source_vocab);
    hash = hash_vocab(hash, data->target_vocab);
    hash = hash_corpus(hash, &data->train);
    hash = hash_corpus(hash, &data->valid);
    return (int64_t)hash;
}
