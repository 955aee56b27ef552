/* Runs of several processes: the first exchange, in which they find out whether they make the same
 * run, and gathering what a checkpoint has of all. */
#include "train/training.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/thread_pool.h"
#include "base/string.h"
#include "settings/setting_specs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the first exchange */

/* What must be equal in all processes, besides the settings, and what they tell each other. */
typedef struct introduction {
    int64_t data_hash, params_hash, step;
    int64_t settings_length;
} introduction;

static att_status introduce(introduction *out, att_string *settings, const att_training *training,
                            att_error *err)
{
    const att_params *params = &training->model->params;
    *out = (introduction){ .data_hash = training->state.data_hash, .step = training->state.step };
    out->params_hash = (int64_t)att_hash_fnv1a(params->value, params->size * sizeof *params->value);
    ATT_TRY(att_settings_to_json(settings, training->settings, err));
    out->settings_length = (int64_t)settings->length;
    return ATT_OK;
}

/* Names the first setting that differs. */
static att_status compare_settings(const att_training *training, const char *json, int rank,
                                   const char *host, att_error *err)
{
    att_settings *theirs;
    att_string own = { 0 }, other = { 0 };
    ATT_TRY(att_settings_new(&theirs, NULL, err));
    att_status status = att_settings_from_json(theirs, json, host, err);
    for (size_t i = 0; status == ATT_OK && i < att_setting_count(); i++) {
        const char *key = att_setting_get(i)->key;
        own.length = other.length = 0;
        if (!att_setting_group_is_saved(att_setting_get(i)->group))
            continue;
        status = att_settings_get(&own, training->settings, key, err);
        if (status == ATT_OK)
            status = att_settings_get(&other, theirs, key, err);
        if (status == ATT_OK &&
            (own.length != other.length || memcmp(own.data, other.data, own.length) != 0))
            status = att_fail(err, ATT_BAD_INPUT, NULL,
                              "process %d on %s was started with %s '%s', process 0 on %s with "
                              "'%s'; all must have the same settings",
                              rank, host, key, other.length ? other.data : "",
                              training->exchange.group.members[0].host, own.length ? own.data : "");
    }
    att_string_free(&own);
    att_string_free(&other);
    att_settings_free(theirs);
    return status;
}

static att_status compare(const att_training *training, const introduction *own,
                          const introduction *other, int rank, att_error *err)
{
    const char *host = training->exchange.group.members[rank].host;
    if (own->data_hash != other->data_hash)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "process %d on %s has other data than process 0 on %s: the files differ",
                        rank, host, training->exchange.group.members[0].host);
    if (own->step != other->step || own->params_hash != other->params_hash)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "process %d on %s starts from other parameters (step %lld) than process 0 "
                        "on %s (step %lld): the files of resume or init-from differ",
                        rank, host, (long long)other->step,
                        training->exchange.group.members[0].host, (long long)own->step);
    return ATT_OK;
}

/* Process 0 compares every other with itself; settings first: data follow from them. */
static att_status compare_all(att_training *training, const introduction *all, att_error *err)
{
    att_group *group = &training->exchange.group;
    att_status result = ATT_OK;
    for (int r = 1; r < group->count; r++) {
        size_t length = (size_t)all[r].settings_length;
        char *json = att_alloc(length + 1, 1);
        if (!json)
            return att_fail_memory(err);
        att_status status = att_group_receive(group, r, ATT_TAG_STATES, json, length, err);
        if (status == ATT_OK)
            status = att_group_wait(group, err);
        json[length] = 0;
        if (status == ATT_OK && result == ATT_OK)
            result = compare_settings(training, json, r, group->members[r].host, err);
        att_free(json);
        if (status != ATT_OK)
            return status;
        if (result == ATT_OK)
            result = compare(training, &all[0], &all[r], r, err);
    }
    return result;
}

static att_status exchange_introductions(att_training *training, introduction *all, att_error *err)
{
    att_group *group = &training->exchange.group;
    introduction own;
    att_string settings = { 0 };
    att_status status = introduce(&own, &settings, training, err);
    if (status == ATT_OK)
        status = att_group_gather(group, all, &own, sizeof own, err);
    if (status == ATT_OK && group->rank > 0)
        status = att_group_send(group, 0, ATT_TAG_STATES, settings.data, settings.length, err);
    if (status == ATT_OK && group->rank > 0)
        status = att_group_wait(group, err);
    if (status == ATT_OK && group->rank == 0)
        status = compare_all(training, all, err);
    att_string_free(&settings);
    return status;
}

