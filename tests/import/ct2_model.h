/* A small CTranslate2 Transformer of version 2 whose fields can be falsified: 2 heads, hidden size
 * 4, FFN size 6, one layer on each side. Values depend on the name of the variable and the
 * position, so that each is distinct. */
#ifndef TESTS_IMPORT_CT2_MODEL_H
#define TESTS_IMPORT_CT2_MODEL_H

#include "tensor/bytes.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CT2_WIDTH = 4, CT2_BETWEEN = 6, CT2_SOURCES = 6, CT2_TARGETS = 7 };

typedef struct ct2_row {
    const char *name;
    uint32_t rows, columns; /* 0 columns: a vector */
} ct2_row;

#define CT2_NORM(at)                                                                               \
    { at "/layer_norm/gamma", 4, 0 },                                                              \
    {                                                                                              \
        at "/layer_norm/beta", 4, 0                                                                \
    }
#define CT2_LINEAR(at, r, c)                                                                       \
    { at "/weight", r, c },                                                                        \
    {                                                                                              \
        at "/bias", r, 0                                                                           \
    }

static const ct2_row ct2_rows[] = {
    { "encoder/embeddings/weight", CT2_SOURCES, 4 },
    CT2_NORM("encoder/layer_0/self_attention"),
    CT2_LINEAR("encoder/layer_0/self_attention/linear_0", 12, 4),
    CT2_LINEAR("encoder/layer_0/self_attention/linear_1", 4, 4),
    CT2_NORM("encoder/layer_0/ffn"),
    CT2_LINEAR("encoder/layer_0/ffn/linear_0", 6, 4),
    CT2_LINEAR("encoder/layer_0/ffn/linear_1", 4, 6),
    CT2_NORM("encoder"),
    { "decoder/embeddings/weight", CT2_TARGETS, 4 },
    CT2_NORM("decoder/layer_0/self_attention"),
    CT2_LINEAR("decoder/layer_0/self_attention/linear_0", 12, 4),
    CT2_LINEAR("decoder/layer_0/self_attention/linear_1", 4, 4),
    CT2_NORM("decoder/layer_0/attention"),
    CT2_LINEAR("decoder/layer_0/attention/linear_0", 4, 4),
    CT2_LINEAR("decoder/layer_0/attention/linear_1", 8, 4),
    CT2_LINEAR("decoder/layer_0/attention/linear_2", 4, 4),
    CT2_NORM("decoder/layer_0/ffn"),
    CT2_LINEAR("decoder/layer_0/ffn/linear_0", 6, 4),
    CT2_LINEAR("decoder/layer_0/ffn/linear_1", 4, 6),
    CT2_NORM("decoder"),
    CT2_LINEAR("decoder/projection", CT2_TARGETS, 4),
};
enum { CT2_ROWS = sizeof ct2_rows / sizeof *ct2_rows };

/* Deviations from a correct file. All zero except `item`: no deviation. */
typedef struct ct2_options {
    unsigned item;              /* bytes per element of a weight: 4, 2 or 1 */
    const char *without;        /* a variable to leave out */
    const char *twice;          /* a variable to write twice */
    const char *narrow;         /* a vector or matrix to make one row shorter */
    const char *extra;          /* an unknown variable to add */
    const char *no_scale;       /* a weight without its scale */
    const char *short_scale;    /* a weight whose scale has two elements */
    const char *zero_scale;     /* a weight whose scale is 0 */
    const char *flat;           /* a matrix to write as a vector */
    const char *minus_128;      /* an int8 weight whose first integer is -128 */
    const char *one_scale;      /* an int8 weight with one scale for all rows */
    uint32_t more_tokens;       /* rows more in both embeddings and in the output layer */
    const char *kind;           /* NULL: TransformerSpec */
    unsigned version, revision; /* 0: 2 and 3 */
    bool no_heads;
    uint32_t positions[2]; /* rows of the position tables of the encoder and the decoder */
    bool empty_positions;  /* without columns */
} ct2_options;

/* Between -1 and 1 in steps of 1/64, which quantization keeps exactly. */
static inline float ct2_value(const char *name, uint32_t at)
{
    uint32_t hash = 2166136261u + at * 40503u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return (float)((int)(hash >> 8 & 127) - 64) / 64;
}

static inline void ct2_name(att_string *out, const char *name)
{
    put_number(out, strlen(name) + 1, 2);
    put(out, name, strlen(name) + 1);
}

static inline void ct2_head(att_string *out, const char *name, uint32_t rows, uint32_t columns,
                            unsigned item)
{
    ct2_name(out, name);
    put_number(out, columns > 0 ? 2 : 1, 1);
    put_number(out, rows, 4);
    if (columns > 0)
        put_number(out, columns, 4);
    put_number(out, item, 1);
    put_number(out, rows * (columns > 0 ? columns : 1), 4);
}

