/* The window that a model places itself: local attention with a predicted centre (Luong et al.
 * 2015, 3.2), as a bias on the scores. */
#include "tape/help.h"
#include "tape/ops.h"

typedef struct window {
    int64_t keys;
    const int64_t *lengths; /* [B] or NULL: all keys */
    float width;
} window;

static bool window_shape(att_tape *tape, att_node *node)
{
    const window *how = node->how;
    const att_node *place = node->in[0];
    const int64_t want[3] = { -1, -1, 1 };
    if (!att_node_fits(tape, node, "place", place, 3, want))
        return false;
    att_node_set_shape(node, 4,
                       (const int64_t[]){ place->shape[0], 1, place->shape[1], how->keys });
    return true;
}

static float length_of(const window *how, int64_t b)
{
    return (float)(how->lengths ? how->lengths[b] : how->keys);
}

static bool window_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    const window *how = node->how;
    int64_t B = node->shape[0], T = node->shape[2], S = node->shape[3];
    float factor = -0.5f / (how->width * how->width);
    for (int64_t row = 0; row < B * T; row++) {
        float centre = length_of(how, row / T) * node->in[0]->value[row];
        for (int64_t s = 0; s < S; s++) {
            float away = (float)s - centre;
            node->value[row * S + s] = factor * away * away;
        }
    }
    return true;
}

static bool window_backward(att_tape *tape, att_node *node)
{
    const window *how = node->how;
    int64_t B = node->shape[0], T = node->shape[2], S = node->shape[3];
    float inverse = 1 / (how->width * how->width);
    float *dplace = att_node_grad(tape, node->in[0]);
    for (int64_t row = 0; dplace && row < B * T; row++) {
        float length = length_of(how, row / T), centre = length * node->in[0]->value[row], sum = 0;
        for (int64_t s = 0; s < S; s++)
            sum += node->grad[row * S + s] * ((float)s - centre);
        dplace[row] += sum * length * inverse;
    }
    return true;
}

static void window_truth(double *value, const att_node *node, const double *const *in)
{
    const window *how = node->how;
    int64_t T = node->shape[2], S = node->shape[3];
    for (int64_t i = 0; i < node->count; i++) {
        int64_t row = i / S;
        double length = (double)(how->lengths ? how->lengths[row / T] : how->keys);
        double away = (double)(i % S) - length * in[0][row];
        value[i] = -away * away / (2 * (double)how->width * (double)how->width);
    }
}

static const int64_t some_lengths[] = { 3, 0 };

static const att_op_sample window_samples[] = {
    { "lengths",
      1,
      { { 3, { 2, 3, 1 } } },
      &(const window){ 5, some_lengths, 1.5f },
      0.05f,
      0.95f },
    { "17 keys", 1, { { 3, { 1, 2, 1 } } }, &(const window){ 17, NULL, 2 }, 0.05f, 0.95f },
    { "no queries", 1, { { 3, { 2, 0, 1 } } }, &(const window){ 5, NULL, 2 }, 0.05f, 0.95f },
    { "no keys", 1, { { 3, { 1, 2, 1 } } }, &(const window){ 0, NULL, 2 }, 0.05f, 0.95f },
};

const att_op att_op_window = {
    .name = "window",
    .how_size = sizeof(window),
    .shape = window_shape,
    .forward = window_forward,
    .backward = window_backward,
    .truth = window_truth,
    .rounds = 40,
    .samples = window_samples,
    .sample_count = sizeof window_samples / sizeof *window_samples,
};

att_node *att_window(att_tape *tape, att_node *place, int64_t keys, const int64_t *lengths,
                     float width)
{
    if (!place)
        return NULL;
    const int64_t *copy = att_tape_copy(tape, lengths, place->shape[0], sizeof *lengths);
    return att_op_apply(tape, &att_op_window, &place, 1, &(window){ keys, copy, width });
}
