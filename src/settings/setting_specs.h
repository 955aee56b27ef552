/* The table of settings: one row for each, with its scope, default and member of att_settings. */
#ifndef ATT_SETTINGS_SETTING_SPECS_H
#define ATT_SETTINGS_SETTING_SPECS_H

#include "settings/settings.h"

/* The group of settings about the files of one run. A model file does not store them. */
#define ATT_GROUP_OUTPUT "output"

/* The group of settings that others are chosen by. A model file stores those. */
#define ATT_GROUP_BUDGET "budget"

/* Whether the files of models store a setting of this group. */
bool att_setting_group_is_saved(const char *group);

/* What a task trains, and what it reads. */
typedef struct att_task_spec {
    att_model_type model_type;
    const char *data_source; /* why settings of other tasks do not apply to it */
    const char *required;    /* the files it needs: "--train: a text file"; or NULL */
} att_task_spec;

extern const att_task_spec att_task_specs[ATT_TASK_COUNT];

/* Sets of tasks and of architectures, as bits. */
enum {
    ATT_TASKS_PAIR_FILES =
        1 << ATT_TASK_PAIRS | 1 << ATT_TASK_TRANSLATE, /* sentence pairs from files */
    ATT_TASKS_SYNTHETIC_STRINGS = 1 << ATT_TASK_REVERSE | 1 << ATT_TASK_COPY | 1 << ATT_TASK_SORT,
    ATT_TASKS_SEQ2SEQ = ATT_TASKS_PAIR_FILES | ATT_TASKS_SYNTHETIC_STRINGS,
    ATT_TASKS_CLASSIFIER = 1 << ATT_TASK_CLASSIFY,
    ATT_TASKS_TAGGER = 1 << ATT_TASK_TAG,
    ATT_TASKS_LM = 1 << ATT_TASK_LM,
    ATT_TASKS_CAPTION = 1 << ATT_TASK_CAPTION,
    ATT_TASKS_SHAPES = 1 << ATT_TASK_SHAPES,
    ATT_TASKS_IMAGE = ATT_TASKS_CAPTION | ATT_TASKS_SHAPES,
    ATT_TASKS_TSV_FILES =
        ATT_TASKS_PAIR_FILES | ATT_TASKS_CLASSIFIER |
        ATT_TASKS_TAGGER, /* lines with a tab, or two files; a tagger also reads CoNLL files */
    ATT_TASKS_FROM_FILES = ATT_TASKS_TSV_FILES | ATT_TASKS_LM | ATT_TASKS_CAPTION,
    ATT_TASKS_WITH_ENCODER =
        ATT_TASKS_SEQ2SEQ | ATT_TASKS_CLASSIFIER | ATT_TASKS_TAGGER, /* tokens are encoded */
    ATT_TASKS_GENERATE =
        ATT_TASKS_SEQ2SEQ | ATT_TASKS_LM | ATT_TASKS_IMAGE, /* tokens are generated */
    ATT_TASKS_ALL = ATT_TASKS_WITH_ENCODER | ATT_TASKS_LM | ATT_TASKS_IMAGE,
    ATT_ARCHITECTURES_RNN = 1 << ATT_ARCHITECTURE_RNN,
    ATT_ARCHITECTURES_TRANSFORMER = 1 << ATT_ARCHITECTURE_TRANSFORMER,
    ATT_ARCHITECTURES_CNN = 1 << ATT_ARCHITECTURE_CNN,
    ATT_ARCHITECTURES_EMBEDDING_SIZE =
        ATT_ARCHITECTURES_RNN | ATT_ARCHITECTURES_CNN, /* apart from hidden-size */
    ATT_ARCHITECTURES_ALL = ATT_ARCHITECTURES_EMBEDDING_SIZE | ATT_ARCHITECTURES_TRANSFORMER,
};

/* The tasks and architectures that a setting applies to. */
typedef struct att_setting_scope {
    unsigned tasks, architectures;
} att_setting_scope;

typedef struct att_setting_spec {
    att_setting info;
    const char *default_value; /* as a user would write it; NULL: none; "=key": the value of another
                                * key of the same type */
    size_t offset;             /* of the member of att_settings */
    att_setting_scope scope;
} att_setting_spec;

extern const att_setting_spec att_setting_specs[];
extern const size_t att_setting_spec_count;

/* A default that applies instead if `if_key` has a value, and `and_key`, if named, too
 * (setting_defaults.c). Later rows win. */
typedef struct att_conditional_default {
    const char *if_key, *if_value;
    const char *key, *default_value;
    const char *and_key, *and_value;
} att_conditional_default;

extern const att_conditional_default att_conditional_defaults[];
extern const size_t att_conditional_default_count;

/* The index of a key in the table, or -1. */
int att_setting_spec_find(const char *key);

/* The member of *settings that a row describes, to be written or read. */
void *att_setting_spec_member(const att_setting_spec *row, att_settings *settings);
const void *att_setting_spec_value(const att_setting_spec *row, const att_settings *settings);

/* Parses `value` into the row's member; a text is copied. A value that the row does not allow is
 * ATT_BAD_INPUT, with a message that starts with the key. */
att_status att_setting_spec_set(const att_setting_spec *row, att_settings *settings,
                                const char *value, att_error *err);

/* Appends the member's value to *out in the form that att_setting_spec_set() parses; nothing for a
 * text that is not set. */
att_status att_setting_spec_write(att_string *out, const att_setting_spec *row,
                                  const att_settings *settings);

/* The key that was probably meant by an unknown one, or the value of a choice: the new name of a
 * name of version 0.1, else the nearest; NULL if none is near. */
const char *att_setting_suggest(const char *key);
const char *att_setting_suggest_value(const att_setting *setting, const char *value);

#endif
