/* Reading and saving whole files. The system calls below replace libc's in this program, to
 * simulate a failing disk, a signal and a file that changes while being read. */
#include "base/file.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
    int read_errno;     /* every read fails with this */
    int interruptions;  /* reads and writes that a signal interrupts first */
    size_t largest;     /* bytes per call; 0: all */
    off_t resize_to;    /* the file gets this size before the first read */
    const char *resize; /* its path, or NULL */
    const char *touch;  /* a file whose modification time changes before the first read, or NULL */
    int write_errno;    /* every write fails with this */
    int fsync_errno;    /* every fsync fails with this */
    int rename_errno;   /* every rename fails with this */
} fault;

static void meddle(void)
{
    if (fault.resize) {
        assert_int_equal(truncate(fault.resize, fault.resize_to), 0);
        fault.resize = NULL;
    }
    if (fault.touch) {
        struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
        assert_int_equal(utimensat(AT_FDCWD, fault.touch, times, 0), 0);
        fault.touch = NULL;
    }
}

static bool interrupted(void)
{
    if (fault.interruptions == 0)
        return false;
    fault.interruptions--;
    errno = EINTR;
    return true;
}

ssize_t read(int fd, void *to, size_t size)
{
    meddle();
    if (interrupted())
        return -1;
    if (fault.read_errno) {
        errno = fault.read_errno;
        return -1;
    }
    if (fault.largest && size > fault.largest)
        size = fault.largest;
    return syscall(SYS_read, fd, to, size);
}

ssize_t write(int fd, const void *from, size_t size)
{
    if (fd <= STDERR_FILENO)
        return syscall(SYS_write, fd, from, size);
    if (interrupted())
        return -1;
    if (fault.write_errno) {
        errno = fault.write_errno;
        return -1;
    }
    if (fault.largest && size > fault.largest)
        size = fault.largest;
    return syscall(SYS_write, fd, from, size);
}

