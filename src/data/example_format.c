/* Guessing the format of a file of examples, and the names of its columns; see example_reader.h. */
#include "data/example_reader.h"

#include "base/error.h"
#include "base/minmax.h"

#include <string.h>

/* ---- names of columns */

static const struct {
    bool tagged;
    const char *source, *target;
} usual_names[] = {
    { false, "source", "target" }, { false, "src", "tgt" },        { false, "input", "output" },
    { false, "text", "label" },    { false, "sentence", "label" }, { false, "lemma", "form" },
    { true, "tokens", "labels" },  { true, "tokens", "tags" },     { true, "words", "labels" },
    { true, "words", "tags" },     { true, "text", "labels" },     { true, "sentence", "labels" },
    { true, "source", "target" },  { true, "input", "output" },
};

bool att_example_usual_names(const char *names[ATT_COLUMN_COUNT], const att_example_reader *in,
                             bool (*has)(const void *columns, const char *name),
                             const void *columns)
{
    static const char *const tags[] = { "tags", "features" };
    bool tagged = in->kind == ATT_EXAMPLES_TAGGED;
    names[ATT_COLUMN_TAGS] = NULL;
    for (size_t i = 0; in->kind == ATT_EXAMPLES_PAIRS && !in->no_tags && i < ATT_COUNT(tags); i++)
        if (!names[ATT_COLUMN_TAGS] && has(columns, tags[i]))
            names[ATT_COLUMN_TAGS] = tags[i];
    for (int alone = 0; alone <= in->sources_only; alone++)
        for (size_t i = 0; i < ATT_COUNT(usual_names); i++) {
            if (usual_names[i].tagged != tagged || !has(columns, usual_names[i].source) ||
                (!alone && !has(columns, usual_names[i].target)))
                continue;
            names[ATT_COLUMN_SOURCE] = usual_names[i].source;
            names[ATT_COLUMN_TARGET] =
                in->sources_only ? usual_names[i].source : usual_names[i].target;
            return true;
        }
    return false;
}

/* ---- the format */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static att_line_view trim(att_line_view line)
{
    while (line.length > 0 && is_space(line.text[line.length - 1]))
        line.length--;
    for (; line.length > 0 && is_space(*line.text); line.length--)
        line.text++;
    return line;
}

static int64_t count_tabs(const att_line_view *line)
{
    int64_t tabs = 0;
    for (size_t i = 0; i < line->length; i++)
        tabs += line->text[i] == '\t';
    return tabs;
}

/* The start of an object that has a member; whether the line is all of it, reading tells. */
static bool is_json(const att_line_view *line)
{
    att_line_view object = trim(*line);
    if (object.length < 2 || *object.text != '{')
        return false;
    att_line_view inside = trim((att_line_view){ object.text + 1, object.length - 1, 0 });
    return inside.length > 0 && *inside.text == '"';
}

static bool is_scan(const att_line_view *line)
{
    static const char in[] = "IN: ";
    return line->length >= sizeof in && memcmp(line->text, in, sizeof in - 1) == 0;
}

/* Whether a text looks like V;PST or Case=Nom|Number=Sing: no white space, and lowercase letters
 * only beside an equals sign. */
static bool looks_like_tags(const char *text, size_t length)
{
    bool lower = false;
    for (size_t i = 0; i < length; i++) {
        if (is_space(text[i]) || (unsigned char)text[i] >= 0x80)
            return false;
        lower |= text[i] >= 'a' && text[i] <= 'z';
    }
    return !lower || memchr(text, '=', length);
}

/* Tags have a letter somewhere: V;3;SG is tags, and a column of counts, years or scores is not. */
static bool has_letter(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z'))
            return true;
    return false;
}

/* The third of three columns. */
static att_line_view third_column(const att_line_view *line)
{
    const char *first = memchr(line->text, '\t', line->length), *end = line->text + line->length;
    const char *second = memchr(first + 1, '\t', (size_t)(end - first - 1));
    return (att_line_view){ second + 1, (size_t)(end - second - 1), line->number };
}

