/* One step of beam search for one source: which tokens may follow, the candidates, and which of
 * them continue or finish. */
#include "decode/beam.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/random.h"
#include "decode/sampling.h"

#include <math.h>

/* ---- start */

int64_t att_beam_max_tokens(const att_decoding_options *options, const att_output_length *known,
                            int64_t length)
{
    double limit = INFINITY;
    if (options->max_output_length > 0)
        limit = (double)options->max_output_length;
    if (options->max_length_ratio > 0 && options->max_length_ratio * (double)length < limit)
        limit = ceil(options->max_length_ratio * (double)length);
    if (isinf(limit))
        limit = (double)att_output_length_limit(known, length);
    return limit < 1 ? 1 : (int64_t)limit;
}

static int64_t min_output_tokens(const att_decoding_options *options, int64_t length)
{
    double by_ratio = floor(options->min_length_ratio * (double)length);
    bool ratio_counts = by_ratio > (double)options->min_output_length;
    return ratio_counts ? (int64_t)by_ratio : options->min_output_length;
}

void att_beam_start(att_beam *beam, const att_search_step *step)
{
    bool teacher_forced = beam->forced.ends_after;
    beam->min_tokens = min_output_tokens(step->options, beam->source_length);
    beam->max_tokens = teacher_forced ? INT64_MAX
                                      : att_beam_max_tokens(step->options, &step->output_length,
                                                            beam->source_length);
    beam->finished_count = beam->finished_total = 0;
    beam->live_count = step->options->sample && !teacher_forced ? step->beam_size : 1;
    beam->in_beam = beam->live_count;
    beam->greedy = step->follow_greedy ? 0 : ATT_GREEDY_FINISHED;
    for (int64_t i = 0; i < beam->live_count; i++)
        beam->live[i] = (att_live_hypothesis){ .node = ATT_HYPOTHESIS_ROOT,
                                               .row = beam->source,
                                               .token = beam->first_token,
                                               .sample = (int32_t)i };
}

/* ---- banned and forced tokens */

/* The forced token at a position; -1: none. */
static int32_t forced_token(const att_beam *beam, int64_t position)
{
    const att_forced_tokens *forced = &beam->forced;
    if ((size_t)position < forced->count)
        return forced->ids[position];
    return forced->ends_after ? ATT_ID_EOS : -1;
}

/* Bans each token that would complete an n-gram for the second time: those that followed, anywhere
 * in the path, the n - 1 tokens that it ends in. */
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

/* Tokens that may not follow a hypothesis: BOS, unless it is the end token; the end token before
 * the minimum length; the unknown token; repeats. The history has room for its own tokens, as many
 * banned ones and three. */
static att_banned_tokens banned_tokens(const att_beam *beam, const att_search_step *step,
                                       const att_live_hypothesis *live, int32_t few[3])
{
    int64_t count = 0, length = step->position;
    bool repeats = step->options->no_repeat_ngram > 0 && length > 0;
    int32_t *bans = repeats ? beam->history + length : few;
    if (step->end_token != ATT_ID_BOS)
        bans[count++] = ATT_ID_BOS;
    if (length < beam->min_tokens)
        bans[count++] = step->end_token;
    if (step->forbid_unknown)
        bans[count++] = ATT_ID_UNK;
    if (repeats) {
        att_hypothesis_tree_tokens(step->tree, live->node, beam->history, length);
        count = ban_repeats(bans, count, beam->history, length, step->options->no_repeat_ngram);
    }
    return (att_banned_tokens){ bans, count };
}

/* ---- candidates */

static const float *log_probs_of(const att_beam *beam, const att_search_step *step, int64_t i)
{
    return step->log_probs + (beam->first_row + i) * step->vocabulary;
}

/* Pushes the tokens that may follow live hypothesis `i`. */
static void push_continuations(att_topk *topk, const att_beam *beam, const att_search_step *step,
                               int64_t i)
{
    int32_t few[3], forced = forced_token(beam, step->position);
    const att_live_hypothesis *live = &beam->live[i];
    const float *log_probs = log_probs_of(beam, step, i);
    const att_banned_tokens bans = banned_tokens(beam, step, live, few);
    if (forced < 0)
        att_topk_push_row(topk, (int32_t)i, live->log_prob_sum, log_probs, beam->vocabulary, &bans);
    else
        att_topk_push(topk, (att_candidate){ live->log_prob_sum + (double)log_probs[forced],
                                             (int32_t)i, forced, log_probs[forced] });
}

