/* Which settings contradict each other. What was not given contradicts nothing: defaults follow
 * from what was. */
#include "settings/settings.h"

#include "base/error.h"
#include "base/text.h"
#include "settings/rows.h"

#include <string.h>

/* A key that, when given, needs another to have one of certain words. */
typedef struct need {
    const char *key;
    const char *other;
    const char *words; /* "adam adamw" */
    const char *why;   /* what is true otherwise */
} need;

#define SCORED "dot scaled general additive concat location local coverage"

static const need needs[] = {
    { "normaliser", "attention", SCORED, "there are no weights to normalise" },
    { "feed", "attention", "fixed " SCORED, "there is no context to feed" },
    { "window", "attention", "local", "only local attention has a window" },
    { "picture-start", "attention", "fixed " SCORED, "the start is all that the decoder sees" },
    { "align", "attention", SCORED, "there are no weights to teach" },
    { "positions-join", "positions", "sinusoidal learned", "there are no positions to join" },
    { "pool-score", "pool", "attention", "only pool attention has scores" },
    { "pool-heads", "pool", "attention", "only pool attention has heads" },
    { "momentum", "optimiser", "sgd", "only sgd has momentum" },
    { "beta1", "optimiser", "adam adamw", "only adam and adamw have it" },
    { "beta2", "optimiser", "adam adamw", "only adam and adamw have it" },
    { "rho", "optimiser", "adadelta", "only adadelta has it" },
    { "epsilon", "optimiser", "adam adamw adadelta", "sgd divides by nothing" },
    { "least-rate", "schedule", "cosine plateau", "only cosine and plateau have a least rate" },
    { "plateau-factor", "schedule", "plateau", "only plateau has it" },
    { "plateau-patience", "schedule", "plateau", "only plateau has it" },
};

/* Pairs of keys: of some both must be given, of others one at most. */
typedef struct couple {
    const char *key;
    const char *other;
    bool together; /* the first needs the second; else it excludes it */
} couple;

static const couple couples[] = {
    { "source", "target", true },
    { "target", "source", true },
    { "valid-source", "valid-target", true },
    { "valid-target", "valid-source", true },
    { "train", "source", false },
    { "valid", "valid-source", false },
    { "hold-out", "valid", false },
    { "hold-out", "valid-source", false },
    { "align-weight", "align", true },
    { "own-from", "own", true },
    { "valid-features", "valid", true },
};

static att_status value_of(att_text *out, const att_settings *settings, const char *key,
                           att_error *err)
{
    out->length = 0;
    ATT_TRY(att_settings_get(out, settings, key, err));
    return att_text_add(out, "", 0) == ATT_OK ? ATT_OK : att_fail_memory(err);
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

static att_status check_need(const att_settings *settings, const need *row, att_text *scratch,
                             att_error *err)
{
    if (!att_settings_given(settings, row->key))
        return ATT_OK;
    ATT_TRY(value_of(scratch, settings, row->other, err));
    if (is_among(scratch->data, row->words))
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL, "%s contradicts %s %s: %s", row->key, row->other,
                    scratch->data, row->why);
}

static att_status check_couple(const att_settings *settings, const couple *row, att_error *err)
{
    if (!att_settings_given(settings, row->key) ||
        att_settings_given(settings, row->other) == row->together)
        return ATT_OK;
    if (row->together)
        return att_fail(err, ATT_BAD_INPUT, NULL, "%s needs %s beside it", row->key, row->other);
    return att_fail(err, ATT_BAD_INPUT, NULL, "%s and %s exclude each other", row->key, row->other);
}

static const char *word_of(const char *key, int value)
{
    return att_rows[att_row_find(key)].shown.words[value];
}

/* The first family of several. */
static int first_of(unsigned families)
{
    int family = 0;
    while (!(families >> family & 1))
        family++;
    return family;
}

/* Refuses what was given for another task or another family. */
static att_status check_concerns(const att_settings *settings, att_error *err)
{
    for (size_t i = 0; i < att_row_count; i++) {
        const att_row *row = &att_rows[i];
        if (settings->origin[i] < ATT_FROM_CONFIG)
            continue;
        if (!(row->concerns.tasks >> settings->task & 1))
            return att_fail(err, ATT_BAD_INPUT, NULL, "%s contradicts task %s: %s", row->shown.key,
                            word_of("task", settings->task), att_task_rows[settings->task].data);
        if (!(row->concerns.families >> settings->family & 1))
            return att_fail(err, ATT_BAD_INPUT, NULL, "%s contradicts family %s: it belongs to %s",
                            row->shown.key, word_of("family", settings->family),
                            word_of("family", first_of(row->concerns.families)));
    }
    return ATT_OK;
}

