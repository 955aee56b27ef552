/* The transport of MPI (attend.h, "Training over several processes"): compiled once with each
 * mpicc. It uses nothing of libattend but its header, and only point-to-point messages: the order
 * in which MPI_Reduce adds is not specified. */
#include "attend.h"

#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) att_transport_plugin attend_transport;

typedef struct link {
    MPI_Request *requests; /* [capacity]; MPI_REQUEST_NULL: free */
    int64_t capacity, next;
    MPI_Request *tested;  /* scratch: [tested_capacity] those of one call of MPI_Testsome, */
    int *complete;        /* which of them it found complete, */
    MPI_Status *statuses; /* and how they ended */
    size_t tested_capacity;
    double spin_seconds; /* a wait polls for so long before it leaves the core to others */
    char host[MPI_MAX_PROCESSOR_NAME];
} link_state;

/* Where every process of the host has a core, and where not; and how long a core is left only if
 * others want it, before the wait sleeps. */
#define SPIN_SECONDS   0.5e-3
#define SHARED_SECONDS 20e-6
#define YIELD_SECONDS  1e-3

static link_state the_link;

static att_status fail(att_error *err, const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (!err)
        return ATT_SYSTEM;
    MPI_Error_string(code, text, &length);
    *err = (att_error){ .status = ATT_SYSTEM };
    snprintf(err->message, sizeof err->message, "MPI: %s failed: %.500s", what, text);
    return ATT_SYSTEM;
}

/* A free place for a request; -1: no memory. */
static int64_t take_request(link_state *link)
{
    for (int64_t i = 0; i < link->capacity; i++) {
        int64_t at = (link->next + i) % link->capacity;
        if (link->requests[at] == MPI_REQUEST_NULL) {
            link->next = at + 1;
            return at;
        }
    }
    int64_t old = link->capacity, bigger = old ? 2 * old : 256;
    MPI_Request *moved = realloc(link->requests, (size_t)bigger * sizeof *moved);
    if (!moved)
        return -1;
    for (int64_t i = old; i < bigger; i++)
        moved[i] = MPI_REQUEST_NULL;
    link->requests = moved;
    link->capacity = bigger;
    link->next = old + 1;
    return old;
}

/* MPI counts in int. */
enum { MAX_BYTES = 1 << 30 };

static att_status fail_memory(att_error *err)
{
    if (err) {
        *err = (att_error){ .status = ATT_NO_MEMORY };
        snprintf(err->message, sizeof err->message, "out of memory");
    }
    return ATT_NO_MEMORY;
}

static att_status check_size(size_t bytes, int64_t request, att_error *err)
{
    if (request < 0)
        return fail_memory(err);
    if (bytes <= MAX_BYTES)
        return ATT_OK;
    if (err) {
        *err = (att_error){ .status = ATT_UNSUPPORTED };
        snprintf(err->message, sizeof err->message, "MPI: a message is longer than 1 GiB");
    }
    return ATT_UNSUPPORTED;
}

static att_status start_send(void *context, int to, int tag, const void *data, size_t bytes,
                             int64_t *request, att_error *err)
{
    link_state *link = context;
    *request = take_request(link);
    att_status status = check_size(bytes, *request, err);
    if (status != ATT_OK)
        return status;
    int code =
        MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &link->requests[*request]);
    return code == MPI_SUCCESS ? ATT_OK : fail(err, "sending", code);
}

static att_status start_receive(void *context, int from, int tag, void *data, size_t bytes,
                                int64_t *request, att_error *err)
{
    link_state *link = context;
    *request = take_request(link);
    att_status status = check_size(bytes, *request, err);
    if (status != ATT_OK)
        return status;
    int code =
        MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &link->requests[*request]);
    return code == MPI_SUCCESS ? ATT_OK : fail(err, "receiving", code);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Room to test `count` requests at once; false: no memory. */
static bool grow_tested(link_state *link, size_t count)
{
    if (count <= link->tested_capacity)
        return true;
    MPI_Request *tested = realloc(link->tested, count * sizeof *tested);
    link->tested = tested ? tested : link->tested;
    int *complete = realloc(link->complete, count * sizeof *complete);
    link->complete = complete ? complete : link->complete;
    MPI_Status *statuses = realloc(link->statuses, count * sizeof *statuses);
    link->statuses = statuses ? statuses : link->statuses;
    if (!tested || !complete || !statuses)
        return false;
    link->tested_capacity = count;
    return true;
}

