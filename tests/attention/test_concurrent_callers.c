/* Products and attention called by several threads at once: each gets the bits that it gets alone.
 * Under ThreadSanitizer this also checks that the calls share nothing without synchronization. */
#include "attend.h"

#include "base/minmax.h"
#include "thin.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { CALLERS = 8, REPEATS = 20 / THIN, T = 70, H = 2, K = 32, ROWS = T * H * K };

/* The inputs, shared by all callers, and the results of one caller. */
static float query[ROWS], key[ROWS], value[ROWS], output_grad[ROWS];
static att_packed_matrix *packed;

typedef struct results {
    float product[T * T];
    float packed_product[T * K];
    float output[ROWS];
    float query_grad[ROWS];
    float key_grad[ROWS];
    att_status status;
} results;

static void fill(float *data, int count, unsigned seed)
{
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (float)(seed >> 8) / (float)(1 << 24) - 0.5f;
    }
}

static att_tensor view(const float *data)
{
    return att_tensor_view(data, ATT_F32, 4, (int64_t[]){ 1, T, H, K });
}

static att_tensor matrix(const float *data, int64_t rows, int64_t columns)
{
    return att_tensor_view(data, ATT_F32, 2, (int64_t[]){ rows, columns });
}

static att_status multiply(results *r)
{
    att_tensor a = matrix(query, T, H * K), b = matrix(key, H * K, T);
    att_tensor c = matrix(r->product, T, T), d = matrix(r->packed_product, T, K);
    att_status status = att_matmul(&c, &a, &b, NULL, NULL);
    return status != ATT_OK ? status : att_matmul_packed(&d, &a, packed, NULL, NULL);
}

static att_status attend(results *r)
{
    att_tensor q = view(query), k = view(key), v = view(value), dy = view(output_grad);
    att_tensor y = view(r->output), dq = view(r->query_grad), dk = view(r->key_grad);
    att_attention_options options = { .size = sizeof(att_attention_options),
                                      .score = ATT_SCORE_SCALED,
                                      .causal = true };
    att_attention_inputs in = { .query = &q, .key = &k, .value = &v };
    att_attention_outputs out = { .output = &y };
    att_attention_grads grads = { .query = &dq, .key = &dk };
    att_status status = att_attention_forward(&options, &in, &out, NULL, NULL);
    return status != ATT_OK ? status
                            : att_attention_backward(&options, &in, NULL, &dy, &grads, NULL, NULL);
}

static void *compute(void *context)
{
    results *r = context;
    for (int i = 0; i < REPEATS; i++) {
        memset(r, 0, sizeof *r);
        att_status product = multiply(r), attention = attend(r);
        r->status = product != ATT_OK ? product : attention;
        if (r->status != ATT_OK)
            return NULL;
    }
    return NULL;
}

static void concurrent_callers_get_the_bits_of_a_single_one(void **state)
{
    (void)state;
    static results alone, together[CALLERS];
    pthread_t threads[CALLERS];
    float *inputs[] = { query, key, value, output_grad };
    for (unsigned i = 0; i < ATT_COUNT(inputs); i++)
        fill(inputs[i], ROWS, i + 1);
    att_tensor weights = matrix(value, H * K, K);
    assert_int_equal(att_packed_matrix_new(&packed, &weights, NULL), ATT_OK);
    att_threads_set(3);
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compute, &together[i]), 0);
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    att_threads_set(1);
    compute(&alone);
    att_threads_set(0);
    att_packed_matrix_free(packed);
    assert_int_equal(alone.status, ATT_OK);
    for (int i = 0; i < CALLERS; i++)
        assert_memory_equal(&together[i], &alone, sizeof alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(concurrent_callers_get_the_bits_of_a_single_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
