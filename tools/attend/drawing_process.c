/* The drawing process and the pipe from it: per job a report, then the bytes. Forking is safe with
 * the threads of the library: none is at work here, and a child starts its own (thread_pool.c). */
#include "drawing_process.h"

#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

/* What the child sends before the bytes of a drawing. */
typedef struct drawing_report {
    att_status status;
    size_t length; /* bytes that follow; 0 after a failure */
    att_error err;
} drawing_report;

/* ---- the child */

/* Where memory is short, fontconfig writes a cache without the fonts that it could not read, and
 * every later program believes it. A process that may not write files reads them anew instead. */
static void protect_font_cache(void)
{
    struct rlimit memory;
    if (getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur != RLIM_INFINITY)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0 });
}

/* Standard output is the program's: GLib prints failed assertions there too. */
static void leave_standard_output(void)
{
    int null = open("/dev/null", O_WRONLY);
    if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
        _exit(EXIT_SYSTEM);
    close(null);
}

/* Ends the child with its parent, and keeps a crash from leaving a core file beside the outputs. A
 * system without such a signal lets it draw to the end, where the closed pipe ends it. */
static void prepare_child(pid_t parent)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent)
        _exit(EXIT_SYSTEM);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
    protect_font_cache();
    leave_standard_output();
}

static bool send_bytes(int to, const void *bytes, size_t length)
{
    const char *next = bytes;
    while (length > 0) {
        ssize_t put = write(to, next, length);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        next += put;
        length -= (size_t)put;
    }
    return true;
}

/* Draws and sends one job; false where it failed or nobody reads. */
static bool draw_job(int to, const drawing_job *job)
{
    drawing_report report;
    memset(&report, 0, sizeof report); /* the gaps between its members are sent too */
    att_string bytes = { 0 };
    report.status = job->draw(&bytes, job->figure, job->scale, &report.err);
    if (report.status == ATT_OK)
        report.length = bytes.length;
    bool sent = send_bytes(to, &report, sizeof report) && send_bytes(to, bytes.data, report.length);
    att_string_free(&bytes);
    return sent && report.status == ATT_OK;
}

/* No destructor and no flushing of stdio: these are the parent's. */
static _Noreturn void run_child(int to, pid_t parent, const drawing_job *jobs, size_t count)
{
    prepare_child(parent);
    for (size_t i = 0; i < count; i++)
        if (!draw_job(to, &jobs[i]))
            _exit(EXIT_SYSTEM);
    _exit(EXIT_DONE);
}

/* ---- the parent */

/* The pipe and the process at its other end. */
typedef struct drawing_pipe {
    int from;
    pid_t child;
} drawing_pipe;

/* Seconds without use of the processor after which the child is taken for blocked. */
enum { STUCK_SECONDS = 15 };