att_status att_training_meet(att_training *training, att_status status, att_error *err)
{
    att_group *group = &training->exchange.group;
    att_error ignored;
    if (group->count == 1)
        return status;
    if (!err)
        err = &ignored;
    att_error own = *err;
    ATT_TRY(att_group_meet(group, err));
    if (status != ATT_OK)
        *err = own;
    ATT_TRY(att_group_agree(group, status, err));
    introduction *all = att_alloc((size_t)group->count, sizeof *all);
    if (!all)
        return att_fail_memory(err);
    status = exchange_introductions(training, all, err);
    att_free(all);
    if (status == ATT_NO_MEMORY) /* alone: perhaps before it sent what the others wait for */
        return status;
    status = att_group_agree(group, status, err);
    if (status == ATT_OK)
        att_group_share_cores(group);
    return status;
}

/* ---- checkpoints */

att_status att_training_alloc_moments(att_training *training, att_error *err)
{
    for (int i = 0; att_optimizer_moment_name(&training->optimizer, i); i++) {
        training->whole_moments[i] =
            att_alloc_zero(training->exchange.size, sizeof *training->whole_moments[i]);
        if (!training->whole_moments[i])
            return att_fail_memory(err);
    }
    return ATT_OK;
}

void att_training_free_moments(att_training *training)
{
    for (int i = 0; i < ATT_MAX_MOMENTS; i++) {
        att_free(training->whole_moments[i]);
        training->whole_moments[i] = NULL;
    }
}

/* The states of each group of streams from the process that computes it. */
static att_status gather_states(att_training *training, att_error *err)
{
    att_group *group = &training->exchange.group;
    int64_t groups = training->settings->accumulate;
    for (int r = 1; training->carried_states && r < group->count; r++) {
        att_range range = att_share(groups, r, group->count);
        for (int64_t g = range.begin; g < range.end; g++) {
            att_carried_state *carried = &training->carried_states[g];
            size_t bytes = (size_t)(carried->max_rows * carried->width) * sizeof *carried->states;
            if (group->rank == r) {
                ATT_TRY(att_group_send(group, 0, ATT_TAG_STATES, &carried->rows,
                                       sizeof carried->rows, err));
                ATT_TRY(att_group_send(group, 0, ATT_TAG_STATES, carried->states, bytes, err));
            } else if (group->rank == 0) {
                ATT_TRY(att_group_receive(group, r, ATT_TAG_STATES, &carried->rows,
                                          sizeof carried->rows, err));
                ATT_TRY(att_group_receive(group, r, ATT_TAG_STATES, carried->states, bytes, err));
            }
        }
    }
    return att_group_wait(group, err);
}

att_status att_training_gather(att_training *training, att_error *err)
{
    att_group *group = &training->exchange.group;
    if (group->count == 1)
        return ATT_OK;
    att_status status = group->rank == 0 ? att_training_alloc_moments(training, err) : ATT_OK;
    ATT_TRY(att_group_agree(group, status, err));
    for (int i = 0; att_optimizer_moment_name(&training->optimizer, i); i++)
        ATT_TRY(att_exchange_gather(&training->exchange, training->whole_moments[i],
                                    training->optimizer.moments[i], err));
    return gather_states(training, err);
}

/* ---- the report */

/* Instruction sets that differ from that of process 0: they change no bits, but may explain why
 * some processes are slower. */
static att_status report_instruction_sets(att_string *out, const att_group *group)
{
    const att_member *first = &group->members[0];
    for (int r = 1; r < group->count; r++) {
        const att_member *other = &group->members[r];
        if (strcmp(other->cpu, first->cpu) != 0)
            ATT_TRY(att_string_printf(out,
                                      "%-12sprocess %d on %s computes with %s, process 0 on %s "
                                      "with %s: the same bits\n",
                                      "", r, other->host, other->cpu, first->host, first->cpu));
    }
    return ATT_OK;
}

att_status att_training_report_processes(att_string *out, const att_training *training)
{
    const att_group *group = &training->exchange.group;
    int64_t leaves = training->settings->accumulate;
    if (group->count == 1)
        return ATT_OK;
    int hosts = 0;
    for (int r = 0; r < group->count; r++) {
        bool seen = false;
        for (int k = 0; k < r; k++)
            seen |= strcmp(group->members[k].host, group->members[r].host) == 0;
        hosts += !seen;
    }
    ATT_TRY(att_string_printf(out, "%-12s%d on %d host%s, %" PRId64 " micro-batch%s in a step\n",
                              "processes", group->count, hosts, hosts == 1 ? "" : "s", leaves,
                              leaves == 1 ? "" : "es"));
    ATT_TRY(report_instruction_sets(out, group));
    if (leaves < group->count)
        return att_string_printf(out,
                                 "%-12s%d of them compute no gradient: set accumulate to at least "
                                 "%d\n",
                                 "", group->count - (int)leaves, group->count);
    if (leaves % group->count == 0)
        return ATT_OK;
    int64_t most = (leaves + group->count - 1) / group->count;
    return att_string_printf(
        out, "%-12ssome compute %" PRId64 ", some %" PRId64 ": %.0f %% of the time is waiting\n",
        "", most, most - 1, 100 * (1 - (double)leaves / (double)(most * group->count)));
}
