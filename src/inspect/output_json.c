/* An output of a seq2seq or caption model as one line of JSON (docs/running.md). */
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

/* Attention weights: a row for each target token. */
static void put_map(att_writer *out, const att_output *output, const double *weights)
{
    att_put(out, "[");
    for (int64_t t = 0; t < output->target_count; t++) {
        att_put(out, t > 0 ? "," : "");
        att_put_json_numbers(out, weights + t * output->source_count, output->source_count);
    }
    att_put(out, "]");
}

static void put_heads(att_writer *out, const att_output *output)
{
    int64_t size = output->target_count * output->source_count;
    att_put(out, ",\"head_attention\":[");
    for (int64_t l = 0; l < output->layers; l++) {
        att_put(out, l > 0 ? ",[" : "[");
        for (int64_t h = 0; h < output->heads; h++) {
            att_put(out, h > 0 ? "," : "");
            put_map(out, output, output->head_weights + (l * output->heads + h) * size);
        }
        att_put(out, "]");
    }
    att_put(out, "]");
}

/* One hypothesis; those after the best are written without the source. */
static void put_output(att_writer *out, const att_output *output, bool source)
{
    att_put(out, "{\"text\":");
    att_put_json(out, output->text);
    att_put(out, ",\"score\":");
    att_put_json_number(out, output->score);
    att_put(out, ",\"normalized_score\":");
    att_put_json_number(out, output->normalized_score);
    att_putf(out, ",\"truncated\":%s", output->truncated ? "true" : "false");
    if (source) {
        att_put(out, ",\"unknown_tokens\":");
        att_put_integer(out, output->unknown_tokens);
        put_strings(out, "source_tokens", output->source_tokens, output->source_count);
    }
    put_strings(out, "target_tokens", output->target_tokens, output->target_count);
    att_put(out, ",\"token_scores\":");
    att_put_json_numbers(out, output->token_scores, output->target_count);
    if (output->copy_probs) {
        att_put(out, ",\"copy_probs\":");
        att_put_json_numbers(out, output->copy_probs, output->target_count);
    }
    if (output->weights) {
        att_put(out, ",\"attention\":");
        put_map(out, output, output->weights);
    }
    if (output->head_weights)
        put_heads(out, output);
}

att_status att_output_json(att_string *out, const att_output *output, att_error *err)
{
    att_writer writer = att_writer_on(out);
    put_output(&writer, output, true);
    if (output->alternative_count > 0)
        att_put(&writer, ",\"n_best\":[");
    for (int64_t i = 0; i < output->alternative_count; i++) {
        att_put(&writer, i > 0 ? "," : "");
        put_output(&writer, output->alternatives[i], false);
        att_put(&writer, "}");
    }
    att_put(&writer, output->alternative_count > 0 ? "]}\n" : "}\n");
    return att_writer_finish(&writer, err);
}
