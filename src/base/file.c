/* Reading and saving whole files. Plain read(2), not mmap: a mapped file that shrinks kills the
 * process with SIGBUS, while a short read can be reported. */
#include "base/file.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/string.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes per read or write call; the kernel's own limit is just below 2 GB. */
enum { MAX_TRANSFER = 1 << 30 };

/* Bytes read between two polls of the progress callback. */
enum { READ_CHUNK = 4 << 20 };

/* Bytes per read where the size is unknown. */
enum { STREAM_CHUNK = 1 << 16 };

/* Failures that a different path or other permissions would fix are bad input; the rest (a disk
 * that is full, failing or read-only, no free descriptors) are system errors. */
static att_status status_of_errno(int code)
{
    static const int input_errors[] = { ENOENT,       ENOTDIR, EACCES, EPERM,  EISDIR,
                                        ENAMETOOLONG, ELOOP,   ENXIO,  ETXTBSY };
    for (size_t i = 0; i < ATT_COUNT(input_errors); i++)
        if (code == input_errors[i])
            return ATT_BAD_INPUT;
    return code == ENOMEM ? ATT_NO_MEMORY : ATT_SYSTEM;
}

att_status att_file_fail(att_error *err, const char *path, const char *doing, int code)
{
    char reason[128] = "unknown error";
    if (strerror_r(code, reason, sizeof reason) != 0 && reason[0] == '\0')
        strcpy(reason, "unknown error");
    return att_fail(err, status_of_errno(code), path[0] ? path : "''", "cannot %s: %s", doing,
                    reason);
}

/* The type of a special file in words, or NULL for a regular file. */
static const char *special_file_name(mode_t mode)
{
    static const struct {
        mode_t type;
        const char *name;
    } kinds[] = {
        { S_IFDIR, "a directory" }, { S_IFCHR, "a device" },  { S_IFBLK, "a device" },
        { S_IFIFO, "a FIFO" },      { S_IFSOCK, "a socket" },
    };
    for (size_t i = 0; i < ATT_COUNT(kinds); i++)
        if ((mode & S_IFMT) == kinds[i].type)
            return kinds[i].name;
    return S_ISREG(mode) ? NULL : "a special file";
}

static att_status fail_file_type(att_error *err, const char *path, mode_t mode)
{
    return att_fail(err, ATT_BAD_INPUT, path, "is %s, expected a file", special_file_name(mode));
}

/* ---- reading */

/* Reads until `size` bytes have arrived or the file ends. Returns the number of bytes read, or -1
 * with errno. */
static ssize_t read_fully(int fd, char *to, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, to + done, att_min_size(size - done, READ_CHUNK));
        if (got < 0 && errno != EINTR)
            return -1;
        if (got == 0)
            break;
        done += got > 0 ? (size_t)got : 0;
        att_progress_poll();
        if (att_progress_cancelled())
            break;
    }
    return (ssize_t)done;
}

