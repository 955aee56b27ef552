/* What attend run reads: lines as they arrive, or a column of a table. */
#include "run.h"

#include "terminal.h"

#include <stdio.h>
#include <string.h>

const char *const run_formats[] = { "lines", "conll", "csv", "jsonl", "tsv", NULL };

/* Notes a file of lines that is named like a table. */
static void note_table(const char *path)
{
    size_t length = strlen(path);
    for (int i = RUN_FORMAT_CSV; i <= RUN_FORMAT_JSONL; i++) {
        size_t end = strlen(run_formats[i]);
        if (length > end && path[length - end - 1] == '.' &&
            strcmp(path + length - end, run_formats[i]) == 0)
            terminal_printf(stderr,
                            "note: %s: each line is read as an input; --format %s reads a column\n",
                            path, run_formats[i]);
    }
}

att_status run_inputs_open(run_inputs *out, const run_settings *set, const att_model *model,
                           att_error *err)
{
    *out = (run_inputs){ .path = run_input_path(set) };
    if (set->format == RUN_FORMAT_LINES)
        note_table(out->path);
    if (set->format == RUN_FORMAT_LINES || set->format == RUN_FORMAT_CONLL)
        return ATT_OK;
    const att_inputs_options options = { .size = sizeof(att_inputs_options),
                                         .format = run_formats[set->format],
                                         .columns = set->columns };
    att_status status = att_inputs_load(&out->table, model, out->path, &options, err);
    if (status == ATT_OK && *att_inputs_description(out->table))
        terminal_printf(stderr, "%-12s%s: %s\n", "format", lines_name(out->path),
                        att_inputs_description(out->table));
    return status;
}

void run_inputs_close(run_inputs *inputs)
{
    att_inputs_free(inputs->table);
}

size_t run_inputs_line(const run_inputs *inputs, size_t index)
{
    return inputs->table ? (size_t)att_inputs_line_number(inputs->table, index) : index + 1;
}

att_status run_inputs_for_each(const run_inputs *inputs, lines_callback *process, void *context,
                               att_error *err)
{
    if (!inputs->table)
        return lines_for_each(inputs->path, process, context, err);
    att_status status = lines_for_each_of(att_inputs_lines(inputs->table),
                                          att_inputs_count(inputs->table), process, context, err);
    if (status != ATT_BAD_INPUT || err->line < 1)
        return status;
    snprintf(err->place, sizeof err->place, "%s", lines_name(inputs->path));
    err->line = (int)run_inputs_line(inputs, (size_t)err->line - 1);
    return status;
}
