/* One unit watched while a text is read. */
#include "base/alloc.h"
#include "base/error.h"
#include "inspect/states.h"

struct att_watched {
    att_arena memory;
    att_coloured coloured;
    double *values;
};

typedef struct watching {
    double *values;
    int64_t unit; /* among those of all layers, from 0 */
} watching;

static void note(void *context, int64_t stretch, int64_t token, const float *units)
{
    const watching *w = context;
    (void)stretch;
    w->values[token] = (double)units[w->unit];
}

/* Which of the units of all layers one is. */
static att_status find_unit(int64_t *out, const att_tower *tower, att_layer_unit unit,
                            att_error *err)
{
    if (unit.layer < 1 || unit.layer > tower->layers)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no layer %lld: the model has %d",
                        (long long)unit.layer, tower->layers);
    if (unit.unit < 1 || unit.unit > tower->width)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no unit %lld: a layer has %lld",
                        (long long)unit.unit, (long long)tower->width);
    *out = (unit.layer - 1) * tower->width + unit.unit - 1;
    return ATT_OK;
}

static att_status colour(att_watched *out, const att_spelt *text, att_layer_unit unit,
                         att_signal signal, att_error *err)
{
    int64_t count = (int64_t)text->ids.count;
    const char **tokens = att_spelt_strings(text, 0, count, &out->memory);
    char *title =
        att_arena_print(&out->memory, "layer %lld, unit %lld: %s", (long long)unit.layer,
                        (long long)unit.unit, signal == ATT_SIGNAL_CELL ? "cell" : "hidden state");
    out->coloured = (att_coloured){
        .title = title, .count = count, .tokens = tokens, .values = out->values, .most = 1
    };
    return tokens && title ? ATT_OK : att_fail_memory(err);
}

static att_status watch(att_watched *out, att_model *model, const att_tower *tower,
                        const att_spelt *text, att_layer_unit unit, att_signal signal,
                        att_error *err)
{
    int64_t count = (int64_t)text->ids.count;
    const att_stretch all = { 0, count };
    watching w = { 0 };
    ATT_TRY(find_unit(&w.unit, tower, unit, err));
    ATT_TRY(att_states_signal(&signal, tower, err));
    if (count == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the text has no tokens");
    w.values = out->values = att_arena_take(&out->memory, (size_t)count, sizeof *out->values);
    if (!w.values)
        return att_fail_memory(err);
    const att_states_how how = {
        .signal = signal, .stretch = &all, .count = 1, .visit = note, .context = &w
    };
    ATT_TRY(att_states_read(model, tower, text, &how, err));
    return colour(out, text, unit, signal, err);
}

att_status att_model_watch(att_watched **out, att_model *model, const char *text, size_t length,
                           att_layer_unit unit, att_signal signal, att_error *err)
{
    att_tower tower;
    att_spelt spelt = { 0 };
    *out = NULL;
    ATT_TRY(att_model_tower(&tower, model, err));
    att_watched *watched = att_alloc_zero(1, sizeof *watched);
    att_status status =
        watched ? att_spell(&spelt, tower.words, text, length, err) : att_fail_memory(err);
    if (status == ATT_OK)
        status = watch(watched, model, &tower, &spelt, unit, signal, err);
    att_spelt_free(&spelt);
    if (status == ATT_OK)
        *out = watched;
    else
        att_watched_free(watched);
    return status;
}

void att_watched_free(att_watched *watched)
{
    if (!watched)
        return;
    att_arena_free(&watched->memory);
    att_free(watched);
}

const att_coloured *att_watched_get(const att_watched *watched)
{
    return &watched->coloured;
}
