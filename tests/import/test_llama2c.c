/* Import of llama2.c checkpoints: where each value goes, options texts start and end, and which
 * files are refused. */
#include "failing_memory.h"
#include "import/llama2c_model.h"

#include "import/llama2c.h"
#include "import/model_writer.h"
#include "model/model.h"
#include "tensor/files.h"

static att_status convert(att_bundle **out, const att_string *weights, att_error *err)
{
    att_string tokens = llama_good_tokenizer();
    const att_llama_bytes tokenizer = { "tokenizer.bin", tokens.data, tokens.length };
    const att_llama_bytes bytes = { "model.bin", weights->data, weights->length };
    att_status status = att_llama_convert(out, &bytes, &tokenizer, err);
    if (status == ATT_OK)
        status = att_imported_model_check(out, bytes.name, err);
    att_string_free(&tokens);
    return status;
}

static att_bundle *convert_good(const att_string *weights)
{
    att_bundle *bundle;
    att_error err = { 0 };
    if (convert(&bundle, weights, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return bundle;
}

static float entry(const att_bundle *bundle, const char *name, int64_t row, int64_t column)
{
    const att_tensor *tensor = att_bundle_get(bundle, name);
    assert_non_null(tensor);
    assert_true(row < tensor->shape[0] && (tensor->rank < 2 || column < tensor->shape[1]));
    return (float)att_tensor_get(tensor, (const int64_t[]){ row, column });
}

/* RoPE: in a head of size 4, our rows 0 1 2 3 are rows 0 2 1 3 of the file. */
static void queries_and_keys_are_permuted_and_values_are_not(void **state)
{
    (void)state;
    static const int64_t order[] = { 0, 2, 1, 3 };
    enum { LAYER = 1, D = LLAMA_HIDDEN_SIZE, K = LLAMA_HEAD };
    att_string weights = llama_weights(llama_header, false);
    att_bundle *bundle = convert_good(&weights);
    for (int64_t in = 0; in < D; in++) {
        for (int64_t i = 0; i < D; i++)
            assert_true(
                entry(bundle, "decoder.1.self.query_key_value", in, i) ==
                llama_value(LLAMA_AT_QUERY + LAYER * D * D + (i / K * K + order[i % K]) * D + in));
        for (int64_t i = 0; i < LLAMA_KEYS; i++) {
            assert_true(entry(bundle, "decoder.1.self.query_key_value", in, D + i) ==
                        llama_value(LLAMA_AT_KEY + LAYER * LLAMA_KEYS * D + order[i] * D + in));
            assert_true(entry(bundle, "decoder.1.self.query_key_value", in, D + LLAMA_KEYS + i) ==
                        llama_value(LLAMA_AT_VALUE + LAYER * LLAMA_KEYS * D + i * D + in));
        }
    }
    att_bundle_free(bundle);
    att_string_free(&weights);
}

static void other_matrices_are_transposed_and_the_gate_comes_first(void **state)
{
    (void)state;
    enum { D = LLAMA_HIDDEN_SIZE, F = LLAMA_FFN_SIZE };
    att_string weights = llama_weights(llama_header, false);
    att_bundle *bundle = convert_good(&weights);
    for (int64_t d = 0; d < D; d++) {
        for (int64_t i = 0; i < F; i++) {
            assert_true(entry(bundle, "decoder.0.feed.first", d, i) ==
                        llama_value(LLAMA_AT_W1 + i * D + d));
            assert_true(entry(bundle, "decoder.0.feed.first", d, F + i) ==
                        llama_value(LLAMA_AT_W3 + i * D + d));
            assert_true(entry(bundle, "decoder.0.feed.second", i, d) ==
                        llama_value(LLAMA_AT_W2 + d * F + i));
        }
        assert_true(entry(bundle, "decoder.1.self.out", 2, d) ==
                    llama_value(LLAMA_AT_OUT + D * D + d * D + 2));
        assert_true(entry(bundle, "decoder.1.self.norm.gain", d, 0) ==
                    llama_value(LLAMA_AT_SELF_NORM + D + d));
        assert_true(entry(bundle, "decoder.norm.gain", d, 0) ==
                    llama_value(LLAMA_AT_LAST_NORM + d));
        assert_true(entry(bundle, "target.embed", 264, d) == llama_value(264 * D + d));
    }
    assert_null(att_bundle_get(bundle, "output.w")); /* tied to the embedding */
    att_bundle_free(bundle);
    att_string_free(&weights);
}

static att_string untied_weights(void)
{
    int32_t header[LLAMA_FIELDS];
    memcpy(header, llama_header, sizeof header);
    header[5] = -LLAMA_TOKENS;
    return llama_weights(header, true);
}

static void an_untied_output_layer_is_kept(void **state)
{
    (void)state;
    att_string weights = untied_weights();
    att_bundle *bundle = convert_good(&weights);
    for (int64_t d = 0; d < LLAMA_HIDDEN_SIZE; d++)
        assert_true(entry(bundle, "output.w", d, 264) ==
                    llama_value(LLAMA_AT_OUTPUT + 264 * LLAMA_HIDDEN_SIZE + d));
    att_bundle_free(bundle);
    att_string_free(&weights);
}

typedef struct completion_text {
    char text[256];
    int tokens;
} completion_text;

static bool on_token(void *context, const char *text, size_t length, double score)
{
    completion_text *h = context;
    (void)score;
    strncat(h->text, text, length);
    h->tokens++;
    return true;
}

static completion_text complete(const att_string *weights, const char *prompt)
{
    att_bundle *bundle = convert_good(weights);
    att_model *model;
    att_completion found = ATT_INIT(att_completion);
    completion_text h = { .tokens = 0 };
    const att_complete_options options = { .size = sizeof(att_complete_options),
                                           .max_new_tokens = 5 };
    att_error err = { 0 };
    assert_int_equal(att_model_from_bundle(&model, bundle, "llama", &err), ATT_OK);
    if (att_model_complete(&found, model, prompt, strlen(prompt), &options, on_token, &h, &err) !=
        ATT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(found.tokens, h.tokens);
    att_model_free(model);
    att_bundle_free(bundle);
    return h;
}

/* An output layer of zeros: all tokens are equally probable. */
static att_string even_weights(void)
{
    att_string weights = untied_weights();
    size_t output = (LLAMA_FIELDS + LLAMA_AT_OUTPUT) * sizeof(float);
    memset(weights.data + output, 0, weights.length - output);
    return weights;
}

/* Of equally probable tokens the first is chosen, which is <s>. */
static void a_text_ends_where_the_next_starts(void **state)
{
    (void)state;
    att_string weights = even_weights();
    completion_text h = complete(&weights, "ab");
    assert_int_equal(h.tokens, 1);
    assert_string_equal(h.text, "");
    att_string_free(&weights);
}

/* The logits of " a" and " ab" are one column with opposite signs: one of them is always the most
 * probable. */
static void a_text_starts_without_the_space_before_its_first_word(void **state)
{
    (void)state;
    att_string weights = even_weights(), large = { 0 };
    put_float(&large, 1000);
    put_float(&large, -1000);
    for (int i = 0; i < 2; i++)
        memcpy(weights.data + (LLAMA_FIELDS + LLAMA_AT_OUTPUT + (259 + 2 * i) * LLAMA_HIDDEN_SIZE) *
                                  (int)sizeof(float),
               large.data + i * (int)sizeof(float), sizeof(float));
    att_string_free(&large);
    completion_text alone = complete(&weights, ""), after = complete(&weights, "b");
    assert_int_equal(alone.tokens, 5);
    assert_memory_equal(alone.text, "a", 1);
    assert_non_null(strstr(alone.text, " a")); /* later words keep their space */
    assert_memory_equal(after.text, " a", 2);
    att_string_free(&weights);
}

static att_status convert_once(void *context)
{
    const att_llama_bytes *files = context;
    att_bundle *bundle;
    att_status status = att_llama_convert(&bundle, &files[0], &files[1], NULL);
    if (status == ATT_OK)
        status = att_imported_model_check(&bundle, files[0].name, NULL);
    att_bundle_free(bundle);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    att_string weights = llama_weights(llama_header, false), tokens = llama_good_tokenizer();
    att_llama_bytes files[] = { { "model.bin", weights.data, weights.length },
                                { "tokenizer.bin", tokens.data, tokens.length } };
    every_arena_allocation_fails(convert_once, files, 10000);
    att_string_free(&weights);
    att_string_free(&tokens);
}

static void assert_refused(const att_string *weights, const char *message)
{
    att_bundle *bundle;
    att_error err = { 0 };
    assert_int_equal(convert(&bundle, weights, &err), ATT_BAD_INPUT);
    assert_message(err.message, message, "weights");
    assert_string_equal(err.place, "model.bin");
    assert_null(bundle);
}

static void invalid_checkpoints_are_refused(void **state)
{
    (void)state;
    static const struct {
        int field;
        int32_t value;
        const char *message;
    } rows[] = {
        { 0, 0, "is not a llama2.c checkpoint: its header has dim 0" },
        { 1, -6, "is not a llama2.c checkpoint: its header has hidden_dim -6" },
        { 2, 1 << 21, "is not a llama2.c checkpoint: its header has n_layers 2097152" },
        { 3, 3, "is not a llama2.c checkpoint: its header has dim 8, n_heads 3 and n_kv_heads 1" },
        { 2, 3, "has 11584 bytes after its header, expected …" },
        { 5, 1 << 20, "has 11584 bytes after its header, expected …" },
        { 0, 0x616B3432, /* the next field is then the version, 6 */
          "is a llama2.c checkpoint of version 6, expected version 0 (export.py --version 0)" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t header[LLAMA_FIELDS];
        memcpy(header, llama_header, sizeof header);
        header[rows[i].field] = rows[i].value;
        att_string weights = llama_weights(header, false);
        assert_refused(&weights, rows[i].message);
        att_string_free(&weights);
    }
    att_string weights = llama_weights(llama_header, false);
    weights.length = 17;
    assert_refused(&weights, "ends after 17 bytes, in the header: 3 bytes of it are missing");
    att_string_free(&weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_and_keys_are_permuted_and_values_are_not),
        cmocka_unit_test(other_matrices_are_transposed_and_the_gate_comes_first),
        cmocka_unit_test(an_untied_output_layer_is_kept),
        cmocka_unit_test(a_text_ends_where_the_next_starts),
        cmocka_unit_test(a_text_starts_without_the_space_before_its_first_word),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(invalid_checkpoints_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
