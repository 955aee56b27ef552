/* Scenes for fused attention: float tensors of any size with the masks and biases chosen, in one of
 * several layouts, and room for all results, fenced in. */
#ifndef TESTS_ATTENTION_FUSED_SCENE_H
#define TESTS_ATTENTION_FUSED_SCENE_H

#include "helper.h"

#include "attention/normalize.h"
#include "attention/score.h"
#include "base/alloc.h"
#include "base/cpu.h"
#include "base/random.h"
#include "thin.h"

#include <stdio.h>
#include <stdlib.h>

/* Masks and biases to be combined. */
enum { LENGTHS = 1, CAUSAL = 2, WINDOW = 4, BLOCKS = 8, DENSE = 16, PACKED = 32, OFFSETS = 64 };
enum { FULL_BIAS = 1, SHARED_BIAS = 2, TRANSPOSED_BIAS = 4, ALIBI = 8, RELATIVE = 16 };

static const int masks[] = { 0,
                             LENGTHS,
                             CAUSAL,
                             WINDOW,
                             BLOCKS,
                             DENSE,
                             PACKED,
                             CAUSAL | WINDOW | LENGTHS,
                             PACKED | CAUSAL,
                             PACKED | CAUSAL | WINDOW | BLOCKS | DENSE,
                             BLOCKS | DENSE | LENGTHS,
                             CAUSAL | OFFSETS,
                             WINDOW | LENGTHS | OFFSETS,
                             PACKED | CAUSAL | OFFSETS };
static const int biases[] = { 0,     FULL_BIAS, SHARED_BIAS,
                              ALIBI, RELATIVE,  TRANSPOSED_BIAS | ALIBI | RELATIVE };

/* Numbers of threads that must not show. */
static const int thread_numbers[] = { 1, 2, 3, 8 };

/* How a tensor [B,N,heads,width] lies in memory. */
typedef enum layout {
    LAYOUT_ROWS,  /* as its shape says: heads of a position next to each other */
    LAYOUT_HEADS, /* positions of a head next to each other, with a gap after each row */
    LAYOUT_WILD,  /* widths apart, positions backwards */
    LAYOUTS
} layout;

typedef struct choice {
    int64_t B, T, S, H, G, K, M;
    int mask, bias;
    double scale, cap, dropout;
    layout layout;
    double spread; /* of queries and keys: large ones make large scores; 0: 1 */
    uint64_t seed;
    att_score score;
    att_normalizer normalizer;
    int64_t A; /* additive score */
} choice;

enum { FENCE = 64 }; /* floats before and after each result */

typedef struct scene {
    choice c;
    att_attention_options options;
    att_attention_inputs in;
    att_tensor tensor[ATT_SLOT_COUNT];
    float *block[ATT_SLOT_COUNT];
    int64_t *lengths; /* query_lengths [B], key_lengths [B] */
    int64_t offsets[10];
    int64_t *positions; /* of query 0 of each sequence */
    att_block *blocks;
    uint8_t *allow;
} scene;

static inline double get(const att_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t index[4] = { a, b, c, d };
    return att_tensor_get(t, index);
}

static inline double uniform(uint64_t seed, uint64_t stream, uint64_t index, double spread)
{
    return spread * (2 * att_random_double(seed, stream, index) - 1);
}

/* Row-major strides in the order of dimensions given, the last fastest; `gap` after each row. */
static inline void lay_out(att_tensor *t, const int *order, int64_t gap)
{
    int64_t stride = 1;
    for (int n = t->rank - 1; n >= 0; n--) {
        t->stride[order[n]] = stride;
        stride *= t->shape[order[n]] + (n == t->rank - 1 ? gap : 0);
    }
}

/* Room for a tensor in its layout; *offset is where element 0 is. */
static inline int64_t tensor_room(const att_tensor *t, int64_t *offset)
{
    int64_t low = 0, high = 0;
    for (int d = 0; d < t->rank; d++) {
        int64_t reach = t->shape[d] > 0 ? (t->shape[d] - 1) * t->stride[d] : 0;
        if (reach < 0)
            low -= reach;
        else
            high += reach;
    }
    *offset = low;
    return low + high + 1;
}

