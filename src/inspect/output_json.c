/* An answer of a model as one line of JSON. */
#include "attend.h"

#include "render/writer.h"

static void put_strings(att_writer *out, const char *key, const char *const *strings, int64_t count)
{
    att_putf(out, ",\"%s\":[", key);
    for (int64_t i = 0; i < count; i++) {
        att_put(out, i > 0 ? "," : "");
        att_put_json(out, strings[i]);
    }
    att_put(out, "]");
}

/* A map: a row for each target token. */
static void put_map(att_writer *out, const att_output *answer, const double *weights)
{
    att_put(out, "[");
    for (int64_t t = 0; t < answer->target_count; t++) {
        att_put(out, t > 0 ? "," : "");
        att_put_json_numbers(out, weights + t * answer->source_count, answer->source_count);
    }
    att_put(out, "]");
}

static void put_heads(att_writer *out, const att_output *answer)
{
    int64_t size = answer->target_count * answer->source_count;
    att_put(out, ",\"head_attention\":[");
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

/* What an answer says; of others to the same line, without the source. */
static void put_output(att_writer *out, const att_output *answer, bool source)
{
    att_put(out, "{\"text\":");
    att_put_json(out, answer->text);
    att_put(out, ",\"score\":");
    att_put_json_number(out, answer->score);
    att_put(out, ",\"normalized_score\":");
    att_put_json_number(out, answer->normalized_score);
    att_putf(out, ",\"truncated\":%s", answer->truncated ? "true" : "false");
    if (source) {
        att_put(out, ",\"unknown_tokens\":");
        att_put_integer(out, answer->unknown_tokens);
        put_strings(out, "source_tokens", answer->source_tokens, answer->source_count);
    }
    put_strings(out, "target_tokens", answer->target_tokens, answer->target_count);
    att_put(out, ",\"token_scores\":");
    att_put_json_numbers(out, answer->token_scores, answer->target_count);
    if (answer->weights) {
        att_put(out, ",\"attention\":");
        put_map(out, answer, answer->weights);
    }
    if (answer->head_weights)
        put_heads(out, answer);
}

att_status att_output_json(att_string *out, const att_output *answer, att_error *err)
{
    att_writer writer = att_writer_on(out);
    put_output(&writer, answer, true);
    if (answer->alternative_count > 0)
        att_put(&writer, ",\"n_best\":[");
    for (int64_t i = 0; i < answer->alternative_count; i++) {
        att_put(&writer, i > 0 ? "," : "");
        put_output(&writer, answer->alternatives[i], false);
        att_put(&writer, "}");
    }
    att_put(&writer, answer->alternative_count > 0 ? "]}\n" : "}\n");
    return att_writer_finish(&writer, err);
}
