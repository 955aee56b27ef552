/* The variables of a CTranslate2 model.bin, by name.
 *
 * Version 2 of the format, all numbers little-endian: the version (4 bytes), the name of the kind
 * of model, its revision (4), the number of variables (4); then for each its name, its rank (1),
 * its dimensions (4 each), the size of an element (1) and their number (4), and the elements. A
 * name is its length (2) and so many bytes, of which the last is zero. An element of 4 bytes is a
 * float, of 2 or 1 an integer: the value times the `…_scale` of its row, or of the whole. */
#ifndef ATT_IMPORT_CTRANSLATE2_FILE_H
#define ATT_IMPORT_CTRANSLATE2_FILE_H

#include "base/arena.h"
#include "base/byte_reader.h"

typedef struct att_ct2_variable {
    const char *name;
    int rank;
    int64_t shape[ATT_MAX_RANK];
    int64_t count;
    size_t item_size; /* bytes of an element: 4, 2 or 1 */
    const unsigned char *data;
    bool used;
} att_ct2_variable;

typedef struct att_ct2_file {
    const char *name; /* stands for the file in errors */
    const char *kind; /* "TransformerBase" */
    uint32_t version, revision;
    att_ct2_variable *variables; /* [count] by name */
    size_t count;
    size_t min_item_size; /* the smallest of all */
    att_arena memory;
} att_ct2_file;

/* Reads the bytes, which must outlive *out. */
att_status att_ct2_read(att_ct2_file *out, const void *bytes, size_t size, const char *name,
                        att_error *err);
void att_ct2_free(att_ct2_file *file);

/* A variable, or NULL; whoever finds it uses it. */
const att_ct2_variable *att_ct2_find(att_ct2_file *file, const char *name);

/* A variable as floats, brought back from integers where it is quantised; to be released. One that
 * is not there, or of another rank, is refused by name. */
att_status att_ct2_floats(att_tensor *out, att_ct2_file *file, const char *name, int rank,
                          att_error *err);

/* Refuses variables that nobody has used, the first of them by name. */
att_status att_ct2_all_used(const att_ct2_file *file, att_error *err);

#endif
