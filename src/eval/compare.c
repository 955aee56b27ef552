/* Comparison of two models on the same data (att_models_compare): paired significance tests of
 * every metric that is measured by line. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "decode/session.h"
#include "eval/classifier_predict.h"
#include "eval/corpus_eval.h"
#include "eval/evaluation.h"
#include "eval/tagger_predict.h"
#include "metrics/comparison.h"

#include <math.h>
#include <string.h>

enum { BASELINE = ATT_PAIRED_BASELINE, SYSTEM = ATT_PAIRED_SYSTEM, SYSTEMS = ATT_PAIRED_SYSTEMS };

/* One of the two systems: a model, or an ensemble. */
typedef struct compared_system {
    const att_model *model;
    att_eval_options options;
    att_decoding_options decoding; /* with the ensemble of this system */
} compared_system;

typedef struct model_comparison {
    compared_system systems[SYSTEMS];
    const char *path;
    const att_metric_options *metric_options;
    att_string *notes;
    att_evaluation *call;
} model_comparison;

/* Both models must have read the same lines: which lines are empty may depend on the tokens. */
static att_status check_lines(const model_comparison *c, const att_corpus *corpora[SYSTEMS],
                              att_error *err)
{
    const att_corpus *a = corpora[BASELINE], *b = corpora[SYSTEM];
    for (int64_t p = 0; p < att_max_i64(a->pairs, b->pairs); p++) {
        if (p < a->pairs && p < b->pairs && a->line_numbers[p] == b->line_numbers[p])
            continue;
        int64_t first = p >= a->pairs   ? b->line_numbers[p]
                        : p >= b->pairs ? a->line_numbers[p]
                                        : att_min_i64(a->line_numbers[p], b->line_numbers[p]);
        att_fail_at(err, ATT_BAD_INPUT, NULL, (int)first, 0, NULL,
                    "has no tokens for one of the models, so that they cannot be compared line by "
                    "line");
        return att_evaluation_name_file(ATT_BAD_INPUT, c->path, err);
    }
    return ATT_OK;
}

/* ---- seq2seq and caption models */

static double ratio_score(const double *sums, size_t count, const void *context)
{
    (void)count;
    (void)context;
    return att_ratio_score(sums);
}

static double perplexity_score(const double *sums, size_t count, const void *context)
{
    (void)count;
    (void)context;
    return att_perplexity_score(sums);
}

/* A metric is comparable if it counts the same units in every line: models may split targets into
 * different tokens. `columns` are those of att_token_metric_columns(). */
static bool is_comparable(double *const columns[SYSTEMS], size_t lines)
{
    double units = 0;
    for (size_t i = 0; i < lines; i++) {
        if (columns[BASELINE][2 * i + 1] != columns[SYSTEM][2 * i + 1])
            return false;
        units += columns[BASELINE][2 * i + 1];
    }
    return units > 0;
}

static att_status compare_tokens(att_comparison *out, const model_comparison *c,
                                 const att_seq2seq_lines *lines, double *const columns[SYSTEMS],
                                 att_error *err)
{
    size_t count = (size_t)lines->sum.lines;
    for (size_t i = 0; i < ATT_TOKEN_METRICS; i++) {
        const att_token_metric_spec *spec = &att_token_metric_specs[i];
        for (int s = 0; s < SYSTEMS; s++)
            att_token_metric_columns(columns[s], spec, &lines[s]);
        if (!is_comparable(columns, count))
            continue;
        const att_paired from = { .lines = count,
                                  .sum_count = 2,
                                  .systems = { columns[BASELINE], columns[SYSTEM] },
                                  .add = att_paired_add_stats,
                                  .score = spec->is_perplexity ? perplexity_score : ratio_score };
        const att_comparison_row as = { .name = spec->name,
                                        .title = spec->title,
                                        .lower_is_better = spec->lower_is_better,
                                        .is_rate = !spec->is_perplexity };
        ATT_TRY(att_comparison_add(out, &as, &from, c->metric_options, err));
    }
    return ATT_OK;
}

