/* What one attention of a Transformer looks at in a line, for whoever works it out or draws it; see
 * look.h and attend.h. */
#include "decode/look.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

/* ---- the choice */

static att_status fail_choice(const char *what, int64_t asked, int64_t most, att_error *err)
{
    return att_fail(err, ATT_BAD_INPUT, NULL, "there is no %s %lld: the model has %lld", what,
                    (long long)asked, (long long)most);
}

static att_status choose(att_looking *l, const att_head_choice *which, int64_t usual,
                         att_error *err)
{
    const att_settings *settings = l->model->settings;
    if (l->model->family != &att_transformer_family)
        return att_fail(
            err, ATT_BAD_INPUT, NULL,
            "the model is %s: heads can be looked at in a transformer that answers lines",
            l->model->family->name);
    int64_t layers = l->part == ATT_PART_ENCODER ? settings->layers : settings->decoder_layers;
    int64_t layer = which->layer > 0 ? which->layer : usual > 0 ? usual : layers;
    if (layer > layers)
        return fail_choice("layer", layer, layers, err);
    if (which->head > settings->heads)
        return fail_choice("head", which->head, settings->heads, err);
    l->layer = layer - 1;
    return ATT_OK;
}

/* ---- tokens */

static att_status take_target(att_looking *l, const att_head_choice *which, att_error *err)
{
    if (att_ids_add(&l->target, ATT_ID_START) != ATT_OK)
        return att_fail_memory(err);
    if (l->part == ATT_PART_ENCODER)
        return ATT_OK;
    const att_vocab *words = l->model->target_words;
    if (which->target)
        return att_vocab_encode(words, &l->target, which->target, strlen(which->target), err);
    att_answers *answers;
    const att_answer_how how = { 0 };
    ATT_TRY(att_model_answer(&answers, l->model, &which->input, 1, &how, err));
    const char *text = att_answers_get(answers, 0)->text;
    att_status status = att_vocab_encode(words, &l->target, text, strlen(text), err);
    att_answers_free(answers);
    return status;
}

static att_status take_tokens(att_looking *l, const att_head_choice *which, size_t most,
                              att_error *err)
{
    ATT_TRY(att_vocab_encode(l->model->source_words, &l->source, which->input, strlen(which->input),
                             err));
    ATT_TRY(take_target(l, which, err));
    if (l->source.count == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the input has no tokens");
    if (most > 0 && (l->source.count > most || l->target.count > most))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the line has %zu source and %zu target tokens, too many for a sheet: at "
                        "most %zu",
                        l->source.count, l->target.count, most);
    return ATT_OK;
}

/* ---- the model at work */

/* Runs the model once over the line, with an eye on the layer. */
static att_status run_model(att_looking *l, att_error *err)
{
    const int64_t lengths[] = { (int64_t)l->source.count, (int64_t)l->target.count };
    att_run run = { .parts = l->model->parts, .tape = l->tape, .watch = &l->watch };
    l->watch = (att_watch){ .part = l->part, .layer = (int)l->layer };
    att_transformer_encode(&run,
                           att_stretch_new(l->tape, 1, lengths[0], &lengths[0], l->source.items));
    const att_stretch *target =
        att_stretch_new(l->tape, 1, lengths[1], &lengths[1], l->target.items);
    if (target && l->part != ATT_PART_ENCODER) {
        run.query_offsets = target->offsets;
        (void)att_transformer_decode(&run, target);
    }
    l->weights = att_attend_weights(l->tape, l->watch.attended);
    return att_tape_status(l->tape, err);
}

att_status att_looking_begin(att_looking *looking, att_model *model, const att_head_choice *which,
                             int64_t usual, size_t most, att_error *err)
{
    *looking = (att_looking){ .model = model, .part = which->part };
    ATT_TRY(choose(looking, which, usual, err));
    ATT_TRY(take_tokens(looking, which, most, err));
    ATT_TRY(att_tape_new(&looking->tape, &model->params, err));
    return run_model(looking, err);
}

void att_looking_end(att_looking *looking)
{
    att_tape_free(looking->tape);
    att_ids_free(&looking->source);
    att_ids_free(&looking->target);
}

/* ---- to draw */

struct att_gaze {
    att_map map;
    att_arena memory;
};

static const char **labels(att_arena *memory, const att_vocab *words, const att_ids *ids)
{
    const char **out = att_arena_take(memory, ids->count, sizeof *out);
    for (size_t i = 0; out && i < ids->count; i++) {
        const char *word = att_vocab_word(words, ids->items[i]);
        out[i] = att_arena_copy(memory, word, strlen(word));
        if (!out[i])
            return NULL;
    }
    return out;
}

/* The weights of heads from..end-1: each for itself, or their mean. */
static void fill(double *out, const att_node *weights, int64_t from, int64_t end, bool each)
{
    int64_t cells = weights->shape[2] * weights->shape[3];
    for (int64_t h = from; h < end; h++)
        for (int64_t i = 0; i < cells; i++) {
            double weight = (double)weights->value[h * cells + i];
            if (each)
                out[(h - from) * cells + i] = weight;
            else
                out[i] += weight / (double)(end - from);
        }
}

static att_status draw(att_gaze *look, const att_looking *l, const att_head_choice *which,
                       bool every_head, att_error *err)
{
    int64_t heads = l->weights->shape[1];
    int64_t from = which->head > 0 ? which->head - 1 : 0, end = which->head > 0 ? from + 1 : heads;
    const att_ids *queries = l->part == ATT_PART_ENCODER ? &l->source : &l->target;
    const att_ids *keys = l->part == ATT_PART_DECODER ? &l->target : &l->source;
    const att_vocab *words[] = { l->model->source_words, l->model->target_words };
    int64_t panels = every_head ? end - from : 1;
    size_t cells = queries->count * keys->count;
    double *weights = att_arena_take(&look->memory, (size_t)panels, cells * sizeof *weights);
    const char **rows = labels(&look->memory, words[queries == &l->target], queries);
    const char **columns = labels(&look->memory, words[keys == &l->target], keys);
    if (!weights || !rows || !columns)
        return att_fail_memory(err);
    fill(weights, l->weights, from, end, every_head);
    look->map = (att_map){ .panels = panels,
                           .queries = (int64_t)queries->count,
                           .keys = (int64_t)keys->count,
                           .weights = weights,
                           .query_labels = rows,
                           .key_labels = columns,
                           .query_name = queries == &l->target ? "answer" : "input",
                           .key_name = keys == &l->target ? "answer" : "input" };
    return ATT_OK;
}

att_status att_model_gaze(att_gaze **out, att_model *model, const att_head_choice *which,
                          bool every_head, att_error *err)
{
    *out = NULL;
    att_looking looking;
    att_gaze *look = att_alloc_zero(1, sizeof *look);
    if (!look)
        return att_fail_memory(err);
    att_status status = att_looking_begin(&looking, model, which, 0, 0, err);
    if (status == ATT_OK)
        status = draw(look, &looking, which, every_head, err);
    att_looking_end(&looking);
    if (status == ATT_OK)
        *out = look;
    else
        att_gaze_free(look);
    return status;
}

void att_gaze_free(att_gaze *look)
{
    if (!look)
        return;
    att_arena_free(&look->memory);
    att_free(look);
}

const att_map *att_gaze_map(const att_gaze *look)
{
    return &look->map;
}
