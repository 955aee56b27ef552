/* Reader of a llama2.c checkpoint in the first format, without a version number: seven 4-byte
 * integers, then float arrays one after the other, each for all layers. Little-endian. */
#ifndef ATT_IMPORT_LLAMA2C_FILE_H
#define ATT_IMPORT_LLAMA2C_FILE_H

#include "import/llama2c.h"

/* The arrays in the order of the file. */
typedef enum att_llama_array {
    ATT_LLAMA_EMBEDDING,      /* [V,D] */
    ATT_LLAMA_ATTENTION_NORM, /* [L,D] */
    ATT_LLAMA_QUERY,          /* [L,D,D]; matrices are [out, in] */
    ATT_LLAMA_KEY,            /* [L,E,D] */
    ATT_LLAMA_VALUE,          /* [L,E,D] */
    ATT_LLAMA_OUT,            /* [L,D,D] */
    ATT_LLAMA_FFN_NORM,       /* [L,D] */
    ATT_LLAMA_GATE,           /* [L,F,D] */
    ATT_LLAMA_DOWN,           /* [L,D,F] */
    ATT_LLAMA_UP,             /* [L,F,D] */
    ATT_LLAMA_FINAL_NORM,     /* [D] */
    ATT_LLAMA_ROPE_COS,       /* [S,K/2]; RoPE tables, not imported */
    ATT_LLAMA_ROPE_SIN,       /* [S,K/2] */
    ATT_LLAMA_OUTPUT,         /* [V,D] unless tied to the embedding */
    ATT_LLAMA_ARRAY_COUNT,
} att_llama_array;

typedef struct att_llama_file {
    int64_t hidden_size, ffn_size, layers, heads, kv_heads, vocab_size,
        context_length;         /* D F L H G V S */
    int64_t head_size, kv_size; /* K = D / H, E = G K */
    bool tied;                  /* the output layer shares the embedding */
    float *values;
    const float *arrays[ATT_LLAMA_ARRAY_COUNT];
} att_llama_file;

/* Reads a checkpoint; release with att_llama_free(), on failure too. Refuses a file whose size does
 * not match its header. */
att_status att_llama_read(att_llama_file *out, const att_llama_bytes *bytes, att_error *err);
void att_llama_free(att_llama_file *file);

#endif
