/* The state of a training run, apart from its tensors: counters, the learning rate plateau and the
 * history of validations. It is written as JSON into checkpoints, for resuming, and into models, as
 * a record of their training. It contains no time, so the same run writes the same bytes. */
#ifndef ATT_TRAIN_TRAINING_STATE_H
#define ATT_TRAIN_TRAINING_STATE_H

#include "train/schedule.h"

typedef struct att_training_state {
    int64_t step;          /* optimizer updates done */
    int64_t epoch;         /* the current epoch, from 0 */
    int64_t epoch_batches; /* batches of this epoch done */
    int64_t batches;       /* batches done in total: seeds dropout */
    int64_t tokens;        /* target tokens trained on in total */

    double interval_loss; /* training loss since the last validation, summed over target tokens */
    int64_t interval_tokens;
    int64_t interval_correct;

    att_plateau plateau;

    int64_t train_pairs, valid_pairs;
    int64_t data_hash; /* att_data_hash(); must be equal when a run is resumed */

    int64_t best_validation;      /* number of the best validation, from 1; 0 before the first */
    int64_t averaged_checkpoints; /* snapshots averaged into the final parameters; 0: none */
    att_validation *history;      /* [history_count] all validations in order */
    int64_t history_count;
    int64_t history_capacity;
} att_training_state;

void att_training_state_free(att_training_state *state);

/* The metric that selects the best validation; lower is better. */
double att_validation_metric(const att_validation *validation, att_best_metric by);

/* Whether `a` is better than `b` by the metric, and where that is equal by the loss. */
bool att_validation_is_better(const att_validation *a, const att_validation *b, att_best_metric by);

/* The last validation and the best; NULL before the first. */
const att_validation *att_training_state_last(const att_training_state *state);
const att_validation *att_training_state_best(const att_training_state *state);

/* The epoch of the last step, from 1. */
int64_t att_training_state_epoch(const att_training_state *state);

/* Appends a validation, sets *better if it is the best so far by the metric `by`, and resets the
 * training loss of the interval. */
att_status att_training_state_add_validation(att_training_state *state,
                                             const att_validation *validation, att_best_metric by,
                                             bool *better, att_error *err);

/* Writes the state as JSON, and reads it back; `name` is the file named in errors. */
att_status att_training_state_to_json(att_string *out, const att_training_state *state,
                                      att_error *err);
att_status att_training_state_from_json(att_training_state *out, const char *json, const char *name,
                                        att_error *err);

#endif
