/* A preloaded object that records the calls that change files, for tests/long/power. Each record is
 * a line of fields separated by tabs and, for writes, the bytes:
 *     begin · open FD PATH CREATED TRUNCATED · close FD · write FD OFFSET LENGTH BYTES ·
 *     truncate FD LENGTH · sync FD · rename FROM TO · unlink PATH · link FROM TO
 * RECORD_TO is the file of the records. If RECORD_COUNT is n, the process gets RECORD_SIGNAL (a
 * number) after the n-th record. Calls that failed are not recorded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int record_fd = -1, signal_number;
static long calls_left; /* until the signal; 0: none */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static void put(const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        long done = syscall(SYS_write, record_fd, at, size);
        if (done <= 0)
            abort(); /* a trace with a hole would prove nothing */
        at += done;
        size -= (size_t)done;
    }
}

/* Appends a record and, if it is the last, sends the signal. Keeps errno. */
static void record(const void *bytes, size_t size, const char *format, ...)
{
    char line[2 * 4096 + 64];
    int code = errno;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (record_fd < 0)
        return;
    if (length < 0 || (size_t)length >= sizeof line)
        abort();
    pthread_mutex_lock(&lock);
    put(line, (size_t)length);
    put(bytes, size);
    bool last = calls_left > 0 && --calls_left == 0;
    pthread_mutex_unlock(&lock);
    if (last)
        raise(signal_number);
    errno = code;
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("RECORD_TO"), *count = getenv("RECORD_COUNT"),
               *number = getenv("RECORD_SIGNAL");
    if (!path)
        return;
    /* far from the descriptors of the program, which notices those that it did not open */
    int fd =
        (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    record_fd = fcntl(fd, F_DUPFD_CLOEXEC, 500);
    syscall(SYS_close, fd);
    if (record_fd < 0)
        abort();
    calls_left = count ? atol(count) : 0;
    signal_number = number ? atoi(number) : 0;
    record("", 0, "begin\n");
}

/* ---- calls that open and close */

static int opened(int fd, const char *path, bool existed, int flags)
{
    if (fd >= 0)
        record("", 0, "open\t%d\t%s\t%d\t%d\n", fd, path, !existed, (flags & O_TRUNC) != 0);
    return fd;
}

#define OPEN_MODE(flags)                                                                           \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                         \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        mode = va_arg(arguments, mode_t);                                                          \
        va_end(arguments);                                                                         \
    }

int open(const char *path, int flags, ...)
{
    OPEN_MODE(flags)
    bool existed = access(path, F_OK) == 0;
    return opened(REAL(open)(path, flags, mode), path, existed, flags);
}

int open64(const char *path, int flags, ...)
{
    OPEN_MODE(flags)
    bool existed = access(path, F_OK) == 0;
    return opened(REAL(open64)(path, flags, mode), path, existed, flags);
}

int close(int fd)
{
    int code = REAL(close)(fd);
    if (code == 0)
        record("", 0, "close\t%d\n", fd);
    return code;
}

/* ---- calls that write */

ssize_t write(int fd, const void *bytes, size_t size)
{
    off_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t done = REAL(write)(fd, bytes, size);
    if (done > 0 && offset >= 0)
        record(bytes, (size_t)done, "write\t%d\t%lld\t%zd\n", fd, (long long)offset, done);
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    ssize_t done = REAL(pwrite)(fd, bytes, size, offset);
    if (done > 0)
        record(bytes, (size_t)done, "write\t%d\t%lld\t%zd\n", fd, (long long)offset, done);
    return done;
}

int ftruncate(int fd, off_t length)
{
    int code = REAL(ftruncate)(fd, length);
    if (code == 0)
        record("", 0, "truncate\t%d\t%lld\n", fd, (long long)length);
    return code;
}

/* ---- calls that make durable */

int fsync(int fd)
{
    int code = REAL(fsync)(fd);
    if (code == 0)
        record("", 0, "sync\t%d\n", fd);
    return code;
}

int fdatasync(int fd)
{
    int code = REAL(fdatasync)(fd);
    if (code == 0)
        record("", 0, "sync\t%d\n", fd);
    return code;
}

/* ---- calls that change directories */

int rename(const char *from, const char *to)
{
    int code = REAL(rename)(from, to);
    if (code == 0)
        record("", 0, "rename\t%s\t%s\n", from, to);
    return code;
}

int link(const char *from, const char *to)
{
    int code = REAL(link)(from, to);
    if (code == 0)
        record("", 0, "link\t%s\t%s\n", from, to);
    return code;
}

int unlink(const char *path)
{
    int code = REAL(unlink)(path);
    if (code == 0)
        record("", 0, "unlink\t%s\n", path);
    return code;
}

/* Of a file in an open directory: the name is enough, since one folder is recorded. */
int unlinkat(int folder, const char *path, int flags)
{
    int code = REAL(unlinkat)(folder, path, flags);
    if (code == 0)
        record("", 0, "unlink\t%s\n", path);
    return code;
}
