/* A text that is read piece by piece, more than once: a file, a gzip or zstd file (recognized by
 * its first bytes), or a pipe, whose bytes are kept in a temporary file without a name. */
#ifndef ATT_DATA_TEXT_STREAM_H
#define ATT_DATA_TEXT_STREAM_H

#include "attend.h"

typedef struct att_text_stream att_text_stream;

/* Opens `path` ("-": standard input). A pipe is copied to a file in the folder of `beside`, which
 * nobody else sees and which vanishes with the stream. ATT_UNSUPPORTED where the library that the
 * compression needs is missing. */
att_status att_text_stream_open(att_text_stream **out, const char *path, const char *beside,
                                att_error *err);
void att_text_stream_free(att_text_stream *stream);

/* The name for errors. */
const char *att_text_stream_name(const att_text_stream *stream);

/* Starts again at the first byte. */
att_status att_text_stream_rewind(att_text_stream *stream, att_error *err);

/* Appends up to `size` bytes to *out; fewer only at the end. A file that ends within a compressed
 * block, or is damaged, is ATT_BAD_INPUT. */
att_status att_text_stream_read(att_text_stream *stream, att_string *out, size_t size,
                                att_error *err);

/* Appends whole lines to *out: about `size` bytes and at most `lines` lines; all that is left of a
 * last line without line end. *count is their number, 0 at the end. */
att_status att_text_stream_lines(att_text_stream *stream, att_string *out, size_t size,
                                 int64_t lines, int64_t *count, att_error *err);

/* Bytes of the file (compressed, as it is) in all and read so far: for progress. */
int64_t att_text_stream_size(const att_text_stream *stream);
int64_t att_text_stream_position(const att_text_stream *stream);

#endif