static bool same_mtime(const struct stat *a, const struct stat *b)
{
    return a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Fails where the file changed while `got` bytes were read: size or modification time. */
static att_status check_unchanged(int fd, const struct stat *before, size_t got, const char *path,
                                  att_error *err)
{
    struct stat after;
    if (fstat(fd, &after) != 0)
        return att_file_fail(err, path, "read", errno);
    size_t size = (size_t)before->st_size;
    if (got < size)
        return att_fail(err, ATT_BAD_INPUT, path, "shrank while being read: from %zu bytes to %zu",
                        size, got);
    if (got > size || after.st_size > before->st_size)
        return att_fail(err, ATT_BAD_INPUT, path, "grew while being read: had %zu bytes before",
                        size);
    if (after.st_size != before->st_size || !same_mtime(before, &after))
        return att_fail(err, ATT_BAD_INPUT, path, "changed while being read");
    return ATT_OK;
}

/* Reads an open file. It requests one byte more than the size, to detect a file that grew; that
 * byte goes where the terminator will be. */
static att_status read_open(att_string *out, int fd, const char *path, size_t limit, att_error *err)
{
    struct stat before;
    if (fstat(fd, &before) != 0)
        return att_file_fail(err, path, "read", errno);
    if (!S_ISREG(before.st_mode))
        return fail_file_type(err, path, before.st_mode);
    if ((uintmax_t)before.st_size > limit)
        return att_fail(err, ATT_BAD_INPUT, path, "has %jd bytes, more than the %zu allowed",
                        (intmax_t)before.st_size, limit);
    size_t size = (size_t)before.st_size;
    out->length = 0;
    if (att_string_reserve(out, size) != ATT_OK)
        return att_fail_memory(err);
    ssize_t got = read_fully(fd, out->data, size + 1);
    if (got < 0)
        return att_file_fail(err, path, "read", errno);
    ATT_TRY(att_progress_check(err));
    ATT_TRY(check_unchanged(fd, &before, (size_t)got, path, err));
    out->data[size] = '\0';
    out->length = size;
    return ATT_OK;
}

static int open_retrying(const char *path, int flags, mode_t mode)
{
    int fd;
    do
        fd = open(path, flags | O_CLOEXEC | O_NOCTTY, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

att_status att_file_read(att_string *out, const char *path, size_t limit, att_error *err)
{
    /* Without O_NONBLOCK, opening a FIFO without a writer would block forever. */
    int fd = open_retrying(path, O_RDONLY | O_NONBLOCK, 0);
    att_status status;
    if (fd >= 0) {
        status = read_open(out, fd, path, limit, err);
        close(fd);
    } else {
        int code = errno;
        struct stat info;
        if (code == ENXIO && stat(path, &info) == 0 && special_file_name(info.st_mode))
            status = fail_file_type(err, path, info.st_mode); /* open() fails on a socket */
        else
            status = att_file_fail(err, path, "open", code);
    }
    if (status != ATT_OK)
        att_string_free(out);
    return status;
}

static att_status pass_on(int fd, const char *name, char *piece, att_bytes_callback *on_bytes,
                          void *context, att_error *err)
{
    ssize_t got;
    do {
        got = read_fully(fd, piece, STREAM_CHUNK);
        if (got < 0)
            return att_file_fail(err, name, "read", errno);
        ATT_TRY(att_progress_check(err));
        if (got > 0)
            ATT_TRY(on_bytes(context, piece, (size_t)got, err));
    } while (got == STREAM_CHUNK);
    return ATT_OK;
}

att_status att_file_stream(const char *path, att_bytes_callback *on_bytes, void *context,
                           att_error *err)
{
    struct stat info;
    bool standard = strcmp(path, "-") == 0;
    const char *name = att_file_display_name(path);
    int fd = standard ? dup(STDIN_FILENO) : open_retrying(path, O_RDONLY, 0);
    if (fd < 0)
        return att_file_fail(err, name, "open", errno);
    char *piece = att_alloc(STREAM_CHUNK, 1);
    att_status status;
    if (!piece)
        status = att_fail_memory(err);
    else if (fstat(fd, &info) != 0)
        status = att_file_fail(err, name, "read", errno);
    else if (!standard && !S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode))
        status = fail_file_type(err, name, info.st_mode);
    else
        status = pass_on(fd, name, piece, on_bytes, context, err);
    att_free(piece);
    close(fd);
    return status;
}

/* Reads a stream, whose size is not known in advance, to its end. */
static att_status read_to_end(att_string *out, int fd, const char *name, size_t limit,
                              att_error *err)
{
    ssize_t got;
    do {
        if (att_string_reserve(out, STREAM_CHUNK) != ATT_OK)
            return att_fail_memory(err);
        got = read_fully(fd, out->data + out->length, STREAM_CHUNK);
        if (got < 0)
            return att_file_fail(err, name, "read", errno);
        ATT_TRY(att_progress_check(err));
        out->length += (size_t)got;
        if (out->length > limit)
            return att_fail(err, ATT_BAD_INPUT, name, "has more than the %zu bytes allowed", limit);
    } while (got == STREAM_CHUNK);
    out->data[out->length] = '\0';
    return ATT_OK;
}

bool att_file_same(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && S_ISREG(one.st_mode) &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool att_file_is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

att_status att_file_check_output_path(const char *path, att_error *err)
{
    struct stat info;
    size_t length = strlen(path);
    bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    if (folder || (length > 0 && path[length - 1] == '/'))
        return att_fail(err, ATT_BAD_INPUT, path, "is a directory, expected a file");
    return ATT_OK;
}

const char *att_file_display_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

att_status att_file_read_stream(att_string *out, const char *path, size_t limit, att_error *err)
{
    struct stat info;
    bool standard = strcmp(path, "-") == 0;
    if (!standard && (stat(path, &info) != 0 || !S_ISFIFO(info.st_mode)))
        return att_file_read(out, path, limit, err);
    int fd = standard ? dup(STDIN_FILENO) : open_retrying(path, O_RDONLY, 0);
    const char *name = att_file_display_name(path);
    if (fd < 0)
        return att_file_fail(err, name, "open", errno);
    out->length = 0;
    att_status status = read_to_end(out, fd, name, limit, err);
    close(fd);
    if (status != ATT_OK)
        att_string_free(out);
    return status;
}

/* ---- saving */

static int write_fully(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t put = write(fd, bytes, att_min_size(size, MAX_TRANSFER));
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        bytes += put;
        size -= (size_t)put;
    }
    return 0;
}

/* The descriptor that /dev/stdout, /dev/stderr or /dev/fd/N names, or -1. Where it is redirected to
 * a file, opening the name again would overwrite the file from its start. */
static int parse_descriptor_path(const char *path)
{
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    static const char prefix[] = "/dev/fd/";
    const char *number = path + sizeof prefix - 1;
    if (strncmp(path, prefix, sizeof prefix - 1) != 0 || strlen(number) > 6 || !*number ||
        number[strspn(number, "0123456789")] != '\0')
        return -1;
    return atoi(number);
}

/* A device or FIFO cannot be replaced, only written to. */
static att_status write_in_place(const char *path, const void *bytes, size_t size, att_error *err)
{
    int named = parse_descriptor_path(path);
    int fd = named >= 0 ? dup(named) : open_retrying(path, O_WRONLY, 0);
    if (fd < 0)
        return att_file_fail(err, path, "open", errno);
    int code = write_fully(fd, bytes, size) == 0 ? 0 : errno;
    if (close(fd) != 0 && code == 0)
        code = errno;
    return code == 0 ? ATT_OK : att_file_fail(err, path, "write", code);
}

int att_temp_file_create(att_string *name, const char *path)
{
    static atomic_uint counter;
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    for (int tries = 0; tries < 100; tries++) {
        name->length = 0;
        if (att_string_append(name, path, folder) != ATT_OK ||
            att_string_printf(name, ATT_TEMP_FILE_FORMAT, (long)getpid(),
                              atomic_fetch_add(&counter, 1)) != ATT_OK) {
            errno = ENOMEM;
            return -1;
        }
        int fd = open_retrying(name->data, O_RDWR | O_CREAT | O_EXCL, 0666);
        if (fd >= 0)
            (void)flock(fd, LOCK_EX |
                                LOCK_NB); /* marks it as in use for att_file_remove_stale_temps() */
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Writes, flushes and closes the open file. Returns 0, or the errno of the first failure. */
static int write_and_close(int fd, const void *bytes, size_t size, const struct stat *old)
{
    int code = 0;
    if (old && fchmod(fd, old->st_mode & 0777) != 0)
        code = errno;
    if (code == 0 && (write_fully(fd, bytes, size) != 0 || fsync(fd) != 0))
        code = errno;
    if (close(fd) != 0 && code == 0)
        code = errno;
    return code;
}

void att_file_sync_folder(const char *path, att_string *scratch)
{
    const char *slash = strrchr(path, '/');
    scratch->length = 0;
    if (att_string_append(scratch, path, slash ? (size_t)(slash - path) + 1 : 0) != ATT_OK)
        return;
    int fd = open_retrying(scratch->length ? scratch->data : ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

/* Writes a temporary file beside `target` and renames it into place; `old` describes the present
 * file, or is NULL. */
static att_status replace(const char *target, const struct stat *old, const char *path,
                          const void *bytes, size_t size, att_error *err)
{
    att_string name = { 0 };
    int fd = att_temp_file_create(&name, target);
    int code = fd < 0 ? errno : write_and_close(fd, bytes, size, old);
    if (code == 0 && rename(name.data, target) != 0)
        code = errno;
    if (code == 0)
        att_file_sync_folder(target, &name);
    else if (fd >= 0)
        unlink(name.data);
    att_string_free(&name);
    if (code == ENOMEM)
        return att_fail_memory(err);
    return code == 0 ? ATT_OK : att_file_fail(err, path, fd < 0 ? "create" : "write", code);
}

att_status att_file_save(const char *path, const void *bytes, size_t size, att_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        if (errno != ENOENT)
            return att_file_fail(err, path, "write", errno);
        return replace(path, NULL, path, bytes, size, err);
    }
    if (S_ISDIR(info.st_mode))
        return fail_file_type(err, path, info.st_mode);
    if (!S_ISREG(info.st_mode) || parse_descriptor_path(path) >= 0)
        return write_in_place(path, bytes, size, err);
    char target[PATH_MAX]; /* a symbolic link is kept: its target is replaced */
    if (!realpath(path, target))
        return att_file_fail(err, path, "write", errno);
    return replace(target, &info, path, bytes, size, err);
}
