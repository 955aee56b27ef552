/* att_settings_check(): settings that contradict each other. Only what the user gave is checked:
 * defaults adapt to it (setting_defaults.c). */
#include "settings/settings.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/quote.h"
#include "settings/setting_specs.h"
#include "text/pretokenizer.h"

#include <string.h>

/* A key that, if given, needs the choice `other` to have one of certain values. */
typedef struct requirement {
    const char *key;
    const char *other;
    const char *values; /* "adam adamw" */
    const char *reason; /* why no other value will do */
} requirement;

#define ATTENTION_MECHANISMS "dot scaled general additive concat location local coverage"

static const requirement requirements[] = {
    { "normalizer", "attention", ATTENTION_MECHANISMS,
      "there are no attention weights to normalize" },
    { "attention-context", "attention", "fixed " ATTENTION_MECHANISMS,
      "there is no attention context" },
    { "attention-window", "attention", "local", "only local attention has a window" },
    { "init-from-image", "attention", "fixed " ATTENTION_MECHANISMS,
      "without attention the decoder always starts from the image" },
    { "guided-alignment", "attention", ATTENTION_MECHANISMS,
      "there are no attention weights to align" },
    { "positions-join", "positions", "sinusoidal learned",
      "there are no position embeddings to join" },
    { "pool-score", "pool", "attention", "only attention pooling has a score function" },
    { "pool-heads", "pool", "attention", "only attention pooling has heads" },
    { "char-embedding-size", "char-features", "cnn lstm", "there are no character features" },
    { "char-size", "char-features", "cnn lstm", "there are no character features" },
    { "momentum", "optimizer", "sgd", "only sgd has momentum" },
    { "beta1", "optimizer", "adam adamw", "only adam and adamw have it" },
    { "beta2", "optimizer", "adam adamw", "only adam and adamw have it" },
    { "rho", "optimizer", "adadelta", "only adadelta has it" },
    { "epsilon", "optimizer", "adam adamw adadelta", "sgd has no denominator" },
    { "min-learning-rate", "schedule", "cosine plateau",
      "only cosine and plateau have a minimum learning rate" },
    { "plateau-factor", "schedule", "plateau", "only plateau has it" },
    { "plateau-patience", "schedule", "plateau", "only plateau has it" },
};

/* Two keys of which the first needs the second, or excludes it. */
typedef struct key_pair {
    const char *key;
    const char *other;
    bool required; /* needs it; else excludes it */
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
    { "guided-alignment-weight", "guided-alignment", true },
    { "scheduled-sampling-start", "scheduled-sampling", true },
    { "valid-features", "valid", true },
};

/* The value of a setting of type ATT_SETTING_CHOICE. */
static const char *choice_of(const att_settings *settings, const char *key)
{
    const att_setting_spec *spec = &att_setting_specs[att_setting_spec_find(key)];
    return spec->info.choices[*(const int *)att_setting_spec_value(spec, settings)];
}

/* Whether `word` is one of the words, which are separated by single spaces. */
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
                                    att_error *err)
{
    const char *value = choice_of(settings, row->other);
    if (!att_settings_is_given(settings, row->key) || is_among(value, row->values))
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL, "%s contradicts %s %s: %s", row->key, row->other,
                    value, row->reason);
}

static att_status check_key_pair(const att_settings *settings, const key_pair *row, att_error *err)
{
    if (!att_settings_is_given(settings, row->key) ||
        att_settings_is_given(settings, row->other) == row->required)
        return ATT_OK;
    if (row->required)
        return att_fail(err, ATT_BAD_INPUT, NULL, "%s also needs %s", row->key, row->other);
    return att_fail(err, ATT_BAD_INPUT, NULL, "%s and %s cannot be used together", row->key,
                    row->other);
}

static const char *first_architecture(unsigned architectures)
{
    const char *const *names = att_setting_find("architecture")->choices;
    while (!(architectures & 1)) {
        architectures >>= 1;
        names++;
    }
    return *names;
}

/* Refuses settings that another task or another architecture has. */
static att_status check_scope(const att_settings *settings, att_error *err)
{
    for (size_t i = 0; i < att_setting_spec_count; i++) {
        const att_setting_spec *row = &att_setting_specs[i];
        if (settings->origin[i] < ATT_FROM_CONFIG)
            continue;
        if (!(row->scope.tasks >> settings->task & 1))
            return att_fail(err, ATT_BAD_INPUT, NULL, "%s contradicts task %s: %s", row->info.key,
                            choice_of(settings, "task"),
                            att_task_specs[settings->task].data_source);
        if (!(row->scope.architectures >> settings->architecture & 1))
            return att_fail(err, ATT_BAD_INPUT, NULL,
                            "%s contradicts architecture %s: it belongs to %s", row->info.key,
                            choice_of(settings, "architecture"),
                            first_architecture(row->scope.architectures));
    }
    return ATT_OK;
}

static bool any_tokens_are(const att_settings *settings, att_tokenizer_kind kind)
{
    if (att_settings_model_type(settings) == ATT_MODEL_LM)
        return settings->tokens == (int)kind;
    return settings->source_tokens == (int)kind || settings->target_tokens == (int)kind;
}

