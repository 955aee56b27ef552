/* The parts of attend train: the command line, and how a run reports its progress. */
#ifndef TRAIN_H
#define TRAIN_H

#include "program.h"

#include <stdio.h>

/* The command line. */
typedef struct train_request {
    att_settings *settings;
    string_list configs; /* --config files, read in this order */
    bool quiet;
} train_request;

/* The state of the progress report. */
typedef struct train_progress {
    att_model_type model_type;
    bool live;       /* standard output is a terminal: one line changes between validations */
    bool quiet;      /* print only the final result */
    bool silent;     /* print nothing: process 0 of the run does */
    bool has_budget; /* --time: say what more of it would bring */
    FILE *log;       /* JSON lines of --log, or NULL */
    att_string log_path;
    bool empty_log; /* remove the lines of an earlier run before the first line */
    int64_t last_logged_step;
    double last_shown;          /* when the live line was last written, in seconds of the run */
    bool line_open;             /* the live line stands on the terminal */
    bool header_printed;        /* of the table of validations */
    att_training_progress last; /* of several processes: what process 0 has sent and waited */
    int64_t first_step;         /* before which nothing was counted */
    att_status status;          /* the first failure to write, */
    att_error err;              /* and its error */
} train_progress;

/* Reports one event of the run: a validation as a row of the table, a step on the live line. */
void train_progress_event(train_progress *show, const att_training_progress *progress);

/* Parts of the table, for other tables: the headers and the columns of the metrics, the validation
 * loss or a dash where there is none, and a time as "1:02:03" or "2:03". */
enum { DURATION_SIZE = 32, LOSS_SIZE = 32 };
const char *train_metric_headers(att_model_type type);
void train_print_metrics(att_model_type type, const att_validation *row);
const char *train_loss(char out[LOSS_SIZE], double loss);
const char *train_duration(char out[DURATION_SIZE], double seconds);

/* attend train --try (train_search.c). */
exit_code train_search(const train_request *request);

/* Prints the final result, or how to resume a run that was stopped. */
void train_progress_end(train_progress *show, const att_training *training, bool finished,
                        double seconds);

#endif
