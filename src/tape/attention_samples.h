/* Options of the attention operation and the samples of its gradient check (op_attention.c). */
#ifndef ATT_TAPE_ATTENTION_SAMPLES_H
#define ATT_TAPE_ATTENTION_SAMPLES_H

#include "tape/op.h"
#include "tape/ops.h"

typedef struct attention_op {
    att_attention_options options;
    int64_t heads, kv_heads;
    att_column_range columns[3]; /* query, key, value */
} attention_op;

enum { ATTENTION_SAMPLE_MAX_KEYS = 20 }; /* of a sample without values */

static const int64_t some_keys[] = { 3, 0 }, some_queries[] = { 1, 2 };
static const int64_t two_sequences[] = { 0, 2, 5 };

/* B = 2, T = 2 and S = 4 where not stated. Inputs: query, key, value, w, u, b, v, bias. */
#define NONE                                                                                       \
    {                                                                                              \
        ATT_NOT_GIVEN,                                                                             \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define QUERY                                                                                      \
    {                                                                                              \
        3,                                                                                         \
        {                                                                                          \
            2, 2, 4                                                                                \
        }                                                                                          \
    }
#define KEY                                                                                        \
    {                                                                                              \
        3,                                                                                         \
        {                                                                                          \
            2, 4, 4                                                                                \
        }                                                                                          \
    }
#define VALUE                                                                                      \
    {                                                                                              \
        3,                                                                                         \
        {                                                                                          \
            2, 4, 3                                                                                \
        }                                                                                          \
    }
#define PLAIN                                                                                      \
    {                                                                                              \
        QUERY, KEY, VALUE, NONE, NONE, NONE, NONE, NONE                                            \
    }
#define HEADS(h, g, ...)                                                                           \
    (&(const attention_op){ .options = { .size = sizeof(att_attention_options), __VA_ARGS__ },     \
                            .heads = h,                                                            \
                            .kv_heads = g })
#define OPTIONS(...) HEADS(1, 1, __VA_ARGS__)

static const att_op_sample attention_samples[] = {
    /* scores */
    { "dot", 8, PLAIN, OPTIONS(.score = ATT_SCORE_DOT), 0, 0 },
    { "scaled", 8, PLAIN, OPTIONS(.score = ATT_SCORE_SCALED), 0, 0 },
    { "general",
      8,
      { QUERY, { 3, { 2, 4, 5 } }, VALUE, { 2, { 4, 5 } }, NONE, NONE, NONE, NONE },
      OPTIONS(.score = ATT_SCORE_GENERAL),
      0,
      0 },
    { "additive",
      8,
      { QUERY,
        { 3, { 2, 4, 5 } },
        VALUE,
        { 2, { 6, 4 } },
        { 2, { 6, 5 } },
        { 1, { 6 } },
        { 1, { 6 } },
        NONE },
      OPTIONS(.score = ATT_SCORE_ADDITIVE),
      0,
      0 },
    { "additive, no b, lengths",
      8,
      { QUERY, KEY, VALUE, { 2, { 17, 4 } }, { 2, { 17, 4 } }, NONE, { 1, { 17 } }, NONE },
      OPTIONS(.score = ATT_SCORE_ADDITIVE, .key_lengths = some_keys),
      0,
      0 },
    { "additive, query and keys already projected",
      8,
      { QUERY, KEY, VALUE, NONE, NONE, { 1, { 4 } }, { 1, { 4 } }, NONE },
      OPTIONS(.score = ATT_SCORE_ADDITIVE, .key_lengths = some_keys),
      0,
      0 },
    { "additive, keys already projected",
      8,
      { QUERY, { 3, { 2, 4, 6 } }, VALUE, { 2, { 6, 4 } }, NONE, NONE, { 1, { 6 } }, NONE },
      OPTIONS(.score = ATT_SCORE_ADDITIVE),
      0,
      0 },
    { "concat",
      8,
      { QUERY, { 3, { 2, 4, 3 } }, VALUE, NONE, NONE, NONE, { 1, { 7 } }, NONE },
      OPTIONS(.score = ATT_SCORE_CONCAT),
      0,
      0 },
    { "gaussian", 8, PLAIN, OPTIONS(.score = ATT_SCORE_GAUSSIAN), 0, 0 },
    { "gaussian, divided by the sum", 8, PLAIN,
      OPTIONS(.score = ATT_SCORE_GAUSSIAN, .normalizer = ATT_NORMALIZE_SUM), 0, 0 },
    { "cosine", 8, PLAIN, OPTIONS(.score = ATT_SCORE_COSINE, .scale = 3), 0, 0 },
    { "location",
      8,
      { QUERY, KEY, VALUE, { 2, { 5, 4 } }, NONE, { 1, { 5 } }, NONE, NONE },
      OPTIONS(.score = ATT_SCORE_LOCATION),
      0,
      0 },

    /* normalizers */
    { "mean", 8, PLAIN, OPTIONS(.normalizer = ATT_NORMALIZE_MEAN, .key_lengths = some_keys), 0, 0 },
    { "sparsemax", 8, PLAIN, OPTIONS(.normalizer = ATT_NORMALIZE_SPARSEMAX), 0, 0 },
    { "entmax", 8, PLAIN, OPTIONS(.normalizer = ATT_NORMALIZE_ENTMAX15), 0, 0 },
    { "sigmoid", 8, PLAIN, OPTIONS(.normalizer = ATT_NORMALIZE_SIGMOID), 0, 0 },
    { "none", 8, PLAIN, OPTIONS(.normalizer = ATT_NORMALIZE_NONE), 0, 0 },

    /* masks */
    { "lengths", 8, PLAIN, OPTIONS(.key_lengths = some_keys, .query_lengths = some_queries), 0, 0 },
    { "causal",
      8,
      { { 3, { 1, 5, 4 } }, { 3, { 1, 5, 4 } }, { 3, { 1, 5, 3 } }, NONE, NONE, NONE, NONE, NONE },
      OPTIONS(.score = ATT_SCORE_SCALED, .causal = true),
      0,
      0 },
    { "causal after a cache", 8, PLAIN, OPTIONS(.causal = true, .offset = 1), 0, 0 },
    { "window",
      8,
      { { 3, { 1, 5, 4 } }, { 3, { 1, 5, 4 } }, { 3, { 1, 5, 3 } }, NONE, NONE, NONE, NONE, NONE },
      OPTIONS(.window = true, .window_left = 1, .window_right = 1),
      0,
      0 },

    /* heads, biases and others */
    { "grouped heads, lengths",
      8,
      { { 3, { 2, 3, 8 } }, { 3, { 2, 4, 4 } }, { 3, { 2, 4, 6 } }, NONE, NONE, NONE, NONE, NONE },
      HEADS(4, 2, .score = ATT_SCORE_SCALED, .key_lengths = some_keys),
      0,
      0 },
    { "column ranges, two packed sequences",
      8,
      { { 3, { 1, 5, 9 } }, { 3, { 1, 5, 7 } }, { 3, { 1, 5, 8 } }, NONE, NONE, NONE, NONE, NONE },
      (&(const attention_op){ .options = { .size = sizeof(att_attention_options),
                                           .score = ATT_SCORE_SCALED,
                                           .causal = true,
                                           .sequences = 2,
                                           .query_offsets = two_sequences,
                                           .key_offsets = two_sequences },
                              .heads = 2,
                              .kv_heads = 1,
                              .columns = { { 1, 8 }, { 0, 4 }, { 5, 3 } } }),
      0,
      0 },
    { "17 keys",
      8,
      { { 3, { 1, 3, 8 } },
        { 3, { 1, 17, 8 } },
        { 3, { 1, 17, 6 } },
        NONE,
        NONE,
        NONE,
        NONE,
        NONE },
      HEADS(2, 2, .score = ATT_SCORE_SCALED),
      0,
      0 },
    { "full bias",
      8,
      { { 3, { 2, 2, 4 } },
        KEY,
        { 3, { 2, 4, 4 } },
        NONE,
        NONE,
        NONE,
        NONE,
        { 4, { 2, 2, 2, 4 } } },
      HEADS(2, 2, .score = ATT_SCORE_DOT),
      0,
      0 },
    { "broadcast bias",
      8,
      { QUERY, KEY, VALUE, NONE, NONE, NONE, NONE, { 4, { 1, 1, 1, 4 } } },
      OPTIONS(.key_lengths = some_keys),
      0,
      0 },
    { "soft cap", 8, PLAIN, OPTIONS(.soft_cap = 2, .scale = 2), 0, 0 },
    { "dropout", 8, PLAIN, OPTIONS(.dropout = 0.4, .dropout_seed = 5), 0, 0 },
    { "weights",
      8,
      { QUERY, KEY, NONE, NONE, NONE, NONE, NONE, NONE },
      OPTIONS(.score = ATT_SCORE_SCALED, .key_lengths = some_keys),
      0,
      0 },
    { "weights of two heads, additive",
      8,
      { { 3, { 1, 2, 4 } },
        { 3, { 1, 3, 2 } },
        NONE,
        { 2, { 3, 2 } },
        { 2, { 3, 2 } },
        NONE,
        { 1, { 3 } },
        NONE },
      HEADS(2, 1, .score = ATT_SCORE_ADDITIVE),
      0,
      0 },
    { "no queries",
      8,
      { { 3, { 2, 0, 4 } }, KEY, VALUE, NONE, NONE, NONE, NONE, NONE },
      OPTIONS(0),
      0,
      0 },
    { "no keys",
      8,
      { QUERY, { 3, { 2, 0, 4 } }, { 3, { 2, 0, 3 } }, NONE, NONE, NONE, NONE, NONE },
      OPTIONS(0),
      0,
      0 },
};

#undef NONE
#undef QUERY
#undef KEY
#undef VALUE
#undef PLAIN
#undef OPTIONS
#undef HEADS

#endif
