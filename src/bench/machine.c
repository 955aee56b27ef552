/* The machine, as far as it tells; see attend.h, "Measuring". */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "bench/bench.h"

#include "base/cpu.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof((att_machine_info *)0)->processor >= ATT_CPU_MODEL_SIZE, "the name must fit");

/* A count from the system; 0 where it does not know. */
static int64_t sysconf_value(int name)
{
    long got = sysconf(name);
    return got > 0 ? got : 0;
}

/* What a cache says of itself in the system's folder of caches, as a word. */
static bool read_cache_attribute(char word[16], int index, const char *what)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, what);
    FILE *file = fopen(path, "r");
    bool found = file && fscanf(file, "%15s", word) == 1;
    if (file)
        fclose(file);
    return found;
}

/* The caches of data and of both, by level. sysconf() tells of them too, but in virtual machines
 * its sizes are at times those of the whole host. */
static void find_caches(int64_t sizes[3])
{
    char word[16], type[16];
    for (int index = 0; read_cache_attribute(type, index, "type"); index++) {
        int level = read_cache_attribute(word, index, "level") ? atoi(word) : 0;
        if (level < 1 || level > 3 || strcmp(type, "Instruction") == 0)
            continue;
        char *unit = word;
        long long size = read_cache_attribute(word, index, "size") ? strtoll(word, &unit, 10) : 0;
        sizes[level - 1] = size * (*unit == 'K' ? 1024 : *unit == 'M' ? 1024 * 1024 : 1);
    }
}

static int usable_cores(void)
{
#ifdef CPU_COUNT
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
#endif
    return (int)sysconf_value(_SC_NPROCESSORS_ONLN);
}

void att_machine_get(att_machine_info *out)
{
    *out = (att_machine_info){
        .cores = usable_cores(),
        .memory = sysconf_value(_SC_PHYS_PAGES) * sysconf_value(_SC_PAGESIZE),
    };
    find_caches(out->cache);
    att_cpu_model(out->processor);
}
