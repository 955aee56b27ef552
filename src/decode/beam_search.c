/* Beam search over a batch of sources. Each step assigns a row to every live hypothesis, runs one
 * step of the session, expands the beam of every source (on several threads), and then advances the
 * beams one after the other. Memory is allocated at the start of a batch; only the hypothesis tree
 * grows with the steps. */
#include "decode/beam_search.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "decode/beam.h"
#include "decode/sampling.h"
#include "decode/shortlist.h"

#include <math.h>
#include <string.h>

struct att_beam_search {
    att_session *session;
    const att_decoding_options *options;
    att_hypothesis_tree tree;
    att_search_step step;
    int64_t sources;
    att_beam *beams;          /* [sources] */
    int64_t rows;             /* of the step */
    int64_t reported_tokens;  /* tokens of the first source passed to on_token */
    int32_t *tokens;          /* [sources * (beam_size + 1)] */
    int64_t *order;           /* likewise */
    int64_t history_capacity; /* tokens of each beam's history */
    int32_t *histories;
    att_arena arena; /* of the beams of a batch */

    att_token_set token_set;    /* with a shortlist */
    att_candidates candidates;  /* likewise */
    att_hypothesis *hypotheses; /* [sources, nbest] */
    att_arena results;
};

/* ---- opening and closing */

static att_status check_options(const att_decoding_options *options, att_error *err)
{
    const struct {
        const char *name;
        double value, max;
    } fields[] = {
        { "beam", (double)options->beam, INFINITY },
        { "n_best", (double)options->n_best, INFINITY },
        { "coverage_penalty", options->coverage_penalty, INFINITY },
        { "no_repeat_ngram", (double)options->no_repeat_ngram, INFINITY },
        { "min_output_length", (double)options->min_output_length, INFINITY },
        { "max_output_length", (double)options->max_output_length, INFINITY },
        { "min_length_ratio", options->min_length_ratio, INFINITY },
        { "max_length_ratio", options->max_length_ratio, INFINITY },
        { "temperature", options->temperature, INFINITY },
        { "top_k", (double)options->top_k, INFINITY },
        { "top_p", options->top_p, 1 },
    };
    for (size_t i = 0; i < ATT_COUNT(fields); i++)
        if (!(fields[i].value >= 0 && fields[i].value <= fields[i].max))
            return att_fail(err, ATT_BAD_INPUT, "att_decoding_options",
                            "expected a %s from 0 to %g, found %g", fields[i].name, fields[i].max,
                            fields[i].value);
    if (options->beam_stop != ATT_BEAM_STOP_HEURISTIC && options->beam_stop != ATT_BEAM_STOP_EXACT)
        return att_fail(err, ATT_BAD_INPUT, "att_decoding_options",
                        "expected a beam_stop of att_beam_stop, found %d", (int)options->beam_stop);
    if (!isfinite(options->length_penalty))
        return att_fail(err, ATT_BAD_INPUT, "att_decoding_options",
                        "expected a finite length_penalty, found %g", options->length_penalty);
    return ATT_OK;
}

att_status att_beam_search_new(att_beam_search **out, const att_model *model,
                               const att_decoding_options *options, att_error *err)
{
    *out = NULL;
    ATT_TRY(check_options(options, err));
    if (options->shortlist)
        ATT_TRY(att_shortlist_check(options->shortlist, model, err));
    att_beam_search *search = att_alloc_zero(1, sizeof *search);
    if (!search)
        return att_fail_memory(err);
    int64_t nbest = att_max_i64(options->n_best, 1), beam = att_max_i64(options->beam, nbest);
    search->options = options;
    search->step = (att_search_step){
        .options = options,
        .tree = &search->tree,
        .beam_size = options->sample ? nbest : beam,
        .nbest = nbest,
        .output_length = model->output_length,
        .follow_greedy = !options->sample && beam > 1,
    };
    att_status status =
        att_session_open(&search->session, model, options->ensemble, options->ensemble_count, err);
    if (status != ATT_OK) {
        att_beam_search_free(search);
        return status;
    }
    search->step.session = search->session;
    *out = search;
    return ATT_OK;
}

