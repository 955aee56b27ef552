/* Where results go: standard output or files, and what the terminal can show. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "attend.h"

/* Writes to standard output at once. A reader that has gone away (`| head`) is no failure. */
att_status output_stdout(const char *bytes, size_t length, att_error *err);

/* Whether it has: what writes as it goes has nothing left to do then. */
bool output_reader_gone(void);

/* Flushes what printf left there, with the same meaning. */
att_status output_flush(att_error *err);

/* A piece of text; a list of them ends with NULL bytes. */
typedef struct string_piece {
    const char *bytes;
    size_t length;
} string_piece;

/* Appends all the pieces, for names of files. */
att_status string_join(att_string *out, const string_piece *pieces);

typedef enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color_choice;
extern const char *const color_choices[]; /* NULL-ended, in the order of the enum */

/* The colours to use on standard output. By itself only a terminal gets any, and none where
 * NO_COLOR is set or the terminal is dumb; how many it can show comes from COLORTERM and TERM. */
att_color output_color(color_choice choice);

/* The columns of the terminal on standard output; 0 where it is none. */
int output_width(void);

/* A line of ASCII on standard error in the place of the one before, and nothing in its place; where
 * that is no terminal, neither does anything. */
void output_progress(const char *text);
void output_progress_clear(void);

/* Results are made completely before the first is written, so that a failure writes nothing. */
typedef struct output_file {
    char *path;
    att_string bytes;
    const char *description; /* for the line on standard error: "map", "document" */
} output_file;

typedef struct output_list {
    output_file *files;
    size_t count;
} output_list;

/* Adds a file to write and gives its empty text; NULL when memory is out. */
output_file *output_add(output_list *list, const char *path, const char *what);
void output_free(output_list *list);

/* Fails if a file would be written over `input`; `what` says what that is: "is one of the sheets".
 */
att_status output_check_input(const output_list *list, const char *input, const char *what,
                              att_error *err);

/* Fails if one of the files to write is one of those that are read, or cannot be made where it is
 * wanted: asked before work that takes its time. NULLs among the names are passed over. */
typedef struct output_names {
    const char *const *names;
    size_t count;
} output_names;
att_status output_check_paths(output_names written, output_names read, att_error *err);

/* Fails if a file would be written twice, or where none can be: so that, with several, none is
 * written. */
att_status output_check(const output_list *list, att_error *err);

/* Writes the files, each beside its place and renamed into it, and says so on standard error. */
att_status output_save(const output_list *list, att_error *err);

/* All three: checks and writes the files, then `text` to standard output, which may be a pipe that
 * closes early. */
att_status output_all(const output_list *list, const att_string *text, att_error *err);

#endif
