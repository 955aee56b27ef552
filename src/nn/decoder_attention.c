/* The attention of an RNN decoder: the parts of each mechanism (dot, general, additive, location,
 * local, coverage), its parameters, and its run on a tape. */
#include "nn/decoder_attention.h"

#include "base/error.h"

#define PREFIX "attention"

/* The parts of each mechanism. */
static const struct {
    att_score score;
    bool projects_keys; /* general: qᵀ W k is the dot product of q and W k, so that keys = W values
                           are computed once */
    bool additive;      /* w, u, b and v of the additive score: keys = u values are computed once,
                           queries = w states + b */
} mechanisms[] = {
    [ATT_MECHANISM_DOT] = { ATT_SCORE_DOT, false, false },
    [ATT_MECHANISM_SCALED] = { ATT_SCORE_SCALED, false, false },
    [ATT_MECHANISM_GENERAL] = { ATT_SCORE_DOT, true, false },
    [ATT_MECHANISM_ADDITIVE] = { ATT_SCORE_ADDITIVE, false, true },
    [ATT_MECHANISM_CONCAT] = { ATT_SCORE_CONCAT, false, false },
    [ATT_MECHANISM_LOCATION] = { ATT_SCORE_LOCATION, false, false },
    [ATT_MECHANISM_LOCAL] = { ATT_SCORE_DOT, true, false },
    [ATT_MECHANISM_COVERAGE] = { ATT_SCORE_ADDITIVE, false, true },
};

static void build_additive(att_decoder_attention *out, att_param_builder *builder)
{
    int64_t n = out->hidden_size;
    out->w = att_build_matrix_packed(builder, n, n, ATT_PACK_TRANSPOSED, PREFIX, "w");
    out->u = att_build_matrix_packed(builder, n, n, ATT_PACK_TRANSPOSED, PREFIX, "u");
    out->b = att_build_zeros(builder, out->hidden_size, PREFIX, "b");
    out->v = att_build_vector(builder, out->hidden_size, PREFIX, "v");
}

static void build_window(att_decoder_attention *out, att_param_builder *builder)
{
    out->window_w =
        att_build_matrix(builder, out->hidden_size, out->hidden_size, PREFIX, "place.w");
    out->window_v = att_build_matrix(builder, out->hidden_size, 1, PREFIX, "place.v");
}

static void build_location(att_decoder_attention *out, att_param_builder *builder)
{
    out->w = att_build_matrix_packed(builder, out->max_source_length, out->hidden_size, 0, PREFIX,
                                     "w"); /* the attention itself multiplies by it */
    out->b = att_build_zeros(builder, out->max_source_length, PREFIX, "b");
}

void att_decoder_attention_build(att_decoder_attention *out, att_param_builder *builder,
                                 const att_settings *settings)
{
    enum { NO = ATT_NO_PARAM };
    *out = (att_decoder_attention){
        .mechanism = (att_attention_mechanism)settings->attention,
        .normalizer = (att_normalizer)settings->normalizer,
        .hidden_size = settings->hidden_size,
        .window = (float)(settings->attention_window / 2), /* half the width: Luong et al. 2015 */
        .max_source_length =
            settings->attention == ATT_MECHANISM_LOCATION ? settings->max_length : 0,
        .guided_alignment = settings->guided_alignment != NULL,
        .copies = att_settings_copies(settings),
        .key_projection = NO,
        .w = NO,
        .u = NO,
        .b = NO,
        .v = NO,
        .window_w = NO,
        .window_v = NO,
        .coverage_weight = NO,
    };
    if (out->mechanism == ATT_MECHANISM_NONE || out->mechanism == ATT_MECHANISM_FIXED)
        return;
    if (mechanisms[out->mechanism].projects_keys)
        out->key_projection =
            att_build_matrix(builder, out->hidden_size, out->hidden_size, PREFIX, "key");
    if (mechanisms[out->mechanism].additive)
        build_additive(out, builder);
    if (out->mechanism == ATT_MECHANISM_CONCAT)
        out->v = att_build_vector(builder, 2 * out->hidden_size, PREFIX, "v");
    if (out->mechanism == ATT_MECHANISM_LOCATION)
        build_location(out, builder);
    if (out->mechanism == ATT_MECHANISM_LOCAL)
        build_window(out, builder);
    if (out->mechanism == ATT_MECHANISM_COVERAGE)
        out->coverage_weight = att_build_zeros(builder, 1, PREFIX, "covered");
}

