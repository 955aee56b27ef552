/* Edit distances of tokens and words, added up over lines, and the rates computed from the sums. */
#include "metrics/token_metrics.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "base/minmax.h"
#include "metrics/symbols.h"

#include <math.h>
#include <string.h>

/* ---- edit distance */

/* The unknown token may stand for any word, so it matches nothing, not even itself. */
static bool tokens_match(int32_t a, int32_t b)
{
    return a == b && b != ATT_ID_UNK;
}

bool att_tokens_equal(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count)
{
    bool equal = a_count == b_count;
    for (size_t i = 0; equal && i < a_count; i++)
        equal = tokens_match(a[i], b[i]);
    return equal;
}

/* The algorithm of Wagner and Fischer, one row at a time: row[j] is the distance between the first
 * i tokens of a and the first j of b. */
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
            int64_t replaced = diagonal + !tokens_match(a[i - 1], b[j - 1]);
            diagonal = row[j];
            row[j] = att_min_i64(replaced, att_min_i64(diagonal, row[j - 1]) + 1);
        }
    }
    int64_t distance = row[b_count];
    att_free(row);
    return distance;
}

/* ---- words of character tokens */

/* Words between spaces as numbers: equal words get the same number, so that words can be compared
 * like tokens. A word with an unknown character is unknown. */
typedef struct wordlist {
    const int32_t **starts;
    size_t *lengths;
    int32_t *numbers;
    size_t count;
} wordlist;

static int32_t number_of(const wordlist *list, const int32_t *start, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (start[i] == ATT_ID_UNK)
            return ATT_ID_UNK;
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

static att_status add_character_words(att_token_metrics *metrics, int32_t space,
                                      const int32_t *hypothesis, size_t hypothesis_count,
                                      const int32_t *reference, size_t reference_count)
{
    size_t max_words = hypothesis_count + reference_count + 1;
    wordlist list = { .starts = att_alloc(max_words, sizeof *list.starts),
                      .lengths = att_alloc(max_words, sizeof *list.lengths),
                      .numbers = att_alloc(max_words, sizeof *list.numbers) };
    int64_t edits = -1;
    if (list.starts && list.lengths && list.numbers) {
        add_words(&list, hypothesis, hypothesis_count, space);
        size_t found = list.count;
        add_words(&list, reference, reference_count, space);
        edits = att_edit_distance(list.numbers, found, list.numbers + found, list.count - found);
        if (edits >= 0) {
            metrics->words += (int64_t)(list.count - found);
            metrics->word_edits += edits;
        }
    }
    att_free(list.starts);
    att_free(list.lengths);
    att_free(list.numbers);
    return edits < 0 ? ATT_NO_MEMORY : ATT_OK;
}

/* ---- words of subword tokens: different tokens may spell the same word, so texts are compared */

static att_status read_words(att_ids *out, att_string_set *words, att_string *text,
                             const att_vocab *vocab, const int32_t *ids, size_t count)
{
    text->length = 0;
    ATT_TRY(att_vocab_decode(vocab, text, ids, count));
    return att_symbols_parse(out, ATT_SYMBOLS_WORDS, words, text->length > 0 ? text->data : "",
                             text->length, NULL);
}

static att_status add_decoded_words(att_token_metrics *metrics, const att_vocab *vocab,
                                    const int32_t *hypothesis, size_t hypothesis_count,
                                    const int32_t *reference, size_t reference_count)
{
    att_string_set words = { 0 };
    att_string text = { 0 };
    att_ids found = { 0 }, expected = { 0 };
    int64_t edits = -1;
    if (read_words(&found, &words, &text, vocab, hypothesis, hypothesis_count) == ATT_OK &&
        read_words(&expected, &words, &text, vocab, reference, reference_count) == ATT_OK)
        edits = att_edit_distance(found.items, found.count, expected.items, expected.count);
    if (edits >= 0) {
        metrics->words += (int64_t)expected.count;
        metrics->word_edits += edits;
    }
    att_ids_free(&found);
    att_ids_free(&expected);
    att_string_free(&text);
    att_string_set_free(&words);
    return edits < 0 ? ATT_NO_MEMORY : ATT_OK;
}

/* ---- sums */

/* The id of the space character, or ATT_ID_PAD, which no line has, if the vocabulary lacks it. */
static int32_t space_of(const att_vocab *vocab)
{
    int32_t id = att_vocab_id(vocab, " ", 1);
    return id == ATT_ID_UNK ? ATT_ID_PAD : id;
}

/* Tokens that are neither characters nor subwords are words themselves. */
static att_status add_word_edits(att_token_metrics *metrics, const att_vocab *vocab,
                                 const int32_t *hypothesis, size_t hypothesis_count,
                                 const int32_t *reference, size_t reference_count, int64_t edits)
{
    if (att_tokenizer_specs[att_vocab_tokenizer_kind(vocab)].spacing == ATT_SPACES_ARE_TOKENS)
        return add_character_words(metrics, space_of(vocab), hypothesis, hypothesis_count,
                                   reference, reference_count);
    if (att_vocab_is_subword(vocab))
        return add_decoded_words(metrics, vocab, hypothesis, hypothesis_count, reference,
                                 reference_count);
    metrics->words += (int64_t)reference_count;
    metrics->word_edits += edits;
    return ATT_OK;
}

att_status att_token_metrics_add(att_token_metrics *metrics, const att_vocab *vocab,
                                 const int32_t *hypothesis, size_t hypothesis_count,
                                 const int32_t *reference, size_t reference_count)
{
    int64_t edits = att_edit_distance(hypothesis, hypothesis_count, reference, reference_count);
    if (edits < 0 || add_word_edits(metrics, vocab, hypothesis, hypothesis_count, reference,
                                    reference_count, edits) != ATT_OK)
        return ATT_NO_MEMORY;
    metrics->lines++;
    metrics->exact_matches += edits == 0;
    metrics->tokens += (int64_t)reference_count;
    metrics->edits += edits;
    return ATT_OK;
}

void att_token_metrics_merge(att_token_metrics *metrics, const att_token_metrics *more)
{
    metrics->lines += more->lines;
    metrics->exact_matches += more->exact_matches;
    metrics->truncated += more->truncated;
    metrics->tokens += more->tokens;
    metrics->edits += more->edits;
    metrics->words += more->words;
    metrics->word_edits += more->word_edits;
    metrics->steps += more->steps;
    metrics->correct_steps += more->correct_steps;
    metrics->unscored_steps += more->unscored_steps;
    metrics->loss += more->loss;
}

/* ---- rates */

static double ratio(int64_t part, int64_t all)
{
    return all > 0 ? (double)part / (double)all : NAN;
}

double att_token_metrics_exact_match(const att_token_metrics *metrics)
{
    return ratio(metrics->exact_matches, metrics->lines);
}

double att_token_metrics_token_accuracy(const att_token_metrics *metrics)
{
    return ratio(metrics->correct_steps, metrics->steps);
}

double att_token_metrics_token_error_rate(const att_token_metrics *metrics)
{
    return ratio(metrics->edits, metrics->tokens);
}

double att_token_metrics_word_error_rate(const att_token_metrics *metrics)
{
    return ratio(metrics->word_edits, metrics->words);
}

double att_token_metrics_perplexity(const att_token_metrics *metrics)
{
    return metrics->steps > 0 ? att_exp(metrics->loss / (double)metrics->steps) : NAN;
}
