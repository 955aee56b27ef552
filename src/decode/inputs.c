/* att_inputs: the inputs of a model from a column of a table. Rows become lines as the calls that
 * generate, classify and tag take them, with the tags of a row after a tab. */
#include "attend.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/options.h"
#include "base/progress.h"
#include "data/data.h"
#include "data/example_reader.h"
#include "model/model.h"

#include <string.h>

struct att_inputs {
    size_t count, line_capacity, number_capacity;
    const char **lines;
    int64_t *numbers;
    char description[ATT_FORMAT_DESCRIPTION_SIZE];
    att_arena texts;
};

static att_status find_format(att_data_format *out, const char *name, att_error *err)
{
    static const struct {
        const char *name;
        att_data_format format;
    } formats[] = { { "csv", ATT_DATA_CSV }, { "jsonl", ATT_DATA_JSONL }, { "tsv", ATT_DATA_TSV } };
    char quoted[ATT_QUOTED_SIZE];
    for (size_t i = 0; name && i < ATT_COUNT(formats); i++)
        if (strcmp(name, formats[i].name) == 0) {
            *out = formats[i].format;
            return ATT_OK;
        }
    return att_fail(err, ATT_BAD_INPUT, NULL, "format of inputs: expected csv, jsonl or tsv%s%s%s",
                    name ? ", found '" : "", name ? att_quote(quoted, name, strlen(name)) : "",
                    name ? "'" : "");
}

/* The columns of tab-separated lines: of training where the first line has them, else the first,
 * and tags in the last of three or the second of two. */
static att_status tsv_columns(att_columns *out, const att_model *model,
                              const struct att_text_file *file, att_error *err)
{
    att_line_reader lines = att_text_file_lines(file);
    att_line_view line = { "", 0, 0 };
    int64_t count = 1, last = 0;
    bool named = false;
    (void)att_line_reader_next(&lines, &line);
    for (size_t i = 0; i < line.length; i++)
        count += line.text[i] == '\t';
    for (int i = 0; i < out->count; i++) {
        named = named || out->items[i].number < 0;
        if (i != ATT_COLUMN_TARGET && out->items[i].number > last)
            last = out->items[i].number;
    }
    if (out->count > 0 && !named && last <= count)
        return ATT_OK;
    bool tags = att_model_has_tags(model) && count > 1;
    return att_settings_input_columns(out, !tags ? "1" : count > 2 ? "1,3" : "1,2", err);
}

/* Replaces the columns of training, which *format has, by those of the table: JSON lines have no
 * numbers, the numbers of a tagger are mostly those of CoNLL files, and nobody reads targets. */
static att_status trained_columns(att_example_format *format, const att_model *model,
                                  const struct att_text_file *file, att_error *err)
{
    att_columns *out = &format->columns;
    bool numbered = out->count > 0 && out->items[ATT_COLUMN_SOURCE].number >= 0;
    if (numbered && (format->format == ATT_DATA_JSONL || format->kind == ATT_EXAMPLES_TAGGED))
        *out = (att_columns){ 0 };
    if (format->format == ATT_DATA_TSV)
        ATT_TRY(tsv_columns(out, model, file, err));
    if (out->count > 0)
        out->items[ATT_COLUMN_TARGET] = out->items[ATT_COLUMN_SOURCE];
    return ATT_OK;
}

static att_status choose_columns(att_example_format *out, const att_model *model,
                                 const att_inputs_options *options,
                                 const struct att_text_file *file, att_error *err)
{
    if (!options->columns)
        return trained_columns(out, model, file, err);
    ATT_TRY(att_settings_input_columns(&out->columns, options->columns, err));
    if (out->columns.count < ATT_COLUMN_COUNT || att_model_has_tags(model))
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "columns %s: the model has no tags beside the text, expected one column",
                    options->columns);
}

