/* A scene: one small attention computation made from a row of choices and a seed. The tests walk
 * through all combinations of the choices: every score, normalizer, mask, bias and head layout,
 * with and without soft cap and dropout. */
#ifndef TESTS_ATTENTION_SCENE_H
#define TESTS_ATTENTION_SCENE_H

#include "helper.h"

#include "attention/normalize.h"
#include "attention/score.h"
#include "base/random.h"

/* Masks and biases to be combined. */
enum { LENGTHS = 1, CAUSAL = 2, WINDOW = 4, BLOCKS = 8, DENSE = 16, PACKED = 32 };
enum { QUERIES_PROJECTED = 1, KEYS_PROJECTED = 2 };
enum { FULL_BIAS = 1, SHARED_BIAS = 2, ALIBI = 4, RELATIVE = 8 };

static const int scene_masks[] = { 0,     LENGTHS, CAUSAL,     WINDOW,        BLOCKS,
                                   DENSE, PACKED,  PACKED - 1, 2 * PACKED - 1 };
static const int scene_biases[] = { 0,     FULL_BIAS, SHARED_BIAS,
                                    ALIBI, RELATIVE,  FULL_BIAS | ALIBI | RELATIVE };

static const struct scene_heads {
    int64_t H, G;
    bool shared; /* parameters common to all heads */
} scene_heads[] = { { 1, 1, false }, { 2, 2, false }, { 4, 2, true }, { 3, 1, false } };

enum {
    SCORES = ATT_SCORE_COUNT,
    NORMALIZERS = ATT_NORMALIZER_COUNT,
    MASKS = COUNT(scene_masks),
    BIASES = COUNT(scene_biases),
    LAYOUTS = COUNT(scene_heads),
    SCENES = SCORES * NORMALIZERS * MASKS * BIASES * LAYOUTS * 2,
    ROOM = 256 /* numbers of the largest tensor */
};

typedef struct scene_choice {
    att_score score;
    att_normalizer normalizer;
    int mask;
    int bias;
    struct scene_heads heads;
    bool capped;
    bool dropped;
    int projected; /* additive: which of W and U is left out, the input being its product */
} scene_choice;

typedef struct scene {
    scene_choice choice;
    uint64_t seed;
    att_attention_options options;
    att_attention_inputs in;
    int64_t B, T, S, H, G, Kq, Kk, M, A;
    att_tensor tensor[ATT_SLOT_COUNT]; /* data NULL where not used */
    double data[ATT_SLOT_COUNT][ROOM];
    int64_t query_lengths[2], key_lengths[2], query_offsets[4], key_offsets[4];
    int64_t offsets[3]; /* per sequence; used with every second seed */
    att_block blocks[4];
    uint8_t allow[ROOM];
} scene;

/* The n-th of SCENES choices. Dropout goes along with every third, and of five
 * additive ones three lack a matrix. */
static inline scene_choice scene_choose(int n)
{
    scene_choice choice = { .dropped = n % 3 == 1 };
    int rest = n;
    choice.capped = rest % 2, rest /= 2;
    choice.heads = scene_heads[rest % LAYOUTS], rest /= LAYOUTS;
    choice.bias = scene_biases[rest % BIASES], rest /= BIASES;
    choice.mask = scene_masks[rest % MASKS], rest /= MASKS;
    choice.normalizer = (att_normalizer)(rest % NORMALIZERS), rest /= NORMALIZERS;
    choice.score = (att_score)rest;
    if (choice.score == ATT_SCORE_ADDITIVE && n % 5 < 4)
        choice.projected = n % 5;
    return choice;
}

static inline const char *scene_name(const scene_choice *c)
{
    static char name[160];
    snprintf(name, sizeof name, "%s, %s, mask %d, bias %d, heads %d/%d%s%s%s",
             att_score_name(c->score), att_normalizer_name(c->normalizer), c->mask, c->bias,
             (int)c->heads.H, (int)c->heads.G, c->capped ? ", capped" : "",
             c->dropped ? ", dropped" : "", c->projected ? ", projected" : "");
    return name;
}

/* Gives a slot a tensor of this shape, filled uniformly from [low, high). */
static inline void scene_fill(scene *s, att_slot slot, att_tensor shape, double low, double high)
{
    shape.data = s->data[slot];
    int64_t count = att_tensor_count(&shape);
    assert_true(count <= ROOM);
    for (int64_t n = 0; n < count; n++)
        s->data[slot][n] =
            low + (high - low) * att_random_double(s->seed, (uint64_t)slot, (uint64_t)n);
    s->tensor[slot] = shape;
}

static inline const att_tensor *scene_input(const scene *s, att_slot slot)
{
    return s->tensor[slot].data ? &s->tensor[slot] : NULL;
}

