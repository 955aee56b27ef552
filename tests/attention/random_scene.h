/* Random scenes over all options of an attention problem at once: scores, normalizers, sizes,
 * masks, biases and strides, each tensor with its own layout. A seed determines one scene. */
#ifndef TESTS_ATTENTION_RANDOM_SCENE_H
#define TESTS_ATTENTION_RANDOM_SCENE_H

#include "grads.h"

typedef struct dice {
    uint64_t seed, count;
} dice;

/* A number from 0 to sides - 1. */
static inline int64_t roll(dice *d, int64_t sides)
{
    return (int64_t)(att_random_bits(d->seed, 7, d->count++) % (uint64_t)sides);
}

static inline bool once_in(dice *d, int64_t sides)
{
    return roll(d, sides) == 0;
}

/* Mostly up to 70, at times 0, 1 or more than a block of keys. */
static inline int64_t draw_size(dice *d)
{
    int64_t kind = roll(d, 10);
    return kind == 0 ? 0 : kind == 1 ? 1 : kind == 2 ? 200 + roll(d, 130) : roll(d, 71);
}

static inline int64_t draw_width(dice *d)
{
    static const int64_t usual[] = { 16, 32, 64, 80, 96, 128 };
    return once_in(d, 4) ? usual[roll(d, (int64_t)COUNT(usual))] : roll(d, 40);
}

/* The score's scale is 0 for its own; large scores come from wide vectors. */
static inline choice draw_choice(dice *d)
{
    bool tiled = once_in(d, 2);
    choice c = { .score = (att_score)roll(d, tiled ? 2 : ATT_SCORE_COUNT),
                 .normalizer = (att_normalizer)(tiled ? 0 : roll(d, ATT_NORMALIZER_COUNT)),
                 .B = roll(d, 4),
                 .T = draw_size(d),
                 .S = draw_size(d),
                 .G = 1 + roll(d, 3),
                 .K = draw_width(d),
                 .M = draw_width(d),
                 .A = roll(d, 40),
                 .mask = (int)(roll(d, 2 * PACKED) & roll(d, 2 * PACKED)),
                 .bias = (int)(roll(d, 2 * RELATIVE) & roll(d, 2 * RELATIVE)),
                 .cap = once_in(d, 4) ? 0.5 + (double)roll(d, 4) : 0,
                 .dropout = once_in(d, 4) ? 0.1 * (double)(1 + roll(d, 8)) : 0,
                 .scale = once_in(d, 4) ? 0.5 * (double)(roll(d, 5) - 2) : 0,
                 .seed = d->seed };
    c.H = c.G * (1 + roll(d, 3));
    if (c.mask & PACKED)
        c.B = 1;
    while (c.B * c.H * c.T * c.S > 120000) { /* the reference takes its time */
        c.T = (c.T + 1) / 2;
        c.H = c.G;
    }
    return c;
}

/* Strides in a random order of dimensions, with gaps, some of them backwards; inputs repeat a
 * dimension at times. */
static inline void draw_strides(dice *d, att_tensor *t, bool input)
{
    int order[ATT_MAX_RANK];
    bool plain = once_in(d, 3);
    for (int n = 0; n < t->rank; n++)
        order[n] = n;
    for (int n = t->rank - 1; n > 0 && !plain; n--) {
        int64_t other = roll(d, n + 1);
        int swap = order[n];
        order[n] = order[other];
        order[other] = swap;
    }
    lay_out(t, order, plain ? 0 : roll(d, 3));
    for (int n = 0; n < t->rank && !plain; n++)
        t->stride[n] *= once_in(d, 4) ? -1 : input && once_in(d, 12) ? 0 : 1;
}

static inline void draw_tensor(scene *s, dice *d, att_slot slot, int rank, const int64_t *shape,
                               double spread)
{
    att_tensor t = { .dtype = ATT_F32, .rank = rank };
    memcpy(t.shape, shape, (size_t)rank * sizeof *shape);
    draw_strides(d, &t, true);
    int64_t offset, room = tensor_room(&t, &offset);
    s->block[slot] = malloc((size_t)(room + 1) * sizeof(float));
    for (int64_t n = 0; n < room; n++)
        s->block[slot][n + 1] = (float)uniform(s->c.seed, (uint64_t)slot, (uint64_t)n, spread);
    t.data = s->block[slot] + 1 + offset;
    s->tensor[slot] = t;
}

static inline int64_t all_or_one(dice *d, int64_t size)
{
    return once_in(d, 2) ? size : 1;
}

