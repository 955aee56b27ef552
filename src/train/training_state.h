/* Where a run stands: everything but the parameters, the moments and what follows from settings and
 * data. It is written as JSON into checkpoints and, as the record of how it was trained, into
 * models. There is no time in it: the same run gives the same bytes. */
#ifndef ATT_TRAIN_TRAINING_STATE_H
#define ATT_TRAIN_TRAINING_STATE_H

#include "train/schedule.h"

typedef struct att_training_state {
    int64_t step;          /* updates made */
    int64_t epoch;         /* being gone through, from 0 */
    int64_t epoch_batches; /* batches of it that are done */
    int64_t batches;       /* done in all: what dropout is drawn under */
    int64_t tokens;        /* target tokens learnt from in all */

    double interval_loss; /* of training since the last validation, summed over target tokens */
    int64_t interval_tokens;
    int64_t interval_correct;

    att_plateau plateau;

    int64_t train_pairs, valid_pairs;
    int64_t data_hash; /* a hash of all tokens: what a resumed run must find again */

    int64_t best_validation;      /* number of the best validation, from 1; 0 before the first */
    int64_t averaged_checkpoints; /* validations that the parameters are the average of; 0: none */
    att_validation *history;      /* [history_count] all validations in order */
    int64_t history_count;
    int64_t history_capacity;
} att_training_state;

void att_training_state_free(att_training_state *state);

/* The last validation and the best; NULL before the first. */
const att_validation *att_training_state_last(const att_training_state *state);
const att_validation *att_training_state_best(const att_training_state *state);

/* The number of the epoch a step belongs to, from 1. */
int64_t att_training_state_epoch(const att_training_state *state);

/* Appends a validation; *better tells whether it is the best so far. Training's own loss starts
 * anew. */
att_status att_training_state_add_validation(att_training_state *state,
                                             const att_validation *validation, att_best_metric by,
                                             bool *better, att_error *err);

/* As JSON and back; `name` stands for the file in errors. */
att_status att_training_state_to_json(att_string *out, const att_training_state *state,
                                      att_error *err);
att_status att_training_state_from_json(att_training_state *out, const char *json, const char *name,
                                        att_error *err);

#endif
