/* Attention as benchmarks, through the public calls: forward, causal, short sequences, backward,
 * decoding with a KV cache, long sequences, and the other scores and normalizers. */
#include "bench/bench.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>

typedef struct attention_case {
    const char *name;
    const char *shape;
    int64_t batch, queries, keys, heads, kv_heads, head_size;
    att_attention_options options;
    int layers; /* KV caches that calls use in turn, as the layers of a model do; 0: one */
    bool backward;
} attention_case;

/* Hidden size of the additive score. */
enum { HIDDEN = 64 };

/* In the order of the members: batch, queries, keys, heads, KV heads, size of a head. */
#define SHAPE(B, T, S, H, G, K)                                                                    \
    .batch = B, .queries = T, .keys = S, .heads = H, .kv_heads = G, .head_size = K
#define SCALED .options = { .size = sizeof(att_attention_options), .score = ATT_SCORE_SCALED }
#define CAUSAL                                                                                     \
    .options = { .size = sizeof(att_attention_options), .score = ATT_SCORE_SCALED, .causal = true }

#define FORWARD(n)                                                                                 \
    {                                                                                              \
        .name = "attention/forward/" #n, .shape = "8 heads of 64", SHAPE(1, n, n, 8, 8, 64),       \
        SCALED                                                                                     \
    }
#define FORWARD_CAUSAL(n)                                                                          \
    {                                                                                              \
        .name = "attention/causal/" #n, .shape = "8 heads of 64", SHAPE(1, n, n, 8, 8, 64), CAUSAL \
    }
#define BACKWARD(n)                                                                                \
    {                                                                                              \
        .name = "attention/backward/" #n, .shape = "8 heads of 64", SHAPE(1, n, n, 8, 8, 64),      \
        SCALED, .backward = true                                                                   \
    }
#define SHORT(n)                                                                                   \
    {                                                                                              \
        .name = "attention/short/" #n, .shape = "batch of 32, 8 heads of 64",                      \
        SHAPE(32, n, n, 8, 8, 64), SCALED                                                          \
    }
#define LONG(n)                                                                                    \
    {                                                                                              \
        .name = "attention/long/" #n, .shape = "1 head of 64", SHAPE(1, n, n, 1, 1, 64), SCALED    \
    }
#define SCORE(word, kind)                                                                          \
    {                                                                                              \
        .name = "attention/score/" word, .shape = "8 heads of 64, 128 queries and keys",           \
        SHAPE(1, 128, 128, 8, 8, 64), .options = {                                                 \
            .size = sizeof(att_attention_options),                                                 \
            .score = kind                                                                          \
        }                                                                                          \
    }
#define NORMALIZER(word, kind)                                                                     \
    {                                                                                              \
        .name = "attention/normalizer/" word, .shape = "8 heads of 64, 128 queries and keys",      \
        SHAPE(1, 128, 128, 8, 8, 64), .options = {                                                 \
            .size = sizeof(att_attention_options),                                                 \
            .score = ATT_SCORE_SCALED,                                                             \
            .normalizer = kind                                                                     \
        }                                                                                          \
    }

static const attention_case cases[] = {
    FORWARD(512),
    FORWARD(1024),
    FORWARD(4096),
    FORWARD_CAUSAL(512),
    FORWARD_CAUSAL(1024),
    FORWARD_CAUSAL(4096),
    SHORT(32),
    SHORT(128),
    BACKWARD(1024),
    BACKWARD(4096),
    { .name = "attention/backward/causal-1024",
      .shape = "8 heads of 64",
      SHAPE(1, 1024, 1024, 8, 8, 64),
      CAUSAL,
      .backward = true },
    { .name = "attention/decode/4096",
      .shape = "1 query, 8 heads of 64, the KV caches of 16 layers in turn",
      SHAPE(1, 1, 4096, 8, 8, 64),
      SCALED,
      .layers = 16 },
    { .name = "attention/grouped/1024",
      .shape = "32 heads of 64, 8 KV heads",
      SHAPE(1, 1024, 1024, 32, 8, 64),
      SCALED },
    { .name = "attention/wide/1024",
      .shape = "8 heads of 128",
      SHAPE(1, 1024, 1024, 8, 8, 128),
      SCALED },
    LONG(16384),
    LONG(65536),
    SCORE("general", ATT_SCORE_GENERAL),
    SCORE("additive", ATT_SCORE_ADDITIVE),
    SCORE("concat", ATT_SCORE_CONCAT),
    SCORE("gaussian", ATT_SCORE_GAUSSIAN),
    SCORE("cosine", ATT_SCORE_COSINE),
    SCORE("location", ATT_SCORE_LOCATION),
    NORMALIZER("mean", ATT_NORMALIZE_MEAN),
    NORMALIZER("sparsemax", ATT_NORMALIZE_SPARSEMAX),
    NORMALIZER("entmax15", ATT_NORMALIZE_ENTMAX15),
    NORMALIZER("sigmoid", ATT_NORMALIZE_SIGMOID),
};

