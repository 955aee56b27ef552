/* Locks on output files: one holder at a time, released by death, and no file left behind. */
#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[64];

static int enter_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/attend-locks-XXXXXX");
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int leave_directory(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static void a_second_holder_is_refused_by_name_until_the_first_releases(void **state)
{
    (void)state;
    att_file_lock first = { 0 }, second = { 0 };
    att_error err = { 0 };
    assert_int_equal(att_file_lock_take(&first, "m", &err), ATT_OK);
    assert_int_equal(att_file_lock_take(&first, "m", &err), ATT_OK); /* held already */
    assert_int_equal(att_file_lock_take(&second, "./m", &err), ATT_BAD_INPUT);
    assert_string_equal(err.place, "./m");
    assert_string_equal(err.message, "another training run is writing this file");
    assert_false(second.held);
    att_file_lock_release(&first);
    assert_int_equal(att_file_lock_take(&second, "m", &err), ATT_OK);
    att_file_lock_release(&second);
    att_file_lock_release(&second);
}

static void a_release_leaves_no_file(void **state)
{
    (void)state;
    att_file_lock lock = { 0 };
    assert_int_equal(att_file_lock_take(&lock, "m", NULL), ATT_OK);
    assert_int_equal(access("m.lock", F_OK), 0);
    assert_int_not_equal(access("m", F_OK), 0);
    att_file_lock_release(&lock);
    assert_int_not_equal(access("m.lock", F_OK), 0);
}

static void a_dead_holder_holds_nothing(void **state)
{
    (void)state;
    att_file_lock lock = { 0 };
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(att_file_lock_take(&lock, "m", NULL) == ATT_OK ? 0 : 1);
    int ended = -1;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    assert_int_equal(access("m.lock", F_OK), 0);
    assert_int_equal(att_file_lock_take(&lock, "m", NULL), ATT_OK);
    att_file_lock_release(&lock);
    assert_int_not_equal(access("m.lock", F_OK), 0);
}

static void a_link_and_its_target_have_one_lock(void **state)
{
    (void)state;
    att_file_lock one = { 0 }, other = { 0 };
    assert_int_equal(att_file_save("target", "x", 1, NULL), ATT_OK);
    assert_int_equal(symlink("target", "link"), 0);
    assert_int_equal(att_file_lock_take(&one, "link", NULL), ATT_OK);
    assert_int_equal(att_file_lock_take(&other, "target", NULL), ATT_BAD_INPUT);
    att_file_lock_release(&one);
}

static void a_missing_folder_is_reported_for_the_output(void **state)
{
    (void)state;
    att_file_lock lock = { 0 };
    att_error err = { 0 };
    assert_int_equal(att_file_lock_take(&lock, "none/m", &err), ATT_BAD_INPUT);
    assert_string_equal(err.place, "none/m");
    assert_string_equal(err.message, "cannot create: No such file or directory");
    assert_false(lock.held);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_directory, leave_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_second_holder_is_refused_by_name_until_the_first_releases),
        IN_FOLDER(a_release_leaves_no_file),
        IN_FOLDER(a_dead_holder_holds_nothing),
        IN_FOLDER(a_link_and_its_target_have_one_lock),
        IN_FOLDER(a_missing_folder_is_reported_for_the_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
