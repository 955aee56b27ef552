/* A small checkpoint of llama2.c and its tokeniser, with every field open to lies: 8 columns, 6
 * between the matrices, 2 layers, 2 heads of queries and 1 of keys, 265 tokens, a context of 16. */
#ifndef TESTS_IMPORT_LLAMA2C_MODEL_H
#define TESTS_IMPORT_LLAMA2C_MODEL_H

#include "tensor/bytes.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    LLAMA_WIDTH = 8,
    LLAMA_FEED = 6,
    LLAMA_LAYERS = 2,
    LLAMA_HEADS = 2,
    LLAMA_KEY_HEADS = 1,
    LLAMA_TOKENS = 265,
    LLAMA_CONTEXT = 16,
    LLAMA_FIELDS = 7,
    LLAMA_PARTS = 6, /* after <unk>, <s>, </s> and the bytes */
};

static const int32_t llama_header[LLAMA_FIELDS] = { LLAMA_WIDTH,  LLAMA_FEED,      LLAMA_LAYERS,
                                                    LLAMA_HEADS,  LLAMA_KEY_HEADS, LLAMA_TOKENS,
                                                    LLAMA_CONTEXT };

static const char *const llama_parts[LLAMA_PARTS] = { " a", "ab", " ab", "a", "b", " " };

/* Floats after the header, in the order of the file. */
enum {
    LLAMA_HEAD = LLAMA_WIDTH / LLAMA_HEADS,
    LLAMA_KEYS = LLAMA_HEAD * LLAMA_KEY_HEADS,
    LLAMA_AT_EMBED = 0,
    LLAMA_AT_SELF_NORM = LLAMA_AT_EMBED + LLAMA_TOKENS * LLAMA_WIDTH,
    LLAMA_AT_QUERY = LLAMA_AT_SELF_NORM + LLAMA_LAYERS * LLAMA_WIDTH,
    LLAMA_AT_KEY = LLAMA_AT_QUERY + LLAMA_LAYERS * LLAMA_WIDTH * LLAMA_WIDTH,
    LLAMA_AT_VALUE = LLAMA_AT_KEY + LLAMA_LAYERS * LLAMA_KEYS * LLAMA_WIDTH,
    LLAMA_AT_OUT = LLAMA_AT_VALUE + LLAMA_LAYERS * LLAMA_KEYS * LLAMA_WIDTH,
    LLAMA_AT_FEED_NORM = LLAMA_AT_OUT + LLAMA_LAYERS * LLAMA_WIDTH * LLAMA_WIDTH,
    LLAMA_AT_W1 = LLAMA_AT_FEED_NORM + LLAMA_LAYERS * LLAMA_WIDTH,
    LLAMA_AT_W2 = LLAMA_AT_W1 + LLAMA_LAYERS * LLAMA_FEED * LLAMA_WIDTH,
    LLAMA_AT_W3 = LLAMA_AT_W2 + LLAMA_LAYERS * LLAMA_FEED * LLAMA_WIDTH,
    LLAMA_AT_LAST_NORM = LLAMA_AT_W3 + LLAMA_LAYERS * LLAMA_FEED * LLAMA_WIDTH,
    LLAMA_AT_TURNS = LLAMA_AT_LAST_NORM + LLAMA_WIDTH,
    LLAMA_AT_OUTPUT = LLAMA_AT_TURNS + LLAMA_CONTEXT * LLAMA_HEAD,
};

/* The float at a place; no two near each other are the same. */
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

/* A checkpoint with this header; `untied` has an output layer of its own. */
static inline att_string llama_weights(const int32_t header[LLAMA_FIELDS], bool untied)
{
    att_string file = { 0 };
    int64_t count = LLAMA_AT_OUTPUT + (untied ? LLAMA_TOKENS * LLAMA_WIDTH : 0);
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

/* The tokeniser; its last token is `last` with `score`. */
static inline att_string llama_tokeniser(const char *last, float score)
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
    for (int i = 0; i < LLAMA_PARTS - 1; i++)
        llama_token(&file, llama_parts[i], (float)-i);
    llama_token(&file, last, score);
    return file;
}

static inline att_string llama_good_tokeniser(void)
{
    return llama_tokeniser(llama_parts[LLAMA_PARTS - 1], 1 - LLAMA_PARTS);
}

#endif
