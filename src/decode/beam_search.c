/* The search over a batch; see search.h. Each step plans the rows of all hypotheses that go on,
 * asks the decoder for what may follow, lets every source choose on its own (on several threads),
 * and then settles source after source what goes on. Memory is asked for at the start of a batch;
 * steps only let the trail grow. */
#include "decode/beam_search.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"
#include "decode/sampling.h"
#include "decode/beam.h"

#include <string.h>

struct att_beam_search {
    att_ensemble *ensemble;
    const att_decoding_options *options;
    att_hypothesis_tree tree;
    att_search_step step;
    int64_t sources;
    att_beam *beams;          /* [sources] */
    int64_t rows;             /* of the step */
    int64_t reported_tokens;  /* tokens of the first source that have been told */
    int32_t *tokens;          /* [sources * width] */
    int64_t *order;           /* likewise */
    int64_t history_capacity; /* tokens of each group's path */
    int32_t *histories;
    att_arena arena; /* of groups and what they have, for a batch */

    att_hypothesis *hypotheses; /* [sources, best] */
    att_arena results;
};

/* ---- life */

att_status att_beam_search_new(att_beam_search **out, const att_model *model,
                               const att_decoding_options *how, att_error *err)
{
    *out = NULL;
    att_beam_search *search = att_alloc_zero(1, sizeof *search);
    if (!search)
        return att_fail_memory(err);
    int64_t best = how->n_best > 0 ? how->n_best : 1, beam = how->beam > best ? how->beam : best;
    search->options = how;
    search->step = (att_search_step){
        .options = how, .tree = &search->tree, .beam_size = how->sample ? best : beam, .nbest = best
    };
    att_status status =
        att_ensemble_new(&search->ensemble, model, how->ensemble, how->ensemble_count, err);
    if (status != ATT_OK) {
        att_beam_search_free(search);
        return status;
    }
    search->step.vocabulary = att_ensemble_vocabulary(search->ensemble);
    *out = search;
    return ATT_OK;
}

void att_beam_search_free(att_beam_search *search)
{
    if (!search)
        return;
    att_ensemble_free(search->ensemble);
    att_hypothesis_tree_free(&search->tree);
    att_free(search->histories);
    att_arena_free(&search->arena);
    att_arena_free(&search->results);
    att_free(search);
}

/* ---- the start of a batch */

static bool alloc_beam(att_beam_search *search, att_beam *group)
{
    att_arena *memory = &search->arena;
    const att_search_step *stage = &search->step;
    size_t width = (size_t)stage->beam_size, best = (size_t)stage->nbest;
    int64_t candidates = search->options->sample
                             ? att_sample_capacity(search->options, stage->vocabulary)
                             : 2 * stage->beam_size;
    group->live = att_arena_alloc(memory, width, sizeof *group->live);
    group->next = att_arena_alloc(memory, width, sizeof *group->next);
    group->finished = att_arena_alloc(memory, best, sizeof *group->finished);
    group->sampled = att_arena_alloc(memory, width, sizeof *group->sampled);
    group->topk.items = att_arena_alloc(memory, (size_t)candidates, sizeof *group->topk.items);
    return group->live && group->next && group->finished && group->sampled && group->topk.items;
}

static bool alloc_batch(att_beam_search *search)
{
    size_t sources = (size_t)search->sources, rows = sources * (size_t)search->step.beam_size;
    att_arena *memory = &search->arena;
    att_arena_free(memory);
    att_arena_free(&search->results);
    search->beams = att_arena_alloc(memory, sources, sizeof *search->beams);
    search->tokens = att_arena_alloc(memory, rows, sizeof *search->tokens);
    search->order = att_arena_alloc(memory, rows, sizeof *search->order);
    search->hypotheses = att_arena_alloc(&search->results, sources,
                                         (size_t)search->step.nbest * sizeof *search->hypotheses);
    if (search->options->sample)
        search->step.probabilities =
            att_arena_alloc(memory, rows, (size_t)search->step.vocabulary * sizeof(float));
    return search->beams && search->tokens && search->order && search->hypotheses &&
           (!search->options->sample || search->step.probabilities);
}

static att_status begin_batch(att_beam_search *search, const att_search_batch *task, att_error *err)
{
    const att_sources *sources = task->sources;
    att_keep_attention keep = task->keep_attention;
    keep.selected |= search->options->coverage_penalty > 0;
    search->sources = sources->rows;
    search->step.position = 0;
    search->step.forbid_unknown = task->forbid_unknown;
    search->step.end_token = task->ends_at_bos ? ATT_ID_BOS : ATT_ID_EOS;
    search->reported_tokens = 0;
    search->history_capacity = 0;
    att_hypothesis_tree_reset(&search->tree, &keep, sources->length);
    if (!alloc_batch(search))
        return att_fail_memory(err);
    for (int64_t i = 0; i < sources->rows; i++) {
        att_beam *group = &search->beams[i];
        if (!alloc_beam(search, group))
            return att_fail_memory(err);
        group->source = i;
        group->source_length = sources->lengths[i];
        group->stream_id = task->stream_ids ? task->stream_ids[i] : (uint64_t)i;
        group->first_token = task->first_token > 0 ? task->first_token : ATT_ID_BOS;
        if (task->forced)
            group->forced = task->forced[i];
        att_beam_start(group, &search->step);
    }
    return att_ensemble_start(search->ensemble, sources, keep.selected || keep.all_heads, err);
}

/* ---- steps */

