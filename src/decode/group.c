/* The hypotheses of one source; see group.h. */
#include "decode/group.h"

#include "base/error.h"
#include "base/random.h"
#include "decode/draw.h"

#include <math.h>

/* ---- the beginning */

/* An answer has room for `factor` tokens to each of the source where that is asked for, or `given`;
 * the narrower of both. Where nothing is asked for, twice the source and 50 more. */
static int64_t most_tokens(const att_decoding *how, int64_t length)
{
    double most = INFINITY;
    if (how->most_tokens > 0)
        most = (double)how->most_tokens;
    if (how->most_factor > 0 && how->most_factor * (double)length < most)
        most = ceil(how->most_factor * (double)length);
    if (isinf(most))
        most = 50 + 2 * (double)length;
    return most < 1 ? 1 : (int64_t)most;
}

static int64_t least_tokens(const att_decoding *how, int64_t length)
{
    double least = floor(how->least_factor * (double)length);
    return least > (double)how->least_tokens ? (int64_t)least : how->least_tokens;
}

void att_group_begin(att_group *group, const att_stage *stage)
{
    bool whole = group->forced.whole;
    group->least = least_tokens(stage->how, group->length);
    group->most = whole ? INT64_MAX : most_tokens(stage->how, group->length);
    group->ended_count = group->ended_ever = 0;
    group->rows = stage->how->sample && !whole ? stage->width : 1;
    for (int64_t i = 0; i < group->rows; i++)
        group->live[i] = (att_live){ .link = ATT_TRAIL_START,
                                     .row = group->source,
                                     .token = group->after,
                                     .sample = (int32_t)i };
}

/* ---- what may follow */

