/* Files that correspond line by line (line_files.h), and att_metrics_score_files(), which scores
 * them; see attend.h. */
#include "metrics/line_files.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "text/lines.h"
#include "text/pretokenizer.h"

#include <string.h>

/* No test set is larger. */
static const size_t MAX_FILE_SIZE = (size_t)1 << 30;

struct att_line_file {
    const char *name;
    att_string text;
    const char **lines; /* [count] */
    size_t count;
};
typedef struct att_line_file line_file;

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

static att_status load_all(line_file *files, const char *const *paths, size_t count, att_error *err)
{
    for (size_t i = 0; i < count; i++) {
        ATT_TRY(load(&files[i], paths[i], err));
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

att_status att_line_files_load(att_line_files *out, const char *const *paths, size_t count,
                               att_error *err)
{
    *out = (att_line_files){ .count = count };
    out->files = att_alloc_zero(count, sizeof *out->files);
    out->lines = att_alloc(count, sizeof *out->lines);
    att_status status = out->files && out->lines ? ATT_OK : att_fail_memory(err);
    if (status == ATT_OK)
        status = load_all(out->files, paths, count, err);
    if (status != ATT_OK) {
        att_line_files_free(out);
        return status;
    }
    out->line_count = out->files[0].count;
    for (size_t i = 0; i < count; i++)
        out->lines[i] = out->files[i].lines;
    return ATT_OK;
}

void att_line_files_free(att_line_files *files)
{
    for (size_t i = 0; files->files && i < files->count; i++)
        free_file(&files->files[i]);
    att_free(files->files);
    att_free(files->lines);
    *files = (att_line_files){ 0 };
}

att_status att_metrics_score_files(att_metric_scores **out, const char *const *names, size_t count,
                                   const char *hypotheses, const char *const *references,
                                   size_t reference_count, const att_metric_options *options,
                                   att_error *err)
{
    *out = NULL;
    att_line_files files;
    const char **paths = att_alloc(reference_count + 1, sizeof *paths);
    if (!paths)
        return att_fail_memory(err);
    paths[0] = hypotheses;
    for (size_t i = 0; i < reference_count; i++)
        paths[i + 1] = references[i];
    att_status status = att_line_files_load(&files, paths, reference_count + 1, err);
    att_free(paths);
    ATT_TRY(status);
    const att_hypotheses texts = { files.lines[0], files.lines + 1, files.line_count,
                                   reference_count };
    status = att_metrics_score(out, names, count, &texts, options, err);
    att_line_files_free(&files);
    return status;
}
