/* Writing a token file (token_file.h) piece by piece, with little memory: the largest section goes
 * to its place at once, the others to temporary files without a name, which are appended at the
 * end; the header, whose size is reserved, is written last. The file appears under its name when it
 * is complete. */
#ifndef ATT_DATA_TOKEN_WRITER_H
#define ATT_DATA_TOKEN_WRITER_H

#include "data/token_file.h"

typedef struct att_token_writer att_token_writer;

/* Starts a file that will replace `path`. `header` is the most bytes that the metadata take. */
att_status att_token_writer_new(att_token_writer **out, const char *path,
                                const int32_t vocab_sizes[2], size_t header, att_error *err);

/* Appends elements to a section: int32_t ids, int64_t, or char, as att_token_file_read() gives
 * them.
 */
att_status att_token_writer_add(att_token_writer *writer, att_token_split split,
                                att_token_section section, const void *values, int64_t count,
                                att_error *err);

/* Elements added so far. */
int64_t att_token_writer_count(const att_token_writer *writer, att_token_split split,
                               att_token_section section);

/* Completes the sections. *out reads them; it belongs to the writer. */
att_status att_token_writer_assemble(att_token_writer *writer, const att_token_file **out,
                                     att_error *err);

/* A key and its value. */
typedef struct att_token_meta {
    const char *key, *value;
} att_token_meta;

/* Writes the header and moves the file to its place. */
att_status att_token_writer_finish(att_token_writer *writer, const att_token_meta *metas,
                                   size_t count, att_error *err);

/* Releases the writer, and removes what it has written unless it was finished. */
void att_token_writer_free(att_token_writer *writer);

#endif
