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
    { "char-features", "source-tokens", "word space", "only words have characters of their own" },
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
    { "init-vocab", "init-from", true },
    { "init-from", "resume", false },
    { "step-plan", "steps", true },
    { "time", "steps", false },
    { "time", "epochs", false },
    { "time", "resume", false },
    { "try", "resume", false },
    { "try", "log", false },
    { "vectors-tune", "vectors", true },
    { "vectors", "init-from", false },
    { "format", "source", false },
    { "columns", "source", false },
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
    bool parts =
        any_tokens_are(settings, ATT_TOKENIZER_BPE) || any_tokens_are(settings, ATT_TOKENIZER_BYTE);
    if (settings->joint && settings->source_tokens != settings->target_tokens && parts)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "joint needs the same source-tokens and target-tokens if either is bpe or "
                        "byte: their tokens are not those of other kinds");
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
    if (!att_settings_copies(settings))
        return ATT_OK;
    if (settings->consistency > 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "consistency contradicts copy: it compares predictions of the vocabulary "
                        "alone");
    if (settings->architecture != ATT_ARCHITECTURE_RNN)
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

static bool has_dropout(const att_settings *settings)
{
    return settings->dropout > 0 || settings->attention_dropout > 0 ||
           settings->embedding_dropout > 0 || settings->word_dropout > 0;
}

att_status att_settings_check_consistency(const att_settings *settings, att_error *err)
{
    att_model_type type = att_settings_model_type(settings);
    const char *reason = NULL;
    if (settings->consistency == 0)
        return ATT_OK;
    if (settings->crf)
        reason = "crf: it compares predictions of single labels";
    else if (settings->scheduled_sampling > 0)
        reason = "scheduled-sampling: the two predictions would follow different tokens";
    else if (type == ATT_MODEL_LM && settings->architecture == ATT_ARCHITECTURE_RNN)
        reason = "architecture rnn of task lm: each batch continues the state of the batch before";
    else if (!has_dropout(settings))
        reason = "dropout 0: without dropout the two predictions are the same";
    if (!reason)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL, "consistency contradicts %s", reason);
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
    if (settings->vectors && settings->tie_embeddings == ATT_TIE_ALL)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "vectors contradicts tie-embeddings all: they are for the source alone");
    ATT_TRY(att_settings_check_copying(settings, err));
    ATT_TRY(att_settings_check_consistency(settings, err));
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
    if (settings->out && strcmp(settings->out, "-") == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "out -: expected the name of a file (./- is one of that name)");
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

/* One column of the setting `columns`: a number, "last" or a name. */
static bool parse_column(att_column *out, const char *text, size_t length)
{
    enum { MAX_COLUMN = 1000 };
    int64_t number = 0;
    size_t digits = 0;
    for (; digits < length && text[digits] >= '0' && text[digits] <= '9'; digits++)
        if (number <= MAX_COLUMN)
            number = 10 * number + (text[digits] - '0');
    *out = (att_column){ .number = -1, .name = text, .length = length };
    if (length == 4 && memcmp(text, "last", 4) == 0)
        out->number = 0;
    else if (length > 0 && digits == length)
        out->number = number;
    return length > 0 && (out->number != 0 || digits == 0) && out->number <= MAX_COLUMN;
}

static bool is_same_column(const att_column *a, const att_column *b)
{
    return a->length == b->length && memcmp(a->name, b->name, a->length) == 0;
}

/* Two or three different columns; with `least` 1 also one. */
static bool parse_columns(att_columns *out, const char *text, int least)
{
    for (; out->count < ATT_COLUMN_COUNT; text++) {
        size_t length = strcspn(text, ",");
        if (!parse_column(&out->items[out->count], text, length))
            return false;
        for (int i = 0; i < out->count; i++)
            if (is_same_column(&out->items[i], &out->items[out->count]))
                return false;
        out->count++;
        text += length;
        if (!*text)
            return out->count >= least;
    }
    return false;
}

att_status att_settings_columns(att_columns *out, const att_settings *settings, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    *out = (att_columns){ 0 };
    if (!settings->columns || parse_columns(out, settings->columns, 2))
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "columns expects two different columns, or three with that of tags, each a "
                    "name, a number from 1 to 1000 or last, such as text,label or 2,last, found "
                    "'%s'",
                    att_quote(quoted, settings->columns, strlen(settings->columns)));
}

