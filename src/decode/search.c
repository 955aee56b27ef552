/* The search over a batch; see search.h. Each step plans the rows of all hypotheses that go on,
 * asks the decoder for what may follow, lets every source choose on its own (on several threads),
 * and then settles source after source what goes on. Memory is asked for at the start of a batch;
 * steps only let the trail grow. */
#include "decode/search.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"
#include "decode/draw.h"
#include "decode/group.h"

#include <string.h>

struct att_search {
    att_ensemble *ensemble;
    const att_decoding *how;
    att_trail trail;
    att_stage stage;
    int64_t sources;
    att_group *groups; /* [sources] */
    int64_t rows;      /* of the step */
    int64_t told;      /* tokens of the first source that have been told */
    int32_t *tokens;   /* [sources * width] */
    int64_t *order;    /* likewise */
    int64_t path_room; /* tokens of each group's path */
    int32_t *paths;
    att_arena memory; /* of groups and what they have, for a batch */

    att_hypothesis *found; /* [sources, best] */
    att_arena results;
};

/* ---- life */

att_status att_search_new(att_search **out, att_model *model, const att_decoding *how,
                          att_error *err)
{
    *out = NULL;
    att_search *search = att_alloc_zero(1, sizeof *search);
    if (!search)
        return att_fail_memory(err);
    int64_t best = how->best > 0 ? how->best : 1, beam = how->beam > best ? how->beam : best;
    search->how = how;
    search->stage = (att_stage){
        .how = how, .trail = &search->trail, .width = how->sample ? best : beam, .best = best
    };
    att_status status = att_ensemble_new(&search->ensemble, model, how->with, how->with_count, err);
    if (status != ATT_OK) {
        att_search_free(search);
        return status;
    }
    search->stage.vocabulary = att_ensemble_vocabulary(search->ensemble);
    *out = search;
    return ATT_OK;
}

void att_search_free(att_search *search)
{
    if (!search)
        return;
    att_ensemble_free(search->ensemble);
    att_trail_free(&search->trail);
    att_free(search->paths);
    att_arena_free(&search->memory);
    att_arena_free(&search->results);
    att_free(search);
}

/* ---- the start of a batch */

static bool group_memory(att_search *search, att_group *group)
{
    att_arena *memory = &search->memory;
    const att_stage *stage = &search->stage;
    size_t width = (size_t)stage->width, best = (size_t)stage->best;
    int64_t candidates =
        search->how->sample ? att_draw_room(search->how, stage->vocabulary) : 2 * stage->width;
    group->live = att_arena_take(memory, width, sizeof *group->live);
    group->next = att_arena_take(memory, width, sizeof *group->next);
    group->ended = att_arena_take(memory, best, sizeof *group->ended);
    group->drawn = att_arena_take(memory, width, sizeof *group->drawn);
    group->top.items = att_arena_take(memory, (size_t)candidates, sizeof *group->top.items);
    return group->live && group->next && group->ended && group->drawn && group->top.items;
}

static bool batch_memory(att_search *search)
{
    size_t sources = (size_t)search->sources, rows = sources * (size_t)search->stage.width;
    att_arena *memory = &search->memory;
    att_arena_free(memory);
    att_arena_free(&search->results);
    search->groups = att_arena_take(memory, sources, sizeof *search->groups);
    search->tokens = att_arena_take(memory, rows, sizeof *search->tokens);
    search->order = att_arena_take(memory, rows, sizeof *search->order);
    search->found = att_arena_take(&search->results, sources,
                                   (size_t)search->stage.best * sizeof *search->found);
    if (search->how->sample)
        search->stage.weights =
            att_arena_take(memory, rows, (size_t)search->stage.vocabulary * sizeof(float));
    return search->groups && search->tokens && search->order && search->found &&
           (!search->how->sample || search->stage.weights);
}

static att_status begin_batch(att_search *search, const att_search_task *task, att_error *err)
{
    const att_sources *sources = task->sources;
    att_keep keep = task->keep;
    keep.look |= search->how->coverage_penalty > 0;
    search->sources = sources->rows;
    search->stage.position = 0;
    search->stage.known = task->known;
    search->stage.end = task->delimited ? ATT_ID_START : ATT_ID_END;
    search->told = 0;
    search->path_room = 0;
    att_trail_begin(&search->trail, &keep, sources->length);
    if (!batch_memory(search))
        return att_fail_memory(err);
    for (int64_t i = 0; i < sources->rows; i++) {
        att_group *group = &search->groups[i];
        if (!group_memory(search, group))
            return att_fail_memory(err);
        group->source = i;
        group->length = sources->lengths[i];
        group->number = task->numbers ? task->numbers[i] : (uint64_t)i;
        group->after = task->after > 0 ? task->after : ATT_ID_START;
        if (task->forced)
            group->forced = task->forced[i];
        att_group_begin(group, &search->stage);
    }
    return att_ensemble_start(search->ensemble, sources, keep.look || keep.heads, err);
}

/* ---- steps */

