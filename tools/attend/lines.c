/* A reader that collects complete lines until reading would block, then hands them over as one
 * batch. */
#include "lines.h"

#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "terminal.h"

/* Bytes per read, bytes buffered at most, and lines per batch at most: enough lines to sort by
 * length into full batches, few enough that the first outputs do not wait long. */
enum { CHUNK = 1 << 16, MAX_BUFFERED_BYTES = 1 << 19, MAX_BATCH_LINES = 1 << 12 };

typedef struct reader {
    int file;
    const char *name;
    att_string input; /* read but not processed yet */
    bool complete;    /* `input` contains a line end */
    bool ended;       /* end of file */
    size_t before;    /* lines processed */
} reader;

static att_status read_once(reader *r, att_error *err)
{
    char chunk[CHUNK];
    ssize_t got;
    do
        got = read(r->file, chunk, sizeof chunk);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return error_set(err, errno == EISDIR || errno == EBADF ? ATT_BAD_INPUT : ATT_SYSTEM,
                         r->name, "cannot read: %s", strerror(errno));
    r->ended = got == 0;
    r->complete |= memchr(chunk, '\n', (size_t)got) != NULL;
    if (att_string_append(&r->input, chunk, (size_t)got) != ATT_OK)
        return error_memory(err);
    return ATT_OK;
}

/* Reads the available input; waits only if no line is complete. */
static att_status read_more(reader *r, att_error *err)
{
    struct pollfd waiting = { .fd = r->file, .events = POLLIN };
    att_status status = ATT_OK;
    while (status == ATT_OK && !r->ended &&
           (!r->complete || (r->input.length < MAX_BUFFERED_BYTES && poll(&waiting, 1, 0) > 0)))
        status = read_once(r, err);
    return status;
}

/* Says of a compressed file that it is one, instead of which of its bytes are not text. */
static att_status refuse_compressed(const reader *r, att_error *err)
{
    static const struct {
        const char *magic, *unpack;
    } formats[] = { { "\x1F\x8B", "zcat" }, { "\x28\xB5\x2F\xFD", "zstdcat" } };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        size_t length = strlen(formats[i].magic);
        if (r->input.length >= length && memcmp(r->input.data, formats[i].magic, length) == 0)
            return error_set(err, ATT_BAD_INPUT, r->name,
                             "is compressed: unpack it, or use <(%s FILE) instead",
                             formats[i].unpack);
    }
    return ATT_OK;
}

/* Splits the complete lines off the input (at the end of the file also the last one): *lines, their
 * *count and the bytes *used. Line ends become zero bytes. A line that contains a zero byte is not
 * text: the lines before it are returned with an error. */
static att_status split_lines(reader *r, const char ***lines, size_t *count, size_t *used,
                              att_error *err)
{
    size_t length = r->input.length, max = 1;
    for (size_t i = 0; i < length; i++)
        max += r->input.data[i] == '\n';
    *lines = calloc(max, sizeof **lines);
    if (!*lines)
        return error_memory(err);
    *count = *used = 0;
    while (*used < length && *count < MAX_BATCH_LINES) {
        char *start = r->input.data + *used;
        char *end = memchr(start, '\n', length - *used);
        if (!end && !r->ended)
            break;
        size_t size = end ? (size_t)(end - start) : length - *used;
        if (memchr(start, 0, size)) {
            error_set(err, ATT_BAD_INPUT, r->name, "contains a zero byte, expected text");
            err->line = (int)(r->before + *count + 1);
            return ATT_BAD_INPUT;
        }
        start[size] = 0; /* a last line without an end: att_string has room for its terminator */
        (*lines)[(*count)++] = start;
        *used += size + (end ? 1 : 0);
    }
    return ATT_OK;
}

/* Processes lines. If one of them is bad, processes the lines before it and fails. */
static att_status run_callback(reader *r, lines_callback *process, void *context,
                               const char *const *lines, size_t count, att_error *err)
{
    att_status status = count > 0 ? process(context, lines, count, r->before, err) : ATT_OK;
    if (status != ATT_BAD_INPUT || err->line < 1) {
        r->before += count;
        return status;
    }
    att_error bad = *err;
    status = run_callback(r, process, context, lines, (size_t)bad.line - 1, err);
    if (status != ATT_OK)
        return status;
    snprintf(bad.place, sizeof bad.place, "%s", r->name);
    bad.line = (int)(r->before + 1);
    *err = bad;
    return ATT_BAD_INPUT;
}