static inline void ct2_float(att_string *out, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_number(out, bits, 4);
}

static inline bool ct2_has_tokens(const char *name)
{
    return strstr(name, "embeddings") || strstr(name, "projection");
}

/* Rows of a weight have the scales 64, 32, 64, …, so that each must be that of its row. */
static inline float ct2_scale(uint32_t row)
{
    return row % 2 == 0 ? 64 : 32;
}

/* Returns the number of variables written. */
static inline uint32_t ct2_variable(att_string *out, const ct2_row *row, const ct2_options *options)
{
    char scale[128];
    unsigned item = row->columns > 0 ? options->item : 4;
    uint32_t rows = row->rows - (options->narrow && strcmp(options->narrow, row->name) == 0);
    rows += ct2_has_tokens(row->name) ? options->more_tokens : 0;
    bool low = options->minus_128 && strcmp(options->minus_128, row->name) == 0;
    uint32_t count = rows * (row->columns > 0 ? row->columns : 1);
    if (options->flat && strcmp(options->flat, row->name) == 0)
        ct2_head(out, row->name, count, 0, item);
    else
        ct2_head(out, row->name, rows, row->columns, item);
    for (uint32_t i = 0; i < count; i++)
        if (item == 4)
            ct2_float(out, ct2_value(row->name, i));
        else
            put_number(
                out, low && i == 0 ? 0x80 : (uint64_t)(int64_t)lrintf(64 * ct2_value(row->name, i)),
                item);
    if (item == 4 || (options->no_scale && strcmp(options->no_scale, row->name) == 0))
        return 1;
    snprintf(scale, sizeof scale, "%s_scale", row->name);
    uint32_t scales = item == 1 ? rows : 1; /* one per row, or one for all */
    if (options->one_scale && strcmp(options->one_scale, row->name) == 0)
        scales = 1;
    if (options->short_scale && strcmp(options->short_scale, row->name) == 0)
        scales = 2;
    bool zero = options->zero_scale && strcmp(options->zero_scale, row->name) == 0;
    ct2_head(out, scale, scales, 0, 4);
    for (uint32_t i = 0; i < scales; i++)
        ct2_float(out, zero ? 0 : scales == 1 ? 64 : ct2_scale(i));
    return 2;
}

/* Position tables, where there are any; otherwise the reader computes sinusoids. */
static inline uint32_t ct2_positions(att_string *out, const ct2_options *options)
{
    static const char *const names[2] = { "encoder/position_encodings/encodings",
                                          "decoder/position_encodings/encodings" };
    uint32_t count = 0, width = options->empty_positions ? 0 : CT2_WIDTH;
    for (int i = 0; i < 2; i++) {
        if (options->positions[i] == 0)
            continue;
        ct2_name(out, names[i]);
        put_number(out, 2, 1);
        put_number(out, options->positions[i], 4);
        put_number(out, width, 4);
        put_number(out, 4, 1);
        put_number(out, options->positions[i] * width, 4);
        for (uint32_t at = 0; at < options->positions[i] * width; at++)
            ct2_float(out, ct2_value(names[i], at));
        count++;
    }
    return count;
}

static inline uint32_t ct2_variables(att_string *out, const ct2_options *options)
{
    uint32_t count = 0;
    for (int i = 0; i < CT2_ROWS; i++) {
        const char *name = ct2_rows[i].name;
        if (!options->without || strcmp(options->without, name) != 0)
            count += ct2_variable(out, &ct2_rows[i], options);
        if (options->twice && strcmp(options->twice, name) == 0)
            count += ct2_variable(out, &ct2_rows[i], &(ct2_options){ .item = 4 });
    }
    count += ct2_positions(out, options);
    if (!options->no_heads) {
        ct2_name(out, "num_heads");
        put_number(out, 0, 1); /* no dimensions */
        put_number(out, 1, 1);
        put_number(out, 1, 4);
        put_number(out, 2, 1);
        count++;
    }
    if (options->extra) {
        ct2_head(out, options->extra, 1, 0, 4);
        ct2_float(out, 1);
        count++;
    }
    return count;
}

static inline att_string ct2_model(const ct2_options *options)
{
    att_string out = { 0 }, variables = { 0 };
    uint32_t count = ct2_variables(&variables, options);
    put_number(&out, options->version ? options->version : 2, 4);
    ct2_name(&out, options->kind ? options->kind : "TransformerSpec");
    put_number(&out, options->revision ? options->revision : 3, 4);
    put_number(&out, count, 4);
    put(&out, variables.data, variables.length);
    att_string_free(&variables);
    return out;
}

/* The first has no <unk>, which is the last row of the table. The second has it in the middle. */
#define CT2_SOURCE_WORDS "<blank>\n<s>\n</s>\na\nb\n"
#define CT2_TARGET_WORDS "<blank>\n<s>\n</s>\nx\n<unk>\ny\nz\n"

#endif
