/* Attention maps of every type of Transformer: language models, classifiers and taggers. */
#include "inspect/attention_map.h"

#include "model/classifier_help.h"

#include <math.h>

static att_model *build(const char *task, const setting_pair *set, size_t count)
{
    static const char *const words[] = { "a", "b", "c", " ", "\n" };
    static const setting_pair small[] = { { "architecture", "transformer" },
                                          { "layers", "2" },
                                          { "hidden-size", "8" },
                                          { "heads", "2" },
                                          { "ffn-size", "8" },
                                          { "seed", "5" } };
    att_settings *settings;
    att_model *model;
    att_error err = { 0 };
    assert_int_equal(att_settings_new(&settings, task, &err), ATT_OK);
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        assert_int_equal(att_settings_set(settings, small[i].key, small[i].value, &err), ATT_OK);
    for (size_t i = 0; i < count; i++)
        if (att_settings_set(settings, set[i].key, set[i].value, &err) != ATT_OK)
            fail_msg("%s", err.message);
    const att_token_list list = { words, 5 };
    bool lm = strcmp(task, "lm") == 0;
    if (att_model_build(&model, settings, lm ? NULL : &list, &list, &err) != ATT_OK)
        fail_msg("%s", err.message);
    att_settings_free(settings);
    return model;
}

static void assert_distributions(const att_map *map)
{
    for (int64_t row = 0; row < map->panels * map->queries; row++) {
        double sum = 0;
        for (int64_t key = 0; key < map->keys; key++)
            sum += map->weights[row * map->keys + key];
        assert_true(fabs(sum - 1) < 1e-6);
    }
}

static att_attention_map *map_of(const att_model *model, att_attention_block block,
                                 const char *input)
{
    const att_head_selection which = { .block = block, .input = input };
    att_attention_map *map;
    att_error err = { 0 };
    if (att_model_attention_map(&map, model, &which, true, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_distributions(att_attention_map_get(map));
    return map;
}

static void a_language_model_has_causal_self_attention(void **state)
{
    (void)state;
    static const setting_pair set[] = { { "tokens", "char" }, { "sequence-length", "6" } };
    att_model *model = build("lm", set, 2);
    assert_int_equal(att_model_attention_layers(model, ATT_BLOCK_DECODER), 2);
    assert_int_equal(att_model_attention_layers(model, ATT_BLOCK_ENCODER), 0);
    assert_int_equal(att_model_attention_layers(model, ATT_BLOCK_CROSS), 0);
    assert_int_equal(att_model_attention_heads(model), 2);
    att_attention_map *attention = map_of(model, ATT_BLOCK_DECODER, "ab a\n");
    const att_map *map = att_attention_map_get(attention);
    assert_int_equal(map->queries, 5);
    assert_string_equal(map->key_labels[2], "␣");
    assert_string_equal(map->key_labels[4], "↵");
    for (int64_t i = 0; i < 2 * 5 * 5; i++) {
        bool allowed = i % 5 <= i / 5 % 5;
        assert_int_equal(map->allowed[i], allowed);
        assert_int_equal(map->weights[i] > 0, allowed);
    }
    att_attention_map_free(attention);
    att_error err = { 0 };
    const att_head_selection encoder = { .input = "ab" },
                             longer = { .block = ATT_BLOCK_DECODER, .input = "abababa" };
    assert_int_equal(att_model_attention_map(&attention, model, &encoder, false, &err),
                     ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "a language model has no encoder self-attention"));
    assert_int_equal(att_model_attention_map(&attention, model, &longer, false, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "the text has 7 tokens; the context of the model has 6");
    assert_null(attention);
    att_model_free(model);
}

/* The states that the map's weights belong to are those of att_model_classify(): the pooled stop
 * token is the last row, so that a classifier that stops has one row more. */
static void a_classifier_has_a_row_for_its_stop_token(void **state)
{
    (void)state;
    static const setting_pair stop[] = { { "pool", "stop" } }, mean[] = { { "pool", "mean" } };
    att_model *stopped = build("classify", stop, 1), *pooled = build("classify", mean, 1);
    assert_true(att_model_has_stop_token(stopped));
    assert_false(att_model_has_stop_token(pooled));
    att_attention_map *with = map_of(stopped, ATT_BLOCK_ENCODER, "a b c"),
                      *without = map_of(pooled, ATT_BLOCK_ENCODER, "a b c");
    assert_int_equal(att_attention_map_get(with)->queries, 4);
    assert_string_equal(att_attention_map_get(with)->query_labels[3], "<end>");
    assert_int_equal(att_attention_map_get(without)->queries, 3);
    assert_null(att_attention_map_get(without)->allowed);
    att_attention_map_free(with);
    att_attention_map_free(without);
    att_model_free(stopped);
    att_model_free(pooled);
}

static void a_tagger_with_character_features_has_a_map(void **state)
{
    (void)state;
    static const setting_pair set[] = { { "char-features", "cnn" } };
    att_model *model = build("tag", set, 1);
    att_attention_map *map = map_of(model, ATT_BLOCK_ENCODER, "a b unseen");
    assert_int_equal(att_attention_map_get(map)->keys, 3);
    att_attention_map_free(map);
    att_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_language_model_has_causal_self_attention),
        cmocka_unit_test(a_classifier_has_a_row_for_its_stop_token),
        cmocka_unit_test(a_tagger_with_character_features_has_a_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
