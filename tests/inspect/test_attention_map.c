/* Attention maps of a Transformer: the weights of every block, for each head and averaged. */
#include "inspect/attention_map.h"

#include "base/alloc.h"
#include "failing_memory.h"
#include "model/model_help.h"

#include <math.h>

static scene trained;

static int train(void **state)
{
    (void)state;
    static const setting_pair set[] = {
        { "architecture", "transformer" }, { "layers", "2" }, { "decoder-layers", "3" },
        { "hidden-size", "16" },           { "heads", "4" },  { "ffn-size", "16" }
    };
    scene_new(&trained, set, 6);
    scene_learn(&trained, 2, NULL);
    return 0;
}

static int release(void **state)
{
    (void)state;
    scene_free(&trained);
    return 0;
}

static att_attention_map *map_of(const att_head_selection *which, bool every_head)
{
    att_attention_map *attention;
    att_error err = { 0 };
    if (att_model_attention_map(&attention, trained.model, which, every_head, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return attention;
}

static double weight(const att_attention_map *attention, int64_t panel, int64_t query, int64_t key)
{
    const att_map *map = att_attention_map_get(attention);
    return map->weights[(panel * map->queries + query) * map->keys + key];
}

static void every_row_of_every_block_is_a_distribution(void **state)
{
    (void)state;
    static const struct {
        att_attention_block part;
        int64_t queries, keys;
        const char *first_query, *first_key, *query_name, *key_name;
    } cases[] = { { ATT_BLOCK_ENCODER, 4, 4, "a", "a", "input", "input" },
                  { ATT_BLOCK_DECODER, 3, 3, "<start>", "<start>", "output", "output" },
                  { ATT_BLOCK_CROSS, 3, 4, "<start>", "a", "output", "input" } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const att_head_selection which = { .block = cases[c].part,
                                           .input = "abcd",
                                           .target = "dc" };
        att_attention_map *attention = map_of(&which, true);
        const att_map *map = att_attention_map_get(attention);
        assert_int_equal(map->panels, 4);
        assert_int_equal(map->queries, cases[c].queries);
        assert_int_equal(map->keys, cases[c].keys);
        assert_string_equal(map->query_labels[0], cases[c].first_query);
        assert_string_equal(map->key_labels[0], cases[c].first_key);
        assert_string_equal(map->query_name, cases[c].query_name);
        assert_string_equal(map->key_name, cases[c].key_name);
        for (int64_t row = 0; row < 4 * map->queries; row++) {
            double sum = 0;
            for (int64_t key = 0; key < map->keys; key++)
                sum += map->weights[row * map->keys + key];
            assert_true(fabs(sum - 1) < 1e-6);
        }
        att_attention_map_free(attention);
    }
}

static void decoder_self_attention_is_causal(void **state)
{
    (void)state;
    const att_head_selection which = { .block = ATT_BLOCK_DECODER,
                                       .input = "abcd",
                                       .target = "dcb" };
    att_attention_map *attention = map_of(&which, true);
    for (int64_t head = 0; head < 4; head++)
        for (int64_t query = 0; query < 4; query++)
            for (int64_t key = 0; key < 4; key++)
                assert_int_equal(weight(attention, head, query, key) > 0, key <= query);
    att_attention_map_free(attention);
}

static void a_selected_head_equals_its_panel_and_the_default_is_the_mean(void **state)
{
    (void)state;
    att_head_selection which = { .block = ATT_BLOCK_ENCODER, .layer = 2, .input = "abcd" };
    att_attention_map *all = map_of(&which, true), *mean = map_of(&which, false);
    which.layer = 0; /* the last layer, which is the second */
    which.head = 3;
    att_attention_map *third = map_of(&which, false);
    for (int64_t query = 0; query < 4; query++)
        for (int64_t key = 0; key < 4; key++) {
            double sum = 0;
            for (int64_t head = 0; head < 4; head++)
                sum += weight(all, head, query, key);
            assert_true(fabs(sum / 4 - weight(mean, 0, query, key)) < 1e-15);
            assert_true(weight(third, 0, query, key) == weight(all, 2, query, key));
        }
    att_attention_map_free(all);
    att_attention_map_free(mean);
    att_attention_map_free(third);
}

/* Decoding step by step with the KV cache computes the same weights as the whole sequence at once.
 */
static void cross_attention_equals_that_of_the_output(void **state)
{
    (void)state;
    const char *input = "abcd", *target = "dcb";
    const att_head_selection which = {
        .block = ATT_BLOCK_CROSS, .layer = 1, .head = 2, .input = input, .target = target
    };
    att_attention_map *attention = map_of(&which, false);
    att_outputs *outputs;
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .attention = true,
                                           .layer = 1,
                                           .head = 2,
                                           .targets = &target };
    assert_int_equal(att_model_generate(&outputs, trained.model, &input, 1, &options, NULL),
                     ATT_OK);
    const att_output *output = att_outputs_get(outputs, 0);
    for (int64_t i = 0; i < 16; i++)
        assert_true(att_attention_map_get(attention)->weights[i] == output->weights[i]);
    att_outputs_free(outputs);
    att_attention_map_free(attention);
}

static void a_missing_layer_or_head_is_refused(void **state)
{
    (void)state;
    static const struct {
        att_head_selection which;
        const char *message;
    } cases[] = {
        { { .block = ATT_BLOCK_ENCODER, .layer = 3, .input = "a" },
          "there is no layer 3: the model has 2" },
        { { .block = ATT_BLOCK_CROSS, .head = 5, .input = "a" },
          "there is no head 5: the model has 4" },
        { { .block = ATT_BLOCK_ENCODER, .input = "" }, "the input has no tokens" },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        att_attention_map *attention;
        att_error err = { 0 };
        assert_int_equal(
            att_model_attention_map(&attention, trained.model, &cases[c].which, false, &err),
            ATT_BAD_INPUT);
        assert_null(attention);
        assert_string_equal(err.message, cases[c].message);
    }
}

static att_status make_map(void *which)
{
    att_attention_map *attention;
    att_status status = att_model_attention_map(&attention, trained.model, which, true, NULL);
    att_attention_map_free(attention);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    att_head_selection which = { .block = ATT_BLOCK_DECODER, .input = "ab", .target = "b" };
    assert_int_equal(make_map(&which),
                     ATT_OK); /* packs the weights once, before allocations fail */
    every_allocation_fails(make_map, &which, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_every_block_is_a_distribution),
        cmocka_unit_test(decoder_self_attention_is_causal),
        cmocka_unit_test(a_selected_head_equals_its_panel_and_the_default_is_the_mean),
        cmocka_unit_test(cross_attention_equals_that_of_the_output),
        cmocka_unit_test(a_missing_layer_or_head_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, train, release);
}
