/* Allocation. Blocks that the program itself asked for are kept in a table until they are released:
 * what is left in it when main() has returned was lost. */
#define _GNU_SOURCE
#include "inject.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- the table: open addressing by the block's address */

enum { TABLE_BITS = 20, TABLE = 1 << TABLE_BITS };

static struct {
    void *block;
    uint64_t call;
} table[TABLE];
static void *const released = (void *)1; /* a used place, so that searches go on */
static size_t kept;                      /* blocks in the table */
static bool watching;
static atomic_flag busy = ATOMIC_FLAG_INIT;

static size_t place_of(const void *block)
{
    return (size_t)(((uintptr_t)block >> 4) * 11400714819323198485u >> (64 - TABLE_BITS));
}

static void keep(void *block, const void *caller)
{
    if (!watching || !block || !fault_in_program(caller))
        return;
    while (atomic_flag_test_and_set(&busy))
        continue;
    size_t i = place_of(block);
    while (table[i].block && table[i].block != released)
        i = (i + 1) % TABLE;
    kept++;
    table[i].block = block;
    table[i].call = faults ? atomic_load(&faults->calls[FAULT_ALLOC]) : 0;
    atomic_flag_clear(&busy);
}

static void drop(void *block)
{
    if (!watching || !block)
        return;
    while (atomic_flag_test_and_set(&busy))
        continue;
    size_t i = place_of(block);
    while (table[i].block && table[i].block != block)
        i = (i + 1) % TABLE;
    if (table[i].block) {
        kept--;
        table[i].block = released;
    }
    atomic_flag_clear(&busy);
}

void fault_watch_blocks(void)
{
    watching = true;
}

void fault_count_blocks(void)
{
    watching = false;
    faults->live = (int64_t)kept;
    for (size_t i = 0; i < TABLE && kept > 0 && faults->live_call == 0; i++)
        if (table[i].block && table[i].block != released)
            faults->live_call = (int64_t)table[i].call;
}

/* ---- what is interposed */

/* dlsym() allocates before the real functions are known. */
static _Alignas(16) char early[1 << 16];
static size_t early_used;

static void *early_block(size_t size)
{
    size_t at = early_used;
    early_used += (size + 15) & ~(size_t)15;
    return early_used <= sizeof early ? early + at : NULL;
}

static bool is_early(const void *block)
{
    return (const char *)block >= early && (const char *)block < early + sizeof early;
}

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_memalign)(size_t, size_t);
static void (*real_free)(void *);

static bool find_real(void)
{
    static bool finding;
    if (real_free)
        return true;
    if (finding)
        return false;
    finding = true;
    *(void **)&real_malloc = fault_real("malloc");
    *(void **)&real_calloc = fault_real("calloc");
    *(void **)&real_realloc = fault_real("realloc");
    *(void **)&real_posix_memalign = fault_real("posix_memalign");
    *(void **)&real_memalign = fault_real("memalign");
    *(void **)&real_free = fault_real("free");
    return real_free != NULL;
}

void *malloc(size_t size)
{
    if (!find_real())
        return early_block(size);
    void *block = fault_strikes(FAULT_ALLOC, ENOMEM) ? NULL : real_malloc(size);
    keep(block, CALLER);
    return block;
}

void *calloc(size_t count, size_t size)
{
    if (!find_real())
        return early_block(count * size);
    void *block = fault_strikes(FAULT_ALLOC, ENOMEM) ? NULL : real_calloc(count, size);
    keep(block, CALLER);
    return block;
}

static void *resize(void *block, size_t size, const void *caller)
{
    if (!find_real())
        return early_block(size);
    if (fault_strikes_from(FAULT_ALLOC, ENOMEM, caller))
        return NULL;
    if (is_early(block)) {
        void *moved = real_malloc(size);
        if (moved)
            memcpy(moved, block, size);
        return moved;
    }
    drop(block);
    void *moved = real_realloc(block, size);
    keep(moved ? moved : block, caller);
    return moved;
}

void *realloc(void *block, size_t size)
{
    return resize(block, size, CALLER);
}

void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return resize(block, bytes, CALLER);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (!find_real() || fault_strikes(FAULT_ALLOC, ENOMEM))
        return ENOMEM;
    int code = real_posix_memalign(out, alignment, size);
    if (code == 0)
        keep(*out, CALLER);
    return code;
}

void *memalign(size_t alignment, size_t size)
{
    if (!find_real() || fault_strikes(FAULT_ALLOC, ENOMEM))
        return NULL;
    void *block = real_memalign(alignment, size);
    keep(block, CALLER);
    return block;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

void free(void *block)
{
    if (!block || is_early(block) || !find_real())
        return;
    drop(block);
    real_free(block);
}

static char *copy_string(const char *text, size_t length, const void *caller)
{
    if (!find_real() || fault_strikes_from(FAULT_ALLOC, ENOMEM, caller))
        return NULL;
    char *copy = real_malloc(length + 1);
    if (!copy)
        return NULL;
    keep(copy, caller);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *strdup(const char *text)
{
    return copy_string(text, strlen(text), CALLER);
}

char *strndup(const char *text, size_t limit)
{
    return copy_string(text, strnlen(text, limit), CALLER);
}

void *mmap(void *where, size_t size, int access, int flags, int fd, off_t offset)
{
    FIND_REAL(mmap);
    return fault_strikes(FAULT_MAP, ENOMEM) ? MAP_FAILED
                                            : REAL(mmap)(where, size, access, flags, fd, offset);
}
