/* The examples of a file, one after the other, in any format: tab-separated lines, CoNLL,
 * SIGMORPHON, IN: … OUT: … lines, CSV and JSON lines. */
#ifndef ATT_DATA_EXAMPLE_READER_H
#define ATT_DATA_EXAMPLE_READER_H

#include "data/conll.h"
#include "data/corpus.h"
#include "data/csv.h"

typedef struct att_example_reader {
    const struct att_text_file *file;
    att_example_kind kind;
    att_data_format format;                        /* as given or guessed, never ATT_DATA_AUTO */
    att_columns columns;                           /* as given */
    bool sources_only, no_tags;                    /* att_example_format */
    bool has_tags;                                 /* examples have a column of tags */
    char description[ATT_FORMAT_DESCRIPTION_SIZE]; /* for reports; "": source<TAB>target lines */
    att_line_reader lines;
    att_conll_reader conll;
    att_csv_reader csv;
    int64_t width;                     /* of CSV: the fields of its header */
    int64_t numbers[ATT_COLUMN_COUNT]; /* of tab-separated lines and CSV: from 1; 0: the last */
    att_string keys[ATT_COLUMN_COUNT]; /* of JSON lines */
    att_string values[ATT_COLUMN_COUNT];
    /* the current example, valid until the next one */
    att_line_view sides[ATT_COLUMN_COUNT];
} att_example_reader;

/* Starts with a text, which must outlive the reader, and finds its format and its columns.
 * ATT_BAD_INPUT where the file lacks a column. Release with att_example_reader_free(), also after
 * a failure. */
att_status att_example_reader_start(att_example_reader *out, const struct att_text_file *file,
                                    const att_example_format *format, att_error *err);

/* Reads the next example; *found is false at the end. An empty line is an example with empty sides
 * (in a CoNLL file it ends a sentence). What does not fit the format is ATT_BAD_INPUT, naming the
 * line and what was expected. */
att_status att_example_reader_next(att_example_reader *in, bool *found, att_error *err);
void att_example_reader_free(att_example_reader *in);

/* The source of the current example as it is encoded: with its tags, source<TAB>tags
 * (text/vocab.h), in `buffer`. Tags beside nothing are left out: the source is empty. */
att_status att_example_source(att_line_view *out, att_string *buffer, const att_example_reader *in,
                              att_error *err);

/* ---- the parts of the reader */

/* "source", "sentences", "tokens"; "target", "labels": a side of the examples in reports. */
const char *att_example_side_name(att_example_kind kind, int side);

/* Whether reports name the column of a side: that of sources alone stands for the target too. */
static inline bool att_example_is_described(const att_example_reader *in, int side)
{
    return !in->sources_only || side != ATT_COLUMN_TARGET;
}

/* The format of a text by its first lines, never ATT_DATA_AUTO. A file that could be lines of
 * source<TAB>target is one, but for a header. Fails only without memory. */
att_status att_example_format_guess(att_data_format *out, const struct att_text_file *file,
                                    const att_example_format *format, att_error *err);

/* The usual names of columns for the examples of a reader (source and target, text and label, …):
 * the first row of which `has` finds both, or, of sources only, the source.
 * names[ATT_COLUMN_TAGS] may be NULL. */
bool att_example_usual_names(const char *names[ATT_COLUMN_COUNT], const att_example_reader *in,
                             bool (*has)(const void *columns, const char *name),
                             const void *columns);

/* Finds the keys of JSON lines by the first object of the file; and reads one line. */
att_status att_example_jsonl_start(att_example_reader *in, att_error *err);
att_status att_example_jsonl_read(att_example_reader *in, const att_line_view *line,
                                  att_error *err);

/* Whether the first record of a file is a header with the columns; fails only without memory. Finds
 * them in it; and reads the next record. */
att_status att_example_csv_detect(bool *out, const struct att_text_file *file,
                                  const att_example_format *format, att_error *err);
att_status att_example_csv_start(att_example_reader *in, att_error *err);
att_status att_example_csv_next(att_example_reader *in, bool *found, att_error *err);

#endif
