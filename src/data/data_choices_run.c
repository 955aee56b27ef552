/* Choosing the size of a batch and of the model, copying, the length of the run and the width of
 * word vectors by the pairs; see data_choices.h. The rules and where they were measured are in
 * docs/training.md, "Chosen by the data". */
#include "base/error.h"
#include "base/minmax.h"
#include "base/string.h"
#include "data/data_choices.h"
#include "data/pair_reader.h"
#include "settings/setting_specs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MIN_STEPS = 200,     /* steps of an epoch below which batches are made smaller */
    MIN_BATCH = 512,     /* smaller ones waste the vector units */
    RUN_STEPS = 6000,    /* of a run: fewer learn too little, more overfit or take hours */
    MIN_EPOCHS = 24,     /* less and many pairs are hardly learned */
    MAX_EPOCHS = 100,    /* more and few pairs are learned by heart */
    MEDIUM_PAIRS = 5000, /* from here on a second layer pays */
    LARGE_PAIRS = 50000, /* from here on wider layers with less dropout do, and input feeding */
    COPY_PAIRS = 5000,   /* more pairs teach copying without a pointer */
    COPY_TOKENS = 1000,  /* of a line: longer ones would take minutes and say nothing new */
};

/* The least part of the target tokens that the source has too. */
static const double COPY_PART = 0.6;

/* Neither given nor chosen before, as the settings of the task translate are. */
static bool is_unset(const att_settings *settings, const char *key)
{
    return settings->origin[att_setting_spec_find(key)] < ATT_FROM_DATA;
}

static att_status choose_number(att_data *data, att_settings *settings, const char *key,
                                int64_t number, const char *reason, att_error *err)
{
    char value[32];
    snprintf(value, sizeof value, "%" PRId64, number);
    return att_data_choose(data, settings, key, value, reason, err);
}

/* ---- copying */

typedef struct copy_profile {
    int64_t read;                  /* pairs, with those that are not counted */
    int64_t pairs, tokens, copied; /* of the targets; those that their source has too */
    int64_t words;                 /* of the targets */
} copy_profile;

static bool has_token(const att_string *line, att_tokenizer_kind kind, const char *token,
                      size_t length)
{
    att_pretokenizer in = { .text = line->data, .length = line->length, .kind = kind };
    const char *other;
    size_t other_length;
    while (att_pretokenizer_next(&in, &other, &other_length))
        if (other_length == length && memcmp(other, token, length) == 0)
            return true;
    return false;
}

/* Whether the line has as many tokens at most. */
static bool has_at_most(const att_string *line, att_tokenizer_kind kind, int64_t limit)
{
    att_pretokenizer in = { .text = line->data, .length = line->length, .kind = kind };
    const char *token;
    size_t length;
    int64_t count = 0;
    while (count <= limit && att_pretokenizer_next(&in, &token, &length))
        count++;
    return count <= limit;
}

/* Lines that are too long are not trained on. */
static bool counts(const att_string lines[2], const att_settings *settings)
{
    int64_t limit =
        settings->max_length > 0 ? att_min_i64(settings->max_length, COPY_TOKENS) : COPY_TOKENS;
    return has_at_most(&lines[0], (att_tokenizer_kind)settings->source_tokens, limit) &&
           has_at_most(&lines[1], (att_tokenizer_kind)settings->target_tokens, limit);
}

static int64_t count_words(const att_string *line)
{
    att_pretokenizer in = { .text = line->data,
                            .length = line->length,
                            .kind = ATT_TOKENIZER_SPACE };
    const char *word;
    size_t length;
    int64_t count = 0;
    while (att_pretokenizer_next(&in, &word, &length))
        count++;
    return count;
}

/* Characters of sentences are in other sentences by chance: three words or more on average. */
static bool overlaps_by_chance(const copy_profile *profile, const att_settings *settings)
{
    return (settings->target_tokens == ATT_TOKENIZER_CHAR ||
            settings->target_tokens == ATT_TOKENIZER_CODEPOINT) &&
           profile->words >= 3 * profile->pairs;
}

