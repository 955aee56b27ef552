/* Options from a table. One row describes an option completely: how it is written, where its value
 * goes, what it may be, and what help says of it. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "attend.h"

typedef enum option_kind {
    OPTION_FLAG,   /* bool */
    OPTION_TEXT,   /* const char *, not empty */
    OPTION_NUMBER, /* long, between least and most */
    OPTION_REAL,   /* double, between least and most */
    OPTION_WORD,   /* int: the place of the word in `words` */
} option_kind;

typedef struct option {
    const char *name; /* without the dashes; NULL ends the table */
    char letter;      /* 0: none */
    option_kind kind;
    size_t offset;     /* of its member in the verb's settings */
    const char *takes; /* the value's name in help; NULL for a flag */
    const char *says;  /* its line of help; NULL: another spelling, not listed */
    double least;
    double most;
    const char *const *words; /* NULL-ended */
    bool empty;               /* a text may be */
    unsigned kinds;           /* of models that it is for, KIND_… together; 0: all (kinds.h) */
} option;

enum {
    KIND_PAIRS = 1 << ATT_KIND_PAIRS,
    KIND_TEXT = 1 << ATT_KIND_TEXT,
    KIND_LABEL = 1 << ATT_KIND_LABEL,
    KIND_PICTURE = 1 << ATT_KIND_PICTURE,
    KINDS_WRITE_LINES = KIND_PAIRS | KIND_PICTURE, /* answers that end */
    KINDS_WRITE = KINDS_WRITE_LINES | KIND_TEXT,
    KINDS_ASKED = KINDS_WRITE_LINES | KIND_LABEL, /* line by line */
};

typedef enum parse_result {
    PARSE_OK,
    PARSE_HELP, /* --help was among them */
    PARSE_BAD,  /* told on standard error */
} parse_result;

struct verb;

/* Reads options into `settings` wherever they stand among `args`, and moves the operands to the
 * front; *operands receives their count. `--` ends the options; `-` is an operand. */
parse_result options_parse(const struct verb *verb, int count, char **args, void *settings,
                           int *operands);

/* Whether an option was given: whether its member differs from that of the `usual` settings. */
bool option_given(const option *row, const void *settings, const void *usual);

/* The first option given that is not among `allowed`, a NULL-ended list of names; NULL: none. */
const option *options_beyond(const struct verb *verb, const char *const *allowed,
                             const void *settings, const void *usual);

#endif