/* The most probable continuation of the greedy hypothesis: the first of its candidates, or, where
 * the candidates have none of it, the best of its row. */
static att_candidate expand_greedy(const att_beam *beam, const att_search_step *step)
{
    for (int64_t i = 0; i < beam->candidate_count; i++)
        if (beam->candidates[i].row == beam->greedy)
            return beam->candidates[i];
    att_candidate best = { .token = -1 };
    push_continuations(&(att_topk){ .items = &best, .capacity = 1 }, beam, step, beam->greedy);
    return best;
}

static void expand_beam(att_beam *beam, const att_search_step *step)
{
    beam->topk.count = 0;
    beam->topk.capacity = 2 * step->beam_size;
    for (int64_t i = 0; i < beam->in_beam; i++)
        push_continuations(&beam->topk, beam, step, i);
    att_topk_sort(&beam->topk);
    beam->candidates = beam->topk.items;
    beam->candidate_count = beam->topk.count;
    if (beam->greedy != ATT_GREEDY_FINISHED)
        beam->greedy_next = expand_greedy(beam, step);
}

/* The random number depends on the stream id, the sample and the position: not on the batch. */
static int32_t sample_token(att_beam *beam, const att_search_step *step, int64_t i)
{
    int32_t few[3], forced = forced_token(beam, step->position);
    if (forced >= 0)
        return forced;
    const att_live_hypothesis *live = &beam->live[i];
    uint64_t index = ((uint64_t)live->sample << 40) + (uint64_t)step->position;
    double u = att_random_double(step->options->seed, beam->stream_id, index);
    const att_banned_tokens bans = banned_tokens(beam, step, live, few);
    return att_sample_token(step->options, log_probs_of(beam, step, i), beam->vocabulary, &bans, u,
                            &beam->topk,
                            step->probabilities + (beam->first_row + i) * step->vocabulary);
}

static void expand_samples(att_beam *beam, const att_search_step *step)
{
    beam->candidates = beam->sampled;
    beam->candidate_count = 0;
    for (int64_t i = 0; i < beam->live_count; i++) {
        int32_t token = sample_token(beam, step, i);
        if (token < 0)
            continue;
        float log_prob = log_probs_of(beam, step, i)[token];
        beam->candidates[beam->candidate_count++] =
            (att_candidate){ beam->live[i].log_prob_sum + (double)log_prob, (int32_t)i, token,
                             log_prob };
    }
}

void att_beam_expand(att_beam *beam, const att_search_step *step)
{
    if (beam->live_count == 0)
        return;
    if (step->options->sample)
        expand_samples(beam, step);
    else
        expand_beam(beam, step);
}

/* ---- extending and finishing */

/* Whether one finished hypothesis ranks before another. Truncated ones come last: their score lacks
 * the end token. */
static bool ranks_before(const att_finished_hypothesis *a, const att_finished_hypothesis *b)
{
    return a->truncated != b->truncated ? b->truncated : a->normalized_score > b->normalized_score;
}

/* Keeps a finished hypothesis of `count` tokens if it is one of the nbest. Of equals, the one that
 * finished first ranks first. */
static void finish_hypothesis(att_beam *beam, const att_search_step *step, int64_t node, double sum,
                              int64_t count, bool truncated)
{
    att_finished_hypothesis finished = { .node = node,
                                         .log_prob_sum = sum,
                                         .truncated = truncated };
    finished.normalized_score =
        att_hypothesis_score(step->options, step->tree, node, sum, count, beam->source_length);
    int64_t at = beam->finished_count;
    while (at > 0 && ranks_before(&finished, &beam->finished[at - 1]))
        at--;
    if (at == step->nbest)
        return;
    if (beam->finished_count < step->nbest)
        beam->finished_count++;
    for (int64_t i = beam->finished_count - 1; i > at; i--)
        beam->finished[i] = beam->finished[i - 1];
    beam->finished[at] = finished;
}

