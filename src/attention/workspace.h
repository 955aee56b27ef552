/* Scratch memory of one attention call: a single block, from the caller or allocated once, cut
 * into 64-byte aligned pieces. The same layout function first counts the bytes (no base) and then
 * hands out the pieces, so size and layout cannot disagree. */
#ifndef ATT_ATTENTION_WORKSPACE_H
#define ATT_ATTENTION_WORKSPACE_H

#include <stddef.h>
#include <stdint.h>

enum { ATT_WORKSPACE_ALIGNMENT = 64 }; /* bytes; of every piece */

typedef struct att_workspace {
    char *base; /* NULL: count only */
    size_t used;
} att_workspace;

/* The next piece, `count` elements of `size` bytes; NULL while counting. */
void *att_workspace_alloc(att_workspace *workspace, size_t count, size_t size);

/* The bytes of one part of an array of equal parts, the buffers of one worker thread each, by the
 * counted bytes of its pieces. */
size_t att_workspace_part_size(const att_workspace *counted);

/* Part `index` of such an array. */
att_workspace att_workspace_part(char *parts, size_t part_size, int64_t index);

/* `workspace`, or where that is NULL `size` newly allocated bytes (*own: free them with att_free),
 * rounded up to the alignment; NULL when out of memory. `size` includes room for the rounding. */
void *att_workspace_get(void *workspace, size_t size, void **own);

/* Floats from one row to the next when rows of `width` floats are padded to whole vectors. */
size_t att_padded_stride(int64_t width);

#endif
