/* Datasets that a caller holds in memory, under names that stand where the settings have paths.
 * While they are mounted on a thread, the readers of this folder find them before any file. */
#ifndef ATT_DATA_MEMORY_FILES_H
#define ATT_DATA_MEMORY_FILES_H

#include "attend.h"

/* A text or a tensor. Names cannot be mistaken for paths that a user writes: "<training source>".
 */
typedef struct att_memory_file {
    const char *name;
    const char *text; /* [length], or NULL */
    size_t length;
    const att_tensor *tensor; /* image features, or NULL */
    bool is_lines;            /* one example per line: never a CoNLL file */
} att_memory_file;

/* Mounts `count` files on this thread, borrowed until the next call; NULL and 0 unmount. */
void att_memory_files_mount(const att_memory_file *files, size_t count);

/* The mounted file of a name; NULL where there is none. */
const att_memory_file *att_memory_file_find(const char *name);

#endif
