/* Reading examples: the formats of lines, and the choice of a format; see example_reader.h. */
#include "data/example_reader.h"

#include "base/error.h"
#include "base/string.h"

#include <stdio.h>
#include <string.h>

const char *att_example_side_name(att_example_kind kind, int side)
{
    static const char *const names[][ATT_COLUMN_COUNT] = {
        [ATT_EXAMPLES_PAIRS] = { "source", "target", "tags" },
        [ATT_EXAMPLES_SENTENCES] = { "sentences", "labels", "tags" },
        [ATT_EXAMPLES_TAGGED] = { "tokens", "labels", "tags" },
        [ATT_EXAMPLES_CAPTIONS] = { "images", "captions", "tags" },
    };
    return names[kind][side];
}

static bool is_blank(const att_line_view *line)
{
    for (size_t i = 0; i < line->length; i++)
        if (line->text[i] != ' ' && line->text[i] != '\t' && line->text[i] != '\r')
            return false;
    return true;
}

static att_status fail_line(const att_example_reader *in, const att_line_view *line,
                            const char *expected, const char *found, att_error *err)
{
    return att_fail_at(err, ATT_BAD_INPUT, in->file->name, (int)line->number, 0, NULL,
                       "expected %s, found %s", expected, found);
}

/* ---- lines of source<TAB>target */

/* Commas, and not a tab in the whole file. */
static bool looks_like_csv(const att_example_reader *in, const att_line_view *line)
{
    const att_string *text = &in->file->text;
    return in->kind != ATT_EXAMPLES_CAPTIONS && memchr(line->text, ',', line->length) &&
           !memchr(text->data, '\t', text->length);
}

static att_status split_pair(att_example_reader *in, const att_line_view *line, att_error *err)
{
    static const char *const expected[] = {
        [ATT_EXAMPLES_PAIRS] = "source<TAB>target",
        [ATT_EXAMPLES_SENTENCES] = "sentence<TAB>label",
        [ATT_EXAMPLES_TAGGED] = "tokens<TAB>labels",
        [ATT_EXAMPLES_CAPTIONS] = "image<TAB>caption",
    };
    static const char *const more[] = {
        [ATT_EXAMPLES_PAIRS] = "more than one tab; columns 1,2 takes two of the columns, format "
                               "sigmorphon the third as tags",
        [ATT_EXAMPLES_SENTENCES] = "more than one tab; columns 1,2 takes two of the columns",
        [ATT_EXAMPLES_TAGGED] = "more than one tab; columns 1,2 takes two of the columns",
        [ATT_EXAMPLES_CAPTIONS] = "more than one tab",
    };
    int64_t tabs = 0;
    for (size_t i = 0; i < line->length; i++)
        tabs += line->text[i] == '\t';
    if (tabs != 1 && !is_blank(line))
        return fail_line(in, line, expected[in->kind],
                         tabs > 0 ? more[in->kind]
                         : looks_like_csv(in, line)
                             ? "no tab; format csv with columns A,B reads CSV"
                             : "no tab",
                         err);
    const char *tab = memchr(line->text, '\t', line->length);
    size_t length = tab ? (size_t)(tab - line->text) : line->length;
    size_t rest = tab ? length + 1 : length;
    in->sides[ATT_COLUMN_SOURCE] = (att_line_view){ line->text, length, line->number };
    in->sides[ATT_COLUMN_TARGET] =
        (att_line_view){ line->text + rest, line->length - rest, line->number };
    return ATT_OK;
}

/* ---- lines of columns */

/* Column `number` of a line, from 1; false where the line has fewer. */
static bool find_column(const att_line_view *line, int64_t number, att_line_view *out)
{
    const char *start = line->text, *end = line->text + line->length;
    for (int64_t i = 1; i < number; i++) {
        const char *tab = start < end ? memchr(start, '\t', (size_t)(end - start)) : NULL;
        if (!tab)
            return false;
        start = tab + 1;
    }
    const char *tab = start < end ? memchr(start, '\t', (size_t)(end - start)) : NULL;
    *out = (att_line_view){ start, (size_t)((tab ? tab : end) - start), line->number };
    return true;
}

