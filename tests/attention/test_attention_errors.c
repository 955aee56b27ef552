/* Every rule broken once: the call fails with a message that names the tensor, its shape and the
 * rule, and nothing is written. And every allocation made to fail in turn. */
#include "attention/paths.h"
#include "scene.h"

#include "base/alloc.h"

/* A sound computation, B 1, T 3, S 5, H 2, G 1, K 4, M 3, to be spoilt. */
typedef struct bench {
    att_attention_options options;
    att_attention_inputs in;
    att_attention_outputs out;
    att_attention_grads grads;
    const att_tensor *upstream;
    att_tensor query, key, value, w, u, b, v, bias, alibi, relative;
    att_tensor output, scores, weights, lse, totals, entropy, output_grad, grad;
} bench;

static double numbers[64];
static double results[64];

static void bench_new(bench *t)
{
    *t = (bench){ .options = ATT_INIT(att_attention_options),
                  .query = view4(numbers, 1, 3, 2, 4),
                  .key = view4(numbers, 1, 5, 1, 4),
                  .value = view4(numbers, 1, 5, 1, 3),
                  .w = view3(numbers, 2, 4, 4),
                  .u = view3(numbers, 2, 4, 4),
                  .b = view2(numbers, 2, 4),
                  .v = view2(numbers, 2, 4),
                  .bias = view4(numbers, 1, 2, 3, 5),
                  .alibi = view1(numbers, 2),
                  .relative = view2(numbers, 2, 5),
                  .output = view4(results, 1, 3, 2, 3),
                  .scores = view4(results, 1, 2, 3, 5),
                  .weights = view4(results, 1, 2, 3, 5),
                  .lse = view3(results, 1, 2, 3),
                  .totals = view3(results, 1, 2, 5),
                  .entropy = view3(results, 1, 2, 3),
                  .output_grad = view4(numbers, 1, 3, 2, 3) };
    t->in = (att_attention_inputs){ .query = &t->query, .key = &t->key, .value = &t->value };
    t->out = (att_attention_outputs){ .output = &t->output };
    t->upstream = &t->output_grad;
}

static const int64_t length_six[] = { 6 }, length_negative[] = { -1 };
static const int64_t far[] = { (INT64_C(1) << 53) + 1 },
                     second_far[] = { 0, -(INT64_C(1) << 53) - 1 };
static const int64_t to_three[] = { 0, 1, 3 }, to_five[] = { 0, 4, 5 }, to_four[] = { 0, 4, 4 };
static const int64_t falls[] = { 0, 6, 5 }, from_one[] = { 1, 2, 5 };
static const att_block block_row[] = { { 0, 0 }, { 2, 0 } }, block_key[] = { { 0, -1 } };
static const uint8_t allow[] = { 1 };

static void pack(bench *t, int64_t sequences, const int64_t *queries, const int64_t *keys)
{
    t->options.sequences = sequences;
    t->options.query_offsets = queries;
    t->options.key_offsets = keys;
}

static void blocks(bench *t, const att_block *list, int64_t count, int64_t queries, int64_t keys)
{
    t->options.blocks = list;
    t->options.block_count = count;
    t->options.block_queries = queries;
    t->options.block_keys = keys;
}

static void additive(bench *t)
{
    t->options.score = ATT_SCORE_ADDITIVE;
    t->in.score_w = &t->w;
    t->in.score_u = &t->u;
    t->in.score_b = &t->b;
    t->in.score_v = &t->v;
}

static void location(bench *t, int64_t rows)
{
    t->options.score = ATT_SCORE_LOCATION;
    t->w = view3(numbers, 1, rows, 4);
    t->in.score_w = &t->w;
}