/* Processor time that the child has used, in nanoseconds; it grows where the clock is missing. */
static int64_t child_time(pid_t child)
{
    static int64_t unknown;
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return ++unknown;
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* Waits for bytes or the end of the pipe. False if the child is blocked: where all memory is gone,
 * a thread of pango waits forever for another. */
static bool wait_for_bytes(const drawing_pipe *in)
{
    int64_t before = -1;
    for (int idle = 0; idle < STUCK_SECONDS;) {
        int ready = poll(&(struct pollfd){ .fd = in->from, .events = POLLIN }, 1, 1000);
        if (ready != 0)
            return ready > 0 || errno == EINTR; /* read() reports what is wrong */
        int64_t now = child_time(in->child);
        idle = now == before ? idle + 1 : 0;
        before = now;
    }
    errno = ETIMEDOUT;
    return false;
}

/* Reads `length` bytes, fewer only at the end of the pipe; -1 with errno where reading fails. */
static ssize_t receive(const drawing_pipe *in, char *to, size_t length)
{
    size_t done = 0;
    while (done < length) {
        if (!wait_for_bytes(in))
            return -1;
        ssize_t got = read(in->from, to + done, length - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* How the drawing of one job came out, as far as the pipe tells. */
typedef enum drawing_result { DRAWN, REPORTED, ENDED_EARLY } drawing_result;

static drawing_result fail_reading(const char *path, att_error *err)
{
    if (errno == ETIMEDOUT)
        error_set(err, ATT_SYSTEM, path,
                  "cannot draw: the drawing process is blocked (out of memory?)");
    else
        error_set(err, ATT_SYSTEM, path, "cannot draw: cannot read from the drawing process: %s",
                  strerror(errno));
    return REPORTED;
}

static drawing_result receive_drawing(const drawing_pipe *in, output_file *file, att_error *err)
{
    drawing_report report;
    ssize_t got = receive(in, (char *)&report, sizeof report);
    if (got < 0)
        return fail_reading(file->path, err);
    if ((size_t)got < sizeof report)
        return ENDED_EARLY;
    if (report.status != ATT_OK) {
        *err = report.err;
        err->status = report.status;
        return REPORTED;
    }
    char chunk[1 << 16];
    for (size_t left = report.length; left > 0; left -= (size_t)got) {
        size_t wanted = left < sizeof chunk ? left : sizeof chunk;
        got = receive(in, chunk, wanted);
        if (got < 0)
            return fail_reading(file->path, err);
        if ((size_t)got < wanted)
            return ENDED_EARLY;
        if (att_string_append(&file->bytes, chunk, wanted) != ATT_OK) {
            error_memory(err);
            return REPORTED;
        }
    }
    return DRAWN;
}

/* The error of a process that ended before all was drawn, or not well. */
static att_status fail_ended(int how, const char *path, att_error *err)
{
    if (WIFSIGNALED(how))
        return error_set(err, ATT_SYSTEM, path,
                         "cannot draw: the drawing process was ended by signal %d (out of memory?)",
                         WTERMSIG(how));
    return error_set(err, ATT_SYSTEM, path,
                     "cannot draw: the drawing process ended early, with exit code %d (out of "
                     "memory?)",
                     WEXITSTATUS(how));
}

/* Receives all drawings and waits for the end of the child, which is killed if it is of no use. */
static att_status receive_all(const drawing_pipe *in, output_list *files, const drawing_job *jobs,
                              size_t count, att_error *err)
{
    drawing_result result = DRAWN;
    const char *path = files->files[jobs[count - 1].file].path;
    for (size_t i = 0; i < count && result == DRAWN; i++) {
        path = files->files[jobs[i].file].path;
        result = receive_drawing(in, &files->files[jobs[i].file], err);
    }
    close(in->from);
    if (result == REPORTED)
        kill(in->child, SIGKILL);
    int how = 0;
    while (waitpid(in->child, &how, 0) < 0 && errno == EINTR)
        continue;
    if (result == REPORTED)
        return err->status;
    return result == DRAWN && how == 0 ? ATT_OK : fail_ended(how, path, err);
}

static att_status fail_start(const char *path, att_error *err)
{
    return error_set(err, ATT_SYSTEM, path, "cannot draw: cannot start the drawing process: %s",
                     strerror(errno));
}

att_status drawing_process_run(output_list *files, const drawing_job *jobs, size_t count,
                               att_error *err)
{
    if (count == 0)
        return ATT_OK;
    const char *path = files->files[jobs[0].file].path;
    int ends[2];
    if (pipe(ends) != 0)
        return fail_start(path, err);
    signal(SIGCHLD, SIG_DFL); /* where it was inherited ignored, waitpid() would tell nothing */
    pid_t parent = getpid(), child = fork();
    if (child < 0) {
        fail_start(path, err);
        close(ends[0]);
        close(ends[1]);
        return ATT_SYSTEM;
    }
    if (child == 0) {
        close(ends[0]);
        run_child(ends[1], parent, jobs, count);
    }
    close(ends[1]);
    return receive_all(&(drawing_pipe){ ends[0], child }, files, jobs, count, err);
}