static inline void draw_biases(scene *s, dice *d)
{
    const choice *c = &s->c;
    int64_t shape[4] = { all_or_one(d, c->B), all_or_one(d, c->H), all_or_one(d, c->T),
                         all_or_one(d, c->S) };
    if (c->bias & (FULL_BIAS | SHARED_BIAS))
        draw_tensor(s, d, ATT_SLOT_BIAS, 4, shape, 1);
    if (c->bias & ALIBI)
        draw_tensor(s, d, ATT_SLOT_ALIBI, 1, SHAPE(all_or_one(d, c->H)), 0.1);
    if (c->bias & RELATIVE)
        draw_tensor(s, d, ATT_SLOT_RELATIVE, 2, SHAPE(all_or_one(d, c->H), 2 * roll(d, 30) + 1), 1);
}

/* Parameters of about 1/sqrt(width), so that scores stay near 1. */
static inline void draw_score(scene *s, dice *d, int64_t Kq, int64_t Kk)
{
    const choice *c = &s->c;
    int64_t positions = c->S + roll(d, 4);
    double size = 1 / sqrt((double)(c->K + 1));
    switch (c->score) {
    case ATT_SCORE_GENERAL:
        draw_tensor(s, d, ATT_SLOT_SCORE_W, 3, SHAPE(all_or_one(d, c->H), Kq, Kk), size);
        break;
    case ATT_SCORE_ADDITIVE:
        if (Kq != c->A || once_in(d, 2)) /* else the queries are W q already */
            draw_tensor(s, d, ATT_SLOT_SCORE_W, 3, SHAPE(all_or_one(d, c->H), c->A, Kq), size);
        if (Kk != c->A || once_in(d, 2))
            draw_tensor(s, d, ATT_SLOT_SCORE_U, 3, SHAPE(all_or_one(d, c->H), c->A, Kk), size);
        draw_tensor(s, d, ATT_SLOT_SCORE_V, 2, SHAPE(all_or_one(d, c->H), c->A), 1);
        if (once_in(d, 2))
            draw_tensor(s, d, ATT_SLOT_SCORE_B, 2, SHAPE(all_or_one(d, c->H), c->A), 1);
        break;
    case ATT_SCORE_CONCAT:
        draw_tensor(s, d, ATT_SLOT_SCORE_V, 2, SHAPE(all_or_one(d, c->H), Kq + Kk), size);
        break;
    case ATT_SCORE_LOCATION:
        draw_tensor(s, d, ATT_SLOT_SCORE_W, 3, SHAPE(all_or_one(d, c->H), positions, Kq), size);
        if (once_in(d, 2))
            draw_tensor(s, d, ATT_SLOT_SCORE_B, 2, SHAPE(all_or_one(d, c->H), positions), 1);
        break;
    default:
        break;
    }
}

/* `count` offsets that do not fall, from 0 to `end`. */
static inline void draw_offsets(dice *d, int64_t *offsets, int64_t count, int64_t end)
{
    offsets[0] = 0;
    for (int64_t n = 1; n < count; n++)
        offsets[n] = n == count - 1 ? end : offsets[n - 1] + roll(d, end - offsets[n - 1] + 1);
}

static inline void draw_blocks(scene *s, dice *d)
{
    const choice *c = &s->c;
    int64_t height = 1 + roll(d, 40), width = 1 + roll(d, 60);
    int64_t rows = (c->T + height - 1) / height, columns = (c->S + width - 1) / width, count = 0;
    s->blocks = malloc((size_t)(rows * columns + 1) * sizeof *s->blocks);
    for (int64_t n = rows * columns - 1; n >= 0; n--)
        if (roll(d, 3))
            s->blocks[count++] = (att_block){ n / columns, n % columns };
    s->options.blocks = s->blocks;
    s->options.block_count = count;
    s->options.block_queries = height;
    s->options.block_keys = width;
}

/* A dense mask has strides like any tensor; a dimension with stride 0 needs no memory. */
static inline void draw_dense(scene *s, dice *d)
{
    const choice *c = &s->c;
    att_tensor t = { .rank = 4, .shape = { c->B, c->H, c->T, c->S } };
    draw_strides(d, &t, true);
    int64_t offset, room = tensor_room(&t, &offset), hidden = 1 + roll(d, 5);
    s->allow = malloc((size_t)room);
    for (int64_t n = 0; n < room; n++)
        s->allow[n] = (uint8_t)(roll(d, 6) >= hidden ? 1 + roll(d, 255) : 0);
    s->options.mask = s->allow + offset;
    memcpy(s->options.mask_stride, t.stride, sizeof s->options.mask_stride);
}