static att_node *param(att_tape *tape, int index)
{
    return index == ATT_NO_PARAM ? NULL : att_tape_param(tape, index);
}

att_node *att_decoder_attention_keys(const att_decoder_attention *attention, att_tape *tape,
                                     att_node *values)
{
    if (mechanisms[attention->mechanism].additive)
        return att_linear(tape, values, param(tape, attention->u), NULL, ATT_ACTIVATION_NONE, true);
    if (mechanisms[attention->mechanism].projects_keys)
        return att_linear(tape, values, param(tape, attention->key_projection), NULL,
                          ATT_ACTIVATION_NONE, false);
    return values;
}

/* The inputs of the score; projects the query of the additive score, whose keys are projected
 * already. */
static att_attention_op_inputs score_inputs(const att_decoder_attention *attention, att_tape *tape,
                                            att_node *query)
{
    att_attention_op_inputs in = { .query = query, .v = param(tape, attention->v) };
    att_node *w = param(tape, attention->w), *b = param(tape, attention->b);
    if (mechanisms[attention->mechanism].additive) {
        in.query = att_linear(tape, query, w, b, ATT_ACTIVATION_NONE, true);
    } else {
        in.w = w;
        in.b = b;
    }
    return in;
}

/* The bias of a window around the center that each query predicts. */
static att_node *window_bias(const att_decoder_attention *attention, att_tape *tape,
                             const att_memory *memory, att_node *query)
{
    att_node *hidden =
        att_linear(tape, query, param(tape, attention->window_w), NULL, ATT_ACTIVATION_TANH, false);
    att_node *place = att_linear(tape, hidden, param(tape, attention->window_v), NULL,
                                 ATT_ACTIVATION_SIGMOID, false);
    if (!place)
        return NULL;
    return att_local_window_bias(tape, place, memory->values->shape[1], memory->lengths,
                                 attention->window);
}

/* The bias by accumulated attention, [B,1,q,S] for q queries per source. */
static att_node *coverage_bias(const att_decoder_attention *attention, att_tape *tape,
                               const att_memory *memory, att_node *coverage)
{
    if (!coverage)
        return NULL;
    int64_t sources = memory->values->shape[0], keys = memory->values->shape[1];
    int64_t queries = memory->rows_by_source ? memory->rows_by_source->max_rows : 1;
    att_node *padded = att_rows_by_source_pad(tape, memory->rows_by_source, coverage);
    att_node *column = att_reshape(tape, padded, 3, (int64_t[]){ sources, queries * keys, 1 });
    att_node *bias = att_multiply(tape, column, param(tape, attention->coverage_weight));
    return att_reshape(tape, bias, 4, (int64_t[]){ sources, 1, queries, keys });
}

/* One attention for all queries [B,T,N]. Where gradients flow through the weights, they are a node
 * and the context is a product with them; otherwise they are computed again on demand. */
