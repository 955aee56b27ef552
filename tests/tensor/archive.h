/* Zip archives in which every field can be wrong. */
#ifndef TESTS_TENSOR_ARCHIVE_H
#define TESTS_TENSOR_ARCHIVE_H

#include "tensor/bytes.h"

#include <string.h>

enum { STORED = 0, DEFLATED = 8, MAX_ENTRIES = 4 };

typedef struct entry {
    const char *name;
    const att_string *content; /* as stored in the archive */
    unsigned method;
    unsigned flags;
    uint32_t checksum_error; /* added to the true one */
    uint64_t size;           /* stated; 0: that of the content */
    uint64_t packed;         /* stated; 0: that of the content */
    uint64_t offset_error;   /* added to the place of the entry in the directory */
} entry;

static inline uint32_t checksum(const char *bytes, size_t size)
{
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = 0; i < size; i++) {
        crc ^= (unsigned char)bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    return ~crc;
}

/* The part that both headers of an entry share, from the version needed to the length of the name.
 */
static inline void put_common(att_string *file, const entry *one)
{
    /* Deflated content here is one stored block: five bytes of header, then the bytes. */
    size_t skip = one->method == DEFLATED && one->content->length >= 5 ? 5 : 0;
    size_t size = one->content->length - skip;
    put_number(file, 20, 2);
    put_number(file, one->flags, 2);
    put_number(file, one->method, 2);
    put_number(file, 0, 4); /* date */
    put_number(file, checksum(one->content->data + skip, size) + one->checksum_error, 4);
    put_number(file, one->packed ? one->packed : one->content->length, 4);
    put_number(file, one->size ? one->size : size, 4);
    put_number(file, strlen(one->name), 2);
}

static inline void put_entry(att_string *file, const entry *one)
{
    put(file, "PK\3\4", 4);
    put_common(file, one);
    put_number(file, 0, 2); /* no extra field */
    put(file, one->name, strlen(one->name));
    put(file, one->content->data, one->content->length);
}

static inline void put_directory(att_string *file, const entry *entries, const size_t *starts,
                                 size_t count)
{
    size_t directory = file->length;
    for (size_t i = 0; i < count; i++) {
        put(file, "PK\1\2", 4);
        put_number(file, 20, 2);
        put_common(file, &entries[i]);
        put_zeros(file, 2 + 2 + 2 + 2 + 4); /* extra, comment, disk, attributes */
        put_number(file, starts[i] + entries[i].offset_error, 4);
        put(file, entries[i].name, strlen(entries[i].name));
    }
    size_t end = file->length;
    put(file, "PK\5\6", 4);
    put_zeros(file, 4);
    put_number(file, count, 2);
    put_number(file, count, 2);
    put_number(file, end - directory, 4);
    put_number(file, directory, 4);
    put_number(file, 0, 2);
}

static inline att_string archive(const entry *entries, size_t count)
{
    att_string file = { 0 };
    size_t starts[MAX_ENTRIES];
    for (size_t i = 0; i < count; i++) {
        starts[i] = file.length;
        put_entry(&file, &entries[i]);
    }
    put_directory(&file, entries, starts, count);
    return file;
}

#endif
