/* Fault injection: a shared object for LD_PRELOAD that stands between a program with all its
 * libraries and the C library. It numbers the calls of each class, and makes chosen ones fail.
 *
 *   inject.c    which call fails; the description of call stacks
 *   memory.c    allocation, and the blocks that are never released
 *   calls.c     files, threads and processes
 *   server.c    runs main() many times in forked children, as tests/faults/run asks
 */
#ifndef ATT_TESTS_FAULTS_INJECT_H
#define ATT_TESTS_FAULTS_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls are numbered from 1 in each class. */
typedef enum fault_class {
    FAULT_ALLOC,  /* malloc, calloc, realloc, posix_memalign, strdup …: ENOMEM */
    FAULT_MAP,    /* mmap: ENOMEM */
    FAULT_OPEN,   /* open, fopen, opendir, dup, pipe: EMFILE */
    FAULT_READ,   /* read, pread, readdir: EIO */
    FAULT_WRITE,  /* write, pwrite, writev, and stdio beneath its buffers: ENOSPC */
    FAULT_SYNC,   /* fsync, fdatasync: EIO */
    FAULT_RENAME, /* rename, link: EIO */
    FAULT_UNLINK, /* unlink: EIO */
    FAULT_SIZE,   /* ftruncate, fallocate: ENOSPC */
    FAULT_STAT,   /* stat, fstat, access, realpath, fchmod: EIO; flock: ENOLCK */
    FAULT_CLOSE,  /* close, after it was done: EIO */
    FAULT_THREAD, /* pthread_create: EAGAIN */
    FAULT_FORK,   /* fork: EAGAIN */
    FAULT_CLASSES
} fault_class;

typedef enum fault_mode {
    FAULT_NONE,   /* count only */
    FAULT_ONCE,   /* call n fails */
    FAULT_ON,     /* call n and every later one of its class fail */
    FAULT_SHORT,  /* from call n on, reads and writes move one byte */
    FAULT_EINTR,  /* from call n on, every other call fails with EINTR */
    FAULT_STACKS, /* count, and list the calls whose stack is new */
    FAULT_KILL,   /* a process that the program started is killed at its first call from n on */
} fault_mode;

enum { MOST_STACKS = 4096 };

/* Shared by the server, the program and the processes it starts. */
typedef struct fault_state {
    int class;
    int mode;
    uint64_t n;
    _Atomic uint64_t calls[FAULT_CLASSES];
    int program;     /* its process id */
    bool in_library; /* the first call that failed was a library's, in a process of the program */
    _Atomic uint64_t fired;  /* how many calls were made to fail */
    _Atomic uint32_t stacks; /* entries used in `stack_call` */
    uint64_t stack_hash[MOST_STACKS];
    uint64_t stack_call[MOST_STACKS]; /* number of the first call with this stack */
    char fired_stack[1024];           /* return addresses of the first call that failed */
    int64_t live;                     /* blocks of the program at its end */
    int64_t live_call;                /* number of the allocation of one of them */
    int64_t descriptors;              /* open ones at its end */
} fault_state;

extern fault_state *faults;  /* NULL: nothing is counted */
extern char snapshots[4096]; /* folder that receives a link to each renamed file; "": none */

/* Counts a call; true if it must fail, with errno set. */
#define CALLER                     __builtin_return_address(0)
#define fault_strikes(class, code) fault_strikes_from(class, code, CALLER)
bool fault_strikes_from(fault_class class, int code, const void *caller);

/* In the modes that only disturb: whether this call must move one byte, or end with EINTR. Only the
 * program's own calls: libraries take such for failures. */
bool fault_shortens(fault_class class, const void *caller);
bool fault_interrupts(fault_class class, const void *caller);

/* Whether a return address is in the program itself, not in a library. */
bool fault_in_program(const void *address);
void fault_find_program(void);

/* memory.c: counts blocks that the program itself allocates from now on. */
void fault_watch_blocks(void);
void fault_count_blocks(void);

/* Whether a write to `path` must be refused: it is outside of the folder that the environment
 * variable ATTEND_FAULTS names. Libraries that meet a fault may write wrong caches for the whole
 * machine. */
bool fault_outside(const char *path);

/* calls.c: sends standard output and standard error through this object's write(). */
void fault_open_streams(void);

/* The next definition of `name` after this object's. */
void *fault_real(const char *name);

#define REAL(name) ((__typeof__(&(name)))real_##name)
#define FIND_REAL(name)                                                                            \
    static void *real_##name;                                                                      \
    if (!real_##name)                                                                              \
    real_##name = fault_real(#name)

#endif