static att_status check_vocabularies(const att_settings *settings, att_error *err)
{
    if (settings->joint && settings->source_tokens != settings->target_tokens)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "joint needs source-tokens and target-tokens to be the same");
    bool text = att_settings_kind(settings) == ATT_KIND_TEXT;
    if (att_settings_given(settings, "subwords") && settings->source_tokens != ATT_TOKENS_SUBWORD &&
        settings->target_tokens != ATT_TOKENS_SUBWORD && settings->tokens != ATT_TOKENS_SUBWORD)
        return att_fail(err, ATT_BAD_INPUT, NULL, "subwords needs %s to be subword",
                        text ? "tokens" : "source-tokens or target-tokens");
    bool bytes = text ? settings->tokens == ATT_TOKENS_BYTE
                      : settings->source_tokens == ATT_TOKENS_BYTE ||
                            settings->target_tokens == ATT_TOKENS_BYTE;
    if (bytes && settings->lower)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "lower contradicts bytes, which have no capitals");
    return ATT_OK;
}

static att_status check_pictures(const att_settings *settings, att_error *err)
{
    if (settings->task == ATT_TASK_CAPTION && !settings->features && !settings->resume)
        return att_fail(err, ATT_BAD_INPUT, NULL, "task caption needs %s",
                        att_task_rows[settings->task].lacks);
    if (att_settings_given(settings, "channels") && settings->convolutions == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "channels contradicts convolutions 0: there is nothing to have them");
    return ATT_OK;
}

static att_status check_numbers(const att_settings *settings, att_error *err)
{
    if (att_settings_given(settings, "activation") && settings->feed_forward == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "activation contradicts feed-forward 0: there is nothing to activate");
    if (settings->best_by == ATT_BEST_BY_BLEU && att_settings_kind(settings) == ATT_KIND_LABEL)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "best-by bleu contradicts task %s: labels are no text to compare",
                        word_of("task", settings->task));
    if (settings->family == ATT_FAMILY_CONVOLUTION && att_settings_kind(settings) != ATT_KIND_LABEL)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "family convolution contradicts task %s: it sorts sentences, and nothing "
                        "else",
                        word_of("task", settings->task));
    if (settings->least_window > settings->most_window)
        return att_fail(err, ATT_BAD_INPUT, NULL, "least-window %lld exceeds most-window %lld",
                        (long long)settings->least_window, (long long)settings->most_window);
    if (settings->least_length > settings->most_length)
        return att_fail(err, ATT_BAD_INPUT, NULL, "least-length %lld exceeds most-length %lld",
                        (long long)settings->least_length, (long long)settings->most_length);
    if (settings->least_rate > settings->rate)
        return att_fail(err, ATT_BAD_INPUT, NULL, "least-rate %g exceeds rate %g",
                        settings->least_rate, settings->rate);
    const char *lacks = att_task_rows[settings->task].lacks;
    if (lacks && !settings->train && !settings->source && !settings->resume)
        return att_fail(err, ATT_BAD_INPUT, NULL, "task %s needs %s",
                        word_of("task", settings->task), lacks);
    return check_pictures(settings, err);
}

static att_status check_tables(const att_settings *settings, att_text *scratch, att_error *err)
{
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        ATT_TRY(check_need(settings, &needs[i], scratch, err));
    for (size_t i = 0; i < sizeof couples / sizeof *couples; i++)
        ATT_TRY(check_couple(settings, &couples[i], err));
    return ATT_OK;
}

att_status att_settings_check(const att_settings *settings, att_error *err)
{
    att_text scratch = { 0 };
    att_status status = check_concerns(settings, err);
    if (status == ATT_OK)
        status = check_tables(settings, &scratch, err);
    att_text_free(&scratch);
    if (status == ATT_OK)
        status = check_vocabularies(settings, err);
    return status == ATT_OK ? check_numbers(settings, err) : status;
}