/* Keeps the input after the lines just processed. */
static void drop_used(reader *r, size_t used)
{
    size_t rest = r->input.length - used;
    if (rest > 0)
        memmove(r->input.data, r->input.data + used, rest);
    r->complete = rest > 0 && memchr(r->input.data, '\n', rest);
    r->input.length = rest;
}

static att_status for_each_batch(reader *r, lines_callback *process, void *context, att_error *err)
{
    while ((!r->ended || r->input.length > 0) && !output_reader_gone()) {
        const char **lines = NULL;
        size_t count = 0, used = 0;
        att_status status = read_more(r, err);
        if (status == ATT_OK && r->before == 0)
            status = refuse_compressed(r, err);
        if (status == ATT_OK)
            status = split_lines(r, &lines, &count, &used, err);
        if (status == ATT_OK || count > 0) {
            att_error later = *err;
            att_status now = run_callback(r, process, context, lines, count, err);
            if (now == ATT_OK)
                *err = later; /* a zero byte later in the input is reported after the lines before
                                 it */
            status = now == ATT_OK ? status : now;
        }
        free(lines);
        if (status != ATT_OK)
            return status;
        drop_used(r, used);
    }
    return ATT_OK;
}

static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *lines_name(const char *path)
{
    return is_standard(path) ? "<stdin>" : path;
}

void lines_warn_truncated(const char *path, size_t number, int64_t kept, int64_t dropped)
{
    if (dropped > 0)
        fprintf(stderr, "%s:%zu: truncated to %" PRId64 " of %" PRId64 " tokens\n",
                lines_name(path), number, kept, kept + dropped);
}

static att_status open_file(reader *r, const char *path, att_error *err)
{
    *r = (reader){ .file = STDIN_FILENO, .name = lines_name(path) };
    if (!is_standard(path))
        do
            r->file = open(path, O_RDONLY | O_CLOEXEC);
        while (r->file < 0 && errno == EINTR);
    if (r->file >= 0)
        return ATT_OK;
    return error_system(err, path, "open", errno);
}

static void close_file(reader *r)
{
    att_string_free(&r->input);
    if (r->file > STDIN_FILENO)
        close(r->file);
}

att_status lines_for_each(const char *path, lines_callback *process, void *context, att_error *err)
{
    reader r;
    att_status status = open_file(&r, path, err);
    if (status == ATT_OK)
        status = for_each_batch(&r, process, context, err);
    close_file(&r);
    return status;
}

att_status lines_for_each_of(const char *const *lines, size_t count, lines_callback *process,
                             void *context, att_error *err)
{
    reader r = { .name = "" };
    att_status status = ATT_OK;
    while (status == ATT_OK && r.before < count && !output_reader_gone()) {
        size_t left = count - r.before;
        status = run_callback(&r, process, context, lines + r.before,
                              left < MAX_BATCH_LINES ? left : MAX_BATCH_LINES, err);
    }
    return status;
}

att_status lines_read_all(att_string *out, const char *path, att_error *err)
{
    reader r;
    att_status status = open_file(&r, path, err);
    while (status == ATT_OK && !r.ended)
        status = read_once(&r, err);
    if (status == ATT_OK && r.input.length > 0 &&
        att_string_append(out, r.input.data, r.input.length) != ATT_OK)
        status = error_memory(err);
    close_file(&r);
    return status;
}

bool lines_note_tab(const char *path, const char *const *lines, size_t count, size_t before)
{
    for (size_t i = 0; i < count; i++) {
        if (!strchr(lines[i], '\t'))
            continue;
        terminal_printf(stderr,
                        "note: %s:%zu: the tab and what follows it are read as part of the input\n",
                        lines_name(path), before + i + 1);
        return true;
    }
    return false;
}