static void run_attention(const att_decoder_attention *attention, att_tape *tape,
                          const att_memory *memory, att_node *query, att_node *bias,
                          att_decoder_attention_step *step)
{
    bool weights_are_node = attention->guided_alignment || attention->copies ||
                            attention->mechanism == ATT_MECHANISM_COVERAGE;
    const att_attention_options options = { .size = sizeof(att_attention_options),
                                            .score = mechanisms[attention->mechanism].score,
                                            .normalizer = attention->normalizer,
                                            .query_lengths = memory->rows_by_source
                                                                 ? memory->rows_by_source->counts
                                                                 : NULL,
                                            .key_lengths = memory->lengths };
    att_attention_op_inputs in = score_inputs(attention, tape, query);
    in.key = memory->keys;
    in.value = weights_are_node ? NULL : memory->values;
    in.bias = bias;
    att_node *result = att_attention_op(tape, &in, 1, 1, &options);
    step->weights = NULL;
    if (weights_are_node) {
        step->weights = result;
        step->context = att_bmm(tape, result, memory->values);
        return;
    }
    step->context = result;
    if (step->want_weights && query)
        step->weights =
            att_reshape(tape, att_attention_op_weights(tape, result), 3,
                        (int64_t[]){ query->shape[0], query->shape[1], memory->values->shape[1] });
}

/* The same on padded queries; the results are unpadded to rows. */
static void run_padded_attention(const att_decoder_attention *attention, att_tape *tape,
                                 const att_memory *memory, att_node *query, att_node *bias,
                                 att_decoder_attention_step *step)
{
    run_attention(attention, tape, memory, query, bias, step);
    step->context = att_rows_by_source_unpad(tape, memory->rows_by_source, step->context);
    step->weights = att_rows_by_source_unpad(tape, memory->rows_by_source, step->weights);
}

/* One step of coverage: its weights are added to the coverage. */
static void coverage_step(const att_decoder_attention *attention, att_tape *tape,
                          const att_memory *memory, att_node *query,
                          att_decoder_attention_step *step)
{
    att_node *bias = coverage_bias(attention, tape, memory, step->coverage);
    run_padded_attention(attention, tape, memory, query, bias, step);
    if (!step->weights)
        return;
    const int64_t flat[] = { step->weights->shape[0], step->weights->shape[2] };
    att_node *weights = att_reshape(tape, step->weights, 2, flat);
    step->coverage = step->coverage ? att_add(tape, step->coverage, weights) : weights;
}

/* Coverage runs query by query: each needs the weights of those before it. */
static void coverage_steps(const att_decoder_attention *attention, att_tape *tape,
                           const att_memory *memory, att_node *query,
                           att_decoder_attention_step *step)
{
    int64_t rows = query->shape[0], count = query->shape[1], width = query->shape[2];
    int64_t keys = memory->values->shape[1];
    att_node **contexts = att_tape_alloc(tape, count, sizeof *contexts);
    att_node **weights = att_tape_alloc(tape, count, sizeof *weights);
    if (!contexts || !weights)
        return;
    for (int64_t t = 0; t < count; t++) {
        att_node *one =
            att_reshape(tape, att_select(tape, query, t), 3, (int64_t[]){ rows, 1, width });
        coverage_step(attention, tape, memory, one, step);
        contexts[t] = att_reshape(tape, step->context, 2, (int64_t[]){ rows, width });
        weights[t] = att_reshape(tape, step->weights, 2, (int64_t[]){ rows, keys });
    }
    step->context = att_stack(tape, contexts, count);
    step->weights = att_stack(tape, weights, count);
}

void att_decoder_attention_run(const att_decoder_attention *attention, att_tape *tape,
                               const att_memory *memory, att_node *query,
                               att_decoder_attention_step *step)
{
    step->context = step->weights = NULL;
    query = att_rows_by_source_pad(tape, memory->rows_by_source, query);
    if (!query || !memory->values || !memory->keys)
        return;
    if (attention->mechanism == ATT_MECHANISM_COVERAGE)
        (memory->rows_by_source ? coverage_step : coverage_steps)(attention, tape, memory, query,
                                                                  step);
    else if (attention->mechanism == ATT_MECHANISM_LOCAL)
        run_padded_attention(attention, tape, memory, query,
                             window_bias(attention, tape, memory, query), step);
    else
        run_padded_attention(attention, tape, memory, query, NULL, step);
}
