/* Comma-separated values (RFC 4180): records of fields, of which quoted ones may hold commas, line
 * ends and, doubled, quotes. A file whose first record has no comma may be separated by tabs, where
 * quotes are text, or by semicolons, as spreadsheets write them where the comma is in numbers. */
#ifndef ATT_DATA_CSV_H
#define ATT_DATA_CSV_H

#include "data/corpus.h"

/* Reads the records of a file one after the other. */
typedef struct att_csv_reader {
    const struct att_text_file *file;
    char separator; /* ',', ';' or a tab */
    size_t position;
    int64_t next_line; /* the line of the next record, from 1 */
    /* the current record: its fields, each ended by a zero byte, and the line where it starts */
    att_string text;
    size_t *starts; /* [count] of the fields in `text` */
    size_t count, capacity;
    int64_t line;
    bool is_empty_line; /* without a field in quotes, which would be an empty one */
} att_csv_reader;

/* Starts with a text, which must outlive the reader. A byte order mark is skipped. */
void att_csv_start(att_csv_reader *out, const struct att_text_file *file);

/* Reads the next record; *found is false at the end. Line ends and tabs inside a field become
 * spaces. An empty line is a record of one empty field. A quote that is not closed, text after a
 * closing quote and bytes that are not UTF-8 are ATT_BAD_INPUT. A quote inside a field that does
 * not begin with one is a quote. */
att_status att_csv_next(att_csv_reader *in, bool *found, att_error *err);

/* Field `index` of the current record, from 0. */
const char *att_csv_field(const att_csv_reader *in, size_t index, size_t *length);
void att_csv_free(att_csv_reader *in);

#endif
