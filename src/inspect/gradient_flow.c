/* Gradient flow of an RNN language model (handout 004): the gradient of the last token's loss with
 * respect to every earlier state, which shows vanishing and exploding gradients.
 *
 * An RNN layer is a single operation of the tape, which exposes no gradients of its inner states.
 * So the RNN is unrolled here one step at a time, and a variable of zeros is added to each state:
 * the gradient of that variable is the gradient of the state. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "inspect/unit_states.h"
#include "model/layer_check.h"

#include <math.h>

struct att_gradient_flow {
    att_arena arena;
    int64_t count;
    double loss;
    int layers;
    att_curve *curves; /* [layers] */
};

typedef struct unrolled_pass {
    const att_rnn_stack *stack;
    const att_encoding *encoding;
    att_tape *tape;
    int64_t count;                               /* states */
    att_node **state_deltas[ATT_MAX_RNN_LAYERS]; /* [count] the added zeros */
} unrolled_pass;

/* Runs one layer for one token x [1,1,…]. Returns its hidden state; *state is its whole state. */
static att_node *step_layer(unrolled_pass *w, int index, int64_t t, att_node *x, att_node **state)
{
    const att_rnn_layer *layer = w->stack->layer[index];
    const int64_t shape[] = { 1, att_rnn_cell_states(layer->cell) * layer->hidden_size };
    att_node *rnn =
        att_rnn_layer_run(layer, w->tape, x, &(att_rnn_layer_input){ .initial_state = *state });
    w->state_deltas[index][t] = att_tape_variable(w->tape, 2, shape, NULL);
    att_tape_name_layer(w->tape, rnn, "layer", index + 1);
    *state = att_add(w->tape, att_rnn_final_state(w->tape, rnn), w->state_deltas[index][t]);
    att_node *hidden = att_slice(w->tape, *state, 0, layer->hidden_size);
    return att_reshape(w->tape, hidden, 3, (int64_t[]){ 1, 1, layer->hidden_size });
}

/* Returns the hidden state of the last layer before the last token. */
static att_node *run_text(unrolled_pass *w)
{
    att_node *state[ATT_MAX_RNN_LAYERS] = { NULL };
    att_embedding embedding = w->stack->embedding;
    embedding.dropout = 0; /* inference: the tape records gradients, but nothing is trained */
    att_node *x = NULL;
    for (int64_t t = 0; t < w->count; t++, att_progress_poll()) {
        if (att_progress_cancelled())
            break;
        x = att_embedding_run(&embedding, w->tape, 1, 1, w->encoding->ids.items + t, t);
        att_tape_name_layer(w->tape, x, "embedding", 0);
        for (int i = 0; i < w->stack->layers; i++)
            x = step_layer(w, i, t, x, &state[i]);
    }
    return x;
}

static double gradient_norm(const att_node *node)
{
    double sum = 0;
    for (int64_t i = 0; node->grad && i < node->count; i++)
        sum += (double)node->grad[i] * (double)node->grad[i];
    return sqrt(sum);
}

static att_status make_curves(att_gradient_flow *out, const unrolled_pass *w, att_error *err)
{
    static const char *const names[] = {
        [ATT_RNN_CELL_VANILLA] = "RNN", [ATT_RNN_CELL_GRU] = "GRU", [ATT_RNN_CELL_LSTM] = "LSTM"
    };
    for (int i = 0; i < w->stack->layers; i++) {
        double *values = att_arena_alloc(&out->arena, (size_t)w->count, sizeof *values);
        char *name =
            att_arena_printf(&out->arena, "%s, layer %d", names[w->stack->layer[i]->cell], i + 1);
        if (!values || !name)
            return att_fail_memory(err);
        for (int64_t t = 0; t < w->count; t++) {
            values[t] = gradient_norm(w->state_deltas[i][t]);
            if (!isfinite(values[t]))
                return att_fail(err, ATT_BAD_INPUT, NULL,
                                "layer %d: its gradient at token %lld is not finite; the weights "
                                "of the model are too large or damaged",
                                i + 1, (long long)t + 1);
        }
        out->curves[i] = (att_curve){ name, values };
    }
    return ATT_OK;
}

