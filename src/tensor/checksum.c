/* Computes and compares the checksum of .safetensors files. */
#define _GNU_SOURCE /* memmem() */
#include "tensor/checksum.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/minmax.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/quote.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Fewer bytes than this are hashed sooner than threads would have started. */
enum { DIGITS = ATT_SHA256_HEX_SIZE - 1, MIN_PARALLEL_BYTES = 1 << 20 };

#define VALUE_START "{\"algorithm\":\"sha256\",\"header\":\""
#define ZEROS       "0000000000000000000000000000000000000000000000000000000000000000"
#define DIFFERS     "its SHA-256 differs from the recorded one: the file was damaged or changed"

/* ---- digests */

typedef struct hashing {
    att_checksum_part **order; /* largest first, so that no thread ends with a large one */
    atomic_bool cancelled;
} hashing;

/* A piece is short enough for a callback at least every 0.1 s, in plain C on a slow machine too. */
static void hash_part(hashing *work, att_checksum_part *part)
{
    enum { PIECE = 1 << 20 };
    const char *bytes = part->bytes;
    att_sha256 hash;
    att_sha256_begin(&hash);
    for (size_t at = 0; at < part->size; at += PIECE) {
        att_sha256_add(&hash, bytes + at, att_min_size(PIECE, part->size - at));
        att_progress_poll();
        if (att_progress_cancelled())
            atomic_store(&work->cancelled, true);
        if (atomic_load(&work->cancelled))
            return;
    }
    att_sha256_end_hex(&hash, part->digest);
}

static void hash_range(void *context, int64_t begin, int64_t end)
{
    hashing *work = context;
    for (int64_t i = begin; i < end; i++)
        hash_part(work, work->order[i]);
}

static int compare_sizes(const void *a, const void *b)
{
    const att_checksum_part *left = *(att_checksum_part *const *)a;
    const att_checksum_part *right = *(att_checksum_part *const *)b;
    return (left->size < right->size) - (left->size > right->size);
}

att_status att_checksum_parts(att_checksum_part *parts, size_t count, att_error *err)
{
    if (count == 0)
        return ATT_OK;
    hashing work = { .order = att_alloc(count, sizeof *work.order) };
    if (!work.order)
        return att_fail_memory(err);
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        work.order[i] = &parts[i];
        total += parts[i].size;
    }
    qsort(work.order, count, sizeof *work.order, compare_sizes);
    att_parallel_for((int64_t)count, total < MIN_PARALLEL_BYTES ? (int64_t)count : 1, hash_range,
                     &work);
    att_free(work.order);
    return att_progress_check(err);
}

/* The digest of a header in which the 64 digits at `at` count as zeros. */
static void hash_header(char digest[ATT_SHA256_HEX_SIZE], const char *header, size_t size,
                        const char *at)
{
    size_t before = (size_t)(at - header);
    att_sha256 hash;
    att_sha256_begin(&hash);
    att_sha256_add(&hash, header, before);
    att_sha256_add(&hash, ZEROS, DIGITS);
    att_sha256_add(&hash, at + DIGITS, size - before - DIGITS);
    att_sha256_end_hex(&hash, digest);
}

/* ---- writing */

att_status att_checksum_value(att_string *out, const att_checksum_part *parts, size_t count,
                              att_error *err)
{
    att_json_writer json = att_json_begin(out, ATT_JSON_EXACT);
    att_json_begin_object(&json, NULL);
    att_json_put_string(&json, "algorithm", "sha256");
    att_json_put_string(&json, "header", ZEROS);
    att_json_begin_object(&json, "tensors");
    for (size_t i = 0; i < count; i++)
        att_json_put_string(&json, parts[i].name, parts[i].digest);
    att_json_end(&json);
    att_json_end(&json);
    return att_json_finish(&json, "the checksum", err);
}

/* Quotes inside a JSON string are escaped, so only the value itself can look like this. */
void att_checksum_seal_header(char *header, size_t size)
{
    static const char start[] = "\"" ATT_KEY_CHECKSUM "\":\"{\\\"algorithm\\\":\\\"sha256\\\","
                                "\\\"header\\\":\\\"";
    char digest[ATT_SHA256_HEX_SIZE];
    char *at = memmem(header, size, start, sizeof start - 1);
    at += sizeof start - 1;
    hash_header(digest, header, size, at);
    memcpy(at, digest, DIGITS);
}

