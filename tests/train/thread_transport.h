/* A transport between threads of one process: each plays a process of a run. Messages are copied
 * into a list when they are sent. */
#ifndef ATT_TESTS_TRAIN_THREAD_TRANSPORT_H
#define ATT_TESTS_TRAIN_THREAD_TRANSPORT_H

#include "attend.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HUB_RANKS = 16, HUB_REQUESTS = 4096 };

typedef struct hub_message {
    int from, to, tag;
    int round; /* of the sender, when it was sent */
    size_t bytes;
    void *data;
    struct hub_message *next;
} hub_message;

typedef struct hub {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    hub_message *first;
    size_t longest; /* bytes of the longest message so far */
} hub;

/* A receive that was started; of sends nothing is left to do. */
typedef struct hub_receive {
    int from, tag;
    size_t bytes;
    void *data; /* NULL: free, or a send */
} hub_receive;

typedef struct hub_member {
    hub *hub;
    int rank;
    int round; /* messages so far of which each was sent after the one before it had arrived */
    char host[16];
    hub_receive receives[HUB_REQUESTS];
    att_transport transport;
} hub_member;

static inline int64_t hub_take(hub_member *member)
{
    for (int64_t i = 0; i < HUB_REQUESTS; i++)
        if (!member->receives[i].data)
            return i;
    abort();
}

static inline att_status hub_send(void *context, int to, int tag, const void *data, size_t bytes,
                                  int64_t *request, att_error *err)
{
    (void)err;
    hub_member *member = context;
    hub_message *message = malloc(sizeof *message);
    *message = (hub_message){ .from = member->rank,
                              .to = to,
                              .tag = tag,
                              .round = member->round,
                              .bytes = bytes,
                              .data = malloc(bytes) };
    memcpy(message->data, data, bytes);
    pthread_mutex_lock(&member->hub->mutex);
    hub_message **end = &member->hub->first;
    while (*end)
        end = &(*end)->next;
    *end = message;
    if (member->hub->longest < bytes)
        member->hub->longest = bytes;
    pthread_cond_broadcast(&member->hub->changed);
    pthread_mutex_unlock(&member->hub->mutex);
    *request = HUB_REQUESTS; /* complete at the next look */
    return ATT_OK;
}

static inline att_status hub_receive_start(void *context, int from, int tag, void *data,
                                           size_t bytes, int64_t *request, att_error *err)
{
    (void)err;
    hub_member *member = context;
    *request = hub_take(member);
    member->receives[*request] = (hub_receive){ from, tag, bytes, data };
    return ATT_OK;
}

/* Takes the first message for a receive; false: there is none yet. */
static inline bool hub_match(hub_member *member, hub_receive *want)
{
    for (hub_message **at = &member->hub->first; *at; at = &(*at)->next) {
        hub_message *found = *at;
        if (found->to != member->rank || found->from != want->from || found->tag != want->tag)
            continue;
        if (found->bytes != want->bytes)
            abort(); /* the processes disagree on what they exchange */
        memcpy(want->data, found->data, found->bytes);
        if (member->round < found->round + 1)
            member->round = found->round + 1;
        *at = found->next;
        free(found->data);
        free(found);
        want->data = NULL;
        return true;
    }
    return false;
}

static inline size_t hub_look(hub_member *member, int64_t *requests, size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        if (requests[i] == HUB_REQUESTS ||
            (requests[i] >= 0 && hub_match(member, &member->receives[requests[i]])))
            requests[i] = -1;
        left += requests[i] >= 0;
    }
    return left;
}

static inline att_status hub_wait(void *context, int64_t *requests, size_t count, double seconds,
                                  att_error *err)
{
    (void)err;
    hub_member *member = context;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(seconds * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&member->hub->mutex);
    while (hub_look(member, requests, count) > 0 && seconds > 0)
        if (pthread_cond_timedwait(&member->hub->changed, &member->hub->mutex, &until) != 0)
            break;
    pthread_mutex_unlock(&member->hub->mutex);
    return ATT_OK;
}

static inline void hub_new(hub *out)
{
    *out = (hub){ .first = NULL };
    pthread_mutex_init(&out->mutex, NULL);
    pthread_cond_init(&out->changed, NULL);
}

/* Process `rank` of `ranks`, on a host named after it. */
static inline hub_member *hub_join(hub *at, int rank, int ranks)
{
    hub_member *member = calloc(1, sizeof *member);
    member->hub = at;
    member->rank = rank;
    snprintf(member->host, sizeof member->host, "host%d", rank);
    member->transport = (att_transport){ .size = sizeof(att_transport),
                                         .context = member,
                                         .rank = rank,
                                         .ranks = ranks,
                                         .host = member->host,
                                         .send = hub_send,
                                         .receive = hub_receive_start,
                                         .wait = hub_wait };
    return member;
}

static inline void hub_free(hub *at)
{
    while (at->first) {
        hub_message *next = at->first->next;
        free(at->first->data);
        free(at->first);
        at->first = next;
    }
    pthread_mutex_destroy(&at->mutex);
    pthread_cond_destroy(&at->changed);
}

#endif
