/* att_metrics_score(): hypotheses scored against references by any of the metrics; see attend.h. */
#include "metrics/metric_spec.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/quote.h"
#include "metrics/bootstrap.h"
#include "metrics/symbols.h"
#include "text/pretokenizer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the table of metrics */

#define EDIT_RATE_SPEC(name_, title_, help_, symbols_)                                             \
    {                                                                                              \
        .info = { name_, title_, help_, true }, .stat_count = 2, .symbols = symbols_,              \
        .second_symbols = -1, .count = att_edit_rate_stats, .score = att_edit_rate_score           \
    }

/* Metrics of captions, computed as published ones are: in lower case, without punctuation. */
#define CAPTION_BLEU_SPEC(name_, title_, help_, score_)                                            \
    {                                                                                              \
        .info = { name_, title_, help_, false }, .stat_count = 10, .symbols = ATT_SYMBOLS_CAPTION, \
        .second_symbols = -1, .lowercase = true, .count = att_bleu_stats, .score = score_,         \
        .signature = "|eff:no|tok:caption|smooth:none"                                             \
    }

const att_metric_spec att_metric_specs[] = {
    { .info = { "bleu", "BLEU", "precision of n-grams of up to 4 words, with a brevity penalty",
                false },
      .stat_count = 10,
      .symbols = ATT_SYMBOLS_TOKENS,
      .second_symbols = -1,
      .count = att_bleu_stats,
      .score = att_bleu_score,
      .signature = "|eff:no|tok:@|smooth:exp" },
    { .info = { "chrf", "chrF2", "F2 score of character n-grams of up to 6 characters", false },
      .stat_count = 18,
      .symbols = ATT_SYMBOLS_CHARACTERS,
      .second_symbols = -1,
      .count = att_chrf_stats,
      .score = att_chrf_score,
      .signature = "|eff:yes|nc:6|nw:0|space:no" },
    { .info = { "chrf++", "chrF2++", "chrF with word unigrams and bigrams", false },
      .stat_count = 24,
      .symbols = ATT_SYMBOLS_CHARACTERS,
      .second_symbols = ATT_SYMBOLS_CHRF,
      .count = att_chrf_words_stats,
      .score = att_chrf_words_score,
      .signature = "|eff:yes|nc:6|nw:2|space:no" },
    { .info = { "ter", "TER", "edits per reference word; moving a phrase is one edit", true },
      .stat_count = 2,
      .symbols = ATT_SYMBOLS_WORDS,
      .second_symbols = -1,
      .lowercase = true,
      .count = att_ter_stats,
      .score = att_edit_rate_score,
      .signature = "|tok:tercom|norm:no|punct:yes|asian:no" },
    EDIT_RATE_SPEC("wer", "word error rate", "edits per reference word", ATT_SYMBOLS_WORDS),
    EDIT_RATE_SPEC("per", "phoneme error rate", "edits per reference phoneme, separated by spaces",
                   ATT_SYMBOLS_WORDS),
    EDIT_RATE_SPEC("cer", "character error rate", "edits per reference code point",
                   ATT_SYMBOLS_LINE),
    { .info = { "exact-match", "exact match",
                "lines equal to the reference, apart from white space", false },
      .stat_count = 2,
      .symbols = ATT_SYMBOLS_LINE,
      .second_symbols = -1,
      .count = att_exact_match_stats,
      .score = att_exact_match_score },
    CAPTION_BLEU_SPEC("bleu-1", "BLEU-1", "captions: n-grams of 1 word", att_bleu_1_score),
    CAPTION_BLEU_SPEC("bleu-2", "BLEU-2", "captions: n-grams of up to 2 words", att_bleu_2_score),
    CAPTION_BLEU_SPEC("bleu-3", "BLEU-3", "captions: n-grams of up to 3 words", att_bleu_3_score),
    CAPTION_BLEU_SPEC("bleu-4", "BLEU-4", "captions: n-grams of up to 4 words", att_bleu_4_score),
    { .info = { "cider", "CIDEr", "captions: TF-IDF similarity of n-grams of up to 4 words",
                false },
      .stat_count = 2,
      .symbols = ATT_SYMBOLS_CAPTION,
      .second_symbols = -1,
      .lowercase = true,
      .document_order = 4,
      .count = att_cider_stats,
      .score = att_cider_score,
      .signature = "|kind:D|tok:caption|n:4|sigma:6" },
};

const size_t att_metric_spec_count = sizeof att_metric_specs / sizeof *att_metric_specs;

_Static_assert(sizeof att_metric_specs / sizeof *att_metric_specs < 32,
               "find_metric() has room for all names");

size_t att_metric_count(void)
{
    return att_metric_spec_count;
}

