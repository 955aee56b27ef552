/* Gradients of every input of a scene, fenced in, and that of its output. */
#ifndef TESTS_ATTENTION_GRADS_H
#define TESTS_ATTENTION_GRADS_H

#include "fused_scene.h"

typedef struct grads {
    att_tensor tensor[ATT_SLOT_COUNT];
    char *block[ATT_SLOT_COUNT];
    size_t bytes[ATT_SLOT_COUNT];
    att_attention_grads to;
} grads;

static const char *const grad_names[ATT_SLOT_COUNT] = { "query",   "key",     "value",   "score_w",
                                                        "score_u", "score_b", "score_v", "bias",
                                                        "alibi",   "relative" };

static inline att_tensor *grad_of(grads *g, att_slot slot)
{
    return g->block[slot] ? &g->tensor[slot] : NULL;
}

/* A gradient for every input, filled with 1: gradients are added to existing values. */
static inline void grads_new(grads *g, const scene *s, att_dtype dtype)
{
    *g = (grads){ 0 };
    size_t size = dtype == ATT_F32 ? sizeof(float) : sizeof(double);
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++) {
        if (!s->tensor[slot].data)
            continue;
        att_tensor t = s->tensor[slot];
        int64_t offset, room = tensor_room(&t, &offset);
        g->bytes[slot] = (size_t)(room + 2 * FENCE) * size;
        g->block[slot] = malloc(g->bytes[slot]);
        for (int64_t n = 0; n < room + 2 * FENCE; n++)
            if (dtype == ATT_F32)
                ((float *)(void *)g->block[slot])[n] = 1;
            else
                ((double *)(void *)g->block[slot])[n] = 1;
        t.dtype = dtype;
        t.data = g->block[slot] + (size_t)(FENCE + offset) * size;
        g->tensor[slot] = t;
    }
    g->to = (att_attention_grads){ .query = grad_of(g, ATT_SLOT_QUERY),
                                   .key = grad_of(g, ATT_SLOT_KEY),
                                   .value = grad_of(g, ATT_SLOT_VALUE),
                                   .score_w = grad_of(g, ATT_SLOT_SCORE_W),
                                   .score_u = grad_of(g, ATT_SLOT_SCORE_U),
                                   .score_b = grad_of(g, ATT_SLOT_SCORE_B),
                                   .score_v = grad_of(g, ATT_SLOT_SCORE_V),
                                   .bias = grad_of(g, ATT_SLOT_BIAS),
                                   .alibi = grad_of(g, ATT_SLOT_ALIBI),
                                   .relative = grad_of(g, ATT_SLOT_RELATIVE) };
}

static inline void grads_free(grads *g)
{
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++)
        free(g->block[slot]);
}

static inline uint64_t grads_hash(const grads *g)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++)
        if (g->block[slot])
            hash = hash_bytes(hash, g->block[slot], g->bytes[slot]);
    return hash;
}

/* The gradient of the output, random, in the layout of the scene. */
typedef struct loss {
    results grad;
} loss;

static inline void loss_new(loss *l, const scene *s)
{
    results_new(&l->grad, s, ATT_F32, false);
    float *block = (float *)(void *)l->grad.block[0];
    for (size_t n = 0; n < l->grad.bytes[0] / sizeof(float); n++)
        block[n] = (float)uniform(s->c.seed, 55, n, 1);
}

#endif
