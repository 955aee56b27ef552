/* The only way to the heap. Blocks are aligned to 64 bytes; sizes are checked for overflow; the
 * allocator beneath can be replaced (att_allocator_set in attend.h); tests can make the n-th call
 * fail and count the blocks that are still allocated. */
#ifndef ATT_BASE_ALLOC_H
#define ATT_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* `count` items of `size` bytes, or NULL when the product overflows or memory is out. A request for
 * 0 bytes returns a valid block. Release with att_free(). */
void *att_alloc(size_t count, size_t size);

/* The same, filled with zero bytes; also NULL where the call was cancelled meanwhile (progress.h),
 * which att_progress_end() tells apart. */
void *att_alloc_zero(size_t count, size_t size);

/* Fills memory with zero bytes. New memory of gigabytes takes seconds, so the progress callback is
 * polled on the way; false where the work was abandoned and the rest is as it was. */
bool att_memory_zero(void *memory, size_t bytes);

/* Resizes a block, which may be NULL, keeping its first `used` bytes; returns NULL on failure, and
 * the old block stays valid. */
void *att_realloc(void *block, size_t used, size_t count, size_t size);

/* Ensures capacity for one more item in a growing array of `count` items of `size` bytes; the
 * capacity doubles. Returns false, and changes nothing, when memory is out. */
bool att_array_grow(void **items, size_t *capacity, size_t count, size_t size);

/* Releases a block; does nothing for NULL. */
void att_free(void *block);

/* For tests. The n-th allocation from now on fails, and every one after it; 0 turns it off. */
void att_alloc_fail_at(size_t n);

/* The same for the n-th alone: what follows a failure that was overlooked then succeeds. */
void att_alloc_fail_once(size_t n);

/* Allocations requested since either of them, and blocks now allocated. */
size_t att_alloc_calls(void);
size_t att_alloc_live(void);

#endif