const att_metric *att_metric_get(size_t index)
{
    return index < att_metric_spec_count ? &att_metric_specs[index].info : NULL;
}

static const att_metric_spec *find_metric(const char *name, att_error *err)
{
    const char *known[32];
    for (size_t i = 0; i < att_metric_spec_count; i++) {
        known[i] = att_metric_specs[i].info.name;
        if (strcmp(known[i], name) == 0)
            return &att_metric_specs[i];
    }
    char quoted[ATT_QUOTED_SIZE];
    const char *nearest = att_suggest(name, known, att_metric_spec_count);
    att_fail(err, ATT_BAD_INPUT, NULL, "unknown metric '%s'%s%s%s",
             att_quote(quoted, name, strlen(name)), nearest ? "; did you mean " : "",
             nearest ? nearest : "", nearest ? "?" : "");
    return NULL;
}

/* ---- one line */

/* Working memory for the lines of one metric. */
typedef struct metric_scorer {
    const att_metric_spec *spec;
    const att_hypotheses *texts;
    att_metric_tokenizer tokenizer;
    bool lowercase;
    att_string_set words;
    att_ids
        pool; /* the symbols of one line: hypothesis, references, then those of the second kind */
    size_t reference_count; /* of the current line */
    size_t *ends;           /* [2 * (1 + references)] the end of each in the pool */
    att_symbols *symbols;   /* [2 * (1 + references)] each as a slice of the pool */
    att_string lowercased, tokenized;
    att_ngrams ngrams;
    att_ngrams document_frequencies; /* of all references, if the metric asks for them */
} metric_scorer;

static att_status read_side(metric_scorer *s, const char *line, int kind, size_t place,
                            att_error *err)
{
    const char *text = line;
    size_t length = strlen(line);
    if (s->lowercase || s->spec->lowercase) {
        if (att_lowercase(&s->lowercased, text, length) != ATT_OK)
            return att_fail_memory(err);
        text = s->lowercased.length > 0 ? s->lowercased.data : "";
        length = s->lowercased.length;
    }
    if (kind == ATT_SYMBOLS_TOKENS) {
        if (att_metric_tokenize(&s->tokenized, s->tokenizer, text, length) != ATT_OK)
            return att_fail_memory(err);
        text = s->tokenized.length > 0 ? s->tokenized.data : "";
        length = s->tokenized.length;
    }
    ATT_TRY(att_symbols_parse(&s->pool, (att_symbol_kind)kind, &s->words, text, length, err));
    s->ends[place] = s->pool.count;
    return ATT_OK;
}

/* Reads the hypothesis of a line and those references that it has as symbols of one kind, into
 * `ends` from index `place` on. */
static att_status read_sides(metric_scorer *s, size_t line, int kind, size_t place, att_error *err)
{
    ATT_TRY(read_side(s, s->texts->hypotheses[line], kind, place, err));
    s->reference_count = 0;
    for (size_t r = 0; r < s->texts->reference_count; r++) {
        const char *reference = s->texts->references[r][line];
        if (reference)
            ATT_TRY(read_side(s, reference, kind, place + 1 + s->reference_count++, err));
    }
    return ATT_OK;
}

static att_status read_line(metric_scorer *s, size_t line, att_error *err)
{
    s->pool.count = 0;
    ATT_TRY(read_sides(s, line, (int)s->spec->symbols, 0, err));
    if (s->spec->second_symbols >= 0)
        ATT_TRY(read_sides(s, line, s->spec->second_symbols, 1 + s->reference_count, err));
    for (size_t i = 0; i < (1 + s->reference_count) * (s->spec->second_symbols < 0 ? 1 : 2); i++) {
        size_t start = i > 0 ? s->ends[i - 1] : 0;
        size_t count = s->ends[i] - start;
        s->symbols[i] = (att_symbols){ count > 0 ? s->pool.items + start : NULL, count };
    }
    return ATT_OK;
}

