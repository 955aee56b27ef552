/* The processes that share a training run or an evaluation. */
#include "base/group.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/thread_pool.h"
#include "base/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In seconds. The first process to give up ends the others, for which a launcher may need some
 * time; so process 0 gives up first, then one after the other: one message is printed, not one by
 * each. */
enum { DEFAULT_TIMEOUT = 600, FIRST_DELAY = 20, MAX_DELAY = 30 };

att_status att_group_new(att_group *out, att_transport *transport, att_error *err)
{
    *out = (att_group){ .transport = transport, .count = 1 };
    if (!transport)
        return ATT_OK;
    if (transport->size < sizeof *transport || !transport->send || !transport->receive ||
        !transport->wait || transport->rank < 0 || transport->rank >= transport->ranks)
        return att_fail(err, ATT_BAD_INPUT, "transport",
                        "expected all functions and a rank below the number of processes");
    out->rank = transport->rank;
    out->count = transport->ranks;
    out->members = att_alloc_zero((size_t)out->count, sizeof *out->members);
    return out->members ? ATT_OK : att_fail_memory(err);
}

void att_group_free(att_group *group)
{
    att_free(group->members);
    att_free(group->requests);
    att_free(group->peers);
    *group = (att_group){ 0 };
}

/* ---- messages */

/* Room for one more request. */
static att_status grow(att_group *group, att_error *err)
{
    if (group->request_count < group->capacity)
        return ATT_OK;
    size_t old = group->capacity, bigger = old ? 2 * old : 64;
    int64_t *requests =
        att_realloc(group->requests, old * sizeof *requests, bigger, sizeof *requests);
    if (!requests)
        return att_fail_memory(err);
    group->requests = requests;
    int *peers = att_realloc(group->peers, old * sizeof *peers, bigger, sizeof *peers);
    if (!peers)
        return att_fail_memory(err);
    group->peers = peers;
    group->capacity = bigger;
    return ATT_OK;
}

/* Messages travel in pieces of at most this many bytes. MPI sends a longer message than its eager
 * limit (64 KiB over Open MPI's TCP) only once the receiver has answered, and the answer waits
 * behind what the receiver is sending itself: both directions then take turns (docs/scaling.md). */
enum { PIECE = 60 << 10 };

static size_t piece_size(size_t left)
{
    return left < PIECE ? left : PIECE;
}

att_status att_group_send(att_group *group, int to, int tag, const void *data, size_t bytes,
                          att_error *err)
{
    const att_transport *transport = group->transport;
    group->sent_bytes += (double)bytes;
    for (size_t at = 0; at < bytes; at += PIECE) {
        ATT_TRY(grow(group, err));
        group->peers[group->request_count] = to;
        ATT_TRY(transport->send(transport->context, to, tag, (const char *)data + at,
                                piece_size(bytes - at), &group->requests[group->request_count++],
                                err));
    }
    return ATT_OK;
}

att_status att_group_receive(att_group *group, int from, int tag, void *data, size_t bytes,
                             att_error *err)
{
    const att_transport *transport = group->transport;
    for (size_t at = 0; at < bytes; at += PIECE) {
        ATT_TRY(grow(group, err));
        group->peers[group->request_count] = from;
        ATT_TRY(transport->receive(transport->context, from, tag, (char *)data + at,
                                   piece_size(bytes - at), &group->requests[group->request_count++],
                                   err));
    }
    return ATT_OK;
}

/* Drops the requests that are complete. */
static bool compact(att_group *group)
{
    size_t kept = 0;
    for (size_t i = 0; i < group->request_count; i++)
        if (group->requests[i] >= 0) {
            group->requests[kept] = group->requests[i];
            group->peers[kept++] = group->peers[i];
        }
    bool moved = kept < group->request_count;
    group->request_count = kept;
    return moved;
}

att_status att_group_poll(att_group *group, att_error *err)
{
    if (group->request_count == 0)
        return ATT_OK;
    ATT_TRY(group->transport->wait(group->transport->context, group->requests, group->request_count,
                                   0, err));
    compact(group);
    return ATT_OK;
}

