/* The table of settings, and what setting a value means for one row of it. */
#ifndef ATT_SETTINGS_SETTING_SPECS_H
#define ATT_SETTINGS_SETTING_SPECS_H

#include "settings/settings.h"

/* The group of settings about this run's files rather than the model: a model does not keep them.
 */
#define ATT_GROUP_OUTPUT "output"

/* What a task is about. */
typedef struct att_task_spec {
    att_model_type model_type;
    const char *data_source; /* why a setting of other tasks means nothing to it */
    const char *required;    /* what it cannot do without: "--train: a text file"; or NULL */
} att_task_spec;

extern const att_task_spec att_task_specs[ATT_TASK_COUNT];

/* Tasks and families as bits. */
enum {
    ATT_TASKS_PAIR_FILES = 1 << ATT_TASK_PAIRS | 1 << ATT_TASK_TRANSLATE, /* pairs of lines */
    ATT_TASKS_SYNTHETIC_STRINGS = 1 << ATT_TASK_REVERSE | 1 << ATT_TASK_COPY | 1 << ATT_TASK_SORT,
    ATT_TASKS_SEQ2SEQ = ATT_TASKS_PAIR_FILES | ATT_TASKS_SYNTHETIC_STRINGS,
    ATT_TASKS_CLASSIFIER = 1 << ATT_TASK_CLASSIFY,
    ATT_TASKS_LM = 1 << ATT_TASK_LM,
    ATT_TASKS_CAPTION = 1 << ATT_TASK_CAPTION,
    ATT_TASKS_SHAPES = 1 << ATT_TASK_SHAPES,
    ATT_TASKS_IMAGE = ATT_TASKS_CAPTION | ATT_TASKS_SHAPES,
    ATT_TASKS_TSV_FILES = ATT_TASKS_PAIR_FILES | ATT_TASKS_CLASSIFIER, /* lines with a tab */
    ATT_TASKS_FROM_FILES = ATT_TASKS_TSV_FILES | ATT_TASKS_LM | ATT_TASKS_CAPTION, /* from files */
    ATT_TASKS_WITH_ENCODER = ATT_TASKS_SEQ2SEQ | ATT_TASKS_CLASSIFIER,       /* tokens are read */
    ATT_TASKS_GENERATE = ATT_TASKS_SEQ2SEQ | ATT_TASKS_LM | ATT_TASKS_IMAGE, /* and written */
    ATT_TASKS_ALL = ATT_TASKS_SEQ2SEQ | ATT_TASKS_CLASSIFIER | ATT_TASKS_LM | ATT_TASKS_IMAGE,
    ATT_ARCHITECTURES_RNN = 1 << ATT_ARCHITECTURE_RNN,
    ATT_ARCHITECTURES_TRANSFORMER = 1 << ATT_ARCHITECTURE_TRANSFORMER,
    ATT_ARCHITECTURES_CNN = 1 << ATT_ARCHITECTURE_CNN,
    ATT_ARCHITECTURES_EMBEDDING_SIZE =
        ATT_ARCHITECTURES_RNN | ATT_ARCHITECTURES_CNN, /* apart from width */
    ATT_ARCHITECTURES_ALL = ATT_ARCHITECTURES_EMBEDDING_SIZE | ATT_ARCHITECTURES_TRANSFORMER,
};

/* Whom a setting concerns. */
typedef struct att_setting_scope {
    unsigned tasks, architectures;
} att_setting_scope;

typedef struct att_setting_spec {
    att_setting info;
    const char *default_value; /* the default as a user would write it; NULL: not given; "=key":
                                * that of another key of the same kind */
    size_t offset;             /* of the member of att_settings */
    att_setting_scope scope;
} att_setting_spec;

extern const att_setting_spec att_setting_specs[];
extern const size_t att_setting_spec_count;

/* A default that holds instead while another key has a value, and where a second is named, that
 * one too. Later rows win. */
typedef struct att_conditional_default {
    const char *if_key, *if_value;
    const char *key, *default_value;
    const char *and_key, *and_value;
} att_conditional_default;

extern const att_conditional_default att_conditional_defaults[];
extern const size_t att_conditional_default_count;

/* The place of a key in the table, or -1. */
int att_setting_spec_find(const char *key);

/* The member of *settings that a row describes, to be written or read. */
void *att_setting_spec_member(const att_setting_spec *row, att_settings *settings);
const void *att_setting_spec_value(const att_setting_spec *row, const att_settings *settings);

/* Reads `value` into the row's member; a text is copied. What the row does not take is
 * ATT_BAD_INPUT, in a message that begins with the key. */
att_status att_setting_spec_set(const att_setting_spec *row, att_settings *settings,
                                const char *value, att_error *err);

/* Adds the member's value to *out as att_setting_spec_set() would take it; nothing for a text not
 * given. */
att_status att_setting_spec_write(att_string *out, const att_setting_spec *row,
                                  const att_settings *settings);

#endif
