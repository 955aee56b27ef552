/* attend score with a seq2seq model: log-probabilities of given targets. */
#include "score.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "output.h"

typedef struct scorer {
    const score_settings *set;
    const decoding *models;
    int64_t pairs, tokens;
    double sum;
} scorer;

/* Copies of the two sides of some lines. */
typedef struct pair_lines {
    char **sources; /* [count] */
    char **targets;
    size_t count;
} pair_lines;

static void pair_lines_free(pair_lines *s)
{
    for (size_t i = 0; s->sources && i < s->count; i++)
        free(s->sources[i]);
    for (size_t i = 0; s->targets && i < s->count; i++)
        free(s->targets[i]);
    free(s->sources);
    free(s->targets);
}

/* The source of a line: what is before its first tab, and with tags after its second. */
static char *copy_source(const char *line, const char *tab, const char *tags)
{
    size_t length = tab ? (size_t)(tab - line) : 0, more = tags ? strlen(tags) : 0;
    char *source = malloc(length + more + 1);
    if (!source)
        return NULL;
    memcpy(source, line, length);
    memcpy(source + length, tags ? tags : "", more + 1);
    return source;
}

static char *copy_target(const char *tab, const char *tags)
{
    if (!tab)
        return calloc(1, 1);
    return strndup(tab + 1, tags ? (size_t)(tags - tab - 1) : strlen(tab + 1));
}

/* A line needs a tab unless it is empty. */
static att_status split_lines(pair_lines *out, const char *const *lines, size_t count,
                              bool has_tags, att_error *err)
{
    *out = (pair_lines){ .sources = calloc(count, sizeof *out->sources),
                         .targets = calloc(count, sizeof *out->targets),
                         .count = count };
    if (!out->sources || !out->targets)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        const char *tab = strchr(lines[i], '\t');
        if (!tab && lines[i][0]) {
            att_status status =
                error_set(err, ATT_BAD_INPUT, "", "expected source<TAB>target, found no tab");
            err->line = (int)i + 1;
            return status;
        }
        const char *tags = tab && has_tags ? strchr(tab + 1, '\t') : NULL;
        out->sources[i] = copy_source(lines[i], tab, tags);
        out->targets[i] = copy_target(tab, tags);
        if (!out->sources[i] || !out->targets[i])
            return error_memory(err);
    }
    return ATT_OK;
}

/* The score, the tokens and their scores. */
static att_status write_text(att_string *out, const att_output *output)
{
    char number[32];
    snprintf(number, sizeof number, "%.4f\t", output->score);
    att_status status = att_string_append(out, number, strlen(number));
    for (int64_t i = 0; status == ATT_OK && i < output->target_count; i++)
        status = string_join(
            out, (string_piece[]){ { " ", i > 0 ? 1 : 0 },
                                   { output->target_tokens[i], strlen(output->target_tokens[i]) },
                                   { 0 } });
    for (int64_t i = 0; status == ATT_OK && i < output->target_count; i++) {
        snprintf(number, sizeof number, "%s%.4f", i > 0 ? " " : "\t", output->token_scores[i]);
        status = att_string_append(out, number, strlen(number));
    }
    return status == ATT_OK ? att_string_append(out, "\n", 1) : status;
}

/* Appends one pair and adds it to the sums. A target needs a source. */
static att_status write_pair(scorer *s, att_string *out, const att_output *output,
                             const char *target, att_error *err)
{
    if (output->source_count == 0 && target[0])
        return error_set(err, ATT_BAD_INPUT, "", "the source has no tokens");
    s->pairs += output->target_count > 0;
    s->tokens += output->target_count;
    s->sum += output->score;
    if (s->set->json)
        return att_output_json(out, output, err);
    att_status status =
        output->target_count > 0 ? write_text(out, output) : att_string_append(out, "\n", 1);
    return status == ATT_OK ? ATT_OK : error_memory(err);
}

static att_status write_pairs(scorer *s, const att_outputs *outputs, const pair_lines *both,
                              att_error *err)
{
    att_string out = { 0 };
    att_status status = ATT_OK;
    scorer before = *s;
    for (size_t i = 0; i < both->count && status == ATT_OK; i++) {
        status = write_pair(s, &out, att_outputs_get(outputs, i), both->targets[i], err);
        if (status == ATT_BAD_INPUT)
            err->line = (int)i + 1;
    }
    if (status == ATT_OK)
        status = output_stdout(out.data, out.length, err);
    else
        *s = before; /* lines_for_each() repeats the lines before the bad one */
    att_string_free(&out);
    return status;
}

static att_status score_lines(void *context, const char *const *lines, size_t count, size_t before,
                              att_error *err)
{
    (void)before;
    scorer *s = context;
    pair_lines both;
    att_outputs *outputs = NULL;
    att_status status = split_lines(&both, lines, count, att_model_has_tags(s->models->model), err);
    if (status == ATT_OK) {
        const att_generate_options options = { .size = sizeof(att_generate_options),
                                               .decoding = &s->models->options,
                                               .targets = (const char *const *)both.targets,
                                               .max_input_length = s->set->max_input_length };
        status = att_model_generate(&outputs, s->models->model, (const char *const *)both.sources,
                                    count, &options, err);
    }
    if (status == ATT_OK)
        status = write_pairs(s, outputs, &both, err);
    att_outputs_free(outputs);
    pair_lines_free(&both);
    return status;
}

static att_status print_end(const scorer *s, att_error *err)
{
    char text[PERPLEXITY_SIZE];
    double perplexity = exp(-s->sum / (double)s->tokens);
    if (s->set->json) {
        printf("{\"pairs\":%" PRId64 ",\"tokens\":%" PRId64 ",\"score\":%.17g,\"perplexity\":",
               s->pairs, s->tokens, s->sum);
        printf(isfinite(perplexity) ? "%.17g}\n" : "null}\n", perplexity);
        return output_flush(err);
    }
    fprintf(stderr, "%" PRId64 " pair%s, %" PRId64 " tokens: log-probability %.4f, perplexity %s\n",
            s->pairs, s->pairs == 1 ? "" : "s", s->tokens, s->sum,
            perplexity_text(text, perplexity, 4));
    return ATT_OK;
}

att_status score_seq2seq(const void *settings, const decoding *models, const char *file,
                         att_error *err)
{
    const score_settings *set = settings;
    scorer s = { .set = set, .models = models };
    att_status status = lines_for_each(file, score_lines, &s, err);
    if (status == ATT_OK && s.pairs == 0)
        status = error_set(err, ATT_BAD_INPUT, lines_name(file),
                           "has no pairs to score: expected source<TAB>target lines");
    return status == ATT_OK && !output_reader_gone() ? print_end(&s, err) : status;
}
