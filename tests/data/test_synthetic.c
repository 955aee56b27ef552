/* The data of the synthetic tasks, through the public call. */
#include "attend.h"

#include "base/alloc.h"
#include "failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static att_settings *settings_of(const char *task)
{
    att_settings *settings;
    assert_int_equal(att_settings_new(&settings, task, NULL), ATT_OK);
    if (strcmp(task, "lm") == 0)
        return settings;
    assert_int_equal(att_settings_set(settings, "train-count", "7", NULL), ATT_OK);
    assert_int_equal(att_settings_set(settings, "valid-count", "3", NULL), ATT_OK);
    return settings;
}

static int line_count(const att_string *text)
{
    int count = 0;
    for (const char *c = text->data; c && *c; c++)
        count += *c == '\n';
    return count;
}

static void strings_are_appended_as_lines(void **state)
{
    (void)state;
    att_settings *settings = settings_of("reverse");
    att_string train = { 0 }, valid = { 0 };
    att_tensor images = { .rank = 3 };
    att_string_append(&train, "x\n", 2);
    assert_int_equal(att_synthetic_data(&train, &images, settings, false, NULL), ATT_OK);
    assert_int_equal(att_synthetic_data(&valid, NULL, settings, true, NULL), ATT_OK);
    assert_int_equal(line_count(&train), 8);
    assert_int_equal(line_count(&valid), 3);
    assert_memory_equal(train.data, "x\n", 2);
    assert_null(images.data);
    assert_non_null(strchr(valid.data, '\t'));
    att_string_free(&train);
    att_string_free(&valid);
    att_settings_free(settings);
}

static void shapes_have_images_and_captions(void **state)
{
    (void)state;
    att_settings *settings = settings_of("shapes");
    att_string lines = { 0 };
    att_tensor images;
    assert_int_equal(att_synthetic_data(&lines, &images, settings, true, NULL), ATT_OK);
    assert_int_equal(line_count(&lines), 3);
    assert_memory_equal(lines.data, "0\ta ", 4);
    assert_int_equal(images.rank, 4);
    assert_int_equal(images.shape[0], 3);
    assert_int_equal(images.shape[3], 3);
    double pixel = att_tensor_get(&images, (int64_t[]){ 2, 0, 0, 1 });
    assert_true(pixel >= 0 && pixel <= 1);
    att_tensor_free(&images);
    att_string_free(&lines);
    att_settings_free(settings);
}

static void a_task_with_files_is_refused(void **state)
{
    (void)state;
    att_settings *settings = settings_of("lm");
    assert_int_equal(att_settings_set(settings, "train", "some.txt", NULL), ATT_OK);
    att_string lines = { 0 };
    att_error err;
    assert_int_equal(att_synthetic_data(&lines, NULL, settings, false, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "reverse, copy, sort or shapes"));
    assert_null(lines.data);
    att_settings_free(settings);
}

static att_status generate_all(void *context)
{
    att_string lines = { 0 };
    att_tensor images = { 0 };
    att_status status = att_synthetic_data(&lines, &images, context, false, NULL);
    if (status != ATT_OK)
        assert_null(lines.data);
    att_string_free(&lines);
    att_tensor_free(&images);
    return status;
}

static void failing_memory_leaves_nothing(void **state)
{
    (void)state;
    att_settings *settings = settings_of("shapes");
    every_allocation_fails(generate_all, settings, 200);
    att_settings_free(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_appended_as_lines),
        cmocka_unit_test(shapes_have_images_and_captions),
        cmocka_unit_test(a_task_with_files_is_refused),
        cmocka_unit_test(failing_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
