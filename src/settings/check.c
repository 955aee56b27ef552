/* Which settings contradict each other. What was not given contradicts nothing: defaults follow
 * from what was. */
#include "settings/settings.h"

#include "base/error.h"
#include "base/string.h"
#include "settings/setting_specs.h"

#include <string.h>

/* A key that, when given, needs another to have one of certain words. */
typedef struct requirement {
    const char *key;
    const char *other;
    const char *values; /* "adam adamw" */
    const char *reason; /* what is true otherwise */
} requirement;

#define ATTENTION_MECHANISMS "dot scaled general additive concat location local coverage"

static const requirement requirements[] = {
    { "normalizer", "attention", ATTENTION_MECHANISMS, "there are no weights to normalise" },
    { "attention-context", "attention", "fixed " ATTENTION_MECHANISMS,
      "there is no context to feed" },
    { "attention-window", "attention", "local", "only local attention has a window" },
    { "init-from-image", "attention", "fixed " ATTENTION_MECHANISMS,
      "the start is all that the decoder sees" },
    { "guided-alignment", "attention", ATTENTION_MECHANISMS, "there are no weights to teach" },
    { "positions-join", "positions", "sinusoidal learned", "there are no positions to join" },
    { "pool-score", "pool", "attention", "only pool attention has scores" },
    { "pool-heads", "pool", "attention", "only pool attention has heads" },
    { "momentum", "optimizer", "sgd", "only sgd has momentum" },
    { "beta1", "optimizer", "adam adamw", "only adam and adamw have it" },
    { "beta2", "optimizer", "adam adamw", "only adam and adamw have it" },
    { "rho", "optimizer", "adadelta", "only adadelta has it" },
    { "epsilon", "optimizer", "adam adamw adadelta", "sgd divides by nothing" },
    { "min-learning-rate", "schedule", "cosine plateau",
      "only cosine and plateau have a least rate" },
    { "plateau-factor", "schedule", "plateau", "only plateau has it" },
    { "plateau-patience", "schedule", "plateau", "only plateau has it" },
};

/* Pairs of keys: of some both must be given, of others one at most. */
typedef struct key_pair {
    const char *key;
    const char *other;
    bool required; /* the first needs the second; else it excludes it */
} key_pair;

static const key_pair key_pairs[] = {
    { "source", "target", true },
    { "target", "source", true },
    { "valid-source", "valid-target", true },
    { "valid-target", "valid-source", true },
    { "train", "source", false },
    { "valid", "valid-source", false },
    { "valid-fraction", "valid", false },
    { "valid-fraction", "valid-source", false },
    { "guided-alignment-weight", "align", true },
    { "scheduled-sampling-start", "own", true },
    { "valid-features", "valid", true },
};

static att_status value_of(att_string *out, const att_settings *settings, const char *key,
                           att_error *err)
{
    out->length = 0;
    ATT_TRY(att_settings_get(out, settings, key, err));
    return att_string_append(out, "", 0) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

static bool is_among(const char *word, const char *words)
{
    size_t length = strlen(word);
    while (*words) {
        size_t size = strcspn(words, " ");
        if (size == length && memcmp(words, word, size) == 0)
            return true;
        words += size + (words[size] == ' ');
    }
    return false;
}

static att_status check_requirement(const att_settings *settings, const requirement *row,
                                    att_string *scratch, att_error *err)
{
    if (!att_settings_is_given(settings, row->key))
        return ATT_OK;
    ATT_TRY(value_of(scratch, settings, row->other, err));
    if (is_among(scratch->data, row->values))
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL, "%s contradicts %s %s: %s", row->key, row->other,
                    scratch->data, row->reason);
}

static att_status check_key_pair(const att_settings *settings, const key_pair *row, att_error *err)
{
    if (!att_settings_is_given(settings, row->key) ||
        att_settings_is_given(settings, row->other) == row->required)
        return ATT_OK;
    if (row->required)
        return att_fail(err, ATT_BAD_INPUT, NULL, "%s needs %s beside it", row->key, row->other);
    return att_fail(err, ATT_BAD_INPUT, NULL, "%s and %s exclude each other", row->key, row->other);
}

static const char *value_name(const char *key, int value)
{
    return att_setting_specs[att_setting_spec_find(key)].info.choices[value];
}

/* The first family of several. */
static int first_architecture(unsigned families)
{
    int family = 0;
    while (!(families >> family & 1))
        family++;
    return family;
}

