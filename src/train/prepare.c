/* att_prepare(): opens the corpora, and the model whose vocabularies are used, and makes a token
 * file (data/prepare.h). */
#include "data/prepare.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/minmax.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/string.h"
#include "data/token_corpus.h"
#include "settings/setting_specs.h"
#include "train/training.h"

#include <inttypes.h>
#include <math.h>

enum { USUAL_COUNT_LIMIT = 1000000 };
#define MAX_WEIGHT 1e6

/* ---- the corpora */

static att_status open_corpus(att_prepare_corpus *out, const att_corpus_input *input,
                              const char *beside, att_error *err)
{
    out->weight = input->weight == 0 ? 1 : input->weight;
    if (!(out->weight > 0 && out->weight <= MAX_WEIGHT))
        return att_fail(err, ATT_BAD_INPUT, input->path,
                        "has the weight %g, expected more than 0 and at most %g", input->weight,
                        MAX_WEIGHT);
    ATT_TRY(att_text_stream_open(&out->source, input->path, beside, err));
    return input->target ? att_text_stream_open(&out->target, input->target, beside, err) : ATT_OK;
}

static void close_corpora(att_prepare_corpus *list, size_t count)
{
    for (size_t i = 0; list && i < count; i++) {
        att_text_stream_free(list[i].source);
        att_text_stream_free(list[i].target);
    }
    att_free(list);
}

static att_status check_input(const att_prepare_run *run, const att_corpus_input *input,
                              att_error *err)
{
    bool lm = run->data.model_type == ATT_MODEL_LM;
    if (lm && input->target)
        return att_fail(err, ATT_BAD_INPUT, input->target,
                        "the text of a language model is one file, not two");
    const char *const paths[] = { input->path, input->target };
    for (size_t i = 0; i < ATT_COUNT(paths); i++) {
        if (paths[i] && att_file_same(paths[i], run->path))
            return att_fail(err, ATT_BAD_INPUT, run->path,
                            "would be overwritten: it is also an input");
        bool is_prepared = false;
        if (paths[i])
            ATT_TRY(att_token_file_detect(&is_prepared, paths[i], err));
        if (is_prepared)
            return att_fail(err, ATT_BAD_INPUT, paths[i], "is a token file already, expected text");
    }
    return ATT_OK;
}

static att_status open_corpora(att_prepare_run *run, const att_corpus_input *inputs, size_t count,
                               att_error *err)
{
    run->train = att_alloc_zero(count, sizeof *run->train);
    if (!run->train)
        return att_fail_memory(err);
    run->train_count = count;
    for (size_t i = 0; i < count; i++) {
        ATT_TRY(check_input(run, &inputs[i], err));
        ATT_TRY(open_corpus(&run->train[i], &inputs[i], run->path, err));
    }
    const att_settings *settings = run->settings;
    att_corpus_input valid = { settings->valid ? settings->valid : settings->valid_source,
                               settings->valid ? NULL : settings->valid_target, 1 };
    if (!valid.path)
        return ATT_OK;
    run->valid = att_alloc_zero(1, sizeof *run->valid);
    if (!run->valid)
        return att_fail_memory(err);
    ATT_TRY(check_input(run, &valid, err));
    return open_corpus(run->valid, &valid, run->path, err);
}

/* ---- the report */

static att_status report_counts(att_string *out, const att_prepare_run *run)
{
    static const char *const sides[] = { "source", "target" };
    bool lm = run->data.model_type == ATT_MODEL_LM;
    for (int i = 0; i < 2; i++)
        if (run->pruned[i].tokens > 0)
            ATT_TRY(att_string_printf(
                out,
                "%-12s%s: %" PRId64
                " rare words were dropped while counting; none of them occurs more "
                "than %" PRId64 " time%s, and counts are at most that much too low\n",
                "note", lm ? "text" : sides[i], run->pruned[i].tokens, run->pruned[i].undercount,
                run->pruned[i].undercount == 1 ? "" : "s"));
    return ATT_OK;
}

static att_status report_files(att_string *out, const att_prepare_run *run)
{
    const att_mix *mix = &run->data.train.stored->mix;
    const char *unit = run->data.model_type == ATT_MODEL_LM ? "tokens" : "examples";
    for (size_t i = 0, k = 0; run->train_count > 1 && i < run->train_count; i++) {
        const att_prepare_corpus *from = &run->train[i];
        int64_t read = from->examples > 0 ? mix->files[k++].read : 0;
        ATT_TRY(att_string_printf(out, "%-12s%s: %" PRId64 " %s, %" PRId64 " in each epoch\n",
                                  i == 0 ? "files" : "", att_text_stream_name(from->source),
                                  from->examples, unit, read));
    }
    return ATT_OK;
}

