/* Generating string pairs; see synthetic_strings.h. */
#include "data/synthetic_strings.h"

#include "base/error.h"
#include "base/progress.h"
#include "base/quote.h"
#include "base/random.h"
#include "text/pretokenizer.h"
#include "base/string_set.h"

#include <string.h>

enum { MAX_CHARACTERS = 1000, MAX_LENGTH = 1000 };

typedef struct character {
    const char *text;
    size_t length;
} character;

typedef struct string_task {
    const att_settings *settings;
    att_string alphabet; /* normalized; `characters` point into it */
    character characters[MAX_CHARACTERS];
    int64_t character_count;
    att_string_set used_strings;
    att_string source;
    int64_t sample[MAX_LENGTH]; /* the last string: indices of characters */
    int64_t length;
    att_error *err;
} string_task;

/* ---- the alphabet */

static att_status refuse_character(string_task *in, size_t i, const char *why)
{
    char quoted[ATT_QUOTED_SIZE];
    return att_fail(in->err, ATT_BAD_INPUT, NULL, "alphabet: '%s' %s",
                    att_quote(quoted, in->characters[i].text, in->characters[i].length), why);
}

static bool same(const character *a, const character *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* Whether two characters merge side by side, as regional indicators and marks may. */
static att_status check_merge(bool *out, const character *a, const character *b,
                              att_string *scratch)
{
    scratch->length = 0;
    ATT_TRY(att_string_append(scratch, a->text, a->length));
    ATT_TRY(att_string_append(scratch, b->text, b->length));
    att_pretokenizer splitter = { .text = scratch->data, .length = scratch->length };
    const char *token;
    size_t length;
    *out = !att_pretokenizer_next(&splitter, &token, &length) || length != a->length;
    return ATT_OK;
}

static att_status check_characters(string_task *in)
{
    for (int64_t i = 0; i < in->character_count; i++)
        for (int64_t j = 0; j < in->character_count; j++) {
            if (i < j && same(&in->characters[i], &in->characters[j]))
                return refuse_character(in, (size_t)i, "occurs twice");
            bool merge;
            if (check_merge(&merge, &in->characters[i], &in->characters[j], &in->source) != ATT_OK)
                return att_fail_memory(in->err);
            if (merge)
                return refuse_character(in, (size_t)j, "merges with the character before it");
        }
    return ATT_OK;
}

static att_status read_alphabet(string_task *in)
{
    const char *alphabet = in->settings->alphabet;
    ATT_TRY(att_line_validate(alphabet, strlen(alphabet), in->err));
    ATT_TRY(att_line_normalize_nfc(&in->alphabet, alphabet, strlen(alphabet), false, in->err));
    att_pretokenizer splitter = { .text = in->alphabet.data, .length = in->alphabet.length };
    character one;
    while (att_pretokenizer_next(&splitter, &one.text, &one.length)) {
        if (in->character_count == MAX_CHARACTERS)
            return att_fail(in->err, ATT_BAD_INPUT, NULL, "alphabet has more than %d characters",
                            MAX_CHARACTERS);
        in->characters[in->character_count++] = one;
        if ((unsigned char)one.text[0] <= ' ')
            return refuse_character(in, (size_t)in->character_count - 1,
                                    "is white space or a control character");
    }
    if (in->character_count == 0)
        return att_fail(in->err, ATT_BAD_INPUT, NULL, "alphabet has no characters");
    return check_characters(in);
}

/* ---- one string */

static void sample_string(string_task *in, uint64_t attempt)
{
    const att_settings *settings = in->settings;
    uint64_t seed = (uint64_t)settings->data_seed, stream = ATT_STREAM_SYNTHETIC_STRINGS + attempt;
    uint64_t lengths = (uint64_t)(settings->max_string_length - settings->min_string_length + 1);
    in->length =
        settings->min_string_length + (int64_t)(att_random_bits(seed, stream, 0) * lengths >> 32);
    for (int64_t i = 0; i < in->length; i++)
        in->sample[i] = (int64_t)(att_random_bits(seed, stream, (uint64_t)i + 1) *
                                      (uint64_t)in->character_count >>
                                  32);
}

static void reverse(int64_t *characters, int64_t length)
{
    for (int64_t i = 0; i < length / 2; i++) {
        int64_t other = characters[length - 1 - i];
        characters[length - 1 - i] = characters[i];
        characters[i] = other;
    }
}

static void copy(int64_t *characters, int64_t length)
{
    (void)characters;
    (void)length;
}

/* Sorts by the order of the alphabet. */
static void sort(int64_t *characters, int64_t length)
{
    for (int64_t i = 1; i < length; i++) {
        int64_t one = characters[i], place = i;
        for (; place > 0 && characters[place - 1] > one; place--)
            characters[place] = characters[place - 1];
        characters[place] = one;
    }
}

static void (*const transforms[])(int64_t *characters, int64_t length) = {
    [ATT_TASK_REVERSE] = reverse,
    [ATT_TASK_COPY] = copy,
    [ATT_TASK_SORT] = sort,
};

static att_status write_sample(const string_task *in, att_string *out)
{
    for (int64_t i = 0; i < in->length; i++) {
        const character *one = &in->characters[in->sample[i]];
        ATT_TRY(att_string_append(out, one->text, one->length));
    }
    return ATT_OK;
}

static att_status add_line(string_task *in, att_string *out)
{
    ATT_TRY(att_string_append(out, in->source.data, in->source.length));
    ATT_TRY(att_string_append(out, "\t", 1));
    transforms[in->settings->task](in->sample, in->length);
    ATT_TRY(write_sample(in, out));
    return att_string_append(out, "\n", 1);
}

/* ---- datasets */

/* The number of different strings, at most 1e18. */
static double count_possible(const string_task *in)
{
    double total = 0, of_length = 1;
    for (int64_t length = 1; length <= in->settings->max_string_length && total < 1e18; length++) {
        of_length *= (double)in->character_count;
        if (length >= in->settings->min_string_length)
            total += of_length;
    }
    return total < 1e18 ? total : 1e18;
}

static att_status check_counts(const string_task *in, int64_t wanted)
{
    double possible = count_possible(in);
    if ((double)wanted * 2 <= possible)
        return ATT_OK;
    char quoted[ATT_QUOTED_SIZE];
    return att_fail(in->err, ATT_BAD_INPUT, NULL,
                    "train-count and valid-count ask for %lld different strings, more than half of "
                    "all: alphabet '%s' has %.0f strings of %lld to %lld characters",
                    (long long)wanted,
                    att_quote(quoted, in->settings->alphabet, strlen(in->settings->alphabet)),
                    possible, (long long)in->settings->min_string_length,
                    (long long)in->settings->max_string_length);
}

/* Short strings are few and soon used up, so a random number decides for each string whether it is
 * for training or for validation; else the corpus that is filled first would get all of them. */
static att_status sample_all(string_task *in, att_string *train, att_string *valid)
{
    const att_settings *settings = in->settings;
    int64_t left[] = { settings->train_count, settings->valid_count };
    double part = (double)left[1] / (double)(left[0] + left[1]);
    for (uint64_t attempt = 0; left[0] + left[1] > 0; attempt++) {
        if (attempt % 1024 == 0)
            ATT_TRY(att_progress_check(in->err));
        sample_string(in, attempt);
        in->source.length = 0;
        if (write_sample(in, &in->source) != ATT_OK)
            return att_fail_memory(in->err);
        if (att_string_set_find(&in->used_strings, in->source.data, in->source.length) >= 0)
            continue;
        bool to_valid = att_random_double((uint64_t)settings->data_seed, ATT_STREAM_SYNTHETIC_SPLIT,
                                          attempt) < part;
        if (left[to_valid] == 0)
            continue;
        size_t index;
        if (att_string_set_add(&in->used_strings, in->source.data, in->source.length, &index) !=
                ATT_OK ||
            add_line(in, to_valid ? valid : train) != ATT_OK)
            return att_fail_memory(in->err);
        left[to_valid]--;
    }
    return ATT_OK;
}

static att_status generate(string_task *in, att_string *train, att_string *valid)
{
    ATT_TRY(read_alphabet(in));
    ATT_TRY(check_counts(in, in->settings->train_count + in->settings->valid_count));
    return sample_all(in, train, valid);
}

att_status att_task_generate(att_string *train, att_string *valid, const att_settings *settings,
                             att_error *err)
{
    string_task in = { .settings = settings, .err = err };
    att_status status = generate(&in, train, valid);
    att_string_set_free(&in.used_strings);
    att_string_free(&in.alphabet);
    att_string_free(&in.source);
    return status;
}
