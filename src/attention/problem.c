/* Checks an attention problem before any of it runs; see problem.h. Expected shapes are rows of
 * tables, matched by shape.c; mask.c checks the mask options. */
#include "attention/problem.h"

#include "attention/mask.h"
#include "attention/normalize.h"
#include "attention/score.h"
#include "attention/shape.h"
#include "base/error.h"
#include "base/minmax.h"
#include "tensor/tensor.h"

#include <math.h>
#include <stdio.h>

static const struct slot_row {
    const char *name;
    const char *grad_name;
    size_t input; /* offset in att_attention_inputs */
    size_t grad;  /* offset in att_attention_grads */
} slots[ATT_SLOT_COUNT] = {
#define SLOT(field)                                                                                \
    {                                                                                              \
#field, "gradient of " #field, offsetof(att_attention_inputs, field),                      \
            offsetof(att_attention_grads, field)                                                   \
    }
    SLOT(query),   SLOT(key),     SLOT(value), SLOT(score_w), SLOT(score_u),
    SLOT(score_b), SLOT(score_v), SLOT(bias),  SLOT(alibi),   SLOT(relative),
#undef SLOT
};

/* Shapes of the biases, in the order of checking. */
static const struct {
    att_slot slot;
    const char *shape;
} bias_shapes[] = {
    { ATT_SLOT_BIAS, "B|1,H|1,T|1,S|1" },
    { ATT_SLOT_ALIBI, "H|1" },
    { ATT_SLOT_RELATIVE, "H|1,2R+1" },
};

static const struct output_row {
    const char *name;
    const char *shape;
    size_t field; /* offset in att_attention_outputs */
} outputs[] = {
    { "output", "B,T,H,M", offsetof(att_attention_outputs, output) },
    { "scores", "B,H,T,S", offsetof(att_attention_outputs, scores) },
    { "weights", "B,H,T,S", offsetof(att_attention_outputs, weights) },
    { "log_sum_exp", "B,H,T", offsetof(att_attention_outputs, log_sum_exp) },
    { "key_totals", "B,H,S", offsetof(att_attention_outputs, key_totals) },
    { "entropy", "B,H,T", offsetof(att_attention_outputs, entropy) },
};

const att_tensor *att_problem_input(const att_attention_inputs *in, att_slot slot)
{
    return *(const att_tensor *const *)((const char *)in + slots[slot].input);
}

att_tensor *att_problem_grad(const att_attention_grads *grads, att_slot slot)
{
    return *(att_tensor *const *)((const char *)grads + slots[slot].grad);
}

/* query, key and value: they define the sizes that every other tensor must match. */
static att_status check_core(att_shape_bindings *shapes, const att_problem *p, att_error *err)
{
    const struct {
        att_slot slot;
        const char *shape;
    } core[] = {
        { ATT_SLOT_QUERY, "B,T,H,Kq" },
        { ATT_SLOT_KEY, p->score->same_width ? "B,S,G,Kq" : "B,S,G,Kk" },
        { ATT_SLOT_VALUE, "B,S,G,M" },
    };
    for (size_t c = 0; c < ATT_COUNT(core); c++) {
        const char *name = slots[core[c].slot].name;
        const att_tensor *tensor = att_problem_input(p->in, core[c].slot);
        if (!tensor)
            return att_fail(err, ATT_BAD_INPUT, "attention", "%s is missing", name);
        ATT_TRY(att_shape_check_dtype(name, tensor, true, err));
        ATT_TRY(att_shape_match(shapes, name, tensor, core[c].shape, p->score->name, err));
    }
    int64_t heads = shapes->dim[ATT_DIM_H].size;
    int64_t groups = shapes->dim[ATT_DIM_G].size;
    char first[ATT_SHAPE_STRING_SIZE];
    char second[ATT_SHAPE_STRING_SIZE];
    if (heads < 1 || groups < 1 || heads % groups != 0)
        return att_fail(err, ATT_BAD_INPUT, "attention",
                        "query %s and key %s: the query's heads must be a multiple of the key's "
                        "and neither may be 0, but they are %lld and %lld",
                        att_shape_to_string(first, p->in->query->rank, p->in->query->shape),
                        att_shape_to_string(second, p->in->key->rank, p->in->key->shape),
                        (long long)heads, (long long)groups);
    return ATT_OK;
}

