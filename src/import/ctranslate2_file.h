/* Reader of a CTranslate2 model.bin: its variables by name.
 *
 * Version 2 of the format, all numbers little-endian: the version (4 bytes), the name of the
 * model type, its revision (4), the number of variables (4); then for each variable its name, rank
 * (1), dimensions (4 each), element size (1), number of elements (4) and the elements. A name is
 * its length (2) and that many bytes, of which the last is zero. Elements of 4 bytes are floats;
 * those of 2 or 1 bytes are quantized integers: the value times the variable `…_scale`, one per row
 * or one for all: 127 by the largest value, where it is int8. */
#ifndef ATT_IMPORT_CTRANSLATE2_FILE_H
#define ATT_IMPORT_CTRANSLATE2_FILE_H

#include "base/arena.h"
#include "base/byte_reader.h"

typedef struct att_ct2_variable {
    const char *name;
    int rank;
    int64_t shape[ATT_MAX_RANK];
    int64_t count;
    size_t item_size; /* bytes per element: 4, 2 or 1 */
    const unsigned char *data;
    bool used;
} att_ct2_variable;

typedef struct att_ct2_file {
    const char *name; /* the file, in errors */
    const char *kind; /* "TransformerBase" */
    uint32_t version, revision;
    att_ct2_variable *variables; /* [count] sorted by name */
    size_t count;
    size_t min_item_size; /* the smallest of all variables */
    bool widens_int8;     /* for the caller to set: att_ct2_keeps_int8() is false for all */
    att_arena memory;
} att_ct2_file;

/* Reads the bytes, which must outlive *out. */
att_status att_ct2_read(att_ct2_file *out, const void *bytes, size_t size, const char *name,
                        att_error *err);
void att_ct2_free(att_ct2_file *file);

/* Finds a variable and marks it as used; NULL if there is none. */
const att_ct2_variable *att_ct2_find(att_ct2_file *file, const char *name);

/* A variable as floats, dequantized if necessary; release with att_tensor_free(). Refuses a missing
 * variable and one of another rank. */
att_status att_ct2_floats(att_tensor *out, att_ct2_file *file, const char *name, int rank,
                          att_error *err);

/* A matrix as the integers of the file, and for each row the number that multiplies them: the
 * reciprocal of the scale in the file. It must be one of those for which att_ct2_keeps_int8() is
 * true; release both with att_tensor_free(). */
att_status att_ct2_integers(att_tensor *integers, att_tensor *scales, att_ct2_file *file,
                            const char *name, att_error *err);

/* Whether a variable is a matrix of int8 that our kernels can use as it is: not one with few rows
 * (tape/params.h), nor with -128, which they exclude and CTranslate2 does not write. */
bool att_ct2_keeps_int8(att_ct2_file *file, const char *name);

/* Refuses the file if a variable was not used: the model would not be the same without it. */
att_status att_ct2_all_used(const att_ct2_file *file, att_error *err);

#endif
