/* Evaluation of a seq2seq or caption model (att_model_evaluate_seq2seq): token metrics with their
 * confidence intervals, and metrics of the generated text such as BLEU. */
#include "eval/corpus_eval.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/string.h"
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
                                            .format = eval->format,
                                            .columns = eval->columns,
                                            .features = eval->features,
                                            .recorded_data = eval->recorded_data };
    return att_data_read(out, &options, err);
}

/* How a file other than lines of source<TAB>target, or tokens<TAB>labels, was read. */
static att_status report_format(att_string *notes, const char *name, const att_corpus_stats *stats)
{
    if (!*stats->format || strcmp(stats->format, ATT_FORMAT_TOKENS_AND_LABELS) == 0)
        return ATT_OK;
    return att_string_printf(notes, "%-12s%s: %s\n", "format", name, stats->format);
}

static att_status report_unknown_tags(att_string *notes, const char *name, const att_corpus *corpus)
{
    int64_t count = corpus->stats.unknown_tag_pairs;
    if (count == 0)
        return ATT_OK;
    return att_string_printf(notes,
                             "%-12s%s: %lld of %lld line%s %s tags that the training data lack, "
                             "read as unknown tokens; the first is line %lld\n",
                             "note", name, (long long)count, (long long)corpus->pairs,
                             corpus->pairs == 1 ? "" : "s", count == 1 ? "has" : "have",
                             (long long)corpus->stats.unknown_tag_line);
}

