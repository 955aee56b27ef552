/* A decoder's look at the source; see glimpse.h. */
#include "nn/glimpse.h"

#include "base/error.h"

#define PREFIX "attention"

/* What each mechanism is made of. */
static const struct {
    att_score score;
    bool key;   /* keys are values times a matrix, worked out once: qᵀ W k is the dot product of q
                   and W k */
    bool layer; /* w, u, b and v of the additive score; keys are u times values, worked out once
                   too, and queries w times states, plus b */
} kinds[] = {
    [ATT_MECHANISM_DOT] = { ATT_SCORE_DOT, false, false },
    [ATT_MECHANISM_SCALED] = { ATT_SCORE_SCALED, false, false },
    [ATT_MECHANISM_GENERAL] = { ATT_SCORE_DOT, true, false },
    [ATT_MECHANISM_ADDITIVE] = { ATT_SCORE_ADDITIVE, false, true },
    [ATT_MECHANISM_CONCAT] = { ATT_SCORE_CONCAT, false, false },
    [ATT_MECHANISM_LOCATION] = { ATT_SCORE_LOCATION, false, false },
    [ATT_MECHANISM_LOCAL] = { ATT_SCORE_DOT, true, false },
    [ATT_MECHANISM_COVERAGE] = { ATT_SCORE_ADDITIVE, false, true },
};

static void build_layer(att_glimpse *out, att_builder *builder)
{
    out->w = att_build_matrix(builder, out->width, out->width, PREFIX, "w");
    out->u = att_build_matrix(builder, out->width, out->width, PREFIX, "u");
    out->b = att_build_zeros(builder, out->width, PREFIX, "b");
    out->v = att_build_vector(builder, out->width, PREFIX, "v");
}

static void build_window(att_glimpse *out, att_builder *builder)
{
    out->place_w = att_build_matrix(builder, out->width, out->width, PREFIX, "place.w");
    out->place_v = att_build_matrix(builder, out->width, 1, PREFIX, "place.v");
}

static void build_places(att_glimpse *out, att_builder *builder)
{
    out->w = att_build_matrix(builder, out->reach, out->width, PREFIX, "w");
    out->b = att_build_zeros(builder, out->reach, PREFIX, "b");
}

void att_glimpse_build(att_glimpse *out, att_builder *builder, const att_settings *settings)
{
    enum { NO = ATT_NO_PARAM };
    *out = (att_glimpse){
        .kind = (att_mechanism)settings->attention,
        .normaliser = (att_normaliser)settings->normaliser,
        .width = settings->width,
        .window = (float)(settings->window / 2), /* Luong et al. 2015: half of its reach */
        .reach = settings->attention == ATT_MECHANISM_LOCATION ? settings->max_length : 0,
        .teaches = settings->align != NULL,
        .key = NO,
        .w = NO,
        .u = NO,
        .b = NO,
        .v = NO,
        .place_w = NO,
        .place_v = NO,
        .covered = NO,
    };
    if (out->kind == ATT_MECHANISM_NONE || out->kind == ATT_MECHANISM_FIXED)
        return;
    if (kinds[out->kind].key)
        out->key = att_build_matrix(builder, out->width, out->width, PREFIX, "key");
    if (kinds[out->kind].layer)
        build_layer(out, builder);
    if (out->kind == ATT_MECHANISM_CONCAT)
        out->v = att_build_vector(builder, 2 * out->width, PREFIX, "v");
    if (out->kind == ATT_MECHANISM_LOCATION)
        build_places(out, builder);
    if (out->kind == ATT_MECHANISM_LOCAL)
        build_window(out, builder);
    if (out->kind == ATT_MECHANISM_COVERAGE)
        out->covered = att_build_zeros(builder, 1, PREFIX, "covered");
}

static att_node *param(att_tape *tape, int index)
{
    return index == ATT_NO_PARAM ? NULL : att_tape_param(tape, index);
}

att_node *att_glimpse_keys(const att_glimpse *glimpse, att_tape *tape, att_node *values)
{
    if (kinds[glimpse->kind].layer)
        return att_linear(tape, values, param(tape, glimpse->u), NULL, ATT_ACTIVATION_NONE, true);
    if (kinds[glimpse->kind].key)
        return att_linear(tape, values, param(tape, glimpse->key), NULL, ATT_ACTIVATION_NONE,
                          false);
    return values;
}

/* What goes into the score: of the additive one, the query is projected as the keys are. */
static att_attend_inputs score_inputs(const att_glimpse *glimpse, att_tape *tape, att_node *query)
{
    att_attend_inputs in = { .query = query, .v = param(tape, glimpse->v) };
    att_node *w = param(tape, glimpse->w), *b = param(tape, glimpse->b);
    if (kinds[glimpse->kind].layer) {
        in.query = att_linear(tape, query, w, b, ATT_ACTIVATION_NONE, true);
    } else {
        in.w = w;
        in.b = b;
    }
    return in;
}