static att_status split_columns(att_example_reader *in, const att_line_view *line, att_error *err)
{
    int64_t count = 1;
    char expected[64], found[64];
    for (size_t i = 0; i < line->length; i++)
        count += line->text[i] == '\t';
    bool blank = is_blank(line);
    bool is_triple = in->format == ATT_DATA_SIGMORPHON && in->columns.count == 0;
    snprintf(found, sizeof found, "%lld column%s", (long long)count, count == 1 ? "" : "s");
    if (is_triple && count != 3 && !blank)
        return fail_line(in, line, "source<TAB>target<TAB>tags", found, err);
    for (int i = 0; i < ATT_COLUMN_TAGS + in->has_tags; i++) {
        int64_t number = in->numbers[i] > 0 ? in->numbers[i] : count;
        snprintf(expected, sizeof expected, "at least %lld columns", (long long)number);
        if (blank)
            in->sides[i] = (att_line_view){ line->text, 0, line->number };
        else if (!find_column(line, number, &in->sides[i]))
            return fail_line(in, line, expected, found, err);
    }
    return ATT_OK;
}

/* Columns by number: 1,2 or 1,2,3 where none are given. */
static att_status start_columns(att_example_reader *in, att_error *err)
{
    bool is_triple = in->format == ATT_DATA_SIGMORPHON;
    size_t used = (size_t)snprintf(in->description, sizeof in->description, "%s",
                                   is_triple ? "SIGMORPHON: " : "tab-separated: ");
    if (is_triple && in->columns.count == 2)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "format sigmorphon: expected the columns of source, target and tags, "
                        "found two");
    in->has_tags = is_triple || in->columns.count == ATT_COLUMN_COUNT;
    for (int i = 0; i < ATT_COLUMN_TAGS + in->has_tags; i++) {
        char quoted[ATT_QUOTED_SIZE], last[] = "the last column";
        const att_column *column = &in->columns.items[i];
        if (in->columns.count > 0 && column->number < 0)
            return att_fail(err, ATT_BAD_INPUT, in->file->name,
                            "columns: expected numbers, since tab-separated lines have no names of "
                            "columns, found '%s'; format csv reads a file with a header",
                            att_quote(quoted, column->name, column->length));
        in->numbers[i] = in->columns.count > 0 ? column->number : i + 1;
        if (in->numbers[i] > 0)
            snprintf(last, sizeof last, "column %d", (int)in->numbers[i]);
        if (!att_example_is_described(in, i))
            continue;
        used +=
            (size_t)snprintf(in->description + used, sizeof in->description - used, "%s%s in %s",
                             i > 0 ? ", " : "", att_example_side_name(in->kind, i), last);
    }
    return ATT_OK;
}

/* ---- lines of IN: source OUT: target */

static att_status split_scan(att_example_reader *in, const att_line_view *line, att_error *err)
{
    static const char before[] = "IN:", between[] = " OUT:";
    size_t start = sizeof before - 1, out = 0, length = line->length;
    bool starts = length >= start && memcmp(line->text, before, start) == 0;
    for (size_t i = start; starts && out == 0 && i + sizeof between - 1 <= length; i++)
        if (memcmp(line->text + i, between, sizeof between - 1) == 0)
            out = i;
    if (out == 0 && !is_blank(line))
        return fail_line(in, line, "IN: source OUT: target", starts ? "no OUT:" : "no IN:", err);
    size_t target = out > 0 ? out + sizeof between - 1 : length;
    in->sides[ATT_COLUMN_SOURCE] = (att_line_view){ line->text + (out > 0 ? start : 0),
                                                    out > 0 ? out - start : 0, line->number };
    in->sides[ATT_COLUMN_TARGET] =
        (att_line_view){ line->text + target, length - target, line->number };
    return ATT_OK;
}

/* ---- CoNLL files */

static att_status start_conll(att_example_reader *in, att_error *err)
{
    att_tag_columns columns = { 1, 0 };
    if (in->columns.count > 0)
        columns = (att_tag_columns){ in->columns.items[0].number, in->columns.items[1].number };
    if (columns.token < 0 || columns.label < 0)
        return att_fail(err, ATT_BAD_INPUT, in->file->name,
                        "columns: expected numbers or last, since a CoNLL file has no names of "
                        "columns");
    ATT_TRY(att_conll_start(&in->conll, in->file, columns, err));
    snprintf(in->description, sizeof in->description,
             "CoNLL: tokens in column %lld, labels in column %lld",
             (long long)(columns.token ? columns.token : in->conll.width),
             (long long)(columns.label ? columns.label : in->conll.width));
    return ATT_OK;
}