static inline att_tensor shaped(int rank, const int64_t *shape, layout order)
{
    static const int rows[] = { 0, 1, 2, 3 }, heads[] = { 0, 2, 1, 3 }, wild[] = { 3, 0, 2, 1 };
    att_tensor t = { .dtype = ATT_F32, .rank = rank };
    memcpy(t.shape, shape, (size_t)rank * sizeof *shape);
    lay_out(&t,
            rank < 4 || order == LAYOUT_ROWS ? rows
            : order == LAYOUT_HEADS          ? heads
                                             : wild,
            order == LAYOUT_ROWS ? 0 : 3);
    if (rank == 4 && order == LAYOUT_WILD)
        t.stride[1] = -t.stride[1];
    return t;
}

static inline void scene_fill(scene *s, att_slot slot, int rank, const int64_t *shape,
                              double spread)
{
    att_tensor t = shaped(rank, shape, slot <= ATT_SLOT_VALUE ? s->c.layout : LAYOUT_ROWS);
    int64_t offset, room = tensor_room(&t, &offset);
    s->block[slot] = malloc((size_t)(room + 1) * sizeof(float));
    for (int64_t n = 0; n < room; n++)
        s->block[slot][n + 1] = (float)uniform(s->c.seed, (uint64_t)slot, (uint64_t)n, spread);
    t.data = s->block[slot] + 1 + offset; /* never aligned */
    s->tensor[slot] = t;
}

#define SHAPE(...)                                                                                 \
    (const int64_t[])                                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static inline void fill_biases(scene *s)
{
    const choice *c = &s->c;
    if (c->bias & FULL_BIAS)
        scene_fill(s, ATT_SLOT_BIAS, 4, SHAPE(c->B, c->H, c->T, c->S), 2);
    if (c->bias & SHARED_BIAS)
        scene_fill(s, ATT_SLOT_BIAS, 4, SHAPE(1, c->H, 1, c->S), 2);
    if (c->bias & TRANSPOSED_BIAS) {
        scene_fill(s, ATT_SLOT_BIAS, 4, SHAPE(c->B, 1, c->T, c->S), 2);
        att_tensor *bias = &s->tensor[ATT_SLOT_BIAS];
        bias->stride[2] = 1;
        bias->stride[3] = c->T;
    }
    if (c->bias & ALIBI)
        scene_fill(s, ATT_SLOT_ALIBI, 1, SHAPE(c->H), 0.3);
    if (c->bias & RELATIVE)
        scene_fill(s, ATT_SLOT_RELATIVE, 2, SHAPE(1, 2 * 20 + 1), 2);
}

/* The parameters of the score, one for each head where there are several. */
static inline void fill_score(scene *s)
{
    const choice *c = &s->c;
    int64_t heads = c->seed % 2 ? c->H : 1;
    switch (c->score) {
    case ATT_SCORE_GENERAL:
        scene_fill(s, ATT_SLOT_SCORE_W, 3, SHAPE(heads, c->K, c->K), 1);
        break;
    case ATT_SCORE_ADDITIVE:
        scene_fill(s, ATT_SLOT_SCORE_W, 3, SHAPE(heads, c->A, c->K), 1);
        scene_fill(s, ATT_SLOT_SCORE_U, 3, SHAPE(heads, c->A, c->K), 1);
        scene_fill(s, ATT_SLOT_SCORE_V, 2, SHAPE(c->H, c->A), 1);
        if (c->seed % 3)
            scene_fill(s, ATT_SLOT_SCORE_B, 2, SHAPE(heads, c->A), 1);
        break;
    case ATT_SCORE_CONCAT:
        scene_fill(s, ATT_SLOT_SCORE_V, 2, SHAPE(heads, 2 * c->K), 1);
        break;
    case ATT_SCORE_LOCATION:
        scene_fill(s, ATT_SLOT_SCORE_W, 3, SHAPE(heads, c->S + 2, c->K), 1);
        if (c->seed % 3)
            scene_fill(s, ATT_SLOT_SCORE_B, 2, SHAPE(heads, c->S + 2), 1);
        break;
    default:
        break;
    }
}

/* Three packed sequences, the middle one without queries; a fourth without keys. */
static inline void fill_packing(scene *s)
{
    const choice *c = &s->c;
    int64_t *o = s->offsets;
    o[0] = o[5] = 0;
    o[1] = o[2] = c->T / 3;
    o[3] = c->T - c->T / 7;
    o[4] = c->T;
    o[6] = c->S / 4;
    o[7] = c->S / 3;
    o[8] = o[9] = c->S;
    s->options.sequences = 4;
    s->options.query_offsets = o;
    s->options.key_offsets = o + 5;
}

