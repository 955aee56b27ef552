/* att_metrics_score_files(): hypotheses and references from files, line by line; see attend.h. */
#include "metrics/metric_spec.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "text/lines.h"
#include "text/pretokenizer.h"

#include <string.h>

/* No test set is larger. */
static const size_t MAX_FILE_SIZE = (size_t)1 << 30;

typedef struct line_file {
    const char *name;
    att_string text;
    const char **lines; /* [count] */
    size_t count;
} line_file;

static void free_file(line_file *file)
{
    att_string_free(&file->text);
    att_free(file->lines);
}

/* Replaces every line end by a zero byte. */
static att_status split_lines(line_file *file, att_error *err)
{
    att_line_reader lines = att_line_reader_start(file->text.data, file->text.length);
    att_line_view line;
    while (att_line_reader_next(&lines, &line)) {
        att_error inner = { 0 };
        if (att_line_validate(line.text, line.length, &inner) != ATT_OK)
            return att_fail_at(err, ATT_BAD_INPUT, file->name, (int)line.number, 0, NULL, "%s",
                               inner.message);
        file->lines[file->count++] = line.text;
    }
    for (size_t i = 0; i < file->count; i++) {
        size_t rest = file->text.length - (size_t)(file->lines[i] - file->text.data);
        char *start = file->text.data + (file->lines[i] - file->text.data);
        char *end = memchr(start, '\n', rest);
        end = end ? end : start + rest;
        *end = '\0';
        if (end > start && end[-1] == '\r')
            end[-1] = '\0';
    }
    return ATT_OK;
}

static att_status load(line_file *file, const char *path, att_error *err)
{
    file->name = att_file_display_name(path);
    ATT_TRY(att_file_read_stream(&file->text, path, MAX_FILE_SIZE, err));
    int64_t count = att_line_reader_count(file->text.data, file->text.length);
    file->lines = att_alloc((size_t)count, sizeof *file->lines);
    return file->lines ? split_lines(file, err) : att_fail_memory(err);
}

static att_status load_all(line_file *files, const char *hypotheses, const char *const *references,
                           size_t reference_count, att_error *err)
{
    for (size_t i = 0; i <= reference_count; i++) {
        ATT_TRY(load(&files[i], i == 0 ? hypotheses : references[i - 1], err));
        if (files[i].count != files[0].count)
            return att_fail(err, ATT_BAD_INPUT, files[i].name,
                            "has %zu line%s and %s has %zu: they must correspond line by line",
                            files[i].count, files[i].count == 1 ? "" : "s", files[0].name,
                            files[0].count);
    }
    if (files[0].count == 0)
        return att_fail(err, ATT_BAD_INPUT, files[0].name, "has no lines to score");
    return ATT_OK;
}

att_status att_metrics_score_files(att_metric_scores **out, const char *const *names, size_t count,
                                   const char *hypotheses, const char *const *references,
                                   size_t reference_count, const att_metric_options *options,
                                   att_error *err)
{
    *out = NULL;
    line_file *files = att_alloc_zero(reference_count + 1, sizeof *files);
    const char *const **sides = att_alloc(reference_count, sizeof *sides);
    att_status status = files && sides ? ATT_OK : att_fail_memory(err);
    if (status == ATT_OK)
        status = load_all(files, hypotheses, references, reference_count, err);
    for (size_t i = 0; i < reference_count && status == ATT_OK; i++)
        sides[i] = files[i + 1].lines;
    if (status == ATT_OK) {
        const att_hypotheses texts = { files[0].lines, sides, files[0].count, reference_count };
        status = att_metrics_score(out, names, count, &texts, options, err);
    }
    for (size_t i = 0; files && i <= reference_count; i++)
        free_file(&files[i]);
    att_free(files);
    att_free(sides);
    return status;
}
