/* What answers begin with: one text for all, or a file with a line for each. */
#ifndef PREFIXES_H
#define PREFIXES_H

#include "attend.h"

typedef struct prefixes {
    const char *shared; /* for all answers, lent; NULL: by line, or none at all */
    const char *path;   /* of the file; NULL: none */
    char *text;         /* of the file, its ends of lines turned into zero bytes */
    const char **lines;
    size_t count;
} prefixes;

/* Reads the file at `path`, where it is not NULL. To be closed on failure too. */
att_status prefixes_open(prefixes *out, const char *every, const char *path, att_error *err);
void prefixes_close(prefixes *given);

/* Whether answers begin with anything. */
bool prefixes_any(const prefixes *given);

/* Fills in those of `count` lines that come after the first `before`. Where the file has too few,
 * ATT_BAD_INPUT. */
att_status prefixes_get(const char **out, const prefixes *given, size_t before, size_t count,
                        att_error *err);

/* Refuses a file that has more lines than were answered. */
att_status prefixes_check(const prefixes *given, size_t answered, att_error *err);

#endif
