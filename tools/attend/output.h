/* Where results go: standard output or files; what the terminal can show; and text escaped for one
 * line of output. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "attend.h"

/* Writes to standard output at once; on a terminal, control characters are written visibly
 * (terminal.h). A reader that has closed its end (`| head`) is no error. */
att_status output_stdout(const char *bytes, size_t length, att_error *err);

/* Whether the reader has closed its end: further output would be lost, so work may stop. */
bool output_reader_gone(void);

/* Flushes what printf() left in the buffer, with the same meaning of errors. */
att_status output_flush(att_error *err);

/* A piece of text; a list of pieces ends with NULL bytes. */
typedef struct string_piece {
    const char *bytes;
    size_t length;
} string_piece;

/* Appends all pieces. */
att_status string_join(att_string *out, const string_piece *pieces);

/* Appends UTF-8 as a JSON string with its quotes; bytes that are not UTF-8, as in file names,
 * become U+FFFD. */
att_status escape_json(att_string *out, const char *text, size_t length);

/* Appends a token on one line: line ends, tabs, backslashes, control characters and bytes that are
 * not UTF-8 become \n, \t, \\ and \xE2. */
att_status escape_token(att_string *out, const char *text, size_t length);

typedef enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color_choice;
extern const char *const color_choices[]; /* NULL-ended, in the order of the enum */

/* The colors to use on standard output, which then lets style sequences pass. COLOR_AUTO uses
 * colors only on a terminal, and none if NO_COLOR is set or TERM is dumb; COLORTERM and TERM say
 * how many the terminal has. */
att_color output_color(color_choice choice);

/* The columns of the terminal on standard output; 0 if it is no terminal. */
int output_width(void);

/* How to render for standard output: its colors and width. `color` is a color_choice. */
att_render_options output_render_options(int color, bool ascii);

/* Render options for a file of a format, with the defaults; and --digits as these options have it
 * (negative: not given). */
att_render_options output_format(att_format format);
int output_digits(long digits);

/* Seconds of a clock that never goes back, from an arbitrary start: for elapsed times. */
double output_seconds(void);

/* Replaces the progress line on standard error by this ASCII text, or removes it. If standard error
 * is no terminal, neither does anything. */
void output_progress(const char *text);
void output_progress_clear(void);

/* An att_callback that shows the progress of a call that takes longer than a second, with the time
 * left where its end is known. `context` is an output_progress_state, {0} at first. */
typedef struct output_progress_state {
    const char *phase;
    double start, shown; /* seconds */
    int64_t done;
} output_progress_state;
att_callback output_progress_callback;

/* Results are complete in memory before the first is written, so that an error writes nothing. */
typedef struct output_file {
    char *path;
    att_string bytes;
    const char *description; /* for the line on standard error: "map", "document" */
} output_file;

typedef struct output_list {
    output_file *files;
    size_t count;
} output_list;

/* Adds a file to write; the caller fills its empty `bytes`. NULL if memory is out. */
output_file *output_add(output_list *list, const char *path, const char *description);
void output_free(output_list *list);

/* Refuses to write a file over `input`; `description` says what that is: "is one of the sheets". */
att_status output_check_input(const output_list *list, const char *input, const char *description,
                              att_error *err);

/* Sets *folder if `path` names an existing folder. */
att_status output_is_folder(bool *folder, const char *path, att_error *err);

/* A perplexity as text with `digits` decimals; exp() of a large but finite loss overflows, and is
 * "above 1e308", not "inf". */
enum { PERPLEXITY_SIZE = 330 };
const char *perplexity_text(char out[PERPLEXITY_SIZE], double value, int digits);

/* Checks before long work that each output file differs from all input files and can be created.
 * NULL names are skipped. */
typedef struct output_names {
    const char *const *names;
    size_t count;
} output_names;
att_status output_check_paths(output_names written, output_names read, att_error *err);

/* Fails if a file would be written twice or cannot be created: with several files, none is written
 * then. */
att_status output_check(const output_list *list, att_error *err);

/* Writes the files, each under a temporary name and renamed, and reports each on standard error. */
att_status output_save(const output_list *list, att_error *err);

/* Checks and writes the files, then writes `text` to standard output, which may be a pipe that
 * closes early. */
att_status output_all(const output_list *list, const att_string *text, att_error *err);

#endif
