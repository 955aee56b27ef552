/* Reading token files; see token_file.h. Nothing of the header is used before it was checked
 * against the size of the file, and every id and offset is checked when it is read: a file that
 * changes during a run is found by its size, its time of modification or its values. */
#include "data/token_file.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/sha256.h"
#include "base/string.h"
#include "data/token_file_internal.h"
#include "tensor/bundle.h"
#include "tensor/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LENGTH_SIZE = 8, MAX_DEPTH = 3, READ_PIECE = 1 << 20 };

static const char start_of_header[] =
    "{\"__metadata__\":{\"" ATT_KEY_FORMAT "\":\"" ATT_TOKENS_FORMAT "\"";

const att_section_spec att_section_specs[ATT_SECTIONS] = {
    [ATT_SECTION_SOURCE_IDS] = { "source.ids", true, ATT_TOKEN_I32 },
    [ATT_SECTION_SOURCE_OFFSETS] = { "source.offsets", false, ATT_TOKEN_I64 },
    [ATT_SECTION_TARGET_IDS] = { "target.ids", true, ATT_TOKEN_I32 },
    [ATT_SECTION_TARGET_OFFSETS] = { "target.offsets", false, ATT_TOKEN_I64 },
    [ATT_SECTION_LINES] = { "lines", false, ATT_TOKEN_I64 },
    [ATT_SECTION_SOURCE_HASHES] = { "source.hashes", false, ATT_TOKEN_I64 },
    [ATT_SECTION_TARGET_TEXT] = { "target.text", false, ATT_TOKEN_U8 },
};

const char *const att_token_split_names[ATT_TOKENS_SPLITS] = { "train", "valid" };

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [ATT_TOKEN_U8] = { "U8", 1 },
    [ATT_TOKEN_U16] = { "U16", 2 },
    [ATT_TOKEN_I32] = { "I32", 4 },
    [ATT_TOKEN_I64] = { "I64", 8 },
};

const char *att_token_dtype_name(att_token_dtype dtype)
{
    return dtypes[dtype].name;
}

size_t att_token_dtype_size(att_token_dtype dtype)
{
    return dtypes[dtype].size;
}

/* ---- bytes */

static att_status fail_changed(const att_token_file *file, att_error *err)
{
    struct stat info;
    if (fstat(file->fd, &info) == 0 && info.st_size < file->size)
        return att_fail(err, ATT_BAD_INPUT, file->name,
                        "shrank while being read: from %lld bytes to %lld", (long long)file->size,
                        (long long)info.st_size);
    return att_fail(err, ATT_BAD_INPUT, file->name, "changed while being read");
}

/* Whoever writes to a file changes its time of modification. */
static att_status check_unchanged(const att_token_file *file, att_error *err)
{
    struct stat info;
    if (file->modified_seconds == 0 && file->modified_nanoseconds == 0)
        return ATT_OK;
    if (fstat(file->fd, &info) != 0)
        return att_file_fail(err, file->name, "read", errno);
    if (info.st_size == file->size && info.st_mtim.tv_sec == file->modified_seconds &&
        info.st_mtim.tv_nsec == file->modified_nanoseconds)
        return ATT_OK;
    return fail_changed(file, err);
}

