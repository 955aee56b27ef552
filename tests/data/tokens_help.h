/* Shared by tests of token files: small valid ones for each task, and changes of one thing in them.
 * A changed file has no checksum, so that what it states is checked, not only that it was changed.
 */
#ifndef TESTS_DATA_TOKENS_HELP_H
#define TESTS_DATA_TOKENS_HELP_H

#include "data/pairs_help.h"
#include "data/prepare.h"
#include "data/prepared.h"
#include "data/token_corpus.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { PREFIX = 8 }; /* bytes of the length of a header */

/* ---- valid files */

static inline att_settings *settings_for(const char *task, const char *train)
{
    att_settings *settings;
    assert_int_equal(att_settings_new(&settings, task, NULL), ATT_OK);
    assert_int_equal(att_settings_set(settings, "train", train, NULL), ATT_OK);
    return settings;
}

static inline void give(att_settings *settings, const char *key, const char *value)
{
    att_error err = { 0 };
    if (att_settings_set(settings, key, value, &err) != ATT_OK)
        fail_msg("%s: %s", key, err.message);
}

/* Prepares `task` into a token file: three examples, or 40 characters, to train on, two to validate
 * on; a text is its own validation data by half. */
static inline void prepare_task(const char *task, const char *path)
{
    static const char *const rows[][3] = {
        { "pairs", "ab\tcd\nabc\tde\nx\tyz\n", "ab\tcd\nx\tyz\n" },
        { "classify", "ab a\tgood\nabc b\tbad\nx\tgood\n", "ab a\tgood\nx\tbad\n" },
        { "tag", "ab a\tA N\nabc b a\tA N N\nx\tN\n", "ab a\tA N\nx\tN\n" },
        { "lm", "abcdabcdabcdabcdabcdabcdabcdabcdabcdabcd", NULL },
    };
    size_t i = 0;
    while (strcmp(rows[i][0], task) != 0)
        i++;
    put("train.txt", rows[i][1]);
    att_settings *settings = settings_for(task, "train.txt");
    if (rows[i][2]) {
        put("valid.txt", rows[i][2]);
        give(settings, "valid", "valid.txt");
    } else {
        give(settings, "tokens", "char");
        give(settings, "valid-fraction", "0.5");
    }
    if (strcmp(task, "pairs") == 0) {
        give(settings, "source-tokens", "char");
        give(settings, "target-tokens", "char");
        give(settings, "copy", "no");
    }
    att_error err = { 0 };
    if (att_prepare(path, settings, NULL, NULL, &err) != ATT_OK)
        fail_msg("%s:%d: %s", err.place, err.line, err.message);
    att_settings_free(settings);
}

/* ---- changes */

typedef struct token_bytes {
    char data[1 << 16];
    size_t size;
} token_bytes;

static inline token_bytes read_tokens(const char *path)
{
    token_bytes out;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    out.size = fread(out.data, 1, sizeof out.data, file);
    assert_true(out.size > PREFIX && out.size < sizeof out.data);
    assert_int_equal(fclose(file), 0);
    return out;
}

static inline size_t header_end(const token_bytes *bytes)
{
    size_t length = 0;
    for (size_t i = PREFIX; i-- > 0;)
        length = length << 8 | (unsigned char)bytes->data[i];
    return PREFIX + length;
}

/* Replaces `count` bytes of the header at `at`. */
static inline void splice(token_bytes *bytes, size_t at, size_t count, const char *with)
{
    size_t length = strlen(with), end = header_end(bytes) - PREFIX + length - count;
    assert_true(bytes->size + length - count < sizeof bytes->data);
    memmove(bytes->data + at + length, bytes->data + at + count, bytes->size - at - count);
    memcpy(bytes->data + at, with, length);
    bytes->size += length - count;
    for (size_t i = 0; i < PREFIX; i++)
        bytes->data[i] = (char)((uint64_t)end >> 8 * i);
}

