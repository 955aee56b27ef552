/* The gradient check: every operation's forward against its reference formula, its backward against
 * central differences of that formula. `attend gradcheck` and the tests run it.
 *
 * The loss is the sum of the results, each times a random weight. Errors are relative to the
 * largest entry of their array, or to 1 where that is larger: inputs are of size about 1, so a
 * small entry is a difference of terms of that size. */
#include "tape/op.h"

#include "base/error.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

static const double HALF_ULP = 0x1p-24;      /* half a unit in the last place of a float near 1 */
static const double STEP = 1e-5;             /* of central differences */
static const double DIFFERENCE_ERROR = 1e-8; /* of central differences: STEP² times the third
                                                derivative, and 2^-53 of the loss over STEP; both
                                                are about 1e-10 */
static const float PRESET_GRAD = 0.25f;      /* gradient of the inputs before backward */

enum { STREAM_VALUES, STREAM_WEIGHTS };

/* The check of one sample. */
typedef struct check {
    const att_op *op;
    const att_op_sample *sample;
    att_tape *tape;
    att_memory_pool pool;
    float *input_values[ATT_SAMPLE_MAX_INPUTS];   /* NULL where an input is not given */
    double *in[ATT_SAMPLE_MAX_INPUTS];            /* the same values in double */
    double *numeric_grads[ATT_SAMPLE_MAX_INPUTS]; /* gradients by central differences */
    int64_t count[ATT_SAMPLE_MAX_INPUTS];
    double *result, *weights;
    int64_t results;
} check;

static double random_value(const att_op_sample *sample, int input, int64_t i)
{
    bool plain = sample->min_value == 0 && sample->max_value == 0;
    double min = plain ? -1 : (double)sample->min_value,
           max = plain ? 1 : (double)sample->max_value;
    return min + (max - min) * att_random_double((uint64_t)input, STREAM_VALUES, (uint64_t)i);
}

static bool alloc_inputs(check *c)
{
    for (int n = 0; n < c->sample->input_count; n++) {
        if (c->sample->in[n].rank == ATT_NOT_GIVEN)
            continue;
        c->count[n] = 1;
        for (int d = 0; d < c->sample->in[n].rank; d++)
            c->count[n] *= c->sample->in[n].shape[d];
        c->input_values[n] = att_memory_pool_alloc(&c->pool, (size_t)c->count[n], sizeof(float));
        c->in[n] = att_memory_pool_alloc(&c->pool, (size_t)c->count[n], sizeof(double));
        c->numeric_grads[n] = att_memory_pool_alloc(&c->pool, (size_t)c->count[n], sizeof(double));
        if (!c->input_values[n] || !c->in[n] || !c->numeric_grads[n])
            return false;
        for (int64_t i = 0; i < c->count[n]; i++) {
            c->input_values[n][i] = (float)random_value(c->sample, n, i);
            c->in[n][i] = (double)c->input_values[n][i];
        }
    }
    return true;
}

/* Runs the operation on leaves; bit n of `learning` says whether input n requires a gradient. */
static att_node *run(check *c, unsigned learning, att_node *leaves[ATT_SAMPLE_MAX_INPUTS])
{
    att_tape_begin(c->tape, learning != 0, 1, 1);
    for (int n = 0; n < ATT_SAMPLE_MAX_INPUTS; n++) {
        bool requires_grad = learning >> n & 1;
        leaves[n] = !c->in[n] ? NULL
                              : (requires_grad ? att_tape_variable : att_tape_input)(
                                    c->tape, c->sample->in[n].rank, c->sample->in[n].shape,
                                    c->input_values[n]);
    }
    if (c->op->apply)
        return c->op->apply(c->tape, leaves, c->sample->options);
    return att_op_apply(c->tape, c->op, leaves, c->sample->input_count, c->sample->options);
}

static double loss(const check *c, const att_node *node)
{
    double sum = 0;
    c->op->truth(c->result, node, (const double *const *)c->in);
    for (int64_t i = 0; i < c->results; i++)
        sum += c->result[i] * c->weights[i];
    return sum;
}

static void find_numeric_grads(const check *c, const att_node *node)
{
    for (int n = 0; n < ATT_SAMPLE_MAX_INPUTS; n++)
        for (int64_t i = 0; c->in[n] && i < c->count[n]; i++) {
            double at = c->in[n][i];
            c->in[n][i] = at + STEP;
            double up = loss(c, node);
            c->in[n][i] = at - STEP;
            c->numeric_grads[n][i] = (up - loss(c, node)) / (2 * STEP);
            c->in[n][i] = at;
        }
}

/* The largest difference between `got - offset` and `want`; NaN where either has a NaN. */
static double error_of(const float *got, float offset, const double *want, int64_t count)
{
    double max = 0, scale = 1;
    for (int64_t i = 0; i < count; i++) {
        double error = fabs((double)got[i] - (double)offset - want[i]);
        max = error > max || isnan(error) ? error : max;
        scale = fmax(scale, fabs(want[i]));
    }
    return max / scale;
}

