/* Tasks made up; see tasks.h. */
#include "text/tasks.h"

#include "base/error.h"
#include "base/quote.h"
#include "base/random.h"
#include "text/tokens.h"
#include "text/vocab_words.h"

#include <string.h>

enum { MOST_LETTERS = 1000, MOST_LENGTH = 1000 };

/* Strings are drawn from streams of their own, counted from these. */
#define LETTERS_STREAM (UINT64_C(1) << 40)
#define SIDE_STREAM    (UINT64_C(1) << 41)

typedef struct letter {
    const char *text;
    size_t length;
} letter;

typedef struct making {
    const att_settings *settings;
    att_text alphabet; /* composed; letters point into it */
    letter letters[MOST_LETTERS];
    int64_t letter_count;
    att_vocab *seen; /* the strings that were taken */
    att_text source;
    int64_t drawn[MOST_LENGTH]; /* the string drawn last: numbers of letters */
    int64_t length;
    att_error *err;
} making;

/* ---- the alphabet */

static att_status refuse_letter(making *in, size_t i, const char *why)
{
    char quoted[ATT_QUOTED];
    return att_fail(in->err, ATT_BAD_INPUT, NULL, "alphabet: '%s' %s",
                    att_quote(quoted, in->letters[i].text, in->letters[i].length), why);
}

