/* Biases; see bias.h. Each term is a factor times one element of its tensor: the forward reads the
 * product, the backward adds factor times gradient to the same element, which reduces the gradient
 * to the shape of the bias. */
#include "attention/bias.h"

#include "attention/tensor_element.h"

/* A dimension of size 1 is broadcast: every index means its only element. */
static int64_t broadcast_index(const att_tensor *tensor, int dim, int64_t index)
{
    return tensor->shape[dim] == 1 ? 0 : index;
}

static int64_t bias_at(const att_tensor *bias, const att_qk_pair *pair)
{
    return att_element_offset(bias, broadcast_index(bias, 0, pair->b),
                              broadcast_index(bias, 1, pair->h), broadcast_index(bias, 2, pair->i),
                              broadcast_index(bias, 3, pair->j));
}

static int64_t alibi_at(const att_tensor *alibi, const att_qk_pair *pair)
{
    return att_element_offset(alibi, broadcast_index(alibi, 0, pair->h), 0, 0, 0);
}

static double alibi_factor(const att_qk_pair *pair)
{
    return pair->distance > 0 ? -(double)pair->distance : (double)pair->distance;
}

static int64_t relative_at(const att_tensor *relative, const att_qk_pair *pair)
{
    int64_t index = att_relative_index(relative->shape[1] / 2, pair->distance);
    return att_element_offset(relative, broadcast_index(relative, 0, pair->h), index, 0, 0);
}

double att_bias_get(const att_attention_inputs *in, const att_qk_pair *pair)
{
    double sum = 0;
    if (in->bias)
        sum += att_element_get(in->bias, bias_at(in->bias, pair));
    if (in->alibi)
        sum += alibi_factor(pair) * att_element_get(in->alibi, alibi_at(in->alibi, pair));
    if (in->relative)
        sum += att_element_get(in->relative, relative_at(in->relative, pair));
    return sum;
}

void att_bias_backward(const att_tensor *bias, const att_tensor *alibi, const att_tensor *relative,
                       const att_qk_pair *pair, double grad)
{
    if (bias->data)
        att_element_add(bias, bias_at(bias, pair), grad);
    if (alibi->data)
        att_element_add(alibi, alibi_at(alibi, pair), alibi_factor(pair) * grad);
    if (relative->data)
        att_element_add(relative, relative_at(relative, pair), grad);
}
