/* The files mounted on each thread (memory_files.h). */
#include "data/memory_files.h"

#include <string.h>

static _Thread_local const att_memory_file *mounted;
static _Thread_local size_t mounted_count;

void att_memory_files_mount(const att_memory_file *files, size_t count)
{
    mounted = files;
    mounted_count = count;
}

const att_memory_file *att_memory_file_find(const char *name)
{
    for (size_t i = 0; i < mounted_count; i++)
        if (strcmp(mounted[i].name, name) == 0)
            return &mounted[i];
    return NULL;
}