static bool same(const letter *a, const letter *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* Whether two letters stay two when they stand side by side: flags and marks may merge. */
static bool stay_apart(const letter *a, const letter *b, att_text *scratch)
{
    scratch->length = 0;
    if (att_text_add(scratch, a->text, a->length) != ATT_OK ||
        att_text_add(scratch, b->text, b->length) != ATT_OK)
        return true; /* the strings will not fit into memory either */
    att_splitter splitter = { .text = scratch->data, .length = scratch->length };
    const char *token;
    size_t length;
    return att_split_next(&splitter, &token, &length) && length == a->length;
}

static att_status check_letters(making *in)
{
    for (int64_t i = 0; i < in->letter_count; i++)
        for (int64_t j = 0; j < in->letter_count; j++) {
            if (i < j && same(&in->letters[i], &in->letters[j]))
                return refuse_letter(in, (size_t)i, "is there twice");
            if (!stay_apart(&in->letters[i], &in->letters[j], &in->source))
                return refuse_letter(in, (size_t)j, "merges with the letter before it");
        }
    return ATT_OK;
}

static att_status read_alphabet(making *in)
{
    const char *alphabet = in->settings->alphabet;
    ATT_TRY(att_line_check(alphabet, strlen(alphabet), in->err));
    ATT_TRY(att_line_compose(&in->alphabet, alphabet, strlen(alphabet), false, in->err));
    att_splitter splitter = { .text = in->alphabet.data, .length = in->alphabet.length };
    letter one;
    while (att_split_next(&splitter, &one.text, &one.length)) {
        if (in->letter_count == MOST_LETTERS)
            return att_fail(in->err, ATT_BAD_INPUT, NULL, "alphabet has more than %d letters",
                            MOST_LETTERS);
        in->letters[in->letter_count++] = one;
        if ((unsigned char)one.text[0] <= ' ')
            return refuse_letter(in, (size_t)in->letter_count - 1, "is no letter");
    }
    if (in->letter_count == 0)
        return att_fail(in->err, ATT_BAD_INPUT, NULL, "alphabet has no letters");
    return check_letters(in);
}

/* ---- one string */

static void draw(making *in, uint64_t attempt)
{
    const att_settings *settings = in->settings;
    uint64_t seed = (uint64_t)settings->data_seed, stream = LETTERS_STREAM + attempt;
    uint64_t lengths = (uint64_t)(settings->most_length - settings->least_length + 1);
    in->length =
        settings->least_length + (int64_t)(att_random_bits(seed, stream, 0) * lengths >> 32);
    for (int64_t i = 0; i < in->length; i++)
        in->drawn[i] =
            (int64_t)(att_random_bits(seed, stream, (uint64_t)i + 1) * (uint64_t)in->letter_count >>
                      32);
}

static void reverse(int64_t *letters, int64_t length)
{
    for (int64_t i = 0; i < length / 2; i++) {
        int64_t other = letters[length - 1 - i];
        letters[length - 1 - i] = letters[i];
        letters[i] = other;
    }
}

static void copy(int64_t *letters, int64_t length)
{
    (void)letters;
    (void)length;
}

/* In the order of the alphabet. */
static void sort(int64_t *letters, int64_t length)
{
    for (int64_t i = 1; i < length; i++) {
        int64_t one = letters[i], place = i;
        for (; place > 0 && letters[place - 1] > one; place--)
            letters[place] = letters[place - 1];
        letters[place] = one;
    }
}

static void (*const changes[])(int64_t *letters, int64_t length) = {
    [ATT_TASK_REVERSE] = reverse,
    [ATT_TASK_COPY] = copy,
    [ATT_TASK_SORT] = sort,
};

static att_status write_drawn(const making *in, att_text *out)
{
    for (int64_t i = 0; i < in->length; i++) {
        const letter *one = &in->letters[in->drawn[i]];
        ATT_TRY(att_text_add(out, one->text, one->length));
    }
    return ATT_OK;
}

static att_status add_line(making *in, att_text *out)
{
    ATT_TRY(att_text_add(out, in->source.data, in->source.length));
    ATT_TRY(att_text_add(out, "\t", 1));
    changes[in->settings->task](in->drawn, in->length);
    ATT_TRY(write_drawn(in, out));
    return att_text_add(out, "\n", 1);
}

/* ---- all of them */

/* How many different strings there are, or 1e18 where there are more. */
static double count_possible(const making *in)
{
    double total = 0, of_length = 1;
    for (int64_t length = 1; length <= in->settings->most_length && total < 1e18; length++) {
        of_length *= (double)in->letter_count;
        if (length >= in->settings->least_length)
            total += of_length;
    }
    return total < 1e18 ? total : 1e18;
}

static att_status check_counts(const making *in, int64_t wanted)
{
    double possible = count_possible(in);
    if ((double)wanted * 2 <= possible)
        return ATT_OK;
    char quoted[ATT_QUOTED];
    return att_fail(in->err, ATT_BAD_INPUT, NULL,
                    "train-count and valid-count ask for %lld different strings, at most half of "
                    "those there are: over '%s' there are %.0f of %lld to %lld letters",
                    (long long)wanted,
                    att_quote(quoted, in->settings->alphabet, strlen(in->settings->alphabet)),
                    possible, (long long)in->settings->least_length,
                    (long long)in->settings->most_length);
}

/* Short strings are few and soon taken, so a coin decides for each draw whether it is for training
 * or for validation; else the corpus filled first would have them all. */
static att_status draw_all(making *in, att_text *train, att_text *valid)
{
    const att_settings *settings = in->settings;
    int64_t left[] = { settings->train_count, settings->valid_count };
    double part = (double)left[1] / (double)(left[0] + left[1]);
    for (uint64_t attempt = 0; left[0] + left[1] > 0; attempt++) {
        draw(in, attempt);
        in->source.length = 0;
        if (write_drawn(in, &in->source) != ATT_OK)
            return att_fail_memory(in->err);
        if (att_words_find(in->seen, in->source.data, in->source.length) >= 0)
            continue;
        bool to_valid =
            att_random_double((uint64_t)settings->data_seed, SIDE_STREAM, attempt) < part;
        if (left[to_valid] == 0)
            continue;
        ATT_TRY(att_words_add(in->seen, in->source.data, in->source.length, in->err));
        if (add_line(in, to_valid ? valid : train) != ATT_OK)
            return att_fail_memory(in->err);
        left[to_valid]--;
    }
    return ATT_OK;
}

static att_status make(making *in, att_text *train, att_text *valid)
{
    ATT_TRY(read_alphabet(in));
    ATT_TRY(check_counts(in, in->settings->train_count + in->settings->valid_count));
    ATT_TRY(att_vocab_new(&in->seen, ATT_TOKENS_SPACE, false, in->err));
    return draw_all(in, train, valid);
}

att_status att_task_make(att_text *train, att_text *valid, const att_settings *settings,
                         att_error *err)
{
    making in = { .settings = settings, .err = err };
    att_status status = make(&in, train, valid);
    att_vocab_free(in.seen);
    att_text_free(&in.alphabet);
    att_text_free(&in.source);
    return status;
}