/* The invalid argument, and the complete message. */
#define FORWARD_CASES(X)                                                                           \
    X(no_query, t->in.query = NULL, "query is missing")                                            \
    X(no_key, t->in.key = NULL, "key is missing")                                                  \
    X(no_value, t->in.value = NULL, "value is missing")                                            \
    X(no_output, t->out.output = NULL, "output is missing")                                        \
    X(no_data, t->key.data = NULL, "key [1, 5, 1, 4] has no data")                                 \
    X(no_type, t->value.dtype = (att_dtype)6,                                                      \
      "value: expected float32, float64, float16 or bfloat16, found unknown type")                 \
    X(query_rank, t->query.rank = 3, "query has 3 dimensions, expected 4: [B,T,H,Kq]")             \
    X(key_rank, t->key.rank = 2, "key has 2 dimensions, expected 4: [B,S,G,Kq]")                   \
    X(negative_rank, t->key.rank = -1, "key has -1 dimensions, expected 4: [B,S,G,Kq]")            \
    X(negative_size, t->key.shape[1] = -5,                                                         \
      "key [1, -5, 1, 4] has a size out of range, expected 0 to 2^32")                             \
    X(huge_size, t->key.shape[1] = INT64_MAX,                                                      \
      "key [1, 9223372036854775807, 1, 4] has a size out of range, expected 0 to 2^32")            \
    X(dot_width, t->key = view4(numbers, 1, 5, 1, 6),                                              \
      "query [1, 3, 2, 4] and key [1, 5, 1, 6]: the dot score needs d_q = d_k, but 4 ≠ 6")         \
    X(scaled_width, (t->options.score = ATT_SCORE_SCALED, t->query = view4(numbers, 1, 3, 2, 5)),  \
      "query [1, 3, 2, 5] and key [1, 5, 1, 4]: the scaled score needs d_q = d_k, but 5 ≠ 4")      \
    X(gaussian_width,                                                                              \
      (t->options.score = ATT_SCORE_GAUSSIAN, t->query = view4(numbers, 1, 3, 2, 5)),              \
      "query [1, 3, 2, 5] and key [1, 5, 1, 4]: the gaussian score needs d_q = d_k, but 5 ≠ 4")    \
    X(cosine_width, (t->options.score = ATT_SCORE_COSINE, t->query = view4(numbers, 1, 3, 2, 5)),  \
      "query [1, 3, 2, 5] and key [1, 5, 1, 4]: the cosine score needs d_q = d_k, but 5 ≠ 4")      \
    X(value_rows, t->value = view4(numbers, 1, 4, 1, 3),                                           \
      "key [1, 5, 1, 4] and value [1, 4, 1, 3]: n_k = n_v is required, but 5 ≠ 4")                 \
    X(value_heads, t->value = view4(numbers, 1, 5, 2, 3),                                          \
      "key [1, 5, 1, 4] and value [1, 5, 2, 3]: key and value need the same number of heads, "     \
      "but 1 ≠ 2")                                                                                 \
    X(key_batch, t->key = view4(numbers, 2, 5, 1, 4),                                              \
      "query [1, 3, 2, 4] and key [2, 5, 1, 4]: query and key need the same batch size, "          \
      "but 1 ≠ 2")                                                                                 \
    X(value_batch, t->value = view4(numbers, 2, 5, 1, 3),                                          \
      "query [1, 3, 2, 4] and value [2, 5, 1, 3]: query and value need the same batch size, "      \
      "but 1 ≠ 2")                                                                                 \
    X(head_multiple,                                                                               \
      (t->query = view4(numbers, 1, 2, 3, 4), t->key = view4(numbers, 1, 5, 2, 4),                 \
       t->value = view4(numbers, 1, 5, 2, 3)),                                                     \
      "query [1, 2, 3, 4] and key [1, 5, 2, 4]: the query's heads must be a multiple of the "      \
      "key's and neither may be 0, but they are 3 and 2")                                          \
    X(no_heads, (t->key = view4(numbers, 1, 5, 0, 4), t->value = view4(numbers, 1, 5, 0, 3)),      \
      "query [1, 3, 2, 4] and key [1, 5, 0, 4]: the query's heads must be a multiple of the "      \
      "key's and neither may be 0, but they are 2 and 0")                                          \
    X(dot_with_w, t->in.score_w = &t->w, "score_w is given, but the dot score does not use it")    \
    X(dot_with_u, t->in.score_u = &t->u, "score_u is given, but the dot score does not use it")    \
    X(dot_with_b, t->in.score_b = &t->b, "score_b is given, but the dot score does not use it")    \
    X(dot_with_v, t->in.score_v = &t->v, "score_v is given, but the dot score does not use it")    \
    X(general_without_w, t->options.score = ATT_SCORE_GENERAL,                                     \
      "score_w is missing: the general score needs score_w [H|1,Kq,Kk]")                           \
    X(general_with_v,                                                                              \
      (t->options.score = ATT_SCORE_GENERAL, t->in.score_w = &t->w, t->in.score_v = &t->v),        \
      "score_v is given, but the general score does not use it")                                   \
    X(general_rows,                                                                                \
      (t->options.score = ATT_SCORE_GENERAL, t->w = view3(numbers, 2, 3, 4),                       \
       t->in.score_w = &t->w),                                                                     \
      "query [1, 3, 2, 4] and score_w [2, 3, 4]: dimension 1 of score_w [H|1,Kq,Kk] must be Kq, "  \
      "but 4 ≠ 3")                                                                                 \
    X(general_columns,                                                                             \
      (t->options.score = ATT_SCORE_GENERAL, t->w = view3(numbers, 1, 4, 5),                       \
       t->in.score_w = &t->w),                                                                     \
      "key [1, 5, 1, 4] and score_w [1, 4, 5]: dimension 2 of score_w [H|1,Kq,Kk] must be Kk, "    \
      "but 4 ≠ 5")                                                                                 \
    X(general_heads,                                                                               \
      (t->options.score = ATT_SCORE_GENERAL, t->w = view3(numbers, 3, 4, 4),                       \
       t->in.score_w = &t->w),                                                                     \
      "query [1, 3, 2, 4] and score_w [3, 4, 4]: dimension 0 of score_w [H|1,Kq,Kk] must be H "    \
      "or 1, but 2 ≠ 3")                                                                           \
    X(additive_without_w,                                                                          \
      (additive(t), t->in.score_w = NULL, t->query = view4(numbers, 1, 3, 2, 5)),                  \
      "query [1, 3, 2, 5] and score_v [2, 4]: without score_w the query must be as wide as "       \
      "score_v, but 5 ≠ 4")                                                                        \
    X(additive_without_u,                                                                          \
      (additive(t), t->in.score_u = NULL, t->key = view4(numbers, 1, 5, 1, 3)),                    \
      "key [1, 5, 1, 3] and score_v [2, 4]: without score_u the key must be as wide as score_v, "  \
      "but 3 ≠ 4")                                                                                 \
    X(additive_without_v, (additive(t), t->in.score_v = NULL),                                     \
      "score_v is missing: the additive score needs score_v [H|1,A]")                              \
    X(additive_hidden, (additive(t), t->u = view3(numbers, 2, 3, 4)),                              \
      "score_w [2, 4, 4] and score_u [2, 3, 4]: dimension 1 of score_u [H|1,A,Kk] must be A, "     \
      "but 4 ≠ 3")                                                                                 \
    X(additive_bias, (additive(t), t->b = view2(numbers, 1, 3)),                                   \
      "score_w [2, 4, 4] and score_b [1, 3]: dimension 1 of score_b [H|1,A] must be A, "           \
      "but 4 ≠ 3")                                                                                 \
    X(additive_v, (additive(t), t->v = view2(numbers, 1, 5)),                                      \
      "score_w [2, 4, 4] and score_v [1, 5]: dimension 1 of score_v [H|1,A] must be A, "           \
      "but 4 ≠ 5")                                                                                 \
    X(concat_without_v, t->options.score = ATT_SCORE_CONCAT,                                       \
      "score_v is missing: the concat score needs score_v [H|1,Kq+Kk]")                            \
    X(concat_width, (t->options.score = ATT_SCORE_CONCAT, t->in.score_v = &t->v),                  \
      "key [1, 5, 1, 4] and score_v [2, 4]: dimension 1 of score_v [H|1,Kq+Kk] must be Kq+Kk, "    \
      "but 8 ≠ 4")                                                                                 \
    X(location_rows, location(t, 4),                                                               \
      "key [1, 5, 1, 4] and score_w [1, 4, 4]: dimension 1 of score_w [H|1,>=P,Kq] must be at "    \
      "least P, but 5 > 4")                                                                        \
    X(location_packed_rows, (location(t, 3), pack(t, 2, to_three, to_five)),                       \
      "key [1, 5, 1, 4] and score_w [1, 3, 4]: dimension 1 of score_w [H|1,>=P,Kq] must be at "    \
      "least P, but 4 > 3")                                                                        \
    X(bias_heads, (t->bias = view4(numbers, 1, 3, 3, 5), t->in.bias = &t->bias),                   \
      "query [1, 3, 2, 4] and bias [1, 3, 3, 5]: dimension 1 of bias [B|1,H|1,T|1,S|1] must be "   \
      "H or 1, but 2 ≠ 3")                                                                         \
    X(bias_keys, (t->bias = view4(numbers, 1, 1, 1, 4), t->in.bias = &t->bias),                    \
      "key [1, 5, 1, 4] and bias [1, 1, 1, 4]: dimension 3 of bias [B|1,H|1,T|1,S|1] must be "     \
      "S or 1, but 5 ≠ 4")                                                                         \
    X(alibi_heads, (t->alibi = view1(numbers, 3), t->in.alibi = &t->alibi),                        \
      "query [1, 3, 2, 4] and alibi [3]: dimension 0 of alibi [H|1] must be H or 1, but 2 ≠ 3")    \
    X(relative_heads, (t->relative = view2(numbers, 3, 5), t->in.relative = &t->relative),         \
      "query [1, 3, 2, 4] and relative [3, 5]: dimension 0 of relative [H|1,2R+1] must be H or "   \
      "1, but 2 ≠ 3")                                                                              \
    X(relative_even, (t->relative = view2(numbers, 2, 4), t->in.relative = &t->relative),          \
      "relative [2, 4]: the table is [H|1,2R+1], but 4 is even")                                   \
    X(score_number, t->options.score = (att_score)99, "score is 99, which is not an att_score")    \
    X(normalizer_number, t->options.normalizer = (att_normalizer)99,                               \
      "normalizer is 99, which is not an att_normalizer")                                          \
    X(scale_nan, t->options.scale = NAN, "scale is nan, expected a finite number")                 \
    X(scale_infinite, t->options.scale = INFINITY, "scale is inf, expected a finite number")       \
    X(cap_negative, t->options.soft_cap = -1,                                                      \
      "soft_cap is -1, expected a number from 1e-30 to 1e30, or 0 for none")                       \
    X(cap_beyond_float, t->options.soft_cap = 1e300,                                               \
      "soft_cap is 1e+300, expected a number from 1e-30 to 1e30, or 0 for none")                   \
    X(cap_infinite, t->options.soft_cap = INFINITY,                                                \
      "soft_cap is inf, expected a number from 1e-30 to 1e30, or 0 for none")                      \
    X(dropout_one, t->options.dropout = 1,                                                         \
      "dropout is 1, expected a probability of at least 0 and below 1")                            \
    X(dropout_negative, t->options.dropout = -0.1,                                                 \
      "dropout is -0.1, expected a probability of at least 0 and below 1")                         \
    X(dropout_nan, t->options.dropout = NAN,                                                       \
      "dropout is nan, expected a probability of at least 0 and below 1")                          \
    X(offset_far, t->options.offset = INT64_MIN,                                                   \
      "offset is -9223372036854775808, expected -2^53 to 2^53")                                    \
    X(query_length, t->options.query_lengths = length_six,                                         \
      "query_lengths[0] is 6, expected 0 to T = 3")                                                \
    X(key_length, t->options.key_lengths = length_six, "key_lengths[0] is 6, expected 0 to S = 5") \
    X(key_length_negative, t->options.key_lengths = length_negative,                               \
      "key_lengths[0] is -1, expected 0 to S = 5")                                                 \
    X(sequences_negative, pack(t, -1, NULL, NULL), "sequences is -1, expected 0 or more")          \
    X(offset_and_offsets, (t->options.offset = 3, t->options.offsets = to_three),                  \
      "offset is 3 and offsets is given, expected one of them")                                    \
    X(offsets_far, t->options.offsets = far,                                                       \
      "offsets[0] is 9007199254740993, expected -2^53 to 2^53")                                    \
    X(offsets_of_packed_far, (pack(t, 2, to_three, to_five), t->options.offsets = second_far),     \
      "offsets[1] is -9007199254740993, expected -2^53 to 2^53")                                   \
    X(offsets_alone, pack(t, 0, NULL, to_five), "key_offsets is given, but sequences is 0")        \
    X(query_offsets_alone, pack(t, 0, to_three, NULL),                                             \
      "query_offsets is given, but sequences is 0")                                                \
    X(no_key_offsets, pack(t, 2, to_three, NULL),                                                  \
      "key_offsets is missing: packed sequences need sequences + 1 entries")                       \
    X(offsets_start, pack(t, 2, to_three, from_one), "key_offsets[0] is 1, expected 0")            \
    X(offsets_fall, pack(t, 2, to_three, falls), "key_offsets decreases from 6 to 5 at index 2")   \
    X(offsets_end, pack(t, 2, to_three, to_four), "key_offsets ends at 4, expected S = 5")         \
    X(query_offsets_end, pack(t, 2, to_five, to_five), "query_offsets ends at 5, expected T = 3")  \
    X(packed_batch,                                                                                \
      (t->query = view4(numbers, 2, 3, 1, 4), t->key = view4(numbers, 2, 5, 1, 1),                 \
       t->key.shape[3] = 4, t->value = t->key, pack(t, 2, to_three, to_five)),                     \
      "packed sequences need a batch of 1, but B = 2")                                             \
    X(blocks_missing, blocks(t, NULL, 2, 2, 2), "block_count is 2, but blocks is missing")         \
    X(block_count, blocks(t, block_row, -2, 2, 2), "block_count is -2, but blocks is given")       \
    X(block_size, blocks(t, block_row, 1, 2, 0),                                                   \
      "blocks of 2 queries and 0 keys: both must be at least 1")                                   \
    X(block_row, blocks(t, block_row, 2, 2, 2), "blocks[1] is (2, 0), but there are 2 × 3 blocks") \
    X(block_key, blocks(t, block_key, 1, 2, 2),                                                    \
      "blocks[0] is (0, -1), but there are 2 × 3 blocks")                                          \
    X(output_shape, t->output = view4(results, 1, 3, 2, 4),                                        \
      "value [1, 5, 1, 3] and output [1, 3, 2, 4]: dimension 3 of output [B,T,H,M] must be M, "    \
      "but 3 ≠ 4")                                                                                 \
    X(output_broadcast, t->output.stride[1] = 0,                                                   \
      "output [1, 3, 2, 3] is a broadcast view (stride 0 in dimension 1): expected one "           \
      "memory location per element")                                                               \
    X(scores_shape, (t->out.scores = &t->scores, t->scores = view4(results, 1, 2, 5, 3)),          \
      "query [1, 3, 2, 4] and scores [1, 2, 5, 3]: dimension 2 of scores [B,H,T,S] must be T, "    \
      "but 3 ≠ 5")                                                                                 \
    X(weights_shape, (t->out.weights = &t->weights, t->weights.shape[1] = 1),                      \
      "query [1, 3, 2, 4] and weights [1, 1, 3, 5]: dimension 1 of weights [B,H,T,S] must be H, "  \
      "but 2 ≠ 1")                                                                                 \
    X(lse_rank, (t->out.log_sum_exp = &t->lse, t->lse.rank = 2),                                   \
      "log_sum_exp has 2 dimensions, expected 3: [B,H,T]")                                         \
    X(totals_shape, (t->out.key_totals = &t->totals, t->totals.shape[2] = 3),                      \
      "key [1, 5, 1, 4] and key_totals [1, 2, 3]: dimension 2 of key_totals [B,H,S] must be S, "   \
      "but 5 ≠ 3")                                                                                 \
    X(outputs_overlap, t->out.weights = &t->weights, "output and weights overlap")                 \
    X(outputs_cross,                                                                               \
      (t->out.log_sum_exp = &t->lse, t->lse = view3(results + 40, 1, 2, 3),                        \
       t->out.entropy = &t->entropy, t->entropy.data = results + 45),                              \
      "log_sum_exp and entropy overlap")                                                           \
    X(output_inside,                                                                               \
      (t->out.scores = &t->scores, t->scores = view4(results + 30, 1, 2, 3, 5),                    \
       t->out.entropy = &t->entropy, t->entropy.data = results + 20, t->entropy.stride[2] = 9),    \
      "scores and entropy overlap")                                                                \
    X(entropy_data, (t->out.entropy = &t->entropy, t->entropy.data = NULL),                        \
      "entropy [1, 2, 3] has no data")

