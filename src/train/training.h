/* A training run and its parts. A checkpoint holds the parameters, the moments of the optimizer,
 * the best parameters, the last snapshots and the state; everything else follows from the settings
 * and the data. */
#ifndef ATT_TRAIN_TRAINING_H
#define ATT_TRAIN_TRAINING_H

#include "base/file.h"
#include "model/model.h"
#include "tape/tape.h"
#include "data/data.h"
#include "train/exchange.h"
#include "train/optimizer.h"
#include "train/training_state.h"

/* The time that a run has (setting `time`). Times are those of att_clock_seconds(). */
typedef struct att_budget {
    double start, deadline;                  /* deadline 0: there is no budget */
    double step_seconds, validation_seconds; /* measured, or estimated at first */
    double timed_since;                      /* when the timing of steps began, 0: not yet */
    int64_t timed_steps;
    double next_check;
} att_budget;

/* What a process of a run can ask of all. */
enum { ATT_WANTS_STOP = 1, ATT_WANTS_CANCEL = 2, ATT_WANTS_SAVE = 4 };

struct att_training {
    att_settings *settings; /* borrowed */
    att_data data;
    att_model *model;
    att_batches *batches;
    /* [accumulate] RNN state between batches of a text (truncated BPTT), one for each micro-batch
     * of a step; NULL: the model carries none */
    att_carried_state *carried_states;
    att_carried_state *states_before; /* those at the start of the step */
    int64_t arranged_epoch;           /* epoch that `batches` was shuffled for; -1: none */
    att_tape *tape;
    att_gradient_tree tree;
    att_exchange exchange; /* with the other processes of the run; one process: with none */
    unsigned wants;        /* ATT_WANTS_: what this process asks for */
    unsigned agreed;       /* what some process asked for, by the last step or validation */
    float
        *whole_moments[ATT_MAX_MOMENTS]; /* of all slices, while a checkpoint is saved or loaded */
    att_optimizer optimizer;
    att_training_plan plan;
    att_budget budget;
    att_string choices; /* settings that were chosen for the budget, and why: for the report */
    att_training_state state;
    float *best_params;   /* [size] of the best validation */
    float *snapshots;     /* [average, size] of validation n at n mod average; or NULL */
    double *norm_sums;    /* scratch of att_l2_norm() */
    att_param frozen;     /* the parameter that is not trained (vectors-tune no) */
    float *frozen_values; /* scratch for it; NULL: all are trained */
    size_t params_bytes;  /* of parameters, gradients, moments, best and snapshots */
    att_string model_path, checkpoint_path; /* the best model; the checkpoint */
    att_file_lock output_lock; /* held while a run writes, and from att_training_save() on */
    bool keeps_files; /* save the best model after validations; not in att_training_advance() */
};

/* ---- training.c */

/* Makes everything that depends on the size of the model: model, batches, optimizer, plan; and
 * releases it again. */
att_status att_training_build(att_training *training, att_error *err);
void att_training_release(att_training *training);

/* ---- together.c: runs of several processes */

/* The first exchange: fails in all processes if `status` says so in one, or if they were started
 * with different versions, settings, data or parameters. */
att_status att_training_meet(att_training *training, att_status status, att_error *err);

/* Gathers in process 0 what a checkpoint has of the others: moments, carried states. Process 0
 * releases the moments with att_training_free_moments(). */
att_status att_training_gather(att_training *training, att_error *err);
att_status att_training_alloc_moments(att_training *training, att_error *err);
void att_training_free_moments(att_training *training);

/* Appends what the processes do, to the report. */
att_status att_training_report_processes(att_string *out, const att_training *training);

/* ---- step.c: the states that batches of a language model carry; sets carried_states */
att_status att_training_new_states(att_training *training, att_error *err);
void att_training_free_states(att_training *training);

/* ---- init_from.c */

/* Takes the settings that determine the architecture from a model, which settings->init_from names.
 * Refuses settings given by the user that differ. */
att_status att_init_from_settings(att_settings *settings, const att_model *model, att_error *err);

/* Copies the weights of the model. Rows of new tokens keep their initial values. */
att_status att_init_from_values(att_training *training, const att_model *model, att_error *err);

/* ---- budget.c */

/* Chooses the size of the model, unless it was given, and the length of the run, by the speed of
 * this machine, so that the run ends `seconds` after training->budget.start. The data are loaded;
 * nothing is built yet. */
att_status att_budget_choose(att_training *training, double seconds, att_error *err);

/* After a step, and after a validation that took `seconds`: plans the rest of the run anew where it
 * would end too late, or much too early. */
att_status att_budget_step_done(att_training *training, att_error *err);
att_status att_budget_validation_done(att_training *training, double seconds, att_error *err);

/* ---- checkpoint.c */

/* Writes the checkpoint. Refuses parameters that are NaN or infinite. */
att_status att_checkpoint_save(att_training *training, att_error *err);

/* Replaces the parameters, the moments, the best parameters, the snapshots and the state by those
 * of a checkpoint. */
att_status att_checkpoint_load(att_training *training, const att_bundle *bundle, const char *name,
                               att_error *err);

/* Makes a bundle of the model with the parameters `values` [size], which must outlive it, and the
 * calibration temperature of a classifier (1: none). */
att_status att_training_model_bundle(att_bundle **out, const att_training *training, float *values,
                                     double temperature, att_error *err);

/* ---- resume.c */

/* Takes over the settings of a checkpoint. Refuses settings given by the user that differ and
 * cannot change within a run. */
att_status att_resume_settings(att_settings *settings, const att_bundle *bundle, const char *name,
                               att_error *err);

/* ---- validate.c */

/* Evaluates the model on the validation data, records the result, and stores the parameters as a
 * snapshot and, if the result is the best so far (*better), as the best. If `should_continue`
 * returns false meanwhile, *done is false and nothing changes. */
att_status att_training_validate(att_training *training, bool (*should_continue)(void *context),
                                 void *context, bool *done, bool *better, att_error *err);

/* With average-checkpoints, evaluates the mean of the snapshots and makes it the best model. Saves
 * the best model if the run writes files. */
att_status att_training_finish(att_training *training, att_error *err);

/* Writes the best model to its file. */
att_status att_training_save_best(att_training *training, att_error *err);

/* ---- vectors.c */

/* Initializes the source embedding with the word vectors of the data, if there are any. */
att_status att_training_set_vectors(att_training *training, att_error *err);

/* Prepares to freeze that embedding, if the settings ask for it. */
att_status att_training_freeze_new(att_training *training, att_error *err);

/* Sets the gradient of what is frozen to 0; and saves its values before an update, which weight
 * decay would change too, or restores them after it. */
void att_training_freeze_gradient(att_training *training);
void att_training_freeze_values(att_training *training, bool restore);

/* ---- step.c */

/* One optimizer update from the next batches of the epoch. *norm is the norm of the gradient before
 * clipping. */
att_status att_training_step(att_training *training, double *norm, att_error *err);

/* Runs forward and backward on the largest batch of the first epoch and discards the result: later
 * steps need no new memory, and att_tape_peak_bytes() returns the memory of a step. */
att_status att_training_dry_run(att_training *training, att_error *err);

#endif