/* Finite logits can still be so far apart that the log-probability of a token is -inf. */
att_status att_beam_check_score(const att_beam *beam, double log_prob, att_error *err)
{
    if (isfinite(log_prob))
        return ATT_OK;
    att_fail(err, ATT_BAD_INPUT, NULL,
             "output layer: the log-probability of an output is not finite (%g); the weights of "
             "the model are too large or damaged",
             log_prob);
    if (err)
        err->line = (int)beam->source + 1;
    return ATT_BAD_INPUT;
}

/* The part of copying in the probability of a token, where the model copies. */
static float copied_part(const att_beam *beam, const att_search_step *step, int64_t row,
                         int32_t token)
{
    return step->decoded
               ? att_session_copied(step->session, step->decoded, row, beam->source, token)
               : 0;
}

/* Tells the observer, if there is one, what becomes of a candidate. */
static void observe(const att_beam *beam, const att_search_step *step,
                    const att_candidate *candidate, int64_t node, bool finished)
{
    if (!step->observer)
        return;
    const att_beam_event event = {
        .position = step->position,
        .parent = beam->live[candidate->row].node,
        .node = node,
        .token = candidate->token,
        .log_prob = candidate->log_prob,
        .score = candidate->score,
        .finished = finished,
        .normalized_score =
            finished ? att_hypothesis_score(step->options, step->tree, node, candidate->score,
                                            step->position + 1, beam->source_length)
                     : NAN,
    };
    step->observer(step->observer_context, &event);
}

/* Adds a candidate to the tree and finishes or extends it; *rows counts the extended ones. */
static att_status accept_candidate(att_beam *beam, const att_search_step *step,
                                   const att_candidate *candidate, bool finishes, int64_t *rows,
                                   att_error *err)
{
    const att_live_hypothesis *from = &beam->live[candidate->row];
    int64_t row = beam->first_row + candidate->row, node;
    if (forced_token(beam, step->position) >= 0)
        ATT_TRY(att_beam_check_score(beam, (double)candidate->log_prob, err));
    ATT_TRY(att_hypothesis_tree_add(
        step->tree, &node,
        (att_hypothesis_node){ .parent = from->node,
                               .attention_row = step->attention_row + row,
                               .token = candidate->token,
                               .log_prob = candidate->log_prob,
                               .copied = copied_part(beam, step, row, candidate->token) },
        err));
    observe(beam, step, candidate, node, finishes);
    if (finishes)
        finish_hypothesis(beam, step, node, candidate->score, step->position + 1,
                          candidate->token != step->end_token);
    else
        beam->next[(*rows)++] = (att_live_hypothesis){ .node = node,
                                                       .row = row,
                                                       .token = candidate->token,
                                                       .sample = from->sample,
                                                       .log_prob_sum = candidate->score };
    return ATT_OK;
}

/* The highest score of the next hypotheses as if each ended with the next token, at no cost: a
 * guess at what they can reach, since a token usually lowers a score more than its length raises
 * it. All have the same length, so that without a coverage penalty the first has the highest. */
static double score_if_ended_next(const att_beam *beam, const att_search_step *step, int64_t rows)
{
    double best = -INFINITY;
    int64_t count = att_min_i64(step->position + 2, beam->max_tokens);
    for (int64_t i = 0; i < (step->options->coverage_penalty > 0 ? rows : 1); i++) {
        const att_live_hypothesis *live = &beam->next[i];
        double score = att_hypothesis_score(step->options, step->tree, live->node,
                                            live->log_prob_sum, count, beam->source_length);
        best = score > best ? score : best;
    }
    return best;
}

/* Whether the next hypothesis `i`, however it continues, cannot rank before `kept`. */
static bool is_beaten(const att_beam *beam, const att_search_step *step, int64_t i,
                      const att_finished_hypothesis *kept)
{
    double bound = att_hypothesis_score_bound(step->options, beam->next[i].log_prob_sum,
                                              step->position + 1, beam->max_tokens);
    return !kept->truncated && bound <= kept->normalized_score;
}

/* Whether a beam of `rows` next hypotheses is done (att_beam_stop). The first of them has the
 * highest sum; the last of the kept ones is the one to beat. */