/* Points the inputs at the tensors; again after the scene was copied. */
static inline void scene_connect(scene *s)
{
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++)
        if (s->tensor[slot].data)
            s->tensor[slot].data = s->data[slot];
    s->in = (att_attention_inputs){ .query = scene_input(s, ATT_SLOT_QUERY),
                                    .key = scene_input(s, ATT_SLOT_KEY),
                                    .value = scene_input(s, ATT_SLOT_VALUE),
                                    .score_w = scene_input(s, ATT_SLOT_SCORE_W),
                                    .score_u = scene_input(s, ATT_SLOT_SCORE_U),
                                    .score_b = scene_input(s, ATT_SLOT_SCORE_B),
                                    .score_v = scene_input(s, ATT_SLOT_SCORE_V),
                                    .bias = scene_input(s, ATT_SLOT_BIAS),
                                    .alibi = scene_input(s, ATT_SLOT_ALIBI),
                                    .relative = scene_input(s, ATT_SLOT_RELATIVE) };
    s->options.query_lengths = s->choice.mask & LENGTHS ? s->query_lengths : NULL;
    s->options.key_lengths = s->choice.mask & LENGTHS ? s->key_lengths : NULL;
    s->options.query_offsets = s->choice.mask & PACKED ? s->query_offsets : NULL;
    s->options.key_offsets = s->choice.mask & PACKED ? s->key_offsets : NULL;
    s->options.offsets = s->seed % 2 ? s->offsets : NULL;
    s->options.blocks = s->choice.mask & BLOCKS ? s->blocks : NULL;
    s->options.mask = s->choice.mask & DENSE ? s->allow : NULL;
}

/* The sum normalizer divides by the sum of a row's scores. Its scenes have positive inputs, so that
 * no sum comes near 0; all others take either sign. */
static inline double scene_low(const scene *s)
{
    return s->choice.normalizer == ATT_NORMALIZE_SUM ? 0.3 : -1;
}

static inline void scene_fill_score(scene *s)
{
    int64_t heads = s->choice.heads.shared ? 1 : s->H;
    double low = scene_low(s);
    switch (s->choice.score) {
    case ATT_SCORE_GENERAL:
        scene_fill(s, ATT_SLOT_SCORE_W, view3(NULL, heads, s->Kq, s->Kk), low, 1);
        break;
    case ATT_SCORE_ADDITIVE:
        if (!(s->choice.projected & QUERIES_PROJECTED))
            scene_fill(s, ATT_SLOT_SCORE_W, view3(NULL, heads, s->A, s->Kq), low, 1);
        if (!(s->choice.projected & KEYS_PROJECTED))
            scene_fill(s, ATT_SLOT_SCORE_U, view3(NULL, 1, s->A, s->Kk), low, 1);
        if (s->choice.capped) /* with and without the optional one */
            scene_fill(s, ATT_SLOT_SCORE_B, view2(NULL, heads, s->A), low, 1);
        scene_fill(s, ATT_SLOT_SCORE_V, view2(NULL, heads, s->A), low, 1);
        break;
    case ATT_SCORE_CONCAT:
        scene_fill(s, ATT_SLOT_SCORE_V, view2(NULL, heads, s->Kq + s->Kk), low, 1);
        break;
    case ATT_SCORE_LOCATION:
        scene_fill(s, ATT_SLOT_SCORE_W, view3(NULL, heads, s->S + 1, s->Kq), low, 1);
        if (s->choice.capped)
            scene_fill(s, ATT_SLOT_SCORE_B, view2(NULL, heads, s->S), low, 1);
        break;
    default:
        break;
    }
}

/* Slopes are small: ALiBi takes away, and sums must stay positive (see scene_low). */
static inline void scene_fill_bias(scene *s)
{
    int64_t heads = s->choice.heads.shared ? 1 : s->H;
    double low = scene_low(s);
    if (s->choice.bias & FULL_BIAS)
        scene_fill(s, ATT_SLOT_BIAS, view4(NULL, s->B, s->H, s->T, s->S), low, 1);
    if (s->choice.bias & SHARED_BIAS)
        scene_fill(s, ATT_SLOT_BIAS, view4(NULL, 1, s->H, 1, s->S), low, 1);
    if (s->choice.bias & ALIBI)
        scene_fill(s, ATT_SLOT_ALIBI, view1(NULL, heads), 0.01, 0.03);
    if (s->choice.bias & RELATIVE)
        scene_fill(s, ATT_SLOT_RELATIVE, view2(NULL, heads, 5), low, 1);
}

/* Each mask hides some keys, leaves some, and where it can makes a row empty. Packed sequences: two
 * of 2 and 2 queries with 3 and 2 keys, and between them one with a query but no key. */
