/* The numbers of a llama2.c checkpoint, in the format before it had versions: seven integers of 4
 * bytes, then floats, an array after the other, each for all layers. Little-endian. */
#ifndef ATT_IMPORT_LLAMA2C_FILE_H
#define ATT_IMPORT_LLAMA2C_FILE_H

#include "import/llama2c.h"

/* The arrays in the order of the file. */
typedef enum att_llama_array {
    ATT_LLAMA_EMBEDDING,      /* [V,D] */
    ATT_LLAMA_ATTENTION_NORM, /* [L,D] */
    ATT_LLAMA_QUERY,          /* [L,D,D], a row for each result, here and below */
    ATT_LLAMA_KEY,            /* [L,E,D] */
    ATT_LLAMA_VALUE,          /* [L,E,D] */
    ATT_LLAMA_OUT,            /* [L,D,D] */
    ATT_LLAMA_FFN_NORM,       /* [L,D] */
    ATT_LLAMA_GATE,           /* [L,F,D] */
    ATT_LLAMA_DOWN,           /* [L,D,F] */
    ATT_LLAMA_UP,             /* [L,F,D] */
    ATT_LLAMA_FINAL_NORM,     /* [D] */
    ATT_LLAMA_ROPE_COS,       /* [S,K/2] of positions, which need not be kept */
    ATT_LLAMA_ROPE_SIN,       /* [S,K/2] */
    ATT_LLAMA_OUTPUT,         /* [V,D], where it is not the embedding */
    ATT_LLAMA_ARRAY_COUNT,
} att_llama_array;

typedef struct att_llama_file {
    int64_t hidden_size, ffn_size, layers, heads, kv_heads, vocab_size,
        context_length;         /* D F L H G V S */
    int64_t head_size, kv_size; /* K = D / H, E = G K */
    bool tied;                  /* there is no output layer but the embedding */
    float *values;
    const float *arrays[ATT_LLAMA_ARRAY_COUNT];
} att_llama_file;

/* Reads a checkpoint; to be freed. Anything but the arrays that its header asks for is refused. */
att_status att_llama_read(att_llama_file *out, const att_llama_bytes *bytes, att_error *err);
void att_llama_free(att_llama_file *file);

#endif
