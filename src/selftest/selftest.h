/* The self-test: digests of what kernels, attention, products, worksheets and models compute,
 * compared with those that were published with this version (digests.inc).
 *
 * An item is a list of cases. A case adds what it computed to a digest; it depends on nothing but
 * the version, so that machines, instruction sets, compilers and numbers of threads can be
 * compared.
 */
#ifndef ATT_SELFTEST_SELFTEST_H
#define ATT_SELFTEST_SELFTEST_H

#include "base/sha256.h"
#include "dev/attend_dev.h"

typedef struct att_selftest_item {
    const char *name;
    const char *help;
    bool every_cpu; /* runs on every instruction set of this machine, not only on the one in use */

    /* The name of case `index`, from 0; NULL past the last. */
    const char *(*name_case)(size_t index);
    att_status (*run_case)(att_sha256 *hash, size_t index, att_error *err);

    /* NULL, or: has the cases run with version `index` of their code among those for the
     * instruction set in use, and returns its name; past the last, with the usual one, and returns
     * NULL. */
    const char *(*use_version)(size_t index);
} att_selftest_item;

extern const att_selftest_item att_selftest_kernels;
extern const att_selftest_item att_selftest_scores;
extern const att_selftest_item att_selftest_normalizers;
extern const att_selftest_item att_selftest_masks;
extern const att_selftest_item att_selftest_products;
extern const att_selftest_item att_selftest_int8;
extern const att_selftest_item att_selftest_sheets;

/* Models that are trained from the first step and then used: an item each. */
size_t att_selftest_model_count(void);
void att_selftest_model_get(att_selftest *out, size_t index);
att_status att_selftest_model_run(att_sha256 *hash, size_t index, att_error *err);

/* The published digests: of "item/case". The name of the last row is NULL. */
typedef struct att_selftest_digest_row {
    const char *name;
    const char *digest;
} att_selftest_digest_row;
extern const att_selftest_digest_row att_selftest_published[];

/* Compares with other rows from now on, for tests; NULL: with the published ones. */
void att_selftest_use_rows(const att_selftest_digest_row *rows);

/* ---- what is hashed: numbers as little-endian bytes, any NaN as the same one */

void att_selftest_add_floats(att_sha256 *hash, const float *values, size_t count);
void att_selftest_add_doubles(att_sha256 *hash, const double *values, size_t count);
void att_selftest_add_text(att_sha256 *hash, const char *text);

/* The elements of a float tensor without gaps. */
void att_selftest_add_tensor(att_sha256 *hash, const att_tensor *tensor);

/* A new float tensor of random numbers between -1 and 1. */
att_status att_selftest_random(att_tensor *out, int rank, const int64_t *shape, uint64_t seed,
                               att_error *err);

#endif