static att_status compare_texts(att_comparison *out, const model_comparison *c,
                                const att_seq2seq_lines *lines, att_error *err)
{
    const att_eval_options *eval = &c->systems[SYSTEM].options;
    att_metric_options options = *c->metric_options;
    att_references references;
    if (eval->metric_count == 0)
        return ATT_OK;
    for (int s = 0; s < SYSTEMS; s++)
        options.lowercase = options.lowercase || c->systems[s].model->settings->lowercase;
    ATT_TRY(att_corpus_eval_references(&references, c->systems[SYSTEM].model, &lines[SYSTEM].corpus,
                                       err));
    att_hypotheses texts[SYSTEMS];
    for (int s = 0; s < SYSTEMS; s++)
        texts[s] = (att_hypotheses){ lines[s].outputs.lines, references.sides, references.lines,
                                     references.count };
    att_status status = ATT_OK;
    for (size_t i = 0; i < eval->metric_count && status == ATT_OK; i++)
        status = att_comparison_add_text(out, eval->metrics[i], texts, &options, err);
    att_references_free(&references);
    return status;
}

static att_status compare_lines(att_comparison **out, const model_comparison *c,
                                const att_seq2seq_lines *lines, att_error *err)
{
    size_t count = (size_t)lines->sum.lines;
    ATT_TRY(check_lines(c, (const att_corpus *[]){ &lines[BASELINE].corpus, &lines[SYSTEM].corpus },
                        err));
    ATT_TRY(att_comparison_new(out, lines->sum.lines,
                               ATT_TOKEN_METRICS + c->systems[SYSTEM].options.metric_count, err));
    double *columns[SYSTEMS] = { att_alloc(2 * count, sizeof(double)),
                                 att_alloc(2 * count, sizeof(double)) };
    att_status status = columns[BASELINE] && columns[SYSTEM]
                            ? compare_tokens(*out, c, lines, columns, err)
                            : att_fail_memory(err);
    if (status == ATT_OK)
        status = compare_texts(*out, c, lines, err);
    for (int s = 0; s < SYSTEMS; s++)
        att_free(columns[s]);
    return status;
}

static att_status compare_seq2seq(att_comparison **out, const model_comparison *c, att_error *err)
{
    att_seq2seq_lines lines[SYSTEMS] = { 0 };
    att_status status = ATT_OK;
    for (int s = SYSTEM; s >= BASELINE && status == ATT_OK; s--)
        status = att_seq2seq_lines_eval(&lines[s], c->call, c->systems[s].model,
                                        &c->systems[s].options, s == SYSTEM ? c->notes : NULL, err);
    if (status == ATT_OK)
        status = compare_lines(out, c, lines, err);
    for (int s = 0; s < SYSTEMS; s++)
        att_seq2seq_lines_free(&lines[s]);
    return status;
}

/* ---- classifiers and taggers: their data */

static att_status read_labels(att_corpus *out, const model_comparison *c, int which, att_error *err)
{
    const compared_system *s = &c->systems[which];
    const att_data_read_options reading = {
        .path = c->path,
        .format = s->options.format,
        .columns = s->options.columns,
        .keep_words =
            att_ensemble_reads_words(s->model, s->decoding.ensemble, s->decoding.ensemble_count),
        .settings = s->model->settings,
        .keep_target_text = att_model_type_get(s->model) == ATT_MODEL_TAGGER,
        .source_vocab = s->model->source_vocab,
        .target_vocab = s->model->target_vocab
    };
    ATT_TRY(att_ensemble_check(s->model, s->decoding.ensemble, s->decoding.ensemble_count, err));
    ATT_TRY(att_evaluation_meet(c->call, att_data_read(out, &reading, err), s->model, out, err));
    if (which == SYSTEM)
        ATT_TRY(att_corpus_eval_warnings(c->notes, c->path, out, err));
    return att_corpus_eval_lengths(out, s->model, &s->options, c->path, err);
}

/* ---- classifiers */

/* A sentence as a classifier sees it. Labels are numbered over both models; -1: in neither. */
typedef struct labeled_line {
    int64_t truth, predicted;
    double loss;
    bool scored; /* the model has the true label */
} labeled_line;

static void add_accuracy(double *sums, size_t count, const void *system, size_t line)
{
    const labeled_line *at = (const labeled_line *)system + line;
    (void)count;
    sums[0] += at->predicted == at->truth;
    sums[1]++;
}

static void add_label_loss(double *sums, size_t count, const void *system, size_t line)
{
    const labeled_line *at = (const labeled_line *)system + line;
    (void)count;
    sums[0] += at->loss;
    sums[1] += at->scored;
}