/* The error of the first of `found` messages that failed, if MPI does not say it itself. */
static int error_of(const link_state *link, int code, int found)
{
    for (int i = 0; code == MPI_ERR_IN_STATUS && i < found; i++)
        if (link->statuses[i].MPI_ERROR != MPI_SUCCESS)
            return link->statuses[i].MPI_ERROR;
    return code;
}

/* Looks at every request once; *left becomes the number of those that are not complete. One call
 * for all: each call of MPI_Test lets all messages move, which takes longer than to look at one. */
static att_status test_all(link_state *link, int64_t *requests, size_t count, size_t *left,
                           att_error *err)
{
    int found = 0; /* MPI_UNDEFINED, a negative number: there was nothing to wait for */
    if (!grow_tested(link, count))
        return fail_memory(err);
    *left = 0;
    for (size_t i = 0; i < count; i++) {
        link->tested[i] = requests[i] < 0 ? MPI_REQUEST_NULL : link->requests[requests[i]];
        *left += requests[i] >= 0;
    }
    int code = MPI_Testsome((int)count, link->tested, &found, link->complete, link->statuses);
    if (code != MPI_SUCCESS)
        return fail(err, "a message", error_of(link, code, found));
    for (int i = 0; i < found; i++) {
        int64_t *request = &requests[link->complete[i]];
        link->requests[*request] = MPI_REQUEST_NULL;
        *request = -1;
        --*left;
    }
    return ATT_OK;
}

/* Polls, at first without a pause: a MB takes some hundred microseconds in memory, and on a busy
 * machine a core that was left to others comes back much later. Then it leaves the core to others.
 */
static att_status wait_all(void *context, int64_t *requests, size_t count, double seconds,
                           att_error *err)
{
    link_state *link = context;
    size_t left;
    double start = seconds > 0 ? now() : 0;
    for (;;) {
        att_status status = test_all(link, requests, count, &left, err);
        if (status != ATT_OK || left == 0 || seconds <= 0)
            return status;
        double waited = now() - start;
        if (waited >= seconds)
            return ATT_OK;
        if (waited >= link->spin_seconds + YIELD_SECONDS)
            nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
        else if (waited >= link->spin_seconds)
            sched_yield();
    }
}

/* On a host that the launcher cannot reach any more, MPI_Abort waits for ever: an alarm ends the
 * process then. MPICH's launcher drops what it has not forwarded when a job is aborted, so the
 * message that says why gets a moment on its way. */
enum { ABORT_SECONDS = 10, FORWARD_NANOSECONDS = 200000000 };

static void end_all(void *context, int exit_code)
{
    (void)context;
    signal(SIGALRM, SIG_DFL);
    alarm(ABORT_SECONDS);
    nanosleep(&(struct timespec){ .tv_nsec = FORWARD_NANOSECONDS }, NULL);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
}

static void close_link(void *context)
{
    link_state *link = context;
    free(link->requests);
    free(link->tested);
    free(link->complete);
    free(link->statuses);
    *link = (link_state){ 0 };
    MPI_Finalize();
}

static double choose_spin(void)
{
    MPI_Comm host;
    int processes = 1;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host) !=
        MPI_SUCCESS)
        return SHARED_SECONDS;
    MPI_Comm_size(host, &processes);
    MPI_Comm_free(&host);
    return processes <= sysconf(_SC_NPROCESSORS_ONLN) ? SPIN_SECONDS : SHARED_SECONDS;
}

/* Messages are started and tested by one thread; the library's others compute. */
att_status attend_transport(att_transport *out, const char *version, att_error *err)
{
    int ready = 0, provided, length = 0;
    if (strcmp(version, ATT_VERSION) != 0 || out->size != sizeof *out) {
        if (err) {
            *err = (att_error){ .status = ATT_BAD_INPUT };
            snprintf(err->message, sizeof err->message,
                     "the MPI plugin is of version %s, expected %.16s", ATT_VERSION, version);
        }
        return ATT_BAD_INPUT;
    }
    MPI_Initialized(&ready);
    int code = ready ? MPI_SUCCESS : MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    if (code != MPI_SUCCESS)
        return fail(err, "MPI_Init", code);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Get_processor_name(the_link.host, &length);
    the_link.spin_seconds = choose_spin();
    *out = (att_transport){ .size = sizeof *out,
                            .context = &the_link,
                            .host = the_link.host,
                            .send = start_send,
                            .receive = start_receive,
                            .wait = wait_all,
                            .abort = end_all,
                            .close = close_link };
    const char *limit = getenv("ATTEND_TIMEOUT");
    out->timeout = limit ? strtod(limit, NULL) : 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &out->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &out->ranks);
    return ATT_OK;
}
