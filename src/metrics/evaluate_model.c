/* A model measured for a user: figures of its tokens and of its text; see attend.h. */
#include "metrics/evaluate.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/math.h"
#include "metrics/bootstrap.h"
#include "metrics/gallery.h"
#include "text/data.h"

#include <string.h>

/* What is kept while a model is measured. */
typedef struct measurement {
    att_model *model;
    const att_measuring *how;
    att_corpus corpus;
    att_tally tally;
    att_tally *each; /* [pairs] where there are intervals to find */
    att_answer_texts texts;
} measurement;

const char *const *att_model_metrics(const att_model *model, size_t *count)
{
    static const char *const of_words[] = { "bleu", "chrf" };
    static const char *const of_captions[] = { "bleu-1", "bleu-2", "bleu-3", "bleu-4", "cider" };
    if (att_model_kind(model) == ATT_KIND_PICTURE) {
        *count = sizeof of_captions / sizeof *of_captions;
        return of_captions;
    }
    att_tokens tokens = att_vocab_tokens(model->target_words);
    *count = tokens == ATT_TOKENS_WORD || tokens == ATT_TOKENS_SUBWORD ? 2 : 0;
    return of_words;
}

/* ---- data */

/* Those of a file, or those that the model was validated on, read or made up again. */
static att_status get_data(att_corpus *out, const att_model *model, const char *path,
                           const att_measuring *measuring, att_error *err)
{
    const att_data_reading how = { .path = path,
                                   .settings = model->settings,
                                   .source = model->source_words,
                                   .target = model->target_words,
                                   .keep_text = measuring->metric_count > 0,
                                   .features = measuring->features };
    return att_data_read(out, &how, err);
}

att_status att_evaluate_notes(att_text *notes, const char *path, const att_corpus *corpus,
                              att_error *err)
{
    const char *name = path ? att_stream_name(path) : "validation";
    if (!notes || att_corpus_remarks(notes, name, corpus) == ATT_OK)
        return ATT_OK;
    return att_fail_memory(err);
}

/* ---- figures of tokens */

static double ratio(const double *sums)
{
    return sums[1] > 0 ? sums[0] / sums[1] : 0;
}

static double exponential(const double *sums)
{
    return att_exp(ratio(sums));
}

/* What is counted of a line, as columns to draw from. */
enum {
    OF_LINES,
    OF_EXACT,
    OF_TOKENS,
    OF_EDITS,
    OF_WORDS,
    OF_WORD_EDITS,
    OF_STEPS,
    OF_RIGHT,
    OF_LOSS,
    COLUMNS
};

static void columns_of(double out[COLUMNS], const att_tally *line)
{
    out[OF_LINES] = (double)line->lines;
    out[OF_EXACT] = (double)line->exact;
    out[OF_TOKENS] = (double)line->tokens;
    out[OF_EDITS] = (double)line->edits;
    out[OF_WORDS] = (double)line->words;
    out[OF_WORD_EDITS] = (double)line->word_edits;
    out[OF_STEPS] = (double)line->steps;
    out[OF_RIGHT] = (double)line->right_steps;
    out[OF_LOSS] = line->loss;
}

/* A figure: of two columns' sums. */
typedef struct rate {
    size_t within; /* where in att_scores its interval goes */
    int part, whole;
    double (*score)(const double *sums);
} rate;

static const rate rates[] = {
    { offsetof(att_scores, exact_within), OF_EXACT, OF_LINES, ratio },
    { offsetof(att_scores, token_accuracy_within), OF_RIGHT, OF_STEPS, ratio },
    { offsetof(att_scores, token_error_within), OF_EDITS, OF_TOKENS, ratio },
    { offsetof(att_scores, word_error_within), OF_WORD_EDITS, OF_WORDS, ratio },
    { offsetof(att_scores, perplexity_within), OF_LOSS, OF_STEPS, exponential },
};

/* How sure a figure is; `numbers` [pairs, 2] is scratch. */
static att_status find_interval(att_scores *out, const measurement *m, const rate *row,
                                double *numbers, att_error *err)
{
    size_t lines = (size_t)m->tally.lines;
    for (size_t i = 0; i < lines; i++) {
        double columns[COLUMNS];
        columns_of(columns, &m->each[i]);
        numbers[2 * i] = columns[row->part];
        numbers[2 * i + 1] = columns[row->whole];
    }
    att_interval found;
    const att_bootstrap from = { numbers, lines, 2, row->score };
    ATT_TRY(att_bootstrap_interval(&found, &from, m->how->text.resamples, m->how->text.seed, err));
    memcpy((char *)out + row->within, &found, sizeof found);
    return ATT_OK;
}

