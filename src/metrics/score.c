/* Answers scored against references by any of the metrics; see attend.h. */
#include "metrics/measure.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/quote.h"
#include "metrics/bootstrap.h"
#include "metrics/words.h"
#include "text/tokens.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the table */

#define EDITS(name_, title_, says_, symbols_)                                                      \
    {                                                                                              \
        .shown = { name_, title_, says_, true }, .numbers = 2, .symbols = symbols_, .second = -1,  \
        .count = att_edits_count, .score = att_edits_score                                         \
    }

/* The measures of captions, as published ones are counted: small letters, no punctuation. */
#define CAPTION_BLEU(name_, title_, says_, score_)                                                 \
    {                                                                                              \
        .shown = { name_, title_, says_, false }, .numbers = 10, .symbols = ATT_SYMBOLS_CAPTION,   \
        .second = -1, .lower = true, .count = att_bleu_count, .score = score_,                     \
        .signature = "|eff:no|tok:caption|smooth:none"                                             \
    }

const att_measure att_measures[] = {
    { .shown = { "bleu", "BLEU", "runs of up to four words that the reference has too", false },
      .numbers = 10,
      .symbols = ATT_SYMBOLS_TOKENS,
      .second = -1,
      .count = att_bleu_count,
      .score = att_bleu_score,
      .signature = "|eff:no|tok:@|smooth:exp" },
    { .shown = { "chrf", "chrF2", "runs of up to six letters, recall weighted twice", false },
      .numbers = 18,
      .symbols = ATT_SYMBOLS_LETTERS,
      .second = -1,
      .count = att_chrf_count,
      .score = att_chrf_score,
      .signature = "|eff:yes|nc:6|nw:0|space:no" },
    { .shown = { "chrf++", "chrF2++", "chrF with words and pairs of words", false },
      .numbers = 24,
      .symbols = ATT_SYMBOLS_LETTERS,
      .second = ATT_SYMBOLS_CHRF,
      .count = att_chrf_words_count,
      .score = att_chrf_words_score,
      .signature = "|eff:yes|nc:6|nw:2|space:no" },
    { .shown = { "ter", "TER", "edits per word of the reference, a moved run being one", true },
      .numbers = 2,
      .symbols = ATT_SYMBOLS_WORDS,
      .second = -1,
      .lower = true,
      .count = att_ter_count,
      .score = att_edits_score,
      .signature = "|tok:tercom|norm:no|punct:yes|asian:no" },
    EDITS("wer", "word error rate", "edits per word of the reference", ATT_SYMBOLS_WORDS),
    EDITS("per", "phoneme error rate", "the same, where words are phonemes", ATT_SYMBOLS_WORDS),
    EDITS("cer", "character error rate", "edits per code point of the reference", ATT_SYMBOLS_LINE),
    { .shown = { "exact", "exact match", "lines that agree altogether", false },
      .numbers = 2,
      .symbols = ATT_SYMBOLS_LINE,
      .second = -1,
      .count = att_exact_count,
      .score = att_exact_score },
    CAPTION_BLEU("bleu-1", "BLEU-1", "of captions: words", att_bleu_1_score),
    CAPTION_BLEU("bleu-2", "BLEU-2", "of captions: runs of up to two", att_bleu_2_score),
    CAPTION_BLEU("bleu-3", "BLEU-3", "of captions: runs of up to three", att_bleu_3_score),
    CAPTION_BLEU("bleu-4", "BLEU-4", "of captions: runs of up to four", att_bleu_4_score),
    { .shown = { "cider", "CIDEr", "of captions: runs weighed by how rare they are", false },
      .numbers = 2,
      .symbols = ATT_SYMBOLS_CAPTION,
      .second = -1,
      .lower = true,
      .meets = 4,
      .count = att_cider_count,
      .score = att_cider_score,
      .signature = "|kind:D|tok:caption|n:4|sigma:6" },
};

const size_t att_measure_count = sizeof att_measures / sizeof *att_measures;

_Static_assert(sizeof att_measures / sizeof *att_measures < 32, "a list of names fits");

size_t att_metric_count(void)
{
    return att_measure_count;
}

const att_metric *att_metric_get(size_t index)
{
    return index < att_measure_count ? &att_measures[index].shown : NULL;
}

static const att_measure *find(const char *name, att_error *err)
{
    const char *known[32];
    for (size_t i = 0; i < att_measure_count; i++) {
        known[i] = att_measures[i].shown.name;
        if (strcmp(known[i], name) == 0)
            return &att_measures[i];
    }
    char quoted[ATT_QUOTED];
    const char *nearest = att_suggest(name, known, att_measure_count);
    att_fail(err, ATT_BAD_INPUT, NULL, "there is no metric '%s'%s%s%s",
             att_quote(quoted, name, strlen(name)), nearest ? "; did you mean " : "",
             nearest ? nearest : "", nearest ? "?" : "");
    return NULL;
}

/* ---- one line */

