/* Options and datasets of evaluation calls (evaluation.h). Examples become the lines that a file of
 * the same dataset would have. */
#include "eval/evaluation.h"

#include "base/error.h"
#include "base/file.h"
#include "base/options.h"
#include "base/string.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "data/corpus.h"
#include "data/data_hash.h"

#include <stdio.h>
#include <string.h>

static const char *const example_file = "<examples>", *const feature_file = "<features>";

static att_status refuse(int64_t number, const char *expected, att_error *err)
{
    return att_fail(err, ATT_BAD_INPUT, NULL, "example %lld: expected %s", (long long)number,
                    expected);
}

static att_status append_example(att_string *out, att_model_type type, const att_example *example,
                                 int64_t number, att_error *err)
{
    bool is_text = type == ATT_MODEL_LM, has_source = !is_text && type != ATT_MODEL_CAPTION;
    if (!example->target)
        return refuse(number, "a target, found NULL", err);
    if (!is_text && strpbrk(example->target, "\n\r"))
        return refuse(number, "a target without line ends", err);
    if (has_source && (!example->source || strpbrk(example->source, "\t\n\r")))
        return refuse(number, "a source without tabs and line ends", err);
    att_status status = ATT_OK;
    if (has_source)
        status = att_string_printf(out, "%s\t%s\n", example->source, example->target);
    else if (is_text)
        status = att_string_puts(out, example->target);
    else
        status = att_string_printf(out, "%lld\t%s\n", (long long)example->image, example->target);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

static att_status collect_examples(att_evaluation *call, att_model_type type, att_error *err)
{
    att_example example = { 0 };
    for (int64_t number = 1; call->options.examples(call->options.examples_context, &example);
         number++) {
        ATT_TRY(append_example(&call->text, type, &example, number, err));
        ATT_TRY(att_progress_check(err));
        example = (att_example){ 0 };
    }
    return ATT_OK;
}

static att_status mount_examples(att_evaluation *call, att_model_type type, att_error *err)
{
    size_t count = 0;
    if (call->options.examples) {
        ATT_TRY(collect_examples(call, type, err));
        call->files[count++] = (att_memory_file){ .name = example_file,
                                                  .text = call->text.data ? call->text.data : "",
                                                  .length = call->text.length,
                                                  .is_lines = true };
        call->path = example_file;
    }
    if (call->options.feature_values) {
        call->files[count++] =
            (att_memory_file){ .name = feature_file, .tensor = call->options.feature_values };
        call->options.features = feature_file;
    }
    if (count > 0)
        att_memory_files_mount(call->files, count);
    return ATT_OK;
}

/* ---- several processes */

/* What must be equal in all. */
typedef struct introduction {
    int64_t model_hash, data_hash;
} introduction;

static att_status compare_introductions(const att_evaluation *call, const introduction *all,
                                        att_error *err)
{
    const char *own = call->group.members[0].host;
    for (int r = 1; r < call->group.count; r++) {
        const char *host = call->group.members[r].host;
        if (all[0].model_hash != all[r].model_hash || all[0].data_hash != all[r].data_hash)
            return att_fail(
                err, ATT_BAD_INPUT, NULL,
                "process %d on %s has %s than process 0 on %s: the files differ", r, host,
                all[0].model_hash != all[r].model_hash ? "another model" : "other data", own);
    }
    return ATT_OK;
}

static att_status introduce(att_evaluation *call, const att_model *model, const att_corpus *corpus,
                            att_error *err)
{
    const att_params *params = &model->params;
    introduction own = {
        .model_hash = (int64_t)att_hash_fnv1a(params->value, params->size * sizeof *params->value),
        .data_hash = att_corpus_hash(corpus),
    };
    introduction *all = att_alloc_zero((size_t)call->group.count, sizeof *all);
    att_status status =
        all ? att_group_gather(&call->group, all, &own, sizeof own, err) : att_fail_memory(err);
    if (status == ATT_OK && call->group.rank == 0)
        status = compare_introductions(call, all, err);
    att_free(all);
    return status == ATT_NO_MEMORY ? status : att_group_agree(&call->group, status, err);
}

/* Only a failure can come without a model or data. */
att_status att_evaluation_meet(att_evaluation *call, att_status status, const att_model *model,
                               const att_corpus *corpus, att_error *err)
{
    att_error ignored = { 0 };
    if (call->group.count == 1)
        return status;
    if (!err)
        err = &ignored;
    att_error own = *err;
    if (!call->has_met) {
        ATT_TRY(att_group_meet(&call->group, err));
        att_group_share_cores(&call->group);
    }
    call->has_met = true;
    if (status != ATT_OK)
        *err = own;
    ATT_TRY(att_group_agree(&call->group, status, err));
    return introduce(call, model, corpus, err);
}

/* The outcome of the call, the same in all processes, unless one is out of memory alone. */
static att_status agree_on_outcome(att_evaluation *call, att_status status, att_error *err)
{
    att_group *group = &call->group;
    if (group->count <= 1 || (status != ATT_OK && group->transport->agreed) ||
        status == ATT_NO_MEMORY)
        return status;
    return call->has_met ? att_group_agree(group, status, err)
                         : att_evaluation_meet(call, status, NULL, NULL, err);
}

/* ---- opening and closing */

att_status att_evaluation_open(att_evaluation *call, att_model_type type, const char *path,
                               const att_eval_options *options, att_error *err)
{
    *call = (att_evaluation){ .path = path };
    att_progress_begin(&call->scope, "evaluating", 0);
    ATT_TRY(ATT_OPTIONS_COPY(att_eval_options, &call->options, options, err));
    ATT_TRY(att_group_new(&call->group, call->options.transport, err));
    if (call->options.transport)
        call->options.transport->agreed = false;
    ATT_TRY(ATT_OPTIONS_COPY(att_decoding_options, &call->decoding, call->options.decoding, err));
    ATT_TRY(ATT_OPTIONS_COPY(att_metric_options, &call->metric_options,
                             call->options.metric_options, err));
    if (call->options.stride != 0 && type != ATT_MODEL_LM)
        return att_fail(err, ATT_BAD_INPUT, NULL, "stride is for language models");
    call->options.decoding = &call->decoding;
    call->options.metric_options = &call->metric_options;
    if (path && call->options.examples)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "expected a file or an iterator of examples, found both");
    if (call->options.features && call->options.feature_values)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "expected features in a file or in memory, found both");
    return mount_examples(call, type, err);
}

att_status att_evaluation_hold_file(att_evaluation *call, att_error *err)
{
    if (!call->path || call->options.examples)
        return ATT_OK;
    struct att_text_file file;
    att_status status = att_text_file_load(&file, call->path, err);
    call->text = file.text;
    ATT_TRY(status);
    size_t at = call->files[0].name ? 1 : 0; /* after the features, if there are any */
    call->files[at] = (att_memory_file){ .name = call->path,
                                         .text = call->text.data ? call->text.data : "",
                                         .length = call->text.length };
    att_memory_files_mount(call->files, at + 1);
    return ATT_OK;
}

att_status att_evaluation_name_file(att_status status, const char *path, att_error *err)
{
    if (status == ATT_BAD_INPUT && err && !err->place[0])
        snprintf(err->place, sizeof err->place, "%s",
                 path ? att_file_display_name(path) : "validation");
    return status;
}

att_status att_evaluation_close(att_evaluation *call, att_status status, att_error *err)
{
    if (call->files[0].name)
        att_memory_files_mount(NULL, 0);
    att_string_free(&call->text);
    status = agree_on_outcome(call, status, err);
    att_group_free(&call->group);
    return att_progress_end(&call->scope, status, err);
}
