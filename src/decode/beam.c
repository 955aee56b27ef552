/* The hypotheses of one source; see group.h. */
#include "decode/beam.h"

#include "base/error.h"
#include "base/random.h"
#include "decode/sampling.h"

#include <math.h>

/* ---- the beginning */

/* An answer has room for `factor` tokens to each of the source where that is asked for, or `given`;
 * the narrower of both. Where nothing is asked for, twice the source and 50 more. */
static int64_t max_output_tokens(const att_decoding_options *how, int64_t length)
{
    double most = INFINITY;
    if (how->max_output_length > 0)
        most = (double)how->max_output_length;
    if (how->max_length_ratio > 0 && how->max_length_ratio * (double)length < most)
        most = ceil(how->max_length_ratio * (double)length);
    if (isinf(most))
        most = 50 + 2 * (double)length;
    return most < 1 ? 1 : (int64_t)most;
}

static int64_t min_output_tokens(const att_decoding_options *how, int64_t length)
{
    double least = floor(how->min_length_ratio * (double)length);
    return least > (double)how->min_output_length ? (int64_t)least : how->min_output_length;
}

void att_beam_start(att_beam *group, const att_search_step *stage)
{
    bool whole = group->forced.ends_after;
    group->min_tokens = min_output_tokens(stage->options, group->source_length);
    group->max_tokens = whole ? INT64_MAX : max_output_tokens(stage->options, group->source_length);
    group->finished_count = group->finished_total = 0;
    group->live_count = stage->options->sample && !whole ? stage->beam_size : 1;
    for (int64_t i = 0; i < group->live_count; i++)
        group->live[i] = (att_live_hypothesis){ .node = ATT_HYPOTHESIS_ROOT,
                                                .row = group->source,
                                                .token = group->first_token,
                                                .sample = (int32_t)i };
}

/* ---- what may follow */

/* The token that has to follow; -1: any. */
static int32_t forced_token(const att_beam *group, int64_t position)
{
    const att_forced_tokens *forced = &group->forced;
    if ((size_t)position < forced->count)
        return forced->ids[position];
    return forced->ends_after ? ATT_ID_EOS : -1;
}

/* Adds to the bans each token that would complete an n-gram for the second time: what followed,
 * somewhere in the path, the n - 1 tokens that it ends in. */
static int64_t ban_repeats(int32_t *bans, int64_t count, const int32_t *path, int64_t length,
                           int64_t n)
{
    for (int64_t at = 0; at + n <= length; at++) {
        int64_t same = 0;
        while (same < n - 1 && path[at + same] == path[length - (n - 1) + same])
            same++;
        if (same == n - 1)
            bans[count++] = path[at + n - 1];
    }
    return count;
}

/* What may not follow a hypothesis: never the start, unless it ends one; the end not too early. The
 * path is followed by room for as many tokens, and three. */
static att_banned_tokens banned_tokens(const att_beam *group, const att_search_step *stage,
                                       const att_live_hypothesis *live, int32_t few[3])
{
    int64_t count = 0, length = stage->position;
    bool repeats = stage->options->no_repeat_ngram > 0 && length > 0;
    int32_t *bans = repeats ? group->history + length : few;
    if (stage->end_token != ATT_ID_BOS)
        bans[count++] = ATT_ID_BOS;
    if (length < group->min_tokens)
        bans[count++] = stage->end_token;
    if (stage->forbid_unknown)
        bans[count++] = ATT_ID_UNK;
    if (repeats) {
        att_hypothesis_tree_tokens(stage->tree, live->node, group->history, length);
        count = ban_repeats(bans, count, group->history, length, stage->options->no_repeat_ngram);
    }
    return (att_banned_tokens){ bans, count };
}

/* ---- choosing */

static const float *log_probs_of(const att_beam *group, const att_search_step *stage, int64_t i)
{
    return stage->log_probs + (group->first_row + i) * stage->vocabulary;
}

static void expand_beam(att_beam *group, const att_search_step *stage)
{
    int32_t few[3], forced = forced_token(group, stage->position);
    group->topk.count = 0;
    group->topk.capacity = 2 * stage->beam_size;
    for (int64_t i = 0; i < group->live_count; i++) {
        const att_live_hypothesis *live = &group->live[i];
        const float *log_probs = log_probs_of(group, stage, i);
        const att_banned_tokens bans = banned_tokens(group, stage, live, few);
        if (forced < 0)
            att_topk_push_row(&group->topk, (int32_t)i, live->log_prob_sum, log_probs,
                              stage->vocabulary, &bans);
        else
            att_topk_push(&group->topk,
                          (att_candidate){ live->log_prob_sum + (double)log_probs[forced],
                                           (int32_t)i, forced, log_probs[forced] });
    }
    att_topk_sort(&group->topk);
    group->candidates = group->topk.items;
    group->candidate_count = group->topk.count;
}

/* Draws are numbered by the source, the sample and the position: independent of the batch. */
static int32_t sample_token(att_beam *group, const att_search_step *stage, int64_t i)
{
    int32_t few[3], forced = forced_token(group, stage->position);
    if (forced >= 0)
        return forced;
    const att_live_hypothesis *live = &group->live[i];
    uint64_t index = ((uint64_t)live->sample << 40) + (uint64_t)stage->position;
    double u = att_random_double(stage->options->seed, group->stream_id, index);
    const att_banned_tokens bans = banned_tokens(group, stage, live, few);
    return att_sample_token(stage->options, log_probs_of(group, stage, i), stage->vocabulary, &bans,
                            u, &group->topk,
                            stage->probabilities + (group->first_row + i) * stage->vocabulary);
}