#define BACKWARD_CASES(X)                                                                          \
    X(no_output_grad, t->upstream = NULL, "output_grad is missing")                                \
    X(output_grad_shape, t->output_grad.shape[1] = 4,                                              \
      "query [1, 3, 2, 4] and output_grad [1, 4, 2, 3]: dimension 1 of output_grad [B,T,H,M] "     \
      "must be T, but 3 ≠ 4")                                                                      \
    X(backward_inputs, t->value = view4(numbers, 1, 4, 1, 3),                                      \
      "key [1, 5, 1, 4] and value [1, 4, 1, 3]: n_k = n_v is required, but 5 ≠ 4")                 \
    X(grad_of_nothing, (t->grad = t->bias, t->grads.bias = &t->grad),                              \
      "the gradient of bias is requested, but there is no bias")                                   \
    X(grad_shape, (t->grad = view4(results, 1, 5, 1, 3), t->grads.key = &t->grad),                 \
      "key [1, 5, 1, 4] and gradient of key [1, 5, 1, 3]: a gradient has the shape of its input")  \
    X(grad_type, (t->grad = t->key, t->grad.dtype = (att_dtype)0, t->grads.key = &t->grad),        \
      "gradient of key: expected float32 or float64, found unknown type")                          \
    X(grad_data, (t->grad = t->key, t->grad.data = NULL, t->grads.key = &t->grad),                 \
      "gradient of key [1, 5, 1, 4] has no data")                                                  \
    X(grad_broadcast,                                                                              \
      (t->grad = view4(results, 1, 5, 1, 4), t->grad.stride[1] = 0, t->grads.key = &t->grad),      \
      "gradient of key [1, 5, 1, 4] is a broadcast view (stride 0 in dimension 1): expected "      \
      "one memory location per element")

