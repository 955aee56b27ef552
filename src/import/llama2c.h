/* Converts a llama2.c checkpoint and its tokenizer, both in memory, to a model file. */
#ifndef ATT_IMPORT_LLAMA2C_H
#define ATT_IMPORT_LLAMA2C_H

#include "attend.h"

/* The bytes of a file, borrowed. */
typedef struct att_llama_bytes {
    const char *name; /* the file, in errors */
    const void *data;
    size_t size;
} att_llama_bytes;

/* On success *out is the contents of a model file, for att_imported_model_check(). */
att_status att_llama_convert(att_bundle **out, const att_llama_bytes *weights,
                             const att_llama_bytes *tokenizer, att_error *err);

/* Reads the vocabulary size from the header of a checkpoint: the tokenizer file may be named after
 * it. */
att_status att_llama_vocab_size(int64_t *out, const att_llama_bytes *weights, att_error *err);

#endif