static void note_error(att_gradcheck *out, double error, int input)
{
    if (!(error <= out->backward_error)) {
        out->backward_error = error;
        out->input = input;
    }
}

/* One forward and backward. `preset`: the inputs have a gradient already, to which backward must
 * add. */
static att_status check_backward(check *c, att_gradcheck *out, unsigned learning, bool preset,
                                 att_error *err)
{
    att_node *leaves[ATT_SAMPLE_MAX_INPUTS], *node = run(c, learning, leaves);
    ATT_TRY(att_tape_status(c->tape, err));
    for (int n = 0; preset && n < ATT_SAMPLE_MAX_INPUTS; n++) {
        float *own = att_node_grad(c->tape, leaves[n]);
        for (int64_t i = 0; own && i < c->count[n]; i++)
            own[i] = PRESET_GRAD;
    }
    float *grad = att_node_grad(c->tape, node);
    for (int64_t i = 0; grad && i < c->results; i++)
        grad[i] += (float)c->weights[i];
    ATT_TRY(att_tape_run_backward(c->tape, err));
    for (int n = 0; n < ATT_SAMPLE_MAX_INPUTS; n++) {
        const float *own = att_node_grad(c->tape, leaves[n]);
        if (own)
            note_error(
                out, error_of(own, preset ? PRESET_GRAD : 0, c->numeric_grads[n], c->count[n]), n);
    }
    return att_tape_status(c->tape, err);
}

static att_status check_forward(check *c, att_gradcheck *out, att_error *err)
{
    att_node *leaves[ATT_SAMPLE_MAX_INPUTS], *node = run(c, 0, leaves);
    ATT_TRY(att_tape_status(c->tape, err));
    c->results = node->count;
    c->result = att_memory_pool_alloc(&c->pool, (size_t)node->count, sizeof(double));
    c->weights = att_memory_pool_alloc(&c->pool, (size_t)node->count, sizeof(double));
    if (!c->result || !c->weights)
        return att_fail_memory(err);
    for (int64_t i = 0; i < node->count; i++) {
        double drawn = 2 * att_random_double(0, STREAM_WEIGHTS, (uint64_t)i) - 1;
        c->weights[i] = (double)(float)drawn;
    }
    c->op->truth(c->result, node, (const double *const *)c->in);
    out->forward_error = error_of(node->value, 0, c->result, node->count);
    find_numeric_grads(c, node);
    return ATT_OK;
}

static att_status check_all(check *c, att_gradcheck *out, att_error *err)
{
    unsigned all = 0;
    if (!alloc_inputs(c))
        return att_fail_memory(err);
    ATT_TRY(check_forward(c, out, err));
    for (int n = 0; n < ATT_SAMPLE_MAX_INPUTS; n++)
        all |= c->in[n] ? 1u << n : 0;
    ATT_TRY(check_backward(c, out, all, false, err));
    ATT_TRY(check_backward(c, out, all, true, err));
    for (int n = 0; n < ATT_SAMPLE_MAX_INPUTS; n++) /* each input alone requires a gradient */
        if (c->in[n])
            ATT_TRY(check_backward(c, out, 1u << n, false, err));
    out->passed =
        out->forward_error <= out->forward_bound && out->backward_error <= out->backward_bound;
    return ATT_OK;
}

att_status att_gradcheck_sample(att_gradcheck *out, const att_op *op, int sample, att_error *err)
{
    check c = { .op = op, .sample = &op->samples[sample] };
    *out = (att_gradcheck){ .op = op->name,
                            .sample = c.sample->name,
                            .forward_bound = op->rounding_steps * HALF_ULP,
                            .backward_bound = op->rounding_steps * HALF_ULP + DIFFERENCE_ERROR };
    ATT_TRY(att_tape_new(&c.tape, NULL, err));
    att_status status = check_all(&c, out, err);
    att_tape_free(c.tape);
    att_memory_pool_free(&c.pool);
    return status;
}

/* ---------------------------------------------------------------- the public side */

int att_gradcheck_count(void)
{
    return att_op_count;
}

const char *att_gradcheck_name(int op)
{
    return op >= 0 && op < att_op_count ? att_ops[op]->name : NULL;
}

int att_gradcheck_samples(int op)
{
    return op >= 0 && op < att_op_count ? att_ops[op]->sample_count : 0;
}

att_status att_gradcheck_run(att_gradcheck *out, int op, int sample, att_error *err)
{
    if (op < 0 || op >= att_op_count || sample < 0 || sample >= att_ops[op]->sample_count)
        return att_fail(
            err, ATT_BAD_INPUT, "gradcheck",
            "expected an operation from 0 to %d and one of its samples, found operation %d, "
            "sample %d",
            att_op_count - 1, op, sample);
    return att_gradcheck_sample(out, att_ops[op], sample, err);
}