att_status att_corpus_eval_warnings(att_string *notes, const char *path, const att_corpus *corpus,
                                    att_error *err)
{
    const char *name = path ? att_file_display_name(path) : "validation";
    if (!notes)
        return ATT_OK;
    if ((path && report_format(notes, name, &corpus->stats) != ATT_OK) ||
        report_unknown_tags(notes, name, corpus) != ATT_OK ||
        att_corpus_warnings(notes, name, corpus) != ATT_OK)
        return att_fail_memory(err);
    return ATT_OK;
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

double att_ratio_score(const double *sums)
{
    return sums[1] > 0 ? sums[0] / sums[1] : 0;
}

double att_perplexity_score(const double *sums)
{
    return att_exp(att_ratio_score(sums));
}

static void count_columns(double out[ATT_COLUMNS], const att_token_metrics *line)
{
    out[ATT_COLUMN_LINES] = (double)line->lines;
    out[ATT_COLUMN_EXACT] = (double)line->exact_matches;
    out[ATT_COLUMN_TOKENS] = (double)line->tokens;
    out[ATT_COLUMN_EDITS] = (double)line->edits;
    out[ATT_COLUMN_WORDS] = (double)line->words;
    out[ATT_COLUMN_WORD_EDITS] = (double)line->word_edits;
    out[ATT_COLUMN_STEPS] = (double)line->steps;
    out[ATT_COLUMN_CORRECT] = (double)line->correct_steps;
    out[ATT_COLUMN_LOSS] = line->loss;
}

#define INTERVAL(member) offsetof(att_seq2seq_eval, member##_interval)

const att_token_metric_spec att_token_metric_specs[ATT_TOKEN_METRICS] = {
    { "exact_match", "exact match", INTERVAL(exact_match), ATT_COLUMN_EXACT, ATT_COLUMN_LINES,
      false, false },
    { "token_accuracy", "token accuracy", INTERVAL(token_accuracy), ATT_COLUMN_CORRECT,
      ATT_COLUMN_STEPS, false, false },
    { "token_error_rate", "token error rate", INTERVAL(token_error_rate), ATT_COLUMN_EDITS,
      ATT_COLUMN_TOKENS, false, true },
    { "word_error_rate", "word error rate", INTERVAL(word_error_rate), ATT_COLUMN_WORD_EDITS,
      ATT_COLUMN_WORDS, false, true },
    { "perplexity", "perplexity", INTERVAL(perplexity), ATT_COLUMN_LOSS, ATT_COLUMN_STEPS, true,
      true },
};

void att_token_metric_columns(double *out, const att_token_metric_spec *spec,
                              const att_seq2seq_lines *lines)
{
    for (int64_t i = 0; i < lines->sum.lines; i++) {
        double columns[ATT_COLUMNS];
        count_columns(columns, &lines->per_line[i]);
        out[2 * i] = columns[spec->numerator];
        out[2 * i + 1] = columns[spec->denominator];
    }
}

static att_status find_intervals(att_seq2seq_eval *out, const att_seq2seq_lines *lines,
                                 const att_metric_options *options, att_error *err)
{
    size_t count = (size_t)lines->sum.lines;
    double *numbers = att_alloc(2 * count, sizeof *numbers);
    if (!numbers)
        return att_fail_memory(err);
    att_status status = ATT_OK;
    for (size_t i = 0; i < ATT_TOKEN_METRICS && status == ATT_OK; i++) {
        const att_token_metric_spec *spec = &att_token_metric_specs[i];
        att_interval found;
        const att_bootstrap from = { numbers, count, 2,
                                     spec->is_perplexity ? att_perplexity_score : att_ratio_score };
        att_token_metric_columns(numbers, spec, lines);
        status = att_bootstrap_interval(&found, &from, options->resamples, options->seed, err);
        memcpy((char *)out + spec->interval_offset, &found, sizeof found);
    }
    att_free(numbers);
    return status;
}

static att_status score_tokens(att_seq2seq_eval *out, const att_seq2seq_lines *lines,
                               const att_metric_options *options, att_error *err)
{
    const att_token_metrics *counts = &lines->sum;
    *out = (att_seq2seq_eval){ .size = sizeof *out,
                               .lines = counts->lines,
                               .tokens = counts->tokens,
                               .truncated_outputs = counts->truncated,
                               .several_targets = lines->corpus.stats.several_targets,
                               .exact_match = att_token_metrics_exact_match(counts),
                               .token_accuracy = att_token_metrics_token_accuracy(counts),
                               .token_error_rate = att_token_metrics_token_error_rate(counts),
                               .word_error_rate = att_token_metrics_word_error_rate(counts),
                               .perplexity = att_token_metrics_perplexity(counts) };
    return find_intervals(out, lines, options, err);
}

/* ---- text metrics */

void att_references_free(att_references *references)
{
    att_free(references->sides);
    att_free(references->flat);
    *references = (att_references){ 0 };
}

att_status att_corpus_eval_references(att_references *out, const att_model *model,
                                      const att_corpus *corpus, att_error *err)
{
    if (att_model_type_get(model) == ATT_MODEL_CAPTION)
        return att_caption_references_new(out, corpus, err);
    *out = (att_references){ .count = 1, .lines = (size_t)corpus->pairs };
    out->flat = att_alloc(out->lines, sizeof *out->flat);
    out->sides = att_alloc(1, sizeof *out->sides);
    if (!out->flat || !out->sides) {
        att_references_free(out);
        return att_fail_memory(err);
    }
    for (size_t i = 0; i < out->lines; i++)
        out->flat[i] = att_corpus_target_text(corpus, (int64_t)i);
    out->sides[0] = out->flat;
    return ATT_OK;
}

att_status att_corpus_eval_metric_options(att_metric_options *out, const att_model *model,
                                          const att_eval_options *eval, att_error *err)
{
    ATT_TRY(ATT_OPTIONS_COPY(att_metric_options, out, eval->metric_options, err));
    out->lowercase = out->lowercase || model->settings->lowercase;
    return ATT_OK;
}

att_status att_corpus_eval_texts(att_metric_scores **out, const att_model *model,
                                 const att_corpus *corpus, const att_output_texts *outputs,
                                 const att_eval_options *eval, att_error *err)
{
    if (eval->metric_count == 0)
        return ATT_OK;
    att_metric_options options;
    att_references references;
    ATT_TRY(att_corpus_eval_metric_options(&options, model, eval, err));
    ATT_TRY(att_corpus_eval_references(&references, model, corpus, err));
    const att_hypotheses texts = { outputs->lines, references.sides, references.lines,
                                   references.count };
    att_status status =
        att_metrics_score(out, eval->metrics, eval->metric_count, &texts, &options, err);
    att_references_free(&references);
    return status;
}

/* ---- the evaluation */

static att_status generate_lines(att_seq2seq_lines *out, const att_model *model,
                                 const att_eval_options *eval, att_group *group, att_error *err)
{
    size_t pairs = (size_t)out->corpus.pairs;
    out->per_line = att_alloc_zero(pairs, sizeof *out->per_line);
    out->outputs.lines = att_alloc_zero(pairs, sizeof *out->outputs.lines);
    if (!out->per_line || !out->outputs.lines)
        return att_fail_memory(err);
    const att_corpus_eval_options options = { .decode = true,
                                              .decoding = eval->decoding,
                                              .group = group,
                                              .per_pair = out->per_line,
                                              .output_texts =
                                                  eval->metric_count > 0 ? &out->outputs : NULL };
    return att_corpus_eval(&out->sum, model, &out->corpus, &options, err);
}

att_status att_seq2seq_lines_eval(att_seq2seq_lines *out, att_evaluation *call,
                                  const att_model *model, const att_eval_options *options,
                                  att_string *notes, att_error *err)
{
    const char *path = call->path;
    const att_decoding_options *decoding = options->decoding;
    *out = (att_seq2seq_lines){ 0 };
    ATT_TRY(att_ensemble_check(model, decoding->ensemble, decoding->ensemble_count, err));
    ATT_TRY(att_evaluation_meet(call, get_data(&out->corpus, model, path, options, err), model,
                                &out->corpus, err));
    ATT_TRY(att_corpus_eval_warnings(notes, path, &out->corpus, err));
    if (att_model_type_get(model) != ATT_MODEL_CAPTION)
        ATT_TRY(att_corpus_eval_lengths(&out->corpus, model, options, path, err));
    return att_evaluation_name_file(generate_lines(out, model, options, &call->group, err), path,
                                    err);
}

void att_seq2seq_lines_free(att_seq2seq_lines *lines)
{
    att_corpus_free(&lines->corpus);
    att_free(lines->per_line);
    att_free(lines->outputs.lines);
    att_arena_free(&lines->outputs.arena);
}

static att_status evaluate(att_seq2seq_eval *out, att_metric_scores **scores,
                           const att_model *model, att_evaluation *call, att_string *notes,
                           att_error *err)
{
    att_seq2seq_lines lines;
    att_status status = att_seq2seq_lines_eval(&lines, call, model, &call->options, notes, err);
    if (status == ATT_OK)
        status = score_tokens(out, &lines, &call->metric_options, err);
    if (status == ATT_OK && scores)
        status = att_corpus_eval_texts(scores, model, &lines.corpus, &lines.outputs, &call->options,
                                       err);
    att_seq2seq_lines_free(&lines);
    return status;
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
    if (status == ATT_OK)
        status = evaluate(&result, scores, model, &call, notes, err);
    status = att_evaluation_close(&call, status, err);
    if (status != ATT_OK && scores) {
        att_metric_scores_free(*scores);
        *scores = NULL;
    }
    return status == ATT_OK ? ATT_RESULT_COPY(att_seq2seq_eval, out, &result, err) : status;
}