#define SPOIL(name, change, message)                                                               \
    static void spoil_##name(bench *t)                                                             \
    {                                                                                              \
        change;                                                                                    \
    }
FORWARD_CASES(SPOIL)
BACKWARD_CASES(SPOIL)

typedef struct bad_case {
    const char *name;
    void (*spoil)(bench *t);
    const char *message;
} bad_case;

#define ROW(name, change, message) { #name, spoil_##name, message },
static const bad_case forward_cases[] = { FORWARD_CASES(ROW) };
static const bad_case backward_cases[] = { BACKWARD_CASES(ROW) };

static void expect_refusal(const bad_case *c, att_status status, const att_error *err)
{
    if (status != ATT_BAD_INPUT || strcmp(err->message, c->message) != 0)
        fail_msg("%s: status %d, message\n  %s\nexpected\n  %s", c->name, (int)status, err->message,
                 c->message);
    assert_int_equal(err->status, ATT_BAD_INPUT);
    assert_string_equal(err->place, "attention");
    for (size_t n = 0; n < COUNT(results); n++)
        assert_true(results[n] == 77);
}

static void each_broken_rule_of_the_forward_is_named(void **state)
{
    (void)state;
    bench t;
    for (size_t n = 0; n < COUNT(forward_cases); n++) {
        att_error err = { 0 };
        bench_new(&t);
        forward_cases[n].spoil(&t);
        att_status status = att_attention_forward_reference(&t.options, &t.in, &t.out, &err);
        expect_refusal(&forward_cases[n], status, &err);
        att_error again = { 0 };
        status = att_attention_forward_matrix(&t.options, &t.in, &t.out, &again);
        expect_refusal(&forward_cases[n], status, &again);
        assert_int_equal(att_attention_forward_reference(&t.options, &t.in, &t.out, NULL),
                         ATT_BAD_INPUT);
    }
}