/* Gives each hypothesis that goes on a row. Whether any row changes its place. */
static bool plan_rows(att_search *search)
{
    int64_t before = search->rows;
    bool moved = false;
    search->rows = 0;
    for (int64_t g = 0; g < search->sources; g++) {
        att_group *group = &search->groups[g];
        group->first = search->rows;
        for (int64_t i = 0; i < group->rows; i++) {
            const att_live *live = &group->live[i];
            moved |= live->row != search->rows;
            search->tokens[search->rows] = live->token;
            search->order[search->rows++] = live->row;
        }
    }
    return moved || search->rows != before;
}

/* Room for what no hypothesis may repeat: each group's path, and as many bans and three. */
static att_status reserve_paths(att_search *search, att_error *err)
{
    int64_t wanted = 2 * search->stage.position + 3;
    if (search->how->no_repeat < 1 || wanted <= search->path_room)
        return ATT_OK;
    int64_t room = 2 * wanted + 64;
    att_free(search->paths);
    search->paths = att_alloc((size_t)search->sources, (size_t)room * sizeof *search->paths);
    if (!search->paths)
        return att_fail_memory(err);
    search->path_room = room;
    for (int64_t g = 0; g < search->sources; g++)
        search->groups[g].path = search->paths + g * room;
    return ATT_OK;
}

static void choose_range(void *context, int64_t begin, int64_t end)
{
    att_search *search = context;
    for (int64_t g = begin; g < end; g++)
        att_group_choose(&search->groups[g], &search->stage);
}

static att_status step_on(att_search *search, bool moved, att_error *err)
{
    enum { GRAIN = 1 << 15 }; /* log-probabilities to a thread's turn */
    att_stage *stage = &search->stage;
    att_decoded decoded;
    ATT_TRY(reserve_paths(search, err));
    ATT_TRY(att_ensemble_step(search->ensemble, search->rows, search->tokens,
                              moved ? search->order : NULL, &decoded, err));
    ATT_TRY(att_trail_look(&search->trail, &decoded, search->rows, err));
    stage->log_probs = decoded.log_probs;
    stage->look = search->trail.rows - search->rows;
    att_parallel_for(search->sources, 1 + GRAIN / (stage->vocabulary * stage->width), choose_range,
                     search);
    for (int64_t g = 0; g < search->sources; g++)
        ATT_TRY(att_group_settle(&search->groups[g], stage, err));
    stage->position++;
    return ATT_OK;
}

/* ---- telling */

static int64_t ancestor(const att_trail *trail, int64_t link, int64_t steps)
{
    while (steps-- > 0)
        link = trail->links[link].before;
    return link;
}

/* The link of the first source's token number `told`, from 0, if nothing can change it any more:
 * -1 where hypotheses do not agree on it yet, or there is none. Once one has ended it may be the
 * best in the end, so all wait for that. */
static int64_t agreed_link(const att_search *search)
{
    const att_group *group = &search->groups[0];
    const att_trail *trail = &search->trail;
    int64_t told = search->told;
    if (group->rows == 0) {
        if (group->ended_count == 0 || told >= att_trail_length(trail, group->ended[0].link))
            return -1;
        int64_t length = att_trail_length(trail, group->ended[0].link);
        return ancestor(trail, group->ended[0].link, length - told - 1);
    }
    int64_t back = search->stage.position - told - 1;
    if (back < 0 || group->ended_count > 0)
        return -1;
    int64_t link = ancestor(trail, group->live[0].link, back);
    for (int64_t i = 1; i < group->rows; i++)
        if (ancestor(trail, group->live[i].link, back) != link)
            return -1;
    return link;
}

/* Whether to go on. */
static bool tell(att_search *search, const att_search_task *task)
{
    int64_t link;
    while (task->told && (link = agreed_link(search)) >= 0) {
        search->told++;
        if (!task->told(task->context, search->trail.links[link].token,
                        search->trail.links[link].log_prob))
            return false;
    }
    return true;
}

/* ---- the end */

static att_status copy_found(att_search *search, att_error *err)
{
    for (int64_t g = 0; g < search->sources; g++) {
        const att_group *group = &search->groups[g];
        for (int64_t i = 0; i < group->ended_count; i++) {
            const att_ended *ended = &group->ended[i];
            att_hypothesis *out = &search->found[g * search->stage.best + i];
            ATT_TRY(att_trail_copy(&search->trail, out, ended->link, group->length,
                                   &search->results, err));
            out->cut = ended->cut;
            out->sum = ended->sum;
            out->score = ended->score;
        }
    }
    return ATT_OK;
}

att_status att_search_run(att_search *search, const att_search_task *task, att_error *err)
{
    search->sources = search->rows = 0;
    if (task->sources->rows == 0)
        return ATT_OK;
    ATT_TRY(begin_batch(search, task, err));
    search->rows = search->sources; /* as the decoder has them at its start */
    bool moved = plan_rows(search);
    while (search->rows > 0) {
        ATT_TRY(step_on(search, moved, err));
        if (!tell(search, task))
            break;
        moved = plan_rows(search);
    }
    return copy_found(search, err);
}

const att_hypothesis *att_search_found(const att_search *search, int64_t row, int64_t *count)
{
    *count = search->groups[row].ended_count;
    return &search->found[row * search->stage.best];
}

int64_t att_search_maps(const att_search *search)
{
    return search->trail.maps;
}

int64_t att_search_heads(const att_search *search)
{
    return search->trail.per_layer;
}
