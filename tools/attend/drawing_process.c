/* The drawing process and the pipe from it: per job a report, then the bytes. Forking is safe with
 * the threads of the library: none is at work here, and a child starts its own (thread_pool.c). */
#include "drawing_process.h"

#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
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

/* Reads `length` bytes, fewer only at the end of the pipe; -1 with errno where reading fails. */
static ssize_t receive(int from, char *to, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t got = read(from, to + done, length - done);
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
    error_set(err, ATT_SYSTEM, path, "cannot draw: cannot read from the drawing process: %s",
              strerror(errno));
    return REPORTED;
}

static drawing_result receive_drawing(int from, output_file *file, att_error *err)
{
    drawing_report report;
    ssize_t got = receive(from, (char *)&report, sizeof report);
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
        got = receive(from, chunk, wanted);
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
static att_status receive_all(int from, pid_t child, output_list *files, const drawing_job *jobs,
                              size_t count, att_error *err)
{
    drawing_result result = DRAWN;
    const char *path = files->files[jobs[count - 1].file].path;
    for (size_t i = 0; i < count && result == DRAWN; i++) {
        path = files->files[jobs[i].file].path;
        result = receive_drawing(from, &files->files[jobs[i].file], err);
    }
    close(from);
    if (result == REPORTED)
        kill(child, SIGKILL);
    int how = 0;
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
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
    return receive_all(ends[0], child, files, jobs, count, err);
}
