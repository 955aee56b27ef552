/* Evaluation of a seq2seq or caption model (att_model_evaluate_seq2seq): token metrics with their
 * confidence intervals, and metrics of the generated text such as BLEU. */
#include "eval/corpus_eval.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/math.h"
#include "base/minmax.h"
#include "base/options.h"
#include "decode/requests.h"
#include "decode/session.h"
#include "metrics/bootstrap.h"
#include "eval/caption_eval.h"
#include "eval/evaluation.h"
#include "data/data.h"

#include <string.h>

/* The state of one evaluation. */
typedef struct seq2seq_eval {
    const att_model *model;
    const att_eval_options *options;
    att_corpus corpus;
    att_token_metrics metrics;
    att_token_metrics *per_pair; /* [pairs] counts to resample for the intervals */
    att_output_texts output_texts;
} seq2seq_eval;

const char *const *att_model_metrics(const att_model *model, size_t *count)
{
    static const char *const text_metrics[] = { "bleu", "chrf" };
    static const char *const caption_metrics[] = { "bleu-1", "bleu-2", "bleu-3", "bleu-4",
                                                   "cider" };
    if (att_model_type_get(model) == ATT_MODEL_CAPTION) {
        *count = ATT_COUNT(caption_metrics);
        return caption_metrics;
    }
    att_tokenizer_kind tokens = att_vocab_tokenizer_kind(model->target_vocab);
    *count = att_tokenizer_specs[tokens].language ? ATT_COUNT(text_metrics) : 0;
    return text_metrics;
}

/* ---- data */

/* Reads the pairs of a file; without a path, the validation data of the training run, which
 * synthetic tasks generate again. */
static att_status get_data(att_corpus *out, const att_model *model, const char *path,
                           const att_eval_options *eval, att_error *err)
{
    const att_data_read_options options = { .path = path,
                                            .settings = model->settings,
                                            .source_vocab = model->source_vocab,
                                            .target_vocab = model->target_vocab,
                                            .keep_target_text = eval->metric_count > 0,
                                            .features = eval->features,
                                            .recorded_data = eval->recorded_data };
    return att_data_read(out, &options, err);
}

att_status att_corpus_eval_warnings(att_string *notes, const char *path, const att_corpus *corpus,
                                    att_error *err)
{
    const char *name = path ? att_file_display_name(path) : "validation";
    if (!notes || att_corpus_warnings(notes, name, corpus) == ATT_OK)
        return ATT_OK;
    return att_fail_memory(err);
}

att_status att_corpus_eval_lengths(const att_corpus *corpus, const att_model *model,
                                   const att_eval_options *options, const char *path,
                                   att_error *err)
{
    const att_input_limit limit =
        att_input_limit_of(model, options->decoding->ensemble, options->decoding->ensemble_count,
                           options->max_input_length);
    for (int64_t p = 0; p < corpus->pairs; p++) {
        int64_t length;
        att_sequences_get(&corpus->source, p, &length);
        att_status status = att_input_limit_check(&limit, length, err);
        if (status == ATT_OK)
            continue;
        if (err && corpus->line_numbers)
            err->line = (int)corpus->line_numbers[p];
        return att_evaluation_name_file(status, path, err);
    }
    return ATT_OK;
}

/* ---- token metrics */

static double ratio(const double *sums)
{
    return sums[1] > 0 ? sums[0] / sums[1] : 0;
}

static double exponential(const double *sums)
{
    return att_exp(ratio(sums));
}

/* Counts of a line, as the columns that the bootstrap resamples. */
enum {
    COLUMN_LINES,
    COLUMN_EXACT,
    COLUMN_TOKENS,
    COLUMN_EDITS,
    COLUMN_WORDS,
    COLUMN_WORD_EDITS,
    COLUMN_STEPS,
    COLUMN_CORRECT,
    COLUMN_LOSS,
    COLUMNS
};

