/* Files, threads and processes. Calls that the C library makes inside itself do not come by here;
 * therefore standard output, standard error and what fopen() returns are streams whose functions
 * are this object's. */
#define _GNU_SOURCE
#include "inject.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- opening */

static int open_file(int folder, const char *path, int flags, mode_t mode, const void *caller)
{
    static int (*real_openat)(int, const char *, int, ...);
    if (!real_openat)
        *(void **)&real_openat = fault_real("openat");
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT)) && fault_outside(path))
        return -1;
    if (fault_strikes_from(FAULT_OPEN, EMFILE, caller) || fault_interrupts(FAULT_OPEN, caller))
        return -1;
    return real_openat(folder, path, flags, mode);
}

static mode_t mode_argument(int flags, va_list args)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

#define OPEN_FUNCTION(name)                                                                        \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = mode_argument(flags, args);                                                  \
        va_end(args);                                                                              \
        return open_file(AT_FDCWD, path, flags, mode, CALLER);                                     \
    }
OPEN_FUNCTION(open)
OPEN_FUNCTION(open64)

#define OPENAT_FUNCTION(name)                                                                      \
    int name(int folder, const char *path, int flags, ...)                                         \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = mode_argument(flags, args);                                                  \
        va_end(args);                                                                              \
        return open_file(folder, path, flags, mode, CALLER);                                       \
    }
OPENAT_FUNCTION(openat)
OPENAT_FUNCTION(openat64)

DIR *opendir(const char *path)
{
    FIND_REAL(opendir);
    return fault_strikes(FAULT_OPEN, EMFILE) ? NULL : REAL(opendir)(path);
}

int dup(int fd)
{
    FIND_REAL(dup);
    return fault_strikes(FAULT_OPEN, EMFILE) ? -1 : REAL(dup)(fd);
}

int pipe(int ends[2])
{
    FIND_REAL(pipe);
    return fault_strikes(FAULT_OPEN, EMFILE) ? -1 : REAL(pipe)(ends);
}

int pipe2(int ends[2], int flags)
{
    FIND_REAL(pipe2);
    return fault_strikes(FAULT_OPEN, EMFILE) ? -1 : REAL(pipe2)(ends, flags);
}

/* ---- reading and writing */

/* The bytes that a call may move; 0: it fails. */
static size_t bytes_allowed(fault_class class, size_t size, int code, const void *caller)
{
    if (size == 0)
        return 0;
    if (fault_strikes_from(class, code, caller) || fault_interrupts(class, caller))
        return 0;
    return fault_shortens(class, caller) ? 1 : size;
}

ssize_t read(int fd, void *to, size_t size)
{
    FIND_REAL(read);
    size_t allowed = bytes_allowed(FAULT_READ, size, EIO, CALLER);
    return allowed == 0 && size > 0 ? -1 : REAL(read)(fd, to, allowed);
}

ssize_t pread(int fd, void *to, size_t size, off_t offset)
{
    FIND_REAL(pread);
    size_t allowed = bytes_allowed(FAULT_READ, size, EIO, CALLER);
    return allowed == 0 && size > 0 ? -1 : REAL(pread)(fd, to, allowed, offset);
}

