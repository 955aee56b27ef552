/* Lines answered by a model: text to tokens, batches of similar length, and back (attend.h). */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "decode/output_builder.h"

#include <string.h>

/* Source tokens to a batch, padding included, for each hypothesis that is followed: enough to keep
 * the products busy. */
enum { BATCH_TOKENS = 4096 };

typedef struct generation {
    const att_model *model;
    const att_generate_options *options;
    att_outputs *outputs;
    att_beam_search *search;
    att_requests requests;
    att_output_builder builder;
} generation;

/* ---- questions */

/* What an answer is to be, or to begin with: an error says that it is there, not in the line. */
static att_status encode_forced(att_ids *out, const generation *s, att_tokenizer_state *state,
                                const char *text, att_error *err)
{
    att_error inner = { 0 };
    att_status status =
        att_vocab_encode(s->model->target_vocab, state, out, text, strlen(text), &inner);
    if (status != ATT_BAD_INPUT)
        return status == ATT_OK ? ATT_OK : att_fail_memory(err);
    return att_fail(err, status, NULL, "the %s: %s", s->options->targets ? "target" : "prefix",
                    inner.message);
}

static att_status read_forced_targets(generation *s, att_error *err)
{
    const char *const *given = s->options->targets ? s->options->targets : s->options->prefixes;
    att_tokenizer_state state = { 0 };
    att_status status = ATT_OK;
    for (size_t i = 0; given && i < s->requests.count && status == ATT_OK; i++) {
        att_request *q = &s->requests.items[i];
        status = encode_forced(&q->forced_target, s, &state, given[q->index], err);
        status = att_error_at_line(status, q->index, err);
    }
    att_tokenizer_state_free(&state);
    return status;
}

static att_status read_requests(generation *s, const char *const *lines, size_t count,
                                att_error *err)
{
    const att_decoding_options *decoding = &s->options->decoding;
    const att_input_limit limit = { att_max_input_length(s->model, decoding->ensemble,
                                                         decoding->ensemble_count,
                                                         s->options->max_input_length),
                                    s->options->input_overflow };
    ATT_TRY(att_requests_tokenize(&s->requests, s->model->source_vocab, lines, count, &limit, err));
    return read_forced_targets(s, err);
}

/* ---- batches */

/* Memory of one batch: `rows` questions of which the first is the longest. */
typedef struct request_batch {
    int64_t rows;
    att_sources sources;
    uint64_t *stream_ids;
    att_forced_tokens *forced;
} request_batch;

static att_status fill_batch(request_batch *b, const generation *s, const att_request *q,
                             att_error *err)
{
    size_t rows = (size_t)b->rows;
    ATT_TRY(att_request_sources(&b->sources, q, b->rows, err));
    b->stream_ids = att_alloc(rows, sizeof *b->stream_ids);
    b->forced = att_alloc(rows, sizeof *b->forced);
    if (!b->stream_ids || !b->forced)
        return att_fail_memory(err);
    for (size_t r = 0; r < rows; r++) {
        b->stream_ids[r] = s->options->first_line + q[r].index;
        b->forced[r] = (att_forced_tokens){ q[r].forced_target.items, q[r].forced_target.count,
                                            s->options->targets != NULL };
    }
    return ATT_OK;
}

static void batch_free(request_batch *b)
{
    att_request_sources_free(&b->sources);
    att_free(b->stream_ids);
    att_free(b->forced);
}

static att_status generate_batch(generation *s, const att_request *q, request_batch *b,
                                 att_error *err)
{
    const att_generate_options *how = s->options;
    ATT_TRY(fill_batch(b, s, q, err));
    const att_search_batch task = {
        .sources = &b->sources,
        .stream_ids = b->stream_ids,
        .forced = how->targets || how->prefixes ? b->forced : NULL,
        .keep_attention = { .selected = how->attention || how->replace_unknown,
                            .all_heads = how->attention && how->all_heads,
                            .layer = how->layer,
                            .head = how->head },
    };
    ATT_TRY(att_error_at_line(att_beam_search_run(s->search, &task, err), q->index, err));
    s->builder.attention_maps = att_beam_search_attention_maps(s->search);
    s->builder.heads = att_beam_search_heads(s->search);
    for (int64_t r = 0; r < b->rows; r++) {
        int64_t count;
        const att_hypothesis *found = att_beam_search_hypotheses(s->search, r, &count);
        att_output *answer = &s->outputs->items[q[r].index];
        ATT_TRY(att_output_builder_build(&s->builder, answer, &q[r], found, count, err));
    }
    return ATT_OK;
}

