/* Where hypotheses came from; see trail.h. */
#include "decode/trail.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

void att_trail_begin(att_trail *trail, const att_keep *keep, int64_t source_length)
{
    trail->count = 0;
    trail->rows = 0;
    trail->keep = *keep;
    trail->source_length = source_length;
    trail->looked = false;
    trail->maps = trail->per_layer = 1;
}

void att_trail_free(att_trail *trail)
{
    att_free(trail->links);
    att_free(trail->looks.data);
    att_free(trail->heads.data);
    *trail = (att_trail){ 0 };
}

/* Room for so many floats, of which `used` are in use. */
static bool floats_reserve(att_floats *floats, size_t used, size_t wanted)
{
    if (wanted <= floats->capacity)
        return true;
    size_t capacity = wanted + wanted / 2;
    float *bigger = att_realloc(floats->data, used * sizeof *bigger, capacity, sizeof *bigger);
    if (!bigger)
        return false;
    floats->data = bigger;
    floats->capacity = capacity;
    return true;
}

/* ---- what was looked at */

static att_status check_choice(const att_trail *trail, att_error *err)
{
    const att_keep *keep = &trail->keep;
    int64_t layers = trail->maps / trail->per_layer;
    if (keep->layer > layers)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no layer %lld: the model has %lld",
                        (long long)keep->layer, (long long)layers);
    if (keep->head > trail->per_layer)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no head %lld: the model has %lld",
                        (long long)keep->head, (long long)trail->per_layer);
    return ATT_OK;
}

/* The look of one row: that of a head, or the mean of a layer's. */
static void reduce(const att_trail *trail, float *out, const float *maps /* [maps,S] */)
{
    const att_keep *keep = &trail->keep;
    int64_t S = trail->source_length, H = trail->per_layer;
    int64_t layer = keep->layer > 0 ? keep->layer - 1 : trail->maps / H - 1;
    const float *from = maps + (layer * H + (keep->head > 0 ? keep->head - 1 : 0)) * S;
    int64_t count = keep->head > 0 ? 1 : H;
    for (int64_t i = 0; i < S; i++) {
        double sum = 0;
        for (int64_t h = 0; h < count; h++)
            sum += (double)from[h * S + i];
        out[i] = (float)(sum / (double)count);
    }
}

att_status att_trail_look(att_trail *trail, const att_decoded *decoded, int64_t rows,
                          att_error *err)
{
    const att_keep *keep = &trail->keep;
    trail->looked = decoded->weights && (keep->look || keep->heads);
    if (!trail->looked)
        return ATT_OK;
    trail->maps = decoded->maps;
    trail->per_layer = decoded->heads;
    ATT_TRY(check_choice(trail, err));
    size_t S = (size_t)trail->source_length, used = (size_t)trail->rows * S;
    size_t more = (size_t)rows * S, maps = (size_t)trail->maps;
    if ((keep->look && !floats_reserve(&trail->looks, used, used + more)) ||
        (keep->heads && !floats_reserve(&trail->heads, used * maps, (used + more) * maps)))
        return att_fail_memory(err);
    for (int64_t r = 0; keep->look && r < rows; r++)
        reduce(trail, trail->looks.data + used + (size_t)r * S,
               decoded->weights + (size_t)r * maps * S);
    if (keep->heads)
        memcpy(trail->heads.data + used * maps, decoded->weights,
               more * maps * sizeof *trail->heads.data);
    trail->rows += rows;
    return ATT_OK;
}

/* ---- links */

att_status att_trail_add(att_trail *trail, int64_t *out, att_link link, att_error *err)
{
    if (trail->count == trail->capacity) {
        size_t used = (size_t)trail->count, more = 2 * used + 256;
        att_link *bigger = att_realloc(trail->links, used * sizeof *bigger, more, sizeof *bigger);
        if (!bigger)
            return att_fail_memory(err);
        trail->links = bigger;
        trail->capacity = (int64_t)more;
    }
    trail->links[trail->count] = link;
    *out = trail->count++;
    return ATT_OK;
}

int64_t att_trail_length(const att_trail *trail, int64_t last)
{
    int64_t count = 0;
    for (; last != ATT_TRAIL_START; last = trail->links[last].before)
        count++;
    return count;
}

void att_trail_tokens(const att_trail *trail, int64_t last, int32_t *out, int64_t count)
{
    for (int64_t i = count - 1; i >= 0; i--) {
        out[i] = trail->links[last].token;
        last = trail->links[last].before;
    }
}

/* ---- hypotheses */

/* Rows of what was looked at, one for each link of a chain of `count`: of [maps,S], the first
 * `length` places of each map. */
static const float *copy_rows(const att_trail *trail, const float *from, int64_t maps, int64_t last,
                              int64_t count, int64_t length, att_arena *memory)
{
    int64_t S = trail->source_length;
    float *out = att_arena_take(memory, (size_t)(count * maps), (size_t)length * sizeof *out);
    for (int64_t t = count - 1; out && t >= 0; t--) {
        const float *row = from + trail->links[last].look * maps * S;
        for (int64_t m = 0; m < maps; m++)
            memcpy(out + (t * maps + m) * length, row + m * S, (size_t)length * sizeof *out);
        last = trail->links[last].before;
    }
    return out;
}

att_status att_trail_copy(const att_trail *trail, att_hypothesis *out, int64_t last, int64_t length,
                          att_arena *memory, att_error *err)
{
    int64_t count = att_trail_length(trail, last);
    int32_t *ids = att_arena_take(memory, (size_t)count, sizeof *ids);
    float *log_probs = att_arena_take(memory, (size_t)count, sizeof *log_probs);
    if (!ids || !log_probs)
        return att_fail_memory(err);
    att_trail_tokens(trail, last, ids, count);
    int64_t at = last;
    for (int64_t t = count - 1; t >= 0; t--, at = trail->links[at].before)
        log_probs[t] = trail->links[at].log_prob;
    out->count = count;
    out->ids = ids;
    out->log_probs = log_probs;
    bool looks = trail->looked && trail->keep.look, heads = trail->looked && trail->keep.heads;
    if (looks)
        out->looks = copy_rows(trail, trail->looks.data, 1, last, count, length, memory);
    if (heads)
        out->heads = copy_rows(trail, trail->heads.data, trail->maps, last, count, length, memory);
    return (looks && !out->looks) || (heads && !out->heads) ? att_fail_memory(err) : ATT_OK;
}