static void count_copied(copy_profile *profile, const att_string *source, const att_string *target,
                         const att_settings *settings)
{
    att_pretokenizer in = { .text = target->data,
                            .length = target->length,
                            .kind = (att_tokenizer_kind)settings->target_tokens };
    const char *token;
    size_t length;
    profile->pairs++;
    profile->words += count_words(target);
    while (att_pretokenizer_next(&in, &token, &length)) {
        profile->tokens++;
        profile->copied +=
            has_token(source, (att_tokenizer_kind)settings->source_tokens, token, length);
    }
}

static att_status profile_copying(copy_profile *profile, att_pair_reader *pairs,
                                  const att_settings *settings, att_error *err)
{
    att_string lines[2] = { 0 };
    att_status status = ATT_OK;
    while (status == ATT_OK && att_pair_reader_next(pairs)) {
        bool valid = true;
        profile->read++;
        for (int side = 0; status == ATT_OK && side < 2; side++) {
            const att_line_view *line = &pairs->sides[side];
            valid = valid && att_line_valid_prefix(line->text, line->length) == line->length;
            if (valid)
                status = att_line_normalize_nfc(&lines[side], line->text, line->length,
                                                settings->lowercase, err);
        }
        if (status == ATT_OK && valid && counts(lines, settings))
            count_copied(profile, &lines[0], &lines[1], settings);
    }
    att_string_free(&lines[0]);
    att_string_free(&lines[1]);
    return status;
}

/* Subwords and whole lines are left out: hardly one of them is in both. Settings that contradict
 * copying, such as attention without weights, were given on purpose. */
static bool may_copy(const att_settings *settings)
{
    att_settings copying = *settings;
    copying.copy = true;
    return settings->task == ATT_TASK_PAIRS && att_settings_is_open(settings, "copy") &&
           !settings->init_from && settings->source_tokens == settings->target_tokens &&
           settings->source_tokens != ATT_TOKENIZER_BPE &&
           settings->source_tokens != ATT_TOKENIZER_LINE &&
           att_settings_check_copying(&copying, NULL) == ATT_OK;
}

att_status att_data_choose_copy(att_data *data, att_settings *settings, const att_pair_text *train,
                                att_error *err)
{
    if (!may_copy(settings))
        return ATT_OK;
    copy_profile profile = { 0 };
    att_pair_reader pairs;
    att_status status = att_pair_reader_start(&pairs, train, settings, COPY_PAIRS, err);
    if (status == ATT_OK)
        status = profile_copying(&profile, &pairs, settings, err);
    att_pair_reader_free(&pairs);
    ATT_TRY(status);
    if (profile.pairs < ATT_DATA_CHOICE_MIN_PAIRS || profile.read >= COPY_PAIRS ||
        (double)profile.copied < COPY_PART * (double)profile.tokens ||
        overlaps_by_chance(&profile, settings))
        return ATT_OK;
    char reason[128];
    snprintf(reason, sizeof reason,
             "only %" PRId64 " pairs, and %.0f %% of the target tokens are in their source",
             profile.pairs, 100 * (double)profile.copied / (double)profile.tokens);
    return att_data_choose(data, settings, "copy", "yes", reason, err);
}

/* ---- the batch, the model and the run */

static int64_t tokens_of_epoch(const att_corpus *train)
{
    return att_max_i64(train->stats.source.tokens, train->stats.target.tokens + train->pairs);
}

static att_status choose_batch(att_data *data, att_settings *settings, att_error *err)
{
    int64_t tokens = tokens_of_epoch(&data->train);
    int64_t batch = settings->batch_tokens, before = batch;
    if (!is_unset(settings, "batch-tokens"))
        return ATT_OK;
    while (batch / 2 >= MIN_BATCH && tokens < MIN_STEPS * batch)
        batch /= 2;
    if (batch == before)
        return ATT_OK;
    char reason[96];
    int64_t steps = att_ceil_div_i64(tokens, before);
    snprintf(reason, sizeof reason, "%" PRId64 " would make only about %" PRId64 " step%s an epoch",
             before, steps, steps == 1 ? "" : "s");
    return choose_number(data, settings, "batch-tokens", batch, reason, err);
}

/* Settings that determine the size; if one is given, the others keep their defaults. */
static const char *const size_keys[] = { "layers", "hidden-size", "embedding-size", "preset",
                                         "init-from" };

static bool is_size_open(const att_settings *settings)
{
    for (size_t i = 0; i < ATT_COUNT(size_keys); i++)
        if (!att_settings_is_open(settings, size_keys[i]))
            return false;
    return true;
}