static att_status find_intervals(att_scores *out, const measurement *m, att_error *err)
{
    double *numbers = att_alloc(2 * (size_t)m->corpus.pairs, sizeof *numbers);
    if (!numbers)
        return att_fail_memory(err);
    att_status status = ATT_OK;
    for (size_t i = 0; i < sizeof rates / sizeof *rates && status == ATT_OK; i++)
        status = find_interval(out, m, &rates[i], numbers, err);
    att_free(numbers);
    return status;
}

static att_status score_tokens(att_scores *out, const measurement *m, att_error *err)
{
    const att_tally *tally = &m->tally;
    *out = (att_scores){ .lines = tally->lines,
                         .tokens = tally->tokens,
                         .exact = att_tally_exact(tally),
                         .token_accuracy = att_tally_token_accuracy(tally),
                         .token_error_rate = att_tally_token_error_rate(tally),
                         .word_error_rate = att_tally_word_error_rate(tally),
                         .perplexity = att_tally_perplexity(tally) };
    return find_intervals(out, m, err);
}

/* ---- figures of text */

/* Each answer against its target. */
static att_status score_pairs(att_metric_score *out, const att_corpus *corpus,
                              const att_answer_texts *answers, const att_measuring *measuring,
                              const att_metric_how *how, att_error *err)
{
    size_t lines = (size_t)corpus->pairs;
    const char **targets = att_alloc(lines, sizeof *targets);
    if (!targets)
        return att_fail_memory(err);
    for (size_t i = 0; i < lines; i++)
        targets[i] = att_corpus_target_text(corpus, (int64_t)i);
    const char *const *references[] = { targets };
    const att_scored_texts texts = { answers->lines, references, lines, 1 };
    att_status status =
        att_metrics_score(out, measuring->metrics, measuring->metric_count, &texts, how, err);
    att_free(targets);
    return status;
}

att_status att_evaluate_texts(att_metric_score *out, const att_model *model,
                              const att_corpus *corpus, const att_answer_texts *answers,
                              const att_measuring *measuring, att_error *err)
{
    if (measuring->metric_count == 0)
        return ATT_OK;
    att_metric_how how = measuring->text;
    how.lower = how.lower || model->settings->lower;
    if (att_model_kind(model) != ATT_KIND_PICTURE)
        return score_pairs(out, corpus, answers, measuring, &how, err);
    return att_gallery_score(out, measuring->metrics, measuring->metric_count, answers->lines,
                             corpus, &how, err);
}

/* ---- all of it */

static att_status measure(measurement *m, att_error *err)
{
    size_t pairs = (size_t)m->corpus.pairs;
    m->each = att_alloc_zero(pairs, sizeof *m->each);
    m->texts.lines = att_alloc_zero(pairs, sizeof *m->texts.lines);
    if (!m->each || !m->texts.lines)
        return att_fail_memory(err);
    const att_evaluate_how how = { .answers = true,
                                   .decoding = m->how->decoding,
                                   .each = m->each,
                                   .texts = m->how->metric_count > 0 ? &m->texts : NULL };
    return att_evaluate(&m->tally, m->model, &m->corpus, &how, err);
}

att_status att_model_evaluate(att_scores *out, att_metric_score *texts, att_model *model,
                              const char *path, const att_measuring *how, att_text *notes,
                              att_error *err)
{
    static const att_measuring plain = { 0 };
    measurement m = { .model = model, .how = how ? how : &plain };
    att_status status = get_data(&m.corpus, model, path, m.how, err);
    if (status == ATT_OK)
        status = att_evaluate_notes(notes, path, &m.corpus, err);
    if (status == ATT_OK)
        status = measure(&m, err);
    if (status == ATT_OK)
        status = score_tokens(out, &m, err);
    if (status == ATT_OK)
        status = att_evaluate_texts(texts, model, &m.corpus, &m.texts, m.how, err);
    att_corpus_free(&m.corpus);
    att_free(m.each);
    att_free(m.texts.lines);
    att_arena_free(&m.texts.arena);
    return status;
}
