/* Runs an RNN stack over several ranges of a text in parallel, one row of a batch per range, chunk
 * by chunk, and reports the activations of all units after each token. */
#include "inspect/unit_states.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "model/layer_check.h"

#include <string.h>

enum { STEPS_PER_CHUNK = 64 };

/* The state of a run: each range is a row, and all rows advance together. */
typedef struct state_reader {
    const att_rnn_stack *stack;
    const att_encoding *encoding;
    const att_states_options *options;
    att_unit_signal signal;
    att_tape *tape;
    int64_t steps;                             /* of the longest row, including its warm-up */
    int32_t *ids;                              /* [rows, STEPS_PER_CHUNK] */
    float *units;                              /* [layers N] after one token */
    float *carried_states[ATT_MAX_RNN_LAYERS]; /* [rows, states N] between chunks */
    const float *values[ATT_MAX_RNN_LAYERS];   /* [rows, count, N] in the current chunk */
} state_reader;

att_status att_states_resolve_signal(att_unit_signal *signal, const att_rnn_stack *stack,
                                     att_error *err)
{
    bool has_cell = stack->layer[0]->cell == ATT_RNN_CELL_LSTM;
    if (*signal == ATT_SIGNAL_DEFAULT)
        *signal = has_cell ? ATT_SIGNAL_CELL : ATT_SIGNAL_HIDDEN;
    if (*signal == ATT_SIGNAL_CELL && !has_cell)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the RNN has no cell state: only an LSTM has one");
    return ATT_OK;
}

/* The token that a row reads at a step; negative: none. */
static int64_t token_at(const state_reader *r, int64_t row, int64_t step)
{
    const att_token_range *range = &r->options->ranges[row];
    int64_t token = range->first - r->options->warmup_tokens + step;
    return token < range->end ? token : -1;
}

static void fill_ids(state_reader *r, int64_t first, int64_t count)
{
    for (int64_t row = 0; row < r->options->count; row++)
        for (int64_t t = 0; t < count; t++) {
            int64_t token = token_at(r, row, first + t);
            r->ids[row * count + t] = token >= 0 ? r->encoding->ids.items[token] : ATT_ID_PAD;
        }
}

/* Runs one layer over x [rows,count,…]. Returns its hidden states and stores the signal in
 * `values`. */
static att_node *run_layer(state_reader *r, int index, att_node *x)
{
    const att_rnn_layer *layer = r->stack->layer[index];
    int64_t width = att_rnn_cell_states(layer->cell) * layer->hidden_size;
    const int64_t shape[] = { r->options->count, width };
    att_node *start = att_tape_input(r->tape, 2, shape, r->carried_states[index]);
    att_node *hidden =
        att_rnn_layer_run(layer, r->tape, x, &(att_rnn_layer_input){ .initial_state = start });
    att_node *end = att_rnn_final_state(r->tape, hidden), *signal = hidden;
    if (r->signal == ATT_SIGNAL_CELL) {
        att_node *cells = att_slice(r->tape, att_rnn_all_states(r->tape, hidden),
                                    layer->hidden_size, layer->hidden_size);
        signal = att_activate(r->tape, cells, ATT_ACTIVATION_TANH);
    }
    att_tape_name_layer(r->tape, signal, "layer", index + 1);
    if (end && signal) {
        memcpy(r->carried_states[index], end->value, (size_t)(shape[0] * width) * sizeof(float));
        r->values[index] = signal->value;
    }
    return hidden;
}

/* Resets the state of rows that have not started yet, which was advanced over padding: the first
 * range of a text has no tokens before it to warm up with. */
static void reset_unstarted_rows(state_reader *r, int64_t step)
{
    for (int64_t row = 0; row < r->options->count; row++) {
        if (r->options->ranges[row].first - r->options->warmup_tokens + step > 0)
            continue;
        for (int i = 0; i < r->stack->layers; i++) {
            size_t width = (size_t)(att_rnn_cell_states(r->stack->layer[i]->cell) *
                                    r->stack->layer[i]->hidden_size);
            memset(r->carried_states[i] + (size_t)row * width, 0, width * sizeof(float));
        }
    }
}