/* Refuses what was given for another task or another family. */
static att_status check_scope(const att_settings *settings, att_error *err)
{
    for (size_t i = 0; i < att_setting_spec_count; i++) {
        const att_setting_spec *row = &att_setting_specs[i];
        if (settings->origin[i] < ATT_FROM_CONFIG)
            continue;
        if (!(row->scope.tasks >> settings->task & 1))
            return att_fail(err, ATT_BAD_INPUT, NULL, "%s contradicts task %s: %s", row->info.key,
                            value_name("task", settings->task),
                            att_task_specs[settings->task].data_source);
        if (!(row->scope.architectures >> settings->architecture & 1))
            return att_fail(
                err, ATT_BAD_INPUT, NULL, "%s contradicts family %s: it belongs to %s",
                row->info.key, value_name("architecture", settings->architecture),
                value_name("architecture", first_architecture(row->scope.architectures)));
    }
    return ATT_OK;
}

static att_status check_vocabularies(const att_settings *settings, att_error *err)
{
    if (settings->joint && settings->source_tokens != settings->target_tokens)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "joint needs source-tokens and target-tokens to be the same");
    bool text = att_settings_model_type(settings) == ATT_MODEL_LM;
    if (att_settings_is_given(settings, "bpe-merges") &&
        settings->source_tokens != ATT_TOKENIZER_BPE &&
        settings->target_tokens != ATT_TOKENIZER_BPE && settings->tokens != ATT_TOKENIZER_BPE)
        return att_fail(err, ATT_BAD_INPUT, NULL, "subwords needs %s to be subword",
                        text ? "tokens" : "source-tokens or target-tokens");
    bool bytes = text ? settings->tokens == ATT_TOKENIZER_BYTE
                      : settings->source_tokens == ATT_TOKENIZER_BYTE ||
                            settings->target_tokens == ATT_TOKENIZER_BYTE;
    if (bytes && settings->lowercase)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "lower contradicts bytes, which have no capitals");
    return ATT_OK;
}

static att_status check_image(const att_settings *settings, att_error *err)
{
    if (settings->task == ATT_TASK_CAPTION && !settings->features && !settings->resume)
        return att_fail(err, ATT_BAD_INPUT, NULL, "task caption needs %s",
                        att_task_specs[settings->task].required);
    if (att_settings_is_given(settings, "channels") && settings->conv_layers == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "channels contradicts convolutions 0: there is nothing to have them");
    return ATT_OK;
}

static att_status check_numbers(const att_settings *settings, att_error *err)
{
    if (att_settings_is_given(settings, "activation") && settings->ffn_size == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "activation contradicts feed-forward 0: there is nothing to activate");
    if (settings->best_metric == ATT_BEST_METRIC_BLEU &&
        att_settings_model_type(settings) == ATT_MODEL_CLASSIFIER)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "best-by bleu contradicts task %s: labels are no text to compare",
                        value_name("task", settings->task));
    if (settings->architecture == ATT_ARCHITECTURE_CNN &&
        att_settings_model_type(settings) != ATT_MODEL_CLASSIFIER)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "family convolution contradicts task %s: it sorts sentences, and nothing "
                        "else",
                        value_name("task", settings->task));
    if (settings->min_window > settings->max_window)
        return att_fail(err, ATT_BAD_INPUT, NULL, "least-window %lld exceeds most-window %lld",
                        (long long)settings->min_window, (long long)settings->max_window);
    if (settings->min_string_length > settings->max_string_length)
        return att_fail(err, ATT_BAD_INPUT, NULL, "least-length %lld exceeds most-length %lld",
                        (long long)settings->min_string_length,
                        (long long)settings->max_string_length);
    if (settings->min_learning_rate > settings->learning_rate)
        return att_fail(err, ATT_BAD_INPUT, NULL, "least-rate %g exceeds rate %g",
                        settings->min_learning_rate, settings->learning_rate);
    const char *lacks = att_task_specs[settings->task].required;
    if (lacks && !settings->train && !settings->source && !settings->resume)
        return att_fail(err, ATT_BAD_INPUT, NULL, "task %s needs %s",
                        value_name("task", settings->task), lacks);
    return check_image(settings, err);
}

static att_status check_dependencies(const att_settings *settings, att_string *scratch,
                                     att_error *err)
{
    for (size_t i = 0; i < sizeof requirements / sizeof *requirements; i++)
        ATT_TRY(check_requirement(settings, &requirements[i], scratch, err));
    for (size_t i = 0; i < sizeof key_pairs / sizeof *key_pairs; i++)
        ATT_TRY(check_key_pair(settings, &key_pairs[i], err));
    return ATT_OK;
}

att_status att_settings_check(const att_settings *settings, att_error *err)
{
    att_string scratch = { 0 };
    att_status status = check_scope(settings, err);
    if (status == ATT_OK)
        status = check_dependencies(settings, &scratch, err);
    att_string_free(&scratch);
    if (status == ATT_OK)
        status = check_vocabularies(settings, err);
    return status == ATT_OK ? check_numbers(settings, err) : status;
}
