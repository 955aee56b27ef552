/* POSIX calls that wasi-libc lacks, for files in memory that belong to one process: no links, no
 * permissions, no locks, no other processes. */
#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int dup(int fd)
{
    (void)fd;
    errno = ENOTSUP; /* no caller without standard input needs it */
    return -1;
}

int fchmod(int fd, mode_t mode)
{
    (void)fd, (void)mode;
    return 0;
}

int flock(int fd, int operation)
{
    (void)fd, (void)operation;
    return 0;
}

pid_t getpgid(pid_t pid)
{
    (void)pid;
    errno = ESRCH;
    return -1;
}

/* There are no symbolic links: the path is its own target, if the file exists. */
char *realpath(const char *path, char *resolved)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return NULL;
    if (strlen(path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return strcpy(resolved, path);
}
