/* Locks on output files: flock(2) on a lock file beside the output, which the kernel releases when
 * the process dies. The output itself cannot carry the lock: every save replaces it by another
 * file. */
#include "base/file.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/string.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_SUFFIX ".lock"

/* The lock of a symbolic link is that of the file that a save would replace. */
static att_status set_lock_path(att_string *out, const char *path)
{
    char target[PATH_MAX];
    att_status status = att_string_puts(out, realpath(path, target) ? target : path);
    return status == ATT_OK ? att_string_puts(out, LOCK_SUFFIX) : status;
}

/* Opens the lock file with `access`, creating it if needed. Creating is refused where it belongs to
 * another user (its permissions, or fs.protected_regular); reading is enough for a lock. */
static int open_lock_file(const char *path, int access)
{
    const int flags = O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK;
    int fd = open(path, access | O_CREAT | flags, 0666);
    return fd < 0 && errno == EACCES ? open(path, O_RDONLY | flags) : fd;
}

/* 0 if the open file is still the one at `path`; EINTR, for another attempt, if a process that
 * released its lock removed it; otherwise the errno that keeps this from being known. */
static int check_at_path(int fd, const char *path)
{
    struct stat opened, found;
    if (fstat(fd, &opened) != 0)
        return errno;
    if (stat(path, &found) != 0)
        return errno == ENOENT ? EINTR : errno;
    return opened.st_dev == found.st_dev && opened.st_ino == found.st_ino ? 0 : EINTR;
}

/* One attempt: an open and locked file, or -1 with errno; EINTR asks for another attempt. A file
 * open for writing would keep its file system from being remounted read-only, but NFS locks no
 * other (EBADF). */
static int try_lock(const char *path)
{
    static const int accesses[] = { O_RDONLY, O_RDWR };
    int fd = -1, code = EBADF;
    for (size_t i = 0; i < ATT_COUNT(accesses) && code == EBADF; i++) {
        fd = open_lock_file(path, accesses[i]);
        if (fd < 0)
            return -1;
        code = flock(fd, LOCK_EX | LOCK_NB) == 0 ? check_at_path(fd, path) : errno;
        if (code == 0)
            return fd;
        close(fd);
    }
    errno = code;
    return -1;
}

/* File systems without locks: the output is written unprotected, as by other programs. */
static bool is_unsupported(int code)
{
    return code == ENOLCK || code == ENOSYS || code == EOPNOTSUPP || code == EINVAL ||
           code == EBADF;
}

att_status att_file_lock_take(att_file_lock *lock, const char *path, att_error *err)
{
    if (lock->held)
        return ATT_OK;
    att_string name = { 0 };
    if (set_lock_path(&name, path) != ATT_OK) {
        att_string_free(&name);
        return att_fail_memory(err);
    }
    int fd, code = 0;
    do
        fd = try_lock(name.data);
    while (fd < 0 && errno == EINTR);
    if (fd >= 0) {
        *lock = (att_file_lock){ .held = true, .fd = fd, .path = name };
        return ATT_OK;
    }
    code = errno;
    if (is_unsupported(code))
        (void)unlink(name.data);
    att_string_free(&name);
    if (code == EWOULDBLOCK)
        return att_fail(err, ATT_BAD_INPUT, path, "another training run is writing this file");
    return is_unsupported(code) ? ATT_OK : att_file_fail(err, path, "create", code);
}

/* Removed before it is unlocked: whoever opened it meanwhile finds that it is no longer at its
 * path. */
void att_file_lock_release(att_file_lock *lock)
{
    if (!lock->held)
        return;
    (void)unlink(lock->path.data);
    close(lock->fd);
    att_string_free(&lock->path);
    *lock = (att_file_lock){ 0 };
}