static att_status next_sentence(att_example_reader *in, bool *found, att_error *err)
{
    att_conll_reader *from = &in->conll;
    ATT_TRY(att_conll_next(from, found, err));
    in->sides[ATT_COLUMN_SOURCE] =
        (att_line_view){ from->tokens.data, from->tokens.length, from->first_line };
    in->sides[ATT_COLUMN_TARGET] =
        (att_line_view){ from->labels.data, from->labels.length, from->first_line };
    in->lines = from->lines;
    return ATT_OK;
}

/* ---- any format */

static att_status start_format(att_example_reader *in, bool guessed, att_error *err)
{
    switch (in->format) {
    case ATT_DATA_CONLL:
        return start_conll(in, err);
    case ATT_DATA_CSV:
        return att_example_csv_start(in, err);
    case ATT_DATA_JSONL:
        return att_example_jsonl_start(in, err);
    case ATT_DATA_SCAN:
        snprintf(in->description, sizeof in->description, "lines of IN: … OUT: …");
        return ATT_OK;
    case ATT_DATA_SIGMORPHON:
        return start_columns(in, err);
    default:
        break;
    }
    bool tagged = in->kind == ATT_EXAMPLES_TAGGED, named = false;
    for (int i = 0; i < in->columns.count; i++)
        named |= in->columns.items[i].number < 0;
    if (in->columns.count > 0 && !(tagged && guessed && !named))
        return start_columns(in, err);
    in->columns.count = 0; /* those of CoNLL files do not apply to lines of tokens and labels */
    if (tagged)
        snprintf(in->description, sizeof in->description, ATT_FORMAT_TOKENS_AND_LABELS);
    return ATT_OK;
}

att_status att_example_reader_start(att_example_reader *out, const struct att_text_file *file,
                                    const att_example_format *format, att_error *err)
{
    bool guessed = format->format == ATT_DATA_AUTO;
    *out = (att_example_reader){ .file = file,
                                 .kind = format->kind,
                                 .columns = format->columns,
                                 .sources_only = format->sources_only,
                                 .no_tags = format->no_tags };
    out->lines = att_text_file_lines(file);
    out->format = format->format;
    if (guessed)
        ATT_TRY(att_example_format_guess(&out->format, file, format, err));
    return start_format(out, guessed, err);
}

static att_status read_line(att_example_reader *in, const att_line_view *line, att_error *err)
{
    ATT_TRY(att_text_line_check(in->file, line, err));
    if (in->format == ATT_DATA_SCAN)
        return split_scan(in, line, err);
    if (in->format == ATT_DATA_JSONL && is_blank(line)) {
        for (int i = 0; i < ATT_COLUMN_COUNT; i++)
            in->sides[i] = (att_line_view){ "", 0, line->number };
        return ATT_OK;
    }
    if (in->format == ATT_DATA_JSONL)
        return att_example_jsonl_read(in, line, err);
    return in->columns.count > 0 || in->format == ATT_DATA_SIGMORPHON ? split_columns(in, line, err)
                                                                      : split_pair(in, line, err);
}

att_status att_example_reader_next(att_example_reader *in, bool *found, att_error *err)
{
    att_line_view line;
    if (in->format == ATT_DATA_CONLL)
        return next_sentence(in, found, err);
    if (in->format == ATT_DATA_CSV)
        return att_example_csv_next(in, found, err);
    *found = att_line_reader_next(&in->lines, &line);
    return *found ? read_line(in, &line, err) : ATT_OK;
}

void att_example_reader_free(att_example_reader *in)
{
    att_conll_free(&in->conll);
    att_csv_free(&in->csv);
    for (int i = 0; i < ATT_COLUMN_COUNT; i++) {
        att_string_free(&in->keys[i]);
        att_string_free(&in->values[i]);
    }
}

att_status att_example_source(att_line_view *out, att_string *buffer, const att_example_reader *in,
                              att_error *err)
{
    const att_line_view *tags = &in->sides[ATT_COLUMN_TAGS];
    *out = in->sides[ATT_COLUMN_SOURCE];
    if (!in->has_tags || tags->length == 0 || out->length == 0)
        return ATT_OK;
    buffer->length = 0;
    if (att_string_append(buffer, out->text, out->length) != ATT_OK ||
        att_string_append(buffer, "\t", 1) != ATT_OK ||
        att_string_append(buffer, tags->text, tags->length) != ATT_OK)
        return att_fail_memory(err);
    out->text = buffer->data;
    out->length = buffer->length;
    return ATT_OK;
}
