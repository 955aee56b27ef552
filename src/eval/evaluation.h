/* What every evaluation call does first: copies the caller's options, and puts a dataset that comes
 * from an iterator where the readers of files find it. Several processes that share the evaluation
 * meet once they have read the data, and agree on the outcome. */
#ifndef ATT_EVAL_EVALUATION_H
#define ATT_EVAL_EVALUATION_H

#include "base/group.h"
#include "base/progress.h"
#include "data/memory_files.h"
#include "model/model.h"

typedef struct att_evaluation {
    att_eval_options options; /* decoding and metric_options are not NULL */
    att_decoding_options decoding;
    att_metric_options metric_options;
    const char *path; /* of the data; NULL: the validation data of training */
    att_string text;  /* of the examples, or of the file that is held */
    att_memory_file files[2];
    att_progress_scope scope;
    att_group group; /* of options.transport; one process where it is NULL */
    bool has_met;
} att_evaluation;

/* Opens a call on the thread; close it in any case, with its status so far, as with
 * att_progress_end(). An example that does not fit the type is
 * ATT_BAD_INPUT and named by its number, from 1. */
att_status att_evaluation_open(att_evaluation *call, att_model_type type, const char *path,
                               const att_eval_options *options, att_error *err);
att_status att_evaluation_close(att_evaluation *call, att_status status, att_error *err);

/* Collective: the first exchange of several processes, after all have read the data, with the
 * status of that. Fails in all where one has failed, or has another version, model or data. */
att_status att_evaluation_meet(att_evaluation *call, att_status status, const att_model *model,
                               const att_corpus *corpus, att_error *err);

/* Reads the file of the call, if it has one, and mounts its text under its name: it can then be
 * read twice, even if it is a pipe. */
att_status att_evaluation_hold_file(att_evaluation *call, att_error *err);

/* Names the data in an error of a model on it, which has no place yet. A NULL path: the validation
 * data of training. */
att_status att_evaluation_name_file(att_status status, const char *path, att_error *err);

#endif