/* Three sums for each label: sentences that have it, that it was predicted for, and both. */
static void add_label_counts(double *sums, size_t count, const void *system, size_t line)
{
    const labeled_line *at = (const labeled_line *)system + line;
    (void)count;
    if (at->truth >= 0)
        sums[3 * at->truth]++;
    sums[3 * at->predicted + 1]++;
    sums[3 * at->predicted + 2] += at->predicted == at->truth;
}

/* The mean F1 of the labels that occur or were predicted, as att_confusion_macro_f1(). */
static double macro_f1_score(const double *sums, size_t count, const void *context)
{
    double total = 0;
    int64_t labels = 0;
    (void)context;
    for (size_t i = 0; i < count; i += 3) {
        double either = sums[i] + sums[i + 1];
        total += either > 0 ? 2 * sums[i + 2] / either : 0;
        labels += either > 0;
    }
    return labels > 0 ? total / (double)labels : NAN;
}

/* The number of each label of the baseline: that of the same label of the other model, or a new
 * one. Returns the number of labels of both. */
static int64_t number_labels(int64_t *out, const att_model *baseline, const att_model *model)
{
    size_t known = att_model_label_count(model), next = known;
    for (size_t i = 0; i < att_model_label_count(baseline); i++) {
        size_t at = 0;
        while (at < known && strcmp(att_model_label(model, at), att_model_label(baseline, i)) != 0)
            at++;
        out[i] = (int64_t)(at < known ? at : next++);
    }
    return (int64_t)next;
}

/* `numbers`: of the labels of the model; NULL: they number themselves. */
static void label_lines(labeled_line *out, const att_label_predictions *from,
                        const int64_t *numbers)
{
    for (int64_t i = 0; i < from->count; i++) {
        int64_t truth = from->truth[i], best = att_label_predictions_argmax(from, i);
        bool scored = truth >= 0;
        out[i] = (labeled_line){
            .truth = scored && numbers ? numbers[truth] : truth,
            .predicted = numbers ? numbers[best] : best,
            .loss = scored ? -(double)from->log_probs[i * from->labels + truth] : 0,
            .scored = scored,
        };
    }
}

/* The true label of a line is the same for both, also where only one of them has it. */
static void share_truth(labeled_line *a, labeled_line *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t truth = att_max_i64(a[i].truth, b[i].truth);
        a[i].truth = b[i].truth = truth;
    }
}

/* Whether both models have the true label of the same lines. */
static bool is_loss_comparable(labeled_line *const lines[SYSTEMS], int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (lines[BASELINE][i].scored != lines[SYSTEM][i].scored)
            return false;
    return true;
}

static att_status test_labels(att_comparison **out, const model_comparison *c,
                              labeled_line *const lines[SYSTEMS], int64_t count, int64_t labels,
                              att_error *err)
{
    const struct {
        att_comparison_row as;
        size_t sum_count;
        void (*add)(double *, size_t, const void *, size_t);
        double (*score)(const double *, size_t, const void *);
    } rows[] = {
        { { "accuracy", "accuracy", false, .is_rate = true }, 2, add_accuracy, ratio_score },
        { { "macro_f1", "macro F1", false, .is_rate = true },
          3 * (size_t)labels,
          add_label_counts,
          macro_f1_score },
        { { "loss", "loss", true, .is_rate = false }, 2, add_label_loss, ratio_score },
    };
    size_t row_count = ATT_COUNT(rows) - !is_loss_comparable(lines, count);
    ATT_TRY(att_comparison_new(out, count, row_count, err));
    for (size_t i = 0; i < row_count; i++) {
        const att_paired from = { .lines = (size_t)count,
                                  .sum_count = rows[i].sum_count,
                                  .systems = { lines[BASELINE], lines[SYSTEM] },
                                  .add = rows[i].add,
                                  .score = rows[i].score };
        ATT_TRY(att_comparison_add(*out, &rows[i].as, &from, c->metric_options, err));
    }
    return ATT_OK;
}

