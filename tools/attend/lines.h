/* Lines from a file or a pipe, processed as they arrive: lines that are available at the same time
 * are processed together as a batch, while an interactive user, or a program that waits for each
 * output, gets it as soon as the line is complete. */
#ifndef LINES_H
#define LINES_H

#include "attend.h"

/* Processes `count` lines without their line ends; `before` lines came earlier. For a bad line,
 * returns ATT_BAD_INPUT with its number among these, from 1, in err->line, and must not have
 * written anything: the callback is called again with the lines before it. */
typedef att_status lines_callback(void *context, const char *const *lines, size_t count,
                                  size_t before, att_error *err);

/* Processes the file at `path` ("-": standard input). Stops at a bad line, after the lines before
 * it, with the file and the line in *err; and when the reader of the output has closed its end. */
att_status lines_for_each(const char *path, lines_callback *process, void *context, att_error *err);

/* Processes lines in memory the same way. A bad one is named by its number among them. */
att_status lines_for_each_of(const char *const *lines, size_t count, lines_callback *process,
                             void *context, att_error *err);

/* Reads a whole file ("-": standard input). */
att_status lines_read_all(att_string *out, const char *path, att_error *err);

/* The name of a file in errors: its path, or "<stdin>". */
const char *lines_name(const char *path);

/* Warns that line `number` of a file was truncated; does nothing if `dropped` is 0. */
void lines_warn_truncated(const char *path, size_t number, int64_t kept, int64_t dropped);

/* Notes the first tab of lines whose model has no tags: a file of pairs was likely meant. Returns
 * whether there was one. */
bool lines_note_tab(const char *path, const char *const *lines, size_t count, size_t before);

#endif
