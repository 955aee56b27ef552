/* Whole files in and out of memory. Reading takes regular files only and notices one that changes
 * under it; saving never leaves a half-written file (att_file_save in attend.h). */
#ifndef ATT_BASE_FILE_H
#define ATT_BASE_FILE_H

#include "attend.h"

/* Reads the regular file at `path` into *out, replacing what was there. More than `limit` bytes, a
 * directory, a device, a missing file or one that changes while being read is ATT_BAD_INPUT; a
 * read that the system fails is ATT_SYSTEM. On failure *out is empty. */
att_status att_file_read(att_string *out, const char *path, size_t limit, att_error *err);

/* The same for data that may also come through a pipe: `path` may name a FIFO, as `<(zcat f)` does
 * in a shell, which is read to its end, and "-" is standard input. */
att_status att_file_read_stream(att_string *out, const char *path, size_t limit, att_error *err);

/* Whether both names reach one regular file that is there: a result must not take the place of what
 * it is made from. */
bool att_file_same(const char *a, const char *b);

/* Refuses a place where a folder is, or one is meant: asked before work whose result goes there. */
att_status att_file_check_output_path(const char *path, att_error *err);

/* What stands for such a path in errors. */
const char *att_file_display_name(const char *path);

/* The name under which att_file_save() writes beside the place of a file, of the process and a
 * number of its own. The file is locked (flock) while it is being written. */
#define ATT_TEMP_FILE_FORMAT ".attend-%ld-%u.tmp"

/* Removes, beside `path`, what saves of processes that are no more have left there: a process that
 * is killed cannot. What cannot be removed stays. */
void att_file_remove_stale_temps(const char *path);

#endif
