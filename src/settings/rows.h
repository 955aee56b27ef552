/* The table of settings, and what setting a value means for one row of it. */
#ifndef ATT_SETTINGS_ROWS_H
#define ATT_SETTINGS_ROWS_H

#include "settings/settings.h"

/* The group of settings about this run's files rather than the model: a model does not keep them.
 */
#define ATT_GROUP_OUTPUT "output"

/* What a task is about. */
typedef struct att_task_row {
    att_kind kind;
    const char *data;  /* why a setting of other tasks means nothing to it */
    const char *lacks; /* what it cannot do without: "train: the text to learn from"; or NULL */
} att_task_row;

extern const att_task_row att_task_rows[ATT_TASKS];

/* Tasks and families as bits. */
enum {
    ATT_TASKS_LINES = 1 << ATT_TASK_PAIRS | 1 << ATT_TASK_TRANSLATE, /* pairs of lines */
    ATT_TASKS_MADE = 1 << ATT_TASK_REVERSE | 1 << ATT_TASK_COPY | 1 << ATT_TASK_SORT,
    ATT_TASKS_PAIRS = ATT_TASKS_LINES | ATT_TASKS_MADE,
    ATT_TASKS_LABEL = 1 << ATT_TASK_CLASSIFY,
    ATT_TASKS_TEXT = 1 << ATT_TASK_LM,
    ATT_TASKS_CAPTION = 1 << ATT_TASK_CAPTION,
    ATT_TASKS_SHAPES = 1 << ATT_TASK_SHAPES,
    ATT_TASKS_PICTURES = ATT_TASKS_CAPTION | ATT_TASKS_SHAPES,
    ATT_TASKS_FILES = ATT_TASKS_LINES | ATT_TASKS_LABEL,                     /* lines with a tab */
    ATT_TASKS_DATA = ATT_TASKS_FILES | ATT_TASKS_TEXT | ATT_TASKS_CAPTION,   /* from files */
    ATT_TASKS_READ = ATT_TASKS_PAIRS | ATT_TASKS_LABEL,                      /* tokens are read */
    ATT_TASKS_WRITE = ATT_TASKS_PAIRS | ATT_TASKS_TEXT | ATT_TASKS_PICTURES, /* and written */
    ATT_TASKS_ALL = ATT_TASKS_PAIRS | ATT_TASKS_LABEL | ATT_TASKS_TEXT | ATT_TASKS_PICTURES,
    ATT_FAMILIES_RECURRENT = 1 << ATT_FAMILY_RECURRENT,
    ATT_FAMILIES_TRANSFORMER = 1 << ATT_FAMILY_TRANSFORMER,
    ATT_FAMILIES_CONVOLUTION = 1 << ATT_FAMILY_CONVOLUTION,
    ATT_FAMILIES_EMBED = ATT_FAMILIES_RECURRENT | ATT_FAMILIES_CONVOLUTION, /* apart from width */
    ATT_FAMILIES_ALL = ATT_FAMILIES_EMBED | ATT_FAMILIES_TRANSFORMER,
};

/* Whom a setting concerns. */
typedef struct att_concerns {
    unsigned tasks, families;
} att_concerns;

typedef struct att_row {
    att_setting shown;
    const char *start; /* the default as a user would write it; NULL: not given; "=key": that of
                        * another key of the same kind */
    size_t offset;     /* of the member of att_settings */
    att_concerns concerns;
} att_row;

extern const att_row att_rows[];
extern const size_t att_row_count;

/* A default that holds instead while another key has a value, and where a second is named, that
 * one too. Later rows win. */
typedef struct att_other_default {
    const char *when, *is;
    const char *key, *start;
    const char *also, *has;
} att_other_default;

extern const att_other_default att_other_defaults[];
extern const size_t att_other_default_count;

/* The place of a key in the table, or -1. */
int att_row_find(const char *key);

/* A row's member. */
void *att_row_member(const att_row *row, att_settings *settings);

/* Reads `value` into the row's member; a text is copied. What the row does not take is
 * ATT_BAD_INPUT, in a message that begins with the key. */
att_status att_row_set(const att_row *row, att_settings *settings, const char *value,
                       att_error *err);

/* Adds the member's value to *out as att_row_set() would take it; nothing for a text not given. */
att_status att_row_write(att_text *out, const att_row *row, const att_settings *settings);

#endif