/* The parameters of the score: exactly those that its table row lists. */
static att_status check_parameters(att_shape_bindings *shapes, const att_problem *p, att_error *err)
{
    bool listed[ATT_SLOT_COUNT] = { false };
    for (const att_score_parameter *want = p->score->parameters; want->shape; want++) {
        const char *name = slots[want->slot].name;
        const att_tensor *tensor = att_problem_input(p->in, want->slot);
        listed[want->slot] = true;
        if (!tensor && !want->optional)
            return att_fail(err, ATT_BAD_INPUT, "attention",
                            "%s is missing: the %s score needs %s [%s]", name, p->score->name, name,
                            want->shape);
        if (!tensor)
            continue;
        ATT_TRY(att_shape_check_dtype(name, tensor, false, err));
        ATT_TRY(att_shape_match(shapes, name, tensor, want->shape, p->score->name, err));
    }
    for (int s = ATT_SLOT_SCORE_W; s <= ATT_SLOT_SCORE_V; s++)
        if (!listed[s] && att_problem_input(p->in, (att_slot)s))
            return att_fail(err, ATT_BAD_INPUT, "attention",
                            "%s is given, but the %s score does not use it", slots[s].name,
                            p->score->name);
    return ATT_OK;
}

/* Additive score: where the projection matrix of the query or the key is not given, that input is
 * projected already and must have the width of score_v. */
static att_status check_projected(const att_problem *p, att_error *err)
{
    char first[ATT_SHAPE_STRING_SIZE];
    char second[ATT_SHAPE_STRING_SIZE];
    const att_tensor *v = p->in->score_v;
    for (const att_score_parameter *want = p->score->parameters; want->shape; want++) {
        const att_tensor *input = att_problem_input(p->in, want->input);
        if (want->projects && !att_problem_input(p->in, want->slot) && input->shape[3] != p->A)
            return att_fail(err, ATT_BAD_INPUT, "attention",
                            "%s %s and score_v %s: without %s the %s must be as wide as score_v, "
                            "but %lld ≠ %lld",
                            slots[want->input].name,
                            att_shape_to_string(first, input->rank, input->shape),
                            att_shape_to_string(second, v->rank, v->shape), slots[want->slot].name,
                            slots[want->input].name, (long long)input->shape[3], (long long)p->A);
    }
    return ATT_OK;
}

static att_status check_biases(att_shape_bindings *shapes, const att_problem *p, att_error *err)
{
    for (size_t r = 0; r < ATT_COUNT(bias_shapes); r++) {
        const char *name = slots[bias_shapes[r].slot].name;
        const att_tensor *tensor = att_problem_input(p->in, bias_shapes[r].slot);
        if (!tensor)
            continue;
        ATT_TRY(att_shape_check_dtype(name, tensor, true, err));
        ATT_TRY(att_shape_match(shapes, name, tensor, bias_shapes[r].shape, p->score->name, err));
    }
    char text[ATT_SHAPE_STRING_SIZE];
    if (p->in->relative && p->in->relative->shape[1] % 2 == 0)
        return att_fail(err, ATT_BAD_INPUT, "attention",
                        "relative %s: the table is [H|1,2R+1], but %lld is even",
                        att_shape_to_string(text, p->in->relative->rank, p->in->relative->shape),
                        (long long)p->in->relative->shape[1]);
    return ATT_OK;
}

