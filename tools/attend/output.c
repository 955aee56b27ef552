/* Writing results so that an error leaves no half-written file and no lost message; and what the
 * environment says about the terminal. */
#include "output.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "program.h"
#include "signals.h"
#include "terminal.h"

static bool reader_gone;

bool output_reader_gone(void)
{
    return reader_gone;
}

/* A failed write: an error unless the reader closed its end or its terminal. The rest of the buffer
 * is dropped, or exit() would try to write it again. */
static att_status write_failed(int reason, att_error *err)
{
    __fpurge(stdout);
    clearerr(stdout);
    reader_gone = reason == EPIPE || (reason == EIO && signals_caught() == SIGHUP);
    if (reader_gone)
        return ATT_OK;
    return error_set(err, ATT_SYSTEM, "standard output", "cannot write: %s", strerror(reason));
}

/* Why an earlier write failed, of which the stream only knows that it did. */
static int reason_of_earlier(void)
{
    struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) ? EPIPE : EIO;
}

att_status output_flush(att_error *err)
{
    if (fflush(stdout) != 0)
        return write_failed(errno, err);
    return ferror(stdout) ? write_failed(reason_of_earlier(), err) : ATT_OK;
}

att_status output_stdout(const char *bytes, size_t length, att_error *err)
{
    output_progress_clear();
    if (!terminal_write(stdout, bytes, length))
        return write_failed(errno, err);
    return output_flush(err);
}

att_status string_join(att_string *out, const string_piece *pieces)
{
    for (; pieces->bytes; pieces++)
        if (att_string_append(out, pieces->bytes, pieces->length) != ATT_OK)
            return ATT_NO_MEMORY;
    return ATT_OK;
}

/* ---- escaped text */

/* The letter that stands for a control character after a backslash; 0: there is none. */
static char letter_of(unsigned char byte)
{
    return byte == '\n' ? 'n' : byte == '\t' ? 't' : byte == '\r' ? 'r' : 0;
}

static att_status put_letter(att_string *out, char letter)
{
    return att_string_append(out, (char[]){ '\\', letter }, 2);
}

/* Length in bytes of the first UTF-8 character; 0 if the bytes are not UTF-8. */
static size_t character_length(const char *text, size_t length)
{
    unsigned char lead = (unsigned char)text[0];
    size_t wanted = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead >= 0xF5 || wanted > length)
        return 0;
    for (size_t i = 1; i < wanted; i++)
        if (((unsigned char)text[i] & 0xC0) != 0x80)
            return 0;
    return wanted;
}

att_status escape_json(att_string *out, const char *text, size_t length)
{
    att_status status = att_string_append(out, "\"", 1);
    for (size_t i = 0, bytes; i < length && status == ATT_OK; i += bytes > 0 ? bytes : 1) {
        unsigned char byte = (unsigned char)text[i];
        char code[8];
        bytes = character_length(text + i, length - i);
        if (byte == '"' || byte == '\\')
            status = put_letter(out, text[i]);
        else if (letter_of(byte))
            status = put_letter(out, letter_of(byte));
        else if (byte < ' ')
            status =
                att_string_append(out, code, (size_t)snprintf(code, sizeof code, "\\u%04X", byte));
        else if (bytes == 0)
            status = att_string_append(out, "\xEF\xBF\xBD", 3);
        else
            status = att_string_append(out, text + i, bytes);
    }
    return status == ATT_OK ? att_string_append(out, "\"", 1) : status;
}

att_status escape_token(att_string *out, const char *text, size_t length)
{
    att_status status = ATT_OK;
    for (size_t i = 0, bytes; i < length && status == ATT_OK; i += bytes > 0 ? bytes : 1) {
        unsigned char byte = (unsigned char)text[i];
        char code[8];
        bytes = character_length(text + i, length - i);
        if (byte == '\\' || letter_of(byte))
            status = put_letter(out, byte == '\\' ? '\\' : letter_of(byte));
        else if (bytes == 0 || byte < ' ' || byte == 0x7F)
            status =
                att_string_append(out, code, (size_t)snprintf(code, sizeof code, "\\x%02X", byte));
        else
            status = att_string_append(out, text + i, bytes);
    }
    return status;
}

/* ---- the terminal */

const char *const color_choices[] = { "auto", "always", "never", NULL };

/* Terminals announce 24-bit color in COLORTERM. If neither it nor TERM announces colors, the result
 * is `fallback`. */
static att_color terminal_color(att_color fallback)
{
    const char *announced = getenv("COLORTERM");
    if (announced && (strcmp(announced, "truecolor") == 0 || strcmp(announced, "24bit") == 0))
        return ATT_COLOR_TRUE;
    const char *term = getenv("TERM");
    if (term && strstr(term, "direct"))
        return ATT_COLOR_TRUE;
    if (term && (strstr(term, "256color") || strncmp(term, "xterm", 5) == 0))
        return ATT_COLOR_256;
    return fallback;
}

static att_color chosen_color(color_choice choice)
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

att_color output_color(color_choice choice)
{
    att_color color = chosen_color(choice);
    if (color != ATT_COLOR_NONE)
        terminal_allow_styles();
    return color;
}

int output_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 0;
}

att_render_options output_render_options(int color, bool ascii)
{
    return (att_render_options){ .size = sizeof(att_render_options),
                                 .ascii = ascii,
                                 .color = output_color((color_choice)color),
                                 .width = output_width() };
}

att_render_options output_format(att_format format)
{
    return (att_render_options){ .size = sizeof(att_render_options), .format = format };
}

int output_digits(long digits)
{
    return digits < 0 ? 0 : digits == 0 ? -1 : (int)digits;
}

double output_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool progress_is_shown;

/* Truncated to the width of the terminal: a line that wrapped could not be replaced. */
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
    progress_is_shown = true;
}

