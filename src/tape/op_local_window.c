/* Local attention with a predicted center (Luong et al. 2015, 3.2): a Gaussian window as a bias on
 * the attention scores. */
#include "base/minmax.h"
#include "reference/positions.h"
#include "tape/op_util.h"
#include "tape/ops.h"

typedef struct local_window {
    int64_t keys;
    const int64_t *lengths; /* [B] or NULL: all keys */
    float width;            /* standard deviation of the window, in keys */
} local_window;

static bool local_window_shape(att_tape *tape, att_node *node)
{
    const local_window *options = node->options;
    const att_node *place = node->in[0];
    const int64_t want[3] = { -1, -1, 1 };
    if (!att_node_check_shape(tape, node, "place", place, 3, want))
        return false;
    att_node_set_shape(node, 4,
                       (const int64_t[]){ place->shape[0], 1, place->shape[1], options->keys });
    return true;
}

static float length_of(const local_window *options, int64_t b)
{
    return (float)(options->lengths ? options->lengths[b] : options->keys);
}

static bool local_window_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    const local_window *options = node->options;
    int64_t B = node->shape[0], T = node->shape[2], S = node->shape[3];
    float factor = -0.5f / (options->width * options->width);
    for (int64_t row = 0; row < B * T; row++) {
        float center = length_of(options, row / T) * node->in[0]->value[row];
        for (int64_t s = 0; s < S; s++) {
            float distance = (float)s - center;
            node->value[row * S + s] = factor * distance * distance;
        }
    }
    return true;
}

static bool local_window_backward(att_tape *tape, att_node *node)
{
    const local_window *options = node->options;
    int64_t B = node->shape[0], T = node->shape[2], S = node->shape[3];
    float inverse = 1 / (options->width * options->width);
    float *dplace = att_node_grad(tape, node->in[0]);
    for (int64_t row = 0; dplace && row < B * T; row++) {
        float length = length_of(options, row / T), center = length * node->in[0]->value[row],
              sum = 0;
        for (int64_t s = 0; s < S; s++)
            sum += node->grad[row * S + s] * ((float)s - center);
        dplace[row] += sum * length * inverse;
    }
    return true;
}

static void local_window_truth(double *value, const att_node *node, const double *const *in)
{
    const local_window *options = node->options;
    int64_t T = node->shape[2], S = node->shape[3];
    for (int64_t row = 0; row < node->shape[0] * T; row++)
        att_reference_local_window(value + row * S, S, in[0][row],
                                   options->lengths ? options->lengths[row / T] : options->keys,
                                   (double)options->width);
}

static const int64_t some_lengths[] = { 3, 0 };

static const att_op_sample local_window_samples[] = {
    { "lengths",
      1,
      { { 3, { 2, 3, 1 } } },
      &(const local_window){ 5, some_lengths, 1.5f },
      0.05f,
      0.95f },
    { "17 keys", 1, { { 3, { 1, 2, 1 } } }, &(const local_window){ 17, NULL, 2 }, 0.05f, 0.95f },
    { "no queries", 1, { { 3, { 2, 0, 1 } } }, &(const local_window){ 5, NULL, 2 }, 0.05f, 0.95f },
    { "no keys", 1, { { 3, { 1, 2, 1 } } }, &(const local_window){ 0, NULL, 2 }, 0.05f, 0.95f },
};

const att_op att_op_local_window = {
    .name = "local-window",
    .options_size = sizeof(local_window),
    .shape = local_window_shape,
    .forward = local_window_forward,
    .backward = local_window_backward,
    .truth = local_window_truth,
    .rounding_steps = 40,
    .samples = local_window_samples,
    .sample_count = ATT_COUNT(local_window_samples),
};

att_node *att_local_window_bias(att_tape *tape, att_node *place, int64_t keys,
                                const int64_t *lengths, float width)
{
    if (!place)
        return NULL;
    const int64_t *copy = att_tape_copy(tape, lengths, place->shape[0], sizeof *lengths);
    return att_op_apply(tape, &att_op_local_window, &place, 1,
                        &(local_window){ keys, copy, width });
}
