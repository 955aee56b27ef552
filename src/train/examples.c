/* Examples from iterators as files in memory (examples.h). A pair is a line in each of two texts, a
 * caption a line of `image<TAB>caption`, and the pieces of a language model's text follow each
 * other. */
#include "train/examples.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/string.h"

#include <string.h>

/* One dataset: where its texts go and what they are called. */
typedef struct example_set {
    att_example_iterator *next;
    void *context;
    const char *name;                    /* "training", "validation" */
    const char *source_name, *text_name; /* of the files in memory */
    const char *source_key, *target_key; /* settings that name them: for pairs, */
    const char *text_key, *features_key; /* and for captions and text */
    const char *features_name;
    const att_tensor *features;
    att_string *source, *target;
} example_set;

static att_status refuse(const example_set *set, int64_t number, const char *problem,
                         att_error *err)
{
    return att_fail(err, ATT_BAD_INPUT, NULL, "%s example %lld: %s", set->name, (long long)number,
                    problem);
}

static att_status append_line(att_string *out, const char *text)
{
    att_status status = att_string_puts(out, text);
    return status == ATT_OK ? att_string_append(out, "\n", 1) : status;
}

static att_status append_example(const example_set *set, att_model_type type,
                                 const att_example *example, int64_t number, att_error *err)
{
    if (!example->target)
        return refuse(set, number, "expected a target, found NULL", err);
    att_status status = ATT_OK;
    if (type == ATT_MODEL_LM) {
        status = att_string_puts(set->target, example->target);
        return status == ATT_OK ? ATT_OK : att_fail_memory(err);
    }
    if (strpbrk(example->target, "\n\r"))
        return refuse(set, number, "expected a target without line ends", err);
    if (type == ATT_MODEL_CAPTION) {
        status = att_string_printf(set->target, "%lld\t%s\n", (long long)example->image,
                                   example->target);
        return status == ATT_OK ? ATT_OK : att_fail_memory(err);
    }
    if (!example->source)
        return refuse(set, number, "expected a source, found NULL", err);
    if (strpbrk(example->source, "\n\r"))
        return refuse(set, number, "expected a source without line ends", err);
    status = append_line(set->source, example->source);
    if (status == ATT_OK)
        status = append_line(set->target, example->target);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

static att_status collect(const example_set *set, att_model_type type, att_error *err)
{
    att_example example = { 0 };
    for (int64_t number = 1; set->next(set->context, &example); number++) {
        ATT_TRY(append_example(set, type, &example, number, err));
        ATT_TRY(att_progress_check(err));
        example = (att_example){ 0 };
    }
    return ATT_OK;
}

/* Names the file in memory in a setting. Refuses a setting that the caller has set. */
static att_status name_file(att_settings *settings, const char *key, const char *name,
                            att_error *err)
{
    att_string value = { 0 };
    att_status status = att_settings_get(&value, settings, key, err);
    bool given = status == ATT_OK && value.length > 0 && strcmp(value.data, name) != 0;
    if (given)
        status =
            att_fail(err, ATT_BAD_INPUT, NULL,
                     "%s is '%s', but the examples come from an iterator: set only one of them",
                     key, value.data);
    att_string_free(&value);
    return status == ATT_OK ? att_settings_set(settings, key, name, err) : status;
}

static void add_file(att_example_files *out, const char *name, const att_string *text,
                     const att_tensor *tensor)
{
    out->files[out->count++] = (att_memory_file){ .name = name,
                                                  .text = tensor       ? NULL
                                                          : text->data ? text->data
                                                                       : "",
                                                  .length = text ? text->length : 0,
                                                  .tensor = tensor };
}

static att_status mount_set(att_example_files *out, att_settings *settings, const example_set *set,
                            att_error *err)
{
    att_model_type type = att_settings_model_type(settings);
    bool pairs = att_model_type_has_source_vocab(type);
    ATT_TRY(collect(set, type, err));
    ATT_TRY(name_file(settings, pairs ? set->target_key : set->text_key, set->text_name, err));
    add_file(out, set->text_name, set->target, NULL);
    if (pairs) {
        ATT_TRY(name_file(settings, set->source_key, set->source_name, err));
        add_file(out, set->source_name, set->source, NULL);
    }
    if (type == ATT_MODEL_CAPTION && set->features) {
        ATT_TRY(name_file(settings, set->features_key, set->features_name, err));
        add_file(out, set->features_name, NULL, set->features);
    }
    return ATT_OK;
}

att_status att_example_files_new(att_example_files *out, att_settings *settings,
                                 const att_training_options *options, att_error *err)
{
    *out = (att_example_files){ 0 };
    if (!options->train && !options->valid)
        return ATT_OK;
    if (!options->train)
        return att_fail(err, ATT_BAD_INPUT, NULL, "validation examples need training examples");
    if (!att_settings_applies(settings, att_setting_find("train")))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "this task generates its examples; expected no iterators");
    const example_set sets[] = {
        { options->train, options->train_context, "training", "<training source>",
          "<training examples>", "source", "target", "train", "features", "<features>",
          options->features, &out->texts[0], &out->texts[1] },
        { options->valid, options->valid_context, "validation", "<validation source>",
          "<validation examples>", "valid-source", "valid-target", "valid", "valid-features",
          "<validation features>", options->valid_features, &out->texts[2], &out->texts[3] },
    };
    for (size_t i = 0; i < (options->valid ? 2 : 1); i++)
        ATT_TRY(mount_set(out, settings, &sets[i], err));
    att_memory_files_mount(out->files, out->count);
    return ATT_OK;
}

void att_example_files_free(att_example_files *files)
{
    att_memory_files_mount(NULL, 0);
    for (size_t i = 0; i < ATT_COUNT(files->texts); i++)
        att_string_free(&files->texts[i]);
}
