/* An object for LD_PRELOAD: one allocation of one process of a shared run fails. Only calls from
 * the program itself count, not those of MPI, whose number changes from run to run.
 *
 *   ATTEND_FAIL_RANK   the process
 *   ATTEND_FAIL_CALL   the number of the call that fails, from 1; 0: none
 *   ATTEND_FAIL_LIST   with call 0: a file that receives the number of each call whose stack is new
 */
#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* glibc's own functions, under names that are not interposed. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static uintptr_t program_first, program_last;
static bool counting;
static uint64_t failing;
static atomic_uint_fast64_t calls;
static FILE *list;
static _Thread_local bool inside;

/* ---- call stacks */

enum { MOST_FRAMES = 40, MOST_STACKS = 1 << 14 };

static uint64_t seen[MOST_STACKS];

static bool in_program(const void *address)
{
    return (uintptr_t)address >= program_first && (uintptr_t)address < program_last;
}

static void note_stack(uint64_t call)
{
    void *frames[MOST_FRAMES];
    int count = backtrace(frames, MOST_FRAMES);
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < count; i++)
        if (in_program(frames[i]))
            hash = (hash ^ (uintptr_t)frames[i]) * 1099511628211u;
    size_t at = hash % MOST_STACKS;
    while (seen[at] && seen[at] != hash)
        at = (at + 1) % MOST_STACKS;
    if (seen[at])
        return;
    seen[at] = hash;
    fprintf(list, "%llu\n", (unsigned long long)call);
    fflush(list);
}

/* ---- the call that fails */

static bool fails(const void *caller)
{
    if (!counting || inside || !in_program(caller))
        return false;
    uint64_t call = atomic_fetch_add(&calls, 1) + 1;
    if (list) {
        inside = true;
        note_stack(call);
        inside = false;
    }
    return call == failing;
}

#define FAILS fails(__builtin_return_address(0))

void *malloc(size_t size)
{
    return FAILS ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return FAILS ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return FAILS ? NULL : __libc_realloc(block, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (FAILS)
        return ENOMEM;
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}

/* ---- starting */

static int note_program(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    (void)found;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
            program_first = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            program_last = program_first + info->dlpi_phdr[i].p_memsz;
        }
    return 1; /* the program is the first of the list */
}

__attribute__((constructor)) static void start(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *wanted = getenv("ATTEND_FAIL_RANK");
    const char *call = getenv("ATTEND_FAIL_CALL"), *path = getenv("ATTEND_FAIL_LIST");
    void *frame[1];
    rank = rank ? rank : getenv("PMI_RANK");
    if (!rank || !wanted || !call || strcmp(rank, wanted) != 0)
        return;
    dl_iterate_phdr(note_program, NULL);
    backtrace(frame, 1); /* loads the unwinder, which allocates */
    failing = strtoull(call, NULL, 10);
    list = path && failing == 0 ? fopen(path, "w") : NULL;
    counting = true;
}
