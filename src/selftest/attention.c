/* Attention forward and backward: every score, every normalizer, masks and biases. */
#include "selftest/selftest.h"

#include "base/error.h"
#include "base/minmax.h"

/* Sizes that fill no tile or block. */
enum { BATCH = 2, QUERIES = 37, KEYS = 141, HEADS = 4, KV_HEADS = 2, SIZE = 24, HIDDEN = 20 };

static const int64_t query_shape[] = { BATCH, QUERIES, HEADS, SIZE };
static const int64_t key_shape[] = { BATCH, KEYS, KV_HEADS, SIZE };

typedef struct tensors {
    att_tensor query, key, value, score_w, score_u, score_v, alibi;
    att_tensor output, weights, output_grad, query_grad, key_grad, value_grad;
} tensors;

static att_status make_parameters(tensors *t, att_score score, att_error *err)
{
    switch (score) {
    case ATT_SCORE_GENERAL:
        return att_selftest_random(&t->score_w, 3, (int64_t[]){ 1, SIZE, SIZE }, 5, err);
    case ATT_SCORE_ADDITIVE:
        ATT_TRY(att_selftest_random(&t->score_w, 3, (int64_t[]){ 1, HIDDEN, SIZE }, 5, err));
        ATT_TRY(att_selftest_random(&t->score_u, 3, (int64_t[]){ 1, HIDDEN, SIZE }, 6, err));
        return att_selftest_random(&t->score_v, 2, (int64_t[]){ 1, HIDDEN }, 7, err);
    case ATT_SCORE_CONCAT:
        return att_selftest_random(&t->score_v, 2, (int64_t[]){ 1, 2 * SIZE }, 7, err);
    case ATT_SCORE_LOCATION:
        return att_selftest_random(&t->score_w, 3, (int64_t[]){ 1, KEYS, SIZE }, 5, err);
    default:
        return ATT_OK;
    }
}

static att_status make(tensors *t, att_score score, att_error *err)
{
    ATT_TRY(att_selftest_random(&t->query, 4, query_shape, 1, err));
    ATT_TRY(att_selftest_random(&t->key, 4, key_shape, 2, err));
    ATT_TRY(att_selftest_random(&t->value, 4, key_shape, 3, err));
    ATT_TRY(att_selftest_random(&t->output_grad, 4, query_shape, 4, err));
    ATT_TRY(att_selftest_random(&t->alibi, 1, (int64_t[]){ HEADS }, 8, err));
    ATT_TRY(make_parameters(t, score, err));
    ATT_TRY(att_tensor_new(&t->output, ATT_F32, 4, query_shape, err));
    ATT_TRY(
        att_tensor_new(&t->weights, ATT_F32, 4, (int64_t[]){ BATCH, HEADS, QUERIES, KEYS }, err));
    ATT_TRY(att_tensor_new(&t->query_grad, ATT_F32, 4, query_shape, err));
    ATT_TRY(att_tensor_new(&t->key_grad, ATT_F32, 4, key_shape, err));
    return att_tensor_new(&t->value_grad, ATT_F32, 4, key_shape, err);
}

static void release(tensors *t)
{
    att_tensor *all[] = { &t->query,      &t->key,      &t->value,     &t->score_w, &t->score_u,
                          &t->score_v,    &t->alibi,    &t->output,    &t->weights, &t->output_grad,
                          &t->query_grad, &t->key_grad, &t->value_grad };
    for (size_t i = 0; i < ATT_COUNT(all); i++)
        att_tensor_free(all[i]);
}

static const att_tensor *or_null(const att_tensor *tensor)
{
    return tensor->data ? tensor : NULL;
}

static att_status compute(tensors *t, const att_attention_options *options, bool alibi,
                          att_error *err)
{
    ATT_TRY(make(t, options->score, err));
    const att_attention_inputs in = { .query = &t->query,
                                      .key = &t->key,
                                      .value = &t->value,
                                      .score_w = or_null(&t->score_w),
                                      .score_u = or_null(&t->score_u),
                                      .score_v = or_null(&t->score_v),
                                      .alibi = alibi ? &t->alibi : NULL };
    const att_attention_outputs out = { .output = &t->output, .weights = &t->weights };
    const att_attention_grads grads = { .query = &t->query_grad,
                                        .key = &t->key_grad,
                                        .value = &t->value_grad };
    ATT_TRY(att_attention_forward(options, &in, &out, NULL, err));
    return att_attention_backward(options, &in, NULL, &t->output_grad, &grads, NULL, err);
}

static att_status add_attention(att_sha256 *hash, const att_attention_options *options, bool alibi,
                                att_error *err)
{
    tensors t = { 0 };
    att_status status = compute(&t, options, alibi, err);
    const att_tensor *results[] = { &t.output, &t.weights, &t.query_grad, &t.key_grad,
                                    &t.value_grad };
    for (size_t i = 0; status == ATT_OK && i < ATT_COUNT(results); i++)
        att_selftest_add_tensor(hash, results[i]);
    release(&t);
    return status;
}

/* ---- scores */

static const char *name_score(size_t index)
{
    return att_score_name((att_score)index);
}

static att_status run_score(att_sha256 *hash, size_t index, att_error *err)
{
    att_attention_options options = ATT_INIT(att_attention_options);
    options.score = (att_score)index;
    return add_attention(hash, &options, false, err);
}

const att_selftest_item att_selftest_scores = {
    .name = "attention: scores",
    .help = "every score function, forward and backward",
    .every_cpu = true,
    .name_case = name_score,
    .run_case = run_score,
};

/* ---- normalizers */

static const char *name_normalizer(size_t index)
{
    return att_normalizer_name((att_normalizer)index);
}

static att_status run_normalizer(att_sha256 *hash, size_t index, att_error *err)
{
    att_attention_options options = ATT_INIT(att_attention_options);
    options.score = index == ATT_NORMALIZE_SUM ? ATT_SCORE_GAUSSIAN : ATT_SCORE_SCALED;
    options.normalizer = (att_normalizer)index;
    return add_attention(hash, &options, false, err);
}

const att_selftest_item att_selftest_normalizers = {
    .name = "attention: normalizers",
    .help = "every normalizer, forward and backward",
    .every_cpu = true,
    .name_case = name_normalizer,
    .run_case = run_normalizer,
};

/* ---- masks and biases */

static const int64_t key_lengths[BATCH] = { KEYS - 5, 0 };

static const struct masked_case {
    const char *name;
    att_attention_options options;
    bool alibi;
} masked_cases[] = {
    { .name = "causal", .options = { .causal = true, .offset = KEYS - QUERIES } },
    { .name = "window", .options = { .window = true, .window_left = 9, .window_right = 3 } },
    { .name = "lengths", .options = { .key_lengths = key_lengths } },
    { .name = "ALiBi", .options = { .causal = true }, .alibi = true },
    { .name = "soft cap", .options = { .soft_cap = 2 } },
    { .name = "dropout", .options = { .dropout = 0.3, .dropout_seed = 5 } },
};

static const char *name_mask(size_t index)
{
    return index < ATT_COUNT(masked_cases) ? masked_cases[index].name : NULL;
}

static att_status run_mask(att_sha256 *hash, size_t index, att_error *err)
{
    att_attention_options options = masked_cases[index].options;
    options.size = sizeof options;
    options.score = ATT_SCORE_SCALED;
    return add_attention(hash, &options, masked_cases[index].alibi, err);
}

const att_selftest_item att_selftest_masks = {
    .name = "attention: masks",
    .help = "masks, biases and dropout, forward and backward",
    .every_cpu = true,
    .name_case = name_mask,
    .run_case = run_mask,
};