static att_status count_line(metric_scorer *s, size_t line, double *stats, att_error *err)
{
    ATT_TRY(att_progress_check(err));
    ATT_TRY(read_line(s, line, err));
    const att_metric_line current = { .hypothesis = s->symbols[0],
                                      .references = s->symbols + 1,
                                      .reference_count = s->reference_count,
                                      .hypothesis_words = s->symbols[1 + s->reference_count],
                                      .reference_words = s->symbols + 2 + s->reference_count,
                                      .document_frequencies = &s->document_frequencies,
                                      .line_count = s->texts->count };
    return s->spec->count(stats, &current, &s->ngrams) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

static att_status count_documents(metric_scorer *s, size_t line, att_error *err)
{
    ATT_TRY(read_line(s, line, err));
    for (size_t r = 0; r < s->reference_count; r++)
        if (att_ngrams_add_document(&s->document_frequencies, s->symbols[1 + r].items,
                                    s->symbols[1 + r].count, s->spec->document_order,
                                    (int32_t)line + 1) != ATT_OK)
            return att_fail_memory(err);
    return ATT_OK;
}

static att_status count_lines(metric_scorer *s, double *stats, att_error *err)
{
    size_t places = 2 * (1 + s->texts->reference_count);
    att_status status = ATT_OK;
    s->ends = att_alloc_zero(places, sizeof *s->ends);
    s->symbols = att_alloc_zero(places, sizeof *s->symbols);
    if (status == ATT_OK && (!s->ends || !s->symbols))
        status = att_fail_memory(err);
    for (size_t i = 0; s->spec->document_order > 0 && i < s->texts->count && status == ATT_OK; i++)
        status = count_documents(s, i, err);
    for (size_t i = 0; i < s->texts->count && status == ATT_OK; i++)
        status = count_line(s, i, stats + i * (size_t)s->spec->stat_count, err);
    att_string_set_free(&s->words);
    att_ids_free(&s->pool);
    att_free(s->ends);
    att_free(s->symbols);
    att_string_free(&s->lowercased);
    att_string_free(&s->tokenized);
    att_ngrams_free(&s->ngrams);
    att_ngrams_free(&s->document_frequencies);
    return status;
}

/* ---- the score and its confidence interval */

enum { SIGNATURE_SIZE = 192 };

typedef struct scored_metric {
    att_metric_score score;
    char signature[SIGNATURE_SIZE];
} scored_metric;

struct att_metric_scores {
    size_t lines;
    size_t count;
    scored_metric items[];
};

static double sum_and_score(const att_metric_spec *spec, const double *stats, size_t lines)
{
    double sum[ATT_BOOTSTRAP_MAX_STATS] = { 0 };
    for (size_t i = 0; i < lines; i++)
        for (int n = 0; n < spec->stat_count; n++)
            sum[n] += stats[i * (size_t)spec->stat_count + (size_t)n];
    return spec->score(sum);
}

/* "nrefs:5", or "nrefs:var" if lines have different numbers of references. */
static void write_reference_count(char *out, size_t size, const att_hypotheses *texts)
{
    snprintf(out, size, "nrefs:%zu", texts->reference_count);
    for (size_t r = 0; r < texts->reference_count; r++)
        for (size_t i = 0; i < texts->count; i++)
            if (!texts->references[r][i])
                snprintf(out, size, "nrefs:var");
}

static void write_signature(char out[SIGNATURE_SIZE], const metric_scorer *s,
                            const att_metric_options *options)
{
    char references[32], drawn[64] = "", rest[64] = "";
    write_reference_count(references, sizeof references, s->texts);
    if (options->resamples > 0)
        snprintf(drawn, sizeof drawn, "|bs:%lld|seed:%llu", (long long)options->resamples,
                 (unsigned long long)options->seed);
    const char *signature = s->spec->signature ? s->spec->signature : "";
    const char *at = strchr(signature, '@');
    snprintf(rest, sizeof rest, "%.*s%s%s", (int)(at ? at - signature : (int)strlen(signature)),
             signature, at ? att_metric_tokenizer_names[s->tokenizer] : "", at ? at + 1 : "");
    snprintf(out, SIGNATURE_SIZE, "%s%s|case:%s%s|version:attend-%s", references, drawn,
             s->lowercase || s->spec->lowercase ? "lc" : "mixed", rest, ATT_VERSION);
}

static att_status score(scored_metric *item, metric_scorer *s, const att_metric_options *options,
                        att_error *err)
{
    size_t lines = s->texts->count;
    att_metric_score *out = &item->score;
    double *stats = att_alloc(lines * (size_t)s->spec->stat_count, sizeof *stats);
    if (!stats)
        return att_fail_memory(err);
    *out = (att_metric_score){ .metric = &s->spec->info,
                               .interval = { NAN, NAN },
                               .signature = item->signature };
    att_status status = count_lines(s, stats, err);
    const att_bootstrap drawn = { stats, lines, (size_t)s->spec->stat_count, s->spec->score };
    if (status == ATT_OK) {
        out->value = sum_and_score(s->spec, stats, lines);
        status =
            att_bootstrap_interval(&out->interval, &drawn, options->resamples, options->seed, err);
    }
    att_free(stats);
    write_signature(item->signature, s, options);
    return status;
}

/* ---- public functions */

static att_status find_tokenizer(att_metric_tokenizer *out, const char *word, att_error *err)
{
    *out = ATT_METRIC_TOKENIZER_13A;
    if (!word)
        return ATT_OK;
    for (int i = 0; att_metric_tokenizer_names[i]; i++) {
        if (strcmp(word, att_metric_tokenizer_names[i]) != 0)
            continue;
        *out = (att_metric_tokenizer)i;
        return ATT_OK;
    }
    char quoted[ATT_QUOTED_SIZE];
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "unknown tokenizer '%s', expected 13a, none, char or intl",
                    att_quote(quoted, word, strlen(word)));
}