static att_status read_bytes(const att_token_file *file, uint64_t at, void *out, size_t size,
                             att_error *err)
{
    char *to = out;
    while (size > 0) {
        ssize_t got = pread(file->fd, to, att_min_size(size, READ_PIECE), (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return att_file_fail(err, file->name, "read", errno);
        if (got == 0)
            return fail_changed(file, err);
        to += got;
        at += (uint64_t)got;
        size -= (size_t)got;
    }
    return ATT_OK;
}

/* Converts little-endian elements in place: from the last on, since they may grow. */
static void decode(void *block, att_token_dtype dtype, int64_t count)
{
    const unsigned char *bytes = block;
    for (int64_t i = count - 1; i >= 0; i--) {
        const unsigned char *at = bytes + (size_t)i * dtypes[dtype].size;
        uint64_t value = 0;
        for (size_t k = dtypes[dtype].size; k-- > 0;)
            value = value << 8 | at[k];
        if (dtype == ATT_TOKEN_I64)
            ((int64_t *)block)[i] = (int64_t)value;
        else
            ((int32_t *)block)[i] = (int32_t)(uint32_t)value;
    }
}

static att_status check_ids(const att_token_file *file, att_token_split split,
                            att_token_section section, int64_t begin, const int32_t *ids,
                            int64_t count, att_error *err)
{
    int32_t size = file->vocab_sizes[section == ATT_SECTION_TARGET_IDS];
    for (int64_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= size)
            return att_fail(err, ATT_BAD_INPUT, file->name,
                            "the tensor '%s.%s' has the token %d at index %lld, expected 0 to %d",
                            att_token_split_names[split], att_section_specs[section].name, ids[i],
                            (long long)(begin + i), size - 1);
    return ATT_OK;
}

att_status att_token_file_read(const att_token_file *file, att_token_split split,
                               att_token_section section, int64_t begin, int64_t count, void *out,
                               att_error *err)
{
    const att_section_place *place = &file->sections[split][section];
    size_t size = dtypes[place->dtype].size;
    if (begin < 0 || count < 0 || begin > place->count || count > place->count - begin)
        return att_fail(err, ATT_BAD_INPUT, file->name,
                        "the tensor '%s.%s' has %lld elements, expected at least %lld",
                        att_token_split_names[split], att_section_specs[section].name,
                        (long long)place->count, (long long)(begin + count));
    ATT_TRY(
        read_bytes(file, place->begin + (uint64_t)begin * size, out, (size_t)count * size, err));
    ATT_TRY(check_unchanged(file, err));
    if (place->dtype != ATT_TOKEN_U8)
        decode(out, place->dtype, count);
    return att_section_specs[section].is_ids
               ? check_ids(file, split, section, begin, out, count, err)
               : ATT_OK;
}

att_status att_token_file_offsets(const att_token_file *file, att_token_split split, bool target,
                                  int64_t begin, int64_t count, int64_t *out, att_error *err)
{
    att_token_section section = target ? ATT_SECTION_TARGET_OFFSETS : ATT_SECTION_SOURCE_OFFSETS;
    att_token_section ids = target ? ATT_SECTION_TARGET_IDS : ATT_SECTION_SOURCE_IDS;
    ATT_TRY(att_token_file_read(file, split, section, begin, count + 1, out, err));
    int64_t last = file->sections[split][ids].count;
    for (int64_t i = 0; i <= count; i++)
        if (out[i] < (i > 0 ? out[i - 1] : 0) || out[i] > last)
            return att_fail(err, ATT_BAD_INPUT, file->name,
                            "the tensor '%s.%s' has %lld at index %lld, expected a rising number "
                            "up to %lld",
                            att_token_split_names[split], att_section_specs[section].name,
                            (long long)out[i], (long long)(begin + i), (long long)last);
    return ATT_OK;
}

/* ---- the header */

static uint64_t header_length(const unsigned char bytes[LENGTH_SIZE])
{
    uint64_t length = 0;
    for (int i = LENGTH_SIZE - 1; i >= 0; i--)
        length = length << 8 | bytes[i];
    return length;
}

/* The first bytes of a file; fewer where it is shorter. */
static att_status read_start(int fd, const char *path, char *bytes, size_t size, size_t *got,
                             att_error *err)
{
    for (*got = 0; *got < size;) {
        ssize_t more = pread(fd, bytes + *got, size - *got, (off_t)*got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return att_file_fail(err, path, "read", errno);
        if (more == 0)
            break;
        *got += (size_t)more;
    }
    return ATT_OK;
}

att_status att_token_file_detect(bool *out, const char *path, att_error *err)
{
    char bytes[LENGTH_SIZE + sizeof start_of_header - 1];
    struct stat info;
    size_t got;
    int fd;
    *out = false;
    if (stat(path, &info) != 0) {
        att_error cause;
        att_status status = att_file_fail(&cause, path, "open", errno);
        if (status != ATT_BAD_INPUT && err)
            *err = cause;
        return status == ATT_BAD_INPUT ? ATT_OK : status; /* whoever reads it as text says so */
    }
    if (!S_ISREG(info.st_mode))
        return ATT_OK;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return att_file_fail(err, path, "open", errno);
    att_status status = read_start(fd, path, bytes, sizeof bytes, &got, err);
    close(fd);
    *out = status == ATT_OK && got == sizeof bytes &&
           memcmp(bytes + LENGTH_SIZE, start_of_header, sizeof start_of_header - 1) == 0;
    return status;
}

static att_status read_header(att_token_file *file, att_string *bytes, att_error *err)
{
    unsigned char length[LENGTH_SIZE];
    if (file->size < LENGTH_SIZE)
        return att_fail(err, ATT_BAD_INPUT, file->name,
                        "has %lld bytes, too few for the length of a header",
                        (long long)file->size);
    ATT_TRY(read_bytes(file, 0, length, LENGTH_SIZE, err));
    uint64_t size = header_length(length);
    if (size > ATT_SAFETENSORS_MAX_HEADER || size > (uint64_t)file->size - LENGTH_SIZE)
        return att_fail(err, ATT_BAD_INPUT, file->name,
                        "states a header of %llu bytes, more than it has or than %d",
                        (unsigned long long)size, ATT_SAFETENSORS_MAX_HEADER);
    bytes->length = 0;
    if (att_string_reserve(bytes, LENGTH_SIZE + (size_t)size) != ATT_OK)
        return att_fail_memory(err);
    memcpy(bytes->data, length, LENGTH_SIZE);
    bytes->length = LENGTH_SIZE + (size_t)size;
    ATT_TRY(read_bytes(file, LENGTH_SIZE, bytes->data + LENGTH_SIZE, (size_t)size, err));
    if (size < sizeof start_of_header - 1 ||
        memcmp(bytes->data + LENGTH_SIZE, start_of_header, sizeof start_of_header - 1) != 0)
        return att_fail(err, ATT_BAD_INPUT, file->name, "is not a token file of this version");
    return ATT_OK;
}

static att_status parse_header(att_token_file *file, const att_string *bytes, att_error *err)
{
    const att_json_limits limits = { .size = ATT_SAFETENSORS_MAX_HEADER,
                                     .depth = MAX_DEPTH,
                                     .string = ATT_SAFETENSORS_MAX_STRING };
    att_error cause = { 0 };
    att_status status = att_json_read(&file->header, bytes->data + LENGTH_SIZE,
                                      bytes->length - LENGTH_SIZE, file->name, &limits, &cause);
    return status == ATT_OK ? ATT_OK : att_json_fail_in(err, &cause, "the header", file->name);
}

const char *att_token_file_meta(const att_token_file *file, const char *key)
{
    const att_json *value = att_json_find(att_json_find(file->header.root, "__metadata__"), key);
    return value && value->type == ATT_JSON_STRING ? value->string : NULL;
}

static att_status fail_section(const att_token_file *file, const char *name, att_error *err)
{
    return att_fail(err, ATT_BAD_INPUT, file->name,
                    "the tensor '%s': its dtype, shape and data_offsets do not fit each other or "
                    "the file",
                    name);
}

static bool dtype_fits(att_token_dtype *out, const att_section_spec *spec, const char *name)
{
    for (size_t i = 0; i < ATT_COUNT(dtypes); i++)
        if (strcmp(dtypes[i].name, name) == 0) {
            *out = (att_token_dtype)i;
            return spec->is_ids ? i == ATT_TOKEN_U16 || i == ATT_TOKEN_I32 : i == spec->dtype;
        }
    return false;
}

static att_status find_members(const char **dtype, const att_json **shape, const att_json **offsets,
                               const att_json **count, const att_json *value, const char *name,
                               att_error *err)
{
    const att_json *begin, *end;
    ATT_TRY(att_json_get_string(dtype, value, "dtype", name, err));
    ATT_TRY(att_json_get(shape, value, "shape", ATT_JSON_ARRAY, name, err));
    ATT_TRY(att_json_get(offsets, value, "data_offsets", ATT_JSON_ARRAY, name, err));
    ATT_TRY(att_json_get_item(count, *shape, 0, ATT_JSON_INTEGER, name, err));
    ATT_TRY(att_json_get_item(&begin, *offsets, 0, ATT_JSON_INTEGER, name, err));
    return att_json_get_item(&end, *offsets, 1, ATT_JSON_INTEGER, name, err);
}

/* The error names the tensor, which is one of the sections. */
static att_status get_members(const char **dtype, const att_json **shape, const att_json **offsets,
                              const att_json **count, const att_json *value, const char *name,
                              att_error *err)
{
    char part[80];
    att_error cause = { 0 };
    att_status status = find_members(dtype, shape, offsets, count, value, name, &cause);
    if (status == ATT_OK)
        return ATT_OK;
    snprintf(part, sizeof part, "the tensor '%s'", value->key);
    return att_json_fail_in(err, &cause, part, name);
}

/* `next` is where the sections before it end: sections follow each other without gap. */
static att_status place_section(att_token_file *file, const att_json *value, att_token_split split,
                                att_token_section section, uint64_t *next, att_error *err)
{
    att_section_place *place = &file->sections[split][section];
    const char *dtype, *name = value->key;
    const att_json *shape, *offsets, *count;
    ATT_TRY(get_members(&dtype, &shape, &offsets, &count, value, file->name, err));
    if (shape->count != 1 || offsets->count != 2 || count->integer < 0 ||
        !dtype_fits(&place->dtype, &att_section_specs[section], dtype))
        return fail_section(file, name, err);
    uint64_t data = *next, left = (uint64_t)file->size - data;
    size_t size = dtypes[place->dtype].size;
    if ((uint64_t)count->integer > left / size)
        return fail_section(file, name, err);
    place->count = count->integer;
    place->begin = data;
    *next = data + (uint64_t)place->count * size;
    return ATT_OK;
}

/* The offsets that the header states for a section must be where it was placed. */
static att_status check_offsets(const att_token_file *file, const att_json *value,
                                const att_section_place *place, uint64_t data, att_error *err)
{
    const att_json *offsets = att_json_find(value, "data_offsets");
    uint64_t begin = place->begin - data;
    uint64_t end = begin + (uint64_t)place->count * dtypes[place->dtype].size;
    if (offsets->items[0].integer != (int64_t)begin || offsets->items[1].integer != (int64_t)end)
        return fail_section(file, value->key, err);
    return ATT_OK;
}

static bool find_section(const char *name, att_token_split *split, att_token_section *section)
{
    for (int s = 0; s < ATT_TOKENS_SPLITS; s++)
        for (int i = 0; i < ATT_SECTIONS; i++) {
            char own[64];
            snprintf(own, sizeof own, "%s.%s", att_token_split_names[s], att_section_specs[i].name);
            *split = (att_token_split)s;
            *section = (att_token_section)i;
            if (strcmp(own, name) == 0)
                return true;
        }
    return false;
}

/* The tensors of the header are in the order of the file. */
static att_status place_sections(att_token_file *file, size_t header_size, att_error *err)
{
    const att_json *root = file->header.root;
    uint64_t next = header_size;
    for (size_t i = 0; i < root->count; i++) {
        const att_json *value = &root->items[i];
        att_token_split split;
        att_token_section section;
        if (strcmp(value->key, "__metadata__") == 0)
            continue;
        if (!find_section(value->key, &split, &section))
            return att_fail(err, ATT_BAD_INPUT, file->name, "has a tensor that no token file has");
        ATT_TRY(place_section(file, value, split, section, &next, err));
        ATT_TRY(check_offsets(file, value, &file->sections[split][section], header_size, err));
    }
    if (next != (uint64_t)file->size)
        return att_fail(err, ATT_BAD_INPUT, file->name,
                        "has %lld bytes, expected %llu by its header", (long long)file->size,
                        (unsigned long long)next);
    return ATT_OK;
}

/* ---- the checksum */

static att_status hash_section(const att_token_file *file, const att_section_place *place,
                               att_checksum_part *part, char *piece, int64_t *done, att_error *err)
{
    uint64_t size = (uint64_t)place->count * dtypes[place->dtype].size;
    att_sha256 hash;
    att_sha256_begin(&hash);
    for (uint64_t at = 0; at < size;) {
        size_t take = size - at < READ_PIECE ? (size_t)(size - at) : READ_PIECE;
        ATT_TRY(read_bytes(file, place->begin + at, piece, take, err));
        att_sha256_add(&hash, piece, take);
        at += take;
        *done += (int64_t)take;
        ATT_TRY(att_progress_step(*done, err));
    }
    att_sha256_end_hex(&hash, part->digest);
    return ATT_OK;
}

static att_status hash_sections(const att_token_file *file, att_checksum_part *parts, size_t *count,
                                char (*names)[64], att_error *err)
{
    char *piece = att_alloc(READ_PIECE, 1);
    int64_t done = 0;
    att_status status = piece ? ATT_OK : att_fail_memory(err);
    for (int s = 0; s < ATT_TOKENS_SPLITS; s++)
        for (int i = 0; status == ATT_OK && i < ATT_SECTIONS; i++) {
            snprintf(names[*count], sizeof names[*count], "%s.%s", att_token_split_names[s],
                     att_section_specs[i].name);
            if (!att_json_find(file->header.root, names[*count]))
                continue;
            parts[*count].name = names[*count];
            status =
                hash_section(file, &file->sections[s][i], &parts[(*count)++], piece, &done, err);
        }
    att_free(piece);
    return status;
}

/* A file may lack a checksum, as a model file may; but a flipped bit of its key must not turn the
 * comparison off. */
static att_status find_checksum(const char **value, const att_token_file *file, att_error *err)
{
    const att_json *metadata = att_json_find(file->header.root, "__metadata__");
    *value = att_token_file_meta(file, ATT_KEY_CHECKSUM);
    for (size_t i = 0; !*value && metadata && i < metadata->count; i++)
        if (metadata->items[i].type == ATT_JSON_STRING &&
            att_checksum_is_value(metadata->items[i].string))
            return att_fail(err, ATT_BAD_INPUT, file->name,
                            "has its checksum under another name: the file was damaged or changed");
    return ATT_OK;
}

/* Compares the header, and with `verify` the sections. */
static att_status check_sums(const att_token_file *file, const att_string *header, bool verify,
                             att_error *err)
{
    att_checksum_part parts[ATT_TOKENS_SPLITS * ATT_SECTIONS] = { 0 };
    char names[ATT_TOKENS_SPLITS * ATT_SECTIONS][64];
    size_t count = 0;
    const char *value;
    ATT_TRY(find_checksum(&value, file, err));
    if (!value)
        return ATT_OK;
    if (verify) {
        att_progress_scope scope;
        att_progress_begin(&scope, "checking the token file", file->size);
        att_status status = hash_sections(file, parts, &count, names, err);
        ATT_TRY(att_progress_end(&scope, status, err));
    }
    const att_checksum_source source = { .file = file->name,
                                         .value = value,
                                         .header = header->data,
                                         .header_size = header->length,
                                         .parts = parts,
                                         .count = count };
    return att_checksum_compare_digests(&source, err);
}

/* ---- opening */

static att_status open_file(att_token_file *file, const char *path, att_error *err)
{
    struct stat info;
    do
        file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (file->fd < 0 && errno == EINTR);
    if (file->fd < 0)
        return att_file_fail(err, path, "open", errno);
    if (fstat(file->fd, &info) != 0)
        return att_file_fail(err, path, "read", errno);
    if (!S_ISREG(info.st_mode))
        return att_fail(err, ATT_BAD_INPUT, path, "is not a regular file, expected a token file");
    file->size = info.st_size;
    file->modified_seconds = info.st_mtim.tv_sec;
    file->modified_nanoseconds = info.st_mtim.tv_nsec;
    return ATT_OK;
}

static att_status open_checked(att_token_file *file, const char *path, bool verify, att_error *err)
{
    att_string header = { 0 };
    ATT_TRY(open_file(file, path, err));
    att_status status = read_header(file, &header, err);
    if (status == ATT_OK)
        status = parse_header(file, &header, err);
    if (status == ATT_OK)
        status = place_sections(file, header.length, err);
    if (status == ATT_OK)
        status = check_sums(file, &header, verify, err);
    att_string_free(&header);
    return status;
}

att_status att_token_file_new(att_token_file **out, const char *path, att_error *err)
{
    att_token_file *file = *out = att_alloc_zero(1, sizeof *file);
    if (!file)
        return att_fail_memory(err);
    file->fd = -1;
    size_t length = strlen(path) + 1;
    file->name = att_alloc(length, 1);
    if (!file->name) {
        att_token_file_free(file);
        *out = NULL;
        return att_fail_memory(err);
    }
    memcpy(file->name, path, length);
    return ATT_OK;
}

att_status att_token_file_open(att_token_file **out, const char *path, bool verify, att_error *err)
{
    ATT_TRY(att_token_file_new(out, path, err));
    att_status status = open_checked(*out, path, verify, err);
    if (status != ATT_OK) {
        att_token_file_free(*out);
        *out = NULL;
    }
    return status;
}

void att_token_file_free(att_token_file *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    att_json_free(&file->header);
    att_free(file->name);
    att_free(file);
}
