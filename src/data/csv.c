/* Reading CSV; see csv.h. */
#include "data/csv.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

static char find_separator(const struct att_text_file *file)
{
    static const char separators[] = { ',', '\t', ';' };
    att_line_reader lines = att_line_reader_start(file->text.data, file->text.length);
    att_line_view line = { "", 0, 0 };
    while (line.length == 0 && att_line_reader_next(&lines, &line))
        ;
    for (size_t i = 0; i < sizeof separators; i++)
        if (memchr(line.text, separators[i], line.length))
            return separators[i];
    return ',';
}

void att_csv_start(att_csv_reader *out, const struct att_text_file *file)
{
    att_line_reader lines = att_line_reader_start(file->text.data, file->text.length);
    *out = (att_csv_reader){
        .file = file, .separator = find_separator(file), .position = lines.position, .next_line = 1
    };
}

static att_status fail(const att_csv_reader *in, int64_t line, const char *message, att_error *err)
{
    return att_fail_at(err, ATT_BAD_INPUT, in->file->name, (int)line, 0, NULL, "%s", message);
}

static bool at_end(const att_csv_reader *in)
{
    return in->position >= in->file->text.length;
}

static char current(const att_csv_reader *in)
{
    return in->file->text.data[in->position];
}

/* Whether the rest of the line is its end: LF, CRLF, or the end of the text. */
static bool at_line_end(const att_csv_reader *in)
{
    const char *text = in->file->text.data + in->position;
    size_t left = in->file->text.length - in->position;
    return left == 0 || *text == '\n' || (*text == '\r' && (left == 1 || text[1] == '\n'));
}

static att_status put(att_csv_reader *in, char c, att_error *err)
{
    char shown = c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
    return att_string_append(&in->text, &shown, 1) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

/* Reads up to the closing quote; the position is after the opening one. */
static att_status read_quoted(att_csv_reader *in, att_error *err)
{
    int64_t opened = in->next_line;
    while (!at_end(in)) {
        char c = current(in);
        in->position++;
        in->next_line += c == '\n';
        if (c == '\r' && !at_end(in) && current(in) == '\n')
            continue; /* CRLF is one line end */
        if (c == '"') {
            if (at_end(in) || current(in) != '"')
                return ATT_OK;
            in->position++;
        }
        ATT_TRY(put(in, c, err));
    }
    return fail(in, opened, "expected a quote that closes the one of this line, found none", err);
}

static att_status read_field(att_csv_reader *in, att_error *err)
{
    void *starts = in->starts;
    if (!att_array_grow(&starts, &in->capacity, in->count, sizeof *in->starts))
        return att_fail_memory(err);
    in->starts = starts;
    in->starts[in->count++] = in->text.length;
    if (in->separator != '\t' && !at_end(in) && current(in) == '"') {
        in->position++;
        ATT_TRY(read_quoted(in, err));
        if (!at_line_end(in) && current(in) != in->separator)
            return fail(in, in->next_line,
                        in->separator == ','
                            ? "expected a comma or the end of the line after a closing quote"
                            : "expected a semicolon or the end of the line after a closing quote",
                        err);
    } else {
        for (; !at_line_end(in) && current(in) != in->separator; in->position++)
            ATT_TRY(put(in, current(in), err));
    }
    return att_string_append(&in->text, "", 1) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

static void skip_line_end(att_csv_reader *in)
{
    if (!at_end(in) && current(in) == '\r')
        in->position++;
    if (!at_end(in) && current(in) == '\n') {
        in->position++;
        in->next_line++;
    }
}

att_status att_csv_next(att_csv_reader *in, bool *found, att_error *err)
{
    size_t start = in->position;
    in->text.length = in->count = 0;
    in->line = in->next_line;
    *found = !at_end(in);
    if (!*found)
        return ATT_OK;
    ATT_TRY(read_field(in, err));
    while (!at_line_end(in)) {
        in->position++; /* the separator */
        ATT_TRY(read_field(in, err));
    }
    att_line_view record = { in->file->text.data + start, in->position - start, in->line };
    in->is_empty_line = record.length == 0;
    skip_line_end(in);
    return att_text_line_check(in->file, &record, err);
}

const char *att_csv_field(const att_csv_reader *in, size_t index, size_t *length)
{
    size_t end = index + 1 < in->count ? in->starts[index + 1] : in->text.length;
    *length = end - in->starts[index] - 1;
    return in->text.data + in->starts[index];
}

void att_csv_free(att_csv_reader *in)
{
    att_string_free(&in->text);
    att_free(in->starts);
}