/* How many of the questions from `first` on go together. */
static size_t batch_size(const generation *s, size_t first)
{
    const att_decoding_options *decoding = &s->options->decoding;
    int64_t width = decoding->beam > decoding->n_best ? decoding->beam : decoding->n_best;
    size_t most = (size_t)s->options->batch_size, length = s->requests.items[first].source.count;
    if (most == 0)
        most = 1 + BATCH_TOKENS / (length * (size_t)(width + !width));
    return att_requests_batch_size(&s->requests, first, most);
}

static att_status generate_all(generation *s, att_error *err)
{
    size_t at = 0, count = s->requests.count;
    const att_request *items = s->requests.items;
    while (at < count && items[at].source.count > 0) {
        size_t rows = batch_size(s, at);
        request_batch b = { .rows = (int64_t)rows };
        att_status status = generate_batch(s, &items[at], &b, err);
        batch_free(&b);
        ATT_TRY(status);
        at += rows;
    }
    for (; at < count; at++) /* nothing was asked: nothing is answered */
        s->outputs->items[items[at].index].text = "";
    return ATT_OK;
}

/* ---- the public calls */

static att_status run_generation(generation *s, const char *const *lines, att_error *err)
{
    if (att_model_type_get(s->model) != ATT_MODEL_SEQ2SEQ)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the model answers no lines: it is a %s",
                        s->model->architecture->name);
    size_t count = s->outputs->count;
    s->outputs->items = att_arena_alloc(&s->outputs->arena, count, sizeof *s->outputs->items);
    if (!s->outputs->items)
        return att_fail_memory(err);
    ATT_TRY(att_beam_search_new(&s->search, s->model, &s->options->decoding, err));
    ATT_TRY(read_requests(s, lines, count, err));
    return generate_all(s, err);
}

static void end_generation(generation *s)
{
    att_requests_free(&s->requests);
    att_beam_search_free(s->search);
    att_string_free(&s->builder.scratch);
}

att_status att_model_generate(att_outputs **out, const att_model *model, const char *const *lines,
                              size_t count, const att_generate_options *how, att_error *err)
{
    static const att_generate_options usual = { 0 };
    *out = NULL;
    att_outputs *answers = att_alloc_zero(1, sizeof *answers);
    if (!answers)
        return att_fail_memory(err);
    answers->count = count;
    generation s = { .model = model, .options = how ? how : &usual, .outputs = answers };
    s.builder =
        (att_output_builder){ .model = model, .options = s.options, .arena = &answers->arena };
    att_status status = run_generation(&s, lines, err);
    end_generation(&s);
    if (status == ATT_OK)
        *out = answers;
    else
        att_outputs_free(answers);
    return status;
}

void att_outputs_free(att_outputs *answers)
{
    if (!answers)
        return;
    att_arena_free(&answers->arena);
    att_free(answers);
}

size_t att_outputs_count(const att_outputs *answers)
{
    return answers->count;
}

const att_output *att_outputs_get(const att_outputs *answers, size_t index)
{
    return index < answers->count ? &answers->items[index] : NULL;
}

bool att_output_map(att_map *out, const att_output *answer)
{
    if (!answer->weights)
        return false;
    *out = (att_map){ .panels = 1,
                      .queries = answer->target_count,
                      .keys = answer->source_count,
                      .weights = answer->weights,
                      .query_labels = answer->target_tokens,
                      .key_labels = answer->source_tokens,
                      .query_name = "answer",
                      .key_name = "input" };
    return true;
}

bool att_output_layer_map(att_map *out, const att_output *answer, int64_t layer)
{
    if (!answer->head_weights || layer < 0 || layer > answer->layers)
        return false;
    att_output_map(out, answer);
    int64_t first = (layer > 0 ? layer - 1 : answer->layers - 1) * answer->heads;
    out->weights = answer->head_weights + first * answer->target_count * answer->source_count;
    out->panels = answer->heads;
    return true;
}
