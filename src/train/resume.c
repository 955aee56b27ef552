/* Resuming a run: the settings that must not change, and the hash that detects changed data. */
#include "train/training.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/string.h"

#include <string.h>

/* ---- settings */

/* Groups and keys on which the results so far depend. Others, such as the number of epochs, the
 * metric of the best model and the files, may change. */
static const char *const fixed_groups[] = { "task",   "synthetic",   "tokens", "model",
                                            "rnn",    "transformer", "cnn",    "classifier",
                                            "images", "tagger",      NULL };
static const char *const fixed_keys[] = {
    "valid-fraction",      "columns",   "format",    "optimizer",
    "average-checkpoints", "seed",      "data-seed", "batch-tokens",
    "accumulate",          "step-plan", NULL
};

static bool is_listed(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static att_status get_value(att_string *out, const att_settings *settings, const char *key,
                            att_error *err)
{
    out->length = 0;
    ATT_TRY(att_settings_get(out, settings, key, err));
    return att_string_append(out, "", 0) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

/* Compares the given settings with those of the run. */
static att_status check_fixed(const att_settings *given, const att_settings *saved,
                              const char *name, att_string values[2], att_error *err)
{
    for (size_t i = 0; i < att_setting_count(); i++) {
        const att_setting *row = att_setting_get(i);
        if (!att_settings_is_given(given, row->key) ||
            (!is_listed(row->group, fixed_groups) && !is_listed(row->key, fixed_keys)))
            continue;
        ATT_TRY(get_value(&values[0], given, row->key, err));
        ATT_TRY(get_value(&values[1], saved, row->key, err));
        if (strcmp(values[0].data, values[1].data) != 0)
            return att_fail(err, ATT_BAD_INPUT, name,
                            "%s %s: a resumed run cannot change it from %s", row->key,
                            values[0].data, values[1].data);
    }
    return ATT_OK;
}

/* A run whose plan was changed by a budget, and which is resumed with another number of steps: the
 * new number is one more change, from the step of the checkpoint on. */
static att_status continue_step_plan(att_settings *settings, const att_bundle *bundle,
                                     const char *name, att_error *err)
{
    const char *record = att_bundle_meta_get(bundle, "attend.training");
    if (!settings->step_plan || !att_settings_is_given(settings, "steps") || !record)
        return ATT_OK;
    att_training_state state;
    att_string plan = { 0 };
    ATT_TRY(att_training_state_from_json(&state, record, name, err));
    int64_t step = state.step;
    att_training_state_free(&state);
    if (settings->steps < step)
        return att_fail(err, ATT_BAD_INPUT, name, "steps %lld: the run has made %lld already",
                        (long long)settings->steps, (long long)step);
    att_status status = att_string_printf(&plan, "%s,%lld:%lld", settings->step_plan,
                                          (long long)step, (long long)settings->steps);
    status = status == ATT_OK
                 ? att_settings_set_from(settings, "step-plan", plan.data, ATT_FROM_MODEL, err)
                 : att_fail_memory(err);
    att_string_free(&plan);
    return status;
}

att_status att_resume_settings(att_settings *settings, const att_bundle *bundle, const char *name,
                               att_error *err)
{
    ATT_TRY(att_model_check_format(bundle, name, err));
    const char *json = att_bundle_meta_get(bundle, "attend.settings");
    if (!json)
        return att_fail(err, ATT_BAD_INPUT, name, "is not a model: it has no settings");
    att_settings *saved;
    att_string values[2] = { 0 };
    ATT_TRY(att_settings_new(&saved, NULL, err));
    att_status status = att_settings_from_json(saved, json, name, err);
    if (status == ATT_OK)
        status = check_fixed(settings, saved, name, values, err);
    att_settings_free(saved);
    att_string_free(&values[0]);
    att_string_free(&values[1]);
    if (status == ATT_OK)
        status = att_settings_from_json(settings, json, name, err);
    return status == ATT_OK ? continue_step_plan(settings, bundle, name, err) : status;
}

/* ---- data */

static uint64_t hash_sequences(uint64_t hash, const att_sequences *side, int64_t pairs)
{
    hash = att_hash_fnv1a_add(hash, side->offsets, (size_t)(pairs + 1) * sizeof *side->offsets);
    return att_hash_fnv1a_add(hash, side->ids, (size_t)side->offsets[pairs] * sizeof *side->ids);
}

static uint64_t hash_corpus(uint64_t hash, const att_corpus *corpus)
{
    hash = hash_sequences(hash, &corpus->source, corpus->pairs);
    hash = hash_sequences(hash, &corpus->target, corpus->pairs);
    if (corpus->alignment)
        hash = att_hash_fnv1a_add(hash, corpus->alignment,
                                  (size_t)corpus->target.offsets[corpus->pairs] *
                                      sizeof *corpus->alignment);
    for (int64_t i = 0; corpus->source_words && i < corpus->source.offsets[corpus->pairs]; i++) {
        const char *word = corpus->source_words + corpus->source_word_offsets[i];
        hash = att_hash_fnv1a_add(hash, word, strlen(word) + 1);
    }
    size_t pixels =
        (size_t)(corpus->image_grids.count * att_image_grids_stride(&corpus->image_grids));
    return att_hash_fnv1a_add(hash, corpus->image_grids.values,
                              pixels * sizeof *corpus->image_grids.values);
}

static uint64_t hash_vocab(uint64_t hash, const att_vocab *vocab)
{
    for (int32_t id = 0; id < att_vocab_size(vocab); id++) {
        const char *token = att_vocab_token(vocab, id);
        hash = att_hash_fnv1a_add(hash, token, strlen(token) + 1);
    }
    return hash;
}

int64_t att_data_hash(const att_data *data)
{
    uint64_t hash = ATT_FNV1A_START;
    if (data->source_vocab)
        hash = hash_vocab(hash, data->source_vocab);
    hash = hash_vocab(hash, data->target_vocab);
    hash = hash_corpus(hash, &data->train);
    hash = hash_corpus(hash, &data->valid);
    return (int64_t)hash;
}