static att_status make_report(att_string *out, const att_prepare_run *run, att_error *err)
{
    att_status status = report_files(out, run);
    if (status == ATT_OK)
        status = att_data_report(out, &run->data);
    if (status == ATT_OK)
        status = report_counts(out, run);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

/* ---- all of it */

static att_status check_task(const att_settings *settings, att_error *err)
{
    att_model_type type = att_settings_model_type(settings);
    const char *task = att_setting_find("task")->choices[settings->task];
    if (!att_task_specs[settings->task].required || type == ATT_MODEL_CAPTION)
        return att_fail(
            err, ATT_BAD_INPUT, NULL,
            "task %s cannot be prepared: expected pairs, translate, classify, tag or lm", task);
    if (settings->init_vocab == ATT_INIT_VOCAB_EXTEND)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "init-vocab extend: a token file keeps the vocabularies of init-from");
    return ATT_OK;
}

/* The settings name the first corpus, so that they can be checked as those of a run. */
static att_status name_inputs(att_settings *settings, const att_prepare_options *options,
                              att_error *err)
{
    const att_corpus_input *first = options->inputs;
    if (options->input_count > 0 && first->target) {
        ATT_TRY(att_settings_set(settings, "source", first->path, err));
        ATT_TRY(att_settings_set(settings, "target", first->target, err));
    } else if (options->input_count > 0) {
        ATT_TRY(att_settings_set(settings, "train", first->path, err));
    }
    return att_settings_check(settings, err);
}

static att_status prepare(att_prepare_run *run, const att_prepare_options *options,
                          const att_model *from, att_string *report, att_error *err)
{
    const att_settings *settings = run->settings;
    const att_corpus_input own = { settings->train ? settings->train : settings->source,
                                   settings->train ? NULL : settings->target, 1 };
    const att_initial_vocabs initial = { from ? from->source_vocab : NULL,
                                         from ? from->target_vocab : NULL, false };
    run->data.model_type = att_settings_model_type(settings);
    run->data.initial = from ? &initial : NULL;
    bool given = options->input_count > 0;
    if (!given && !own.path)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no corpus: name at least one file");
    ATT_TRY(att_file_check_output_path(run->path, err));
    att_progress_scope scope; /* a pipe is read to its end here */
    att_progress_begin(&scope, "reading", 0);
    att_status status =
        open_corpora(run, given ? options->inputs : &own, given ? options->input_count : 1, err);
    ATT_TRY(att_progress_end(&scope, status, err));
    att_file_remove_stale_temps(run->path);
    ATT_TRY(run->data.model_type == ATT_MODEL_LM ? att_prepare_text(run, err)
                                                 : att_prepare_pairs(run, err));
    run->data.initial = NULL;
    return report ? make_report(report, run, err) : ATT_OK;
}

att_status att_prepare(const char *path, att_settings *settings, const att_prepare_options *options,
                       att_string *report, att_error *err)
{
    att_prepare_options resolved;
    att_model *from = NULL;
    ATT_TRY(ATT_OPTIONS_COPY(att_prepare_options, &resolved, options, err));
    ATT_TRY(check_task(settings, err));
    ATT_TRY(name_inputs(settings, &resolved, err));
    if (settings->init_from) {
        ATT_TRY(att_model_load(&from, settings->init_from, err));
        att_status status = att_model_require_float(from, settings->init_from, "training", err);
        if (status == ATT_OK)
            status = att_init_from_settings(settings, from, err);
        if (status != ATT_OK) {
            att_model_free(from);
            return status;
        }
    }
    att_prepare_run run = { .path = path,
                            .settings = settings,
                            .count_limit = resolved.count_limit > 0 ? (size_t)resolved.count_limit
                                                                    : USUAL_COUNT_LIMIT };
    size_t before = report ? report->length : 0;
    att_status status = prepare(&run, &resolved, from, report, err);
    if (status != ATT_OK && report && report->length > before)
        report->data[report->length = before] = '\0';
    att_token_writer_free(run.writer);
    att_data_free(&run.data);
    close_corpora(run.train, run.train_count);
    close_corpora(run.valid, 1);
    att_model_free(from);
    return status;
}
