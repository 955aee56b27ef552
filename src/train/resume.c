/* Resuming a run: the settings that must not change. */
#include "train/training.h"

#include "base/error.h"
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
        if (values[1].length == 0 && values[0].length > 0)
            return att_fail(err, ATT_BAD_INPUT, name,
                            "%s %s: a resumed run cannot set it, since the run began without",
                            row->key, values[0].data);
        if (strcmp(values[0].data, values[1].data) != 0)
            return att_fail(err, ATT_BAD_INPUT, name,
                            "%s %s: a resumed run cannot change it from %s", row->key,
                            values[0].data, values[1].data);
    }
    return ATT_OK;
}

/* Checked before steps of the user are added to it: an error is one of the file. */
static att_status check_step_plan(const att_settings *saved, const char *name, att_error *err)
{
    att_step_plan_piece pieces[ATT_MAX_STEP_PLAN];
    size_t count;
    att_error cause = { 0 };
    if (att_settings_step_plan(pieces, &count, saved, &cause) == ATT_OK)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name, "the settings: %.300s", cause.message);
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
        status = check_step_plan(saved, name, err);
    if (status == ATT_OK)
        status = check_fixed(settings, saved, name, values, err);
    att_settings_free(saved);
    att_string_free(&values[0]);
    att_string_free(&values[1]);
    if (status == ATT_OK)
        status = att_settings_from_json(settings, json, name, err);
    return status == ATT_OK ? continue_step_plan(settings, bundle, name, err) : status;
}