static inline void scene_fill_masks(scene *s)
{
    int mask = s->choice.mask;
    if (mask & PACKED) {
        s->options.sequences = 3;
        memcpy(s->query_offsets, (int64_t[]){ 0, 2, 3, 5 }, sizeof s->query_offsets);
        memcpy(s->key_offsets, (int64_t[]){ 0, 3, 3, 5 }, sizeof s->key_offsets);
    }
    memcpy(s->query_lengths, (int64_t[]){ s->T, s->T - 1 }, sizeof s->query_lengths);
    memcpy(s->key_lengths, (int64_t[]){ s->S - 1, s->S }, sizeof s->key_lengths);
    s->options.causal = mask & CAUSAL;
    s->options.offset = mask & (CAUSAL | WINDOW) ? 1 : -1;
    memcpy(s->offsets,
           (int64_t[]){ s->options.offset, s->options.offset + 1, s->options.offset - 1 },
           sizeof s->offsets);
    if (s->seed % 2)
        s->options.offset = 0;
    s->options.window = mask & WINDOW;
    s->options.window_left = 1;
    s->options.window_right = mask & CAUSAL ? -1 : 1;
    s->options.block_queries = 2;
    s->options.block_keys = 2;
    s->options.block_count = mask & BLOCKS ? 4 : 0; /* out of order, one of them twice */
    memcpy(s->blocks, (att_block[]){ { 1, 1 }, { 0, 1 }, { 0, 0 }, { 0, 1 } }, sizeof s->blocks);
    memcpy(s->options.mask_stride, (int64_t[]){ 0, s->T * s->S, s->S, 1 },
           sizeof s->options.mask_stride);
    for (int64_t n = 0; n < s->H * s->T * s->S; n++)
        s->allow[n] = att_random_double(s->seed, 99, (uint64_t)n) < 0.8;
}

/* The cosine's derivatives grow without bound near the zero vector; differences need vectors of
 * some length. Every third number is the first of its row. */
static inline void scene_lengthen(scene *s, att_slot slot)
{
    for (int64_t n = 0; n < att_tensor_count(&s->tensor[slot]); n += 3)
        s->data[slot][n] += copysign(0.5, s->data[slot][n]);
}

static inline void scene_new(scene *s, scene_choice choice, uint64_t seed)
{
    bool any_width = !att_score_get(choice.score)->same_width;
    bool packed = choice.mask & PACKED;
    *s = (scene){ .choice = choice,
                  .seed = seed,
                  .B = packed ? 1 : 2,
                  .T = packed ? 5 : 3,
                  .S = packed ? 5 : 4,
                  .H = choice.heads.H,
                  .G = choice.heads.G,
                  .Kq = 3,
                  .Kk = any_width && !(choice.projected & KEYS_PROJECTED) ? 2 : 3,
                  .M = 2,
                  .A = 3 };
    s->options = (att_attention_options){ .size = sizeof(att_attention_options),
                                          .score = choice.score,
                                          .normalizer = choice.normalizer,
                                          .scale = choice.capped ? 1.25 : 0,
                                          .soft_cap = choice.capped ? 1.5 : 0,
                                          .dropout = choice.dropped ? 0.25 : 0,
                                          .dropout_seed = seed,
                                          .dropout_step = 7,
                                          .dropout_layer = 3 };
    scene_fill(s, ATT_SLOT_QUERY, view4(NULL, s->B, s->T, s->H, s->Kq), scene_low(s), 1);
    scene_fill(s, ATT_SLOT_KEY, view4(NULL, s->B, s->S, s->G, s->Kk), scene_low(s), 1);
    scene_fill(s, ATT_SLOT_VALUE, view4(NULL, s->B, s->S, s->G, s->M), -1, 1);
    if (choice.score == ATT_SCORE_COSINE) {
        scene_lengthen(s, ATT_SLOT_QUERY);
        scene_lengthen(s, ATT_SLOT_KEY);
    }
    scene_fill_score(s);
    scene_fill_bias(s);
    scene_fill_masks(s);
    scene_connect(s);
}

/* Room for everything that comes out of a scene. */
typedef struct scene_results {
    double output[ROOM], scores[ROOM], weights[ROOM], log_sum_exp[ROOM], key_totals[ROOM],
        entropy[ROOM];
    att_tensor tensor[6];
    att_attention_outputs out;
} scene_results;

static inline void scene_results_new(scene_results *r, const scene *s)
{
    r->tensor[0] = view4(r->output, s->B, s->T, s->H, s->M);
    r->tensor[1] = view4(r->scores, s->B, s->H, s->T, s->S);
    r->tensor[2] = view4(r->weights, s->B, s->H, s->T, s->S);
    r->tensor[3] = view3(r->log_sum_exp, s->B, s->H, s->T);
    r->tensor[4] = view3(r->key_totals, s->B, s->H, s->S);
    r->tensor[5] = view3(r->entropy, s->B, s->H, s->T);
    r->out = (att_attention_outputs){ .output = &r->tensor[0],
                                      .scores = &r->tensor[1],
                                      .weights = &r->tensor[2],
                                      .log_sum_exp = &r->tensor[3],
                                      .key_totals = &r->tensor[4],
                                      .entropy = &r->tensor[5] };
}

#endif