int fsync(int fd)
{
    if (fault.fsync_errno) {
        errno = fault.fsync_errno;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    if (fault.rename_errno) {
        errno = fault.rename_errno;
        return -1;
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ---- each test runs in its own directory, so that names are short and relative */

static char directory[64];

static int enter_directory(void **state)
{
    (void)state;
    memset(&fault, 0, sizeof fault);
    strcpy(directory, "/tmp/attend-file-XXXXXX");
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int leave_directory(void **state)
{
    (void)state;
    memset(&fault, 0, sizeof fault);
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+rwx '%s' && rm -rf '%s'", directory, directory);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void assert_holds(const char *path, const char *text)
{
    att_string got = { 0 };
    att_error err = { 0 };
    assert_int_equal(att_file_read(&got, path, 1 << 20, &err), ATT_OK);
    assert_string_equal(got.data, text);
    assert_int_equal(got.length, strlen(text));
    att_string_free(&got);
}

static int count_entries(void)
{
    FILE *list = popen("ls -A | wc -l", "r");
    assert_non_null(list);
    int count = -1;
    assert_int_equal(fscanf(list, "%d", &count), 1);
    pclose(list);
    return count;
}

/* The reason is in the words of the C library. */
static const char *with_reason(const char *what, int number)
{
    static char message[128];
    snprintf(message, sizeof message, "%s: %s", what, strerror(number));
    return message;
}

/* An empty path is quoted, so that a reader sees it. */
static void assert_names(const att_error *err, const char *path)
{
    assert_string_equal(err->place, path[0] ? path : "''");
}

static void assert_read_fails(const char *path, size_t limit, att_status status,
                              const char *message)
{
    att_string got = { 0 };
    att_error err = { 0 };
    size_t live = att_alloc_live();
    assert_int_equal(att_file_read(&got, path, limit, &err), status);
    assert_string_equal(err.message, message);
    assert_names(&err, path);
    assert_int_equal(err.status, status);
    assert_null(got.data);
    assert_int_equal(att_alloc_live(), live);
}

static void assert_save_fails(const char *path, att_status status, const char *message)
{
    att_error err = { 0 };
    size_t live = att_alloc_live();
    assert_int_equal(att_file_save(path, "new", 3, &err), status);
    assert_string_equal(err.message, message);
    assert_names(&err, path);
    assert_int_equal(att_alloc_live(), live);
}

/* ---- reading */

static void a_file_is_read_whole_with_its_zero_bytes(void **state)
{
    (void)state;
    att_error err = { 0 };
    assert_int_equal(att_file_save("f", "a\0b", 3, &err), ATT_OK);
    att_string got = { 0 };
    assert_int_equal(att_file_read(&got, "f", 3, &err), ATT_OK);
    assert_int_equal(got.length, 3);
    assert_memory_equal(got.data, "a\0b", 4);
    att_string_free(&got);
}

static void an_empty_file_becomes_an_empty_terminated_string(void **state)
{
    (void)state;
    put("empty", "");
    att_string got = { 0 };
    assert_int_equal(att_file_read(&got, "empty", 0, NULL), ATT_OK);
    assert_string_equal(got.data, "");
    assert_int_equal(got.length, 0);
    att_string_free(&got);
}

static void reading_replaces_the_contents_of_the_string(void **state)
{
    (void)state;
    put("f", "new");
    att_string got = { 0 };
    assert_int_equal(att_string_append(&got, "something longer", 16), ATT_OK);
    assert_int_equal(att_file_read(&got, "f", 100, NULL), ATT_OK);
    assert_string_equal(got.data, "new");
    assert_int_equal(got.length, 3);
    att_string_free(&got);
}

static void short_and_interrupted_reads_are_continued(void **state)
{
    (void)state;
    put("f", "some bytes to be read in pieces");
    fault.largest = 3;
    fault.interruptions = 4;
    assert_holds("f", "some bytes to be read in pieces");
    assert_int_equal(fault.interruptions, 0);
}

static void special_files_are_refused_by_type(void **state)
{
    (void)state;
    assert_int_equal(mkdir("dir", 0777), 0);
    assert_int_equal(mkfifo("pipe", 0666), 0);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "sock" };
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_read_fails("dir", 100, ATT_BAD_INPUT, "is a directory, expected a file");
    assert_read_fails("pipe", 100, ATT_BAD_INPUT, "is a FIFO, expected a file");
    assert_read_fails("sock", 100, ATT_BAD_INPUT, "is a socket, expected a file");
    assert_read_fails("/dev/zero", 100, ATT_BAD_INPUT, "is a device, expected a file");
    close(listener);
}

static void a_missing_file_is_bad_input(void **state)
{
    (void)state;
    assert_read_fails("none", 100, ATT_BAD_INPUT, "cannot open: No such file or directory");
    assert_read_fails("", 100, ATT_BAD_INPUT, "cannot open: No such file or directory");
    put("f", "x");
    assert_read_fails("f/g", 100, ATT_BAD_INPUT, "cannot open: Not a directory");
}

static void all_names_of_a_file_are_recognized_as_the_same_file(void **state)
{
    (void)state;
    put("f", "x");
    put("g", "x");
    assert_int_equal(link("f", "hard"), 0);
    assert_int_equal(symlink("f", "soft"), 0);
    assert_true(att_file_same("f", "./f"));
    assert_true(att_file_same("f", "hard"));
    assert_true(att_file_same("soft", "f"));
    assert_false(att_file_same("f", "g"));
    assert_false(att_file_same("f", "none"));
    assert_false(att_file_same("none", "none"));
    assert_false(att_file_same("/dev/null", "/dev/null"));
}

static void an_output_path_must_not_be_a_directory(void **state)
{
    (void)state;
    att_error err = { 0 };
    put("f", "x");
    assert_int_equal(att_file_check_output_path("f", &err), ATT_OK);
    assert_int_equal(att_file_check_output_path("none", &err), ATT_OK);
    assert_int_equal(att_file_check_output_path(".", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "is a directory, expected a file");
    assert_int_equal(att_file_check_output_path("none/", &err), ATT_BAD_INPUT);
}

static void a_file_that_may_not_be_read_is_bad_input(void **state)
{
    (void)state;
    put("secret", "x");
    assert_int_equal(chmod("secret", 0), 0);
    bool superuser = geteuid() == 0; /* may read everything */
    if (superuser)
        assert_int_equal(seteuid(65534), 0);
    assert_read_fails("secret", 100, ATT_BAD_INPUT, "cannot open: Permission denied");
    if (superuser)
        assert_int_equal(seteuid(0), 0);
}

static void a_file_beyond_the_limit_is_refused_with_both_sizes(void **state)
{
    (void)state;
    put("f", "12345");
    assert_read_fails("f", 4, ATT_BAD_INPUT, "has 5 bytes, more than the 4 allowed");
    assert_holds("f", "12345");
}

static void a_file_that_shrinks_while_being_read_is_refused(void **state)
{
    (void)state;
    put("f", "0123456789");
    fault.resize = "f";
    fault.resize_to = 4;
    assert_read_fails("f", 100, ATT_BAD_INPUT, "shrank while being read: from 10 bytes to 4");
}

static void a_file_that_grows_while_being_read_is_refused(void **state)
{
    (void)state;
    put("f", "0123456789");
    fault.resize = "f";
    fault.resize_to = 11;
    assert_read_fails("f", 100, ATT_BAD_INPUT, "grew while being read: had 10 bytes before");
}

static void a_file_rewritten_while_being_read_is_refused(void **state)
{
    (void)state;
    put("f", "0123456789");
    fault.touch = "f";
    assert_read_fails("f", 100, ATT_BAD_INPUT, "changed while being read");
}

static void a_failing_disk_is_a_system_error(void **state)
{
    (void)state;
    put("f", "x");
    fault.read_errno = EIO;
    assert_read_fails("f", 100, ATT_SYSTEM, with_reason("cannot read", EIO));
}

static void reading_without_memory_says_so(void **state)
{
    (void)state;
    put("f", "x");
    att_string got = { 0 };
    att_error err = { 0 };
    att_alloc_fail_at(1);
    assert_int_equal(att_file_read(&got, "f", 100, &err), ATT_NO_MEMORY);
    att_alloc_fail_at(0);
    assert_string_equal(err.message, "out of memory");
    assert_null(got.data);
}

/* ---- streams */

/* Reads `path` with standard input from a pipe that contains `text` and has no writer. */
static att_status read_piped(att_string *got, const char *text, size_t limit, att_error *err)
{
    int ends[2], before = dup(STDIN_FILENO);
    assert_true(before >= 0 && pipe(ends) == 0);
    assert_int_equal(syscall(SYS_write, ends[1], text, strlen(text)), (long)strlen(text));
    close(ends[1]);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    att_status status = att_file_read_stream(got, "-", limit, err);
    dup2(before, STDIN_FILENO);
    close(before);
    return status;
}

static void standard_input_is_read_to_its_end(void **state)
{
    (void)state;
    fault.largest = 3;
    fault.interruptions = 2;
    att_string got = { 0 };
    assert_int_equal(read_piped(&got, "through a pipe", 14, NULL), ATT_OK);
    assert_string_equal(got.data, "through a pipe");
    assert_int_equal(got.length, 14);
    att_string_free(&got);
}

static void a_stream_beyond_the_limit_is_refused(void **state)
{
    (void)state;
    att_string got = { 0 };
    att_error err = { 0 };
    assert_int_equal(read_piped(&got, "through a pipe", 13, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "has more than the 13 bytes allowed");
    assert_string_equal(err.place, "<stdin>");
    assert_null(got.data);
}

static void a_stream_that_breaks_is_a_system_error(void **state)
{
    (void)state;
    att_string got = { 0 };
    att_error err = { 0 };
    fault.read_errno = EIO;
    assert_int_equal(read_piped(&got, "x", 1, &err), ATT_SYSTEM);
    assert_string_equal(err.message, with_reason("cannot read", EIO));
    assert_null(got.data);
}

/* A device may have no end; only FIFOs and standard input are read as streams. */
static void a_stream_may_be_a_file_but_not_a_device_or_directory(void **state)
{
    (void)state;
    put("f", "plain");
    att_string got = { 0 };
    att_error err = { 0 };
    assert_int_equal(att_file_read_stream(&got, "f", 5, &err), ATT_OK);
    assert_string_equal(got.data, "plain");
    att_string_free(&got);
    assert_int_equal(att_file_read_stream(&got, "/dev/zero", 5, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "is a device, expected a file");
    assert_int_equal(att_file_read_stream(&got, ".", 5, &err), ATT_BAD_INPUT);
    assert_int_equal(att_file_read_stream(&got, "none", 5, &err), ATT_BAD_INPUT);
}

/* ---- saving */

static void a_new_file_gets_the_mode_of_the_umask(void **state)
{
    (void)state;
    mode_t old = umask(027);
    assert_int_equal(att_file_save("f", "text", 4, NULL), ATT_OK);
    umask(old);
    struct stat info;
    assert_int_equal(stat("f", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_holds("f", "text");
    assert_int_equal(count_entries(), 1);
}

static void a_replaced_file_keeps_its_mode(void **state)
{
    (void)state;
    put("f", "a longer text than the new one");
    assert_int_equal(chmod("f", 0604), 0);
    assert_int_equal(att_file_save("f", "new", 3, NULL), ATT_OK);
    struct stat info;
    assert_int_equal(stat("f", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0604);
    assert_holds("f", "new");
}

static void a_replaced_file_is_a_new_one_so_that_readers_keep_the_old(void **state)
{
    (void)state;
    put("f", "old");
    FILE *reader = fopen("f", "rb");
    assert_non_null(reader);
    assert_int_equal(att_file_save("f", "new", 3, NULL), ATT_OK);
    char text[4] = "";
    assert_int_equal(fread(text, 1, 3, reader), 3);
    assert_string_equal(text, "old");
    fclose(reader);
}

static void a_symbolic_link_is_kept(void **state)
{
    (void)state;
    assert_int_equal(mkdir("dir", 0777), 0);
    put("dir/real", "old");
    assert_int_equal(symlink("dir/real", "link"), 0);
    assert_int_equal(att_file_save("link", "new", 3, NULL), ATT_OK);
    struct stat info;
    assert_int_equal(lstat("link", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_holds("dir/real", "new");
}

static void short_and_interrupted_writes_are_continued(void **state)
{
    (void)state;
    fault.largest = 2;
    fault.interruptions = 3;
    assert_int_equal(att_file_save("f", "written in pieces", 17, NULL), ATT_OK);
    assert_holds("f", "written in pieces");
}

static void a_failed_save_leaves_the_old_file_and_nothing_else(void **state)
{
    (void)state;
    put("f", "old");
    fault.write_errno = ENOSPC;
    assert_save_fails("f", ATT_SYSTEM, "cannot write: No space left on device");
    fault.write_errno = 0;
    fault.fsync_errno = EIO;
    assert_save_fails("f", ATT_SYSTEM, with_reason("cannot write", EIO));
    fault.fsync_errno = 0;
    fault.rename_errno = EACCES;
    assert_save_fails("f", ATT_BAD_INPUT, "cannot write: Permission denied");
    fault.rename_errno = 0;
    assert_holds("f", "old");
    assert_int_equal(count_entries(), 1);
}

static void saving_where_no_file_can_be_is_bad_input(void **state)
{
    (void)state;
    assert_int_equal(mkdir("dir", 0777), 0);
    put("f", "x");
    assert_save_fails("dir", ATT_BAD_INPUT, "is a directory, expected a file");
    assert_save_fails("dir/", ATT_BAD_INPUT, "is a directory, expected a file");
    assert_save_fails("none/f", ATT_BAD_INPUT, "cannot create: No such file or directory");
    assert_save_fails("f/g", ATT_BAD_INPUT, "cannot write: Not a directory");
    assert_save_fails("", ATT_BAD_INPUT, "cannot write: No such file or directory");
    assert_int_equal(count_entries(), 2);
}

static void a_device_is_written_to_directly(void **state)
{
    (void)state;
    assert_int_equal(att_file_save("/dev/null", "text", 4, NULL), ATT_OK);
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    if (access("/dev/full", W_OK) == 0)
        assert_save_fails("/dev/full", ATT_SYSTEM, "cannot write: No space left on device");
}

static void a_fifo_is_written_to_directly(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("pipe", 0666), 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_int_equal(att_file_save("pipe", "text", 4, NULL), ATT_OK);
    char got[8] = "";
    assert_int_equal(read(reader, got, sizeof got), 4);
    assert_string_equal(got, "text");
    close(reader);
}

static void a_named_descriptor_is_written_to_at_its_position(void **state)
{
    (void)state;
    FILE *file = fopen("f", "wb");
    assert_non_null(file);
    fputs("before ", file);
    fflush(file);
    char name[32];
    snprintf(name, sizeof name, "/dev/fd/%d", fileno(file));
    assert_int_equal(att_file_save(name, "inside", 6, NULL), ATT_OK);
    fclose(file);
    assert_holds("f", "before inside");
}

static void every_allocation_of_a_save_may_fail(void **state)
{
    (void)state;
    att_error err;
    for (size_t n = 1;; n++) {
        put("f", "old");
        size_t live = att_alloc_live();
        att_alloc_fail_at(n);
        att_status status = att_file_save("f", "new", 3, &err);
        att_alloc_fail_at(0);
        assert_int_equal(att_alloc_live(), live);
        assert_int_equal(count_entries(), 1);
        if (status == ATT_OK)
            break;
        assert_int_equal(status, ATT_NO_MEMORY);
        assert_holds("f", "old");
    }
    assert_holds("f", "new");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_directory, leave_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_file_is_read_whole_with_its_zero_bytes),
        IN_FOLDER(an_empty_file_becomes_an_empty_terminated_string),
        IN_FOLDER(reading_replaces_the_contents_of_the_string),
        IN_FOLDER(short_and_interrupted_reads_are_continued),
        IN_FOLDER(special_files_are_refused_by_type),
        IN_FOLDER(a_missing_file_is_bad_input),
        IN_FOLDER(all_names_of_a_file_are_recognized_as_the_same_file),
        IN_FOLDER(an_output_path_must_not_be_a_directory),
        IN_FOLDER(a_file_that_may_not_be_read_is_bad_input),
        IN_FOLDER(a_file_beyond_the_limit_is_refused_with_both_sizes),
        IN_FOLDER(a_file_that_shrinks_while_being_read_is_refused),
        IN_FOLDER(a_file_that_grows_while_being_read_is_refused),
        IN_FOLDER(a_file_rewritten_while_being_read_is_refused),
        IN_FOLDER(a_failing_disk_is_a_system_error),
        IN_FOLDER(reading_without_memory_says_so),
        IN_FOLDER(standard_input_is_read_to_its_end),
        IN_FOLDER(a_stream_beyond_the_limit_is_refused),
        IN_FOLDER(a_stream_that_breaks_is_a_system_error),
        IN_FOLDER(a_stream_may_be_a_file_but_not_a_device_or_directory),
        IN_FOLDER(a_new_file_gets_the_mode_of_the_umask),
        IN_FOLDER(a_replaced_file_keeps_its_mode),
        IN_FOLDER(a_replaced_file_is_a_new_one_so_that_readers_keep_the_old),
        IN_FOLDER(a_symbolic_link_is_kept),
        IN_FOLDER(short_and_interrupted_writes_are_continued),
        IN_FOLDER(a_failed_save_leaves_the_old_file_and_nothing_else),
        IN_FOLDER(saving_where_no_file_can_be_is_bad_input),
        IN_FOLDER(a_device_is_written_to_directly),
        IN_FOLDER(a_fifo_is_written_to_directly),
        IN_FOLDER(a_named_descriptor_is_written_to_at_its_position),
        IN_FOLDER(every_allocation_of_a_save_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
