/* Kinks and jumps. Functions such as relu, max and round are pieces put together: inside of a piece
 * they have a gradient, between two pieces the gradient is a convention. Which pieces the present
 * numbers are in is told by a digest, so that a check can see that a small change leaves a piece.
 */
#include "sheet/gradient.h"

#include "base/minmax.h"

#include <string.h>

/* FNV-1a, a word at a time: digests are compared with each other alone. */
static uint64_t mix(uint64_t digest, uint64_t word)
{
    return (digest ^ word) * 0x100000001b3ULL;
}

static int64_t count_of(const att_matrix *matrix)
{
    return matrix->rows * matrix->cols;
}

/* relu, abs: the signs of the input. */
static uint64_t mix_signs(uint64_t digest, const att_computation *c)
{
    const att_matrix *x = c->inputs[0];
    for (int64_t i = 0; i < count_of(x); i++)
        digest = mix(digest, x->data[i] > 0 ? 1 : x->data[i] < 0 ? 2 : 3);
    return digest;
}

/* Comparisons of elements that mix_places() may make: a moment. */
#define MAX_COMPARISONS 1e7

/* max, min, sort, topk: where the elements of the result stand in the input. */
static uint64_t mix_places(uint64_t digest, const att_computation *c)
{
    const att_matrix *x = c->inputs[0], *y = c->output.matrix;
    if ((double)count_of(x) * (double)count_of(y) > MAX_COMPARISONS)
        return digest;
    for (int64_t i = 0; i < count_of(y); i++)
        for (int64_t j = 0; j < count_of(x); j++)
            digest = x->data[j] == y->data[i] ? mix(digest, (uint64_t)j) : digest;
    return digest;
}

static uint64_t mix_zeros(uint64_t digest, const att_computation *c, const char *part)
{
    for (size_t i = 0; i < c->output.part_count; i++) {
        const att_matrix *x = c->output.parts[i].value;
        for (int64_t j = 0; strcmp(c->output.parts[i].name, part) == 0 && j < count_of(x); j++)
            digest = mix(digest, x->data[j] != 0);
    }
    return digest;
}

/* Attention: which weights are zero, those of softmax only where they are masked; and which scores,
 * if they are a relu or a cosine, which jumps where a vector becomes zero. */
static uint64_t mix_support(uint64_t digest, const att_computation *c)
{
    const att_value *score = att_call_option(c->call, "score");
    digest = mix_zeros(digest, c, "weights");
    const char *word = score && score->word ? score->word : "";
    if (strcmp(word, "concat") != 0 && strcmp(word, "cosine") != 0)
        return digest;
    return mix_zeros(mix_zeros(digest, c, "products"), c, "scores");
}

/* Comparisons, argmax, round: the result itself, which is constant inside of a piece. */
static uint64_t mix_result(uint64_t digest, const att_computation *c)
{
    const att_matrix *y = c->output.matrix;
    for (int64_t i = 0; i < count_of(y); i++) {
        uint64_t bits;
        memcpy(&bits, &y->data[i], sizeof bits);
        digest = mix(digest, bits);
    }
    return digest;
}

static const struct {
    const char *name;
    uint64_t (*mix)(uint64_t digest, const att_computation *c);
} pieces[] = {
    { "relu", mix_signs },
    { "abs", mix_signs },
    { "max", mix_places },
    { "min", mix_places },
    { "sort", mix_places },
    { "topk", mix_places },
    { "argmax", mix_result },
    { "round", mix_result },
    { "attention", mix_support },
    { "self_attention", mix_support },
    { "cross_attention", mix_support },
    { "multihead", mix_support },
};

uint64_t att_gradient_pieces(const att_computation *const *computations, size_t count)
{
    uint64_t digest = 0xcbf29ce484222325ULL;
    for (size_t i = 0; i < count; i++) {
        const att_computation *c = computations[i];
        if (c->spec == &att_gradient_compare)
            digest = mix_result(digest, c);
        for (size_t k = 0; c->call && k < ATT_COUNT(pieces); k++)
            if (strcmp(c->call->function->name, pieces[k].name) == 0)
                digest = pieces[k].mix(digest, c);
    }
    return digest;
}
