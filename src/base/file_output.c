/* Large outputs, written piece by piece: a temporary file beside the output that replaces it when
 * it is complete (file.h). */
#include "base/file.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/string.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

att_status att_temp_file_open(int *fd, const char *path, att_error *err)
{
    att_string name = { 0 };
    *fd = att_temp_file_create(&name, path);
    int code = *fd < 0 ? errno : 0;
    if (*fd >= 0)
        (void)unlink(name.data);
    att_string_free(&name);
    if (code == ENOMEM)
        return att_fail_memory(err);
    return code == 0 ? ATT_OK : att_file_fail(err, path, "create a temporary file beside it", code);
}

/* The file that is replaced: that of a symbolic link is its target. */
static att_status find_target(att_file_output *out, const char *path, struct stat *old,
                              bool *exists, att_error *err)
{
    char target[PATH_MAX];
    *exists = stat(path, old) == 0;
    if (!*exists && errno != ENOENT)
        return att_file_fail(err, path, "write", errno);
    if (*exists && !S_ISREG(old->st_mode))
        return att_fail(err, ATT_BAD_INPUT, path, "is not a regular file: it cannot be replaced");
    if (*exists && !realpath(path, target))
        return att_file_fail(err, path, "write", errno);
    const char *name = *exists ? target : path;
    size_t size = strlen(name) + 1;
    out->target = att_alloc(size, 1);
    if (!out->target)
        return att_fail_memory(err);
    memcpy(out->target, name, size);
    return ATT_OK;
}

att_status att_file_output_start(att_file_output *out, const char *path, att_error *err)
{
    struct stat old;
    bool exists;
    *out = (att_file_output){ .fd = -1 };
    ATT_TRY(find_target(out, path, &old, &exists, err));
    out->fd = att_temp_file_create(&out->temp, out->target);
    int code = out->fd < 0 ? errno : 0;
    if (code == 0 && exists && fchmod(out->fd, old.st_mode & 0777) != 0)
        code = errno;
    if (code == 0)
        return ATT_OK;
    att_file_output_abandon(out);
    return code == ENOMEM ? att_fail_memory(err) : att_file_fail(err, path, "create", code);
}

static void clear(att_file_output *out)
{
    att_free(out->target);
    att_string_free(&out->temp);
    *out = (att_file_output){ .fd = -1 };
}

att_status att_file_output_finish(att_file_output *out, const char *path, att_error *err)
{
    int code = fsync(out->fd) != 0 ? errno : 0;
    if (close(out->fd) != 0 && code == 0)
        code = errno;
    out->fd = -1;
    if (code == 0 && rename(out->temp.data, out->target) != 0)
        code = errno;
    if (code != 0)
        (void)unlink(out->temp.data);
    else
        att_file_sync_folder(out->target, &out->temp);
    clear(out);
    return code == 0 ? ATT_OK : att_file_fail(err, path, "write", code);
}

void att_file_output_abandon(att_file_output *out)
{
    if (out->fd >= 0) {
        close(out->fd);
        (void)unlink(out->temp.data);
    }
    clear(out);
}
