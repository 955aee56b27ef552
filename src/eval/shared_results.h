/* Results of an evaluation that several processes share: each appends what it found, in an order
 * that all know, and after att_shared_results_gather() every process reads what all have found. */
#ifndef ATT_EVAL_SHARED_RESULTS_H
#define ATT_EVAL_SHARED_RESULTS_H

#include "base/group.h"
#include "base/string.h"

typedef struct att_shared_results {
    att_group *group;
    att_string own;  /* bytes that this process found */
    char *all;       /* of all processes */
    size_t *offsets; /* [processes + 1] where the bytes of each start in `all` */
    size_t *at;      /* [processes] how far the bytes of each are read */
} att_shared_results;

/* Whether there are other processes; `group` may be NULL. */
bool att_group_is_shared(const att_group *group);

/* The process that evaluates batch `index`. */
int att_shared_owner(const att_group *group, int64_t index);

/* Release with att_shared_results_free(), on failure too. */
att_status att_shared_results_new(att_shared_results *out, att_group *group, att_error *err);
void att_shared_results_free(att_shared_results *results);

att_status att_shared_results_put(att_shared_results *results, const void *data, size_t bytes,
                                  att_error *err);
att_status att_shared_results_put_text(att_shared_results *results, const char *text,
                                       att_error *err);

/* Collective. `status` is that of the evaluation by this process: where one failed, the call fails
 * in all, with its error. */
att_status att_shared_results_gather(att_shared_results *results, att_status status,
                                     att_error *err);

/* Reads what process `rank` has put, in order; false (NULL): there is no more. */
bool att_shared_results_get(att_shared_results *results, int rank, void *out, size_t bytes);
const char *att_shared_results_get_text(att_shared_results *results, int rank);

#endif