/* Most of the first lines have tags, and none has other text in their place, so that columns of
 * three languages are not taken for it. Reading names the lines with too few columns. */
static bool is_sigmorphon(const struct att_text_file *file)
{
    enum { LINES = 20 };
    att_line_reader lines = att_line_reader_start(file->text.data, file->text.length);
    att_line_view line;
    int64_t seen = 0, tagged = 0;
    while (seen < LINES && att_line_reader_next(&lines, &line)) {
        if (trim(line).length == 0)
            continue;
        seen++;
        if (count_tabs(&line) != 2)
            continue;
        att_line_view tags = third_column(&line);
        if (tags.length > 0 && !looks_like_tags(tags.text, tags.length))
            return false;
        tagged += has_letter(tags.text, tags.length);
    }
    return 2 * tagged > seen;
}

static bool has_ending(const char *name, const char *ending)
{
    size_t length = strlen(name), end = strlen(ending);
    return length >= end && strcmp(name + length - end, ending) == 0;
}

/* Whether a column is given by its name. */
static bool has_names(const att_columns *columns)
{
    for (int i = 0; i < columns->count; i++)
        if (columns->items[i].number < 0)
            return true;
    return false;
}

/* Whether the first record has the columns. Where they are given by name, a header is the only
 * place for them, and reading names the column that it lacks. Numbered columns separated by tabs
 * need no header. */
static att_status is_csv(bool *out, const struct att_text_file *file,
                         const att_example_format *format, const att_line_view *first,
                         att_error *err)
{
    bool tabs = memchr(first->text, '\t', first->length);
    bool separated =
        tabs || memchr(first->text, ',', first->length) || memchr(first->text, ';', first->length);
    bool named = (!tabs && has_ending(file->name, ".csv")) || has_names(&format->columns);
    *out = separated && named;
    if (!separated || named || (tabs && format->columns.count > 0))
        return ATT_OK;
    return att_example_csv_detect(out, file, format, err);
}

static bool has_words_apart(const att_line_view *line)
{
    att_line_view text = trim(*line);
    for (size_t i = 0; i < text.length; i++)
        if (is_space(text.text[i]))
            return true;
    return false;
}

static att_data_format guess_lines(const struct att_text_file *file,
                                   const att_example_format *format, const att_line_view *first)
{
    int64_t tabs = count_tabs(first);
    if (format->kind == ATT_EXAMPLES_TAGGED)
        return !file->is_lines && att_conll_detect(file->text.data, file->text.length)
                   ? ATT_DATA_CONLL
                   : ATT_DATA_TSV;
    if (tabs == 0 && is_scan(first))
        return ATT_DATA_SCAN;
    if (format->kind == ATT_EXAMPLES_PAIRS && tabs > 0 &&
        (format->columns.count == ATT_COLUMN_COUNT ||
         (format->columns.count == 0 && is_sigmorphon(file))))
        return ATT_DATA_SIGMORPHON;
    return ATT_DATA_TSV;
}

att_status att_example_format_guess(att_data_format *out, const struct att_text_file *file,
                                    const att_example_format *format, att_error *err)
{
    att_line_reader lines = att_line_reader_start(file->text.data, file->text.length);
    att_line_view line = { "", 0, 0 };
    bool csv = false;
    while (trim(line).length == 0 && att_line_reader_next(&lines, &line))
        ;
    *out = ATT_DATA_TSV;
    if (format->kind == ATT_EXAMPLES_CAPTIONS)
        return ATT_OK;
    bool json = count_tabs(&line) == 0 && is_json(&line);
    if (!json && !(format->kind == ATT_EXAMPLES_TAGGED && has_words_apart(&line)))
        ATT_TRY(is_csv(&csv, file, format, &line, err));
    *out = json ? ATT_DATA_JSONL : csv ? ATT_DATA_CSV : guess_lines(file, format, &line);
    return ATT_OK;
}
