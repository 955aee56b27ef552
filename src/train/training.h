/* A run and its parts. Everything in it follows from the settings and the data but for the
 * parameters, the moments, the best and the last snapshots of the parameters, and the state: these
 * are what a checkpoint holds. */
#ifndef ATT_TRAIN_TRAINING_H
#define ATT_TRAIN_TRAINING_H

#include "model/model.h"
#include "tape/tape.h"
#include "data/data.h"
#include "train/optimizer.h"
#include "train/training_state.h"

/* Makes one gradient of those of several processes, between the backward and the optimiser: each
 * gets the sum of all of `grad` [size] and of all of `sums` [count]. */
typedef att_status att_allreduce(void *context, float *grad, size_t size, double *sums, int count,
                                 att_error *err);

struct att_training {
    att_settings *settings; /* lent */
    att_data data;
    att_model *model;
    att_batches *batches;
    att_carried_state carried_state; /* from batch to batch, where the data are a text */
    int64_t arranged_epoch;          /* the epoch that `batches` is arranged for; -1: none */
    att_tape *tape;
    att_optimizer optimizer;
    att_training_plan plan;
    att_training_state state;
    float *best_params;  /* [size] parameters of the best validation */
    float *snapshots;    /* [average,size] those of validation n at n mod average; or NULL */
    double *norm_sums;   /* scratch of att_l2_norm() */
    size_t params_bytes; /* bytes of parameters, gradients and all that is kept of them */
    att_string model_path, checkpoint_path; /* paths of the model and of the checkpoint */
    bool keeps_files;         /* validations save the best model; att_training_advance() does not */
    att_allreduce *allreduce; /* or NULL: this process is alone */
    void *allreduce_context;
};

/* ---- checkpoint.c */

/* Writes the checkpoint. Parameters that are no longer numbers are refused. */
att_status att_checkpoint_save(const att_training *training, att_error *err);

/* Replaces parameters, moments, kept parameters and state by those of a checkpoint. */
att_status att_checkpoint_load(att_training *training, const att_bundle *bundle, const char *name,
                               att_error *err);

/* A bundle of the model with the parameters `values` [size], which must outlive it, and the
 * temperature that calibrates a classifier (1: none). */
att_status att_training_model_bundle(att_bundle **out, const att_training *training, float *values,
                                     double temperature, att_error *err);

/* ---- resume.c */

/* Brings the settings up to those of a checkpoint; refuses those given that a run cannot change. */
att_status att_resume_settings(att_settings *settings, const att_bundle *bundle, const char *name,
                               att_error *err);

/* A hash of everything in the data that learning depends on. */
int64_t att_data_hash(const att_data *data);

/* ---- validate.c */

/* Measures the model on the validation data, unless `go_on` says no meanwhile: then *done is false
 * and nothing has changed. Otherwise takes note of the result, keeps the parameters among the
 * snapshots and, where they are the best so far, as the best. */
att_status att_training_validate(att_training *training, bool (*go_on)(void *context),
                                 void *context, bool *done, bool *better, att_error *err);

/* Makes the average of the snapshots the best model where the settings ask for it, evaluated too;
 * and saves the best model where the run keeps files. */
att_status att_training_finish(att_training *training, att_error *err);

/* Writes the best model to its file. */
att_status att_training_save_best(att_training *training, att_error *err);

/* ---- step.c */

/* One update from the next batches of the epoch. *norm is the gradient's, before clipping. */
att_status att_training_step(att_training *training, double *norm, att_error *err);

/* Runs the largest batch of the first epoch forward and backward and forgets it: from then on a
 * step needs no new memory, and att_tape_peak_bytes() knows what it needs. */
att_status att_training_dry_run(att_training *training, att_error *err);

#endif
