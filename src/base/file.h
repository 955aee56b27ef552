/* Whole files in and out of memory. Reading accepts regular files only and detects one that changes
 * meanwhile; saving (att_file_save in attend.h) never leaves a half-written file. */
#ifndef ATT_BASE_FILE_H
#define ATT_BASE_FILE_H

#include "attend.h"

/* Reads the regular file at `path` into *out, replacing its contents. More than `limit` bytes, a
 * directory, a device, a missing file or one that changes while being read is ATT_BAD_INPUT; a
 * failing read is ATT_SYSTEM. On failure *out is empty. */
att_status att_file_read(att_string *out, const char *path, size_t limit, att_error *err);

/* The same for data that may also come through a pipe: `path` may name a FIFO, as the shell's
 * `<(zcat f)` does, or be "-", standard input. A stream is read to its end. */
att_status att_file_read_stream(att_string *out, const char *path, size_t limit, att_error *err);

/* Passes the bytes of such a file on as they are read, so that it may be larger than the memory. A
 * failure of `on_bytes` ends the reading. */
typedef att_status att_bytes_callback(void *context, const char *bytes, size_t count,
                                      att_error *err);
att_status att_file_stream(const char *path, att_bytes_callback *on_bytes, void *context,
                           att_error *err);

/* Whether both paths name the same existing regular file: an output must not overwrite its input.
 */
bool att_file_same(const char *a, const char *b);

/* Whether `path` names an existing device, FIFO or socket. */
bool att_file_is_special(const char *path);

/* Fails where `path` is a directory or ends in a slash: called before long work that ends in saving
 * to `path`. */
att_status att_file_check_output_path(const char *path, att_error *err);

/* The name of an input path in errors: "<stdin>" for "-", otherwise the path. */
const char *att_file_display_name(const char *path);

/* Fails with the reason of errno `code`: "cannot <doing>: <reason>". The status is ATT_BAD_INPUT
 * where another path or other permissions would help, otherwise ATT_SYSTEM. */
att_status att_file_fail(att_error *err, const char *path, const char *doing, int code);

/* A lock on an output file, against a second process (or object) that writes it. Zero: not held. */
typedef struct att_file_lock {
    bool held;
    int fd;
    att_string path; /* of the lock file */
} att_file_lock;

/* Locks the output `path`, which need not exist, until att_file_lock_release() or the end of the
 * process: ATT_BAD_INPUT if another holder has the lock. The lock file `path`.lock is removed by
 * the release. Succeeds without a lock where the file system has none. */
att_status att_file_lock_take(att_file_lock *lock, const char *path, att_error *err);
void att_file_lock_release(att_file_lock *lock);

/* The name of the temporary file that att_file_save() writes: process id and a counter. The file is
 * locked (flock) while it is being written. */
#define ATT_TEMP_FILE_FORMAT ".attend-%ld-%u.tmp"

/* Creates a file with such a name, stored in *name, in the folder of `path`, for reading and
 * writing. Returns its descriptor, or -1 with errno. */
int att_temp_file_create(att_string *name, const char *path);

/* Opens a new file for reading and writing in the folder of `path` that has no name: it vanishes
 * when it is closed, also with a process that is killed. */
att_status att_temp_file_open(int *fd, const char *path, att_error *err);

/* A large output that is written piece by piece to a temporary file beside `path`, which replaces
 * `path` when it is complete. `fd` may be written, read and sought. */
typedef struct att_file_output {
    int fd;          /* -1: none */
    att_string temp; /* its name */
    char *target;    /* where it goes */
} att_file_output;

/* Starts; ends by renaming the file into place; ends by removing it. A device or FIFO is refused.
 */
att_status att_file_output_start(att_file_output *out, const char *path, att_error *err);
att_status att_file_output_finish(att_file_output *out, const char *path, att_error *err);
void att_file_output_abandon(att_file_output *out);

/* Makes a rename to `path` survive a power failure. Some file systems cannot do this, and the file
 * is complete either way, so a failure is ignored. `scratch` holds the name of the temporary file:
 * it has room for the name of the folder, so that no memory is needed. */
void att_file_sync_folder(const char *path, att_string *scratch);

/* Removes temporary files beside `path` that killed processes have left there. Ignores failures. */
void att_file_remove_stale_temps(const char *path);

#endif
