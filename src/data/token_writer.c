/* Writing token files; see token_writer.h. */
#include "data/token_writer.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/sha256.h"
#include "base/string.h"
#include "data/token_file_internal.h"
#include "tensor/checksum.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_SIZE = 1 << 18, LENGTH_SIZE = 8, ALIGNMENT = 64, TENSOR_HEADER = 256 };

/* The section that is written to its place at once: the first of the file. */
#define DIRECT_SPLIT   ATT_TOKENS_TRAIN
#define DIRECT_SECTION ATT_SECTION_TARGET_IDS

typedef struct section_writer {
    bool used;
    int fd; /* of its temporary file, or of the output */
    att_token_dtype dtype;
    int64_t count;
    att_sha256 hash;
    unsigned char *buffer; /* [BUFFER_SIZE] */
    size_t buffered;
    char digest[ATT_SHA256_HEX_SIZE];
} section_writer;

struct att_token_writer {
    const char *path; /* borrowed */
    att_file_output output;
    size_t header_size; /* reserved, the length included */
    section_writer sections[ATT_TOKENS_SPLITS][ATT_SECTIONS];
    att_token_file *view; /* reads the assembled sections */
};

/* ---- bytes */

static att_status write_bytes(const att_token_writer *writer, int fd, const void *bytes,
                              size_t size, att_error *err)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t put = write(fd, at, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return att_file_fail(err, writer->path, "write", errno);
        at += put;
        size -= (size_t)put;
    }
    return ATT_OK;
}

static att_status flush(const att_token_writer *writer, section_writer *section, att_error *err)
{
    att_sha256_add(&section->hash, section->buffer, section->buffered);
    size_t size = section->buffered;
    section->buffered = 0;
    return write_bytes(writer, section->fd, section->buffer, size, err);
}

/* ---- starting */

att_status att_token_writer_new(att_token_writer **out, const char *path,
                                const int32_t vocab_sizes[2], size_t header, att_error *err)
{
    att_token_writer *writer = *out = att_alloc_zero(1, sizeof *writer);
    if (!writer)
        return att_fail_memory(err);
    writer->path = path;
    writer->output.fd = -1;
    writer->header_size = att_round_up(
        LENGTH_SIZE + header + (size_t)ATT_TOKENS_SPLITS * ATT_SECTIONS * TENSOR_HEADER, ALIGNMENT);
    att_status status = att_token_file_new(&writer->view, path, err);
    if (status == ATT_OK)
        status = att_file_output_start(&writer->output, path, err);
    if (status == ATT_OK && lseek(writer->output.fd, (off_t)writer->header_size, SEEK_SET) < 0)
        status = att_file_fail(err, path, "write", errno);
    if (status != ATT_OK) {
        att_token_writer_free(writer);
        *out = NULL;
        return status;
    }
    memcpy(writer->view->vocab_sizes, vocab_sizes, sizeof writer->view->vocab_sizes);
    return ATT_OK;
}

static att_status start_section(att_token_writer *writer, att_token_split split,
                                att_token_section section, att_error *err)
{
    section_writer *to = &writer->sections[split][section];
    const att_section_spec *spec = &att_section_specs[section];
    int32_t size = writer->view->vocab_sizes[section == ATT_SECTION_TARGET_IDS];
    to->dtype = !spec->is_ids ? spec->dtype : size <= 1 << 16 ? ATT_TOKEN_U16 : ATT_TOKEN_I32;
    to->buffer = att_alloc(BUFFER_SIZE, 1);
    if (!to->buffer)
        return att_fail_memory(err);
    if (split == DIRECT_SPLIT && section == DIRECT_SECTION)
        to->fd = writer->output.fd;
    else
        ATT_TRY(att_temp_file_open(&to->fd, writer->path, err));
    to->used = true;
    att_sha256_begin(&to->hash);
    return ATT_OK;
}

/* ---- adding */

static uint64_t value_at(const void *values, att_token_dtype dtype, int64_t i)
{
    if (dtype == ATT_TOKEN_I64)
        return (uint64_t)((const int64_t *)values)[i];
    if (dtype == ATT_TOKEN_U8)
        return ((const unsigned char *)values)[i];
    return (uint32_t)((const int32_t *)values)[i];
}

