/* Reading .npz files: a zip archive of .npy files, stored or deflated, by libzip. The sizes stated
 * in the archive are checked against the size of the file before memory is allocated for them. */
#include "tensor/bundle.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/quote.h"

#include <string.h>

#ifdef ATT_HAVE_ZIP
#include <zip.h>

/* Deflate encodes at most 258 bytes in two bits: a compression ratio of at most 1032. */
enum { DEFLATE_RATIO = 1032, MIN_ZIP_SIZE = 22 };

/* Limit of the unpacked size of all entries together. */
static const uint64_t MAX_UNPACKED_SIZE = UINT64_C(1) << 32;

typedef struct archive {
    const char *name; /* for errors */
    size_t size;
    zip_t *zip;
    uint64_t compressed_bytes;   /* stated by the entries so far */
    uint64_t uncompressed_bytes; /* stated by the entries so far */
} archive;

/* Whether memory ran out. libzip does not always report ZIP_ER_MEMORY: some functions fail with "no
 * error", or with zlib's Z_MEM_ERROR. */
static bool is_memory_error(const zip_error_t *why)
{
    enum { ZLIB_MEMORY = -4 };
    int code = zip_error_code_zip(why);
    return code == ZIP_ER_MEMORY || code == ZIP_ER_OK ||
           (code == ZIP_ER_ZLIB && zip_error_code_system(why) == ZLIB_MEMORY);
}

static att_status fail_zip(const char *name, zip_error_t *why, att_error *err)
{
    if (is_memory_error(why))
        return att_fail_memory(err);
    if (zip_error_code_zip(why) == ZIP_ER_EXISTS)
        return att_fail(err, ATT_BAD_INPUT, name, "has two entries of the same name");
    return att_fail(err, ATT_BAD_INPUT, name, "is not a valid .npz file: %s",
                    zip_error_strerror(why));
}

static zip_t *open_zip(const void *bytes, size_t size, zip_error_t *why)
{
    zip_source_t *source = zip_source_buffer_create(bytes, size, 0, why);
    zip_t *zip = source ? zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, why) : NULL;
    if (!zip)
        zip_source_free(source);
    return zip;
}

/* Whether memory is out, or so short that libzip could not have read the directory of an archive of
 * this size. */
static bool memory_is_out(size_t size)
{
    void *probe = att_alloc(size, 1);
    att_free(probe);
    return !probe;
}

/* Where memory runs out while libzip reads the directory, it says that the file is no archive: only
 * what it says twice, and with memory to spare, is believed. */
static att_status open_archive(archive *in, const void *bytes, att_error *err)
{
    if (in->size < MIN_ZIP_SIZE) /* libzip would accept 0 bytes as an empty archive */
        return att_fail(err, ATT_BAD_INPUT, in->name, "has %zu bytes, too few for a .npz file",
                        in->size);
    zip_error_t why;
    zip_error_init(&why);
    in->zip = open_zip(bytes, in->size, &why);
    if (!in->zip && zip_error_code_zip(&why) == ZIP_ER_NOZIP)
        in->zip = open_zip(bytes, in->size, &why);
    att_status status = ATT_OK;
    if (!in->zip)
        status = memory_is_out(in->size) ? att_fail_memory(err) : fail_zip(in->name, &why, err);
    zip_error_fini(&why);
    return status;
}

/* ---- one entry */

static att_status fail_entry(const archive *in, const zip_stat_t *entry, const char *what,
                             att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    return att_fail(err, ATT_BAD_INPUT, in->name, "entry '%s' %s",
                    att_quote(quoted, entry->name, strlen(entry->name)), what);
}

static att_status fail_unpacking(const archive *in, const zip_stat_t *entry, zip_error_t *why,
                                 att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    if (is_memory_error(why))
        return att_fail_memory(err);
    return att_fail(err, ATT_BAD_INPUT, in->name, "entry '%s' cannot be unpacked: %s",
                    att_quote(quoted, entry->name, strlen(entry->name)), zip_error_strerror(why));
}