static att_status check_vocabularies(const att_settings *settings, att_error *err)
{
    if (settings->joint && settings->source_tokens != settings->target_tokens)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "joint needs the same source-tokens and target-tokens");
    bool lm = att_settings_model_type(settings) == ATT_MODEL_LM;
    if (att_settings_is_given(settings, "bpe-merges") &&
        !any_tokens_are(settings, ATT_TOKENIZER_BPE))
        return att_fail(err, ATT_BAD_INPUT, NULL, "bpe-merges needs %s",
                        lm ? "tokens bpe" : "source-tokens bpe or target-tokens bpe");
    if (settings->lowercase && any_tokens_are(settings, ATT_TOKENIZER_BYTE))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "lowercase contradicts byte tokens: bytes have no case");
    return ATT_OK;
}

att_status att_settings_check_copying(const att_settings *settings, att_error *err)
{
    if (!att_settings_copies(settings) || settings->architecture != ATT_ARCHITECTURE_RNN)
        return ATT_OK;
    const char *attention = choice_of(settings, "attention");
    const char *normalizer = choice_of(settings, "normalizer");
    if (!is_among(attention, ATTENTION_MECHANISMS))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "copy contradicts attention %s: there are no attention weights to copy by",
                        attention);
    if (!is_among(normalizer, "softmax mean sparsemax entmax"))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "copy contradicts normalizer %s: its weights do not add up to 1",
                        normalizer);
    return ATT_OK;
}

static att_status check_architecture(const att_settings *settings, att_error *err)
{
    att_model_type type = att_settings_model_type(settings);
    bool labels = type == ATT_MODEL_CLASSIFIER || type == ATT_MODEL_TAGGER;
    if (att_settings_is_given(settings, "activation") && settings->ffn_size == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "activation contradicts ffn-size 0: there is no feed-forward network");
    if (settings->best_metric == ATT_BEST_METRIC_BLEU && labels)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "best-metric bleu contradicts task %s: its model generates no text",
                        choice_of(settings, "task"));
    if (settings->best_metric == ATT_BEST_METRIC_F1 && type != ATT_MODEL_TAGGER)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "best-metric f1 contradicts task %s: only a tagger finds spans",
                        choice_of(settings, "task"));
    ATT_TRY(att_settings_check_copying(settings, err));
    if (settings->crf && settings->label_smoothing > 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "label-smoothing contradicts crf: it smooths single labels");
    if (settings->architecture == ATT_ARCHITECTURE_CNN && !labels)
        return att_fail(
            err, ATT_BAD_INPUT, NULL,
            "architecture cnn contradicts task %s: it is for tasks classify and tag only",
            choice_of(settings, "task"));
    if (att_settings_is_given(settings, "conv-channels") && settings->conv_layers == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "conv-channels contradicts conv-layers 0: there are no convolution layers");
    return ATT_OK;
}

static att_status check_ranges(const att_settings *settings, att_error *err)
{
    if (settings->min_window > settings->max_window)
        return att_fail(err, ATT_BAD_INPUT, NULL, "min-window %lld exceeds max-window %lld",
                        (long long)settings->min_window, (long long)settings->max_window);
    if (settings->min_string_length > settings->max_string_length)
        return att_fail(
            err, ATT_BAD_INPUT, NULL, "min-string-length %lld exceeds max-string-length %lld",
            (long long)settings->min_string_length, (long long)settings->max_string_length);
    if (settings->min_learning_rate > settings->learning_rate)
        return att_fail(err, ATT_BAD_INPUT, NULL, "min-learning-rate %g exceeds learning-rate %g",
                        settings->min_learning_rate, settings->learning_rate);
    return ATT_OK;
}

/* One column of the setting `columns`: a number, or "last". */
static const char *parse_column(int64_t *out, const char *text)
{
    if (strncmp(text, "last", 4) == 0) {
        *out = 0;
        return text + 4;
    }
    *out = 0;
    while (*text >= '0' && *text <= '9' && *out < 1000)
        *out = 10 * *out + (*text++ - '0');
    return *out >= 1 && *out <= 1000 ? text : NULL;
}

att_status att_settings_columns(att_tag_columns *out, const att_settings *settings, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    const char *end = parse_column(&out->token, settings->columns);
    end = end && *end == ',' ? parse_column(&out->label, end + 1) : NULL;
    if (end && !*end && out->token != out->label)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "columns expects two different columns, from 1 to 1000 or last, such as 1,4 or "
                    "2,last, found '%s'",
                    att_quote(quoted, settings->columns, strlen(settings->columns)));
}

/* A run that resumes takes the files from its checkpoint. */
static att_status check_files(const att_settings *settings, att_error *err)
{
    const char *required = att_task_specs[settings->task].required;
    bool has_text = settings->train || settings->source;
    bool has_features = settings->task != ATT_TASK_CAPTION || settings->features;
    if (!required || settings->resume || (has_text && has_features))
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL, "task %s needs %s", choice_of(settings, "task"),
                    required);
}

att_status att_settings_check(const att_settings *settings, att_error *err)
{
    ATT_TRY(check_scope(settings, err));
    for (size_t i = 0; i < ATT_COUNT(requirements); i++)
        ATT_TRY(check_requirement(settings, &requirements[i], err));
    for (size_t i = 0; i < ATT_COUNT(key_pairs); i++)
        ATT_TRY(check_key_pair(settings, &key_pairs[i], err));
    ATT_TRY(check_vocabularies(settings, err));
    ATT_TRY(check_architecture(settings, err));
    ATT_TRY(check_ranges(settings, err));
    att_tag_columns columns;
    ATT_TRY(att_settings_columns(&columns, settings, err));
    return check_files(settings, err);
}