static att_status check_numbers(const att_attention_options *options, att_error *err)
{
    if (!isfinite(options->scale))
        return att_fail(err, ATT_BAD_INPUT, "attention", "scale is %g, expected a finite number",
                        options->scale);
    /* 1 / soft_cap and soft_cap * log2(e) must be normal floats. */
    if (options->soft_cap != 0 && !(options->soft_cap >= 1e-30 && options->soft_cap <= 1e30))
        return att_fail(err, ATT_BAD_INPUT, "attention",
                        "soft_cap is %g, expected a number from 1e-30 to 1e30, or 0 for none",
                        options->soft_cap);
    if (!(options->dropout >= 0 && options->dropout < 1))
        return att_fail(err, ATT_BAD_INPUT, "attention",
                        "dropout is %g, expected a probability of at least 0 and below 1",
                        options->dropout);
    return ATT_OK;
}

static att_status check_score_and_normalizer(att_problem *p, att_error *err)
{
    p->score = att_score_get(p->options->score);
    if (!p->score)
        return att_fail(err, ATT_BAD_INPUT, "attention", "score is %d, which is not an att_score",
                        (int)p->options->score);
    p->normalizer = att_normalizer_get(p->options->normalizer);
    if (!p->normalizer)
        return att_fail(err, ATT_BAD_INPUT, "attention",
                        "normalizer is %d, which is not an att_normalizer",
                        (int)p->options->normalizer);
    return ATT_OK;
}

static void set_sizes(att_problem *p, const att_shape_bindings *shapes)
{
    p->B = shapes->dim[ATT_DIM_B].size;
    p->T = shapes->dim[ATT_DIM_T].size;
    p->S = shapes->dim[ATT_DIM_S].size;
    p->H = shapes->dim[ATT_DIM_H].size;
    p->G = shapes->dim[ATT_DIM_G].size;
    p->Kq = shapes->dim[ATT_DIM_KQ].size;
    p->Kk = p->in->key->shape[3];
    p->M = shapes->dim[ATT_DIM_M].size;
    p->A = shapes->dim[ATT_DIM_A].size;
    p->R = p->in->relative ? p->in->relative->shape[1] / 2 : 0;
}

/* The default is 1/sqrt(K) for the scaled score, else 1. With K = 0 every product is the empty sum
 * 0, and 1/sqrt(0) would turn it into NaN. */
static double choose_scale(const att_problem *p)
{
    if (p->options->scale != 0)
        return p->options->scale;
    return p->options->score == ATT_SCORE_SCALED && p->Kq > 0 ? 1 / sqrt((double)p->Kq) : 1;
}

att_status att_problem_new(att_problem *out, const att_attention_options *options,
                           const att_attention_inputs *in, att_error *err)
{
    *out = (att_problem){ .options = options, .in = in };
    att_shape_bindings shapes = { 0 };
    ATT_TRY(check_score_and_normalizer(out, err));
    ATT_TRY(check_numbers(options, err));
    ATT_TRY(check_core(&shapes, out, err));
    set_sizes(out, &shapes);
    ATT_TRY(att_mask_check(out, err));
    out->P = att_mask_positions(out);
    att_shape_set(&shapes, ATT_DIM_C, out->Kq + out->Kk, "key", in->key);
    att_shape_set(&shapes, ATT_DIM_P, out->P, "key", in->key);
    ATT_TRY(check_parameters(&shapes, out, err));
    ATT_TRY(check_biases(&shapes, out, err));
    set_sizes(out, &shapes);
    ATT_TRY(check_projected(out, err));
    out->scale = choose_scale(out);
    return ATT_OK;
}

/* The sizes of a checked problem, to match outputs and gradients against. */
static att_shape_bindings known_shapes(const att_problem *p)
{
    att_shape_bindings shapes = { 0 };
    att_shape_set(&shapes, ATT_DIM_B, p->B, "query", p->in->query);
    att_shape_set(&shapes, ATT_DIM_T, p->T, "query", p->in->query);
    att_shape_set(&shapes, ATT_DIM_H, p->H, "query", p->in->query);
    att_shape_set(&shapes, ATT_DIM_S, p->S, "key", p->in->key);
    att_shape_set(&shapes, ATT_DIM_M, p->M, "value", p->in->value);
    return shapes;
}

