/* CoNLL files: one token per line in columns, a blank line between sentences. */
#ifndef ATT_DATA_CONLL_H
#define ATT_DATA_CONLL_H

#include "data/corpus.h"
#include "settings/settings.h"
#include "text/lines.h"

/* The columns of the token and of the label, from 1; 0: the last column. */
typedef struct att_tag_columns {
    int64_t token, label;
} att_tag_columns;

/* Whether a text is a CoNLL file; otherwise it is `tokens<TAB>labels` lines. It is lines if one of
 * them has a single tab and several words on a side of it. */
bool att_conll_detect(const char *text, size_t length);

/* Reads the sentences of a file one after the other. Columns are separated by tabs if the first
 * token line has one, else by white space. Skipped are lines of -DOCSTART-, which end a sentence;
 * comments: lines that start with # before the first token of a sentence, unless they have as many
 * columns as a token line; and in CoNLL-U the lines of multiword tokens (1-2) and of empty nodes
 * (1.1). */
typedef struct att_conll_reader {
    const struct att_text_file *file;
    att_line_reader lines;
    att_tag_columns columns;
    bool tabs;
    bool unlabeled; /* only tokens are read */
    int64_t width,
        width_line;    /* columns of the first token line, and its number; 0: there is none */
    int64_t sentences; /* read so far */
    /* the current sentence: its tokens and its labels, separated by spaces, and its first line */
    att_string tokens, labels;
    int64_t count, first_line;
} att_conll_reader;

/* Starts with a text, which must outlive the reader. ATT_BAD_INPUT where the file lacks a column.
 */
att_status att_conll_start(att_conll_reader *out, const struct att_text_file *file,
                           att_tag_columns columns, att_error *err);

/* The same for a file that need not have labels, and whose sentences are read without them. */
att_status att_conll_start_unlabeled(att_conll_reader *out, const struct att_text_file *file,
                                     int64_t token, att_error *err);

/* What a line of the file is if `before` lines of its sentence were tokens. */
typedef enum att_conll_line { ATT_CONLL_TOKEN, ATT_CONLL_BREAK, ATT_CONLL_SKIPPED } att_conll_line;
att_conll_line att_conll_line_kind(const att_conll_reader *in, const att_line_view *line,
                                   int64_t before);

/* Reads the next sentence; *found is false at the end. A line with another number of columns than
 * the first, or with an empty column, is ATT_BAD_INPUT. White space inside a column becomes "_". */
att_status att_conll_next(att_conll_reader *in, bool *found, att_error *err);
void att_conll_free(att_conll_reader *in);

#endif
