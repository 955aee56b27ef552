/* Checkpoints of llama2.c from memory; see llama2c.c. */
#ifndef ATT_IMPORT_LLAMA2C_H
#define ATT_IMPORT_LLAMA2C_H

#include "attend.h"

/* The bytes of a file, lent. */
typedef struct att_llama_bytes {
    const char *name; /* stands for it in errors */
    const void *data;
    size_t size;
} att_llama_bytes;

/* The contents of a model file. */
att_status att_llama_convert(att_bundle **out, const att_llama_bytes *weights,
                             const att_llama_bytes *tokeniser, att_error *err);

/* The tokens in the header of a checkpoint: its tokeniser may be named after them. */
att_status att_llama_vocab_size(int64_t *out, const att_llama_bytes *weights, att_error *err);

#endif
