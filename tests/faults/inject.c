/* Which call fails, and the call stacks. */
#define _GNU_SOURCE
#include "inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

fault_state *faults;
char snapshots[4096];

static uintptr_t program_first, program_last;

void *fault_real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* ---- call stacks */

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

void fault_find_program(void)
{
    void *frame[1];
    dl_iterate_phdr(note_program, NULL);
    backtrace(frame, 1); /* loads the unwinder, which allocates */
}

bool fault_in_program(const void *address)
{
    return (uintptr_t)address >= program_first && (uintptr_t)address < program_last;
}

enum { MOST_FRAMES = 48 };

/* The return addresses that are in the program, as one number. */
static uint64_t stack_hash(void)
{
    void *frames[MOST_FRAMES];
    int count = backtrace(frames, MOST_FRAMES);
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < count; i++)
        if (fault_in_program(frames[i]))
            hash = (hash ^ (uintptr_t)frames[i]) * 1099511628211u;
    return hash;
}

/* Notes the call if no earlier one of its class had its stack. */
static void note_stack(uint64_t call)
{
    uint64_t hash = stack_hash();
    uint32_t count = atomic_load(&faults->stacks);
    for (uint32_t i = 0; i < count; i++)
        if (faults->stack_hash[i] == hash)
            return;
    if (count < MOST_STACKS) {
        faults->stack_hash[count] = hash;
        faults->stack_call[count] = call;
        atomic_store(&faults->stacks, count + 1);
    }
}

/* The addresses in the program, relative to its start as addr2line expects them, for the report. */
static void note_fired(void)
{
    void *frames[MOST_FRAMES];
    int count = backtrace(frames, MOST_FRAMES);
    size_t length = 0;
    struct link_map *program = NULL;
    Dl_info info;
    if (dladdr1((void *)program_first, &info, (void **)&program, RTLD_DL_LINKMAP) == 0)
        return;
    for (int i = 0; i < count && length + 32 < sizeof faults->fired_stack; i++)
        if (fault_in_program(frames[i]))
            length += (size_t)snprintf(faults->fired_stack + length, 32, "%zx ",
                                       (size_t)((uintptr_t)frames[i] - program->l_addr - 1));
}

/* ---- where nothing may be written */

bool fault_outside(const char *path)
{
    const char *folder = getenv("ATTEND_FAULTS");
    if (!faults || !folder || path[0] != '/' || strncmp(path, "/dev/", 5) == 0)
        return false;
    size_t length = strlen(folder);
    if (strncmp(path, folder, length) == 0 && path[length] == '/')
        return false;
    errno = EROFS;
    return true;
}

/* ---- which call fails */

static _Thread_local bool inside; /* a call made while describing another */

static bool chosen(uint64_t call)
{
    if (faults->mode == FAULT_ONCE)
        return call == faults->n;
    if (faults->mode == FAULT_KILL)
        return call >= faults->n && getpid() != faults->program;
    return faults->mode == FAULT_ON && call >= faults->n;
}

bool fault_strikes_from(fault_class class, int code, const void *caller)
{
    if (!faults || inside)
        return false;
    uint64_t call = atomic_fetch_add(&faults->calls[class], 1) + 1;
    if ((int)class != faults->class)
        return false;
    bool strikes = chosen(call);
    inside = true;
    if (faults->mode == FAULT_STACKS)
        note_stack(call);
    if (strikes && atomic_fetch_add(&faults->fired, 1) == 0) {
        faults->in_library = getpid() != faults->program && !fault_in_program(caller);
        note_fired();
    }
    inside = false;
    if (strikes && faults->mode == FAULT_KILL)
        raise(SIGKILL);
    if (strikes)
        errno = code;
    return strikes;
}

static bool disturbs(fault_class class, fault_mode mode, const void *caller)
{
    return faults && fault_in_program(caller) && (int)class == faults->class &&
           faults->mode == (int)mode && atomic_load(&faults->calls[class]) >= faults->n;
}

bool fault_shortens(fault_class class, const void *caller)
{
    if (!disturbs(class, FAULT_SHORT, caller))
        return false;
    atomic_fetch_add(&faults->fired, 1);
    return true;
}

bool fault_interrupts(fault_class class, const void *caller)
{
    if (!disturbs(class, FAULT_EINTR, caller) || atomic_load(&faults->calls[class]) % 2 == 0)
        return false;
    atomic_fetch_add(&faults->fired, 1);
    errno = EINTR;
    return true;
}
