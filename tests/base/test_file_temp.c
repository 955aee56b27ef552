/* What saves that were killed have left behind, and who may remove it. */
#include "base/file.h"

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

static char folder[64];

static int enter_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/attend-leftovers-XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

/* The number of a process that is no more. */
static pid_t dead_process(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return child;
}

/* Makes a file as a save of that process would; its name is lent until the next call. */
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

static void what_dead_processes_left_is_removed(void **state)
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

static void what_a_living_process_writes_stays(void **state)
{
    (void)state;
    const char *name = leave("", getpid(), 7);
    att_file_remove_stale_temps("model");
    assert_true(is_there(name));
}

/* As from another container, whose processes have numbers of their own. */
static void what_somebody_has_locked_stays_until_it_is_let_go(void **state)
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

static void the_folder_of_what_a_link_leads_to_is_cleared(void **state)
{
    (void)state;
    assert_int_equal(mkdir("far", 0700), 0);
    assert_int_equal(att_file_save("far/model", "m", 1, NULL), ATT_OK);
    assert_int_equal(symlink("far/model", "model"), 0);
    const char *name = leave("far/", dead_process(), 0);
    att_file_remove_stale_temps("model");
    assert_false(is_there(name));
}

static void files_of_other_names_stay(void **state)
{
    (void)state;
    static const char *const others[] = { ".attend-x-0.tmp", ".attend-0-0.tmp",  ".attend-5.tmp",
                                          "attend-5-0.tmp",  ".attend-5-0.tmp~", "model" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(att_file_save(others[i], "", 0, NULL), ATT_OK);
    att_file_remove_stale_temps("model");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(is_there(others[i]));
}

static void a_folder_that_is_not_there_is_no_matter(void **state)
{
    (void)state;
    att_file_remove_stale_temps("nowhere/model");
    assert_false(is_there("nowhere"));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(what_dead_processes_left_is_removed),
        IN_FOLDER(what_a_living_process_writes_stays),
        IN_FOLDER(what_somebody_has_locked_stays_until_it_is_let_go),
        IN_FOLDER(the_folder_of_what_a_link_leads_to_is_cleared),
        IN_FOLDER(files_of_other_names_stay),
        IN_FOLDER(a_folder_that_is_not_there_is_no_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
