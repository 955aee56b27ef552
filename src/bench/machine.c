/* A description of the machine: processor, cores, caches and memory, as the system reports them. */
#include "bench/bench.h"

#include "base/cpu.h"
#include "base/thread_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof((att_machine_info *)0)->processor >= ATT_CPU_MODEL_SIZE, "the name must fit");

/* A value of sysconf(); 0 where it is unknown. */
static int64_t sysconf_value(int name)
{
    long got = sysconf(name);
    return got > 0 ? got : 0;
}

/* Reads an attribute of cache `index` from /sys, as a word. */
static bool read_cache_attribute(char word[16], int index, const char *attribute)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, attribute);
    FILE *file = fopen(path, "r");
    bool found = file && fscanf(file, "%15s", word) == 1;
    if (file)
        fclose(file);
    return found;
}

/* The sizes of data and unified caches, by level. sysconf() reports them too, but in virtual
 * machines sometimes those of the whole host. */
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

void att_machine_get(att_machine_info *out)
{
    *out = (att_machine_info){
        .cores = att_usable_cores(),
        .memory = sysconf_value(_SC_PHYS_PAGES) * sysconf_value(_SC_PAGESIZE),
    };
    find_caches(out->cache);
    att_cpu_model(out->processor);
}
