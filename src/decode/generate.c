/* att_model_generate(): lines to tokens, batches of similar length through beam search, and outputs
 * in the order of the lines. */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "data/extended_vocab.h"
#include "decode/beam.h"
#include "decode/output_builder.h"

#include <string.h>

/* Source tokens of a batch times its beam size, padding included: large enough that matrix products
 * run at full speed. */
enum { BATCH_TOKENS = 4096 };

typedef struct generation {
    const att_model *model;
    const att_generate_options *options;
    att_outputs *outputs;
    att_beam_search *search;
    att_requests requests;
    att_output_builder builder;
    int64_t done; /* units of progress (request_units) */
} generation;

/* ---- requests */

/* An error names the target or the prefix, since the line itself is good. */
static att_status encode_forced(att_ids *out, const generation *g, att_tokenizer_state *state,
                                const char *text, att_error *err)
{
    att_error inner = { 0 };
    att_status status =
        att_vocab_encode(g->model->target_vocab, state, out, text, strlen(text), &inner);
    if (status != ATT_BAD_INPUT)
        return status == ATT_OK ? ATT_OK : att_fail_memory(err);
    return att_fail(err, status, NULL, "the %s: %s", g->options->targets ? "target" : "prefix",
                    inner.message);
}

static att_status read_forced_targets(generation *g, att_error *err)
{
    const char *const *forced = g->options->targets ? g->options->targets : g->options->prefixes;
    att_tokenizer_state state = { 0 };
    att_status status = ATT_OK;
    for (size_t i = 0; forced && i < g->requests.count && status == ATT_OK; i++) {
        att_request *request = &g->requests.items[i];
        status = encode_forced(&request->forced_target, g, &state, forced[request->index], err);
        status = att_error_at_line(status, request->index, err);
        if (status == ATT_OK && i % ATT_LINES_PER_POLL == ATT_LINES_PER_POLL - 1)
            status = att_progress_check(err);
    }
    att_tokenizer_state_free(&state);
    return status;
}

/* For a model that copies: the ids of source and forced target in the extended vocabulary of each
 * line. */
static att_status read_copy_ids(generation *g, att_error *err)
{
    const char *const *forced = g->options->targets ? g->options->targets : g->options->prefixes;
    att_extended_vocab vocab = { .source = g->model->source_vocab,
                                 .target = g->model->target_vocab };
    att_status status = ATT_OK;
    for (size_t i = 0; i < g->requests.count && status == ATT_OK; i++) {
        att_request *q = &g->requests.items[i];
        const char *target = forced ? forced[q->index] : "";
        status = att_extended_vocab_source(&vocab, &q->copy_ids, q->source.items, q->source.count,
                                           q->line, strlen(q->line), err);
        if (status == ATT_OK)
            status = att_extended_vocab_target(&vocab, q->forced_target.items,
                                               q->forced_target.count, target, strlen(target), err);
        if (status == ATT_OK && i % ATT_LINES_PER_POLL == ATT_LINES_PER_POLL - 1)
            status = att_progress_check(err);
    }
    att_extended_vocab_free(&vocab);
    return status;
}

static att_status read_requests(generation *g, const char *const *lines, size_t count,
                                att_error *err)
{
    const att_decoding_options *decoding = g->options->decoding;
    att_input_limit limit = att_input_limit_of(
        g->model, decoding->ensemble, decoding->ensemble_count, g->options->max_input_length);
    limit.overflow = g->options->input_overflow;
    ATT_TRY(att_requests_tokenize(&g->requests, g->model->source_vocab, lines, count, &limit, err));
    ATT_TRY(read_forced_targets(g, err));
    return att_settings_copies(g->model->settings) ? read_copy_ids(g, err) : ATT_OK;
}

/* Units of progress of a request: its source tokens and the most tokens of its output. */
static int64_t request_units(const generation *g, const att_request *request)
{
    int64_t length = (int64_t)request->source.count;
    if (g->options->targets)
        return length + (int64_t)request->forced_target.count + 1;
    return length + att_beam_max_tokens(g->options->decoding, &g->model->output_length, length);
}