static att_status compare_predictions(att_comparison **out, const model_comparison *c,
                                      const att_corpus_predictions *predicted, att_error *err)
{
    const att_model *baseline = c->systems[BASELINE].model;
    int64_t count = predicted->predictions.count;
    int64_t *numbers = att_alloc(att_model_label_count(baseline), sizeof *numbers);
    labeled_line *lines[SYSTEMS] = { att_alloc((size_t)count, sizeof *lines[0]),
                                     att_alloc((size_t)count, sizeof *lines[0]) };
    att_status status = numbers && lines[BASELINE] && lines[SYSTEM] ? ATT_OK : att_fail_memory(err);
    if (status == ATT_OK) {
        int64_t labels = number_labels(numbers, baseline, c->systems[SYSTEM].model);
        label_lines(lines[BASELINE], &predicted[BASELINE].predictions, numbers);
        label_lines(lines[SYSTEM], &predicted[SYSTEM].predictions, NULL);
        share_truth(lines[BASELINE], lines[SYSTEM], count);
        status = test_labels(out, c, lines, count, labels, err);
    }
    att_free(numbers);
    for (int s = 0; s < SYSTEMS; s++)
        att_free(lines[s]);
    return status;
}

static att_status compare_classifiers(att_comparison **out, const model_comparison *c,
                                      att_error *err)
{
    att_corpus corpora[SYSTEMS] = { 0 };
    att_corpus_predictions predicted[SYSTEMS] = { 0 };
    att_status status = ATT_OK;
    for (int s = SYSTEM; s >= BASELINE && status == ATT_OK; s--) {
        const compared_system *system = &c->systems[s];
        status = read_labels(&corpora[s], c, s, err);
        if (status == ATT_OK)
            status = att_evaluation_name_file(att_corpus_predict(&predicted[s], system->model,
                                                                 system->decoding.ensemble,
                                                                 system->decoding.ensemble_count,
                                                                 &corpora[s], &c->call->group, err),
                                              c->path, err);
    }
    if (status == ATT_OK)
        status = check_lines(c, (const att_corpus *[]){ &corpora[0], &corpora[1] }, err);
    if (status == ATT_OK)
        status = compare_predictions(out, c, predicted, err);
    for (int s = 0; s < SYSTEMS; s++) {
        att_corpus_predictions_free(&predicted[s]);
        att_corpus_free(&corpora[s]);
    }
    return status;
}

/* ---- taggers */

typedef double tagger_score(const double *sums);

/* The statistics of a line need one score function each; the context is a pointer to it. */
typedef struct tagger_metric {
    tagger_score *score;
    att_comparison_row as;
} tagger_metric;

static const tagger_metric tagger_metrics[] = {
    { att_tagger_f1, { "f1", "F1 of spans", false, .is_rate = true } },
    { att_tagger_token_accuracy, { "token_accuracy", "token accuracy", false, .is_rate = true } },
    { att_tagger_sentence_accuracy,
      { "sentence_accuracy", "sentence accuracy", false, .is_rate = true } },
    { att_tagger_loss, { "loss", "loss", true, .is_rate = false } },
};

static double score_tags(const double *sums, size_t count, const void *context)
{
    (void)count;
    return ((const tagger_metric *)context)->score(sums);
}

/* Whether both models have the labels of the same number of tokens in every sentence. */
static bool is_tag_loss_comparable(double *const stats[SYSTEMS], int64_t sentences)
{
    for (int64_t i = 0; i < sentences; i++) {
        int64_t at = i * ATT_TAGGER_STATS + ATT_TAGGER_SCORED;
        if (stats[BASELINE][at] != stats[SYSTEM][at])
            return false;
    }
    return true;
}

static att_status test_tags(att_comparison **out, const model_comparison *c,
                            double *const stats[SYSTEMS], int64_t sentences, bool has_spans,
                            att_error *err)
{
    size_t end = ATT_COUNT(tagger_metrics) - !is_tag_loss_comparable(stats, sentences);
    ATT_TRY(att_comparison_new(out, sentences, ATT_COUNT(tagger_metrics), err));
    for (size_t i = has_spans ? 0 : 1; i < end; i++) {
        const att_paired from = { .lines = (size_t)sentences,
                                  .sum_count = ATT_TAGGER_STATS,
                                  .systems = { stats[BASELINE], stats[SYSTEM] },
                                  .add = att_paired_add_stats,
                                  .score = score_tags,
                                  .context = &tagger_metrics[i] };
        ATT_TRY(att_comparison_add(*out, &tagger_metrics[i].as, &from, c->metric_options, err));
    }
    return ATT_OK;
}

