/* CSV with a header as examples; see example_reader.h. */
#include "data/example_reader.h"

#include "base/error.h"
#include "base/string.h"

#include <stdio.h>
#include <string.h>

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

/* The field with a name, from 1; 0: there is none. Case and spaces around it do not matter. */
static int64_t find_field(const att_csv_reader *header, const char *name, size_t length)
{
    for (size_t f = 0; f < header->count; f++) {
        size_t size, i = 0;
        const char *field = att_csv_field(header, f, &size);
        while (size > 0 && field[size - 1] == ' ')
            size--;
        for (; size > 0 && *field == ' '; size--)
            field++;
        while (i < length && size == length && lower(field[i]) == lower(name[i]))
            i++;
        if (size == length && i == length)
            return (int64_t)f + 1;
    }
    return 0;
}

static bool has_field(const void *header, const char *name)
{
    return find_field(header, name, strlen(name)) > 0;
}

/* "a, b, c" for a message. */
static const char *list_fields(char out[ATT_QUOTED_SIZE], const att_csv_reader *header)
{
    att_string names = { 0 };
    for (size_t i = 0; i < header->count; i++) {
        size_t length;
        (void)att_string_printf(&names, "%s%s", i > 0 ? ", " : "",
                                att_csv_field(header, i, &length));
    }
    att_quote(out, names.data ? names.data : "", names.length);
    att_string_free(&names);
    return out;
}

static att_status fail_columns(const att_example_reader *in, const char *expected, att_error *err)
{
    char fields[ATT_QUOTED_SIZE];
    return att_fail_at(err, ATT_BAD_INPUT, in->file->name, (int)in->csv.line, 0, NULL,
                       "expected %s in the header, found %s", expected,
                       list_fields(fields, &in->csv));
}

static att_status find_given_columns(att_example_reader *in, att_error *err)
{
    for (int i = 0; i < in->columns.count; i++) {
        const att_column *column = &in->columns.items[i];
        char quoted[ATT_QUOTED_SIZE], expected[ATT_QUOTED_SIZE + 32];
        int64_t number = find_field(&in->csv, column->name, column->length);
        if (number == 0)
            number = column->number == 0 ? in->width : column->number;
        snprintf(expected, sizeof expected, "the column '%s'",
                 att_quote(quoted, column->name, column->length));
        if (number < 1 || number > in->width)
            return fail_columns(in, expected, err);
        in->numbers[i] = number;
    }
    in->has_tags = in->columns.count == ATT_COLUMN_COUNT;
    return ATT_OK;
}

static att_status find_usual_columns(att_example_reader *in, att_error *err)
{
    const char *names[ATT_COLUMN_COUNT];
    if (!att_example_usual_names(names, in, has_field, &in->csv))
        return fail_columns(
            in,
            in->sources_only ? "a column such as text, tokens or source (columns A names another)"
            : in->kind == ATT_EXAMPLES_PAIRS
                ? "columns such as source and target (columns A,B names others)"
            : in->kind == ATT_EXAMPLES_SENTENCES
                ? "columns such as text and label (columns A,B names others)"
                : "columns such as tokens and labels (columns A,B names others)",
            err);
    in->has_tags = names[ATT_COLUMN_TAGS] != NULL;
    for (int i = 0; i < ATT_COLUMN_TAGS + in->has_tags; i++)
        in->numbers[i] = find_field(&in->csv, names[i], strlen(names[i]));
    return ATT_OK;
}

static void describe(att_example_reader *in)
{
    size_t used = (size_t)snprintf(in->description, sizeof in->description, "%s: ",
                                   in->csv.separator == ','   ? "CSV"
                                   : in->csv.separator == ';' ? "CSV with semicolons"
                                                              : "tab-separated with a header");
    for (int i = 0; i < ATT_COLUMN_TAGS + in->has_tags; i++) {
        char quoted[ATT_QUOTED_SIZE];
        size_t length;
        if (!att_example_is_described(in, i))
            continue;
        const char *field = att_csv_field(&in->csv, (size_t)in->numbers[i] - 1, &length);
        int more = snprintf(in->description + used, sizeof in->description - used,
                            "%s%s in column %lld, '%s'", i > 0 ? "; " : "",
                            att_example_side_name(in->kind, i), (long long)in->numbers[i],
                            att_quote(quoted, field, length));
        used += (size_t)more;
    }
}

/* Reads the first record that is not an empty line; *found is false where there is none. */
static att_status read_header(att_example_reader *in, bool *found, att_error *err)
{
    att_csv_start(&in->csv, in->file);
    do {
        ATT_TRY(att_csv_next(&in->csv, found, err));
    } while (*found && in->csv.is_empty_line);
    in->width = *found ? (int64_t)in->csv.count : 0;
    return ATT_OK;
}

att_status att_example_csv_start(att_example_reader *in, att_error *err)
{
    bool found;
    ATT_TRY(read_header(in, &found, err));
    if (!found)
        return ATT_OK;
    ATT_TRY(in->columns.count > 0 ? find_given_columns(in, err) : find_usual_columns(in, err));
    describe(in);
    return ATT_OK;
}

/* Whether the header has the usual names, or as many columns as are given by number. */
static bool has_columns(const att_example_reader *in)
{
    const char *names[ATT_COLUMN_COUNT];
    for (int i = 0; i < in->columns.count; i++)
        if (in->columns.items[i].number > in->width)
            return false;
    return in->columns.count > 0 || att_example_usual_names(names, in, has_field, &in->csv);
}

att_status att_example_csv_detect(bool *out, const struct att_text_file *file,
                                  const att_example_format *format, att_error *err)
{
    att_example_reader in = { .file = file, .kind = format->kind, .columns = format->columns };
    att_status status = read_header(&in, out, NULL);
    *out = status == ATT_OK && *out && has_columns(&in);
    att_example_reader_free(&in);
    return status == ATT_NO_MEMORY ? att_fail_memory(err) : ATT_OK;
}

att_status att_example_csv_next(att_example_reader *in, bool *found, att_error *err)
{
    att_csv_reader *csv = &in->csv;
    ATT_TRY(att_csv_next(csv, found, err));
    if (!*found)
        return ATT_OK;
    bool is_blank = csv->is_empty_line;
    if ((int64_t)csv->count != in->width && !is_blank)
        return att_fail_at(err, ATT_BAD_INPUT, in->file->name, (int)csv->line, 0, NULL,
                           "expected %lld columns as in the header, found %lld",
                           (long long)in->width, (long long)csv->count);
    for (int i = 0; i < ATT_COLUMN_TAGS + in->has_tags; i++) {
        size_t length = 0;
        const char *text = is_blank ? "" : att_csv_field(csv, (size_t)in->numbers[i] - 1, &length);
        in->sides[i] = (att_line_view){ text, length, csv->line };
    }
    return ATT_OK;
}