void att_beam_search_free(att_beam_search *search)
{
    if (!search)
        return;
    att_session_free(search->session);
    att_hypothesis_tree_free(&search->tree);
    att_free(search->histories);
    att_token_set_free(&search->token_set);
    att_candidates_free(&search->candidates);
    att_arena_free(&search->arena);
    att_arena_free(&search->results);
    att_free(search);
}

/* ---- the start of a batch */

static bool alloc_beam(att_beam_search *search, att_beam *beam)
{
    att_arena *arena = &search->arena;
    const att_search_step *step = &search->step;
    size_t beam_size = (size_t)step->beam_size, nbest = (size_t)step->nbest;
    size_t live = beam_size + 1; /* one beside the beam */
    int64_t candidates = search->options->sample
                             ? att_sample_capacity(search->options, step->vocabulary)
                             : 2 * step->beam_size;
    beam->live = att_arena_alloc(arena, live, sizeof *beam->live);
    beam->next = att_arena_alloc(arena, live, sizeof *beam->next);
    beam->finished = att_arena_alloc(arena, nbest, sizeof *beam->finished);
    beam->sampled = att_arena_alloc(arena, beam_size, sizeof *beam->sampled);
    beam->topk.items = att_arena_alloc(arena, (size_t)candidates, sizeof *beam->topk.items);
    return beam->live && beam->next && beam->finished && beam->sampled && beam->topk.items;
}

static bool alloc_batch(att_beam_search *search)
{
    size_t sources = (size_t)search->sources, rows = sources * (size_t)(search->step.beam_size + 1);
    att_arena *arena = &search->arena;
    att_arena_free(arena);
    att_arena_free(&search->results);
    search->beams = att_arena_alloc(arena, sources, sizeof *search->beams);
    search->tokens = att_arena_alloc(arena, rows, sizeof *search->tokens);
    search->order = att_arena_alloc(arena, rows, sizeof *search->order);
    search->hypotheses = att_arena_alloc(&search->results, sources,
                                         (size_t)search->step.nbest * sizeof *search->hypotheses);
    if (search->options->sample)
        search->step.probabilities =
            att_arena_alloc(arena, rows, (size_t)search->step.vocabulary * sizeof(float));
    return search->beams && search->tokens && search->order && search->hypotheses &&
           (!search->options->sample || search->step.probabilities);
}

/* The candidates of each source. */
static att_status collect_candidates(att_beam_search *search, const att_search_batch *batch,
                                     att_error *err)
{
    const att_sources *sources = batch->sources;
    att_candidates_clear(&search->candidates);
    for (int64_t i = 0; i < sources->rows; i++) {
        const att_forced_tokens *forced = batch->forced ? &batch->forced[i] : NULL;
        ATT_TRY(att_shortlist_collect(
            search->options->shortlist, &search->token_set, sources->ids + i * sources->length,
            sources->lengths[i], forced ? forced->ids : NULL, forced ? forced->count : 0, err));
        ATT_TRY(att_candidates_add(&search->candidates, search->token_set.ids.items,
                                   search->token_set.ids.count, err));
    }
    return att_candidates_finish(&search->candidates, search->session->vocab_size, err);
}

/* Encodes the sources, with their candidates where there is a shortlist. */
static att_status start_session(att_beam_search *search, const att_search_batch *batch,
                                bool want_attention, att_error *err)
{
    att_sources sources = *batch->sources;
    if (search->options->shortlist) {
        ATT_TRY(collect_candidates(search, batch, err));
        sources.candidates = &search->candidates;
    }
    return att_session_start(search->session, &sources, want_attention, err);
}