static void each_broken_rule_of_the_backward_is_named(void **state)
{
    (void)state;
    bench t;
    for (size_t n = 0; n < COUNT(backward_cases); n++) {
        att_error err = { 0 };
        bench_new(&t);
        backward_cases[n].spoil(&t);
        att_status status =
            att_attention_backward_reference(&t.options, &t.in, t.upstream, &t.grads, &err);
        expect_refusal(&backward_cases[n], status, &err);
    }
}

static void the_computation_that_is_spoilt_is_sound(void **state)
{
    (void)state;
    bench t;
    bench_new(&t);
    t.options.mask = allow;
    t.output.data = (double[18]){ 0 };
    ASSERT_OK(att_attention_forward_reference(&t.options, &t.in, &t.out, err));
    additive(&t);
    ASSERT_OK(att_attention_forward_reference(&t.options, &t.in, &t.out, err));
    ASSERT_OK(att_attention_backward_reference(&t.options, &t.in, t.upstream, &t.grads, err));
}

/* ---- memory */

typedef att_status (*attempt)(const scene *s, att_error *err);

static att_status try_forward(const scene *s, att_error *err)
{
    static scene_results r;
    scene_results_new(&r, s);
    return att_attention_forward_reference(&s->options, &s->in, &r.out, err);
}

