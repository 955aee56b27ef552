/* What changes in the course of a run: the learning rate, and the probability of scheduled
 * sampling. Both are functions of the settings, the step and, for the plateau schedule, of the
 * validations. */
#ifndef ATT_TRAIN_SCHEDULE_H
#define ATT_TRAIN_SCHEDULE_H

#include "settings/settings.h"

/* How long the run is. The batches of epochs may differ by a few, so `total` is a plan: a run that
 * goes on beyond it keeps what it had at its end. */
typedef struct att_training_plan {
    int64_t epoch_steps; /* steps in an epoch */
    int64_t total_steps; /* steps in all */
} att_training_plan;

/* Where a plateau stands; start from {0}. */
typedef struct att_plateau {
    double best;             /* the least validation loss, once `seen` */
    int64_t validations;     /* validations in all */
    int64_t bad_validations; /* validations since the best, or since the last cut */
    int64_t reductions;      /* times that the rate was cut */
} att_plateau;

/* The rate of a step, counted from 1. With any schedule it first rises over `warmup` steps. */
double att_schedule_learning_rate(const att_settings *settings, const att_training_plan *plan,
                                  const att_plateau *plateau, int64_t step);

/* Takes note of a validation. */
void att_plateau_update(att_plateau *plateau, const att_settings *settings, double loss);

/* The probability that a step, counted from 1, feeds the model its own prediction: it rises in a
 * straight line from the start of epoch `own-from` to `own` at the end. */
double att_schedule_sampling_probability(const att_settings *settings,
                                         const att_training_plan *plan, int64_t step);

#endif
