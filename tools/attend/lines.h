/* Lines from a file or a pipe, worked through as they come: what can be read at once is worked on
 * at once, many lines together, while whoever types, or asks through a pipe and waits, is answered
 * as soon as the line is there. */
#ifndef LINES_H
#define LINES_H

#include "attend.h"

/* Works on `count` lines, whose ends are gone; `before` is how many came before them. Where one of
 * them is bad, ATT_BAD_INPUT with its number from 1 in err->line, and nothing must have been
 * written: the lines before it will be given again without it. */
typedef att_status lines_callback(void *context, const char *const *lines, size_t count,
                                  size_t before, att_error *err);

/* Works through the file at `path` ("-": standard input). A bad line ends this, after those before
 * it, and so does a reader of the answers that has gone away; *err names the file and the line. */
att_status lines_for_each(const char *path, lines_callback *work, void *context, att_error *err);

/* All of a file at once, for what has no lines. */
att_status lines_read_all(att_string *out, const char *path, att_error *err);

/* What stands for a file in errors: its name, or "<stdin>". */
const char *lines_name(const char *path);

#endif
