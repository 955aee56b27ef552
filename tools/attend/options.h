/* Options from a table. One row describes an option completely: how it is written, where its value
 * goes, what it may be, and what help says of it. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "attend.h"

typedef enum option_kind {
    OPTION_FLAG,    /* bool */
    OPTION_STRING,  /* const char *, not empty */
    OPTION_INTEGER, /* long, between least and most */
    OPTION_REAL,    /* double, between least and most */
    OPTION_CHOICE,  /* int: the place of the word in `words` */
} option_kind;

typedef struct option {
    const char *name; /* without the dashes; NULL ends the table */
    char short_name;  /* 0: none */
    option_kind kind;
    size_t offset;           /* of its member in the verb's settings */
    const char *placeholder; /* the value's name in help; NULL for a flag */
    const char *help;        /* its line of help; NULL: another spelling, not listed */
    double min;
    double max;
    const char *const *choices; /* NULL-ended */
    bool allow_empty;           /* a text may be */
    unsigned model_types;       /* of models that it is for, KIND_… together; 0: all (kinds.h) */
} option;

enum {
    TYPE_SEQ2SEQ = 1 << ATT_MODEL_SEQ2SEQ,
    TYPE_LM = 1 << ATT_MODEL_LM,
    TYPE_CLASSIFIER = 1 << ATT_MODEL_CLASSIFIER,
    TYPE_CAPTION = 1 << ATT_MODEL_CAPTION,
    TYPES_GENERATE_LINES = TYPE_SEQ2SEQ | TYPE_CAPTION, /* answers that end */
    TYPES_GENERATE = TYPES_GENERATE_LINES | TYPE_LM,
    TYPES_READ_LINES = TYPES_GENERATE_LINES | TYPE_CLASSIFIER, /* line by line */
};

typedef enum parse_result {
    PARSE_OK,
    PARSE_HELP,  /* --help was among them */
    PARSE_ERROR, /* told on standard error */
} parse_result;

struct verb;

/* Reads options into `settings` wherever they stand among `args`, and moves the operands to the
 * front; *operands receives their count. `--` ends the options; `-` is an operand. */
parse_result options_parse(const struct verb *verb, int count, char **args, void *settings,
                           int *operands);

/* Whether an option was given: whether its member differs from that of the `usual` settings. */
bool option_given(const option *row, const void *settings, const void *usual);

/* The first option given that is not among `allowed`, a NULL-ended list of names; NULL: none. */
const option *options_first_outside(const struct verb *verb, const char *const *allowed,
                                    const void *settings, const void *usual);

#endif