/* The token that has to follow; -1: any. */
static int32_t forced_token(const att_group *group, int64_t position)
{
    const att_forced *forced = &group->forced;
    if ((size_t)position < forced->count)
        return forced->ids[position];
    return forced->whole ? ATT_ID_END : -1;
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
static att_bans bans_of(const att_group *group, const att_stage *stage, const att_live *live,
                        int32_t few[3])
{
    int64_t count = 0, length = stage->position;
    bool repeats = stage->how->no_repeat > 0 && length > 0;
    int32_t *bans = repeats ? group->path + length : few;
    if (stage->end != ATT_ID_START)
        bans[count++] = ATT_ID_START;
    if (length < group->least)
        bans[count++] = stage->end;
    if (stage->known)
        bans[count++] = ATT_ID_UNKNOWN;
    if (repeats) {
        att_trail_tokens(stage->trail, live->link, group->path, length);
        count = ban_repeats(bans, count, group->path, length, stage->how->no_repeat);
    }
    return (att_bans){ bans, count };
}

/* ---- choosing */

static const float *log_probs_of(const att_group *group, const att_stage *stage, int64_t i)
{
    return stage->log_probs + (group->first + i) * stage->vocabulary;
}

static void choose_beam(att_group *group, const att_stage *stage)
{
    int32_t few[3], forced = forced_token(group, stage->position);
    group->top.count = 0;
    group->top.capacity = 2 * stage->width;
    for (int64_t i = 0; i < group->rows; i++) {
        const att_live *live = &group->live[i];
        const float *log_probs = log_probs_of(group, stage, i);
        const att_bans bans = bans_of(group, stage, live, few);
        if (forced < 0)
            att_top_scan(&group->top, (int32_t)i, live->sum, log_probs, stage->vocabulary, &bans);
        else
            att_top_offer(&group->top, (att_candidate){ live->sum + (double)log_probs[forced],
                                                        (int32_t)i, forced, log_probs[forced] });
    }
    att_top_sort(&group->top);
    group->chosen = group->top.items;
    group->chosen_count = group->top.count;
}

/* Draws are numbered by the source, the sample and the position: independent of the batch. */
static int32_t draw_token(att_group *group, const att_stage *stage, int64_t i)
{
    int32_t few[3], forced = forced_token(group, stage->position);
    if (forced >= 0)
        return forced;
    const att_live *live = &group->live[i];
    uint64_t index = ((uint64_t)live->sample << 40) + (uint64_t)stage->position;
    double u = att_random_double(stage->how->seed, group->number, index);
    const att_bans bans = bans_of(group, stage, live, few);
    return att_draw(stage->how, log_probs_of(group, stage, i), stage->vocabulary, &bans, u,
                    &group->top, stage->weights + (group->first + i) * stage->vocabulary);
}

static void choose_drawn(att_group *group, const att_stage *stage)
{
    group->chosen = group->drawn;
    group->chosen_count = 0;
    for (int64_t i = 0; i < group->rows; i++) {
        int32_t token = draw_token(group, stage, i);
        if (token < 0)
            continue;
        float log_prob = log_probs_of(group, stage, i)[token];
        group->chosen[group->chosen_count++] =
            (att_candidate){ group->live[i].sum + (double)log_prob, (int32_t)i, token, log_prob };
    }
}

void att_group_choose(att_group *group, const att_stage *stage)
{
    if (group->rows == 0)
        return;
    if (stage->how->sample)
        choose_drawn(group, stage);
    else
        choose_beam(group, stage);
}

/* ---- going on and ending */

/* Whether one that has ended comes before another: those that were cut have not paid for their end,
 * and come last. */
static bool before(const att_ended *a, const att_ended *b)
{
    return a->cut != b->cut ? b->cut : a->score > b->score;
}

/* Takes a hypothesis of `count` tokens among those that have ended, if it is one of the best. Of
 * equals the one that ended first stays ahead. */
static void end(att_group *group, const att_stage *stage, int64_t link, double sum, int64_t count,
                bool cut)
{
    att_ended ended = { .link = link, .sum = sum, .cut = cut };
    ended.score = att_rank(stage->how, stage->trail, link, sum, count, group->length);
    group->ended_ever++;
    int64_t at = group->ended_count;
    while (at > 0 && before(&ended, &group->ended[at - 1]))
        at--;
    if (at == stage->best)
        return;
    if (group->ended_count < stage->best)
        group->ended_count++;
    for (int64_t i = group->ended_count - 1; i > at; i--)
        group->ended[i] = group->ended[i - 1];
    group->ended[at] = ended;
}

/* Adds a candidate to the trail and lets it end or go on; *rows counts those that go on. */
static att_status take(att_group *group, const att_stage *stage, const att_candidate *candidate,
                       bool over, int64_t *rows, att_error *err)
{
    const att_live *from = &group->live[candidate->row];
    int64_t row = group->first + candidate->row, link;
    ATT_TRY(att_trail_add(stage->trail, &link,
                          (att_link){ .before = from->link,
                                      .look = stage->look + row,
                                      .token = candidate->token,
                                      .log_prob = candidate->log_prob },
                          err));
    if (over)
        end(group, stage, link, candidate->score, stage->position + 1,
            candidate->token != stage->end);
    else
        group->next[(*rows)++] = (att_live){ .link = link,
                                             .row = row,
                                             .token = candidate->token,
                                             .sample = from->sample,
                                             .sum = candidate->score };
    return ATT_OK;
}

/* Whether a beam need not go on: as many as are followed have ended, or none that goes on can still
 * come before the last of those that are kept. */
static bool settled(const att_group *group, const att_stage *stage, int64_t rows)
{
    if (rows == 0 || group->ended_ever >= stage->width)
        return true;
    if (stage->how->sample || group->ended_count < stage->best)
        return false;
    double bound = att_rank_bound(stage->how, group->next[0].sum, stage->position + 1, group->most);
    return bound <= group->ended[stage->best - 1].score;
}

/* Where nothing may follow, what there is ends as it is. */
static void end_all(att_group *group, const att_stage *stage)
{
    for (int64_t i = 0; i < group->rows; i++)
        end(group, stage, group->live[i].link, group->live[i].sum, stage->position, true);
    group->rows = 0;
}

att_status att_group_settle(att_group *group, const att_stage *stage, att_error *err)
{
    if (group->rows == 0)
        return ATT_OK;
    bool last = stage->position + 1 >= group->most;
    int64_t rows = 0;
    for (int64_t i = 0; i < group->chosen_count && rows < stage->width; i++) {
        bool over = last || group->chosen[i].token == stage->end;
        if (over && i >= stage->width)
            continue; /* an end counts only where it is among the best ways on */
        ATT_TRY(take(group, stage, &group->chosen[i], over, &rows, err));
    }
    if (rows == 0 && group->ended_ever == 0)
        end_all(group, stage);
    else
        group->rows = settled(group, stage, rows) ? 0 : rows;
    att_live *swap = group->live;
    group->live = group->next;
    group->next = swap;
    return ATT_OK;
}
