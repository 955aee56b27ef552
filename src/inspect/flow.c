/* How far a loss reaches back (handout 004): the gradient of the last token's loss with respect to
 * every state on the way to it.
 *
 * A recurrent layer is one operation of the tape, which gives no gradients of the states inside it.
 * So here a text is walked step by step, and to each state a variable of zeros is added, whose
 * gradient is then that of the state. */
#include "base/alloc.h"
#include "base/error.h"
#include "inspect/states.h"

#include <math.h>

struct att_flow {
    att_arena memory;
    int64_t count;
    double loss;
    int layers;
    att_curve *curves; /* [layers] */
};

typedef struct walk {
    const att_tower *tower;
    const att_spelt *text;
    att_tape *tape;
    int64_t count;                     /* states */
    att_node **nudge[ATT_MOST_LAYERS]; /* [count] the variables */
} walk;

/* One layer over one token's x [1,1,…]: its hidden state, and through `state` the whole of it. */
static att_node *step_layer(walk *w, int index, int64_t t, att_node *x, att_node **state)
{
    const att_cell_layer *layer = w->tower->layer[index];
    const int64_t shape[] = { 1, att_cell_states(layer->cell) * layer->width };
    att_node *recur = att_cell_layer_run(layer, w->tape, x, &(att_cell_run){ .start = *state });
    w->nudge[index][t] = att_tape_variable(w->tape, 2, shape, NULL);
    *state = att_add(w->tape, att_recur_end(w->tape, recur), w->nudge[index][t]);
    att_node *hidden = att_part(w->tape, *state, 0, layer->width);
    return att_reshape(w->tape, hidden, 3, (int64_t[]){ 1, 1, layer->width });
}

/* The last layer's hidden state before the last token. */
static att_node *walk_text(walk *w)
{
    att_node *state[ATT_MOST_LAYERS] = { NULL };
    att_embedding embedding = w->tower->embedding;
    embedding.dropout = 0; /* what is looked at is no lesson */
    att_node *x = NULL;
    for (int64_t t = 0; t < w->count; t++) {
        x = att_embedding_run(&embedding, w->tape, 1, 1, w->text->ids.items + t, t);
        for (int i = 0; i < w->tower->layers; i++)
            x = step_layer(w, i, t, x, &state[i]);
    }
    return x;
}

static double norm(const att_node *node)
{
    double sum = 0;
    for (int64_t i = 0; node->grad && i < node->count; i++)
        sum += (double)node->grad[i] * (double)node->grad[i];
    return sqrt(sum);
}

static att_status take_curves(att_flow *out, const walk *w, att_error *err)
{
    static const char *const names[] = {
        [ATT_CELL_RNN] = "RNN", [ATT_CELL_GRU] = "GRU", [ATT_CELL_LSTM] = "LSTM"
    };
    for (int i = 0; i < w->tower->layers; i++) {
        double *values = att_arena_take(&out->memory, (size_t)w->count, sizeof *values);
        char *name =
            att_arena_print(&out->memory, "%s, layer %d", names[w->tower->layer[i]->cell], i + 1);
        if (!values || !name)
            return att_fail_memory(err);
        for (int64_t t = 0; t < w->count; t++)
            values[t] = norm(w->nudge[i][t]);
        out->curves[i] = (att_curve){ name, values };
    }
    return ATT_OK;
}

static att_status work_out(att_flow *out, att_model *model, walk *w, att_error *err)
{
    float loss = 0;
    out->count = w->count;
    out->layers = w->tower->layers;
    out->curves = att_arena_take(&out->memory, (size_t)out->layers, sizeof *out->curves);
    if (!out->curves)
        return att_fail_memory(err);
    att_tape_begin(w->tape, true, 0, 0);
    for (int i = 0; i < out->layers; i++) {
        w->nudge[i] = att_tape_take(w->tape, w->count, sizeof *w->nudge[i]);
        if (!w->nudge[i])
            return att_tape_status(w->tape, err);
    }
    att_node *scores = w->tower->scores(model, w->tape, walk_text(w));
    att_node *last = att_cross_entropy(w->tape, scores, w->text->ids.items + w->count, 0, &loss);
    ATT_TRY(att_tape_status(w->tape, err));
    ATT_TRY(att_tape_backward(w->tape, last, 1, err));
    out->loss = (double)loss;
    return take_curves(out, w, err);
}

static att_status look_back(att_flow *out, att_model *model, const att_tower *tower,
                            const att_spelt *text, att_error *err)
{
    walk w = { .tower = tower, .text = text, .count = (int64_t)text->ids.count - 1 };
    if (w.count < 1)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the text has %zu token%s: the last is foreseen from others, and two are "
                        "the least",
                        text->ids.count, text->ids.count == 1 ? "" : "s");
    att_status status = att_tape_new(&w.tape, &model->params, err);
    if (status == ATT_OK)
        status = work_out(out, model, &w, err);
    att_tape_free(w.tape);
    return status;
}

att_status att_model_flow(att_flow **out, att_model *model, const char *text, size_t length,
                          att_error *err)
{
    att_tower tower;
    att_spelt spelt = { 0 };
    *out = NULL;
    ATT_TRY(att_model_tower(&tower, model, err));
    if (!tower.scores)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the model foresees no token of what it reads: a language model does");
    att_flow *flow = att_alloc_zero(1, sizeof *flow);
    att_status status =
        flow ? att_spell(&spelt, tower.words, text, length, err) : att_fail_memory(err);
    if (status == ATT_OK)
        status = look_back(flow, model, &tower, &spelt, err);
    att_spelt_free(&spelt);
    if (status == ATT_OK)
        *out = flow;
    else
        att_flow_free(flow);
    return status;
}

void att_flow_free(att_flow *flow)
{
    if (!flow)
        return;
    att_arena_free(&flow->memory);
    att_free(flow);
}

int64_t att_flow_count(const att_flow *flow)
{
    return flow->count;
}

double att_flow_loss(const att_flow *flow)
{
    return flow->loss;
}

size_t att_flow_layers(const att_flow *flow)
{
    return (size_t)flow->layers;
}

att_curve att_flow_get(const att_flow *flow, size_t layer)
{
    return layer < (size_t)flow->layers ? flow->curves[layer] : (att_curve){ 0 };
}
