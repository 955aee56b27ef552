/* The results of attend bench as JSON: times in seconds, work and limits in operations and bytes.
 */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "output.h"

/* A string that remembers the first failed allocation. */
typedef struct json_writer {
    att_string *out;
    att_status status;
} json_writer;

static void put(json_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(json_writer *w, const char *format, ...)
{
    char piece[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof piece)
        w->status = ATT_SYSTEM; /* longer than any caller writes */
    if (w->status == ATT_OK)
        w->status = att_string_append(w->out, piece, (size_t)length);
}

static void put_string(json_writer *w, const char *text)
{
    if (w->status == ATT_OK)
        w->status = escape_json(w->out, text, strlen(text));
}

static void put_machine(json_writer *w, const att_machine_info *machine)
{
    put(w, "  \"machine\": {\"processor\": ");
    put_string(w, machine->processor);
    put(w, ", \"cores\": %d, \"caches\": [%lld, %lld, %lld], \"memory\": %lld},\n", machine->cores,
        (long long)machine->cache[0], (long long)machine->cache[1], (long long)machine->cache[2],
        (long long)machine->memory);
}

static void put_result(json_writer *w, const bench_result *result)
{
    const att_bench *about = &result->info;
    put(w, "      {\"name\": ");
    put_string(w, about->name);
    put(w, ", \"description\": ");
    put_string(w, about->help);
    put(w, ",\n       \"best_seconds\": %.6g, \"median_seconds\": %.6g, \"calls\": %lld,",
        result->times.best, result->times.median, (long long)result->times.calls);
    put(w, " \"flops\": %.15g, \"bytes\": %.15g, \"elements\": %.15g,", about->flops, about->bytes,
        about->elements);
    put(w, " \"limit\": \"%s\", \"fraction_of_limit\": %.6g}", att_limit_name(about->limit),
        bench_fraction_of_limit(result));
}

static void put_config(json_writer *w, const bench_plan *plan, const bench_config *config)
{
    put(w, "    {\"cpu\": \"%s\", \"threads\": %d,\n     \"limits\": {", config->cpu,
        config->threads);
    for (int limit = 0; limit < ATT_LIMITS; limit++)
        put(w, "%s\"%s\": %.6g", limit ? ", " : "", att_limit_name((att_limit)limit),
            config->limits[limit]);
    put(w, "},\n     \"results\": [");
    const char *before = "\n";
    for (size_t i = 0; i < plan->measured; i++) {
        if (plan->results[i].config != config)
            continue;
        put(w, "%s", before);
        put_result(w, &plan->results[i]);
        before = ",\n";
    }
    put(w, "\n     ]}");
}

att_status bench_json(att_string *out, const bench_plan *plan)
{
    json_writer w = { out, ATT_OK };
    put(&w, "{\n  \"attend\": \"%s\",\n", att_version());
    put_machine(&w, &plan->machine);
    put(&w, "  \"seconds_per_benchmark\": %g,\n  \"complete\": %s,\n  \"configs\": [\n",
        plan->seconds, plan->measured == plan->count ? "true" : "false");
    for (size_t i = 0; i < plan->config_count; i++) {
        put_config(&w, plan, &plan->configs[i]);
        put(&w, "%s\n", i + 1 < plan->config_count ? "," : "");
    }
    put(&w, "  ]\n}\n");
    return w.status;
}