/* The number of pairs of query and key that are computed, over all heads. */
static double pairs(const attention_case *c)
{
    double queries = (double)c->queries, keys = (double)c->keys;
    double all = c->options.causal ? queries * (queries + 1) / 2 : queries * keys;
    return (double)c->batch * (double)c->heads * all;
}

/* The forward has two matrix products, the backward five: scores and weight gradients, and the
 * three gradients of query, key and value. A single query reads each key once, so memory is its
 * limit. */
static void info(att_bench *out, size_t index)
{
    const attention_case *c = &cases[index];
    double cached = 2.0 * (double)(c->batch * c->keys * c->kv_heads * c->head_size);
    double asked = 2.0 * (double)(c->batch * c->queries * c->heads * c->head_size);
    *out = (att_bench){
        .name = c->name,
        .help = c->shape,
        .limit = c->queries == 1 ? ATT_LIMIT_MEMORY : ATT_LIMIT_COMPUTE,
        .flops = (c->backward ? 10 : 4) * pairs(c) * (double)c->head_size,
        .bytes = (c->backward ? 8 : 4) * (cached + asked),
        .elements = pairs(c),
    };
}

typedef struct attention_state {
    const attention_case *which;
    att_tensor query, key, value, output, log_sum_exp;
    att_tensor score_w, score_u, score_v;
    att_tensor output_grad, query_grad, key_grad, value_grad;
    void *workspace;
    int64_t call_count; /* selects the layer whose KV cache is next */
} attention_state;

static att_status make(att_tensor *out, int rank, const int64_t *shape, uint64_t seed,
                       att_error *err)
{
    ATT_TRY(att_tensor_new(out, ATT_F32, rank, shape, err));
    att_bench_fill(out->data, (size_t)att_tensor_count(out), seed);
    return ATT_OK;
}

/* Scales a matrix so that its products have the variance of its inputs: of inputs far beyond 1,
 * tanh() would be measured where it is flat. */
static void scale_as_initialized(const att_tensor *matrix, int64_t depth)
{
    float *x = matrix->data;
    for (int64_t i = 0; i < att_tensor_count(matrix); i++)
        x[i] /= sqrtf((float)depth);
}

/* Creates the parameters of a score, if it has any. */
static att_status make_parameters(attention_state *s, att_error *err)
{
    int64_t K = s->which->head_size, S = s->which->keys;
    switch (s->which->options.score) {
    case ATT_SCORE_GENERAL:
        return make(&s->score_w, 3, (int64_t[]){ 1, K, K }, 5, err);
    case ATT_SCORE_ADDITIVE:
        ATT_TRY(make(&s->score_w, 3, (int64_t[]){ 1, HIDDEN, K }, 5, err));
        ATT_TRY(make(&s->score_u, 3, (int64_t[]){ 1, HIDDEN, K }, 6, err));
        scale_as_initialized(&s->score_w, K);
        scale_as_initialized(&s->score_u, K);
        return make(&s->score_v, 2, (int64_t[]){ 1, HIDDEN }, 7, err);
    case ATT_SCORE_CONCAT:
        return make(&s->score_v, 2, (int64_t[]){ 1, 2 * K }, 7, err);
    case ATT_SCORE_LOCATION:
        return make(&s->score_w, 3, (int64_t[]){ 1, S, K }, 5, err);
    default:
        return ATT_OK;
    }
}