att_status att_token_writer_add(att_token_writer *writer, att_token_split split,
                                att_token_section section, const void *values, int64_t count,
                                att_error *err)
{
    section_writer *to = &writer->sections[split][section];
    if (!to->used)
        ATT_TRY(start_section(writer, split, section, err));
    size_t size = att_token_dtype_size(to->dtype);
    for (int64_t i = 0; i < count; i++) {
        if (to->buffered + size > BUFFER_SIZE)
            ATT_TRY(flush(writer, to, err));
        uint64_t value = value_at(values, to->dtype, i);
        for (size_t k = 0; k < size; k++)
            to->buffer[to->buffered++] = (unsigned char)(value >> (8 * k));
    }
    to->count += count;
    return ATT_OK;
}

int64_t att_token_writer_count(const att_token_writer *writer, att_token_split split,
                               att_token_section section)
{
    return writer->sections[split][section].count;
}

/* ---- completing */

/* Appends the temporary file of a section to the output. */
static att_status append_section(att_token_writer *writer, section_writer *from, att_error *err)
{
    off_t at = 0;
    ssize_t got;
    do {
        got = pread(from->fd, from->buffer, BUFFER_SIZE, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return att_file_fail(err, writer->path, "read a temporary file beside it", errno);
        at += got;
        ATT_TRY(write_bytes(writer, writer->output.fd, from->buffer, (size_t)got, err));
        ATT_TRY(att_progress_check(err));
    } while (got != 0);
    close(from->fd);
    from->fd = -1;
    return ATT_OK;
}

static att_status assemble_section(att_token_writer *writer, att_token_split split,
                                   att_token_section section, uint64_t *next, att_error *err)
{
    section_writer *from = &writer->sections[split][section];
    if (!from->used)
        return ATT_OK;
    bool direct = split == DIRECT_SPLIT && section == DIRECT_SECTION;
    ATT_TRY(flush(writer, from, err));
    att_sha256_end_hex(&from->hash, from->digest);
    if (!direct)
        ATT_TRY(append_section(writer, from, err));
    writer->view->sections[split][section] =
        (att_section_place){ .begin = *next, .count = from->count, .dtype = from->dtype };
    *next += (uint64_t)from->count * att_token_dtype_size(from->dtype);
    return ATT_OK;
}

/* Calls `EACH` for the sections in the order of the file. */
#define FOR_SECTIONS(EACH)                                                                         \
    do {                                                                                           \
        EACH(DIRECT_SPLIT, DIRECT_SECTION);                                                        \
        for (int s = 0; s < ATT_TOKENS_SPLITS; s++)                                                \
            for (int i = 0; i < ATT_SECTIONS; i++)                                                 \
                if (s != (int)DIRECT_SPLIT || i != (int)DIRECT_SECTION)                            \
                    EACH((att_token_split)s, (att_token_section)i);                                \
    } while (0)

att_status att_token_writer_assemble(att_token_writer *writer, const att_token_file **out,
                                     att_error *err)
{
    uint64_t next = writer->header_size;
#define ASSEMBLE(s, i) ATT_TRY(assemble_section(writer, s, i, &next, err))
    FOR_SECTIONS(ASSEMBLE);
#undef ASSEMBLE
    writer->view->fd = dup(writer->output.fd);
    if (writer->view->fd < 0)
        return att_file_fail(err, writer->path, "read", errno);
    writer->view->size = (int64_t)next;
    *out = writer->view;
    return ATT_OK;
}

static void section_name(char name[64], int split, int section)
{
    snprintf(name, 64, "%s.%s", att_token_split_names[split], att_section_specs[section].name);
}

static void put_section(const att_token_writer *writer, att_json_writer *json,
                        att_token_split split, att_token_section section)
{
    char name[64];
    const att_section_place *place = &writer->view->sections[split][section];
    int64_t begin = (int64_t)(place->begin - writer->header_size);
    if (!writer->sections[split][section].used)
        return;
    section_name(name, split, section);
    att_json_begin_object(json, name);
    att_json_put_string(json, "dtype", att_token_dtype_name(place->dtype));
    att_json_begin_array(json, "shape");
    att_json_put_integer(json, NULL, place->count);
    att_json_end(json);
    att_json_begin_array(json, "data_offsets");
    att_json_put_integer(json, NULL, begin);
    att_json_put_integer(json, NULL,
                         begin + place->count * (int64_t)att_token_dtype_size(place->dtype));
    att_json_end(json);
    att_json_end(json);
}

static att_status make_checksum(att_string *out, const att_token_writer *writer, att_error *err)
{
    att_checksum_part parts[ATT_TOKENS_SPLITS * ATT_SECTIONS] = { 0 };
    char names[ATT_TOKENS_SPLITS * ATT_SECTIONS][64];
    size_t count = 0;
    for (int s = 0; s < ATT_TOKENS_SPLITS; s++)
        for (int i = 0; i < ATT_SECTIONS; i++)
            if (writer->sections[s][i].used) {
                section_name(names[count], s, i);
                parts[count].name = names[count];
                memcpy(parts[count++].digest, writer->sections[s][i].digest,
                       sizeof parts[0].digest);
            }
    return att_checksum_value(out, parts, count, err);
}

static att_status make_header(att_string *out, const att_token_writer *writer,
                              const att_token_meta *metas, size_t count, const char *checksum,
                              att_error *err)
{
    att_json_writer json = att_json_begin(out, ATT_JSON_EXACT);
    att_json_begin_object(&json, NULL);
    att_json_begin_object(&json, "__metadata__");
    att_json_put_string(&json, ATT_KEY_FORMAT, ATT_TOKENS_FORMAT);
    for (size_t i = 0; i < count; i++)
        if (metas[i].value)
            att_json_put_string(&json, metas[i].key, metas[i].value);
    att_json_put_string(&json, ATT_KEY_CHECKSUM, checksum);
    att_json_end(&json);
#define PUT(s, i) put_section(writer, &json, s, i)
    FOR_SECTIONS(PUT);
#undef PUT
    att_json_end(&json);
    return att_json_finish(&json, writer->path, err);
}

/* Pads the header to its place and seals it. */
static att_status complete_header(att_string *header, const att_token_writer *writer,
                                  att_error *err)
{
    if (header->length > writer->header_size)
        return att_fail(err, ATT_BAD_INPUT, writer->path,
                        "the names of the files and what was chosen need %zu bytes in the header, "
                        "expected at most %zu",
                        header->length, writer->header_size);
    if (att_string_repeat(header, " ", (int64_t)(writer->header_size - header->length)) != ATT_OK)
        return att_fail_memory(err);
    uint64_t length = writer->header_size - LENGTH_SIZE;
    for (size_t i = 0; i < LENGTH_SIZE; i++)
        header->data[i] = (char)(unsigned char)(length >> (8 * i));
    att_checksum_seal_header(header->data, header->length);
    return ATT_OK;
}

static att_status write_header(att_token_writer *writer, const att_string *header, att_error *err)
{
    if (lseek(writer->output.fd, 0, SEEK_SET) < 0)
        return att_file_fail(err, writer->path, "write", errno);
    return write_bytes(writer, writer->output.fd, header->data, header->length, err);
}

att_status att_token_writer_finish(att_token_writer *writer, const att_token_meta *metas,
                                   size_t count, att_error *err)
{
    att_string header = { 0 }, checksum = { 0 };
    att_status status = att_string_append(&header, "\0\0\0\0\0\0\0\0", LENGTH_SIZE) == ATT_OK
                            ? make_checksum(&checksum, writer, err)
                            : att_fail_memory(err);
    if (status == ATT_OK)
        status = make_header(&header, writer, metas, count, checksum.data, err);
    if (status == ATT_OK)
        status = complete_header(&header, writer, err);
    if (status == ATT_OK)
        status = write_header(writer, &header, err);
    if (status == ATT_OK)
        status = att_file_output_finish(&writer->output, writer->path, err);
    att_string_free(&header);
    att_string_free(&checksum);
    return status;
}

void att_token_writer_free(att_token_writer *writer)
{
    if (!writer)
        return;
    for (int s = 0; s < ATT_TOKENS_SPLITS; s++)
        for (int i = 0; i < ATT_SECTIONS; i++) {
            section_writer *section = &writer->sections[s][i];
            bool direct = s == (int)DIRECT_SPLIT && i == (int)DIRECT_SECTION;
            if (section->used && !direct && section->fd >= 0)
                close(section->fd);
            att_free(section->buffer);
        }
    att_file_output_abandon(&writer->output);
    att_token_file_free(writer->view);
    att_free(writer);
}