static att_status fail_timeout(const att_group *group, double seconds, att_error *err)
{
    int peer = group->peers[0];
    return att_fail(err, ATT_SYSTEM, NULL,
                    "no message from or to process %d%s%s for %.0f seconds: it, its host or the "
                    "network is gone; the run can be resumed from its checkpoint",
                    peer, group->members[peer].host[0] ? " on " : "", group->members[peer].host,
                    seconds);
}

att_status att_group_wait(att_group *group, att_error *err)
{
    const att_transport *transport = group->transport;
    if (group->request_count == 0)
        return ATT_OK;
    double limit = transport->timeout > 0 ? transport->timeout : DEFAULT_TIMEOUT;
    int delay = group->rank > 0 ? FIRST_DELAY + group->rank : 0;
    double patience = limit + (delay < MAX_DELAY ? delay : MAX_DELAY);
    double start = att_clock_seconds(), last = start;
    while (group->request_count > 0) {
        ATT_TRY(
            transport->wait(transport->context, group->requests, group->request_count, 0.05, err));
        att_progress_poll();
        double now = att_clock_seconds();
        if (compact(group))
            last = now;
        else if (now - last > patience)
            return fail_timeout(group, limit, err);
    }
    group->wait_seconds += att_clock_seconds() - start;
    return ATT_OK;
}

/* ---- small messages of all */

att_status att_group_gather(att_group *group, void *all, const void *mine, size_t bytes,
                            att_error *err)
{
    if (group->rank > 0) {
        ATT_TRY(att_group_send(group, 0, ATT_TAG_GATHER, mine, bytes, err));
        return att_group_wait(group, err);
    }
    memcpy(all, mine, bytes);
    for (int r = 1; r < group->count; r++)
        ATT_TRY(att_group_receive(group, r, ATT_TAG_GATHER, (char *)all + (size_t)r * bytes, bytes,
                                  err));
    return att_group_wait(group, err);
}

/* By a binomial tree: in round k, the first 2^k processes send to the next 2^k. */
att_status att_group_broadcast(att_group *group, void *data, size_t bytes, att_error *err)
{
    for (int have = 1; have < group->count; have *= 2) {
        int partner = group->rank < have ? group->rank + have : group->rank - have;
        if (group->rank < have && partner < group->count)
            ATT_TRY(att_group_send(group, partner, ATT_TAG_BROADCAST, data, bytes, err));
        else if (group->rank >= have && group->rank < 2 * have)
            ATT_TRY(att_group_receive(group, partner, ATT_TAG_BROADCAST, data, bytes, err));
        ATT_TRY(att_group_wait(group, err));
    }
    return ATT_OK;
}

/* Into `all`, which has room for the bytes of every process. */
static att_status gather_sized(att_group *group, char *all, const size_t *offsets, const char *own,
                               size_t bytes, att_error *err)
{
    if (group->rank > 0)
        ATT_TRY(att_group_send(group, 0, ATT_TAG_STATES, own, bytes, err));
    for (int r = 1; group->rank == 0 && r < group->count; r++)
        ATT_TRY(att_group_receive(group, r, ATT_TAG_STATES, all + offsets[r],
                                  offsets[r + 1] - offsets[r], err));
    ATT_TRY(att_group_wait(group, err));
    if (group->rank == 0 && bytes > 0)
        memcpy(all, own, bytes);
    return att_group_broadcast(group, all, offsets[group->count], err);
}

att_status att_group_all_gather(att_group *group, char **all, size_t *offsets, const void *own,
                                size_t bytes, att_error *err)
{
    *all = NULL;
    offsets[0] = 0;
    ATT_TRY(att_group_gather(group, offsets + 1, &bytes, sizeof bytes, err));
    ATT_TRY(att_group_broadcast(group, offsets + 1, (size_t)group->count * sizeof *offsets, err));
    for (int r = 0; r < group->count; r++)
        offsets[r + 1] += offsets[r];
    *all = att_alloc(offsets[group->count] + 1, 1);
    return *all ? gather_sized(group, *all, offsets, own, bytes, err) : att_fail_memory(err);
}