static att_status check_loss(const att_tape *tape, double loss, att_error *err)
{
    ATT_TRY(att_layer_check(tape, err));
    if (isfinite(loss))
        return ATT_OK;
    att_status status = att_layer_fail(tape, 0, 1, -loss, err);
    att_layer_error_line(status, NULL, err);
    return status;
}

static att_status compute_gradients(att_gradient_flow *out, const att_model *model,
                                    unrolled_pass *w, att_error *err)
{
    float loss = 0;
    out->count = w->count;
    out->layers = w->stack->layers;
    out->curves = att_arena_alloc(&out->arena, (size_t)out->layers, sizeof *out->curves);
    if (!out->curves)
        return att_fail_memory(err);
    att_tape_begin(w->tape, true, 0, 0);
    for (int i = 0; i < out->layers; i++) {
        w->state_deltas[i] = att_tape_alloc(w->tape, w->count, sizeof *w->state_deltas[i]);
        if (!w->state_deltas[i])
            return att_tape_status(w->tape, err);
    }
    att_node *top = run_text(w);
    ATT_TRY(att_progress_check(err));
    att_node *logits = w->stack->logits(model, w->tape, top);
    att_node *last = att_cross_entropy(w->tape, logits, w->encoding->ids.items + w->count,
                                       (att_loss_terms){ 0 }, &loss);
    ATT_TRY(att_tape_status(w->tape, err));
    ATT_TRY(check_loss(w->tape, (double)loss, err));
    ATT_TRY(att_tape_backward(w->tape, last, 1, err));
    ATT_TRY(att_progress_check(err));
    out->loss = (double)loss;
    return make_curves(out, w, err);
}

static att_status compute_flow(att_gradient_flow *out, const att_model *model,
                               const att_rnn_stack *stack, const att_encoding *text, att_error *err)
{
    unrolled_pass w = { .stack = stack, .encoding = text, .count = (int64_t)text->ids.count - 1 };
    if (w.count < 1)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the text has %zu token%s, expected at least 2",
                        text->ids.count, text->ids.count == 1 ? "" : "s");
    att_status status = att_tape_new(&w.tape, &model->params, err);
    if (status == ATT_OK)
        status = compute_gradients(out, model, &w, err);
    att_tape_free(w.tape);
    return status;
}

att_status att_model_gradient_flow(att_gradient_flow **out, const att_model *model,
                                   const char *text, size_t length, att_error *err)
{
    att_rnn_stack stack;
    att_encoding encoding = { 0 };
    *out = NULL;
    ATT_TRY(att_model_require_float(model, NULL, "gradient flow", err));
    ATT_TRY(att_model_rnn_stack(&stack, model, err));
    if (!stack.logits)
        return att_fail(err, ATT_BAD_INPUT, NULL, "gradient flow needs an RNN language model");
    att_gradient_flow *flow = att_alloc_zero(1, sizeof *flow);
    att_progress_scope scope;
    att_progress_begin_operation(&scope, "computing the gradient flow");
    att_status status = flow ? att_encoding_new(&encoding, stack.vocab, NULL, text, length, err)
                             : att_fail_memory(err);
    if (status == ATT_OK)
        status = compute_flow(flow, model, &stack, &encoding, err);
    status = att_progress_end(&scope, status, err);
    att_encoding_free(&encoding);
    if (status == ATT_OK)
        *out = flow;
    else
        att_gradient_flow_free(flow);
    return status;
}

void att_gradient_flow_free(att_gradient_flow *flow)
{
    if (!flow)
        return;
    att_arena_free(&flow->arena);
    att_free(flow);
}

int64_t att_gradient_flow_count(const att_gradient_flow *flow)
{
    return flow->count;
}

double att_gradient_flow_loss(const att_gradient_flow *flow)
{
    return flow->loss;
}

size_t att_gradient_flow_layers(const att_gradient_flow *flow)
{
    return (size_t)flow->layers;
}

const att_curve *att_gradient_flow_get(const att_gradient_flow *flow, size_t layer)
{
    return layer < (size_t)flow->layers ? &flow->curves[layer] : NULL;
}