static att_status begin_batch(att_beam_search *search, const att_search_batch *batch,
                              att_error *err)
{
    const att_sources *sources = batch->sources;
    att_keep_attention keep = batch->keep_attention;
    keep.selected |= search->options->coverage_penalty > 0;
    search->sources = sources->rows;
    search->step.position = 0;
    search->step.forbid_unknown = batch->forbid_unknown;
    search->step.observer = batch->observer;
    search->step.observer_context = batch->observer_context;
    search->step.end_token = batch->ends_at_bos ? ATT_ID_BOS : ATT_ID_EOS;
    search->reported_tokens = 0;
    search->history_capacity = 0;
    att_hypothesis_tree_reset(&search->tree, &keep, sources->length);
    ATT_TRY(start_session(search, batch, keep.selected || keep.all_heads, err));
    search->step.vocabulary = search->session->vocab_size;
    if (!alloc_batch(search))
        return att_fail_memory(err);
    for (int64_t i = 0; i < sources->rows; i++) {
        att_beam *beam = &search->beams[i];
        if (!alloc_beam(search, beam))
            return att_fail_memory(err);
        beam->source = i;
        beam->source_length = sources->lengths[i];
        beam->stream_id = batch->stream_ids ? batch->stream_ids[i] : (uint64_t)i;
        beam->first_token = batch->first_token > 0 ? batch->first_token : ATT_ID_BOS;
        if (batch->forced)
            beam->forced = batch->forced[i];
        beam->vocabulary = att_session_extended_size(search->session, i);
        att_beam_start(beam, &search->step);
    }
    return ATT_OK;
}

/* ---- steps */

/* Assigns a row to each live hypothesis. Returns whether any row moves. */
static bool plan_rows(att_beam_search *search)
{
    int64_t before = search->rows;
    bool moved = false;
    search->rows = 0;
    for (int64_t g = 0; g < search->sources; g++) {
        att_beam *beam = &search->beams[g];
        beam->first_row = search->rows;
        for (int64_t i = 0; i < beam->live_count; i++) {
            const att_live_hypothesis *live = &beam->live[i];
            moved |= live->row != search->rows;
            search->tokens[search->rows] = live->token;
            search->order[search->rows++] = live->row;
        }
    }
    return moved || search->rows != before;
}

/* Room for no_repeat_ngram: the tokens of a hypothesis, as many banned tokens, and three more. */
static att_status reserve_histories(att_beam_search *search, att_error *err)
{
    int64_t needed = 2 * search->step.position + 3;
    if (search->options->no_repeat_ngram < 1 || needed <= search->history_capacity)
        return ATT_OK;
    int64_t capacity = 2 * needed + 64;
    att_free(search->histories);
    search->histories =
        att_alloc((size_t)search->sources, (size_t)capacity * sizeof *search->histories);
    if (!search->histories)
        return att_fail_memory(err);
    search->history_capacity = capacity;
    for (int64_t g = 0; g < search->sources; g++)
        search->beams[g].history = search->histories + g * capacity;
    return ATT_OK;
}

static void expand_range(void *context, int64_t begin, int64_t end)
{
    att_beam_search *search = context;
    for (int64_t g = begin; g < end; g++)
        att_beam_expand(&search->beams[g], &search->step);
}

/* Replaces the row that an error names in `line` by its source, from 1. */
static att_status error_at_source(att_status status, const att_beam_search *search, att_error *err)
{
    for (int64_t g = 0; status == ATT_BAD_INPUT && err && g < search->sources; g++) {
        const att_beam *beam = &search->beams[g];
        int64_t row = err->line - 1 - beam->first_row;
        if (row >= 0 && row < beam->live_count) {
            err->line = (int)beam->source + 1;
            break;
        }
    }
    return status;
}

static att_status run_step(att_beam_search *search, bool moved, att_error *err)
{
    enum { GRAIN = 1 << 15 }; /* log-probabilities per parallel batch */
    att_search_step *step = &search->step;
    att_decoder_output decoded;
    ATT_TRY(reserve_histories(search, err));
    att_status status = att_session_advance(search->session, search->rows, search->tokens,
                                            moved ? search->order : NULL, &decoded, err);
    ATT_TRY(error_at_source(status, search, err));
    ATT_TRY(att_hypothesis_tree_add_attention(&search->tree, &decoded, search->rows, err));
    step->log_probs = decoded.log_probs;
    step->decoded = decoded.copied ? &decoded : NULL;
    step->attention_row = search->tree.attention_rows - search->rows;
    att_parallel_for(search->sources, 1 + GRAIN / (step->vocabulary * step->beam_size),
                     expand_range, search);
    for (int64_t g = 0; g < search->sources; g++)
        ATT_TRY(att_beam_advance(&search->beams[g], step, err));
    step->position++;
    return ATT_OK;
}

/* ---- reporting tokens */

