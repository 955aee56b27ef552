/* Writing results; see output.h. */
#include "output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"

static bool reader_gone;

bool output_reader_gone(void)
{
    return reader_gone;
}

/* Decides about a failed write. What is left in the buffer must not come out later. */
static att_status write_failed(att_error *err)
{
    int reason = errno;
    __fpurge(stdout);
    clearerr(stdout);
    reader_gone = reason == EPIPE;
    if (reader_gone)
        return ATT_OK;
    return error_set(err, ATT_SYSTEM, "standard output", "cannot write: %s", strerror(reason));
}

att_status output_flush(att_error *err)
{
    return fflush(stdout) == 0 ? ATT_OK : write_failed(err);
}

att_status output_stdout(const char *bytes, size_t length, att_error *err)
{
    if (length > 0 && fwrite(bytes, 1, length, stdout) != length)
        return write_failed(err);
    return output_flush(err);
}

att_status string_join(att_string *out, const string_piece *pieces)
{
    for (; pieces->bytes; pieces++)
        if (att_string_append(out, pieces->bytes, pieces->length) != ATT_OK)
            return ATT_NO_MEMORY;
    return ATT_OK;
}

const char *const color_choices[] = { "auto", "always", "never", NULL };

/* What the terminal says of itself. COLORTERM is how terminals announce 24-bit colour; a TERM that
 * promises nothing gets the 256 colours only when they are asked for. */
static att_color terminal_color(att_color least)
{
    const char *announced = getenv("COLORTERM");
    if (announced && (strcmp(announced, "truecolor") == 0 || strcmp(announced, "24bit") == 0))
        return ATT_COLOR_TRUE;
    const char *term = getenv("TERM");
    if (term && strstr(term, "direct"))
        return ATT_COLOR_TRUE;
    if (term && (strstr(term, "256color") || strncmp(term, "xterm", 5) == 0))
        return ATT_COLOR_256;
    return least;
}

att_color output_color(color_choice choice)
{
    if (choice == COLOR_NEVER)
        return ATT_COLOR_NONE;
    if (choice == COLOR_ALWAYS)
        return terminal_color(ATT_COLOR_256);
    const char *refused = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if ((refused && refused[0]) || !term || strcmp(term, "dumb") == 0 || !isatty(STDOUT_FILENO))
        return ATT_COLOR_NONE;
    return terminal_color(ATT_COLOR_NONE);
}

int output_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 0;
}

/* It is cut where the terminal ends: of a line that went on below, a part would stay. */
void output_progress(const char *text)
{
    struct winsize size = { 0 };
    int room = INT_MAX;
    if (!isatty(STDERR_FILENO))
        return;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        room = size.ws_col - 1;
    fprintf(stderr, "\r\033[K%.*s", room, text);
    fflush(stderr);
}

void output_progress_clear(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    fflush(stderr);
}

output_file *output_add(output_list *list, const char *path, const char *what)
{
    output_file *files = realloc(list->files, (list->count + 1) * sizeof *files);
    if (!files)
        return NULL;
    list->files = files;
    output_file *file = &files[list->count];
    *file = (output_file){ .path = strdup(path), .description = what };
    if (!file->path)
        return NULL;
    list->count++;
    return file;
}

void output_free(output_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->files[i].path);
        att_string_free(&list->files[i].bytes);
    }
    free(list->files);
    *list = (output_list){ 0 };
}

/* True if both names reach one regular file that exists. Devices may be written twice. */
static bool same_file(const char *a, const char *b)
{
    struct stat one;
    struct stat other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && S_ISREG(one.st_mode) &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

att_status output_check_input(const output_list *list, const char *input, const char *what,
                              att_error *err)
{
    for (size_t i = 0; i < list->count; i++)
        if (same_file(list->files[i].path, input))
            return error_set(err, ATT_BAD_INPUT, list->files[i].path,
                             "%s; write the result somewhere else", what);
    return ATT_OK;
}

/* Whether the file can be made at `path`, or the one there replaced. What only shows in writing, a
 * full disk for example, fails then. */
static att_status check_writable(const char *path, att_error *err)
{
    struct stat info;
    if (stat(path, &info) == 0)
        return S_ISDIR(info.st_mode)
                   ? error_set(err, ATT_BAD_INPUT, path, "is a directory, expected a file")
                   : ATT_OK;
    att_string folder = { 0 };
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    if (string_join(&folder, (string_piece[]){ { path, length }, { ".", 1 }, { 0 } }) != ATT_OK)
        return error_memory(err);
    int refused = access(folder.data, W_OK | X_OK) == 0 ? 0 : errno;
    att_string_free(&folder);
    return refused == 0
               ? ATT_OK
               : error_set(err, ATT_BAD_INPUT, path, "cannot create: %s", strerror(refused));
}

att_status output_check_paths(output_names written, output_names read, att_error *err)
{
    for (size_t i = 0; i < written.count; i++) {
        const char *path = written.names[i];
        att_status status = path ? check_writable(path, err) : ATT_OK;
        if (status != ATT_OK)
            return status;
        for (size_t j = 0; j < read.count && path; j++)
            if (read.names[j] && same_file(path, read.names[j]))
                return error_set(err, ATT_BAD_INPUT, path,
                                 "is read as well; write the result somewhere else");
    }
    return ATT_OK;
}

att_status output_check(const output_list *list, att_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *path = list->files[i].path;
        for (size_t j = 0; j < i; j++)
            if (strcmp(path, list->files[j].path) == 0 || same_file(path, list->files[j].path))
                return error_set(err, ATT_BAD_INPUT, path, "would be written twice");
        att_status status = check_writable(path, err);
        if (status != ATT_OK)
            return status;
    }
    return ATT_OK;
}

att_status output_save(const output_list *list, att_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const output_file *file = &list->files[i];
        att_status status = att_file_save(file->path, file->bytes.data, file->bytes.length, err);
        if (status != ATT_OK)
            return status;
        fprintf(stderr, "wrote %s %s\n", file->description, file->path);
    }
    return ATT_OK;
}

att_status output_all(const output_list *list, const att_string *text, att_error *err)
{
    att_status status = output_check(list, err);
    if (status == ATT_OK)
        status = output_save(list, err);
    return status == ATT_OK ? output_stdout(text->data, text->length, err) : status;
}