static att_status tag_corpus(double **stats, bool *has_spans, const compared_system *s,
                             const att_corpus *corpus, att_group *group, att_error *err)
{
    att_span_counts counts = { 0 };
    *stats = att_alloc_zero((size_t)corpus->pairs, ATT_TAGGER_STATS * sizeof **stats);
    if (!*stats)
        return att_fail_memory(err);
    const att_tagger_predict_options options = { .ensemble = s->decoding.ensemble,
                                                 .ensemble_count = s->decoding.ensemble_count,
                                                 .group = group,
                                                 .line_stats = *stats };
    att_status status = att_tagger_predict(&counts, s->model, corpus, &options, err);
    *has_spans = *has_spans || counts.has_spans;
    att_span_counts_free(&counts);
    return status;
}

static att_status compare_taggers(att_comparison **out, const model_comparison *c, att_error *err)
{
    att_corpus corpora[SYSTEMS] = { 0 };
    double *stats[SYSTEMS] = { 0 };
    bool has_spans = false;
    att_status status = ATT_OK;
    for (int s = SYSTEM; s >= BASELINE && status == ATT_OK; s--) {
        status = read_labels(&corpora[s], c, s, err);
        if (status == ATT_OK)
            status = att_evaluation_name_file(tag_corpus(&stats[s], &has_spans, &c->systems[s],
                                                         &corpora[s], &c->call->group, err),
                                              c->path, err);
    }
    if (status == ATT_OK)
        status = check_lines(c, (const att_corpus *[]){ &corpora[0], &corpora[1] }, err);
    if (status == ATT_OK)
        status = test_tags(out, c, stats, corpora[SYSTEM].pairs, has_spans, err);
    for (int s = 0; s < SYSTEMS; s++) {
        att_free(stats[s]);
        att_corpus_free(&corpora[s]);
    }
    return status;
}

/* ---- models of any type */

typedef att_status compare_function(att_comparison **out, const model_comparison *c,
                                    att_error *err);

static compare_function *const compare_functions[ATT_MODEL_TYPES] = {
    [ATT_MODEL_SEQ2SEQ] = compare_seq2seq,
    [ATT_MODEL_CAPTION] = compare_seq2seq,
    [ATT_MODEL_CLASSIFIER] = compare_classifiers,
    [ATT_MODEL_TAGGER] = compare_taggers,
};

static att_status check_models(const att_model *model, att_model *const *baseline,
                               size_t baseline_count, att_error *err)
{
    att_model_type type = att_model_type_get(model);
    if (baseline_count == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL, "expected a baseline to compare with");
    if (att_model_type_get(baseline[0]) != type)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the model and the baseline are models of different types");
    if (!compare_functions[type])
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "a language model is evaluated on a whole text: there are no lines to "
                        "compare");
    return ATT_OK;
}

static att_status compare(att_comparison **out, att_evaluation *call, const att_model *model,
                          att_model *const *baseline, size_t baseline_count, att_string *notes,
                          att_error *err)
{
    model_comparison c = { .notes = notes, .metric_options = &call->metric_options, .call = call };
    if (!call->path)
        return att_fail(err, ATT_BAD_INPUT, NULL, "expected the data to compare the models on");
    ATT_TRY(att_evaluation_hold_file(call, err));
    c.path = call->path;
    for (int s = 0; s < SYSTEMS; s++) {
        compared_system *system = &c.systems[s];
        system->model = s == SYSTEM ? model : baseline[0];
        system->decoding = call->decoding;
        if (s == BASELINE) {
            system->decoding.ensemble = baseline + 1;
            system->decoding.ensemble_count = baseline_count - 1;
        }
        system->options = call->options;
        system->options.decoding = &system->decoding;
    }
    return compare_functions[att_model_type_get(model)](out, &c, err);
}

att_status att_models_compare(att_comparison **out, const att_model *model,
                              att_model *const *baseline, size_t baseline_count, const char *path,
                              const att_eval_options *options, att_string *notes, att_error *err)
{
    att_evaluation call;
    *out = NULL;
    ATT_TRY(check_models(model, baseline, baseline_count, err));
    att_status status = att_evaluation_open(&call, att_model_type_get(model), path, options, err);
    if (status == ATT_OK)
        status = compare(out, &call, model, baseline, baseline_count, notes, err);
    status = att_evaluation_close(&call, status, err);
    if (status != ATT_OK) {
        att_comparison_free(*out);
        *out = NULL;
    }
    return status;
}
