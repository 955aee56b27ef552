/* Choosing settings by the text of pairs: the kinds of tokens, and whether they are sentences; see
 * data_choices.h. The rules and where they were measured are in docs/training.md, "Chosen by the
 * data". */
#include "data/data_choices.h"

#include "base/error.h"
#include "base/string.h"
#include "base/string_set.h"
#include "data/data_choices_sentences.h"
#include "data/pair_reader.h"
#include "text/lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MIN_LINES = ATT_DATA_CHOICE_MIN_PAIRS,
    MAX_LINES = 20000,      /* more say nothing new */
    MIN_REPEATS = 10,       /* mean count of a word of a small lexicon; names occur once or twice */
    MAX_WORDS = 5000,       /* a larger lexicon has many rare words: subwords */
    MIN_SENTENCES = 1000,   /* fewer teach no subwords */
    MANY_SENTENCES = 10000, /* from here on a Transformer pays */
};

/* ---- what the lines of one side consist of */

/* The kinds of tokens that are compared. */
typedef enum counted_kind { CLUSTERS, CODES, WORDS, SPACED, COUNTED_KINDS } counted_kind;

static const att_tokenizer_kind tokenizers[COUNTED_KINDS] = {
    [CLUSTERS] = ATT_TOKENIZER_CHAR,
    [CODES] = ATT_TOKENIZER_CODEPOINT,
    [WORDS] = ATT_TOKENIZER_WORD,
    [SPACED] = ATT_TOKENIZER_SPACE,
};

typedef struct side_profile {
    int64_t lines;
    int64_t tokens[COUNTED_KINDS];
    att_string_set types[COUNTED_KINDS];
} side_profile;

static void free_profile(side_profile *profile)
{
    for (int kind = 0; kind < COUNTED_KINDS; kind++)
        att_string_set_free(&profile->types[kind]);
}

static att_status count_tokens(side_profile *profile, counted_kind kind, const att_string *line)
{
    att_pretokenizer in = { .text = line->data, .length = line->length, .kind = tokenizers[kind] };
    const char *token;
    size_t length, index;
    while (att_pretokenizer_next(&in, &token, &length)) {
        profile->tokens[kind]++;
        ATT_TRY(att_string_set_add(&profile->types[kind], token, length, &index));
    }
    return ATT_OK;
}

/* Lines that cannot be read are left out: reading them gives the error. */
static att_status count_line(side_profile *profile, const att_line_view *line, att_string *buffer,
                             bool lower, att_error *err)
{
    if (att_line_valid_prefix(line->text, line->length) < line->length)
        return ATT_OK;
    ATT_TRY(att_line_normalize_nfc(buffer, line->text, line->length, lower, err));
    profile->lines++;
    for (int kind = 0; buffer->length > 0 && kind < COUNTED_KINDS; kind++)
        if (count_tokens(profile, (counted_kind)kind, buffer) != ATT_OK)
            return att_fail_memory(err);
    return ATT_OK;
}

static att_status count_lines(side_profile *profile, att_pair_reader *pairs, bool is_target,
                              bool lower, att_error *err)
{
    att_string buffer = { 0 };
    att_status status = ATT_OK;
    while (status == ATT_OK && att_pair_reader_next(pairs))
        status = count_line(profile, &pairs->sides[is_target], &buffer, lower, err);
    att_string_free(&buffer);
    return status;
}

static att_status profile_side(side_profile *profile, const att_pair_text *text,
                               const att_settings *settings, bool is_target, att_error *err)
{
    att_pair_reader pairs;
    att_status status = att_pair_reader_start(&pairs, text, settings, MAX_LINES, err);
    if (status == ATT_OK)
        status = count_lines(profile, &pairs, is_target, settings->lowercase, err);
    att_pair_reader_free(&pairs);
    return status;
}

/* ---- the kind of tokens that suits them */