/* ---- comparing */

bool att_checksum_is_value(const char *value)
{
    return strncmp(value, VALUE_START, strlen(VALUE_START)) == 0;
}

/* Fuzzers (libFuzzer and others define this macro) could not guess a digest, so nothing behind a
 * comparison would ever run: there, digests are computed and compared, and a difference is
 * accepted.
 */
static bool is_accepted(bool same)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)same;
    return true;
#else
    return same;
#endif
}

/* What the value of ATT_KEY_CHECKSUM records. */
typedef struct recorded {
    const char *header;
    const att_json *tensors;
} recorded;

static att_status parse_value(recorded *out, const att_json *root, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    const char *algorithm;
    ATT_TRY(att_json_expect(root, ATT_JSON_OBJECT, NULL, err));
    ATT_TRY(att_json_get_string(&algorithm, root, "algorithm", NULL, err));
    if (strcmp(algorithm, "sha256") != 0)
        return att_fail(err, ATT_BAD_INPUT, NULL, "expected the algorithm 'sha256', found '%s'",
                        att_quote(quoted, algorithm, strlen(algorithm)));
    ATT_TRY(att_json_get_string(&out->header, root, "header", NULL, err));
    return att_json_get(&out->tensors, root, "tensors", ATT_JSON_OBJECT, NULL, err);
}

static att_status compare_header(const att_checksum_source *in, const char *expected,
                                 att_error *err)
{
    char found[ATT_SHA256_HEX_SIZE] = "";
    const char *at =
        strlen(expected) == DIGITS ? memmem(in->header, in->header_size, expected, DIGITS) : NULL;
    if (at)
        hash_header(found, in->header, in->header_size, at);
    if (is_accepted(at && strcmp(found, expected) == 0))
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, in->file,
                    "the header (metadata, names and shapes of tensors): " DIFFERS);
}

static att_status compare_tensors(const att_checksum_source *in, const att_json *tensors,
                                  att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    for (size_t i = 0; i < in->count; i++) {
        const att_checksum_part *part = &in->parts[i];
        const att_json *expected = att_json_find(tensors, part->name);
        const char *name = att_quote(quoted, part->name, strlen(part->name));
        if (!expected || expected->type != ATT_JSON_STRING)
            return att_fail(err, ATT_BAD_INPUT, in->file,
                            "the metadata '" ATT_KEY_CHECKSUM "' lacks the tensor '%s'", name);
        if (!is_accepted(strcmp(part->digest, expected->string) == 0))
            return att_fail(err, ATT_BAD_INPUT, in->file, "tensor '%s': " DIFFERS, name);
    }
    return ATT_OK;
}

/* Compares the header and, if `tensors`, the digests of the parts. */
static att_status compare(const att_checksum_source *in, bool tensors, att_error *err)
{
    att_json_doc doc;
    recorded value;
    att_error cause = { 0 };
    att_status status = att_json_read(&doc, in->value, strlen(in->value), in->file, NULL, &cause);
    if (status == ATT_OK)
        status = parse_value(&value, doc.root, &cause);
    if (status != ATT_OK)
        status = att_json_fail_in(err, &cause, "the metadata '" ATT_KEY_CHECKSUM "'", in->file);
    else
        status = compare_header(in, value.header, err);
    if (status == ATT_OK && tensors)
        status = compare_tensors(in, value.tensors, err);
    att_json_free(&doc);
    return status;
}

att_status att_checksum_compare(const att_checksum_source *in, bool tensors, att_error *err)
{
    ATT_TRY(compare(in, false, err)); /* before the tensors, which take longer */
    if (!tensors)
        return ATT_OK;
    ATT_TRY(att_checksum_parts(in->parts, in->count, err));
    return compare(in, true, err);
}

att_status att_checksum_compare_digests(const att_checksum_source *in, att_error *err)
{
    return compare(in, true, err);
}