static void expand_samples(att_beam *group, const att_search_step *stage)
{
    group->candidates = group->sampled;
    group->candidate_count = 0;
    for (int64_t i = 0; i < group->live_count; i++) {
        int32_t token = sample_token(group, stage, i);
        if (token < 0)
            continue;
        float log_prob = log_probs_of(group, stage, i)[token];
        group->candidates[group->candidate_count++] =
            (att_candidate){ group->live[i].log_prob_sum + (double)log_prob, (int32_t)i, token,
                             log_prob };
    }
}

void att_beam_expand(att_beam *group, const att_search_step *stage)
{
    if (group->live_count == 0)
        return;
    if (stage->options->sample)
        expand_samples(group, stage);
    else
        expand_beam(group, stage);
}

/* ---- going on and ending */

/* Whether one that has ended comes before another: those that were cut have not paid for their end,
 * and come last. */
static bool ranks_before(const att_finished_hypothesis *a, const att_finished_hypothesis *b)
{
    return a->truncated != b->truncated ? b->truncated : a->normalized_score > b->normalized_score;
}

/* Takes a hypothesis of `count` tokens among those that have ended, if it is one of the best. Of
 * equals the one that ended first stays ahead. */
static void finish_hypothesis(att_beam *group, const att_search_step *stage, int64_t link,
                              double sum, int64_t count, bool cut)
{
    att_finished_hypothesis ended = { .node = link, .log_prob_sum = sum, .truncated = cut };
    ended.normalized_score =
        att_hypothesis_score(stage->options, stage->tree, link, sum, count, group->source_length);
    group->finished_total++;
    int64_t at = group->finished_count;
    while (at > 0 && ranks_before(&ended, &group->finished[at - 1]))
        at--;
    if (at == stage->nbest)
        return;
    if (group->finished_count < stage->nbest)
        group->finished_count++;
    for (int64_t i = group->finished_count - 1; i > at; i--)
        group->finished[i] = group->finished[i - 1];
    group->finished[at] = ended;
}

/* Adds a candidate to the trail and lets it end or go on; *rows counts those that go on. */
static att_status accept_candidate(att_beam *group, const att_search_step *stage,
                                   const att_candidate *candidate, bool over, int64_t *rows,
                                   att_error *err)
{
    const att_live_hypothesis *from = &group->live[candidate->row];
    int64_t row = group->first_row + candidate->row, link;
    ATT_TRY(
        att_hypothesis_tree_add(stage->tree, &link,
                                (att_hypothesis_node){ .parent = from->node,
                                                       .attention_row = stage->attention_row + row,
                                                       .token = candidate->token,
                                                       .log_prob = candidate->log_prob },
                                err));
    if (over)
        finish_hypothesis(group, stage, link, candidate->score, stage->position + 1,
                          candidate->token != stage->end_token);
    else
        group->next[(*rows)++] = (att_live_hypothesis){ .node = link,
                                                        .row = row,
                                                        .token = candidate->token,
                                                        .sample = from->sample,
                                                        .log_prob_sum = candidate->score };
    return ATT_OK;
}

/* Whether a beam need not go on: as many as are followed have ended, or none that goes on can still
 * come before the last of those that are kept. */
static bool is_beam_done(const att_beam *group, const att_search_step *stage, int64_t rows)
{
    if (rows == 0 || group->finished_total >= stage->beam_size)
        return true;
    if (stage->options->sample || group->finished_count < stage->nbest)
        return false;
    double bound = att_hypothesis_score_bound(stage->options, group->next[0].log_prob_sum,
                                              stage->position + 1, group->max_tokens);
    return bound <= group->finished[stage->nbest - 1].normalized_score;
}

/* Where nothing may follow, what there is ends as it is. */
static void finish_all(att_beam *group, const att_search_step *stage)
{
    for (int64_t i = 0; i < group->live_count; i++)
        finish_hypothesis(group, stage, group->live[i].node, group->live[i].log_prob_sum,
                          stage->position, true);
    group->live_count = 0;
}

att_status att_beam_advance(att_beam *group, const att_search_step *stage, att_error *err)
{
    if (group->live_count == 0)
        return ATT_OK;
    bool last = stage->position + 1 >= group->max_tokens;
    int64_t rows = 0;
    for (int64_t i = 0; i < group->candidate_count && rows < stage->beam_size; i++) {
        bool over = last || group->candidates[i].token == stage->end_token;
        if (over && i >= stage->beam_size)
            continue; /* an end counts only where it is among the best ways on */
        ATT_TRY(accept_candidate(group, stage, &group->candidates[i], over, &rows, err));
    }
    if (rows == 0 && group->finished_total == 0)
        finish_all(group, stage);
    else
        group->live_count = is_beam_done(group, stage, rows) ? 0 : rows;
    att_live_hypothesis *swap = group->live;
    group->live = group->next;
    group->next = swap;
    return ATT_OK;
}
