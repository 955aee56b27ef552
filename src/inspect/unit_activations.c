/* The activation of one RNN unit after each token of a text (att_model_unit_activations). */
#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "inspect/unit_states.h"

struct att_unit_activations {
    att_arena arena;
    att_highlight highlight;
    double *values;
};

typedef struct activation_recorder {
    double *values;
    int64_t unit; /* index among the units of all layers, from 0 */
} activation_recorder;

static void record_activation(void *context, int64_t row, int64_t token, const float *units)
{
    const activation_recorder *recorder = context;
    (void)row;
    recorder->values[token] = (double)units[recorder->unit];
}

/* The index of a unit among the units of all layers. */
static att_status find_unit(int64_t *out, const att_rnn_stack *stack, att_layer_unit unit,
                            att_error *err)
{
    if (unit.layer < 1 || unit.layer > stack->layers)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no layer %lld: the model has %d",
                        (long long)unit.layer, stack->layers);
    if (unit.unit < 1 || unit.unit > stack->hidden_size)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no unit %lld: a layer has %lld",
                        (long long)unit.unit, (long long)stack->hidden_size);
    *out = (unit.layer - 1) * stack->hidden_size + unit.unit - 1;
    return ATT_OK;
}

static att_status make_highlight(att_unit_activations *out, const att_encoding *text,
                                 att_layer_unit unit, att_unit_signal signal, att_error *err)
{
    int64_t count = (int64_t)text->ids.count;
    const char **tokens = att_encoding_token_strings(text, 0, count, &out->arena);
    char *title = att_arena_printf(&out->arena, "layer %lld, unit %lld: %s", (long long)unit.layer,
                                   (long long)unit.unit,
                                   signal == ATT_SIGNAL_CELL ? "cell state" : "hidden state");
    out->highlight = (att_highlight){
        .title = title, .count = count, .tokens = tokens, .values = out->values, .max_value = 1
    };
    return tokens && title ? ATT_OK : att_fail_memory(err);
}

static att_status record_unit(att_unit_activations *out, const att_model *model,
                              const att_rnn_stack *stack, const att_encoding *text,
                              att_layer_unit unit, att_unit_signal signal, att_error *err)
{
    int64_t count = (int64_t)text->ids.count;
    const att_token_range all = { 0, count };
    activation_recorder recorder = { 0 };
    ATT_TRY(find_unit(&recorder.unit, stack, unit, err));
    ATT_TRY(att_states_resolve_signal(&signal, stack, err));
    if (count == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the input has no tokens");
    recorder.values = out->values =
        att_arena_alloc(&out->arena, (size_t)count, sizeof *out->values);
    if (!recorder.values)
        return att_fail_memory(err);
    const att_states_options options = { .signal = signal,
                                         .ranges = &all,
                                         .count = 1,
                                         .on_token = record_activation,
                                         .context = &recorder };
    ATT_TRY(att_states_run(model, stack, text, &options, err));
    return make_highlight(out, text, unit, signal, err);
}

att_status att_model_unit_activations(att_unit_activations **out, const att_model *model,
                                      const char *text, size_t length, att_layer_unit unit,
                                      att_unit_signal signal, att_error *err)
{
    att_rnn_stack stack;
    att_encoding encoding = { 0 };
    *out = NULL;
    ATT_TRY(att_model_rnn_stack(&stack, model, err));
    att_unit_activations *result = att_alloc_zero(1, sizeof *result);
    att_progress_scope scope;
    att_progress_begin(&scope, "recording a unit", 0);
    att_status status = result ? att_encoding_new(&encoding, stack.vocab, NULL, text, length, err)
                               : att_fail_memory(err);
    if (status == ATT_OK)
        status = record_unit(result, model, &stack, &encoding, unit, signal, err);
    status = att_progress_end(&scope, status, err);
    att_encoding_free(&encoding);
    if (status == ATT_OK)
        *out = result;
    else
        att_unit_activations_free(result);
    return status;
}

void att_unit_activations_free(att_unit_activations *activations)
{
    if (!activations)
        return;
    att_arena_free(&activations->arena);
    att_free(activations);
}

const att_highlight *att_unit_activations_get(const att_unit_activations *activations)
{
    return &activations->highlight;
}
