/* RNN layers as benchmarks: forward and backward over a batch, as in a training step. */
#include "bench/bench.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "tape/op.h"
#include "tape/ops.h"

enum { SEQUENCES = 64, STEPS = 20, CHARACTERS = 30 };

typedef struct rnn_case {
    const char *name;
    const char *shape;
    att_rnn_cell cell;
    int64_t hidden_size;      /* of inputs and states */
    bool embedded_characters; /* the inputs are embedded characters, else arbitrary vectors */
} rnn_case;

#define SHAPE "64 sequences of 20, forward and backward"

static const rnn_case cases[] = {
    { "rnn/lstm/128", SHAPE, ATT_RNN_CELL_LSTM, 128, false },
    { "rnn/lstm/256", SHAPE, ATT_RNN_CELL_LSTM, 256, false },
    { "rnn/lstm/512", SHAPE, ATT_RNN_CELL_LSTM, 512, false },
    { "rnn/characters/128", SHAPE ", 30 characters", ATT_RNN_CELL_LSTM, 128, true },
    { "rnn/characters/256", SHAPE ", 30 characters", ATT_RNN_CELL_LSTM, 256, true },
    { "rnn/gru/256", SHAPE, ATT_RNN_CELL_GRU, 256, false },
    { "rnn/vanilla/256", SHAPE, ATT_RNN_CELL_VANILLA, 256, false },
};

/* The backward does twice the multiplications of the forward. The embedding of each character is
 * multiplied by the weights once, not once per occurrence. */
static void info(att_bench *out, size_t index)
{
    const rnn_case *c = &cases[index];
    double rows = SEQUENCES * STEPS, width = (double)c->hidden_size,
           gates = att_rnn_cell_gates(c->cell);
    double inputs = c->embedded_characters ? CHARACTERS : rows;
    *out = (att_bench){ .name = c->name,
                        .help = c->shape,
                        .limit = ATT_LIMIT_COMPUTE,
                        .flops = 3 * 2 * (rows + inputs) * width * gates * width,
                        .bytes = sizeof(float) * rows * width * (gates + 2),
                        .elements = rows * width };
}

enum { PARAM_W, PARAM_U, PARAM_BIAS, PARAM_TABLE, PARAMS };

typedef struct rnn_state {
    const rnn_case *which;
    att_params params;
    att_tape *tape;
    float *x;     /* [SEQUENCES, STEPS, width] */
    int32_t *ids; /* [SEQUENCES, STEPS] */
} rnn_state;

static att_status make_params(rnn_state *s, att_error *err)
{
    int64_t width = s->which->hidden_size, wide = att_rnn_cell_gates(s->which->cell) * width;
    const att_param rows[PARAMS] = {
        [PARAM_W] = { .name = "w", .rank = 2, .shape = { width, wide } },
        [PARAM_U] = { .name = "u", .rank = 2, .shape = { width, wide } },
        [PARAM_BIAS] = { .name = "bias", .rank = 1, .shape = { wide } },
        [PARAM_TABLE] = { .name = "table", .rank = 2, .shape = { CHARACTERS, width } },
    };
    for (int i = 0, at; i < PARAMS; i++) {
        att_param row = rows[i];
        row.init = row.rank == 2 ? ATT_INIT_GLOROT : ATT_INIT_ZERO;
        row.init_scale = 1;
        ATT_TRY(att_params_add(&s->params, &row, &at, err));
    }
    ATT_TRY(att_params_init(&s->params, 1, err));
    return att_params_alloc_grad(&s->params, err);
}

static att_status open_rnn(void **state, size_t index, att_error *err)
{
    rnn_state *s = att_alloc_zero(1, sizeof *s);
    *state = s;
    if (!s)
        return att_fail_memory(err);
    s->which = &cases[index];
    size_t places = SEQUENCES * STEPS, numbers = places * (size_t)s->which->hidden_size;
    s->x = att_alloc(numbers, sizeof *s->x);
    s->ids = att_alloc(places, sizeof *s->ids);
    if (!s->x || !s->ids)
        return att_fail_memory(err);
    att_bench_fill(s->x, numbers, 1);
    for (size_t i = 0; i < places; i++)
        s->ids[i] = (int32_t)(i * i % CHARACTERS);
    ATT_TRY(make_params(s, err));
    return att_tape_new_training(&s->tape, &s->params, err);
}

/* A training step: the weights count as changed, so that they are packed again; forward; backward.
 */
static att_status run_step(rnn_state *s, att_error *err)
{
    const int64_t shape[] = { SEQUENCES, STEPS, s->which->hidden_size };
    att_params_mark_changed(&s->params);
    att_tape_begin(s->tape, true, 1, 1);
    att_node *x = s->which->embedded_characters
                      ? att_embedding_lookup(s->tape, att_tape_param(s->tape, PARAM_TABLE),
                                             SEQUENCES, STEPS, s->ids)
                      : att_tape_variable(s->tape, 3, shape, s->x);
    const att_rnn_inputs in = { .x = x,
                                .w = att_tape_param(s->tape, PARAM_W),
                                .u = att_tape_param(s->tape, PARAM_U),
                                .bias = att_tape_param(s->tape, PARAM_BIAS) };
    att_node *out = att_rnn(s->tape, &in, &(att_rnn_options){ .cell = s->which->cell });
    float *grad = out ? att_node_grad(s->tape, out) : NULL;
    for (int64_t i = 0; grad && i < out->count; i++)
        grad[i] = 1;
    return grad ? att_tape_run_backward(s->tape, err) : att_tape_status(s->tape, err);
}

static att_status run_rnn(void *state, size_t times, att_error *err)
{
    for (; times > 0; times--)
        ATT_TRY(run_step(state, err));
    return ATT_OK;
}

static void close_rnn(void *state)
{
    rnn_state *s = state;
    if (!s)
        return;
    att_tape_free(s->tape);
    att_params_free(&s->params);
    att_free(s->x);
    att_free(s->ids);
    att_free(s);
}

const att_bench_suite att_bench_rnn = {
    .count = ATT_COUNT(cases),
    .info = info,
    .open = open_rnn,
    .run = run_rnn,
    .close = close_rnn,
};