static int64_t ancestor(const att_hypothesis_tree *tree, int64_t node, int64_t steps)
{
    while (steps-- > 0)
        node = tree->nodes[node].parent;
    return node;
}

/* The node of the next token of the first source to be reported, if nothing can change it any more;
 * -1 where the live hypotheses do not agree on it yet, or there is none. Once a hypothesis has
 * finished, it may turn out to be the best, so nothing is reported before the end. */
static int64_t agreed_node(const att_beam_search *search)
{
    const att_beam *beam = &search->beams[0];
    const att_hypothesis_tree *tree = &search->tree;
    int64_t reported = search->reported_tokens;
    if (beam->live_count == 0) {
        if (beam->finished_count == 0 ||
            reported >= att_hypothesis_tree_length(tree, beam->finished[0].node))
            return -1;
        int64_t length = att_hypothesis_tree_length(tree, beam->finished[0].node);
        return ancestor(tree, beam->finished[0].node, length - reported - 1);
    }
    int64_t back = search->step.position - reported - 1;
    if (back < 0 || beam->finished_count > 0)
        return -1;
    int64_t node = ancestor(tree, beam->live[0].node, back);
    for (int64_t i = 1; i < beam->live_count; i++)
        if (ancestor(tree, beam->live[i].node, back) != node)
            return -1;
    return node;
}

/* false where on_token finished the search. */
static bool report_tokens(att_beam_search *search, const att_search_batch *batch)
{
    int64_t node;
    while (batch->on_token && (node = agreed_node(search)) >= 0) {
        search->reported_tokens++;
        if (!batch->on_token(batch->context, search->tree.nodes[node].token,
                             search->tree.nodes[node].log_prob))
            return false;
    }
    return true;
}

/* ---- results */

/* Calls the progress callback between two steps; it may cancel. */
static att_status check_cancelled(const att_beam_search *search, const att_search_batch *batch,
                                  att_error *err)
{
    if (batch->progress_per_step > 0)
        ATT_TRY(att_progress_step(
            batch->progress + search->step.position * batch->progress_per_step, err));
    att_progress_poll();
    if (!att_progress_cancelled())
        return ATT_OK;
    return att_fail(err, ATT_CANCELLED, NULL, "cancelled by the caller while decoding");
}

static att_status copy_hypotheses(att_beam_search *search, att_error *err)
{
    for (int64_t g = 0; g < search->sources; g++) {
        const att_beam *beam = &search->beams[g];
        for (int64_t i = 0; i < beam->finished_count; i++) {
            const att_finished_hypothesis *finished = &beam->finished[i];
            att_hypothesis *out = &search->hypotheses[g * search->step.nbest + i];
            ATT_TRY(att_beam_check_score(beam, finished->log_prob_sum, err));
            ATT_TRY(att_hypothesis_tree_copy(&search->tree, out, finished->node,
                                             beam->source_length, &search->results, err));
            out->truncated = finished->truncated;
            out->log_prob_sum = finished->log_prob_sum;
            out->normalized_score = finished->normalized_score;
        }
    }
    return ATT_OK;
}

att_status att_beam_search_run(att_beam_search *search, const att_search_batch *batch,
                               att_error *err)
{
    search->sources = search->rows = 0;
    if (batch->sources->rows == 0)
        return ATT_OK;
    ATT_TRY(begin_batch(search, batch, err));
    search->rows = search->sources; /* one row per source before the first step */
    bool moved = plan_rows(search);
    while (search->rows > 0) {
        ATT_TRY(run_step(search, moved, err));
        if (!report_tokens(search, batch))
            break;
        ATT_TRY(check_cancelled(search, batch, err));
        moved = plan_rows(search);
    }
    return copy_hypotheses(search, err);
}

const att_hypothesis *att_beam_search_hypotheses(const att_beam_search *search, int64_t row,
                                                 int64_t *count)
{
    *count = search->beams[row].finished_count;
    return &search->hypotheses[row * search->step.nbest];
}

int64_t att_beam_search_attention_maps(const att_beam_search *search)
{
    return search->tree.attention_maps;
}

int64_t att_beam_search_heads(const att_beam_search *search)
{
    return search->tree.heads_per_layer;
}