static inline void fill_blocks(scene *s)
{
    const choice *c = &s->c;
    s->options.block_queries = 24;
    s->options.block_keys = 40;
    int64_t rows = (c->T + 23) / 24, columns = (c->S + 39) / 40, count = 0;
    s->blocks = malloc((size_t)(rows * columns + 1) * sizeof *s->blocks);
    for (int64_t n = rows * columns - 1; n >= 0; n--)
        if (att_random_bits(c->seed, 70, (uint64_t)n) % 3)
            s->blocks[count++] = (att_block){ n / columns, n % columns };
    s->options.blocks = s->blocks;
    s->options.block_count = count;
}

static inline void fill_dense(scene *s)
{
    const choice *c = &s->c;
    size_t count = (size_t)(c->H * c->T * c->S);
    s->allow = malloc(count + 1);
    for (size_t n = 0; n < count; n++)
        s->allow[n] = att_random_bits(c->seed, 71, n) % 4 != 0;
    s->options.mask = s->allow;
    bool transposed = c->layout == LAYOUT_WILD;
    memcpy(s->options.mask_stride,
           SHAPE(0, c->T * c->S, transposed ? 1 : c->S, transposed ? c->T : 1),
           sizeof s->options.mask_stride);
}

static inline void fill_lengths(scene *s)
{
    int64_t B = s->c.B;
    s->lengths = malloc((size_t)B * 2 * sizeof *s->lengths);
    for (int64_t b = 0; b < B; b++) {
        s->lengths[b] = s->c.T - b % 3 * (s->c.T / 4);
        s->lengths[B + b] = s->c.S - (b + 1) % 3 * (s->c.S / 3);
    }
    s->options.query_lengths = s->lengths;
    s->options.key_lengths = s->lengths + B;
}

/* Another position of query 0 for each of up to B members of the batch or 4 packed sequences. */
static inline void fill_positions(scene *s)
{
    int64_t count = s->c.B > 4 ? s->c.B : 4;
    s->positions = malloc((size_t)count * sizeof *s->positions);
    for (int64_t n = 0; n < count; n++)
        s->positions[n] = s->options.offset + n * 7 - 9;
    s->options.offset = 0;
    s->options.offsets = s->positions;
}

static inline void fill_masks(scene *s)
{
    const choice *c = &s->c;
    s->options.offset = c->S - c->T;
    s->options.causal = c->mask & CAUSAL;
    s->options.window = c->mask & WINDOW;
    s->options.window_left = 50;
    s->options.window_right = c->mask & CAUSAL ? -1 : 20;
    if (c->mask & LENGTHS)
        fill_lengths(s);
    if (c->mask & PACKED)
        fill_packing(s);
    if (c->mask & BLOCKS)
        fill_blocks(s);
    if (c->mask & DENSE)
        fill_dense(s);
    if (c->mask & OFFSETS)
        fill_positions(s);
}

static inline void scene_connect(scene *s)
{
    const att_tensor *in[ATT_SLOT_COUNT];
    for (int n = 0; n < ATT_SLOT_COUNT; n++)
        in[n] = s->tensor[n].data ? &s->tensor[n] : NULL;
    s->in = (att_attention_inputs){ in[0], in[1], in[2], in[3], in[4],
                                    in[5], in[6], in[7], in[8], in[9] };
}

static inline void scene_new(scene *s, choice c)
{
    double spread = c.spread > 0 ? c.spread : 1;
    *s = (scene){ .c = c };
    s->options = (att_attention_options){ .size = sizeof(att_attention_options),
                                          .score = c.score,
                                          .normalizer = c.normalizer,
                                          .scale = c.scale,
                                          .soft_cap = c.cap,
                                          .dropout = c.dropout,
                                          .dropout_seed = c.seed,
                                          .dropout_step = 5,
                                          .dropout_layer = 2 };
    scene_fill(s, ATT_SLOT_QUERY, 4, SHAPE(c.B, c.T, c.H, c.K), spread);
    scene_fill(s, ATT_SLOT_KEY, 4, SHAPE(c.B, c.S, c.G, c.K), spread);
    scene_fill(s, ATT_SLOT_VALUE, 4, SHAPE(c.B, c.S, c.G, c.M), 1);
    fill_score(s);
    fill_biases(s);
    fill_masks(s);
    scene_connect(s);
}

static inline void scene_free(scene *s)
{
    for (int n = 0; n < ATT_SLOT_COUNT; n++)
        free(s->block[n]);
    free(s->lengths);
    free(s->positions);
    free(s->blocks);
    free(s->allow);
}

