/* What attend bench measured, as JSON; see bench.h. */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "program.h"

/* A writer that remembers its first failure, so that callers need not look at each. */
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
        w->status = ATT_SYSTEM; /* no caller writes that much */
    if (w->status == ATT_OK)
        w->status = att_string_append(w->out, piece, (size_t)length);
}

/* Names are plain ASCII but for the processor's, which is whatever its maker wrote. */
static void put_string(json_writer *w, const char *text)
{
    put(w, "\"");
    for (const char *c = text; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte == '"' || byte == '\\')
            put(w, "\\%c", *c);
        else if (byte < 0x20 || byte >= 0x7f)
            put(w, "?");
        else
            put(w, "%c", *c);
    }
    put(w, "\"");
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
    put(w, ", \"shape\": ");
    put_string(w, about->help);
    put(w, ",\n       \"best\": %.6g, \"median\": %.6g, \"calls\": %lld,", result->times.best,
        result->times.median, (long long)result->times.calls);
    put(w, " \"flops\": %.15g, \"bytes\": %.15g, \"elements\": %.15g,", about->flops, about->bytes,
        about->elements);
    put(w, " \"limit\": \"%s\", \"share\": %.6g}", att_limit_name(about->limit),
        bench_fraction_of_limit(result));
}

static void put_config(json_writer *w, const bench_plan *plan, const bench_config *setting)
{
    put(w, "    {\"cpu\": \"%s\", \"threads\": %d,\n     \"limits\": {", setting->cpu,
        setting->threads);
    for (int limit = 0; limit < ATT_LIMITS; limit++)
        put(w, "%s\"%s\": %.6g", limit ? ", " : "", att_limit_name((att_limit)limit),
            setting->limits[limit]);
    put(w, "},\n     \"results\": [");
    const char *before = "\n";
    for (size_t i = 0; i < plan->measured; i++) {
        if (plan->results[i].config != setting)
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
    put(&w, "  \"seconds\": %g,\n  \"complete\": %s,\n  \"settings\": [\n", plan->seconds,
        plan->measured == plan->count ? "true" : "false");
    for (size_t i = 0; i < plan->config_count; i++) {
        put_config(&w, plan, &plan->configs[i]);
        put(&w, "%s\n", i + 1 < plan->config_count ? "," : "");
    }
    put(&w, "  ]\n}\n");
    return w.status;
}
