/* Removal of temporary files that killed processes left behind while saving. */
#include "base/file.h"

#include "base/string.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The process id in the name of a temporary file of att_file_save(), or 0 for other names. */
static pid_t writer_pid(const char *name)
{
    long pid = 0;
    unsigned number;
    int end = 0;
    if (sscanf(name, ATT_TEMP_FILE_FORMAT "%n", &pid, &number, &end) != 2 || end == 0 ||
        name[end] != '\0')
        return 0;
    return pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

/* Whether the file may still be being written: the process exists, or the file is locked by a
 * process that is not visible from this machine or container. */
static bool is_in_use(pid_t writer, int folder, const char *name)
{
    if (getpgid(writer) >= 0 || errno != ESRCH)
        return true;
    int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return true;
    bool locked = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return locked;
}

/* The directory of temporary files for `path`; where that is a symbolic link, of its target. */
static DIR *open_directory(const char *path)
{
    char real[PATH_MAX];
    if (realpath(path, real))
        path = real;
    const char *slash = strrchr(path, '/');
    att_string name = { 0 };
    DIR *folder = NULL;
    if (!slash)
        return opendir(".");
    if (att_string_append(&name, path, (size_t)(slash - path) + 1) == ATT_OK)
        folder = opendir(name.data);
    att_string_free(&name);
    return folder;
}

void att_file_remove_stale_temps(const char *path)
{
    DIR *folder = open_directory(path);
    if (!folder)
        return;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        pid_t writer = writer_pid(entry->d_name);
        if (writer > 0 && !is_in_use(writer, dirfd(folder), entry->d_name))
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
}