/* Results: output, scores, weights, log_sum_exp, key_totals, entropy. */
enum { RESULTS = 6 };
static const char *const result_names[RESULTS] = { "output",      "scores",     "weights",
                                                   "log_sum_exp", "key_totals", "entropy" };

typedef struct results {
    att_tensor tensor[RESULTS];
    char *block[RESULTS];
    size_t bytes[RESULTS];
    att_attention_outputs out;
} results;

/* Room filled with a pattern that no result is likely to be. */
static inline void result_new(results *r, int n, att_tensor t, att_dtype dtype)
{
    int64_t offset, room = tensor_room(&t, &offset);
    size_t size = dtype == ATT_F32 ? sizeof(float) : sizeof(double);
    t.dtype = dtype;
    r->bytes[n] = (size_t)(room + 2 * FENCE) * size;
    r->block[n] = malloc(r->bytes[n]);
    memset(r->block[n], 0xa5, r->bytes[n]);
    t.data = r->block[n] + (size_t)(FENCE + offset) * size;
    r->tensor[n] = t;
}

/* Only the output and the log-sum-exp, or everything. */
static inline void results_new(results *r, const scene *s, att_dtype dtype, bool everything)
{
    const choice *c = &s->c;
    *r = (results){ 0 };
    result_new(r, 0, shaped(4, SHAPE(c->B, c->T, c->H, c->M), c->layout), dtype);
    result_new(r, 3, shaped(3, SHAPE(c->B, c->H, c->T), LAYOUT_ROWS), dtype);
    r->out = (att_attention_outputs){ .output = &r->tensor[0], .log_sum_exp = &r->tensor[3] };
    if (!everything)
        return;
    result_new(r, 1, shaped(4, SHAPE(c->B, c->H, c->T, c->S), c->layout), dtype);
    result_new(r, 2, shaped(4, SHAPE(c->B, c->H, c->T, c->S), c->layout), dtype);
    result_new(r, 4, shaped(3, SHAPE(c->B, c->H, c->S), LAYOUT_ROWS), dtype);
    result_new(r, 5, shaped(3, SHAPE(c->B, c->H, c->T), LAYOUT_ROWS), dtype);
    r->out.scores = &r->tensor[1];
    r->out.weights = &r->tensor[2];
    r->out.key_totals = &r->tensor[4];
    r->out.entropy = &r->tensor[5];
}

static inline void results_free(results *r)
{
    for (int n = 0; n < RESULTS; n++)
        free(r->block[n]);
}

/* FNV-1a over a whole block, fences and gaps included. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t n = 0; n < count; n++)
        hash = (hash ^ at[n]) * UINT64_C(0x100000001b3);
    return hash;
}

static inline uint64_t results_hash(const results *r)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int n = 0; n < RESULTS; n++)
        if (r->block[n])
            hash = hash_bytes(hash, r->block[n], r->bytes[n]);
    return hash;
}

/* The number of changed bytes outside the elements of a result. */
static inline size_t results_spilled(const results *r, int n)
{
    const att_tensor *t = &r->tensor[n];
    size_t size = t->dtype == ATT_F32 ? sizeof(float) : sizeof(double);
    char *copy = malloc(r->bytes[n]);
    memcpy(copy, r->block[n], r->bytes[n]);
    int64_t index[ATT_MAX_RANK] = { 0 };
    for (int64_t left = att_tensor_count(t); left > 0; left--) {
        int64_t at = 0;
        for (int d = 0; d < t->rank; d++)
            at += index[d] * t->stride[d];
        memset(copy + ((char *)t->data - r->block[n]) + at * (int64_t)size, 0xa5, size);
        for (int d = t->rank - 1; d >= 0 && ++index[d] == t->shape[d]; d--)
            index[d] = 0;
    }
    size_t spilled = 0;
    for (size_t b = 0; b < r->bytes[n]; b++)
        spilled += (unsigned char)copy[b] != 0xa5;
    free(copy);
    return spilled;
}

static inline const char *choice_name(const choice *c)
{
    static char name[300];
    snprintf(name, sizeof name,
             "%s by %s, B %d T %d S %d H %d/%d K %d M %d mask %d bias %d cap %g drop %g layout %d "
             "seed %d",
             att_score_name(c->score), att_normalizer_name(c->normalizer), (int)c->B, (int)c->T,
             (int)c->S, (int)c->H, (int)c->G, (int)c->K, (int)c->M, c->mask, c->bias, c->cap,
             c->dropout, (int)c->layout, (int)c->seed);
    return name;
}

#endif
