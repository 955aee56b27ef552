/* Agreement with references; see tally.h. */
#include "metrics/tally.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "metrics/words.h"

#include <math.h>
#include <string.h>

/* ---- distance */

static int64_t least_of(int64_t a, int64_t b, int64_t c)
{
    int64_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* An unknown token stands for any, so it agrees with none, not even with itself. */
static bool agree(int32_t a, int32_t b)
{
    return a == b && b != ATT_ID_UNKNOWN;
}

/* The table of Wagner and Fischer, one row at a time: row[j] is the distance between the first i
 * of a and the first j of b. */
int64_t att_edit_distance(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count)
{
    int64_t *row = att_alloc(b_count + 1, sizeof *row);
    if (!row)
        return -1;
    for (size_t j = 0; j <= b_count; j++)
        row[j] = (int64_t)j;
    for (size_t i = 1; i <= a_count; i++) {
        int64_t diagonal = row[0];
        row[0] = (int64_t)i;
        for (size_t j = 1; j <= b_count; j++) {
            int64_t replaced = diagonal + !agree(a[i - 1], b[j - 1]);
            diagonal = row[j];
            row[j] = least_of(replaced, diagonal + 1, row[j - 1] + 1);
        }
    }
    int64_t distance = row[b_count];
    att_free(row);
    return distance;
}

/* ---- words of characters */

/* Numbers the words between spaces: each word of `all` gets the number of the first like it, so
 * that words can be compared as tokens are. A word with an unknown character is unknown. */
typedef struct wordlist {
    const int32_t **starts;
    size_t *lengths;
    int32_t *numbers;
    size_t count;
} wordlist;

static int32_t number_of(const wordlist *list, const int32_t *start, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (start[i] == ATT_ID_UNKNOWN)
            return ATT_ID_UNKNOWN;
    for (size_t w = 0; w < list->count; w++)
        if (list->lengths[w] == length &&
            memcmp(list->starts[w], start, length * sizeof *start) == 0)
            return list->numbers[w];
    return (int32_t)list->count + ATT_ID_FIRST;
}

static void add_words(wordlist *list, const int32_t *ids, size_t count, int32_t space)
{
    for (size_t begin = 0, end; begin < count; begin = end + 1) {
        for (end = begin; end < count && ids[end] != space;)
            end++;
        if (end == begin)
            continue;
        list->numbers[list->count] = number_of(list, ids + begin, end - begin);
        list->starts[list->count] = ids + begin;
        list->lengths[list->count++] = end - begin;
    }
}

static att_status tally_words(att_tally *tally, int32_t space, const int32_t *answer,
                              size_t answer_count, const int32_t *reference, size_t reference_count)
{
    size_t most = answer_count + reference_count + 1;
    wordlist list = { .starts = att_alloc(most, sizeof *list.starts),
                      .lengths = att_alloc(most, sizeof *list.lengths),
                      .numbers = att_alloc(most, sizeof *list.numbers) };
    int64_t edits = -1;
    if (list.starts && list.lengths && list.numbers) {
        add_words(&list, answer, answer_count, space);
        size_t answered = list.count;
        add_words(&list, reference, reference_count, space);
        edits = att_edit_distance(list.numbers, answered, list.numbers + answered,
                                  list.count - answered);
        if (edits >= 0) {
            tally->words += (int64_t)(list.count - answered);
            tally->word_edits += edits;
        }
    }
    att_free(list.starts);
    att_free(list.lengths);
    att_free(list.numbers);
    return edits < 0 ? ATT_NO_MEMORY : ATT_OK;
}

/* ---- words of subwords: a word may be spelt by other tokens than the reference's, so text is
 * compared */

static att_status read_words(att_ids *out, att_vocab *words, att_text *text, const att_vocab *vocab,
                             const int32_t *ids, size_t count)
{
    text->length = 0;
    ATT_TRY(att_vocab_decode(vocab, text, ids, count));
    return att_symbols_read(out, ATT_SYMBOLS_WORDS, words, text->length > 0 ? text->data : "",
                            text->length, NULL);
}

static att_status tally_text(att_tally *tally, const att_vocab *vocab, const int32_t *answer,
                             size_t answer_count, const int32_t *reference, size_t reference_count)
{
    att_vocab *words = NULL;
    att_text text = { 0 };
    att_ids answered = { 0 }, wanted = { 0 };
    int64_t edits = -1;
    if (att_vocab_new(&words, ATT_TOKENS_SPACE, false, NULL) == ATT_OK &&
        read_words(&answered, words, &text, vocab, answer, answer_count) == ATT_OK &&
        read_words(&wanted, words, &text, vocab, reference, reference_count) == ATT_OK)
        edits = att_edit_distance(answered.items, answered.count, wanted.items, wanted.count);
    if (edits >= 0) {
        tally->words += (int64_t)wanted.count;
        tally->word_edits += edits;
    }
    att_ids_free(&answered);
    att_ids_free(&wanted);
    att_text_free(&text);
    att_vocab_free(words);
    return edits < 0 ? ATT_NO_MEMORY : ATT_OK;
}

/* ---- adding up */

/* The token that is a space; one that no line has where the vocabulary lacks it. */
static int32_t space_of(const att_vocab *vocab)
{
    int32_t id = att_vocab_find(vocab, " ", 1);
    return id == ATT_ID_UNKNOWN ? ATT_ID_NONE : id;
}

/* Tokens that are neither characters nor parts of words are words themselves. */
static att_status add_word_edits(att_tally *tally, const att_vocab *vocab, const int32_t *answer,
                                 size_t answer_count, const int32_t *reference,
                                 size_t reference_count, int64_t edits)
{
    if (att_vocab_tokens(vocab) == ATT_TOKENS_CHAR)
        return tally_words(tally, space_of(vocab), answer, answer_count, reference,
                           reference_count);
    if (att_vocab_spells(vocab))
        return tally_text(tally, vocab, answer, answer_count, reference, reference_count);
    tally->words += (int64_t)reference_count;
    tally->word_edits += edits;
    return ATT_OK;
}

att_status att_tally_add(att_tally *tally, const att_vocab *vocab, const int32_t *answer,
                         size_t answer_count, const int32_t *reference, size_t reference_count)
{
    int64_t edits = att_edit_distance(answer, answer_count, reference, reference_count);
    if (edits < 0 || add_word_edits(tally, vocab, answer, answer_count, reference, reference_count,
                                    edits) != ATT_OK)
        return ATT_NO_MEMORY;
    tally->lines++;
    tally->exact += edits == 0;
    tally->tokens += (int64_t)reference_count;
    tally->edits += edits;
    return ATT_OK;
}

void att_tally_join(att_tally *tally, const att_tally *more)
{
    tally->lines += more->lines;
    tally->exact += more->exact;
    tally->tokens += more->tokens;
    tally->edits += more->edits;
    tally->words += more->words;
    tally->word_edits += more->word_edits;
    tally->steps += more->steps;
    tally->right_steps += more->right_steps;
    tally->loss += more->loss;
}

/* ---- rates */

static double rate(int64_t part, int64_t all)
{
    return all > 0 ? (double)part / (double)all : NAN;
}

double att_tally_exact(const att_tally *tally)
{
    return rate(tally->exact, tally->lines);
}

double att_tally_token_accuracy(const att_tally *tally)
{
    return rate(tally->right_steps, tally->steps);
}

double att_tally_token_error_rate(const att_tally *tally)
{
    return rate(tally->edits, tally->tokens);
}

double att_tally_word_error_rate(const att_tally *tally)
{
    return rate(tally->word_edits, tally->words);
}

double att_tally_perplexity(const att_tally *tally)
{
    return tally->steps > 0 ? att_exp(tally->loss / (double)tally->steps) : NAN;
}