/* All have the same list, so all find the same difference, without another message. */
static att_status compare_versions(att_group *group, att_error *err)
{
    const att_member *first = &group->members[0];
    for (int r = 1; r < group->count; r++) {
        const att_member *other = &group->members[r];
        if (strcmp(first->version, other->version) == 0)
            continue;
        group->transport->agreed = true;
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "process %d on %s runs version %s, process 0 on %s version %s; all must "
                        "run the same version",
                        r, other->host, other->version, first->host, first->version);
    }
    return ATT_OK;
}

att_status att_group_meet(att_group *group, att_error *err)
{
    att_member own = { .cores = att_usable_cores_hash() };
    const char *host = group->transport->host;
    snprintf(own.host, sizeof own.host, "%s", host ? host : "?");
    snprintf(own.version, sizeof own.version, "%s", att_version());
    snprintf(own.cpu, sizeof own.cpu, "%s", att_cpu_name());
    ATT_TRY(att_group_gather(group, group->members, &own, sizeof own, err));
    ATT_TRY(att_group_broadcast(group, group->members,
                                (size_t)group->count * sizeof *group->members, err));
    return compare_versions(group, err);
}

void att_group_share_cores(const att_group *group)
{
    const att_member *own = &group->members[group->rank];
    const char *given = getenv("ATTEND_THREADS");
    int sharing = 0;
    for (int r = 0; r < group->count; r++)
        sharing +=
            strcmp(group->members[r].host, own->host) == 0 && group->members[r].cores == own->cores;
    if ((!given || !*given) && att_threads_get() == att_usable_cores())
        att_threads_set(att_usable_cores() / sharing > 1 ? att_usable_cores() / sharing : 1);
}

/* ---- agreeing */

/* Names the host in the error of another process. */
static void name_host(att_group *group, int rank, att_error *err)
{
    att_error inner = *err;
    if (rank > 0)
        snprintf(err->message, sizeof err->message, "%.600s (process %d on %s)", inner.message,
                 rank, group->members[rank].host[0] ? group->members[rank].host : "its host");
}

att_status att_group_agree(att_group *group, att_status status, att_error *err)
{
    if (group->count == 1)
        return status;
    att_error own = { .status = status }, ignored = { 0 };
    if (status != ATT_OK && err)
        own = *err;
    own.status = status;
    att_error *all = NULL;
    if (group->rank == 0 && !(all = att_alloc((size_t)group->count, sizeof *all)))
        return att_fail_memory(err);
    att_status sent = att_group_gather(group, all, &own, sizeof own, err ? err : &ignored);
    for (int r = 0; sent == ATT_OK && group->rank == 0 && r < group->count; r++)
        if (all[r].status != ATT_OK) {
            own = all[r];
            name_host(group, r, &own);
            break;
        }
    att_free(all);
    if (sent == ATT_OK)
        sent = att_group_broadcast(group, &own, sizeof own, err);
    if (sent != ATT_OK)
        return sent;
    if (own.status != ATT_OK && err)
        *err = own;
    group->transport->agreed = own.status != ATT_OK;
    return own.status;
}

att_status att_group_or(att_group *group, unsigned *flags, att_error *err)
{
    if (group->count == 1)
        return ATT_OK;
    unsigned *all = NULL, own = *flags;
    if (group->rank == 0 && !(all = att_alloc((size_t)group->count, sizeof *all)))
        return att_fail_memory(err);
    att_status status = att_group_gather(group, all, &own, sizeof own, err);
    for (int r = 0; status == ATT_OK && group->rank == 0 && r < group->count; r++)
        *flags |= all[r];
    att_free(all);
    return status == ATT_OK ? att_group_broadcast(group, flags, sizeof *flags, err) : status;
}

att_status att_transport_agree(att_transport *transport, att_status status, att_error *err)
{
    att_group group;
    att_error own = { 0 }, ignored = { 0 };
    if (!transport)
        return status;
    if (!err)
        err = &ignored;
    own = *err;
    att_status met = att_group_new(&group, transport, err);
    if (met == ATT_OK && group.count > 1)
        met = att_group_meet(&group, err);
    if (met == ATT_OK) {
        *err = own;
        met = att_group_agree(&group, status, err);
    }
    att_group_free(&group);
    return met;
}