/* What is needed while lines are read. */
typedef struct scoring {
    const att_measure *measure;
    const att_scored_texts *texts;
    att_tokeniser tokeniser;
    bool lower;
    att_vocab *words;
    att_ids pool;    /* the symbols of one line: answer, references, and those of the second kind */
    size_t referred; /* references that the line has */
    size_t *ends;    /* [2 * (1 + references)] where each ends in the pool */
    att_symbols *of; /* beside it */
    att_text small, split;
    att_ngrams grams;
    att_ngrams met; /* the runs of all references, where the metric asks for them */
} scoring;

static att_status read_side(scoring *s, const char *line, int kind, size_t place, att_error *err)
{
    const char *text = line;
    size_t length = strlen(line);
    if (s->lower || s->measure->lower) {
        if (att_lower(&s->small, text, length) != ATT_OK)
            return att_fail_memory(err);
        text = s->small.length > 0 ? s->small.data : "";
        length = s->small.length;
    }
    if (kind == ATT_SYMBOLS_TOKENS) {
        if (att_tokenise(&s->split, s->tokeniser, text, length) != ATT_OK)
            return att_fail_memory(err);
        text = s->split.length > 0 ? s->split.data : "";
        length = s->split.length;
    }
    ATT_TRY(att_symbols_read(&s->pool, (att_symbols_kind)kind, s->words, text, length, err));
    s->ends[place] = s->pool.count;
    return ATT_OK;
}

/* The texts of a line that are there, one after another: the answer and its references, each as
 * symbols of one kind from `place` on. */
static att_status read_sides(scoring *s, size_t line, int kind, size_t place, att_error *err)
{
    ATT_TRY(read_side(s, s->texts->answers[line], kind, place, err));
    s->referred = 0;
    for (size_t r = 0; r < s->texts->reference_count; r++) {
        const char *reference = s->texts->references[r][line];
        if (reference)
            ATT_TRY(read_side(s, reference, kind, place + 1 + s->referred++, err));
    }
    return ATT_OK;
}

static att_status read_line(scoring *s, size_t line, att_error *err)
{
    s->pool.count = 0;
    ATT_TRY(read_sides(s, line, (int)s->measure->symbols, 0, err));
    if (s->measure->second >= 0)
        ATT_TRY(read_sides(s, line, s->measure->second, 1 + s->referred, err));
    for (size_t i = 0; i < (1 + s->referred) * (s->measure->second < 0 ? 1 : 2); i++) {
        size_t start = i > 0 ? s->ends[i - 1] : 0;
        size_t count = s->ends[i] - start;
        s->of[i] = (att_symbols){ count > 0 ? s->pool.items + start : NULL, count };
    }
    return ATT_OK;
}

static att_status count_line(scoring *s, size_t line, double *numbers, att_error *err)
{
    ATT_TRY(read_line(s, line, err));
    const att_measured measured = { .answer = s->of[0],
                                    .references = s->of + 1,
                                    .reference_count = s->referred,
                                    .answer_words = s->of[1 + s->referred],
                                    .reference_words = s->of + 2 + s->referred,
                                    .met = &s->met,
                                    .lines = s->texts->count };
    return s->measure->count(numbers, &measured, &s->grams) == ATT_OK ? ATT_OK
                                                                      : att_fail_memory(err);
}

static att_status meet_line(scoring *s, size_t line, att_error *err)
{
    ATT_TRY(read_line(s, line, err));
    for (size_t r = 0; r < s->referred; r++)
        if (att_ngrams_meet(&s->met, s->of[1 + r].items, s->of[1 + r].count, s->measure->meets,
                            (int32_t)line + 1) != ATT_OK)
            return att_fail_memory(err);
    return ATT_OK;
}

static att_status count_lines(scoring *s, double *numbers, att_error *err)
{
    size_t places = 2 * (1 + s->texts->reference_count);
    att_status status = att_vocab_new(&s->words, ATT_TOKENS_SPACE, false, err);
    s->ends = att_alloc_zero(places, sizeof *s->ends);
    s->of = att_alloc_zero(places, sizeof *s->of);
    if (status == ATT_OK && (!s->ends || !s->of))
        status = att_fail_memory(err);
    for (size_t i = 0; s->measure->meets > 0 && i < s->texts->count && status == ATT_OK; i++)
        status = meet_line(s, i, err);
    for (size_t i = 0; i < s->texts->count && status == ATT_OK; i++)
        status = count_line(s, i, numbers + i * (size_t)s->measure->numbers, err);
    att_vocab_free(s->words);
    att_ids_free(&s->pool);
    att_free(s->ends);
    att_free(s->of);
    att_text_free(&s->small);
    att_text_free(&s->split);
    att_ngrams_free(&s->grams);
    att_ngrams_free(&s->met);
    return status;
}

/* ---- the score and how sure it is */

static double total(const att_measure *measure, const double *numbers, size_t lines)
{
    double sum[ATT_METRIC_NUMBERS] = { 0 };
    for (size_t i = 0; i < lines; i++)
        for (int n = 0; n < measure->numbers; n++)
            sum[n] += numbers[i * (size_t)measure->numbers + (size_t)n];
    return measure->score(sum);
}

