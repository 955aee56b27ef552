/* The list of items, and the comparison with the published digests. */
#include "selftest/selftest.h"

#include "base/cpu.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/string.h"
#include "kern/kern.h"

#include <stdio.h>
#include <string.h>

static const att_selftest_item *const items[] = {
    &att_selftest_kernels,  &att_selftest_scores, &att_selftest_normalizers, &att_selftest_masks,
    &att_selftest_products, &att_selftest_int8,   &att_selftest_sheets,
};

const att_selftest_digest_row att_selftest_published[] = {
#include "selftest/digests.inc"
    { NULL, NULL },
};
static const att_selftest_digest_row *rows = att_selftest_published;

void att_selftest_use_rows(const att_selftest_digest_row *other)
{
    rows = other ? other : att_selftest_published;
}

/* The published digest of a case, as "item/case"; "" where there is none. */
static const char *find_published(const char *item, const char *name)
{
    size_t length = strlen(item);
    for (const att_selftest_digest_row *row = rows; row->name; row++)
        if (strncmp(row->name, item, length) == 0 && row->name[length] == '/' &&
            strcmp(row->name + length + 1, name) == 0)
            return row->digest;
    return "";
}

size_t att_selftest_count(void)
{
    return ATT_COUNT(items) + att_selftest_model_count();
}

void att_selftest_get(att_selftest *out, size_t index)
{
    *out = (att_selftest){ 0 };
    if (index < ATT_COUNT(items)) {
        out->name = items[index]->name;
        out->help = items[index]->help;
    } else if (index < att_selftest_count()) {
        att_selftest_model_get(out, index - ATT_COUNT(items));
    }
}

/* ---- cases: those of an item, or the one case of a model */

static const char *case_name(size_t index, size_t which)
{
    if (index < ATT_COUNT(items))
        return items[index]->name_case(which);
    return which == 0 ? "model" : NULL;
}

static att_status case_digest(char out[ATT_DIGEST_SIZE], size_t index, size_t which, att_error *err)
{
    att_sha256 hash;
    att_sha256_begin(&hash);
    if (index < ATT_COUNT(items))
        ATT_TRY(items[index]->run_case(&hash, which, err));
    else
        ATT_TRY(att_selftest_model_run(&hash, index - ATT_COUNT(items), err));
    att_sha256_end_hex(&hash, out);
    return att_progress_check(err);
}

/* Runs all cases on the instruction set in use. *digest is the digest of theirs, *expected that of
 * the published ones; the first case that differs is noted, with the version of its code. */
static att_status run_cases(att_selftest *out, size_t index, const char *version, att_error *err)
{
    att_sha256 found, wanted;
    att_sha256_begin(&found);
    att_sha256_begin(&wanted);
    for (size_t i = 0; case_name(index, i); i++) {
        char digest[ATT_DIGEST_SIZE];
        const char *name = case_name(index, i), *expected = find_published(out->name, name);
        ATT_TRY(case_digest(digest, index, i, err));
        att_sha256_add(&found, digest, strlen(digest));
        att_sha256_add(&wanted, expected, strlen(expected));
        if (strcmp(digest, expected) != 0 && !out->difference[0])
            snprintf(out->difference, sizeof out->difference, "%s on %s", name, version);
    }
    att_sha256_end_hex(&found, out->digest);
    att_sha256_end_hex(&wanted, out->expected);
    out->passed = !out->difference[0];
    return ATT_OK;
}

/* Runs all cases with the usual version of their code, and then with every version. */
static att_status run_versions(att_selftest *out, size_t index, att_error *err)
{
    att_status status = run_cases(out, index, att_kernels_get()->name, err);
    if (index >= ATT_COUNT(items) || !items[index]->use_version)
        return status;
    const char *(*use_version)(size_t) = items[index]->use_version;
    const char *version;
    for (size_t i = 0; status == ATT_OK && out->passed && (version = use_version(i)); i++)
        status = run_cases(out, index, version, err);
    use_version(SIZE_MAX);
    return status;
}

att_status att_selftest_run(att_selftest *out, size_t index, att_error *err)
{
    att_selftest_get(out, index);
    if (!out->name)
        return att_fail(err, ATT_BAD_INPUT, "selftest", "expected an index below %zu",
                        att_selftest_count());
    if (index >= ATT_COUNT(items) || !items[index]->every_cpu)
        return run_versions(out, index, err);
    att_cpu before = att_cpu_get();
    att_status status = ATT_OK;
    out->passed = true;
    for (int cpu = ATT_CPU_SCALAR; status == ATT_OK && out->passed && cpu < ATT_CPU_COUNT; cpu++)
        if (att_kernels_for((att_cpu)cpu) && att_cpu_set((att_cpu)cpu))
            status = run_versions(out, index, err);
    att_cpu_set(before);
    return status;
}

void att_selftest_digest(char out[ATT_DIGEST_SIZE], const void *bytes, size_t length)
{
    att_sha256 hash;
    att_sha256_begin(&hash);
    att_sha256_add(&hash, bytes, length);
    att_sha256_end_hex(&hash, out);
}

att_status att_selftest_record(att_string *out, size_t index, att_error *err)
{
    att_selftest item;
    att_selftest_get(&item, index);
    for (size_t i = 0; item.name && case_name(index, i); i++) {
        char digest[ATT_DIGEST_SIZE];
        ATT_TRY(case_digest(digest, index, i, err));
        if (att_string_printf(out, "{ \"%s/%s\",\n  \"%s\" },\n", item.name, case_name(index, i),
                              digest) != ATT_OK)
            return att_fail_memory(err);
    }
    return ATT_OK;
}