static att_status make_tensors(attention_state *s, att_error *err)
{
    const attention_case *c = s->which;
    int64_t layers = c->layers > 0 ? c->layers : 1;
    int64_t query[] = { c->batch, c->queries, c->heads, c->head_size };
    int64_t key[] = { layers * c->batch, c->keys, c->kv_heads, c->head_size };
    int64_t lse[] = { c->batch, c->heads, c->queries };
    ATT_TRY(make(&s->query, 4, query, 1, err));
    ATT_TRY(make(&s->key, 4, key, 2, err));
    ATT_TRY(make(&s->value, 4, key, 3, err));
    ATT_TRY(make(&s->output, 4, query, 0, err));
    ATT_TRY(make_parameters(s, err));
    if (!c->backward)
        return ATT_OK;
    ATT_TRY(make(&s->log_sum_exp, 3, lse, 0, err));
    ATT_TRY(make(&s->output_grad, 4, query, 4, err));
    ATT_TRY(make(&s->query_grad, 4, query, 0, err));
    ATT_TRY(make(&s->key_grad, 4, key, 0, err));
    return make(&s->value_grad, 4, key, 0, err);
}

static const att_tensor *or_null(const att_tensor *t)
{
    return t->data ? t : NULL;
}

static att_attention_inputs inputs_of(const attention_state *s)
{
    return (att_attention_inputs){ .query = &s->query,
                                   .key = &s->key,
                                   .value = &s->value,
                                   .score_w = or_null(&s->score_w),
                                   .score_u = or_null(&s->score_u),
                                   .score_v = or_null(&s->score_v) };
}

/* The keys and values of the next layer. */
static att_status pick_layer(attention_state *s, att_tensor *key, att_tensor *value, att_error *err)
{
    int64_t batch = s->which->batch, layers = s->key.shape[0] / batch, start;
    start = s->call_count++ % layers * batch;
    ATT_TRY(att_tensor_slice(key, &s->key, 0, start, batch, err));
    return att_tensor_slice(value, &s->value, 0, start, batch, err);
}

static att_status run_once(attention_state *s, bool backward, att_error *err)
{
    att_tensor key, value;
    ATT_TRY(pick_layer(s, &key, &value, err));
    att_attention_inputs in = inputs_of(s);
    in.key = &key;
    in.value = &value;
    att_attention_outputs out = { .output = &s->output,
                                  .log_sum_exp = s->which->backward ? &s->log_sum_exp : NULL };
    if (!backward)
        return att_attention_forward(&s->which->options, &in, &out, s->workspace, err);
    att_attention_grads grads = { .query = &s->query_grad,
                                  .key = &s->key_grad,
                                  .value = &s->value_grad };
    return att_attention_backward(&s->which->options, &in, &out, &s->output_grad, &grads,
                                  s->workspace, err);
}

static size_t workspace_size(const attention_state *s)
{
    att_attention_inputs in = inputs_of(s);
    att_tensor key = s->key, value = s->value;
    key.shape[0] = value.shape[0] = s->which->batch;
    in.key = &key;
    in.value = &value;
    size_t forward = att_attention_workspace(&s->which->options, &in, false);
    size_t backward =
        s->which->backward ? att_attention_workspace(&s->which->options, &in, true) : 0;
    return forward > backward ? forward : backward;
}

static att_status open_attention(void **state, size_t index, att_error *err)
{
    attention_state *made = att_alloc_zero(1, sizeof *made);
    *state = made;
    if (!made)
        return att_fail_memory(err);
    made->which = &cases[index];
    ATT_TRY(make_tensors(made, err));
    made->workspace = att_alloc(1, workspace_size(made));
    if (!made->workspace)
        return att_fail_memory(err);
    return made->which->backward ? run_once(made, false, err) : ATT_OK;
}

static att_status run_attention(void *state, size_t times, att_error *err)
{
    attention_state *s = state;
    for (; times > 0; times--)
        ATT_TRY(run_once(s, s->which->backward, err));
    return ATT_OK;
}

static void close_attention(void *state)
{
    attention_state *s = state;
    if (!s)
        return;
    att_tensor *all[] = { &s->query,       &s->key,        &s->value,    &s->output,
                          &s->log_sum_exp, &s->score_w,    &s->score_u,  &s->score_v,
                          &s->output_grad, &s->query_grad, &s->key_grad, &s->value_grad };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        att_tensor_free(all[i]);
    att_free(s->workspace);
    att_free(s);
}

const att_bench_suite att_bench_attention = {
    .count = sizeof cases / sizeof *cases,
    .info = info,
    .open = open_attention,
    .run = run_attention,
    .close = close_attention,
};