struct dirent *readdir(DIR *folder)
{
    FIND_REAL(readdir);
    return fault_strikes(FAULT_READ, EIO) ? NULL : REAL(readdir)(folder);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    FIND_REAL(write);
    size_t allowed = bytes_allowed(FAULT_WRITE, size, ENOSPC, CALLER);
    return allowed == 0 && size > 0 ? -1 : REAL(write)(fd, bytes, allowed);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    FIND_REAL(pwrite);
    size_t allowed = bytes_allowed(FAULT_WRITE, size, ENOSPC, CALLER);
    return allowed == 0 && size > 0 ? -1 : REAL(pwrite)(fd, bytes, allowed, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    FIND_REAL(writev);
    return fault_strikes(FAULT_WRITE, ENOSPC) ? -1 : REAL(writev)(fd, parts, count);
}

int fsync(int fd)
{
    FIND_REAL(fsync);
    (void)real_fsync; /* nothing here outlives the machine, and waiting for a disk takes time */
    (void)fd;
    return fault_strikes(FAULT_SYNC, EIO) ? -1 : 0;
}

int fdatasync(int fd)
{
    return fsync(fd);
}

int ftruncate(int fd, off_t size)
{
    FIND_REAL(ftruncate);
    return fault_strikes(FAULT_SIZE, ENOSPC) ? -1 : REAL(ftruncate)(fd, size);
}

int fallocate(int fd, int mode, off_t offset, off_t size)
{
    FIND_REAL(fallocate);
    return fault_strikes(FAULT_SIZE, ENOSPC) ? -1 : REAL(fallocate)(fd, mode, offset, size);
}

int posix_fallocate(int fd, off_t offset, off_t size)
{
    FIND_REAL(posix_fallocate);
    return fault_strikes(FAULT_SIZE, ENOSPC) ? ENOSPC : REAL(posix_fallocate)(fd, offset, size);
}

int close(int fd)
{
    FIND_REAL(close);
    int result = REAL(close)(fd);
    return fault_strikes(FAULT_CLOSE, EIO) ? -1 : result;
}

/* ---- names */

/* Links the file into the folder of snapshots: all states that `path` may have after a fault. */
static void take_snapshot(const char *path)
{
    static unsigned number;
    char name[sizeof snapshots + 300];
    const char *slash = strrchr(path, '/');
    if (!snapshots[0])
        return;
    snprintf(name, sizeof name, "%s/%u-%.255s", snapshots, number++, slash ? slash + 1 : path);
    (void)!link(path, name);
}

int rename(const char *from, const char *to)
{
    FIND_REAL(rename);
    if (fault_outside(to))
        return -1;
    int result = fault_strikes(FAULT_RENAME, EIO) ? -1 : REAL(rename)(from, to);
    if (result == 0)
        take_snapshot(to);
    return result;
}

int link(const char *from, const char *to)
{
    FIND_REAL(link);
    bool ours = snapshots[0] && strncmp(to, snapshots, strlen(snapshots)) == 0;
    if (fault_outside(to))
        return -1;
    return !ours && fault_strikes(FAULT_RENAME, EIO) ? -1 : REAL(link)(from, to);
}

int mkdir(const char *path, mode_t mode)
{
    FIND_REAL(mkdir);
    return fault_outside(path) ? -1 : REAL(mkdir)(path, mode);
}

int mkstemp(char *path)
{
    FIND_REAL(mkstemp);
    return fault_outside(path) ? -1 : REAL(mkstemp)(path);
}

int mkostemp(char *path, int flags)
{
    FIND_REAL(mkostemp);
    return fault_outside(path) ? -1 : REAL(mkostemp)(path, flags);
}

int unlink(const char *path)
{
    FIND_REAL(unlink);
    if (fault_outside(path))
        return -1;
    return fault_strikes(FAULT_UNLINK, EIO) ? -1 : REAL(unlink)(path);
}

int unlinkat(int folder, const char *path, int flags)
{
    FIND_REAL(unlinkat);
    return fault_strikes(FAULT_UNLINK, EIO) ? -1 : REAL(unlinkat)(folder, path, flags);
}

/* ---- what is known about files */

int stat(const char *path, struct stat *out)
{
    FIND_REAL(stat);
    return fault_strikes(FAULT_STAT, EIO) ? -1 : REAL(stat)(path, out);
}

int lstat(const char *path, struct stat *out)
{
    FIND_REAL(lstat);
    return fault_strikes(FAULT_STAT, EIO) ? -1 : REAL(lstat)(path, out);
}

int fstat(int fd, struct stat *out)
{
    FIND_REAL(fstat);
    return fault_strikes(FAULT_STAT, EIO) ? -1 : REAL(fstat)(fd, out);
}

int access(const char *path, int mode)
{
    FIND_REAL(access);
    if ((mode & W_OK) && fault_outside(path))
        return -1;
    return fault_strikes(FAULT_STAT, EIO) ? -1 : REAL(access)(path, mode);
}

char *realpath(const char *restrict path, char *restrict out)
{
    FIND_REAL(realpath);
    return fault_strikes(FAULT_STAT, EIO) ? NULL : REAL(realpath)(path, out);
}

int fchmod(int fd, mode_t mode)
{
    FIND_REAL(fchmod);
    return fault_strikes(FAULT_STAT, EIO) ? -1 : REAL(fchmod)(fd, mode);
}

/* A file system without locks is no failure. */
int flock(int fd, int operation)
{
    FIND_REAL(flock);
    return fault_strikes(FAULT_STAT, ENOLCK) ? -1 : REAL(flock)(fd, operation);
}

/* ---- threads and processes */

int pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *context)
{
    FIND_REAL(pthread_create);
    return fault_strikes(FAULT_THREAD, EAGAIN)
               ? EAGAIN
               : REAL(pthread_create)(out, attributes, run, context);
}

