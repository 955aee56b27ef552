/* The int8 kernels and their versions. A version is a set of instructions for sums of products of
 * bytes, which machines have or lack independently of the width of their vectors; so they have a
 * list of their own beside that of kern.h. All versions give the same bits. */
#ifndef ATT_KERN_INT8_KERNELS_H
#define ATT_KERN_INT8_KERNELS_H

#include "base/cpu_features.h"
#include "kern/int8.h"

/* Rows of A by whole panels of B. */
typedef struct att_int8_block {
    size_t rows, columns, groups;
    const int8_t *a;
    size_t a_row_size;
    const float *a_scales;
    const int8_t *b; /* the first panel */
    const float *b_scales;
    const int32_t *b_sums;
    float *c;
    size_t c_row_stride;
    bool accumulate;
    const float *bias; /* or NULL */
} att_int8_block;

typedef struct att_int8_kernels {
    const char *name;  /* "avx2" */
    att_cpu least_set; /* used where this instruction set, or a later one, is in use, */
    unsigned features; /* and the machine has these, too (ATT_CPU_*, base/cpu_features.h), */
    size_t least_rows; /* for products of so many rows */
    /* Quantizes a row of n floats and returns its scale (kern/int8.h). */
    float (*quantize)(int8_t *q, const float *x, size_t n);
    void (*matmul)(const att_int8_block *block);
} att_int8_kernels;

/* Every version of this build, plain C first, and how many there are. */
extern const att_int8_kernels *const att_int8_versions[];
extern const int att_int8_version_count;

/* Whether this machine can run a version where instruction set `set`, or an earlier one, is in
 * use. */
bool att_int8_version_runs(const att_int8_kernels *version, att_cpu set);

/* The best version for the instruction set in use and a product of `rows` rows. */
const att_int8_kernels *att_int8_kernels_get(size_t rows);

/* Uses this version for all products from now on, for tests; NULL: the best one. */
void att_int8_kernels_use(const att_int8_kernels *version);

#endif
