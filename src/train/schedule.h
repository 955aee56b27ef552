/* Learning rate schedules and scheduled sampling. Both are functions of the settings and the step;
 * the plateau schedule also depends on the validation losses. */
#ifndef ATT_TRAIN_SCHEDULE_H
#define ATT_TRAIN_SCHEDULE_H

#include "settings/settings.h"

/* The length of a run. Epochs may differ by a few batches, so `total_steps` is an estimate: steps
 * beyond it use the values at its end. */
typedef struct att_training_plan {
    int64_t epoch_steps; /* steps per epoch */
    int64_t total_steps; /* steps of the whole run */
    /* How total_steps changed during the run (setting step-plan); none: it did not. The schedule
     * continues from where it was towards the new end. */
    att_step_plan_piece pieces[ATT_MAX_STEP_PLAN];
    size_t piece_count;
} att_training_plan;

/* The state of the plateau schedule; start from {0}. */
typedef struct att_plateau {
    double best;             /* the lowest validation loss; undefined before the first validation */
    int64_t validations;     /* number of validations */
    int64_t bad_validations; /* validations since the best, or since the last reduction */
    int64_t reductions;      /* how often the learning rate was reduced */
} att_plateau;

/* The learning rate of a step, counted from 1. Every schedule starts with a linear warm-up over
 * `warmup` steps. */
double att_schedule_learning_rate(const att_settings *settings, const att_training_plan *plan,
                                  const att_plateau *plateau, int64_t step);

/* Records a validation loss. */
void att_plateau_update(att_plateau *plateau, const att_settings *settings, double loss);

/* Scheduled sampling: the probability that the decoder is fed its own prediction instead of the
 * reference (teacher forcing) in a step, counted from 1. It rises linearly from 0 at the start of
 * epoch `scheduled-sampling-start` to `scheduled-sampling` at the end. */
double att_schedule_sampling_probability(const att_settings *settings,
                                         const att_training_plan *plan, int64_t step);

#endif