/* Checks the type and the stated sizes of the entry, before memory is allocated for it. */
static att_status check_entry(archive *in, const zip_stat_t *entry, att_error *err)
{
    size_t length = strlen(entry->name);
    if (length < 4 || strcmp(entry->name + length - 4, ".npy") != 0)
        return fail_entry(in, entry, "is not a .npy file", err);
    if (entry->encryption_method != ZIP_EM_NONE)
        return fail_entry(in, entry, "is encrypted", err);
    if (entry->comp_method != ZIP_CM_STORE && entry->comp_method != ZIP_CM_DEFLATE)
        return fail_entry(in, entry, "is neither stored nor deflated", err);
    if (entry->comp_size > in->size - in->compressed_bytes)
        return fail_entry(in, entry, "and those before it have more bytes than the file", err);
    in->compressed_bytes += entry->comp_size;
    uint64_t max = entry->comp_method == ZIP_CM_STORE ? 1 : DEFLATE_RATIO;
    if (entry->size > entry->comp_size * max)
        return fail_entry(in, entry, "states more bytes than it can hold", err);
    if (entry->size > MAX_UNPACKED_SIZE - in->uncompressed_bytes)
        return fail_entry(in, entry, "unpacks to more than 4 GB with the others", err);
    in->uncompressed_bytes += entry->size;
    return ATT_OK;
}

/* Reads the bytes of the entry. Requesting one byte more than its size makes libzip verify the
 * checksum. */
static att_status unpack(const archive *in, zip_uint64_t index, const zip_stat_t *entry, char *to,
                         att_error *err)
{
    zip_file_t *file = zip_fopen_index(in->zip, index, 0);
    if (!file)
        return fail_unpacking(in, entry, zip_get_error(in->zip), err);
    uint64_t done = 0;
    zip_int64_t got;
    while ((got = zip_fread(file, to + done, entry->size + 1 - done)) > 0 && done <= entry->size)
        done += (uint64_t)got;
    att_status status = ATT_OK;
    if (got < 0)
        status = fail_unpacking(in, entry, zip_file_get_error(file), err);
    else if (done != entry->size)
        status = fail_entry(in, entry, "does not have the size that the archive states", err);
    zip_fclose(file);
    return status;
}

/* Reads the unpacked .npy file and adds it to the bundle, named without ".npy". */
static att_status add_array(att_bundle *bundle, const archive *in, const zip_stat_t *entry,
                            const char *bytes, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    att_error inner = { 0 };
    att_tensor tensor = { 0 };
    size_t length = strlen(entry->name) - 4;
    char *name = att_alloc(length + 1, 1);
    if (!name)
        return att_fail_memory(err);
    memcpy(name, entry->name, length);
    name[length] = '\0';
    att_status status = att_npy_read(&tensor, bytes, entry->size, in->name, &inner);
    if (status == ATT_OK)
        status = att_bundle_take(bundle, name, &tensor, &inner);
    if (status == ATT_BAD_INPUT)
        att_fail(err, status, in->name, "tensor '%s': %s", att_quote(quoted, name, length),
                 inner.message);
    else if (status != ATT_OK)
        att_fail_memory(err);
    att_tensor_free(&tensor);
    att_free(name);
    return status;
}

static att_status read_entry(att_bundle *bundle, archive *in, zip_uint64_t index, att_error *err)
{
    const zip_uint64_t needed =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    zip_stat_t entry;
    if (zip_stat_index(in->zip, index, 0, &entry) != 0)
        return fail_zip(in->name, zip_get_error(in->zip), err);
    if ((entry.valid & needed) != needed)
        return att_fail(err, ATT_BAD_INPUT, in->name, "entry %llu has no name or size",
                        (unsigned long long)index);
    ATT_TRY(check_entry(in, &entry, err));
    char *bytes = att_alloc(entry.size + 1, 1);
    if (!bytes)
        return att_fail_memory(err);
    att_status status = unpack(in, index, &entry, bytes, err);
    if (status == ATT_OK)
        status = add_array(bundle, in, &entry, bytes, err);
    att_free(bytes);
    return status;
}

att_status att_npz_read(att_bundle **out, const void *bytes, size_t size, const char *name,
                        att_error *err)
{
    *out = NULL;
    archive in = { .name = name, .size = size };
    ATT_TRY(open_archive(&in, bytes, err));
    att_bundle *bundle = NULL;
    att_status status = att_bundle_new(&bundle, err);
    zip_int64_t count = zip_get_num_entries(in.zip, 0);
    for (zip_int64_t i = 0; i < count && status == ATT_OK; i++)
        status = read_entry(bundle, &in, (zip_uint64_t)i, err);
    zip_discard(in.zip);
    if (status == ATT_OK)
        *out = bundle;
    else
        att_bundle_free(bundle);
    return status;
}

#else

att_status att_npz_read(att_bundle **out, const void *bytes, size_t size, const char *name,
                        att_error *err)
{
    (void)bytes;
    (void)size;
    *out = NULL;
    return att_fail(err, ATT_UNSUPPORTED, name,
                    "this build cannot read .npz files: it has no libzip");
}

#endif