/* Units of each step of a batch, so that its last possible step stays below the units of all. */
static int64_t units_per_step(const generation *g, const att_request *requests, int64_t rows)
{
    int64_t units = 0, steps = 1;
    for (int64_t r = 0; r < rows; r++) {
        int64_t own = request_units(g, &requests[r]);
        units += own;
        steps = att_max_i64(steps, own - (int64_t)requests[r].source.count);
    }
    return units / steps;
}

/* ---- batches */

/* The arrays of one batch. */
typedef struct request_batch {
    int64_t rows;
    att_sources sources;
    uint64_t *stream_ids;
    att_forced_tokens *forced;
} request_batch;

static att_status fill_batch(request_batch *batch, const generation *g, const att_request *requests,
                             att_error *err)
{
    size_t rows = (size_t)batch->rows;
    ATT_TRY(att_request_sources(&batch->sources, requests, batch->rows, err));
    batch->stream_ids = att_alloc(rows, sizeof *batch->stream_ids);
    batch->forced = att_alloc(rows, sizeof *batch->forced);
    if (!batch->stream_ids || !batch->forced)
        return att_fail_memory(err);
    for (size_t r = 0; r < rows; r++) {
        const att_ids *forced = &requests[r].forced_target;
        batch->stream_ids[r] = g->options->first_line + requests[r].index;
        batch->forced[r] =
            (att_forced_tokens){ forced->items, forced->count, g->options->targets != NULL };
    }
    return ATT_OK;
}

static void batch_free(request_batch *batch)
{
    att_request_sources_free(&batch->sources);
    att_free(batch->stream_ids);
    att_free(batch->forced);
}

static att_status search_batch(generation *g, const att_request *requests, request_batch *batch,
                               att_error *err)
{
    const att_generate_options *options = g->options;
    ATT_TRY(fill_batch(batch, g, requests, err));
    const att_search_batch search = {
        .sources = &batch->sources,
        .stream_ids = batch->stream_ids,
        .forced = options->targets || options->prefixes ? batch->forced : NULL,
        .keep_attention = { .selected = options->attention || options->replace_unknown,
                            .all_heads = options->attention && options->all_heads,
                            .layer = options->layer,
                            .head = options->head },
        .progress = g->done,
        .progress_per_step = units_per_step(g, requests, batch->rows),
    };
    return att_error_at_request(att_beam_search_run(g->search, &search, err), requests, err);
}

static att_status generate_batch(generation *g, const att_request *requests, request_batch *batch,
                                 att_error *err)
{
    ATT_TRY(search_batch(g, requests, batch, err));
    g->builder.attention_maps = att_beam_search_attention_maps(g->search);
    g->builder.heads = att_beam_search_heads(g->search);
    for (int64_t r = 0; r < batch->rows; r++) {
        int64_t count;
        const att_hypothesis *found = att_beam_search_hypotheses(g->search, r, &count);
        att_output *output = &g->outputs->items[requests[r].index];
        ATT_TRY(att_output_builder_build(&g->builder, output, &requests[r], found, count, err));
    }
    return ATT_OK;
}

/* The number of requests from `first` on that form a batch. */
static size_t batch_size(const generation *g, size_t first)
{
    const att_decoding_options *decoding = g->options->decoding;
    int64_t beam = att_max_i64(1, att_max_i64(decoding->beam, decoding->n_best));
    size_t max = (size_t)g->options->batch_size, length = g->requests.items[first].source.count;
    if (max == 0)
        max = 1 + BATCH_TOKENS / (length * (size_t)beam);
    return att_requests_batch_size(&g->requests, first, max);
}

static att_status generate_all(generation *g, att_error *err)
{
    size_t done = 0, count = g->requests.count;
    const att_request *items = g->requests.items;
    int64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += request_units(g, &items[i]);
    att_progress_set_total(total);
    while (done < count && items[done].source.count > 0) {
        request_batch batch = { .rows = (int64_t)batch_size(g, done) };
        att_status status = generate_batch(g, &items[done], &batch, err);
        batch_free(&batch);
        ATT_TRY(status);
        for (size_t end = done + (size_t)batch.rows; done < end; done++)
            g->done += request_units(g, &items[done]);
        ATT_TRY(att_progress_step(g->done, err));
    }
    for (; done < count; done++) /* lines without tokens have empty outputs */
        g->outputs->items[items[done].index].text = "";
    return ATT_OK;
}