static void emit_token(state_reader *r, int64_t row, int64_t t, int64_t count, int64_t token)
{
    size_t width = (size_t)r->stack->hidden_size;
    for (int i = 0; i < r->stack->layers; i++)
        memcpy(r->units + (size_t)i * width, r->values[i] + (size_t)(row * count + t) * width,
               width * sizeof(float));
    r->options->on_token(r->options->context, row, token, r->units);
}

static void emit_chunk(state_reader *r, int64_t first, int64_t count)
{
    for (int64_t row = 0; row < r->options->count; row++)
        for (int64_t t = 0; t < count; t++) {
            int64_t token = token_at(r, row, first + t);
            if (token >= r->options->ranges[row].first)
                emit_token(r, row, t, count, token);
        }
}

static att_status read_chunk(state_reader *r, int64_t first, int64_t count, att_error *err)
{
    reset_unstarted_rows(r, first);
    fill_ids(r, first, count);
    att_tape_begin(r->tape, false, 0, 0);
    att_node *x =
        att_embedding_run(&r->stack->embedding, r->tape, r->options->count, count, r->ids, first);
    att_tape_name_layer(r->tape, x, "embedding", 0);
    for (int i = 0; i < r->stack->layers; i++)
        x = run_layer(r, i, x);
    ATT_TRY(att_tape_status(r->tape, err));
    ATT_TRY(att_layer_check(r->tape, err));
    emit_chunk(r, first, count);
    return ATT_OK;
}

static att_status open_reader(state_reader *r, const att_model *model, att_error *err)
{
    int64_t rows = r->options->count;
    for (int64_t i = 0; i < rows; i++) {
        const att_token_range *range = &r->options->ranges[i];
        int64_t steps = range->end - range->first + r->options->warmup_tokens;
        r->steps = att_max_i64(r->steps, steps);
    }
    r->ids = att_alloc((size_t)rows, STEPS_PER_CHUNK * sizeof *r->ids);
    r->units =
        att_alloc((size_t)r->stack->layers, (size_t)r->stack->hidden_size * sizeof *r->units);
    bool ok = r->ids && r->units;
    for (int i = 0; i < r->stack->layers; i++) {
        const att_rnn_layer *layer = r->stack->layer[i];
        size_t width = (size_t)(att_rnn_cell_states(layer->cell) * layer->hidden_size);
        r->carried_states[i] = att_alloc_zero((size_t)rows, width * sizeof(float));
        ok = ok && r->carried_states[i];
    }
    return ok ? att_tape_new(&r->tape, &model->params, err) : att_fail_memory(err);
}

static void close_reader(state_reader *r)
{
    att_tape_free(r->tape);
    att_free(r->ids);
    att_free(r->units);
    for (int i = 0; i < r->stack->layers; i++)
        att_free(r->carried_states[i]);
}

/* A chunk ends where a row starts, so that the row can be reset there. */
static int64_t chunk_length(const state_reader *r, int64_t step)
{
    int64_t count = att_min_i64(r->steps - step, STEPS_PER_CHUNK);
    for (int64_t row = 0; row < r->options->count; row++) {
        int64_t start = r->options->warmup_tokens - r->options->ranges[row].first;
        if (start > step && start - step < count)
            count = start - step;
    }
    return count;
}

att_status att_states_run(const att_model *model, const att_rnn_stack *stack,
                          const att_encoding *text, const att_states_options *options,
                          att_error *err)
{
    state_reader r = {
        .stack = stack, .encoding = text, .options = options, .signal = options->signal
    };
    ATT_TRY(att_states_resolve_signal(&r.signal, stack, err));
    att_status status = open_reader(&r, model, err);
    for (int64_t step = 0, count; status == ATT_OK && step < r.steps; step += count) {
        status = att_progress_check(err);
        if (status != ATT_OK)
            break;
        count = chunk_length(&r, step);
        status = read_chunk(&r, step, count, err);
    }
    close_reader(&r);
    return status;
}
