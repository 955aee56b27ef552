/* An answer of a model as one line of JSON. */
#include "attend.h"

#include "render/number.h"
#include "render/writer.h"

#include <math.h>

/* What JSON has no number for is null. */
static void put_number(att_writer *out, double value)
{
    char text[ATT_NUMBER_SIZE];
    if (!isfinite(value)) {
        att_put(out, "null");
        return;
    }
    att_number_exact(text, value);
    att_put(out, text);
}

static void put_strings(att_writer *out, const char *key, const char *const *strings, int64_t count)
{
    att_putf(out, ",\"%s\":[", key);
    for (int64_t i = 0; i < count; i++) {
        att_put(out, i > 0 ? "," : "");
        att_put_json(out, strings[i]);
    }
    att_put(out, "]");
}

static void put_numbers(att_writer *out, const double *values, int64_t count)
{
    att_put(out, "[");
    for (int64_t i = 0; i < count; i++) {
        att_put(out, i > 0 ? "," : "");
        put_number(out, values[i]);
    }
    att_put(out, "]");
}

/* A map: a row for each target token. */
static void put_map(att_writer *out, const att_answer *answer, const double *weights)
{
    att_put(out, "[");
    for (int64_t t = 0; t < answer->target_count; t++) {
        att_put(out, t > 0 ? "," : "");
        put_numbers(out, weights + t * answer->source_count, answer->source_count);
    }
    att_put(out, "]");
}

static void put_heads(att_writer *out, const att_answer *answer)
{
    int64_t size = answer->target_count * answer->source_count;
    att_put(out, ",\"heads\":[");
    for (int64_t l = 0; l < answer->layers; l++) {
        att_put(out, l > 0 ? ",[" : "[");
        for (int64_t h = 0; h < answer->heads; h++) {
            att_put(out, h > 0 ? "," : "");
            put_map(out, answer, answer->head_weights + (l * answer->heads + h) * size);
        }
        att_put(out, "]");
    }
    att_put(out, "]");
}

att_status att_answer_json(att_text *out, const att_answer *answer, att_error *err)
{
    att_writer writer = att_writer_on(out);
    att_put(&writer, "{\"text\":");
    att_put_json(&writer, answer->text);
    att_put(&writer, ",\"score\":");
    put_number(&writer, answer->score);
    att_put(&writer, ",\"rank\":");
    put_number(&writer, answer->rank);
    att_putf(&writer, ",\"cut\":%s,\"unknown\":", answer->cut ? "true" : "false");
    att_put_integer(&writer, answer->unknown);
    put_strings(&writer, "source", answer->source_tokens, answer->source_count);
    put_strings(&writer, "target", answer->target_tokens, answer->target_count);
    att_put(&writer, ",\"scores\":");
    put_numbers(&writer, answer->token_scores, answer->target_count);
    if (answer->weights) {
        att_put(&writer, ",\"attention\":");
        put_map(&writer, answer, answer->weights);
    }
    if (answer->head_weights)
        put_heads(&writer, answer);
    att_put(&writer, "}\n");
    return att_writer_finish(&writer, err);
}
