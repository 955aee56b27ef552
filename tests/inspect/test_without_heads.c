/* Heads of a Transformer switched off. */
#include "inspect/attention_map.h"

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

static att_model *without(const att_attention_head *heads, size_t count)
{
    att_model *model;
    att_error err = { 0 };
    if (att_model_without_heads(&model, trained.model, heads, count, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return model;
}

/* The log-probability of a target, given a line. */
static double score(const att_model *model, const char *line, const char *target)
{
    att_generate_options options = ATT_INIT(att_generate_options);
    att_outputs *outputs;
    options.targets = &target;
    assert_int_equal(att_model_generate(&outputs, model, &line, 1, &options, NULL), ATT_OK);
    double found = att_outputs_get(outputs, 0)->score;
    att_outputs_free(outputs);
    return found;
}

static void without_a_head_nothing_is_changed(void **state)
{
    (void)state;
    att_model *same = without(NULL, 0);
    assert_true(score(same, "abcd", "dcb") == score(trained.model, "abcd", "dcb"));
    att_model_free(same);
}

/* The decoder sees the source through cross attention alone. */
static void without_any_cross_attention_the_source_does_not_matter(void **state)
{
    (void)state;
    att_attention_head heads[12];
    for (int i = 0; i < 12; i++)
        heads[i] = (att_attention_head){ ATT_BLOCK_CROSS, i / 4 + 1, i % 4 + 1 };
    att_model *blind = without(heads, 12), *almost = without(heads, 11);
    assert_true(score(trained.model, "abcd", "dcb") != score(trained.model, "aaaa", "dcb"));
    assert_true(score(almost, "abcd", "dcb") != score(almost, "aaaa", "dcb"));
    assert_true(score(blind, "abcd", "dcb") == score(blind, "aaaa", "dcb"));
    att_model_free(blind);
    att_model_free(almost);
}

static att_attention_map *map_of(const att_model *model, att_attention_block block, int64_t layer)
{
    const att_head_selection which = { block, layer, 0, "abcd", "dcb" };
    att_attention_map *map;
    assert_int_equal(att_model_attention_map(&map, model, &which, true, NULL), ATT_OK);
    return map;
}

static bool same_map(const att_model *model, att_attention_block block, int64_t layer)
{
    att_attention_map *a = map_of(model, block, layer), *b = map_of(trained.model, block, layer);
    const att_map *left = att_attention_map_get(a), *right = att_attention_map_get(b);
    size_t count = (size_t)(left->panels * left->queries * left->keys);
    bool same = memcmp(left->weights, right->weights, count * sizeof *left->weights) == 0;
    att_attention_map_free(a);
    att_attention_map_free(b);
    return same;
}

/* A head acts on what is computed after its own layer, and on nothing before. */
static void a_head_changes_only_what_comes_after_it(void **state)
{
    (void)state;
    const att_attention_head head = { ATT_BLOCK_DECODER, 2, 3 };
    att_model *model = without(&head, 1);
    for (int64_t layer = 1; layer <= 2; layer++)
        assert_true(same_map(model, ATT_BLOCK_ENCODER, layer));
    for (int64_t layer = 1; layer <= 3; layer++)
        assert_int_equal(same_map(model, ATT_BLOCK_DECODER, layer), layer <= 2);
    for (int64_t layer = 1; layer <= 3; layer++)
        assert_int_equal(same_map(model, ATT_BLOCK_CROSS, layer), layer < 2);
    att_model_free(model);
}

/* Four heads of a hidden size of 16: the third one is rows 8 to 11 of one matrix. */
static void exactly_the_rows_of_the_head_are_zero(void **state)
{
    (void)state;
    const att_attention_head head = { ATT_BLOCK_ENCODER, 1, 3 };
    att_model *model = without(&head, 1);
    size_t changed = 0;
    for (size_t i = 0; i < att_model_tensor_count(model); i++) {
        const char *name = att_model_tensor_name(model, i);
        att_tensor now, before;
        assert_int_equal(att_model_tensor_view(&now, model, name, NULL), ATT_OK);
        assert_int_equal(att_model_tensor_view(&before, trained.model, name, NULL), ATT_OK);
        for (int64_t k = 0; k < att_tensor_count(&now); k++) {
            float value = ((const float *)now.data)[k], old = ((const float *)before.data)[k];
            if (value == old)
                continue;
            changed++;
            assert_true(value == 0);
            assert_true(now.rank == 2 && now.shape[1] == 16 && k >= 8 * 16 && k < 12 * 16);
        }
    }
    assert_int_equal(changed, 4 * 16);
    att_model_free(model);
}

static void a_head_that_does_not_exist_is_refused(void **state)
{
    (void)state;
    static const struct {
        att_attention_head head;
        const char *message;
    } cases[] = {
        { { ATT_BLOCK_ENCODER, 3, 1 },
          "there is no layer 3 of encoder self-attention: the model has 2" },
        { { ATT_BLOCK_CROSS, 0, 1 }, "there is no layer 0 of cross attention: the model has 3" },
        { { ATT_BLOCK_DECODER, 1, 5 }, "there is no head 5: the model has 4" },
        { { ATT_BLOCK_DECODER, 1, 0 }, "there is no head 0: the model has 4" },
        { { (att_attention_block)3, 1, 1 }, "there is no attention block 3" },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        att_model *model;
        att_error err = { 0 };
        assert_int_equal(att_model_without_heads(&model, trained.model, &cases[c].head, 1, &err),
                         ATT_BAD_INPUT);
        assert_null(model);
        assert_string_equal(err.message, cases[c].message);
    }
}

static void a_recurrent_model_has_no_heads(void **state)
{
    (void)state;
    scene recurrent;
    const att_attention_head head = { ATT_BLOCK_CROSS, 1, 1 };
    att_model *model;
    att_error err = { 0 };
    scene_new(&recurrent, NULL, 0);
    assert_int_equal(att_model_without_heads(&model, recurrent.model, &head, 1, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected a Transformer, found architecture rnn");
    scene_free(&recurrent);
}

static att_status make(void *heads)
{
    att_model *model;
    att_status status = att_model_without_heads(&model, trained.model, heads, 2, NULL);
    att_model_free(model);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    att_attention_head heads[] = { { ATT_BLOCK_CROSS, 1, 1 }, { ATT_BLOCK_ENCODER, 2, 4 } };
    every_allocation_fails(make, heads, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_head_nothing_is_changed),
        cmocka_unit_test(without_any_cross_attention_the_source_does_not_matter),
        cmocka_unit_test(a_head_changes_only_what_comes_after_it),
        cmocka_unit_test(exactly_the_rows_of_the_head_are_zero),
        cmocka_unit_test(a_head_that_does_not_exist_is_refused),
        cmocka_unit_test(a_recurrent_model_has_no_heads),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, train, release);
}
