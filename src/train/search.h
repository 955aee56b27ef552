/* The state of a search for settings; see att_search_run() in attend.h. */
#ifndef ATT_TRAIN_SEARCH_H
#define ATT_TRAIN_SEARCH_H

#include "train/training.h"

typedef struct att_search_try {
    att_try result;
    size_t number;          /* from 0; the first has the given settings */
    att_settings *settings; /* of its first round; later rounds resume its checkpoint */
    att_best_metric metric;
    int64_t steps;       /* of the whole run: a multiple of those of the first round */
    bool failed;         /* its loss was not finite, as it happens with a high learning rate */
    int64_t round;       /* the last that it took part in, from 1 */
    att_validation best; /* result.best points here */
    att_string options;  /* result.options points here */
    att_string model, checkpoint; /* its files */
} att_search_try;

struct att_search {
    size_t count;
    att_search_try *tries;  /* [count] */
    att_search_try **ranks; /* [count] the best first */
    att_string model_path, checkpoint_path;
    double start, deadline; /* as in att_budget */
    double step_seconds, validation_seconds;
    att_string report; /* on the data */
    att_string command;
};

/* Makes the tries: draws their settings, and chooses the number of steps of each, so that all see
 * as many tokens, and the names of their files. `cost`: of the search, in runs of full length. */
att_status att_search_plan(att_search *search, const att_settings *settings, double cost,
                           int64_t rounds, att_error *err);

/* Fills search->command with the settings of the best try. */
att_status att_search_write_command(att_search *search, const att_settings *settings,
                                    att_error *err);

#endif