static void count_columns(double out[COLUMNS], const att_token_metrics *line)
{
    out[COLUMN_LINES] = (double)line->lines;
    out[COLUMN_EXACT] = (double)line->exact_matches;
    out[COLUMN_TOKENS] = (double)line->tokens;
    out[COLUMN_EDITS] = (double)line->edits;
    out[COLUMN_WORDS] = (double)line->words;
    out[COLUMN_WORD_EDITS] = (double)line->word_edits;
    out[COLUMN_STEPS] = (double)line->steps;
    out[COLUMN_CORRECT] = (double)line->correct_steps;
    out[COLUMN_LOSS] = line->loss;
}

/* A metric: a function of the sums of two columns. */
typedef struct metric_ratio {
    size_t interval_offset; /* of the interval in att_seq2seq_eval */
    int numerator, denominator;
    double (*score)(const double *sums);
} metric_ratio;

static const metric_ratio metric_ratios[] = {
    { offsetof(att_seq2seq_eval, exact_match_interval), COLUMN_EXACT, COLUMN_LINES, ratio },
    { offsetof(att_seq2seq_eval, token_accuracy_interval), COLUMN_CORRECT, COLUMN_STEPS, ratio },
    { offsetof(att_seq2seq_eval, token_error_rate_interval), COLUMN_EDITS, COLUMN_TOKENS, ratio },
    { offsetof(att_seq2seq_eval, word_error_rate_interval), COLUMN_WORD_EDITS, COLUMN_WORDS,
      ratio },
    { offsetof(att_seq2seq_eval, perplexity_interval), COLUMN_LOSS, COLUMN_STEPS, exponential },
};

/* The confidence interval of one metric; `numbers` [pairs, 2] is scratch space. */
static att_status find_interval(att_seq2seq_eval *out, const seq2seq_eval *m,
                                const metric_ratio *row, double *numbers, att_error *err)
{
    size_t lines = (size_t)m->metrics.lines;
    for (size_t i = 0; i < lines; i++) {
        double columns[COLUMNS];
        count_columns(columns, &m->per_pair[i]);
        numbers[2 * i] = columns[row->numerator];
        numbers[2 * i + 1] = columns[row->denominator];
    }
    att_interval found;
    const att_bootstrap from = { numbers, lines, 2, row->score };
    ATT_TRY(att_bootstrap_interval(&found, &from, m->options->metric_options->resamples,
                                   m->options->metric_options->seed, err));
    memcpy((char *)out + row->interval_offset, &found, sizeof found);
    return ATT_OK;
}

static att_status find_intervals(att_seq2seq_eval *out, const seq2seq_eval *m, att_error *err)
{
    double *numbers = att_alloc(2 * (size_t)m->corpus.pairs, sizeof *numbers);
    if (!numbers)
        return att_fail_memory(err);
    att_status status = ATT_OK;
    for (size_t i = 0; i < ATT_COUNT(metric_ratios) && status == ATT_OK; i++)
        status = find_interval(out, m, &metric_ratios[i], numbers, err);
    att_free(numbers);
    return status;
}

static att_status score_tokens(att_seq2seq_eval *out, const seq2seq_eval *m, att_error *err)
{
    const att_token_metrics *counts = &m->metrics;
    *out = (att_seq2seq_eval){ .size = sizeof *out,
                               .lines = counts->lines,
                               .tokens = counts->tokens,
                               .truncated_outputs = counts->truncated,
                               .exact_match = att_token_metrics_exact_match(counts),
                               .token_accuracy = att_token_metrics_token_accuracy(counts),
                               .token_error_rate = att_token_metrics_token_error_rate(counts),
                               .word_error_rate = att_token_metrics_word_error_rate(counts),
                               .perplexity = att_token_metrics_perplexity(counts) };
    return find_intervals(out, m, err);
}

/* ---- text metrics */

/* Scores each output against its target. */
static att_status score_pairs(att_metric_scores **out, const att_corpus *corpus,
                              const att_output_texts *outputs, const att_eval_options *eval,
                              const att_metric_options *options, att_error *err)
{
    size_t lines = (size_t)corpus->pairs;
    const char **targets = att_alloc(lines, sizeof *targets);
    if (!targets)
        return att_fail_memory(err);
    for (size_t i = 0; i < lines; i++)
        targets[i] = att_corpus_target_text(corpus, (int64_t)i);
    const char *const *references[] = { targets };
    const att_hypotheses texts = { outputs->lines, references, lines, 1 };
    att_status status =
        att_metrics_score(out, eval->metrics, eval->metric_count, &texts, options, err);
    att_free(targets);
    return status;
}