static bool is_beam_done(const att_beam *beam, const att_search_step *step, int64_t rows)
{
    bool enough = beam->finished_total >= step->beam_size;
    if (rows == 0 || step->beam_size == 1 || step->options->sample)
        return rows == 0 || enough;
    const att_finished_hypothesis *last = &beam->finished[step->nbest - 1];
    if (beam->finished_count < step->nbest || last->truncated)
        return false;
    if (is_beaten(beam, step, 0, last))
        return true;
    return enough && step->options->beam_stop == ATT_BEAM_STOP_HEURISTIC &&
           score_if_ended_next(beam, step, rows) <= last->normalized_score;
}

static void finish_truncated(att_beam *beam, const att_search_step *step, int64_t i)
{
    finish_hypothesis(beam, step, beam->live[i].node, beam->live[i].log_prob_sum, step->position,
                      true);
}

/* Extends or finishes the hypotheses of the beam by its candidates; *rows counts the extended ones.
 * Returns in *greedy_taken whether the continuation of the greedy hypothesis is one of them. */
static att_status advance_in_beam(att_beam *beam, const att_search_step *step, bool last,
                                  int64_t *rows, bool *greedy_taken, att_error *err)
{
    const int64_t greedy = beam->greedy;
    for (int64_t i = 0; i < beam->candidate_count; i++) {
        const att_candidate *candidate = &beam->candidates[i];
        bool finishes = last || candidate->token == step->end_token;
        /* the end counts only among the beam_size best candidates */
        if (*rows >= step->beam_size || (finishes && i >= step->beam_size)) {
            observe(beam, step, candidate, -1, false);
            continue;
        }
        if (candidate->row == greedy && candidate->token == beam->greedy_next.token) {
            *greedy_taken = true;
            beam->greedy = finishes ? ATT_GREEDY_FINISHED : *rows;
        }
        beam->finished_total += finishes;
        ATT_TRY(accept_candidate(beam, step, candidate, finishes, rows, err));
    }
    return ATT_OK;
}

/* Extends the greedy hypothesis beside the beam, or finishes it. */
static att_status advance_greedy(att_beam *beam, const att_search_step *step, bool last,
                                 int64_t *rows, att_error *err)
{
    const att_candidate *best = &beam->greedy_next;
    if (best->token < 0) {
        finish_truncated(beam, step, beam->greedy);
        beam->greedy = ATT_GREEDY_FINISHED;
        return ATT_OK;
    }
    bool finishes = last || best->token == step->end_token;
    beam->greedy = finishes ? ATT_GREEDY_FINISHED : *rows;
    return accept_candidate(beam, step, best, finishes, rows, err);
}

/* Drops the hypotheses of a beam that is done, except a greedy one that may still be the best. */
static void stop_beam(att_beam *beam, const att_search_step *step)
{
    bool goes_on = beam->greedy != ATT_GREEDY_FINISHED &&
                   !is_beaten(beam, step, beam->greedy, &beam->finished[0]);
    if (goes_on)
        beam->next[0] = beam->next[beam->greedy];
    beam->greedy = goes_on ? 0 : ATT_GREEDY_FINISHED;
    beam->in_beam = 0;
    beam->live_count = goes_on;
}

att_status att_beam_advance(att_beam *beam, const att_search_step *step, att_error *err)
{
    if (beam->live_count == 0)
        return ATT_OK;
    bool last = step->position + 1 >= beam->max_tokens, greedy_taken = false;
    int64_t rows = 0;
    ATT_TRY(advance_in_beam(beam, step, last, &rows, &greedy_taken, err));
    /* Where no token may follow any of them, they finish truncated. */
    bool stuck = rows == 0 && beam->finished_total == 0;
    for (int64_t i = 0; stuck && i < beam->in_beam; i++)
        finish_truncated(beam, step, i);
    if (stuck && beam->greedy < beam->in_beam)
        beam->greedy = ATT_GREEDY_FINISHED;
    beam->in_beam = rows;
    if (beam->greedy != ATT_GREEDY_FINISHED && !greedy_taken)
        ATT_TRY(advance_greedy(beam, step, last, &rows, err));
    beam->live_count = rows;
    if (is_beam_done(beam, step, beam->in_beam))
        stop_beam(beam, step);
    att_live_hypothesis *swap = beam->live;
    beam->live = beam->next;
    beam->next = swap;
    return ATT_OK;
}
