/* Unpacking gzip (zlib) and zstd streams block by block, where the build has the libraries. */
#ifndef ATT_DATA_UNPACK_H
#define ATT_DATA_UNPACK_H

#include "attend.h"

typedef enum att_unpack_kind { ATT_UNPACK_NONE, ATT_UNPACK_GZIP, ATT_UNPACK_ZSTD } att_unpack_kind;

/* Start from { .kind }. */
typedef struct att_unpack {
    att_unpack_kind kind;
    void *state;    /* of the library */
    bool is_inside; /* a stream has begun and not ended */
    bool has_ended; /* a stream has ended: what follows is another, or padding */
} att_unpack;

/* The bytes of one call: in_done of in_size are consumed, out_done of out_size produced. */
typedef struct att_unpack_block {
    const char *in;
    size_t in_size, in_done;
    char *out;
    size_t out_size, out_done;
    bool is_last; /* no more input will come */
} att_unpack_block;

/* The kind by the first bytes of a file. */
att_unpack_kind att_unpack_detect(const char *bytes, size_t length);

/* ATT_UNSUPPORTED, naming the library, where the build lacks it. */
att_status att_unpack_check(att_unpack_kind kind, const char *name, att_error *err);

/* Begins, or begins again. */
att_status att_unpack_start(att_unpack *unpack, const char *name, att_error *err);
void att_unpack_free(att_unpack *unpack);

/* Unpacks what fits. Streams may follow each other, as in `cat a.gz b.gz`. Damaged bytes, and an
 * end within a stream, are ATT_BAD_INPUT. */
att_status att_unpack_run(att_unpack *unpack, att_unpack_block *block, const char *name,
                          att_error *err);

/* Replaces a whole gzip or zstd file by the text that it contains; other text stays as it is. More
 * than `limit` bytes are ATT_BAD_INPUT. */
att_status att_unpack_text(att_string *text, size_t limit, const char *name, att_error *err);

#endif
