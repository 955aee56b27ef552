/* The results of attend bench as a table with bars. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "output.h"

enum { TIME_WIDTH = 8, RATE_WIDTH = 15, MAX_BAR_WIDTH = 24, MIN_BAR_WIDTH = 5, NUMBER = 48 };

double bench_fraction_of_limit(const bench_result *result)
{
    const att_bench *about = &result->info;
    double work = about->limit == ATT_LIMIT_COMPUTE ? about->flops : about->bytes;
    return work / result->times.best / result->config->limits[about->limit];
}

/* Three significant digits and the unit: 0.0425, 4.25, 42.5, 425, 4250 Gflop/s. */
static const char *quantity(char out[NUMBER], double value, const char *unit)
{
    int decimals = value > 0 ? 2 - (int)floor(log10(value)) : 0;
    decimals = decimals < 0 ? 0 : decimals > 9 ? 9 : decimals;
    snprintf(out, NUMBER, "%.*f %s", decimals, value, unit);
    return out;
}

static const char *time_text(char out[NUMBER], double seconds)
{
    if (seconds >= 1)
        return quantity(out, seconds, "s");
    if (seconds >= 1e-3)
        return quantity(out, seconds * 1e3, "ms");
    return seconds >= 1e-6 ? quantity(out, seconds * 1e6, "µs")
                           : quantity(out, seconds * 1e9, "ns");
}

static const char *rate_text(char out[NUMBER], const bench_result *result)
{
    const att_bench *about = &result->info;
    double best = result->times.best;
    if (about->limit == ATT_LIMIT_COMPUTE)
        return quantity(out, about->flops / best * 1e-9, "Gflop/s");
    if (about->limit == ATT_LIMIT_MEMORY)
        return quantity(out, about->bytes / best * 1e-9, "GB/s");
    return quantity(out, best / about->elements * 1e9, "ns/element");
}

/* Right-aligned by characters; printf would count bytes. */
static void print_right(const char *text, int width)
{
    int characters = 0;
    for (const char *c = text; *c; c++)
        characters += ((unsigned char)*c & 0xc0) != 0x80;
    printf("  %*s%s", width > characters ? width - characters : 0, "", text);
}

bench_table bench_table_new(const bench_plan *plan, bool ascii)
{
    bench_table table = { .ascii = ascii, .color = output_color(COLOR_AUTO) };
    for (size_t i = 0; i < plan->count; i++) {
        int length = (int)strlen(plan->results[i].info.name);
        table.name_width = length > table.name_width ? length : table.name_width;
    }
    int columns = output_width();
    int used = table.name_width + 2 * (2 + TIME_WIDTH) + 2 + RATE_WIDTH + 2 + 8 + 2;
    int room = columns - used - 1;
    if (columns > 0 && room >= MIN_BAR_WIDTH)
        table.bar_width = room < MAX_BAR_WIDTH ? room : MAX_BAR_WIDTH;
    return table;
}

void bench_table_machine(const bench_plan *plan)
{
    const att_machine_info *machine = &plan->machine;
    printf("%s, %d core%s", machine->processor, machine->cores, machine->cores == 1 ? "" : "s");
    const char *before = "; caches ";
    for (int i = 0; i < 3; i++) {
        int64_t kilobytes = machine->cache[i] / 1024;
        if (kilobytes == 0)
            continue;
        bool large = kilobytes >= 1024;
        printf("%s%lld %s", before, (long long)(large ? kilobytes / 1024 : kilobytes),
               large ? "MB" : "KB");
        before = ", ";
    }
    printf("; attend %s\n", att_version());
}

void bench_table_config(const bench_table *table, const bench_config *config)
{
    char compute[NUMBER], memory[NUMBER], cache[NUMBER];
    printf("\n%s, %d thread%s; limits: compute %s, memory %s, L1 cache %s\n", config->cpu,
           config->threads, config->threads == 1 ? "" : "s",
           quantity(compute, config->limits[ATT_LIMIT_COMPUTE] * 1e-9, "Gflop/s"),
           quantity(memory, config->limits[ATT_LIMIT_MEMORY] * 1e-9, "GB/s"),
           quantity(cache, config->limits[ATT_LIMIT_CACHE] * 1e-9, "GB/s"));
    printf("%-*s  %*s  %*s  %*s  of limit\n", table->name_width, "", TIME_WIDTH, "best", TIME_WIDTH,
           "median", RATE_WIDTH, "");
}

/* Bars have a resolution of an eighth of a character, except in ASCII. */
static void print_bar(const bench_table *table, double fraction)
{
    static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
    int length = (int)(fmin(fraction, 1) * 8 * table->bar_width + 0.5);
    printf("  %s", table->color != ATT_COLOR_NONE ? "\033[38;5;67m" : "");
    for (int i = 0; i < length / 8; i++)
        fputs(table->ascii ? "#" : "█", stdout);
    fputs(table->ascii ? "" : eighths[length % 8], stdout);
    fputs(table->color != ATT_COLOR_NONE ? "\033[0m" : "", stdout);
}

void bench_table_row(const bench_table *table, const bench_result *result, bool new_group)
{
    char best[NUMBER], median[NUMBER], rate[NUMBER];
    double fraction = bench_fraction_of_limit(result);
    if (new_group)
        putchar('\n');
    printf("%-*s", table->name_width, result->info.name);
    print_right(time_text(best, result->times.best), TIME_WIDTH);
    print_right(time_text(median, result->times.median), TIME_WIDTH);
    print_right(rate_text(rate, result), RATE_WIDTH);
    printf(fraction < 0.005 ? "      <1 %%" : "     %3.0f %%", 100 * fraction);
    if (table->bar_width > 0)
        print_bar(table, fraction);
    putchar('\n');
}

void bench_table_list(const size_t *chosen, size_t count)
{
    int width = 0;
    att_bench about;
    for (size_t i = 0; i < count; i++) {
        att_bench_get(&about, chosen[i]);
        int length = (int)strlen(about.name);
        width = length > width ? length : width;
    }
    for (size_t i = 0; i < count; i++) {
        att_bench_get(&about, chosen[i]);
        printf("%-*s  %s\n", width, about.name, about.help);
    }
}
