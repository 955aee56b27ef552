/* Streams of text from files, compressed files and pipes; see text_stream.h. */
#include "data/text_stream.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/string.h"
#include "data/corpus.h"
#include "data/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUT_SIZE = 1 << 18, LINE_PIECE = 1 << 20 };

struct att_text_stream {
    const char *name; /* borrowed */
    int fd;
    int64_t size, position;
    att_unpack unpack;
    char *input; /* [INPUT_SIZE] bytes of the file that are not yet unpacked */
    size_t input_used, input_length;
    bool at_end;
    att_string ahead; /* unpacked bytes behind the last line that was returned */
    size_t ahead_used;
};

/* ---- opening */

static att_status write_all(int fd, const char *bytes, size_t size, const char *beside,
                            att_error *err)
{
    while (size > 0) {
        ssize_t put = write(fd, bytes, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return att_file_fail(err, beside, "write a temporary file beside it", errno);
        bytes += put;
        size -= (size_t)put;
    }
    return ATT_OK;
}

typedef struct spool {
    int fd;
    const char *beside;
} spool;

static att_status keep_bytes(void *context, const char *bytes, size_t count, att_error *err)
{
    const spool *to = context;
    return write_all(to->fd, bytes, count, to->beside, err);
}

/* A pipe can be read once, and is read two or three times: its bytes go to a file. */
static att_status keep_pipe(att_text_stream *stream, const char *path, const char *beside,
                            att_error *err)
{
    spool to = { .beside = beside };
    ATT_TRY(att_temp_file_open(&to.fd, beside, err));
    att_status status = att_file_stream(path, keep_bytes, &to, err);
    if (status != ATT_OK)
        close(to.fd);
    else
        stream->fd = to.fd;
    return status;
}

static bool is_pipe(const char *path)
{
    struct stat info;
    if (strcmp(path, "-") == 0)
        return true;
    return stat(path, &info) == 0 && S_ISFIFO(info.st_mode);
}

static att_status open_file(att_text_stream *stream, const char *path, const char *beside,
                            att_error *err)
{
    struct stat info;
    if (is_pipe(path)) {
        ATT_TRY(keep_pipe(stream, path, beside, err));
    } else {
        do
            stream->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        while (stream->fd < 0 && errno == EINTR);
        if (stream->fd < 0)
            return att_file_fail(err, path, "open", errno);
    }
    if (fstat(stream->fd, &info) != 0)
        return att_file_fail(err, stream->name, "read", errno);
    if (!S_ISREG(info.st_mode))
        return att_fail(err, ATT_BAD_INPUT, path, "is %s, expected a file or a pipe",
                        S_ISDIR(info.st_mode) ? "a directory" : "a special file");
    stream->size = info.st_size;
    return ATT_OK;
}

/* The compression by the first bytes. */
static att_status detect(att_text_stream *stream, att_error *err)
{
    char bytes[16];
    ssize_t got;
    do
        got = pread(stream->fd, bytes, sizeof bytes, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return att_file_fail(err, stream->name, "read", errno);
    stream->unpack.kind = att_unpack_detect(bytes, (size_t)got);
    if (stream->unpack.kind == ATT_UNPACK_NONE)
        return att_text_format_check(stream->name, bytes, (size_t)got, err);
    return att_unpack_check(stream->unpack.kind, stream->name, err);
}

att_status att_text_stream_open(att_text_stream **out, const char *path, const char *beside,
                                att_error *err)
{
    att_text_stream *stream = *out = att_alloc_zero(1, sizeof *stream);
    if (!stream)
        return att_fail_memory(err);
    stream->fd = -1;
    stream->name = att_file_display_name(path);
    stream->input = att_alloc(INPUT_SIZE, 1);
    att_status status = stream->input ? open_file(stream, path, beside, err) : att_fail_memory(err);
    if (status == ATT_OK)
        status = detect(stream, err);
    if (status == ATT_OK)
        status = att_text_stream_rewind(stream, err);
    if (status != ATT_OK) {
        att_text_stream_free(stream);
        *out = NULL;
    }
    return status;
}

void att_text_stream_free(att_text_stream *stream)
{
    if (!stream)
        return;
    if (stream->fd >= 0)
        close(stream->fd);
    att_unpack_free(&stream->unpack);
    att_string_free(&stream->ahead);
    att_free(stream->input);
    att_free(stream);
}

const char *att_text_stream_name(const att_text_stream *stream)
{
    return stream->name;
}

int64_t att_text_stream_size(const att_text_stream *stream)
{
    return stream->size;
}

int64_t att_text_stream_position(const att_text_stream *stream)
{
    return stream->position;
}

att_status att_text_stream_rewind(att_text_stream *stream, att_error *err)
{
    stream->position = 0;
    stream->input_used = stream->input_length = 0;
    stream->at_end = false;
    stream->ahead.length = stream->ahead_used = 0;
    return att_unpack_start(&stream->unpack, stream->name, err);
}

/* ---- reading */

/* Reads the next bytes of the file. A file that has become shorter is an error; the bytes of one
 * that has grown are as many as it had. */
static att_status fill_input(att_text_stream *stream, att_error *err)
{
    size_t wanted = (size_t)att_min_i64(INPUT_SIZE, stream->size - stream->position);
    ssize_t got;
    do
        got = pread(stream->fd, stream->input, wanted, (off_t)stream->position);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return att_file_fail(err, stream->name, "read", errno);
    if (got == 0 && wanted > 0)
        return att_fail(err, ATT_BAD_INPUT, stream->name,
                        "shrank while being read: from %lld bytes to %lld", (long long)stream->size,
                        (long long)stream->position);
    stream->input_used = 0;
    stream->input_length = (size_t)got;
    stream->position += got;
    return att_progress_check(err);
}

/* Unpacks up to `size` bytes to `out`. *got is their number, 0 only at the end. */
static att_status unpack(att_text_stream *stream, char *out, size_t size, size_t *got,
                         att_error *err)
{
    *got = 0;
    while (*got == 0 && !stream->at_end) {
        if (stream->input_used == stream->input_length && stream->position < stream->size)
            ATT_TRY(fill_input(stream, err));
        att_unpack_block block = { .in = stream->input + stream->input_used,
                                   .in_size = stream->input_length - stream->input_used,
                                   .out = out,
                                   .out_size = size,
                                   .is_last = stream->position == stream->size };
        ATT_TRY(att_unpack_run(&stream->unpack, &block, stream->name, err));
        stream->input_used += block.in_done;
        *got = block.out_done;
        stream->at_end = block.out_done == 0 && block.is_last && !stream->unpack.is_inside &&
                         stream->input_used == stream->input_length;
    }
    return ATT_OK;
}

/* Makes at least one more byte available in stream->ahead, or sets at_end. */
static att_status read_ahead(att_text_stream *stream, size_t size, att_error *err)
{
    att_string *ahead = &stream->ahead;
    if (stream->ahead_used > 0) {
        memmove(ahead->data, ahead->data + stream->ahead_used, ahead->length - stream->ahead_used);
        ahead->length -= stream->ahead_used;
        stream->ahead_used = 0;
    }
    if (att_string_reserve(ahead, size) != ATT_OK)
        return att_fail_memory(err);
    size_t got;
    ATT_TRY(unpack(stream, ahead->data + ahead->length, size, &got, err));
    ahead->length += got;
    return ATT_OK;
}

att_status att_text_stream_read(att_text_stream *stream, att_string *out, size_t size,
                                att_error *err)
{
    if (att_string_reserve(out, size) != ATT_OK)
        return att_fail_memory(err);
    while (size > 0) {
        size_t got = att_min_size(size, stream->ahead.length - stream->ahead_used);
        if (got > 0) {
            memcpy(out->data + out->length, stream->ahead.data + stream->ahead_used, got);
            stream->ahead_used += got;
        } else {
            ATT_TRY(unpack(stream, out->data + out->length, size, &got, err));
        }
        if (got == 0)
            break;
        out->length += got;
        size -= got;
    }
    out->data[out->length] = '\0';
    return ATT_OK;
}

/* The end of the lines in `text` that still fit; 0: no whole line. */
static size_t take_lines(const char *text, size_t length, size_t size, int64_t lines,
                         int64_t *count)
{
    size_t end = 0;
    while (*count < lines && end < size && end < length) {
        const char *newline = memchr(text + end, '\n', length - end);
        if (!newline)
            break;
        end = (size_t)(newline - text) + 1;
        ++*count;
    }
    return end;
}

att_status att_text_stream_lines(att_text_stream *stream, att_string *out, size_t size,
                                 int64_t lines, int64_t *count, att_error *err)
{
    size_t start = out->length;
    *count = 0;
    while (*count < lines && out->length - start < size) {
        const char *text = stream->ahead.data + stream->ahead_used;
        size_t length = stream->ahead.length - stream->ahead_used;
        size_t end =
            length ? take_lines(text, length, size - (out->length - start), lines, count) : 0;
        if (end == 0 && stream->at_end && length > 0) {
            end = length; /* a last line without line end */
            ++*count;
        }
        if (end > 0 && att_string_append(out, text, end) != ATT_OK)
            return att_fail_memory(err);
        stream->ahead_used += end;
        if (end == 0 && stream->at_end)
            break;
        if (end == 0)
            ATT_TRY(read_ahead(stream, LINE_PIECE, err));
    }
    return ATT_OK;
}
