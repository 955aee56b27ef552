/* A small llama2.c checkpoint and its tokenizer, whose fields can be falsified: hidden size 8, FFN
 * size 6, 2 layers, 2 query heads and 1 KV head, 265 tokens, context length 16. */
#ifndef TESTS_IMPORT_LLAMA2C_MODEL_H
#define TESTS_IMPORT_LLAMA2C_MODEL_H

#include "tensor/bytes.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    LLAMA_HIDDEN_SIZE = 8,
    LLAMA_FFN_SIZE = 6,
    LLAMA_LAYERS = 2,
    LLAMA_HEADS = 2,
    LLAMA_KEY_HEADS = 1,
    LLAMA_TOKENS = 265,
    LLAMA_CONTEXT = 16,
    LLAMA_FIELDS = 7,
    LLAMA_PIECES = 6, /* after <unk>, <s>, </s> and the bytes */
};

static const int32_t llama_header[LLAMA_FIELDS] = { LLAMA_HIDDEN_SIZE, LLAMA_FFN_SIZE,
                                                    LLAMA_LAYERS,      LLAMA_HEADS,
                                                    LLAMA_KEY_HEADS,   LLAMA_TOKENS,
                                                    LLAMA_CONTEXT };

static const char *const llama_pieces[LLAMA_PIECES] = { " a", "ab", " ab", "a", "b", " " };

/* Floats after the header, in the order of the file. */
enum {
    LLAMA_HEAD = LLAMA_HIDDEN_SIZE / LLAMA_HEADS,
    LLAMA_KEYS = LLAMA_HEAD * LLAMA_KEY_HEADS,
    LLAMA_AT_EMBED = 0,
    LLAMA_AT_SELF_NORM = LLAMA_AT_EMBED + LLAMA_TOKENS * LLAMA_HIDDEN_SIZE,
    LLAMA_AT_QUERY = LLAMA_AT_SELF_NORM + LLAMA_LAYERS * LLAMA_HIDDEN_SIZE,
    LLAMA_AT_KEY = LLAMA_AT_QUERY + LLAMA_LAYERS * LLAMA_HIDDEN_SIZE * LLAMA_HIDDEN_SIZE,
    LLAMA_AT_VALUE = LLAMA_AT_KEY + LLAMA_LAYERS * LLAMA_KEYS * LLAMA_HIDDEN_SIZE,
    LLAMA_AT_OUT = LLAMA_AT_VALUE + LLAMA_LAYERS * LLAMA_KEYS * LLAMA_HIDDEN_SIZE,
    LLAMA_AT_FEED_NORM = LLAMA_AT_OUT + LLAMA_LAYERS * LLAMA_HIDDEN_SIZE * LLAMA_HIDDEN_SIZE,
    LLAMA_AT_W1 = LLAMA_AT_FEED_NORM + LLAMA_LAYERS * LLAMA_HIDDEN_SIZE,
    LLAMA_AT_W2 = LLAMA_AT_W1 + LLAMA_LAYERS * LLAMA_FFN_SIZE * LLAMA_HIDDEN_SIZE,
    LLAMA_AT_W3 = LLAMA_AT_W2 + LLAMA_LAYERS * LLAMA_FFN_SIZE * LLAMA_HIDDEN_SIZE,
    LLAMA_AT_LAST_NORM = LLAMA_AT_W3 + LLAMA_LAYERS * LLAMA_FFN_SIZE * LLAMA_HIDDEN_SIZE,
    LLAMA_AT_TURNS = LLAMA_AT_LAST_NORM + LLAMA_HIDDEN_SIZE,
    LLAMA_AT_OUTPUT = LLAMA_AT_TURNS + LLAMA_CONTEXT * LLAMA_HEAD,
};

/* The float at a position; nearby values are distinct. */
static inline float llama_value(int64_t at)
{
    return (float)((at * 7919) % 4096 - 2048) / 4096;
}

static inline void put_float(att_string *file, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_number(file, bits, 4);
}

/* A checkpoint with this header; `untied` adds an output layer. */
static inline att_string llama_weights(const int32_t header[LLAMA_FIELDS], bool untied)
{
    att_string file = { 0 };
    int64_t count = LLAMA_AT_OUTPUT + (untied ? LLAMA_TOKENS * LLAMA_HIDDEN_SIZE : 0);
    for (int i = 0; i < LLAMA_FIELDS; i++)
        put_number(&file, (uint32_t)header[i], 4);
    for (int64_t i = 0; i < count; i++)
        put_float(&file, llama_value(i));
    return file;
}

static inline void llama_token(att_string *file, const char *text, float score)
{
    put_float(file, score);
    put_number(file, strlen(text), 4);
    put(file, text, strlen(text));
}

/* The tokenizer file; its last token is `last` with `score`. */
static inline att_string llama_tokenizer(const char *last, float score)
{
    att_string file = { 0 };
    put_number(&file, 6, 4);
    llama_token(&file, "<unk>", 0);
    llama_token(&file, "\n<s>\n", 0);
    llama_token(&file, "\n</s>\n", 0);
    for (unsigned i = 0; i < 256; i++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", i);
        llama_token(&file, name, 0);
    }
    for (int i = 0; i < LLAMA_PIECES - 1; i++)
        llama_token(&file, llama_pieces[i], (float)-i);
    llama_token(&file, last, score);
    return file;
}

static inline att_string llama_good_tokenizer(void)
{
    return llama_tokenizer(llama_pieces[LLAMA_PIECES - 1], 1 - LLAMA_PIECES);
}

#endif
