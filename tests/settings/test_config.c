/* Config files. */
#include "settings/settings_help.h"
#include "failing_memory.h"

#include <stdlib.h>
#include <unistd.h>

static att_status read_config(att_settings *settings, const char *text, att_error *err)
{
    return att_settings_read(settings, text, strlen(text), "run.conf", err);
}

static void take(att_settings *settings, const char *text)
{
    att_error err = { 0 };
    if (read_config(settings, text, &err) != ATT_OK)
        fail_msg("%s:%d: %s", err.place, err.line, err.message);
}

static void assert_refused(const char *text, int line, const char *message)
{
    att_settings *settings = settings_of(NULL);
    att_error err = { 0 };
    assert_int_equal(read_config(settings, text, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, message);
    assert_string_equal(err.place, "run.conf");
    assert_int_equal(err.line, line);
    assert_int_equal(err.status, ATT_BAD_INPUT);
    assert_int_equal(read_config(settings, text, NULL), ATT_BAD_INPUT);
    att_settings_free(settings);
}

static void lines_set_keys(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    take(settings, "task = reverse\nhidden-size=96\n\tdropout =  0.5  \n\nlowercase=no");
    assert_int_equal(settings->task, ATT_TASK_REVERSE);
    assert_int_equal(settings->hidden_size, 96);
    assert_true(settings->dropout == 0.5);
    assert_int_equal(settings->epochs, 30);
    att_settings_free(settings);
}

static void comments_are_left_out(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    take(settings, "# layers = 9\n  # more\nhidden-size = 12 # not 13\ntrain = a#b\t# c\n");
    assert_int_equal(settings->hidden_size, 12);
    assert_string_equal(settings->train, "a#b");
    att_settings_free(settings);
}

static void quotes_keep_spaces_and_signs(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    take(settings, "alphabet = \"# ab \"  # quoted\ntrain = \"two words\"\nvalid=a \"b\" c\n");
    assert_string_equal(settings->alphabet, "# ab ");
    assert_string_equal(settings->train, "two words");
    assert_string_equal(settings->valid, "a \"b\" c");
    att_settings_free(settings);
}

static void dos_line_ends_and_a_byte_order_mark_do_not_matter(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    take(settings, "\xEF\xBB\xBFhidden-size = 5\r\n\r\ntrain = x\r\n");
    assert_int_equal(settings->hidden_size, 5);
    assert_string_equal(settings->train, "x");
    att_settings_free(settings);
}

static void what_the_caller_set_stays(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    set(settings, "hidden-size", "7");
    take(settings, "hidden-size = 8\nembedding-size = 9\n");
    assert_int_equal(settings->hidden_size, 7);
    assert_int_equal(settings->embedding_size, 9);
    set(settings, "embedding-size", "10");
    assert_int_equal(settings->embedding_size, 10);
    att_settings_free(settings);
}

static void of_two_files_the_later_counts(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    take(settings, "hidden-size = 8\nembedding-size = 9\n");
    take(settings, "hidden-size = 10\n");
    assert_int_equal(settings->hidden_size, 10);
    assert_int_equal(settings->embedding_size, 9);
    att_settings_free(settings);
}

static void a_bad_value_is_refused_even_where_it_does_not_count(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    set(settings, "hidden-size", "7");
    assert_int_equal(read_config(settings, "hidden-size = many\n", NULL), ATT_BAD_INPUT);
    att_settings_free(settings);
}

static void errors_name_the_line_and_the_nearest_key(void **state)
{
    (void)state;
    assert_refused("hidden-size = 3\n\nhiden-size = 4\n", 3,
                   "unknown setting 'hiden-size'; did you mean hidden-size?");
    assert_refused("width 3\n", 1, "expected key = value, found 'width 3'");
    assert_refused("= 3\n", 1, "expected key = value, found '= 3'");
    assert_refused("[model]\n", 1, "expected key = value, found '[model]'");
    assert_refused("#\n#\nlayers = 0", 3, "layers expects a whole number from 1 to 64, not '0'");
    assert_refused("train =\n", 1, "train expects FILE, but it is empty");
    assert_refused("train = \"\"\n", 1, "train expects FILE, but it is empty");
    assert_refused("hidden-size = 3\nhidden-size = 3\n", 2, "hidden-size is already set in line 1");
    assert_refused("train = \"a\n", 1, "a closing quote is missing in the value '\"a'");
    assert_refused("train = \"a\" b\n", 1,
                   "expected nothing or a comment after the closing quote, found 'b'");
}

static void what_is_no_text_is_refused(void **state)
{
    (void)state;
    assert_refused("hidden-size = 3\ntrain = \xC3(\n", 2, "is not UTF-8 text");
    att_settings *settings = settings_of(NULL);
    att_error err = { 0 };
    assert_int_equal(att_settings_read(settings, "train = a\0b\n", 12, "run.conf", &err),
                     ATT_BAD_INPUT);
    assert_int_equal(err.line, 1);
    att_settings_free(settings);
}

static void an_empty_file_sets_nothing(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    assert_int_equal(att_settings_read(settings, NULL, 0, "run.conf", NULL), ATT_OK);
    att_settings_free(settings);
}

static void a_file_is_loaded_by_its_name(void **state)
{
    (void)state;
    char path[] = "/tmp/attend-config-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "hidden-size = 21\nlayer = 2\n", 27), 27);
    close(fd);
    att_settings *settings = settings_of(NULL);
    att_error err = { 0 };
    assert_int_equal(att_settings_load(settings, path, &err), ATT_BAD_INPUT);
    assert_string_equal(err.place, path);
    assert_int_equal(err.line, 2);
    assert_string_equal(err.message, "unknown setting 'layer'; did you mean layers?");
    assert_int_equal(settings->hidden_size, 21);
    unlink(path);
    assert_int_equal(att_settings_load(settings, path, &err), ATT_BAD_INPUT);
    assert_int_equal(att_settings_load(settings, "/", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "is a directory, expected a file");
    att_settings_free(settings);
}

static att_status make_from_config(void *context)
{
    (void)context;
    att_error err = { 0 };
    att_settings *settings;
    att_status status = att_settings_new(&settings, NULL, &err);
    if (status == ATT_OK)
        status = read_config(settings, "train = a\nvalid = b # c\n", &err);
    if (status != ATT_OK)
        assert_string_equal(err.message, "out of memory");
    att_settings_free(settings);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    every_allocation_fails(make_from_config, NULL, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_set_keys),
        cmocka_unit_test(comments_are_left_out),
        cmocka_unit_test(quotes_keep_spaces_and_signs),
        cmocka_unit_test(dos_line_ends_and_a_byte_order_mark_do_not_matter),
        cmocka_unit_test(what_the_caller_set_stays),
        cmocka_unit_test(of_two_files_the_later_counts),
        cmocka_unit_test(a_bad_value_is_refused_even_where_it_does_not_count),
        cmocka_unit_test(errors_name_the_line_and_the_nearest_key),
        cmocka_unit_test(what_is_no_text_is_refused),
        cmocka_unit_test(an_empty_file_sets_nothing),
        cmocka_unit_test(a_file_is_loaded_by_its_name),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
