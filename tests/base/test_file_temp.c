/* Temporary files that killed processes left behind, and their removal. */
#include "base/file.h"
#include "base/minmax.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[64];

static int enter_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/attend-leftovers-XXXXXX");
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int leave_directory(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

/* The id of a process that has ended. */
static pid_t dead_process(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return child;
}

/* Creates a temporary file as att_file_save() of that process would; its name is valid until the
 * next call. */
static const char *leave(const char *where, pid_t writer, unsigned number)
{
    static char name[128];
    int length = snprintf(name, sizeof name, "%s", where);
    snprintf(name + length, sizeof name - (size_t)length, ATT_TEMP_FILE_FORMAT, (long)writer,
             number);
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    close(fd);
    return name;
}

static bool is_there(const char *name)
{
    struct stat info;
    return lstat(name, &info) == 0;
}

static void files_of_dead_processes_are_removed(void **state)
{
    (void)state;
    assert_int_equal(mkdir("sub", 0700), 0);
    pid_t dead = dead_process();
    leave("", dead, 0);
    leave("", dead, 1);
    const char *below = leave("sub/", dead, 2);
    att_file_remove_stale_temps("model");
    assert_true(is_there(below));
    att_file_remove_stale_temps("sub/model");
    assert_false(is_there(below));
    assert_int_equal(system("test -z \"$(ls -A | grep -v sub)\""), 0);
}

static void files_of_a_living_process_are_kept(void **state)
{
    (void)state;
    const char *name = leave("", getpid(), 7);
    att_file_remove_stale_temps("model");
    assert_true(is_there(name));
}

/* As in another container, which has its own process ids. */
static void a_locked_file_is_kept_until_it_is_unlocked(void **state)
{
    (void)state;
    const char *name = leave("", dead_process(), 0);
    int fd = open(name, O_WRONLY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    att_file_remove_stale_temps("model");
    assert_true(is_there(name));
    close(fd);
    att_file_remove_stale_temps("model");
    assert_false(is_there(name));
}

static void the_directory_of_the_target_of_a_link_is_cleaned(void **state)
{
    (void)state;
    assert_int_equal(mkdir("far", 0700), 0);
    assert_int_equal(att_file_save("far/model", "m", 1, NULL), ATT_OK);
    assert_int_equal(symlink("far/model", "model"), 0);
    const char *name = leave("far/", dead_process(), 0);
    att_file_remove_stale_temps("model");
    assert_false(is_there(name));
}

static void files_with_other_names_are_kept(void **state)
{
    (void)state;
    static const char *const others[] = { ".attend-x-0.tmp", ".attend-0-0.tmp",  ".attend-5.tmp",
                                          "attend-5-0.tmp",  ".attend-5-0.tmp~", "model" };
    for (size_t i = 0; i < ATT_COUNT(others); i++)
        assert_int_equal(att_file_save(others[i], "", 0, NULL), ATT_OK);
    att_file_remove_stale_temps("model");
    for (size_t i = 0; i < ATT_COUNT(others); i++)
        assert_true(is_there(others[i]));
}

static void a_missing_directory_is_ignored(void **state)
{
    (void)state;
    att_file_remove_stale_temps("nowhere/model");
    assert_false(is_there("nowhere"));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_directory, leave_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(files_of_dead_processes_are_removed),
        IN_FOLDER(files_of_a_living_process_are_kept),
        IN_FOLDER(a_locked_file_is_kept_until_it_is_unlocked),
        IN_FOLDER(the_directory_of_the_target_of_a_link_is_cleaned),
        IN_FOLDER(files_with_other_names_are_kept),
        IN_FOLDER(a_missing_directory_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
