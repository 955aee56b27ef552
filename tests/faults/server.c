/* main() in many forked children: loading the program and its fifty libraries takes ten times as
 * long as most of the runs. A request on descriptor REQUESTS is a length (32 bits) and that many
 * bytes of strings, each ended by a zero byte:
 *
 *   folder, stdin, stdout, stderr, folder of snapshots, class, n, mode, threads, arguments…
 *
 * The answer on ANSWERS is one line. Without ATTEND_FAULTS in the environment the object does
 * nothing. */
#define _GNU_SOURCE
#include "inject.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REQUESTS = 198, ANSWERS = 199, MOST_ARGUMENTS = 128, CPU_SECONDS = 40, SECONDS = 400 };

typedef int main_function(int argc, char **argv, char **environment);

static main_function *program_main;
static fault_state *state;
static pid_t program;

typedef struct request {
    char text[1 << 16];
    char *words[MOST_ARGUMENTS];
    int count;
} request;

enum { FOLDER, STDIN, STDOUT, STDERR, SNAPSHOTS, CLASS, NUMBER, MODE, THREADS, ARGUMENTS };

static bool read_fully(void *to, size_t size)
{
    char *next = to;
    while (size > 0) {
        ssize_t got = read(REQUESTS, next, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        next += got;
        size -= (size_t)got;
    }
    return true;
}

static bool read_request(request *out)
{
    uint32_t length;
    if (!read_fully(&length, sizeof length) || length >= sizeof out->text ||
        !read_fully(out->text, length))
        return false;
    out->text[length] = '\0';
    out->count = 0;
    for (char *word = out->text; word < out->text + length && out->count < MOST_ARGUMENTS - 1;
         word += strlen(word) + 1)
        out->words[out->count++] = word;
    out->words[out->count] = NULL;
    return out->count > ARGUMENTS;
}

/* ---- the child */

static void redirect(int fd, const char *path, int flags)
{
    int file = open(path, flags, 0666);
    if (file < 0 || dup2(file, fd) < 0)
        _exit(99);
    if (file != fd)
        close(file);
}

/* Runs when exit() has called the program's own functions, and only in the program itself. */
static void report_end(void)
{
    if (!faults || getpid() != program)
        return;
    fflush(stdout); /* as exit() would, while faults still happen */
    fault_count_blocks();
    struct pollfd open_files[64];
    for (int i = 0; i < 64; i++)
        open_files[i] = (struct pollfd){ .fd = i };
    poll(open_files, 64, 0);
    for (int i = 0; i < 64; i++)
        state->descriptors += !(open_files[i].revents & POLLNVAL);
    faults = NULL;
}

static _Noreturn void run_program(const request *asked)
{
    char *const *words = asked->words;
    if (chdir(words[FOLDER]) != 0)
        _exit(99);
    redirect(STDIN_FILENO, words[STDIN], O_RDONLY);
    redirect(STDOUT_FILENO, words[STDOUT], O_WRONLY | O_CREAT | O_TRUNC);
    redirect(STDERR_FILENO, words[STDERR], O_WRONLY | O_CREAT | O_TRUNC);
    close(REQUESTS);
    close(ANSWERS);
    setenv("ATTEND_THREADS", words[THREADS], 1);
    snprintf(snapshots, sizeof snapshots, "%s", words[SNAPSHOTS]);
    fault_open_streams();
    /* A run that hangs ends by a signal: soon if it is busy, later if it waits; the machine may be
     * busy with other work. */
    setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_sec = CPU_SECONDS }, NULL);
    alarm(SECONDS);
    state->program = program = getpid();
    atexit(report_end);
    fault_watch_blocks();
    faults = state;
    char **arguments = (char **)(uintptr_t)words + ARGUMENTS;
    exit(program_main(asked->count - ARGUMENTS, arguments, environ));
}

/* ---- the server */

/* Waits for the program, and counts processes that it left behind. */
static int wait_for(pid_t child, int *left)
{
    int how = 0, other;
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        continue;
    *left = 0;
    /* What the program killed or orphaned is this process's child now, and may need a moment. */
    for (int tries = 0; tries < 200; tries++) {
        pid_t found = waitpid(-1, &other, WNOHANG);
        if (found < 0)
            return how;
        if (found == 0)
            usleep(5000);
    }
    *left = 1;
    return how;
}

static void answer(int how, int left)
{
    char line[1 << 16];
    size_t length = (size_t)snprintf(
        line, sizeof line, "%d %d %d %llu %lld %lld %lld", how, left, state->in_library,
        (unsigned long long)atomic_load(&state->fired), (long long)state->live,
        (long long)state->live_call, (long long)state->descriptors);
    for (int i = 0; i < FAULT_CLASSES; i++)
        length += (size_t)snprintf(line + length, sizeof line - length, " %llu",
                                   (unsigned long long)atomic_load(&state->calls[i]));
    length += (size_t)snprintf(line + length, sizeof line - length, "|%s|", state->fired_stack);
    for (uint32_t i = 0; i < atomic_load(&state->stacks) && length + 32 < sizeof line; i++)
        length += (size_t)snprintf(line + length, sizeof line - length, "%llu ",
                                   (unsigned long long)state->stack_call[i]);
    length += (size_t)snprintf(line + length, sizeof line - length, "\n");
    (void)!write(ANSWERS, line, length);
}

static int serve(int argc, char **argv, char **environment)
{
    (void)argc;
    (void)argv;
    (void)environment;
    static request asked;
    fault_find_program();
    state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (state == MAP_FAILED)
        return 99;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    while (read_request(&asked)) {
        memset(state, 0, sizeof *state);
        state->class = atoi(asked.words[CLASS]);
        state->n = strtoull(asked.words[NUMBER], NULL, 10);
        state->mode = atoi(asked.words[MODE]);
        pid_t child = fork();
        if (child == 0)
            run_program(&asked);
        int left = 0, how = child < 0 ? 99 << 8 : wait_for(child, &left);
        answer(how, left);
    }
    return 0;
}

typedef int start_function(main_function *run, int argc, char **argv, void (*init)(void),
                           void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

start_function __libc_start_main;

int __libc_start_main(main_function *run, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    start_function *real;
    *(void **)&real = fault_real("__libc_start_main");
    program_main = run;
    return real(getenv("ATTEND_FAULTS") ? serve : run, argc, argv, init, fini, rtld_fini,
                stack_end);
}
