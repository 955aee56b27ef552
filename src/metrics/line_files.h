/* Files that correspond line by line: hypotheses and their references. */
#ifndef ATT_METRICS_LINE_FILES_H
#define ATT_METRICS_LINE_FILES_H

#include "attend.h"

typedef struct att_line_files {
    size_t count, line_count;
    const char *const **lines; /* [count][line_count] */
    struct att_line_file *files;
} att_line_files;

/* Reads `count` files ("-": standard input), which must have the same number of lines, at least
 * one. Errors name the file. */
att_status att_line_files_load(att_line_files *out, const char *const *paths, size_t count,
                               att_error *err);
void att_line_files_free(att_line_files *files);

#endif
