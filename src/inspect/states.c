/* Reading stretches of a text side by side; see states.h. */
#include "inspect/states.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

enum { CHUNK = 64 }; /* steps at a time */

/* A reading under way: stretches are rows, which go on in step. */
typedef struct reading {
    const att_tower *tower;
    const att_spelt *text;
    const att_states_how *how;
    att_signal signal;
    att_tape *tape;
    int64_t steps;                        /* of the longest row, its warming up included */
    int32_t *ids;                         /* [rows, CHUNK] */
    float *units;                         /* [layers N] of one place */
    float *carry[ATT_MOST_LAYERS];        /* [rows, states N] where a layer stands */
    const float *values[ATT_MOST_LAYERS]; /* [rows, count, N] of the chunk */
} reading;

att_status att_states_signal(att_signal *signal, const att_tower *tower, att_error *err)
{
    bool has_cell = tower->layer[0]->cell == ATT_CELL_LSTM;
    if (*signal == ATT_SIGNAL_USUAL)
        *signal = has_cell ? ATT_SIGNAL_CELL : ATT_SIGNAL_HIDDEN;
    if (*signal == ATT_SIGNAL_CELL && !has_cell)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the model's layers have a hidden state alone: an LSTM has cells");
    return ATT_OK;
}

/* The token that a row reads at a step; below 0: none. */
static int64_t token_at(const reading *r, int64_t row, int64_t step)
{
    const att_stretch *stretch = &r->how->stretch[row];
    int64_t token = stretch->first - r->how->warm + step;
    return token < stretch->end ? token : -1;
}

static void fill_ids(reading *r, int64_t first, int64_t count)
{
    for (int64_t row = 0; row < r->how->count; row++)
        for (int64_t t = 0; t < count; t++) {
            int64_t token = token_at(r, row, first + t);
            r->ids[row * count + t] = token >= 0 ? r->text->ids.items[token] : ATT_ID_NONE;
        }
}

/* One layer over x [rows,count,…]: its hidden states; what is looked at goes to `values`. */
static att_node *run_layer(reading *r, int index, att_node *x)
{
    const att_cell_layer *layer = r->tower->layer[index];
    int64_t width = att_cell_states(layer->cell) * layer->width;
    const int64_t shape[] = { r->how->count, width };
    att_node *start = att_tape_input(r->tape, 2, shape, r->carry[index]);
    att_node *hidden = att_cell_layer_run(layer, r->tape, x, &(att_cell_run){ .start = start });
    att_node *end = att_recur_end(r->tape, hidden), *seen = hidden;
    if (r->signal == ATT_SIGNAL_CELL) {
        att_node *cells =
            att_part(r->tape, att_recur_states(r->tape, hidden), layer->width, layer->width);
        seen = att_activate(r->tape, cells, ATT_ACTIVATION_TANH);
    }
    if (end && seen) {
        memcpy(r->carry[index], end->value, (size_t)(shape[0] * width) * sizeof(float));
        r->values[index] = seen->value;
    }
    return hidden;
}

/* A row that has not begun stands at the start, whatever steps over nothing did to it: the first
 * stretch of a text has nothing before it to warm up with. */
static void hold_back(reading *r, int64_t step)
{
    for (int64_t row = 0; row < r->how->count; row++) {
        if (r->how->stretch[row].first - r->how->warm + step > 0)
            continue;
        for (int i = 0; i < r->tower->layers; i++) {
            size_t width =
                (size_t)(att_cell_states(r->tower->layer[i]->cell) * r->tower->layer[i]->width);
            memset(r->carry[i] + (size_t)row * width, 0, width * sizeof(float));
        }
    }
}

static void show_place(reading *r, int64_t row, int64_t t, int64_t count, int64_t token)
{
    size_t width = (size_t)r->tower->width;
    for (int i = 0; i < r->tower->layers; i++)
        memcpy(r->units + (size_t)i * width, r->values[i] + (size_t)(row * count + t) * width,
               width * sizeof(float));
    r->how->visit(r->how->context, row, token, r->units);
}

static void show_chunk(reading *r, int64_t first, int64_t count)
{
    for (int64_t row = 0; row < r->how->count; row++)
        for (int64_t t = 0; t < count; t++) {
            int64_t token = token_at(r, row, first + t);
            if (token >= r->how->stretch[row].first)
                show_place(r, row, t, count, token);
        }
}

static att_status read_chunk(reading *r, int64_t first, int64_t count, att_error *err)
{
    hold_back(r, first);
    fill_ids(r, first, count);
    att_tape_begin(r->tape, false, 0, 0);
    att_node *x =
        att_embedding_run(&r->tower->embedding, r->tape, r->how->count, count, r->ids, first);
    for (int i = 0; i < r->tower->layers; i++)
        x = run_layer(r, i, x);
    ATT_TRY(att_tape_status(r->tape, err));
    show_chunk(r, first, count);
    return ATT_OK;
}

static att_status open_reading(reading *r, att_model *model, att_error *err)
{
    int64_t rows = r->how->count;
    for (int64_t i = 0; i < rows; i++) {
        const att_stretch *stretch = &r->how->stretch[i];
        int64_t steps = stretch->end - stretch->first + r->how->warm;
        r->steps = steps > r->steps ? steps : r->steps;
    }
    r->ids = att_alloc((size_t)rows, CHUNK * sizeof *r->ids);
    r->units = att_alloc((size_t)r->tower->layers, (size_t)r->tower->width * sizeof *r->units);
    bool ok = r->ids && r->units;
    for (int i = 0; i < r->tower->layers; i++) {
        const att_cell_layer *layer = r->tower->layer[i];
        size_t width = (size_t)(att_cell_states(layer->cell) * layer->width);
        r->carry[i] = att_alloc_zero((size_t)rows, width * sizeof(float));
        ok = ok && r->carry[i];
    }
    return ok ? att_tape_new(&r->tape, &model->params, err) : att_fail_memory(err);
}

static void close_reading(reading *r)
{
    att_tape_free(r->tape);
    att_free(r->ids);
    att_free(r->units);
    for (int i = 0; i < r->tower->layers; i++)
        att_free(r->carry[i]);
}

/* Chunks end where a row begins, so that it can be held back until there. */
static int64_t chunk_from(const reading *r, int64_t step)
{
    int64_t count = r->steps - step < CHUNK ? r->steps - step : CHUNK;
    for (int64_t row = 0; row < r->how->count; row++) {
        int64_t begins = r->how->warm - r->how->stretch[row].first;
        if (begins > step && begins - step < count)
            count = begins - step;
    }
    return count;
}

att_status att_states_read(att_model *model, const att_tower *tower, const att_spelt *text,
                           const att_states_how *how, att_error *err)
{
    reading r = { .tower = tower, .text = text, .how = how, .signal = how->signal };
    ATT_TRY(att_states_signal(&r.signal, tower, err));
    att_status status = open_reading(&r, model, err);
    for (int64_t step = 0, count; status == ATT_OK && step < r.steps; step += count) {
        count = chunk_from(&r, step);
        status = read_chunk(&r, step, count, err);
    }
    close_reading(&r);
    return status;
}
