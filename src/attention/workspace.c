/* The workspace allocator of attention; see workspace.h. */
#include "attention/workspace.h"

#include "base/alloc.h"
#include "base/minmax.h"
#include "base/parallel.h"
#include "kern/kern.h"

void *att_workspace_alloc(att_workspace *w, size_t count, size_t size)
{
    char *piece = w->base ? w->base + w->used : NULL;
    w->used += att_round_up(count * size, ATT_WORKSPACE_ALIGNMENT);
    return piece;
}

size_t att_workspace_part_size(const att_workspace *counted)
{
    return counted->used + ATT_WORKER_GAP;
}

att_workspace att_workspace_part(char *parts, size_t part_size, int64_t index)
{
    return (att_workspace){ .base = parts + (size_t)index * part_size };
}

void *att_workspace_get(void *workspace, size_t size, void **own)
{
    *own = workspace ? NULL : att_alloc(size, 1);
    uintptr_t start = (uintptr_t)(workspace ? workspace : *own);
    return (void *)((start + ATT_WORKSPACE_ALIGNMENT - 1) / ATT_WORKSPACE_ALIGNMENT *
                    ATT_WORKSPACE_ALIGNMENT);
}

size_t att_padded_stride(int64_t width)
{
    return att_round_up((size_t)width, ATT_LANES);
}