att_status att_settings_input_columns(att_columns *out, const char *text, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    *out = (att_columns){ 0 };
    if (!parse_columns(out, text, 1) || out->count > 2)
        return att_fail(
            err, ATT_BAD_INPUT, NULL,
            "columns expects the column of the inputs, or two with that of tags, each a "
            "name, a number from 1 to 1000 or last, such as text or 1,3, found '%s'",
            att_quote(quoted, text, strlen(text)));
    if (out->count == 2)
        out->items[ATT_COLUMN_TAGS] = out->items[1];
    out->items[ATT_COLUMN_TARGET] = out->items[ATT_COLUMN_SOURCE];
    out->count++;
    return ATT_OK;
}

att_status att_settings_seconds(double *out, const att_settings *settings, att_error *err)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = { { 'h', 3600 }, { 'm', 60 }, { 's', 1 } };
    char quoted[ATT_QUOTED_SIZE];
    const char *text = settings->time;
    *out = 0;
    if (!text)
        return ATT_OK;
    for (size_t i = 0; i < ATT_COUNT(units); i++) {
        int64_t number = 0, digits = 0;
        const char *at = text;
        for (; *at >= '0' && *at <= '9' && digits < 7; at++, digits++)
            number = 10 * number + (*at - '0');
        if (digits == 0 || *at != units[i].unit)
            continue;
        *out += (double)number * units[i].seconds;
        text = at + 1;
    }
    if (!*text && *out >= 1 && *out <= 30 * 86400.0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "time expects a time from 1s to 720h, such as 90s, 30m or 1h30m, found '%s'",
                    att_quote(quoted, settings->time, strlen(settings->time)));
}

/* "600:900" at *text, which is moved behind it and a comma. */
static bool parse_piece(att_step_plan_piece *out, const char **text)
{
    int64_t *const numbers[] = { &out->from, &out->steps };
    for (int i = 0; i < 2; i++) {
        int digits = 0;
        for (*numbers[i] = 0; **text >= '0' && **text <= '9' && digits < 12; ++*text, digits++)
            *numbers[i] = 10 * *numbers[i] + (**text - '0');
        if (digits == 0 || (i == 0 && *(*text)++ != ':'))
            return false;
    }
    if (**text == ',')
        return *++*text != '\0';
    return **text == '\0';
}

att_status att_settings_step_plan(att_step_plan_piece out[ATT_MAX_STEP_PLAN], size_t *count,
                                  const att_settings *settings, att_error *err)
{
    const char *text = settings->step_plan ? settings->step_plan : "";
    bool valid = true;
    *count = 0;
    while (valid && *text) {
        att_step_plan_piece piece;
        const att_step_plan_piece *before = *count > 0 ? &out[*count - 1] : NULL;
        valid =
            *count < ATT_MAX_STEP_PLAN && parse_piece(&piece, &text) && piece.steps >= piece.from &&
            piece.steps > 0 &&
            (before ? piece.from > before->from && piece.from <= before->steps : piece.from == 0);
        if (valid)
            out[(*count)++] = piece;
    }
    if (valid && (*count == 0 || out[*count - 1].steps == settings->steps))
        return ATT_OK;
    char quoted[ATT_QUOTED_SIZE];
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "step-plan expects STEP:STEPS,… from step 0 on, ending in steps %lld, found "
                    "'%s'",
                    (long long)settings->steps,
                    att_quote(quoted, settings->step_plan, strlen(settings->step_plan)));
}

/* The tasks that read a format have its bit. */
static att_status check_format(const att_settings *settings, att_error *err)
{
    static const unsigned tasks[] = {
        [ATT_DATA_AUTO] = ATT_TASKS_ALL,
        [ATT_DATA_TSV] = ATT_TASKS_ALL,
        [ATT_DATA_CONLL] = ATT_TASKS_TAGGER,
        [ATT_DATA_SIGMORPHON] = ATT_TASKS_PAIR_FILES,
        [ATT_DATA_SCAN] = ATT_TASKS_PAIR_FILES | ATT_TASKS_CLASSIFIER,
        [ATT_DATA_CSV] = ATT_TASKS_ALL,
        [ATT_DATA_JSONL] = ATT_TASKS_ALL,
    };
    att_columns columns;
    ATT_TRY(att_settings_columns(&columns, settings, err));
    if (!(tasks[settings->format] >> settings->task & 1))
        return att_fail(err, ATT_BAD_INPUT, NULL, "format %s contradicts task %s: %s",
                        choice_of(settings, "format"), choice_of(settings, "task"),
                        att_task_specs[settings->task].data_source);
    if (columns.count == ATT_COLUMN_COUNT && !(ATT_TASKS_PAIR_FILES >> settings->task & 1))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "columns %s: task %s has no tags beside the text, expected two columns",
                        settings->columns, choice_of(settings, "task"));
    if (settings->format == ATT_DATA_SCAN && columns.count > 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "columns contradicts format scan: its lines have no columns");
    return ATT_OK;
}