static att_status add_line(att_inputs *inputs, const att_line_view *line, att_error *err)
{
    if (!att_array_grow((void **)&inputs->lines, &inputs->line_capacity, inputs->count,
                        sizeof *inputs->lines) ||
        !att_array_grow((void **)&inputs->numbers, &inputs->number_capacity, inputs->count,
                        sizeof *inputs->numbers))
        return att_fail_memory(err);
    const char *text = att_arena_strndup(&inputs->texts, line->text, line->length);
    if (!text)
        return att_fail_memory(err);
    inputs->lines[inputs->count] = text;
    inputs->numbers[inputs->count++] = line->number;
    return ATT_OK;
}

static att_status read_rows(att_inputs *inputs, att_example_reader *rows, att_error *err)
{
    att_string buffer = { 0 };
    att_line_view line;
    bool found = true;
    att_status status = ATT_OK;
    while (status == ATT_OK) {
        status = att_example_reader_next(rows, &found, err);
        if (status != ATT_OK || !found)
            break;
        if (rows->format == ATT_DATA_CSV && rows->csv.is_empty_line)
            continue;
        status = att_example_source(&line, &buffer, rows, err);
        line.number = rows->sides[ATT_COLUMN_SOURCE].number;
        if (status == ATT_OK)
            status = add_line(inputs, &line, err);
        if (status == ATT_OK)
            status = att_progress_check(err);
    }
    att_string_free(&buffer);
    return status;
}

static att_status read_file(att_inputs *inputs, const struct att_text_file *file,
                            const att_example_format *format, att_error *err)
{
    att_example_reader rows;
    att_status status = att_example_reader_start(&rows, file, format, err);
    if (status == ATT_OK)
        status = read_rows(inputs, &rows, err);
    strcpy(inputs->description, rows.description);
    att_example_reader_free(&rows);
    return status;
}

static att_status load(att_inputs *inputs, const att_model *model, const char *path,
                       const att_inputs_options *options, att_error *err)
{
    att_example_format format;
    ATT_TRY(att_data_example_format(&format, model->settings, err));
    format.sources_only = true;
    format.no_tags = !att_model_has_tags(model);
    struct att_text_file file = { 0 };
    ATT_TRY(find_format(&format.format, options->format, err));
    att_status status = att_text_file_load(&file, path, err);
    if (status == ATT_OK)
        status = choose_columns(&format, model, options, &file, err);
    if (status == ATT_OK)
        status = read_file(inputs, &file, &format, err);
    att_string_free(&file.text);
    return status;
}

att_status att_inputs_load(att_inputs **out, const att_model *model, const char *path,
                           const att_inputs_options *options, att_error *err)
{
    att_inputs_options resolved;
    *out = NULL;
    ATT_TRY(ATT_OPTIONS_COPY(att_inputs_options, &resolved, options, err));
    att_inputs *inputs = att_alloc_zero(1, sizeof *inputs);
    if (!inputs)
        return att_fail_memory(err);
    att_progress_scope scope;
    att_progress_begin(&scope, "reading inputs", 0);
    att_status status = load(inputs, model, path, &resolved, err);
    status = att_progress_end(&scope, status, err);
    if (status == ATT_OK)
        *out = inputs;
    else
        att_inputs_free(inputs);
    return status;
}

void att_inputs_free(att_inputs *inputs)
{
    if (!inputs)
        return;
    att_free(inputs->lines);
    att_free(inputs->numbers);
    att_arena_free(&inputs->texts);
    att_free(inputs);
}

size_t att_inputs_count(const att_inputs *inputs)
{
    return inputs->count;
}

const char *const *att_inputs_lines(const att_inputs *inputs)
{
    return inputs->lines;
}

int64_t att_inputs_line_number(const att_inputs *inputs, size_t index)
{
    return index < inputs->count ? inputs->numbers[index] : 0;
}

const char *att_inputs_description(const att_inputs *inputs)
{
    return inputs->description;
}