/* The bias of a window around the place that each query points at. */
static att_node *window_bias(const att_glimpse *glimpse, att_tape *tape, const att_memory *memory,
                             att_node *query)
{
    att_node *hidden =
        att_linear(tape, query, param(tape, glimpse->place_w), NULL, ATT_ACTIVATION_TANH, false);
    att_node *place = att_linear(tape, hidden, param(tape, glimpse->place_v), NULL,
                                 ATT_ACTIVATION_SIGMOID, false);
    if (!place)
        return NULL;
    return att_window(tape, place, memory->values->shape[1], memory->lengths, glimpse->window);
}

/* The bias of what was attended before, [B,1,q,S] for q queries of an item. */
static att_node *covered_bias(const att_glimpse *glimpse, att_tape *tape, const att_memory *memory,
                              att_node *covered)
{
    if (!covered)
        return NULL;
    int64_t items = memory->values->shape[0], keys = memory->values->shape[1];
    int64_t queries = memory->seats ? memory->seats->most : 1;
    att_node *seated = att_seats_put(tape, memory->seats, covered);
    att_node *each = att_reshape(tape, seated, 3, (int64_t[]){ items, queries * keys, 1 });
    att_node *bias = att_multiply(tape, each, param(tape, glimpse->covered));
    return att_reshape(tape, bias, 4, (int64_t[]){ items, 1, queries, keys });
}

/* One attention for all queries [B,T,N]. Weights that something is learnt through are a node;
 * others are worked out again from the result where they are asked for. */
static void attend(const att_glimpse *glimpse, att_tape *tape, const att_memory *memory,
                   att_node *query, att_node *bias, att_look *look)
{
    bool open = glimpse->teaches || glimpse->kind == ATT_MECHANISM_COVERAGE;
    const att_attention how = { .score = kinds[glimpse->kind].score,
                                .normaliser = glimpse->normaliser,
                                .query_lengths = memory->seats ? memory->seats->taken : NULL,
                                .key_lengths = memory->lengths };
    att_attend_inputs in = score_inputs(glimpse, tape, query);
    in.key = memory->keys;
    in.value = open ? NULL : memory->values;
    in.bias = bias;
    att_node *result = att_attend(tape, &in, 1, 1, &how);
    look->weights = NULL;
    if (open) {
        look->weights = result;
        look->context = att_multiply_each(tape, result, memory->values);
        return;
    }
    look->context = result;
    if (look->want_weights && query)
        look->weights =
            att_reshape(tape, att_attend_weights(tape, result), 3,
                        (int64_t[]){ query->shape[0], query->shape[1], memory->values->shape[1] });
}

/* The same, and what it gives taken back from seats to rows. */
static void attend_seated(const att_glimpse *glimpse, att_tape *tape, const att_memory *memory,
                          att_node *query, att_node *bias, att_look *look)
{
    attend(glimpse, tape, memory, query, bias, look);
    look->context = att_seats_back(tape, memory->seats, look->context);
    look->weights = att_seats_back(tape, memory->seats, look->weights);
}

/* One step of coverage: what it looks at is covered afterwards. */
static void cover(const att_glimpse *glimpse, att_tape *tape, const att_memory *memory,
                  att_node *query, att_look *look)
{
    att_node *bias = covered_bias(glimpse, tape, memory, look->covered);
    attend_seated(glimpse, tape, memory, query, bias, look);
    if (!look->weights)
        return;
    const int64_t flat[] = { look->weights->shape[0], look->weights->shape[2] };
    att_node *weights = att_reshape(tape, look->weights, 2, flat);
    look->covered = look->covered ? att_add(tape, look->covered, weights) : weights;
}

/* Coverage goes query by query: each needs the weights of those before it. */
static void cover_each(const att_glimpse *glimpse, att_tape *tape, const att_memory *memory,
                       att_node *query, att_look *look)
{
    int64_t rows = query->shape[0], count = query->shape[1], width = query->shape[2];
    int64_t keys = memory->values->shape[1];
    att_node **contexts = att_tape_take(tape, count, sizeof *contexts);
    att_node **weights = att_tape_take(tape, count, sizeof *weights);
    if (!contexts || !weights)
        return;
    for (int64_t t = 0; t < count; t++) {
        att_node *one =
            att_reshape(tape, att_step(tape, query, t), 3, (int64_t[]){ rows, 1, width });
        cover(glimpse, tape, memory, one, look);
        contexts[t] = att_reshape(tape, look->context, 2, (int64_t[]){ rows, width });
        weights[t] = att_reshape(tape, look->weights, 2, (int64_t[]){ rows, keys });
    }
    look->context = att_stack(tape, contexts, count);
    look->weights = att_stack(tape, weights, count);
}

void att_glimpse_run(const att_glimpse *glimpse, att_tape *tape, const att_memory *memory,
                     att_node *query, att_look *look)
{
    look->context = look->weights = NULL;
    query = att_seats_put(tape, memory->seats, query);
    if (!query || !memory->values || !memory->keys)
        return;
    if (glimpse->kind == ATT_MECHANISM_COVERAGE)
        (memory->seats ? cover : cover_each)(glimpse, tape, memory, query, look);
    else if (glimpse->kind == ATT_MECHANISM_LOCAL)
        attend_seated(glimpse, tape, memory, query, window_bias(glimpse, tape, memory, query),
                      look);
    else
        attend_seated(glimpse, tape, memory, query, NULL, look);
}