static inline void draw_masks(scene *s, dice *d)
{
    const choice *c = &s->c;
    s->options.offset = roll(d, c->S + 10) - 5;
    s->options.causal = c->mask & CAUSAL;
    s->options.window = c->mask & WINDOW;
    s->options.window_left = roll(d, 60) - 1;
    s->options.window_right = roll(d, 60) - 1;
    if (c->mask & LENGTHS) {
        s->lengths = malloc((size_t)(2 * c->B + 1) * sizeof *s->lengths);
        for (int64_t n = 0; n < 2 * c->B; n++)
            s->lengths[n] = roll(d, (n < c->B ? c->T : c->S) + 1);
        s->options.query_lengths = once_in(d, 4) ? NULL : s->lengths;
        s->options.key_lengths = once_in(d, 4) ? NULL : s->lengths + c->B;
    }
    if (c->mask & PACKED) {
        s->options.sequences = 1 + roll(d, 4);
        draw_offsets(d, s->offsets, s->options.sequences + 1, c->T);
        draw_offsets(d, s->offsets + 5, s->options.sequences + 1, c->S);
        s->options.query_offsets = s->offsets;
        s->options.key_offsets = s->offsets + 5;
    }
    if (c->mask & BLOCKS)
        draw_blocks(s, d);
    if (c->mask & DENSE)
        draw_dense(s, d);
}

/* The scene of a seed. It must not be moved: it points into itself. */
static inline void scene_draw(scene *s, dice *d)
{
    choice c = draw_choice(d);
    bool alike =
        c.score <= ATT_SCORE_SCALED || c.score == ATT_SCORE_GAUSSIAN || c.score == ATT_SCORE_COSINE;
    int64_t Kq = c.K, Kk = alike ? c.K : draw_width(d);
    if (c.score == ATT_SCORE_ADDITIVE) {
        Kq = once_in(d, 2) ? c.A : Kq;
        Kk = once_in(d, 2) ? c.A : Kk;
    }
    double spread = c.score == ATT_SCORE_GAUSSIAN ? 1 / sqrt((double)(c.K + 1)) : 0.7;
    *s = (scene){ .c = c };
    s->c.K = Kq > Kk ? Kq : Kk;
    s->options = (att_attention_options){ .size = sizeof(att_attention_options),
                                          .score = c.score,
                                          .normalizer = c.normalizer,
                                          .scale = c.scale,
                                          .soft_cap = c.cap,
                                          .dropout = c.dropout,
                                          .dropout_seed = c.seed,
                                          .dropout_step = 5,
                                          .dropout_layer = 2 };
    draw_tensor(s, d, ATT_SLOT_QUERY, 4, SHAPE(c.B, c.T, c.H, Kq), spread);
    draw_tensor(s, d, ATT_SLOT_KEY, 4, SHAPE(c.B, c.S, c.G, Kk), spread);
    draw_tensor(s, d, ATT_SLOT_VALUE, 4, SHAPE(c.B, c.S, c.G, c.M), 1);
    draw_score(s, d, Kq, Kk);
    draw_biases(s, d);
    draw_masks(s, d);
    scene_connect(s);
}

/* Memory for the requested results; the output is always among them. */
static inline void results_draw(results *r, const scene *s, dice *d, att_dtype dtype, bool all)
{
    const choice *c = &s->c;
    const int64_t shapes[RESULTS][4] = { { c->B, c->T, c->H, c->M }, { c->B, c->H, c->T, c->S },
                                         { c->B, c->H, c->T, c->S }, { c->B, c->H, c->T },
                                         { c->B, c->H, c->S },       { c->B, c->H, c->T } };
    att_tensor *asked[RESULTS] = { 0 };
    *r = (results){ 0 };
    for (int n = 0; n < RESULTS; n++) {
        att_tensor t = { .rank = n < 3 ? 4 : 3 };
        memcpy(t.shape, shapes[n], (size_t)t.rank * sizeof *t.shape);
        draw_strides(d, &t, false);
        if (once_in(d, 2) || all || n == 0) {
            result_new(r, n, t, dtype);
            asked[n] = &r->tensor[n];
        }
    }
    r->out = (att_attention_outputs){ asked[0], asked[1], asked[2], asked[3], asked[4], asked[5] };
}

/* Gradients for some of the inputs, or all, in their own strides. */
static inline void grads_draw(grads *g, const scene *s, dice *d, att_dtype dtype, bool all)
{
    scene own = *s;
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++) {
        att_tensor *t = &own.tensor[slot];
        draw_strides(d, t, false);
        if (roll(d, 4) == 0 && !all)
            t->data = NULL;
    }
    grads_new(g, &own, dtype);
}

#endif