att_status att_corpus_eval_texts(att_metric_scores **out, const att_model *model,
                                 const att_corpus *corpus, const att_output_texts *outputs,
                                 const att_eval_options *eval, att_error *err)
{
    if (eval->metric_count == 0)
        return ATT_OK;
    att_metric_options options;
    ATT_TRY(ATT_OPTIONS_COPY(att_metric_options, &options, eval->metric_options, err));
    options.lowercase = options.lowercase || model->settings->lowercase;
    if (att_model_type_get(model) != ATT_MODEL_CAPTION)
        return score_pairs(out, corpus, outputs, eval, &options, err);
    return att_caption_eval_score(out, eval->metrics, eval->metric_count, outputs->lines, corpus,
                                  &options, err);
}

/* ---- the evaluation */

static att_status run_eval(seq2seq_eval *m, att_error *err)
{
    size_t pairs = (size_t)m->corpus.pairs;
    m->per_pair = att_alloc_zero(pairs, sizeof *m->per_pair);
    m->output_texts.lines = att_alloc_zero(pairs, sizeof *m->output_texts.lines);
    if (!m->per_pair || !m->output_texts.lines)
        return att_fail_memory(err);
    const att_corpus_eval_options options = { .decode = true,
                                              .decoding = m->options->decoding,
                                              .per_pair = m->per_pair,
                                              .output_texts = m->options->metric_count > 0
                                                                  ? &m->output_texts
                                                                  : NULL };
    return att_corpus_eval(&m->metrics, m->model, &m->corpus, &options, err);
}

static att_status evaluate(att_seq2seq_eval *out, att_metric_scores **scores, seq2seq_eval *m,
                           const char *path, att_string *notes, att_error *err)
{
    const att_decoding_options *decoding = m->options->decoding;
    ATT_TRY(att_ensemble_check(m->model, decoding->ensemble, decoding->ensemble_count, err));
    ATT_TRY(get_data(&m->corpus, m->model, path, m->options, err));
    ATT_TRY(att_corpus_eval_warnings(notes, path, &m->corpus, err));
    if (att_model_type_get(m->model) != ATT_MODEL_CAPTION)
        ATT_TRY(att_corpus_eval_lengths(&m->corpus, m->model, m->options, path, err));
    ATT_TRY(att_evaluation_name_file(run_eval(m, err), path, err));
    ATT_TRY(score_tokens(out, m, err));
    if (!scores)
        return ATT_OK;
    return att_corpus_eval_texts(scores, m->model, &m->corpus, &m->output_texts, m->options, err);
}

att_status att_model_evaluate_seq2seq(att_seq2seq_eval *out, att_metric_scores **scores,
                                      const att_model *model, const char *path,
                                      const att_eval_options *options, att_string *notes,
                                      att_error *err)
{
    att_evaluation call;
    att_seq2seq_eval result = ATT_INIT(att_seq2seq_eval);
    if (scores)
        *scores = NULL;
    ATT_TRY(ATT_RESULT_COPY(att_seq2seq_eval, out, &result, err));
    att_status status = att_evaluation_open(&call, att_model_type_get(model), path, options, err);
    seq2seq_eval m = { .model = model, .options = &call.options };
    if (status == ATT_OK)
        status = evaluate(&result, scores, &m, call.path, notes, err);
    status = att_evaluation_close(&call, status, err);
    if (status != ATT_OK && scores) {
        att_metric_scores_free(*scores);
        *scores = NULL;
    }
    att_corpus_free(&m.corpus);
    att_free(m.per_pair);
    att_free(m.output_texts.lines);
    att_arena_free(&m.output_texts.arena);
    return status == ATT_OK ? ATT_RESULT_COPY(att_seq2seq_eval, out, &result, err) : status;
}