bool output_progress_callback(void *context, const att_progress *at)
{
    enum { UPDATES_PER_SECOND = 5, QUIET_SECONDS = 1 };
    output_progress_state *progress = context;
    double now = output_seconds();
    if (!progress->phase || strcmp(progress->phase, at->phase) != 0 || at->done < progress->done)
        *progress = (output_progress_state){ .phase = at->phase, .start = now, .shown = now };
    double elapsed = now - progress->start;
    progress->done = at->done;
    if (elapsed < QUIET_SECONDS || now - progress->shown < 1.0 / UPDATES_PER_SECOND)
        return true;
    char text[128];
    progress->shown = now;
    if (at->done > 0 && at->total > at->done)
        snprintf(text, sizeof text, "%s: %.0f %%, %.0f s left", at->phase,
                 100 * (double)at->done / (double)at->total,
                 ceil(elapsed * (double)(at->total - at->done) / (double)at->done));
    else
        snprintf(text, sizeof text, "%s: %.0f s", at->phase, elapsed);
    output_progress(text);
    return true;
}

void output_progress_clear(void)
{
    if (progress_is_shown)
        fputs("\r\033[K", stderr);
    fflush(stderr);
    progress_is_shown = false;
}

/* ---- files */

output_file *output_add(output_list *list, const char *path, const char *description)
{
    output_file *files = realloc(list->files, (list->count + 1) * sizeof *files);
    if (!files)
        return NULL;
    list->files = files;
    output_file *file = &files[list->count];
    *file = (output_file){ .path = strdup(path), .description = description };
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

/* Describes the file at `path`; *exists is false if there is none. */
static att_status examine(struct stat *info, bool *exists, const char *path, att_error *err)
{
    *exists = stat(path, info) == 0;
    if (*exists || errno == ENOENT || errno == ENOTDIR)
        return ATT_OK;
    return error_system(err, path, "examine", errno);
}

/* Fails if both names are the same existing regular file; `what` says what `other` is. Devices may
 * be written twice. */
static att_status check_differs(const char *path, const char *other, const char *what,
                                att_error *err)
{
    struct stat one, two;
    bool exists, other_exists = false;
    att_status status = examine(&one, &exists, path, err);
    if (status == ATT_OK && exists)
        status = examine(&two, &other_exists, other, err);
    if (status == ATT_OK && exists && other_exists && S_ISREG(one.st_mode) &&
        one.st_dev == two.st_dev && one.st_ino == two.st_ino)
        return error_set(err, ATT_BAD_INPUT, path, "%s", what);
    return status;
}

att_status output_check_input(const output_list *list, const char *input, const char *description,
                              att_error *err)
{
    char what[128];
    snprintf(what, sizeof what, "%s; choose another output file", description);
    att_status status = ATT_OK;
    for (size_t i = 0; i < list->count && status == ATT_OK; i++)
        status = check_differs(list->files[i].path, input, what, err);
    return status;
}

att_status output_is_folder(bool *folder, const char *path, att_error *err)
{
    struct stat info;
    att_status status = examine(&info, folder, path, err);
    *folder = status == ATT_OK && *folder && S_ISDIR(info.st_mode);
    return status;
}

/* Whether a file can be created or replaced at `path`. What shows only while writing, such as a
 * full disk, fails then. */
static att_status check_writable(const char *path, att_error *err)
{
    struct stat info;
    bool exists;
    if (strcmp(path, "-") == 0)
        return error_set(err, ATT_BAD_INPUT, path,
                         "is not a file to write (./- is one of that name)");
    att_status status = examine(&info, &exists, path, err);
    if (status != ATT_OK)
        return status;
    if (exists)
        return S_ISDIR(info.st_mode)
                   ? error_set(err, ATT_BAD_INPUT, path, "is a directory, expected a file")
                   : ATT_OK;
    att_string folder = { 0 };
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    if (string_join(&folder, (string_piece[]){ { path, length }, { ".", 1 }, { 0 } }) != ATT_OK) {
        att_string_free(&folder);
        return error_memory(err);
    }
    int refused = access(folder.data, W_OK | X_OK) == 0 ? 0 : errno;
    att_string_free(&folder);
    return refused == 0 ? ATT_OK : error_system(err, path, "create", refused);
}

att_status output_check_paths(output_names written, output_names read, att_error *err)
{
    for (size_t i = 0; i < written.count; i++) {
        const char *path = written.names[i];
        att_status status = path ? check_writable(path, err) : ATT_OK;
        for (size_t j = 0; j < read.count && path && status == ATT_OK; j++)
            if (read.names[j])
                status = check_differs(path, read.names[j],
                                       "is an input file as well; choose another output file", err);
        if (status != ATT_OK)
            return status;
    }
    return ATT_OK;
}

att_status output_check(const output_list *list, att_error *err)
{
    static const char twice[] = "would be written twice";
    for (size_t i = 0; i < list->count; i++) {
        const char *path = list->files[i].path;
        att_status status = ATT_OK;
        for (size_t j = 0; j < i && status == ATT_OK; j++)
            status = strcmp(path, list->files[j].path) == 0
                         ? error_set(err, ATT_BAD_INPUT, path, "%s", twice)
                         : check_differs(path, list->files[j].path, twice, err);
        if (status == ATT_OK)
            status = check_writable(path, err);
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
        terminal_printf(stderr, "wrote %s %s\n", file->description, file->path);
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

const char *perplexity_text(char out[PERPLEXITY_SIZE], double value, int digits)
{
    if (isinf(value))
        snprintf(out, PERPLEXITY_SIZE, "above 1e308");
    else
        snprintf(out, PERPLEXITY_SIZE, "%.*f", digits, value);
    return out;
}
