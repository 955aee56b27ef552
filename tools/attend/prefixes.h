/* Forced prefixes of outputs: one text for all outputs, or a file with one line per output. */
#ifndef PREFIXES_H
#define PREFIXES_H

#include "attend.h"

typedef struct prefixes {
    const char *shared; /* the prefix of all outputs, borrowed; or NULL */
    const char *path;   /* of the file, or NULL */
    char *text;         /* contents of the file, line ends replaced by zero bytes */
    const char **lines;
    size_t count;
} prefixes;

/* Reads the file at `path`, unless it is NULL. Close also on failure. */
att_status prefixes_open(prefixes *out, const char *shared, const char *path, att_error *err);
void prefixes_close(prefixes *given);

/* Whether there is any prefix. */
bool prefixes_any(const prefixes *given);

/* Stores the prefixes of `count` lines after the first `before`. ATT_BAD_INPUT if the file has too
 * few lines. */
att_status prefixes_get(const char **out, const prefixes *given, size_t before, size_t count,
                        att_error *err);

/* Refuses a file with more lines than there were inputs. */
att_status prefixes_check(const prefixes *given, size_t inputs, att_error *err);

#endif
