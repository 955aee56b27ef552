/* The parts of attend train: its options from the table of settings, and what it shows. */
#ifndef TRAIN_H
#define TRAIN_H

#include "program.h"

#include <stdio.h>

/* What was asked for besides settings. */
typedef struct train_request {
    att_settings *settings;
    const char *task;
    bool help;
    bool quiet;
} train_request;

/* Prints every setting that concerns the task of a train_request, with its value there, by group.
 * Without a request: all, with their defaults. What belongs to another family is left out once
 * another than the first is chosen. */
void train_print_settings(const void *request);

/* Reads the arguments: the task, settings as `--key value`, `--key=value`, `--flag` and
 * `--no-flag`, and the options of the verb. What is wrong is told on standard error. */
exit_code train_parse(train_request *out, const struct verb *verb, int count, char **args);

/* How a run shows its course. */
typedef struct train_progress {
    att_model_type model_type; /* of the model */
    bool live;                 /* a line on the terminal is written over and over */
    bool quiet;                /* nothing but the end */
    FILE *log;                 /* a line of JSON per report, or NULL */
    const char *log_name;
    int64_t last_logged_step; /* the step last written to it */
    double last_shown;        /* when the live line was last written, in seconds of the run */
    bool line_open;           /* the live line stands on the terminal */
    bool header_printed;      /* the heading has been printed */
    att_status status;        /* the first failure to write, and what it was */
    att_error err;
} train_progress;

/* Shows one event: validations as lines, steps in between as one line that changes. */
void train_progress_event(train_progress *show, const att_training_progress *progress);

/* What came of it all. */
void train_progress_end(train_progress *show, const att_training *training, double seconds);

#endif
