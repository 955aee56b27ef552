/* att_model_tag(): lines to tokens, batches of similar length through the tagger, and labels in the
 * order of the lines. */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "base/options.h"
#include "base/progress.h"
#include "decode/output_builder.h"
#include "decode/tagger.h"

/* Tokens of a batch, padding included: large enough that matrix products run at full speed. */
enum { BATCH_TOKENS = 4096 };

struct att_taggings {
    att_tagging *items; /* [count] */
    size_t count;
    att_arena arena;
};

typedef struct tagging_call {
    const att_model *model;
    const att_tag_options *options;
    att_taggings *taggings;
    att_tagger *tagger;
    att_requests requests;
    att_output_builder builder; /* of the tokens of lines */
} tagging_call;

/* ---- one line */

static att_status add_labels(tagging_call *s, att_tagging *out, const att_tagger_output *rows,
                             int64_t r, att_error *err)
{
    size_t count = (size_t)out->token_count, labels = (size_t)rows->labels;
    att_arena *arena = &s->taggings->arena;
    const char **texts = att_arena_alloc(arena, count, sizeof *texts);
    int64_t *best = att_arena_alloc(arena, count, sizeof *best);
    double *values = att_arena_alloc(arena, count * labels, sizeof *values);
    if (!texts || !best || !values)
        return att_fail_memory(err);
    const float *log_probs = rows->log_probs + rows->offsets[r] * rows->labels;
    for (size_t i = 0; i < count * labels; i++)
        values[i] = att_exp((double)log_probs[i]);
    for (size_t i = 0; i < count; i++) {
        best[i] = rows->best[rows->offsets[r] + (int64_t)i];
        texts[i] = att_model_label(s->model, (size_t)best[i]);
    }
    out->labels = texts;
    out->label_indices = best;
    out->probabilities = values;
    out->label_count = rows->labels;
    return ATT_OK;
}

static att_status make_tagging(tagging_call *s, const att_request *q, const att_tagger_output *rows,
                               int64_t r, att_error *err)
{
    att_tagging *out = &s->taggings->items[q->index];
    att_output read = { 0 };
    ATT_TRY(att_output_builder_source(&s->builder, &read, q, err));
    *out = (att_tagging){ .unknown_tokens = read.unknown_tokens,
                          .truncated_input_tokens = read.truncated_input_tokens,
                          .token_count = read.source_count,
                          .tokens = read.source_tokens };
    return add_labels(s, out, rows, r, err);
}

/* ---- all lines */

static att_status tag_batch(tagging_call *s, const att_request *q, int64_t count, att_error *err)
{
    att_sources sources;
    att_tagger_output rows;
    att_request_words words = { 0 };
    att_status status = att_request_sources(&sources, q, count, err);
    if (status == ATT_OK)
        status = att_request_words_add(&words, &sources, s->model->source_vocab, q, err);
    if (status == ATT_OK)
        status = att_error_at_request(att_tagger_tag(s->tagger, &sources, &rows, err), q, err);
    for (int64_t r = 0; r < count && status == ATT_OK; r++)
        status = make_tagging(s, &q[r], &rows, r, err);
    att_request_sources_free(&sources);
    att_request_words_free(&words);
    return status;
}

static att_status tag_all(tagging_call *s, att_error *err)
{
    size_t done = 0, count = s->requests.count;
    const att_request *items = s->requests.items;
    while (done < count && items[done].source.count > 0) {
        size_t max = s->options->batch_size > 0 ? (size_t)s->options->batch_size
                                                : 1 + BATCH_TOKENS / items[done].source.count;
        size_t rows = att_requests_batch_size(&s->requests, done, max);
        ATT_TRY(tag_batch(s, &items[done], (int64_t)rows, err));
        done += rows;
        ATT_TRY(att_progress_step((int64_t)done, err));
    }
    for (; done < count; done++)
        s->taggings->items[items[done].index] = (att_tagging){ 0 };
    return ATT_OK;
}

static att_status run(tagging_call *s, const char *const *lines, size_t count, att_error *err)
{
    const att_tag_options *options = s->options;
    s->taggings->items = att_arena_alloc(&s->taggings->arena, count, sizeof *s->taggings->items);
    if (!s->taggings->items)
        return att_fail_memory(err);
    ATT_TRY(att_tagger_new(&s->tagger, s->model, options->ensemble, options->ensemble_count, err));
    att_input_limit limit = att_input_limit_of(s->model, options->ensemble, options->ensemble_count,
                                               options->max_input_length);
    limit.overflow = options->input_overflow;
    ATT_TRY(att_requests_tokenize(&s->requests, s->model->source_vocab, lines, count, &limit, err));
    return tag_all(s, err);
}

att_status att_model_tag(att_taggings **out, const att_model *model, const char *const *lines,
                         size_t count, const att_tag_options *options, att_error *err)
{
    att_tag_options resolved;
    *out = NULL;
    ATT_TRY(ATT_OPTIONS_COPY(att_tag_options, &resolved, options, err));
    att_taggings *taggings = att_alloc_zero(1, sizeof *taggings);
    if (!taggings)
        return att_fail_memory(err);
    taggings->count = count;
    tagging_call s = { .model = model, .options = &resolved, .taggings = taggings };
    s.builder = (att_output_builder){ .model = model, .arena = &taggings->arena };
    att_progress_scope scope;
    att_progress_begin(&scope, "tagging", (int64_t)count);
    att_status status = run(&s, lines, count, err);
    status = att_progress_end(&scope, status, err);
    att_requests_free(&s.requests);
    att_tagger_free(s.tagger);
    att_string_free(&s.builder.scratch);
    if (status == ATT_OK)
        *out = taggings;
    else
        att_taggings_free(taggings);
    return status;
}

void att_taggings_free(att_taggings *taggings)
{
    if (!taggings)
        return;
    att_arena_free(&taggings->arena);
    att_free(taggings);
}

size_t att_taggings_count(const att_taggings *taggings)
{
    return taggings->count;
}

const att_tagging *att_taggings_get(const att_taggings *taggings, size_t index)
{
    return index < taggings->count ? &taggings->items[index] : NULL;
}