static att_status try_matrix(const scene *s, att_error *err)
{
    static scene_results r;
    scene_results_new(&r, s);
    return att_attention_forward_matrix(&s->options, &s->in, &r.out, err);
}

static att_status try_backward(const scene *s, att_error *err)
{
    static double upstream[ROOM], bias[ROOM];
    att_tensor output_grad = view4(upstream, s->B, s->T, s->H, s->M);
    att_tensor bias_grad = s->tensor[ATT_SLOT_BIAS];
    bias_grad.data = bias;
    return att_attention_backward_reference(&s->options, &s->in, &output_grad,
                                            &(att_attention_grads){ .bias = &bias_grad }, err);
}

/* Makes each allocation fail in turn until the call succeeds; nothing may leak. */
static size_t fail_each_allocation(attempt run, const scene *s)
{
    size_t alive = att_alloc_live();
    for (size_t n = 1;; n++) {
        att_error err = { 0 };
        att_alloc_fail_at(n);
        att_status status = run(s, &err);
        att_alloc_fail_at(0);
        assert_int_equal(att_alloc_live(), alive);
        if (status == ATT_OK)
            return n - 1;
        assert_int_equal(status, ATT_NO_MEMORY);
        assert_string_equal(err.message, "out of memory");
    }
}

/* The scene is large enough for the arena to need several blocks. */
static void a_backward_without_grads_is_refused(void **state)
{
    (void)state;
    const bad_case none = { "no grads", NULL, "grads is missing" };
    bench t;
    bench_new(&t);
    att_error of_ref = { 0 }, of_fast = { 0 };
    expect_refusal(&none,
                   att_attention_backward_reference(&t.options, &t.in, t.upstream, NULL, &of_ref),
                   &of_ref);
    expect_refusal(
        &none, att_attention_backward(&t.options, &t.in, NULL, t.upstream, NULL, NULL, &of_fast),
        &of_fast);
}

