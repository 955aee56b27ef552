/* The processes that share a training run or an evaluation, on top of a transport (attend.h):
 * waiting with a time limit, gathering and broadcasting small messages, and agreeing on failures. A
 * group of one process sends nothing. Calls are collective unless stated: all processes make them
 * in the same order. */
#ifndef ATT_BASE_GROUP_H
#define ATT_BASE_GROUP_H

#include "attend.h"

enum { ATT_HOST_SIZE = 64 };

/* Tags of messages; buckets of gradients have the tags from ATT_TAG_BUCKET on. */
enum { ATT_TAG_GATHER, ATT_TAG_BROADCAST, ATT_TAG_SLICE, ATT_TAG_STATES, ATT_TAG_BUCKET };

/* What a process is and where it runs: the first message of a run. Processes of different versions
 * send each other nothing else, so its layout is not to change. */
typedef struct att_member {
    char host[ATT_HOST_SIZE];
    char version[16], cpu[16]; /* of the program; the instruction set in use */
    uint64_t cores;            /* a hash of the set of cores that it may use */
} att_member;

typedef struct att_group {
    att_transport *transport; /* NULL: one process */
    int rank, count;
    att_member *members; /* [count] on every process, after att_group_meet() */
    int64_t *requests;   /* [request_count] messages that were started */
    int *peers;          /* [request_count] who they are from or to */
    size_t request_count, capacity;
    double sent_bytes, wait_seconds;
    double overlap_bytes; /* of sent_bytes, those sent before the backward pass was over */
} att_group;

/* Checks the transport. Sends nothing. Release with att_group_free(), on failure too. */
att_status att_group_new(att_group *out, att_transport *transport, att_error *err);
void att_group_free(att_group *group);

/* Tells all where each process runs. Fails in all if the versions differ. */
att_status att_group_meet(att_group *group, att_error *err);

/* Not collective: start a message; it is complete after att_group_wait(). No bytes: nothing. */
att_status att_group_send(att_group *group, int to, int tag, const void *data, size_t bytes,
                          att_error *err);
att_status att_group_receive(att_group *group, int from, int tag, void *data, size_t bytes,
                             att_error *err);

/* Not collective: waits for all messages that this process started. */
att_status att_group_wait(att_group *group, att_error *err);

/* Not collective: lets messages move; never waits. */
att_status att_group_poll(att_group *group, att_error *err);

/* Not collective, after att_group_meet(): processes that may use the same cores of a host share
 * them, unless the user has said how many threads each has (ATTEND_THREADS). */
void att_group_share_cores(const att_group *group);

/* `mine` [bytes] of every process into `all` [count, bytes] of process 0. */
att_status att_group_gather(att_group *group, void *all, const void *mine, size_t bytes,
                            att_error *err);

/* `data` [bytes] of process 0 into `data` of the others. */
att_status att_group_broadcast(att_group *group, void *data, size_t bytes, att_error *err);

/* `own` [bytes] of every process, one after the other, in *all of every process: that of process r
 * from offsets[r] to offsets[r + 1] (offsets [count + 1]). Sizes may differ. Release *all with
 * att_free(). */
att_status att_group_all_gather(att_group *group, char **all, size_t *offsets, const void *own,
                                size_t bytes, att_error *err);

/* Ends a part of the run that may have failed in some processes: the status and the error of the
 * first that failed, in all; the message names its host unless it is process 0. */
att_status att_group_agree(att_group *group, att_status status, att_error *err);

/* The flags that at least one process has set. */
att_status att_group_or(att_group *group, unsigned *flags, att_error *err);

#endif