pid_t fork(void)
{
    FIND_REAL(fork);
    return fault_strikes(FAULT_FORK, EAGAIN) ? -1 : REAL(fork)();
}

/* ---- streams */

/* The C library's own write loop goes on after a short write; the error of a cookie's does not. */
static ssize_t stream_write(void *cookie, const char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t put = write((int)(intptr_t)cookie, bytes + done, size - done);
        if (put < 0 && errno != EINTR)
            return (ssize_t)done;
        done += put > 0 ? (size_t)put : 0;
    }
    return (ssize_t)done;
}

static ssize_t stream_read(void *cookie, char *to, size_t size)
{
    return read((int)(intptr_t)cookie, to, size);
}

static int stream_close(void *cookie)
{
    return close((int)(intptr_t)cookie);
}

/* The descriptors of such streams, for fileno(). */
static struct {
    FILE *stream;
    int fd;
} streams[16];
static unsigned stream_count;

static FILE *make_stream(int fd, const char *mode)
{
    cookie_io_functions_t functions = { .read = stream_read,
                                        .write = stream_write,
                                        .close = stream_close };
    FILE *stream = fopencookie((void *)(intptr_t)fd, mode, functions);
    unsigned place = stream_count++ % 16;
    streams[place].stream = stream;
    streams[place].fd = fd;
    return stream;
}

int fileno(FILE *stream)
{
    FIND_REAL(fileno);
    for (unsigned i = 0; i < 16; i++)
        if (stream && streams[i].stream == stream)
            return streams[i].fd;
    return REAL(fileno)(stream);
}

void fault_open_streams(void)
{
    stdout = make_stream(STDOUT_FILENO, "w");
    stderr = make_stream(STDERR_FILENO, "w");
    if (!stdout || !stderr)
        _exit(99);
    setvbuf(stderr, NULL, _IONBF, 0);
}

static FILE *open_stream(const char *path, const char *mode, const void *caller)
{
    int flags = mode[0] == 'r'   ? O_RDONLY
                : mode[0] == 'a' ? O_WRONLY | O_CREAT | O_APPEND
                                 : O_WRONLY | O_CREAT | O_TRUNC;
    int fd = open_file(AT_FDCWD, path, flags, 0666, caller);
    FILE *stream = fd < 0 ? NULL : make_stream(fd, mode);
    if (!stream && fd >= 0)
        close(fd);
    return stream;
}

FILE *fopen(const char *restrict path, const char *restrict mode)
{
    FIND_REAL(fopen);
    if (mode[0] != 'r' && fault_outside(path))
        return NULL;
    if (faults && fault_in_program(__builtin_return_address(0)))
        return open_stream(path, mode, CALLER);
    return fault_strikes(FAULT_OPEN, EMFILE) ? NULL : REAL(fopen)(path, mode);
}

FILE *fopen64(const char *restrict path, const char *restrict mode)
{
    FIND_REAL(fopen64);
    if (mode[0] != 'r' && fault_outside(path))
        return NULL;
    return fault_strikes(FAULT_OPEN, EMFILE) ? NULL : REAL(fopen64)(path, mode);
}
