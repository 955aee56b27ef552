/* Choosing settings by the data; see data_choices.h. The rules and where they were measured are in
 * docs/training.md, "Chosen by the data". */
#include "data/data_choices.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/string.h"
#include "base/string_set.h"
#include "data/data_loaders.h"
#include "data/example_reader.h"
#include "text/lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MIN_LINES = 100,   /* fewer lines say too little */
    MAX_LINES = 20000, /* more say nothing new */
    MIN_REPEATS = 10,  /* mean count of a word of a small lexicon; names occur once or twice */
    MAX_WORDS = 5000,  /* a larger lexicon has many rare words: subwords */
    MIN_STEPS = 200,   /* steps of an epoch below which batches are made smaller */
    MIN_BATCH = 512,   /* smaller ones waste the vector units */
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
static att_status count_line(side_profile *profile, const char *text, size_t length,
                             att_string *buffer, bool lower, att_error *err)
{
    if (att_line_valid_prefix(text, length) < length)
        return ATT_OK;
    ATT_TRY(att_line_normalize_nfc(buffer, text, length, lower, err));
    profile->lines++;
    for (int kind = 0; buffer->length > 0 && kind < COUNTED_KINDS; kind++)
        if (count_tokens(profile, (counted_kind)kind, buffer) != ATT_OK)
            return att_fail_memory(err);
    return ATT_OK;
}

static att_status profile_lines(side_profile *profile, const att_string *text, bool lower,
                                att_error *err)
{
    att_line_reader lines = att_line_reader_start(text->data, text->length);
    att_line_view line;
    att_string buffer = { 0 };
    att_status status = ATT_OK;
    for (int64_t n = 0; status == ATT_OK && n < MAX_LINES && att_line_reader_next(&lines, &line);
         n++)
        status = count_line(profile, line.text, line.length, &buffer, lower, err);
    att_string_free(&buffer);
    return status;
}

/* Stops at an example that cannot be read: reading the data gives the error. */
static att_status profile_examples(side_profile *profile, att_example_reader *examples, int side,
                                   bool lower, att_error *err)
{
    att_string buffer = { 0 };
    att_status status = ATT_OK;
    bool found = true;
    for (int64_t n = 0; status == ATT_OK && n < MAX_LINES; n++) {
        if (att_example_reader_next(examples, &found, NULL) != ATT_OK || !found)
            break;
        if (examples->sides[ATT_COLUMN_SOURCE].length == 0 &&
            examples->sides[ATT_COLUMN_TARGET].length == 0)
            continue;
        status = count_line(profile, examples->sides[side].text, examples->sides[side].length,
                            &buffer, lower, err);
    }
    att_string_free(&buffer);
    return status;
}