/* A few symbols or words that occur again and again, as in phonemes, commands and sentences; not
 * names, of which most occur once. */
static bool is_made_of_words(const side_profile *profile)
{
    return profile->tokens[SPACED] >= 2 * profile->lines &&
           profile->tokens[SPACED] >= MIN_REPEATS * (int64_t)profile->types[SPACED].count;
}

/* Several words a line, but most of them rare, or too few lines to tell: sentences of a small
 * corpus. Whether words, subwords or characters suit them better depends on more than can be seen
 * here. */
static bool looks_like_sentences(const side_profile *profile)
{
    return profile->tokens[SPACED] >= 3 * profile->lines && profile->lines > 0 &&
           (profile->lines < MIN_LINES || !is_made_of_words(profile));
}

/* Clusters of letters and marks are many more than letters and marks, as in Devanagari. */
static bool has_many_clusters(const side_profile *profile)
{
    return profile->types[CLUSTERS].count > 2 * profile->types[CODES].count;
}

typedef struct token_choice {
    att_tokenizer_kind kind;
    char reason[160];
} token_choice;

static token_choice choose_kind(const side_profile *profile)
{
    token_choice choice = { ATT_TOKENIZER_CHAR, "" };
    size_t words = profile->types[SPACED].count;
    if (profile->lines < MIN_LINES)
        return choice;
    if (is_made_of_words(profile)) {
        choice.kind = words > MAX_WORDS                                   ? ATT_TOKENIZER_BPE
                      : profile->tokens[WORDS] == profile->tokens[SPACED] ? ATT_TOKENIZER_SPACE
                                                                          : ATT_TOKENIZER_WORD;
        snprintf(choice.reason, sizeof choice.reason,
                 "%zu different words in %" PRId64 " lines of %.1f on average", words,
                 profile->lines, (double)profile->tokens[SPACED] / (double)profile->lines);
    } else if (has_many_clusters(profile)) {
        choice.kind = ATT_TOKENIZER_CODEPOINT;
        snprintf(choice.reason, sizeof choice.reason,
                 "%zu different characters of only %zu code points", profile->types[CLUSTERS].count,
                 profile->types[CODES].count);
    }
    return choice;
}

/* ---- setting them */

att_status att_data_choose(att_data *data, att_settings *settings, const char *key,
                           const char *value, const char *reason, att_error *err)
{
    ATT_TRY(att_settings_set_from(settings, key, value, ATT_FROM_DATA, err));
    if (att_string_printf(&data->choices, "%-12s%s %s: %s\n", "chosen", key, value, reason) !=
        ATT_OK)
        return att_fail_memory(err);
    return ATT_OK;
}

static att_status hint_at_words(att_data *data, const char *key, const side_profile *profile,
                                att_error *err)
{
    if (!looks_like_sentences(profile))
        return ATT_OK;
    const char *instead = profile->lines < MIN_LINES ? "word (or space)" : "bpe (or word)";
    if (att_string_printf(
            &data->choices, "%-12s%.1f words a line: try %s %s instead of characters\n", "hint",
            (double)profile->tokens[SPACED] / (double)profile->lines, key, instead) != ATT_OK)
        return att_fail_memory(err);
    return ATT_OK;
}

/* Sentences of a language: most of many words are rare. */
static bool has_rare_words(const side_profile *profile)
{
    return profile->lines >= MIN_SENTENCES && profile->tokens[SPACED] >= 3 * profile->lines &&
           (!is_made_of_words(profile) || profile->types[SPACED].count > MAX_WORDS);
}

static double words_per_line(const side_profile *profile)
{
    return (double)profile->tokens[SPACED] / (double)profile->lines;
}

/* The default is `char`. */
static att_status set_tokens(att_data *data, att_settings *settings, const char *key,
                             const side_profile *profile, att_error *err)
{
    token_choice choice = choose_kind(profile);
    if (choice.kind != ATT_TOKENIZER_CHAR)
        ATT_TRY(att_data_choose(data, settings, key, att_tokenizer_kind_names[choice.kind],
                                choice.reason, err));
    return hint_at_words(data, key, profile, err);
}