att_status att_settings_check_format(att_settings *settings, const char *format, att_error *err)
{
    const char *const *names = att_setting_find("format")->choices;
    char quoted[ATT_QUOTED_SIZE];
    int index = 0;
    while (format && names[index] && strcmp(names[index], format) != 0)
        index++;
    if (format && !names[index])
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "format expects auto, tsv, conll, sigmorphon, scan, csv or jsonl, not '%s'",
                        att_quote(quoted, format, strlen(format)));
    if (format)
        settings->format = index;
    return check_format(settings, err);
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

/* ---- options of the command line against a config file */

static att_setting_origin origin_of(const att_settings *settings, const char *key)
{
    return (att_setting_origin)settings->origin[att_setting_spec_find(key)];
}

/* Whether `key` is from a config file and `other` from the command line. */
static bool is_overruled(const att_settings *settings, const char *key, const char *other)
{
    return origin_of(settings, key) == ATT_FROM_CONFIG &&
           origin_of(settings, other) == ATT_FROM_CALLER;
}

static void drop(att_settings *settings, const char *key)
{
    settings->origin[att_setting_spec_find(key)] = ATT_FROM_DEFAULT;
}

static void drop_other_architectures(att_settings *settings)
{
    if (origin_of(settings, "architecture") != ATT_FROM_CALLER)
        return;
    for (size_t i = 0; i < att_setting_spec_count; i++)
        if (settings->origin[i] == ATT_FROM_CONFIG &&
            !(att_setting_specs[i].scope.architectures >> settings->architecture & 1))
            settings->origin[i] = ATT_FROM_DEFAULT;
}

/* What check_vocabularies() and check_architecture() would refuse. */
static void drop_dependents(att_settings *settings)
{
    bool tokens_given = is_overruled(settings, "bpe-merges", "tokens") ||
                        is_overruled(settings, "bpe-merges", "source-tokens") ||
                        is_overruled(settings, "bpe-merges", "target-tokens");
    if (tokens_given && !any_tokens_are(settings, ATT_TOKENIZER_BPE))
        drop(settings, "bpe-merges");
    if (is_overruled(settings, "activation", "ffn-size") && settings->ffn_size == 0)
        drop(settings, "activation");
    if (is_overruled(settings, "conv-channels", "conv-layers") && settings->conv_layers == 0)
        drop(settings, "conv-channels");
    if (is_overruled(settings, "label-smoothing", "crf") && settings->crf)
        drop(settings, "label-smoothing");
}

/* Drops a key and those of the config file that need it: without source there is no target. */
static void drop_with_dependents(att_settings *settings, const char *key)
{
    drop(settings, key);
    for (size_t i = 0; i < ATT_COUNT(key_pairs); i++)
        if (key_pairs[i].required && strcmp(key_pairs[i].other, key) == 0 &&
            origin_of(settings, key_pairs[i].key) == ATT_FROM_CONFIG)
            drop(settings, key_pairs[i].key);
}

static void drop_excluded(att_settings *settings)
{
    for (size_t i = 0; i < ATT_COUNT(key_pairs); i++) {
        const key_pair *row = &key_pairs[i];
        if (!row->required && is_overruled(settings, row->key, row->other))
            drop_with_dependents(settings, row->key);
        else if (!row->required && is_overruled(settings, row->other, row->key))
            drop_with_dependents(settings, row->other);
    }
}

void att_settings_drop_overruled(att_settings *settings)
{
    drop_other_architectures(settings);
    for (size_t i = 0; i < ATT_COUNT(requirements); i++) {
        const requirement *row = &requirements[i];
        if (is_overruled(settings, row->key, row->other) &&
            !is_among(choice_of(settings, row->other), row->values))
            drop(settings, row->key);
    }
    drop_excluded(settings);
    drop_dependents(settings);
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
    double seconds;
    ATT_TRY(att_settings_seconds(&seconds, settings, err));
    att_step_plan_piece pieces[ATT_MAX_STEP_PLAN];
    size_t piece_count;
    ATT_TRY(att_settings_step_plan(pieces, &piece_count, settings, err));
    ATT_TRY(check_format(settings, err));
    return check_files(settings, err);
}