static att_status choose_size(att_data *data, att_settings *settings, att_error *err)
{
    char reason[64];
    int64_t pairs = data->train.pairs;
    if (pairs < MEDIUM_PAIRS || settings->architecture != ATT_ARCHITECTURE_RNN ||
        !is_size_open(settings))
        return ATT_OK;
    snprintf(reason, sizeof reason, "%" PRId64 " pairs", pairs);
    ATT_TRY(choose_number(data, settings, "layers", 2, reason, err));
    if (pairs < LARGE_PAIRS)
        return ATT_OK;
    ATT_TRY(choose_number(data, settings, "hidden-size", 320, reason, err));
    return att_settings_is_open(settings, "dropout")
               ? att_data_choose(data, settings, "dropout", "0.3", reason, err)
               : ATT_OK;
}

/* Additive attention, whose context is an input of the next state too. A step takes longer. */
static att_status choose_attention(att_data *data, att_settings *settings, att_error *err)
{
    char reason[64];
    if (data->train.pairs < LARGE_PAIRS || settings->architecture != ATT_ARCHITECTURE_RNN ||
        !att_settings_is_open(settings, "init-from") ||
        !att_settings_is_open(settings, "attention") ||
        !att_settings_is_open(settings, "attention-context"))
        return ATT_OK;
    snprintf(reason, sizeof reason, "%" PRId64 " pairs", data->train.pairs);
    ATT_TRY(att_data_choose(data, settings, "attention", "additive", reason, err));
    return att_data_choose(data, settings, "attention-context", "both", reason, err);
}

/* Not in a time budget, which chooses them by the speed of the machine. */
static att_status choose_epochs(att_data *data, att_settings *settings, att_error *err)
{
    if (!is_unset(settings, "epochs") || settings->steps > 0 || settings->time)
        return ATT_OK;
    int64_t steps = att_ceil_div_i64(tokens_of_epoch(&data->train), settings->batch_tokens);
    int64_t epochs = att_ceil_div_i64(RUN_STEPS, steps);
    epochs = att_min_i64(att_max_i64(epochs, MIN_EPOCHS), MAX_EPOCHS);
    if (epochs == settings->epochs)
        return ATT_OK;
    char reason[96];
    snprintf(reason, sizeof reason, "about %" PRId64 " step%s an epoch, %" PRId64 " in all", steps,
             steps == 1 ? "" : "s", steps * epochs);
    return choose_number(data, settings, "epochs", epochs, reason, err);
}

att_status att_data_choose_run(att_data *data, att_settings *settings, att_error *err)
{
    if (settings->task != ATT_TASK_PAIRS || data->train.pairs < ATT_DATA_CHOICE_MIN_PAIRS)
        return ATT_OK;
    ATT_TRY(choose_batch(data, settings, err));
    ATT_TRY(choose_size(data, settings, err));
    ATT_TRY(choose_attention(data, settings, err));
    return choose_epochs(data, settings, err);
}

/* ---- word vectors */

static att_status set_vector_size(att_data *data, att_settings *settings, att_error *err)
{
    bool transformer = settings->architecture == ATT_ARCHITECTURE_TRANSFORMER;
    const char *key = transformer ? "hidden-size" : "embedding-size";
    int64_t size = transformer ? settings->hidden_size : settings->embedding_size;
    if (size == data->vectors.size)
        return ATT_OK;
    if (!att_settings_is_open(settings, key))
        return att_fail(err, ATT_BAD_INPUT, settings->vectors,
                        "has vectors of %" PRId64 " numbers, expected %" PRId64 " (%s)",
                        data->vectors.size, size, key);
    return choose_number(data, settings, key, data->vectors.size, "the width of the vectors", err);
}

att_status att_data_load_vectors(att_data *data, att_settings *settings, att_error *err)
{
    if (!settings->vectors || settings->resume)
        return ATT_OK;
    att_tokenizer_kind kind = att_vocab_tokenizer_kind(data->source_vocab);
    if (kind != ATT_TOKENIZER_WORD && kind != ATT_TOKENIZER_SPACE)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "vectors needs source-tokens word or space, found %s",
                        att_tokenizer_kind_names[kind]);
    ATT_TRY(att_word_vectors_load(&data->vectors, data->source_vocab, settings->vectors, err));
    return set_vector_size(data, settings, err);
}