static att_status profile_side(side_profile *profile, const att_pair_text *pairs,
                               const att_settings *settings, bool is_target, att_error *err)
{
    if (!pairs->tsv.name)
        return profile_lines(profile, is_target ? &pairs->target.text : &pairs->source.text,
                             settings->lowercase, err);
    att_example_format format;
    att_example_reader examples;
    ATT_TRY(att_data_example_format(&format, settings, err));
    att_status status = att_example_reader_start(&examples, &pairs->tsv, &format, err);
    if (status == ATT_OK)
        status =
            profile_examples(profile, &examples, is_target ? ATT_COLUMN_TARGET : ATT_COLUMN_SOURCE,
                             settings->lowercase, err);
    att_example_reader_free(&examples);
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

/* Several words a line, but most of them rare: sentences of a small corpus. Whether words, subwords
 * or characters suit them better depends on more than can be seen here. */
static bool looks_like_sentences(const side_profile *profile)
{
    return profile->lines >= MIN_LINES && !is_made_of_words(profile) &&
           profile->tokens[SPACED] >= 3 * profile->lines;
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

static att_status set(att_data *data, att_settings *settings, const char *key, const char *value,
                      const char *reason, att_error *err)
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
    if (att_string_printf(
            &data->choices, "%-12s%.1f words a line: try %s bpe (or word) instead of characters\n",
            "hint", (double)profile->tokens[SPACED] / (double)profile->lines, key) != ATT_OK)
        return att_fail_memory(err);
    return ATT_OK;
}

/* The default is `char`. */
static att_status set_tokens(att_data *data, att_settings *settings, const char *key,
                             const side_profile *profile, att_error *err)
{
    token_choice choice = choose_kind(profile);
    if (choice.kind != ATT_TOKENIZER_CHAR)
        ATT_TRY(
            set(data, settings, key, att_tokenizer_kind_names[choice.kind], choice.reason, err));
    return hint_at_words(data, key, profile, err);
}

static att_status choose_joint(att_data *data, att_settings *settings, const att_pair_text *train,
                               side_profile *profile, att_error *err)
{
    for (int target = 0; target < 2; target++)
        ATT_TRY(profile_side(profile, train, settings, target, err));
    ATT_TRY(set_tokens(data, settings, "source-tokens", profile, err));
    return set_tokens(data, settings, "target-tokens", profile, err);
}

static att_status choose_side(att_data *data, att_settings *settings, const att_pair_text *train,
                              bool is_target, att_error *err)
{
    static const char *const keys[] = { "source-tokens", "target-tokens" };
    const char *key = keys[is_target];
    if (!att_settings_is_open(settings, key))
        return ATT_OK;
    side_profile profile = { 0 };
    att_status status = profile_side(&profile, train, settings, is_target, err);
    if (status == ATT_OK)
        status = set_tokens(data, settings, key, &profile, err);
    free_profile(&profile);
    return status;
}

/* With one vocabulary, a side whose tokens are not given has those of the other. */
static att_status choose_same(att_data *data, att_settings *settings, bool is_target,
                              att_error *err)
{
    int kind = is_target ? settings->source_tokens : settings->target_tokens;
    return set(data, settings, is_target ? "target-tokens" : "source-tokens",
               att_tokenizer_kind_names[kind], "joint with the other side", err);
}

att_status att_data_choose_tokens(att_data *data, att_settings *settings,
                                  const att_pair_text *train, att_error *err)
{
    bool source = att_settings_is_open(settings, "source-tokens");
    bool target = att_settings_is_open(settings, "target-tokens");
    if (settings->task != ATT_TASK_PAIRS)
        return ATT_OK;
    if (!settings->joint) {
        ATT_TRY(choose_side(data, settings, train, false, err));
        return choose_side(data, settings, train, true, err);
    }
    if (source != target)
        return settings->source_tokens == settings->target_tokens
                   ? ATT_OK
                   : choose_same(data, settings, target, err);
    side_profile profile = { 0 };
    att_status status = source ? choose_joint(data, settings, train, &profile, err) : ATT_OK;
    free_profile(&profile);
    return status;
}

att_status att_data_choose_batch(att_data *data, att_settings *settings, att_error *err)
{
    const att_corpus *train = &data->train;
    if (settings->task != ATT_TASK_PAIRS || train->pairs < MIN_LINES ||
        !att_settings_is_open(settings, "batch-tokens"))
        return ATT_OK;
    int64_t tokens =
        att_max_i64(train->stats.source.tokens, train->stats.target.tokens + train->pairs);
    int64_t batch = settings->batch_tokens, before = batch;
    while (batch / 2 >= MIN_BATCH && tokens < MIN_STEPS * batch)
        batch /= 2;
    if (batch == before)
        return ATT_OK;
    char value[32], reason[96];
    snprintf(value, sizeof value, "%" PRId64, batch);
    snprintf(reason, sizeof reason, "%" PRId64 " would make only about %" PRId64 " steps an epoch",
             before, att_ceil_div_i64(tokens, before));
    return set(data, settings, "batch-tokens", value, reason, err);
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
    char value[32];
    snprintf(value, sizeof value, "%" PRId64, data->vectors.size);
    return set(data, settings, key, value, "the width of the vectors", err);
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