/* ---- the public calls */

att_status att_generate_options_resolve(att_generate_options *out, att_decoding_options *decoding,
                                        const att_generate_options *options, att_error *err)
{
    ATT_TRY(ATT_OPTIONS_COPY(att_generate_options, out, options, err));
    ATT_TRY(ATT_OPTIONS_COPY(att_decoding_options, decoding, out->decoding, err));
    out->decoding = decoding;
    return ATT_OK;
}

static att_status run_generation(generation *g, const char *const *lines, att_error *err)
{
    ATT_TRY(att_model_require_type(g->model, ATT_MODEL_SEQ2SEQ, err));
    if (g->options->targets && g->options->decoding->shortlist)
        return att_fail(err, ATT_BAD_INPUT, "att_generate_options",
                        "a shortlist and forced targets exclude each other: their probabilities "
                        "would be those among the candidates");
    size_t count = g->outputs->count;
    g->outputs->items = att_arena_alloc(&g->outputs->arena, count, sizeof *g->outputs->items);
    if (!g->outputs->items)
        return att_fail_memory(err);
    ATT_TRY(att_beam_search_new(&g->search, g->model, g->options->decoding, err));
    ATT_TRY(read_requests(g, lines, count, err));
    return generate_all(g, err);
}

att_status att_model_generate(att_outputs **out, const att_model *model, const char *const *lines,
                              size_t count, const att_generate_options *options, att_error *err)
{
    att_generate_options resolved;
    att_decoding_options decoding;
    *out = NULL;
    ATT_TRY(att_generate_options_resolve(&resolved, &decoding, options, err));
    att_outputs *outputs = att_alloc_zero(1, sizeof *outputs);
    if (!outputs)
        return att_fail_memory(err);
    outputs->count = count;
    generation g = { .model = model, .options = &resolved, .outputs = outputs };
    g.builder =
        (att_output_builder){ .model = model, .options = g.options, .arena = &outputs->arena };
    att_progress_scope scope;
    att_progress_begin(&scope, "generating", 0);
    att_status status = run_generation(&g, lines, err);
    status = att_progress_end(&scope, status, err);
    att_requests_free(&g.requests);
    att_beam_search_free(g.search);
    att_string_free(&g.builder.scratch);
    if (status == ATT_OK)
        *out = outputs;
    else
        att_outputs_free(outputs);
    return status;
}

/* ---- outputs */

void att_outputs_free(att_outputs *outputs)
{
    if (!outputs)
        return;
    att_arena_free(&outputs->arena);
    att_free(outputs);
}

size_t att_outputs_count(const att_outputs *outputs)
{
    return outputs->count;
}

const att_output *att_outputs_get(const att_outputs *outputs, size_t line)
{
    return line < outputs->count ? &outputs->items[line] : NULL;
}

bool att_output_map(att_map *out, const att_output *output)
{
    if (!output->weights)
        return false;
    *out = (att_map){ .panels = 1,
                      .queries = output->target_count,
                      .keys = output->source_count,
                      .weights = output->weights,
                      .query_labels = output->target_tokens,
                      .key_labels = output->source_tokens,
                      .query_name = "output",
                      .key_name = "input",
                      .marked = output->copied,
                      .mark_name = "copied" };
    return true;
}

bool att_output_layer_map(att_map *out, const att_output *output, int64_t layer)
{
    if (!output->head_weights || layer < 0 || layer > output->layers)
        return false;
    att_output_map(out, output);
    int64_t first = (layer > 0 ? layer - 1 : output->layers - 1) * output->heads;
    out->weights = output->head_weights + first * output->target_count * output->source_count;
    out->panels = output->heads;
    return true;
}
