/* Reading CoNLL files; see conll.h. */
#include "data/conll.h"

#include "base/error.h"

#include <string.h>

/* The white space of the tokenizer `space`. */
static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* ---- detecting */

static int64_t count_words(const char *text, size_t length)
{
    int64_t words = 0;
    for (size_t i = 0; i < length; i++)
        words += !is_space(text[i]) && (i == 0 || is_space(text[i - 1]));
    return words;
}

static bool is_tagged_line(const att_line_view *line)
{
    const char *tab = memchr(line->text, '\t', line->length);
    size_t before = tab ? (size_t)(tab - line->text) : 0, after = line->length - before - 1;
    if (!tab || line->text[0] == '#' || memchr(tab + 1, '\t', after))
        return false;
    return count_words(line->text, before) > 1 || count_words(tab + 1, after) > 1;
}

bool att_conll_detect(const char *text, size_t length)
{
    att_line_reader lines = att_line_reader_start(text, length);
    att_line_view line;
    while (att_line_reader_next(&lines, &line))
        if (is_tagged_line(&line))
            return false;
    return true;
}

/* ---- columns */

/* The next column of the line from *at on; false after the last. */
static bool next_column(const att_conll_reader *in, const att_line_view *line, size_t *at,
                        const char **column, size_t *length)
{
    size_t start = *at, end;
    while (!in->tabs && start < line->length && is_space(line->text[start]))
        start++;
    if (in->tabs ? start > line->length : start >= line->length)
        return false;
    for (end = start; end < line->length; end++)
        if (in->tabs ? line->text[end] == '\t' : is_space(line->text[end]))
            break;
    *column = line->text + start;
    *length = end - start;
    *at = end + 1;
    return true;
}

static int64_t count_columns(const att_conll_reader *in, const att_line_view *line)
{
    const char *column;
    size_t at = 0, length;
    int64_t count = 0;
    while (next_column(in, line, &at, &column, &length))
        count++;
    return count;
}

static bool is_blank(const att_line_view *line)
{
    return count_words(line->text, line->length) == 0;
}

static bool is_document_start(const att_line_view *line)
{
    static const char mark[] = "-DOCSTART-";
    return line->length >= sizeof mark - 1 && memcmp(line->text, mark, sizeof mark - 1) == 0;
}

/* CoNLL-U: "1-2" numbers a multiword token, "1.1" an empty node; neither is a token. */
static bool is_extra_node(const att_conll_reader *in, const att_line_view *line)
{
    enum { CONLLU_COLUMNS = 10 };
    size_t i = 0, length = line->length;
    const char *text = line->text;
    if (!in->tabs || in->width != CONLLU_COLUMNS)
        return false;
    while (i < length && text[i] >= '0' && text[i] <= '9')
        i++;
    return i > 0 && i < length && (text[i] == '-' || text[i] == '.');
}

/* ---- a sentence */

static att_status append_column(att_string *out, const char *text, size_t length, bool first,
                                att_error *err)
{
    if (!first && att_string_append(out, " ", 1) != ATT_OK)
        return att_fail_memory(err);
    if (att_string_append(out, text, length) != ATT_OK)
        return att_fail_memory(err);
    for (size_t i = out->length - length; i < out->length; i++)
        if (is_space(out->data[i]))
            out->data[i] = '_';
    return ATT_OK;
}

static att_status fail_line(const att_conll_reader *in, const att_line_view *line, int64_t number,
                            att_error *err)
{
    return att_fail_at(err, ATT_BAD_INPUT, in->file->name, (int)line->number, 0, NULL,
                       "expected text in column %lld, found none", (long long)number);
}

static att_status add_token(att_conll_reader *in, const att_line_view *line, att_error *err)
{
    int64_t count = count_columns(in, line), number = 0;
    int64_t token = in->columns.token ? in->columns.token : in->width;
    int64_t label = in->columns.label || in->unlabeled ? in->columns.label : in->width;
    const char *column;
    size_t at = 0, length;
    if (count != in->width)
        return att_fail_at(err, ATT_BAD_INPUT, in->file->name, (int)line->number, 0, NULL,
                           "expected %lld columns as in line %lld, found %lld",
                           (long long)in->width, (long long)in->width_line, (long long)count);
    if (in->count == 0)
        in->first_line = line->number;
    while (next_column(in, line, &at, &column, &length)) {
        number++;
        if (number != token && number != label)
            continue;
        if (count_words(column, length) == 0)
            return fail_line(in, line, number, err);
        ATT_TRY(append_column(number == token ? &in->tokens : &in->labels, column, length,
                              in->count == 0, err));
    }
    in->count++;
    return ATT_OK;
}

/* Refuses a file whose token lines lack a column. */
static att_status check_width(const att_conll_reader *in, att_error *err)
{
    int64_t most = in->columns.token > in->columns.label ? in->columns.token : in->columns.label;
    int64_t least = in->unlabeled ? 1 : 2; /* a token and a label */
    most = most > least ? most : least;
    if (in->width == 0 || in->width >= most)
        return ATT_OK;
    return att_fail_at(err, ATT_BAD_INPUT, in->file->name, (int)in->width_line, 0, NULL,
                       "expected at least %lld columns%s, found %lld", (long long)most,
                       in->unlabeled ? "" : ", a token and its label", (long long)in->width);
}

static att_status start(att_conll_reader *out, const struct att_text_file *file, att_error *err)
{
    out->file = file;
    out->lines = att_line_reader_start(file->text.data, file->text.length);
    att_line_reader lines = out->lines;
    att_line_view line;
    while (out->width == 0 && att_line_reader_next(&lines, &line)) {
        if (is_blank(&line) || is_document_start(&line) || line.text[0] == '#')
            continue;
        out->tabs = memchr(line.text, '\t', line.length) != NULL;
        out->width = count_columns(out, &line);
        out->width_line = line.number;
    }
    return check_width(out, err);
}

att_status att_conll_start(att_conll_reader *out, const struct att_text_file *file,
                           att_tag_columns columns, att_error *err)
{
    *out = (att_conll_reader){ .columns = columns };
    return start(out, file, err);
}

att_status att_conll_start_unlabeled(att_conll_reader *out, const struct att_text_file *file,
                                     int64_t token, att_error *err)
{
    *out = (att_conll_reader){ .columns.token = token, .unlabeled = true };
    return start(out, file, err);
}

att_conll_line att_conll_line_kind(const att_conll_reader *in, const att_line_view *line,
                                   int64_t before)
{
    if (is_blank(line) || is_document_start(line))
        return ATT_CONLL_BREAK;
    bool comment = before == 0 && line->text[0] == '#' && count_columns(in, line) != in->width;
    return comment || is_extra_node(in, line) ? ATT_CONLL_SKIPPED : ATT_CONLL_TOKEN;
}

att_status att_conll_next(att_conll_reader *in, bool *found, att_error *err)
{
    att_line_view line;
    in->tokens.length = in->labels.length = 0;
    in->count = 0;
    while (att_line_reader_next(&in->lines, &line)) {
        ATT_TRY(att_text_line_check(in->file, &line, err));
        att_conll_line kind = att_conll_line_kind(in, &line, in->count);
        if (kind == ATT_CONLL_BREAK && in->count > 0)
            break;
        if (kind == ATT_CONLL_TOKEN)
            ATT_TRY(add_token(in, &line, err));
    }
    *found = in->count > 0;
    in->sentences += *found;
    return ATT_OK;
}

void att_conll_free(att_conll_reader *in)
{
    att_string_free(&in->tokens);
    att_string_free(&in->labels);
}