/* On failure err->line is the line, and err->place names the hypotheses or the references. */
static att_status check_line(const char *text, size_t side, size_t line, att_error *err)
{
    att_error inner = { 0 };
    if (!text || att_line_validate(text, strlen(text), &inner) == ATT_OK)
        return ATT_OK;
    char place[32] = "hypotheses";
    if (side > 0)
        snprintf(place, sizeof place, "references %zu", side);
    return att_fail_at(err, inner.status, place, (int)line + 1, 0, NULL, "%s", inner.message);
}

static att_status check_texts(const att_hypotheses *texts, att_error *err)
{
    if (texts->count == 0 || texts->reference_count == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there are no hypotheses or no references");
    for (size_t side = 0; side <= texts->reference_count; side++)
        for (size_t i = 0; i < texts->count; i++)
            ATT_TRY(check_line(side == 0 ? texts->hypotheses[i] : texts->references[side - 1][i],
                               side, i, err));
    for (size_t i = 0; i < texts->count; i++) {
        size_t references = 0;
        for (size_t r = 0; r < texts->reference_count; r++)
            references += texts->references[r][i] != NULL;
        if (references == 0)
            return att_fail_at(err, ATT_BAD_INPUT, "hypotheses", (int)i + 1, 0, NULL,
                               "the line has no reference");
    }
    return ATT_OK;
}

att_status att_metric_stats(double **stats, const att_metric_spec **spec, const char *name,
                            const att_hypotheses *texts, const att_metric_options *options,
                            att_error *err)
{
    metric_scorer s = { .texts = texts, .lowercase = options->lowercase };
    *stats = NULL;
    ATT_TRY(find_tokenizer(&s.tokenizer, options->tokenizer, err));
    ATT_TRY(check_texts(texts, err));
    *spec = s.spec = find_metric(name, err);
    if (!s.spec)
        return ATT_BAD_INPUT;
    double *counted = att_alloc(texts->count * (size_t)s.spec->stat_count, sizeof *counted);
    att_status status = counted ? count_lines(&s, counted, err) : att_fail_memory(err);
    if (status == ATT_OK)
        *stats = counted;
    else
        att_free(counted);
    return status;
}

static att_status score_all(att_metric_scores *out, const char *const *names,
                            const att_hypotheses *texts, const att_metric_options *options,
                            att_error *err)
{
    att_metric_tokenizer tokenizer;
    ATT_TRY(find_tokenizer(&tokenizer, options->tokenizer, err));
    ATT_TRY(check_texts(texts, err));
    for (size_t i = 0; i < out->count; i++) {
        metric_scorer s = { .texts = texts,
                            .tokenizer = tokenizer,
                            .lowercase = options->lowercase };
        s.spec = find_metric(names[i], err);
        if (!s.spec)
            return ATT_BAD_INPUT;
        ATT_TRY(score(&out->items[i], &s, options, err));
        ATT_TRY(att_progress_step((int64_t)i + 1, err));
    }
    return ATT_OK;
}

att_status att_metrics_score(att_metric_scores **out, const char *const *names, size_t count,
                             const att_hypotheses *texts, const att_metric_options *options,
                             att_error *err)
{
    att_metric_options resolved;
    *out = NULL;
    ATT_TRY(ATT_OPTIONS_COPY(att_metric_options, &resolved, options, err));
    att_metric_scores *scores = NULL;
    if (count <= (SIZE_MAX - sizeof *scores) / sizeof *scores->items)
        scores = att_alloc_zero(1, sizeof *scores + count * sizeof *scores->items);
    if (!scores)
        return att_fail_memory(err);
    scores->lines = texts->count;
    scores->count = count;
    att_progress_scope scope;
    att_progress_begin(&scope, "computing metrics", (int64_t)count);
    att_status status = score_all(scores, names, texts, &resolved, err);
    status = att_progress_end(&scope, status, err);
    if (status == ATT_OK)
        *out = scores;
    else
        att_metric_scores_free(scores);
    return status;
}

void att_metric_scores_free(att_metric_scores *scores)
{
    att_free(scores);
}

const att_metric_score *att_metric_scores_get(const att_metric_scores *scores, size_t index)
{
    return index < scores->count ? &scores->items[index].score : NULL;
}

size_t att_metric_scores_lines(const att_metric_scores *scores)
{
    return scores->lines;
}
