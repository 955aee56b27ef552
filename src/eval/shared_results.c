/* Results of an evaluation that several processes share. */
#include "eval/shared_results.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

bool att_group_is_shared(const att_group *group)
{
    return group && group->count > 1;
}

int att_shared_owner(const att_group *group, int64_t index)
{
    return (int)(index % group->count);
}

att_status att_shared_results_new(att_shared_results *out, att_group *group, att_error *err)
{
    *out = (att_shared_results){ .group = group };
    out->offsets = att_alloc_zero((size_t)group->count + 1, sizeof *out->offsets);
    out->at = att_alloc_zero((size_t)group->count, sizeof *out->at);
    return out->offsets && out->at ? ATT_OK : att_fail_memory(err);
}

void att_shared_results_free(att_shared_results *results)
{
    att_string_free(&results->own);
    att_free(results->all);
    att_free(results->offsets);
    att_free(results->at);
    *results = (att_shared_results){ 0 };
}

att_status att_shared_results_put(att_shared_results *results, const void *data, size_t bytes,
                                  att_error *err)
{
    return bytes == 0 || att_string_append(&results->own, data, bytes) == ATT_OK
               ? ATT_OK
               : att_fail_memory(err);
}

att_status att_shared_results_put_text(att_shared_results *results, const char *text,
                                       att_error *err)
{
    return att_shared_results_put(results, text, strlen(text) + 1, err);
}

att_status att_shared_results_gather(att_shared_results *results, att_status status, att_error *err)
{
    att_group *group = results->group;
    ATT_TRY(att_group_agree(group, status, err));
    ATT_TRY(att_group_all_gather(group, &results->all, results->offsets, results->own.data,
                                 results->own.length, err));
    memcpy(results->at, results->offsets, (size_t)group->count * sizeof *results->at);
    return ATT_OK;
}

bool att_shared_results_get(att_shared_results *results, int rank, void *out, size_t bytes)
{
    size_t *at = &results->at[rank];
    if (results->offsets[rank + 1] - *at < bytes)
        return false;
    if (bytes > 0)
        memcpy(out, results->all + *at, bytes);
    *at += bytes;
    return true;
}

const char *att_shared_results_get_text(att_shared_results *results, int rank)
{
    size_t *at = &results->at[rank], end = results->offsets[rank + 1];
    const char *text = results->all + *at;
    const char *nul = *at < end ? memchr(text, 0, end - *at) : NULL;
    if (!nul)
        return NULL;
    *at += (size_t)(nul - text) + 1;
    return text;
}
