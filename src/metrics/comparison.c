/* Lists of compared metrics (comparison.h), and the comparison of two files of hypotheses. */
#include "metrics/comparison.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "base/progress.h"
#include "metrics/line_files.h"
#include "metrics/metric_spec.h"

#include <math.h>

/* As many resamples as sacreBLEU makes. */
enum { DEFAULT_RESAMPLES = 1000 };

att_status att_comparison_new(att_comparison **out, int64_t lines, size_t capacity, att_error *err)
{
    att_comparison *list = NULL;
    if (capacity <= (SIZE_MAX - sizeof *list) / sizeof *list->rows)
        list = att_alloc_zero(1, sizeof *list + capacity * sizeof *list->rows);
    *out = list;
    if (!list)
        return att_fail_memory(err);
    list->lines = lines;
    return ATT_OK;
}

att_status att_comparison_add(att_comparison *to, const att_comparison_row *as,
                              const att_paired *from, const att_metric_options *options,
                              att_error *err)
{
    att_paired_result found;
    int64_t resamples = options->resamples > 0 ? options->resamples : DEFAULT_RESAMPLES;
    ATT_TRY(att_paired_test(&found, from, resamples, options->seed, err));
    att_comparison_row *row = &to->rows[to->count++];
    *row = *as;
    row->baseline = found.score[ATT_PAIRED_BASELINE];
    row->value = found.score[ATT_PAIRED_SYSTEM];
    row->baseline_mean = found.mean[ATT_PAIRED_BASELINE];
    row->mean = found.mean[ATT_PAIRED_SYSTEM];
    row->baseline_margin = found.margin[ATT_PAIRED_BASELINE];
    row->margin = found.margin[ATT_PAIRED_SYSTEM];
    bool equal = row->value == row->baseline; /* there is nothing that could be due to chance */
    row->bootstrap_p = equal ? NAN : found.bootstrap_p;
    row->randomization_p = equal ? NAN : found.randomization_p;
    return ATT_OK;
}

/* ---- text metrics */

static double text_score(const double *sums, size_t sum_count, const void *context)
{
    const att_metric_spec *spec = context;
    (void)sum_count;
    return spec->score(sums);
}

att_status att_comparison_add_text(att_comparison *to, const char *name,
                                   const att_hypotheses *texts, const att_metric_options *options,
                                   att_error *err)
{
    double *stats[ATT_PAIRED_SYSTEMS] = { 0 };
    const att_metric_spec *spec = NULL;
    att_status status = ATT_OK;
    for (int s = 0; s < ATT_PAIRED_SYSTEMS && status == ATT_OK; s++)
        status = att_metric_stats(&stats[s], &spec, name, &texts[s], options, err);
    if (status == ATT_OK) {
        const att_paired from = { .lines = texts->count,
                                  .sum_count = (size_t)spec->stat_count,
                                  .systems = { stats[0], stats[1] },
                                  .add = att_paired_add_stats,
                                  .score = text_score,
                                  .context = spec };
        const att_comparison_row as = { .name = spec->info.name,
                                        .title = spec->info.title,
                                        .lower_is_better = spec->info.lower_is_better };
        status = att_comparison_add(to, &as, &from, options, err);
    }
    for (int s = 0; s < ATT_PAIRED_SYSTEMS; s++)
        att_free(stats[s]);
    return status;
}

static att_status compare_texts(att_comparison **out, const char *const *names, size_t count,
                                const att_hypotheses *texts, const att_metric_options *options,
                                att_error *err)
{
    ATT_TRY(att_comparison_new(out, (int64_t)texts->count, count, err));
    for (size_t i = 0; i < count; i++) {
        ATT_TRY(att_comparison_add_text(*out, names[i], texts, options, err));
        ATT_TRY(att_progress_step((int64_t)i + 1, err));
    }
    return ATT_OK;
}

/* Ends the scope of a comparison; a failed one is released. */
static att_status end(att_comparison **out, att_progress_scope *scope, att_status status,
                      att_error *err)
{
    status = att_progress_end(scope, status, err);
    if (status != ATT_OK) {
        att_comparison_free(*out);
        *out = NULL;
    }
    return status;
}

att_status att_metrics_compare(att_comparison **out, const char *const *names, size_t count,
                               const att_hypotheses *texts, const char *const *baseline,
                               const att_metric_options *options, att_error *err)
{
    att_metric_options resolved;
    *out = NULL;
    ATT_TRY(ATT_OPTIONS_COPY(att_metric_options, &resolved, options, err));
    att_hypotheses both[ATT_PAIRED_SYSTEMS];
    both[ATT_PAIRED_SYSTEM] = *texts;
    both[ATT_PAIRED_BASELINE] = *texts;
    both[ATT_PAIRED_BASELINE].hypotheses = baseline;
    att_progress_scope scope;
    att_progress_begin(&scope, "comparing", (int64_t)count);
    return end(out, &scope, compare_texts(out, names, count, both, &resolved, err), err);
}

static att_status load_and_compare(att_comparison **out, const char *const *names, size_t count,
                                   const char *const *paths, size_t path_count,
                                   const att_metric_options *options, att_error *err)
{
    att_line_files files;
    ATT_TRY(att_line_files_load(&files, paths, path_count, err));
    const char *const **references = files.lines + ATT_PAIRED_SYSTEMS;
    const size_t reference_count = files.count - ATT_PAIRED_SYSTEMS;
    const att_hypotheses texts[ATT_PAIRED_SYSTEMS] = {
        { files.lines[ATT_PAIRED_BASELINE], references, files.line_count, reference_count },
        { files.lines[ATT_PAIRED_SYSTEM], references, files.line_count, reference_count },
    };
    att_status status = compare_texts(out, names, count, texts, options, err);
    att_line_files_free(&files);
    return status;
}

att_status att_metrics_compare_files(att_comparison **out, const char *const *names, size_t count,
                                     const char *hypotheses, const char *baseline,
                                     const char *const *references, size_t reference_count,
                                     const att_metric_options *options, att_error *err)
{
    att_metric_options resolved;
    *out = NULL;
    ATT_TRY(ATT_OPTIONS_COPY(att_metric_options, &resolved, options, err));
    const char **paths = att_alloc(reference_count + ATT_PAIRED_SYSTEMS, sizeof *paths);
    if (!paths)
        return att_fail_memory(err);
    paths[ATT_PAIRED_BASELINE] = baseline;
    paths[ATT_PAIRED_SYSTEM] = hypotheses;
    for (size_t i = 0; i < reference_count; i++)
        paths[ATT_PAIRED_SYSTEMS + i] = references[i];
    att_progress_scope scope;
    att_progress_begin(&scope, "comparing", (int64_t)count);
    att_status status = load_and_compare(out, names, count, paths,
                                         reference_count + ATT_PAIRED_SYSTEMS, &resolved, err);
    att_free(paths);
    return end(out, &scope, status, err);
}

/* ---- getters */

void att_comparison_free(att_comparison *comparison)
{
    att_free(comparison);
}

int64_t att_comparison_lines(const att_comparison *comparison)
{
    return comparison->lines;
}

const att_comparison_row *att_comparison_get(const att_comparison *comparison, size_t index)
{
    return index < comparison->count ? &comparison->rows[index] : NULL;
}