/* Where a text is in the header; 0: nowhere. */
static inline size_t seek_in_header(const token_bytes *bytes, const char *text)
{
    size_t length = strlen(text), end = header_end(bytes);
    for (size_t at = PREFIX; at + length <= end; at++)
        if (memcmp(bytes->data + at, text, length) == 0)
            return at;
    return 0;
}

static inline size_t find_in_header(const token_bytes *bytes, const char *text)
{
    size_t at = seek_in_header(bytes, text);
    if (at == 0)
        fail_msg("no %s in %.*s", text, (int)header_end(bytes) - PREFIX, bytes->data + PREFIX);
    return at;
}

static inline void drop_checksum(token_bytes *bytes)
{
    static const char key[] = ",\"attend.checksum\":\"";
    size_t begin = seek_in_header(bytes, key), end = begin + sizeof key;
    if (begin == 0)
        return;
    while (bytes->data[end] != '"' || bytes->data[end - 1] == '\\')
        end++;
    splice(bytes, begin, end + 1 - begin, "");
}

/* The texts of changes have ' for ": inside metadata, which are JSON in a string, for \". */
static inline void with_quotes(char *out, size_t size, const char *text, bool escaped)
{
    size_t length = 0;
    for (; *text; text++) {
        assert_true(length + 3 < size);
        if (*text == '\'' && escaped)
            out[length++] = '\\';
        out[length++] = *text == '\'' ? '"' : *text;
    }
    out[length] = '\0';
}

static inline void change(const char *path, const char *from, const char *to, bool escaped)
{
    char before[512], after[512];
    token_bytes bytes = read_tokens(path);
    drop_checksum(&bytes);
    with_quotes(before, sizeof before, from, escaped);
    with_quotes(after, sizeof after, to, escaped);
    splice(&bytes, find_in_header(&bytes, before), strlen(before), after);
    put_bytes(path, bytes.data, bytes.size);
}

static inline void change_header(const char *path, const char *from, const char *to)
{
    change(path, from, to, false);
}

static inline void change_metadata(const char *path, const char *from, const char *to)
{
    change(path, from, to, true);
}

/* Writes the little-endian element `index` of a section. */
static inline void change_element(const char *path, att_token_split split,
                                  att_token_section section, int64_t index, int64_t value)
{
    token_bytes bytes = read_tokens(path);
    drop_checksum(&bytes);
    put_bytes(path, bytes.data, bytes.size);
    att_token_file *file;
    assert_int_equal(att_token_file_open(&file, path, false, NULL), ATT_OK);
    const att_section_place place = file->sections[split][section];
    att_token_file_free(file);
    assert_true(index < place.count);
    size_t size = att_token_dtype_size(place.dtype);
    for (size_t i = 0; i < size; i++)
        bytes.data[place.begin + (size_t)index * size + i] = (char)((uint64_t)value >> 8 * i);
    put_bytes(path, bytes.data, bytes.size);
}

/* ---- errors */

static inline void assert_refused(att_status status, const att_error *err, const char *path,
                                  const char *message)
{
    assert_string_equal(err->message, message);
    assert_string_equal(err->place, path);
    assert_int_equal(status, ATT_BAD_INPUT);
}

static inline void refuse_to_open(const char *path, const char *message)
{
    att_token_file *file;
    att_error err = { 0 };
    att_status status = att_token_file_open(&file, path, true, &err);
    assert_null(file);
    assert_refused(status, &err, path, message);
}

/* Loads the dataset of a token file as training does. */
static inline att_status load_tokens(att_data *out, const char *task, const char *path,
                                     att_error *err)
{
    att_settings *settings = settings_for(task, path);
    att_status status = att_prepared_settings(settings, err);
    if (status == ATT_OK)
        status = att_data_load(out, settings, err);
    att_settings_free(settings);
    return status;
}

static inline void refuse_to_load(const char *task, const char *path, const char *message)
{
    att_data data;
    att_error err = { 0 };
    att_status status = load_tokens(&data, task, path, &err);
    assert_refused(status, &err, path, message);
}

#endif
