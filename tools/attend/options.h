/* Command-line options from tables. One row describes an option completely: its spelling, where its
 * value is stored, which values are valid, and its help text. The settings of a training run
 * (att_setting_get()) become rows of the same kind, so one parser and one help printer serve all
 * verbs. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "attend.h"

typedef enum option_type {
    OPTION_FLAG,    /* bool */
    OPTION_STRING,  /* const char *, not empty unless allow_empty */
    OPTION_LIST,    /* string_list: may be given several times */
    OPTION_INTEGER, /* long, from min to max */
    OPTION_REAL,    /* double, from min to max */
    OPTION_CHOICE,  /* int: index into `choices` */
    OPTION_SETTING, /* att_settings *: the library stores and checks the value */
} option_type;

/* The values of an OPTION_LIST, in the order of the command line. */
typedef struct string_list {
    const char **items; /* [count]; release with free() */
    size_t count;
} string_list;

typedef struct option {
    const char *name; /* without the dashes; NULL ends the table */
    char short_name;  /* 0: none */
    option_type type;
    size_t offset;              /* of its member in the verb's settings */
    const char *placeholder;    /* name of the value in help; NULL for a flag */
    const char *help;           /* one line of help */
    double min, max;            /* range of a number */
    const char *const *choices; /* NULL-ended, or NULL */
    bool allow_empty;           /* the string may be empty */
    bool is_list;               /* the string is a list separated by commas: given once */
    unsigned model_types;       /* TYPE_… bits of the model types it applies to; 0: all */
    const char *instead;        /* why it does not apply to other types, and what does; or NULL */
    const att_setting *setting; /* the row of an OPTION_SETTING */
} option;

/* Sets of model types. */
enum {
    TYPE_SEQ2SEQ = 1 << ATT_MODEL_SEQ2SEQ,
    TYPE_LM = 1 << ATT_MODEL_LM,
    TYPE_CLASSIFIER = 1 << ATT_MODEL_CLASSIFIER,
    TYPE_CAPTION = 1 << ATT_MODEL_CAPTION,
    TYPE_TAGGER = 1 << ATT_MODEL_TAGGER,
    TYPES_GENERATE_LINES = TYPE_SEQ2SEQ | TYPE_CAPTION, /* outputs that end with an end token */
    TYPES_GENERATE = TYPES_GENERATE_LINES | TYPE_LM,
    TYPES_READ_LINES =
        TYPES_GENERATE_LINES | TYPE_CLASSIFIER | TYPE_TAGGER, /* one output per input line */
};

/* The members of a row: name, short name (0: none), type, member of struct STRUCT, placeholder,
 * help, and further members as designated initializers. */
#define OPTION_ROW(STRUCT, NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ...)                      \
    {                                                                                              \
        .name = NAME, .short_name = SHORT, .type = OPTION_##TYPE,                                  \
        .offset = offsetof(STRUCT, MEMBER), .placeholder = PLACEHOLDER, .help = HELP,              \
        ##__VA_ARGS__                                                                              \
    }

struct verb;

/* Stores row `index` of a verb in *out: the rows of its table first, then one per training setting
 * if the verb takes them (verb->settings). False after the last row. */
bool option_get(option *out, const struct verb *verb, size_t index);

/* Whether an option was given: whether its member differs from that of `defaults`. */
bool option_given(const option *row, const void *settings, const void *defaults);

/* The name of the first option that was given and is not in `allowed`, a NULL-ended list; NULL if
 * there is none. */
const char *options_first_outside(const struct verb *verb, const char *const *allowed,
                                  const void *settings, const void *defaults);

/* "a language model" */
const char *model_type_name(att_model_type type);

/* The name that an option of attend 0.1 has today; NULL if the verb had none of this name. */
const char *option_renamed(const char *verb, const char *old_name);

/* Says how to do what an option of other programs does and none of ours; NULL: it is not known. */
const char *option_elsewhere(const char *verb, const char *name);

#endif
