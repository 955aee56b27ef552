/* Settings in the metadata of a model. */
#include "failing_memory.h"
#include "settings/settings_help.h"

static void assert_refused(const char *json, const char *message)
{
    att_settings *settings = settings_of(NULL);
    att_error err = { 0 };
    assert_int_equal(att_settings_from_json(settings, json, "m.safetensors", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, message);
    assert_string_equal(err.place, "m.safetensors");
    att_settings_free(settings);
}

static void everything_but_the_files_of_the_run_comes_back(void **state)
{
    (void)state;
    att_settings *settings = settings_of("sort"), *again = settings_of(NULL);
    set(settings, "alphabet", "aé\"\\\n");
    set(settings, "learning-rate", "0.0123456789012345678");
    set(settings, "bidirectional", "yes");
    set(settings, "seed", "9007199254740992");
    set(settings, "out", "here");
    att_string json = { 0 };
    assert_int_equal(att_settings_to_json(&json, settings, NULL), ATT_OK);
    assert_int_equal(att_settings_from_json(again, json.data, "m", NULL), ATT_OK);
    for (size_t i = 0; i < att_setting_count(); i++) {
        const att_setting *row = att_setting_get(i);
        att_string value = { 0 };
        assert_int_equal(att_settings_get(&value, settings, row->key, NULL), ATT_OK);
        if (strcmp(row->group, ATT_GROUP_OUTPUT) != 0)
            assert_value(again, row->key, value.data ? value.data : "");
        att_string_free(&value);
    }
    assert_null(again->out);
    assert_true(again->learning_rate == settings->learning_rate);
    att_string_free(&json);
    att_settings_free(settings);
    att_settings_free(again);
}

static void the_same_settings_give_the_same_bytes(void **state)
{
    (void)state;
    att_settings *settings = settings_of("reverse"), *other = settings_of("reverse");
    set(settings, "hidden-size", "65");
    set(settings, "embedding-size", "33");
    set(other, "embedding-size", "33");
    set(other, "hidden-size", "65");
    att_string a = { 0 }, b = { 0 };
    assert_int_equal(att_settings_to_json(&a, settings, NULL), ATT_OK);
    assert_int_equal(att_settings_to_json(&b, other, NULL), ATT_OK);
    assert_string_equal(a.data, b.data);
    att_string_free(&a);
    att_string_free(&b);
    att_settings_free(settings);
    att_settings_free(other);
}

static void what_the_user_set_wins_over_the_model(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    set(settings, "hidden-size", "7");
    assert_int_equal(att_settings_read(settings, "embedding-size = 8", 18, "conf", NULL), ATT_OK);
    assert_int_equal(att_settings_from_json(
                         settings,
                         "{\"hidden-size\":1,\"embedding-size\":2,\"layers\":3,\"task\":\"sort\"}",
                         "m", NULL),
                     ATT_OK);
    assert_int_equal(settings->hidden_size, 7);
    assert_int_equal(settings->embedding_size, 8);
    assert_int_equal(settings->layers, 3);
    assert_int_equal(settings->task, ATT_TASK_SORT);
    set(settings, "layers", "4");
    assert_int_equal(settings->layers, 4);
    att_settings_free(settings);
}

static void what_is_no_good_is_refused(void **state)
{
    (void)state;
    assert_refused("",
                   "the settings: line 1, column 1: expected a value, found the end of the text");
    assert_refused("[]", "the settings: expected an object, found an array");
    assert_refused(
        "{\"hidden-size\":1",
        "the settings: line 1, column 17: expected ',' or '}', found the end of the text");
    assert_refused("{\"hidden-size\":1,\"hidden-size\":1}",
                   "the settings: line 1, column 33: the object that ends here has the key "
                   "\"hidden-size\" twice");
    assert_refused("{\"hidden-size\":[1]}", "the settings: expected a string, a number, true or "
                                            "false for 'hidden-size', found an array");
    assert_refused("{\"hidden-size\":1.5}",
                   "the settings: hidden-size expects a whole number from 1 to 65536, not '1.5'");
    assert_refused("{\"a\\u001bb\":1}", "the settings: unknown setting 'a\\x1Bb'");
    assert_refused("{\"lowercase\":\"maybe\"}",
                   "the settings: lowercase expects yes or no, not 'maybe'");
}

static att_status to_json_and_back(void *context)
{
    att_settings *again = NULL;
    att_string json = { 0 };
    att_status status = att_settings_to_json(&json, context, NULL);
    if (status == ATT_OK)
        status = att_settings_new(&again, NULL, NULL);
    if (status == ATT_OK)
        status = att_settings_from_json(again, json.data, "m", NULL);
    att_settings_free(again);
    att_string_free(&json);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    att_settings *settings = settings_of("sort");
    set(settings, "alphabet", "abc");
    every_arena_allocation_fails(to_json_and_back, settings, 1000);
    att_settings_free(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_but_the_files_of_the_run_comes_back),
        cmocka_unit_test(the_same_settings_give_the_same_bytes),
        cmocka_unit_test(what_the_user_set_wins_over_the_model),
        cmocka_unit_test(what_is_no_good_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