/* Gives each hypothesis that goes on a row. Whether any row changes its place. */
static bool plan_rows(att_beam_search *search)
{
    int64_t before = search->rows;
    bool moved = false;
    search->rows = 0;
    for (int64_t g = 0; g < search->sources; g++) {
        att_beam *group = &search->beams[g];
        group->first_row = search->rows;
        for (int64_t i = 0; i < group->live_count; i++) {
            const att_live_hypothesis *live = &group->live[i];
            moved |= live->row != search->rows;
            search->tokens[search->rows] = live->token;
            search->order[search->rows++] = live->row;
        }
    }
    return moved || search->rows != before;
}

/* Room for what no hypothesis may repeat: each group's path, and as many bans and three. */
static att_status reserve_histories(att_beam_search *search, att_error *err)
{
    int64_t wanted = 2 * search->step.position + 3;
    if (search->options->no_repeat_ngram < 1 || wanted <= search->history_capacity)
        return ATT_OK;
    int64_t room = 2 * wanted + 64;
    att_free(search->histories);
    search->histories =
        att_alloc((size_t)search->sources, (size_t)room * sizeof *search->histories);
    if (!search->histories)
        return att_fail_memory(err);
    search->history_capacity = room;
    for (int64_t g = 0; g < search->sources; g++)
        search->beams[g].history = search->histories + g * room;
    return ATT_OK;
}

static void expand_range(void *context, int64_t begin, int64_t end)
{
    att_beam_search *search = context;
    for (int64_t g = begin; g < end; g++)
        att_beam_expand(&search->beams[g], &search->step);
}

static att_status run_step(att_beam_search *search, bool moved, att_error *err)
{
    enum { GRAIN = 1 << 15 }; /* log-probabilities to a thread's turn */
    att_search_step *stage = &search->step;
    att_decoder_output decoded;
    ATT_TRY(reserve_histories(search, err));
    ATT_TRY(att_ensemble_step(search->ensemble, search->rows, search->tokens,
                              moved ? search->order : NULL, &decoded, err));
    ATT_TRY(att_hypothesis_tree_add_attention(&search->tree, &decoded, search->rows, err));
    stage->log_probs = decoded.log_probs;
    stage->attention_row = search->tree.attention_rows - search->rows;
    att_parallel_for(search->sources, 1 + GRAIN / (stage->vocabulary * stage->beam_size),
                     expand_range, search);
    for (int64_t g = 0; g < search->sources; g++)
        ATT_TRY(att_beam_advance(&search->beams[g], stage, err));
    stage->position++;
    return ATT_OK;
}

/* ---- telling */

static int64_t ancestor(const att_hypothesis_tree *trail, int64_t link, int64_t steps)
{
    while (steps-- > 0)
        link = trail->nodes[link].parent;
    return link;
}

/* The link of the first source's token number `told`, from 0, if nothing can change it any more:
 * -1 where hypotheses do not agree on it yet, or there is none. Once one has ended it may be the
 * best in the end, so all wait for that. */
static int64_t agreed_node(const att_beam_search *search)
{
    const att_beam *group = &search->beams[0];
    const att_hypothesis_tree *trail = &search->tree;
    int64_t told = search->reported_tokens;
    if (group->live_count == 0) {
        if (group->finished_count == 0 ||
            told >= att_hypothesis_tree_length(trail, group->finished[0].node))
            return -1;
        int64_t length = att_hypothesis_tree_length(trail, group->finished[0].node);
        return ancestor(trail, group->finished[0].node, length - told - 1);
    }
    int64_t back = search->step.position - told - 1;
    if (back < 0 || group->finished_count > 0)
        return -1;
    int64_t link = ancestor(trail, group->live[0].node, back);
    for (int64_t i = 1; i < group->live_count; i++)
        if (ancestor(trail, group->live[i].node, back) != link)
            return -1;
    return link;
}

/* Whether to go on. */
static bool report_tokens(att_beam_search *search, const att_search_batch *task)
{
    int64_t link;
    while (task->on_token && (link = agreed_node(search)) >= 0) {
        search->reported_tokens++;
        if (!task->on_token(task->context, search->tree.nodes[link].token,
                            search->tree.nodes[link].log_prob))
            return false;
    }
    return true;
}

/* ---- the end */

static att_status copy_hypotheses(att_beam_search *search, att_error *err)
{
    for (int64_t g = 0; g < search->sources; g++) {
        const att_beam *group = &search->beams[g];
        for (int64_t i = 0; i < group->finished_count; i++) {
            const att_finished_hypothesis *ended = &group->finished[i];
            att_hypothesis *out = &search->hypotheses[g * search->step.nbest + i];
            ATT_TRY(att_hypothesis_tree_copy(&search->tree, out, ended->node, group->source_length,
                                             &search->results, err));
            out->truncated = ended->truncated;
            out->log_prob_sum = ended->log_prob_sum;
            out->normalized_score = ended->normalized_score;
        }
    }
    return ATT_OK;
}

att_status att_beam_search_run(att_beam_search *search, const att_search_batch *task,
                               att_error *err)
{
    search->sources = search->rows = 0;
    if (task->sources->rows == 0)
        return ATT_OK;
    ATT_TRY(begin_batch(search, task, err));
    search->rows = search->sources; /* as the decoder has them at its start */
    bool moved = plan_rows(search);
    while (search->rows > 0) {
        ATT_TRY(run_step(search, moved, err));
        if (!report_tokens(search, task))
            break;
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