/* Gradients that are not requested need no memory and change nothing. */
static void a_backward_with_nothing_wanted_does_nothing(void **state)
{
    (void)state;
    static const float floats[16];
    att_tensor input = att_tensor_view(floats, ATT_F32, 4, (const int64_t[]){ 1, 2, 2, 4 });
    att_tensor upstream = input;
    att_attention_inputs in = { .query = &input, .key = &input, .value = &input };
    att_attention_grads nothing = { 0 };
    for (int score = ATT_SCORE_DOT; score <= ATT_SCORE_COSINE; score++) {
        att_attention_options options = { .size = sizeof(att_attention_options),
                                          .score = (att_score)score };
        if (att_attention_workspace(&options, &in, true) == 0)
            continue; /* it needs parameters */
        att_alloc_fail_at(1);
        ASSERT_OK(att_attention_backward(&options, &in, NULL, &upstream, &nothing, NULL, err));
        ASSERT_OK(att_attention_backward_reference(&options, &in, &upstream, &nothing, err));
        att_alloc_fail_at(0);
    }
}

static void every_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    static scene s;
    scene_choice choice = {
        .score = ATT_SCORE_GENERAL, .mask = BLOCKS, .bias = FULL_BIAS, .heads = { 2, 2, false }
    };
    scene_new(&s, choice, 1);
    assert_true(fail_each_allocation(try_forward, &s) >= 2);
    assert_true(fail_each_allocation(try_matrix, &s) >= 2);
    assert_true(fail_each_allocation(try_backward, &s) >= 2);
}