/* "nrefs:5", or "nrefs:var" where lines differ in it. */
static void sign_references(char *out, size_t size, const att_scored_texts *texts)
{
    snprintf(out, size, "nrefs:%zu", texts->reference_count);
    for (size_t r = 0; r < texts->reference_count; r++)
        for (size_t i = 0; i < texts->count; i++)
            if (!texts->references[r][i])
                snprintf(out, size, "nrefs:var");
}

static void sign(att_metric_score *out, const scoring *s, const att_metric_how *how)
{
    char references[32], drawn[64] = "", rest[64] = "";
    sign_references(references, sizeof references, s->texts);
    if (how->resamples > 0)
        snprintf(drawn, sizeof drawn, "|bs:%lld|seed:%llu", (long long)how->resamples,
                 (unsigned long long)how->seed);
    const char *signature = s->measure->signature ? s->measure->signature : "";
    const char *at = strchr(signature, '@');
    snprintf(rest, sizeof rest, "%.*s%s%s", (int)(at ? at - signature : (int)strlen(signature)),
             signature, at ? att_tokeniser_words[s->tokeniser] : "", at ? at + 1 : "");
    snprintf(out->signature, sizeof out->signature, "%s%s|case:%s%s|version:attend-%s", references,
             drawn, s->lower || s->measure->lower ? "lc" : "mixed", rest, ATT_VERSION);
}

static att_status score(att_metric_score *out, scoring *s, const att_metric_how *how,
                        att_error *err)
{
    size_t lines = s->texts->count;
    double *numbers = att_alloc(lines * (size_t)s->measure->numbers, sizeof *numbers);
    if (!numbers)
        return att_fail_memory(err);
    *out = (att_metric_score){ .metric = &s->measure->shown, .within = { NAN, NAN } };
    att_status status = count_lines(s, numbers, err);
    const att_bootstrap drawn = { numbers, lines, (size_t)s->measure->numbers, s->measure->score };
    if (status == ATT_OK) {
        out->value = total(s->measure, numbers, lines);
        status = att_bootstrap_interval(&out->within, &drawn, how->resamples, how->seed, err);
    }
    att_free(numbers);
    sign(out, s, how);
    return status;
}

/* ---- the public call */

static att_status find_tokeniser(att_tokeniser *out, const char *word, att_error *err)
{
    *out = ATT_TOKENISER_13A;
    if (!word)
        return ATT_OK;
    for (int i = 0; att_tokeniser_words[i]; i++) {
        if (strcmp(word, att_tokeniser_words[i]) != 0)
            continue;
        *out = (att_tokeniser)i;
        return ATT_OK;
    }
    char quoted[ATT_QUOTED];
    return att_fail(err, ATT_BAD_INPUT, NULL, "there is no tokeniser '%s': 13a, none, char or intl",
                    att_quote(quoted, word, strlen(word)));
}

/* err->line tells which line, and err->place whether of the answers or of which reference. */
static att_status check_line(const char *text, size_t side, size_t line, att_error *err)
{
    att_error inner = { 0 };
    if (!text || att_line_check(text, strlen(text), &inner) == ATT_OK)
        return ATT_OK;
    char place[32] = "answers";
    if (side > 0)
        snprintf(place, sizeof place, "references %zu", side);
    return att_fail_at(err, inner.status, place, (int)line + 1, 0, NULL, "%s", inner.message);
}

static att_status check_texts(const att_scored_texts *texts, att_error *err)
{
    if (texts->count == 0 || texts->reference_count == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is nothing to compare");
    for (size_t side = 0; side <= texts->reference_count; side++)
        for (size_t i = 0; i < texts->count; i++)
            ATT_TRY(check_line(side == 0 ? texts->answers[i] : texts->references[side - 1][i], side,
                               i, err));
    for (size_t i = 0; i < texts->count; i++) {
        size_t referred = 0;
        for (size_t r = 0; r < texts->reference_count; r++)
            referred += texts->references[r][i] != NULL;
        if (referred == 0)
            return att_fail_at(err, ATT_BAD_INPUT, "answers", (int)i + 1, 0, NULL,
                               "there is no reference for it");
    }
    return ATT_OK;
}

att_status att_metrics_score(att_metric_score *out, const char *const *names, size_t count,
                             const att_scored_texts *texts, const att_metric_how *how,
                             att_error *err)
{
    static const att_metric_how plain = { 0 };
    how = how ? how : &plain;
    att_tokeniser tokeniser;
    ATT_TRY(find_tokeniser(&tokeniser, how->tokenizer, err));
    ATT_TRY(check_texts(texts, err));
    for (size_t i = 0; i < count; i++) {
        scoring s = { .texts = texts, .tokeniser = tokeniser, .lower = how->lower };
        s.measure = find(names[i], err);
        if (!s.measure)
            return ATT_BAD_INPUT;
        ATT_TRY(score(&out[i], &s, how, err));
    }
    return ATT_OK;
}