static const att_tensor *output_at(const att_attention_outputs *out, size_t row)
{
    return *(att_tensor *const *)((const char *)out + outputs[row].field);
}

static att_status check_outputs_disjoint(const att_attention_outputs *out, att_error *err)
{
    for (size_t a = 0; a < ATT_COUNT(outputs); a++)
        for (size_t b = a + 1; output_at(out, a) && b < ATT_COUNT(outputs); b++)
            if (output_at(out, b))
                ATT_TRY(att_shape_disjoint(outputs[a].name, output_at(out, a), outputs[b].name,
                                           output_at(out, b), err));
    return ATT_OK;
}

att_status att_problem_check_outputs(const att_problem *p, const att_attention_outputs *out,
                                     att_error *err)
{
    att_shape_bindings shapes = known_shapes(p);
    if (!out || !out->output)
        return att_fail(err, ATT_BAD_INPUT, "attention", "output is missing");
    for (size_t r = 0; r < ATT_COUNT(outputs); r++) {
        const att_tensor *tensor = output_at(out, r);
        if (!tensor)
            continue;
        ATT_TRY(att_shape_check_dtype(outputs[r].name, tensor, false, err));
        ATT_TRY(att_shape_match(&shapes, outputs[r].name, tensor, outputs[r].shape, p->score->name,
                                err));
        ATT_TRY(att_shape_writable(outputs[r].name, tensor, err));
    }
    return check_outputs_disjoint(out, err);
}

bool att_grads_wanted(const att_attention_grads *grads)
{
    for (int s = 0; s < ATT_SLOT_COUNT; s++)
        if (att_problem_grad(grads, (att_slot)s))
            return true;
    return false;
}

att_status att_problem_check_grads(const att_problem *p, const att_tensor *output_grad,
                                   const att_attention_grads *grads, att_error *err)
{
    att_shape_bindings shapes = known_shapes(p);
    if (!output_grad)
        return att_fail(err, ATT_BAD_INPUT, "attention", "output_grad is missing");
    if (!grads)
        return att_fail(err, ATT_BAD_INPUT, "attention", "grads is missing");
    ATT_TRY(att_shape_check_dtype("output_grad", output_grad, false, err));
    ATT_TRY(att_shape_match(&shapes, "output_grad", output_grad, "B,T,H,M", p->score->name, err));
    for (int s = 0; s < ATT_SLOT_COUNT; s++) {
        const att_tensor *grad = att_problem_grad(grads, (att_slot)s);
        const att_tensor *input = att_problem_input(p->in, (att_slot)s);
        if (!grad)
            continue;
        if (!input)
            return att_fail(err, ATT_BAD_INPUT, "attention",
                            "the %s is requested, but there is no %s", slots[s].grad_name,
                            slots[s].name);
        ATT_TRY(att_shape_same(slots[s].grad_name, grad, slots[s].name, input, err));
        ATT_TRY(att_shape_writable(slots[s].grad_name, grad, err));
    }
    return ATT_OK;
}

static bool is_float32(const att_tensor *tensor)
{
    return !tensor || tensor->dtype == ATT_F32;
}

/* float16 and bfloat16 are converted where they are read (head_rows.h). */
static bool converts_to_float32(const att_tensor *tensor)
{
    return !tensor || tensor->dtype != ATT_F64;
}

bool att_problem_inputs_are_float32(const att_problem *p)
{
    for (int s = 0; s < ATT_SLOT_COUNT; s++)
        if (!converts_to_float32(att_problem_input(p->in, (att_slot)s)))
            return false;
    return true;
}

bool att_outputs_are_float32(const att_attention_outputs *out)
{
    for (size_t r = 0; r < ATT_COUNT(outputs); r++)
        if (!is_float32(output_at(out, r)))
            return false;
    return true;
}

bool att_grads_are_float32(const att_attention_grads *grads)
{
    for (int s = 0; s < ATT_SLOT_COUNT; s++)
        if (!is_float32(att_problem_grad(grads, (att_slot)s)))
            return false;
    return true;
}