/* Long rows, so that each array of the working area is an allocation of its own. */
static void every_array_of_the_working_area_may_fail(void **state)
{
    (void)state;
    enum { LONG = 1 << 19 };
    static double one[4];
    double out[1];
    att_tensor query = view4(one, 1, 1, 1, 1), key = view4(one, 1, LONG, 1, 1);
    att_tensor output = view4(out, 1, 1, 1, 1);
    key.stride[1] = 0;
    att_attention_inputs in = { .query = &query, .key = &key, .value = &key };
    att_attention_outputs outputs = { .output = &output };
    att_attention_grads grads = { .query = &output };
    att_attention_options options = { .size = sizeof(att_attention_options),
                                      .score = ATT_SCORE_COSINE };
    size_t alive = att_alloc_live();
    for (int backward = 0; backward < 2; backward++) {
        size_t n = 0;
        att_status status = ATT_NO_MEMORY;
        while (status != ATT_OK) {
            att_alloc_fail_at(++n);
            status = backward
                         ? att_attention_backward_reference(&options, &in, &output, &grads, NULL)
                         : att_attention_forward_reference(&options, &in, &outputs, NULL);
            att_alloc_fail_at(0);
            assert_int_equal(att_alloc_live(), alive);
            assert_true(status == ATT_OK || status == ATT_NO_MEMORY);
        }
        assert_true(n > (backward ? 14 : 9));
    }
}

/* A view may repeat one number any number of times. Sizes whose product overflows are refused for
 * lack of memory before a byte is requested. */
static void a_product_of_sizes_that_overflows_is_out_of_memory(void **state)
{
    (void)state;
    static double one[1];
    att_tensor huge = view4(one, 1, 1, 1, 1), output = huge;
    huge.shape[1] = huge.shape[3] = output.shape[1] = output.shape[3] = (int64_t)1 << 32;
    huge.stride[1] = huge.stride[3] = 0;
    att_attention_options options = ATT_INIT(att_attention_options);
    att_attention_inputs in = { .query = &huge, .key = &huge, .value = &huge };
    att_attention_outputs outputs = { .output = &output };
    assert_int_equal(att_attention_forward_reference(&options, &in, &outputs, NULL), ATT_NO_MEMORY);
    assert_int_equal(att_attention_forward_matrix(&options, &in, &outputs, NULL), ATT_NO_MEMORY);
    att_attention_grads grads = { .query = &output };
    assert_int_equal(att_attention_backward_reference(&options, &in, &huge, &grads, NULL),
                     ATT_NO_MEMORY);
}

int main(void)
{
    for (size_t n = 0; n < COUNT(results); n++)
        results[n] = 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_rule_of_the_forward_is_named),
        cmocka_unit_test(each_broken_rule_of_the_backward_is_named),
        cmocka_unit_test(the_computation_that_is_spoilt_is_sound),
        cmocka_unit_test(a_backward_without_grads_is_refused),
        cmocka_unit_test(a_backward_with_nothing_wanted_does_nothing),
        cmocka_unit_test(every_failed_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(every_array_of_the_working_area_may_fail),
        cmocka_unit_test(a_product_of_sizes_that_overflows_is_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