/* With one vocabulary, a side whose tokens are not given has those of the other. */
static att_status choose_same(att_data *data, att_settings *settings, bool is_target,
                              att_error *err)
{
    int kind = is_target ? settings->source_tokens : settings->target_tokens;
    return att_data_choose(data, settings, is_target ? "target-tokens" : "source-tokens",
                           att_tokenizer_kind_names[kind], "joint with the other side", err);
}

/* One vocabulary for both sides: both are looked at together. */
static att_status choose_joint(att_data *data, att_settings *settings, const att_pair_text *train,
                               att_error *err)
{
    side_profile profile = { 0 };
    att_status status = profile_side(&profile, train, settings, false, err);
    if (status == ATT_OK)
        status = profile_side(&profile, train, settings, true, err);
    if (status == ATT_OK)
        status = set_tokens(data, settings, "source-tokens", &profile, err);
    if (status == ATT_OK)
        status = set_tokens(data, settings, "target-tokens", &profile, err);
    free_profile(&profile);
    return status;
}

/* Many sentences are trained as the task translate does, few by an RNN on subwords. */
static att_status choose_sentences(att_data *data, att_settings *settings,
                                   const side_profile *source, const side_profile *target,
                                   att_error *err)
{
    char reason[96];
    snprintf(reason, sizeof reason, "sentences of %.1f and %.1f words, most of them rare",
             words_per_line(source), words_per_line(target));
    if (source->lines >= MANY_SENTENCES)
        return att_data_choose_translate(data, settings, reason, err);
    ATT_TRY(att_data_choose(data, settings, "source-tokens", "bpe", reason, err));
    ATT_TRY(att_data_choose(data, settings, "target-tokens", "bpe", reason, err));
    if (!att_settings_is_open(settings, "bpe-merges"))
        return ATT_OK;
    snprintf(reason, sizeof reason, "%" PRId64 " sentences", source->lines);
    return att_data_choose(data, settings, "bpe-merges", "2000", reason, err);
}

static att_status choose_by_profiles(att_data *data, att_settings *settings,
                                     const side_profile *source, const side_profile *target,
                                     att_error *err)
{
    bool source_open = att_settings_is_open(settings, "source-tokens");
    bool target_open = att_settings_is_open(settings, "target-tokens");
    if (source_open && target_open && has_rare_words(source) && has_rare_words(target))
        return choose_sentences(data, settings, source, target, err);
    if (source_open)
        ATT_TRY(set_tokens(data, settings, "source-tokens", source, err));
    return target_open ? set_tokens(data, settings, "target-tokens", target, err) : ATT_OK;
}

static att_status choose_separate(att_data *data, att_settings *settings,
                                  const att_pair_text *train, att_error *err)
{
    side_profile source = { 0 }, target = { 0 };
    att_status status = profile_side(&source, train, settings, false, err);
    if (status == ATT_OK)
        status = profile_side(&target, train, settings, true, err);
    if (status == ATT_OK)
        status = choose_by_profiles(data, settings, &source, &target, err);
    free_profile(&source);
    free_profile(&target);
    return status;
}

att_status att_data_choose_tokens(att_data *data, att_settings *settings,
                                  const att_pair_text *train, att_error *err)
{
    bool source = att_settings_is_open(settings, "source-tokens");
    bool target = att_settings_is_open(settings, "target-tokens");
    if (settings->task != ATT_TASK_PAIRS || (!source && !target))
        return ATT_OK;
    if (!settings->joint)
        return choose_separate(data, settings, train, err);
    if (source && target)
        return choose_joint(data, settings, train, err);
    return settings->source_tokens == settings->target_tokens
               ? ATT_OK
               : choose_same(data, settings, target, err);
}
