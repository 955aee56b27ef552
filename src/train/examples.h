/* Training examples from a caller's iterators: collected into memory and mounted as files, so that
 * reading, splitting, counting and hashing are those of files. */
#ifndef ATT_TRAIN_EXAMPLES_H
#define ATT_TRAIN_EXAMPLES_H

#include "settings/settings.h"
#include "data/memory_files.h"

enum { ATT_EXAMPLE_FILES = 6 };

typedef struct att_example_files {
    att_string texts[4]; /* sources and targets of training, then of validation */
    att_memory_file files[ATT_EXAMPLE_FILES];
    size_t count;
} att_example_files;

/* Reads all examples of `options`, names them in the settings and mounts them; does nothing if
 * the options have no iterator. An example that does not fit the task is ATT_BAD_INPUT and named by
 * its number, from 1. Release with att_example_files_free(), on failure too. */
att_status att_example_files_new(att_example_files *out, att_settings *settings,
                                 const att_training_options *options, att_error *err);
void att_example_files_free(att_example_files *files);

#endif
