/* Streams of text: whole lines in parts of any size, compressed files, damaged ones, and reading
 * again from the start. */
#include "data/text_stream.h"

#include "data/unpack.h"
#include "pairs_help.h"

#ifdef ATT_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef ATT_HAVE_ZSTD
#include <zstd.h>
#endif

static const char text[] = "one\n\ntwo words\r\na longer line of some words\nä\nno end";

static att_text_stream *open_stream(const char *path)
{
    att_text_stream *stream;
    att_error err = { 0 };
    if (att_text_stream_open(&stream, path, path, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    return stream;
}

/* Reads all in pieces of `size` bytes. */
static att_status read_all(att_text_stream *stream, att_string *out, size_t size, att_error *err)
{
    size_t before;
    att_status status;
    do {
        before = out->length;
        status = att_text_stream_read(stream, out, size, err);
    } while (status == ATT_OK && out->length > before);
    return status;
}

static void assert_reads(const char *path, const char *expected, size_t length)
{
    att_text_stream *stream = open_stream(path);
    for (size_t size = 1; size < 40; size += 6) {
        att_string got = { 0 };
        assert_int_equal(read_all(stream, &got, size, NULL), ATT_OK);
        assert_int_equal(got.length, length);
        assert_memory_equal(got.data, expected, length);
        att_string_free(&got);
        assert_int_equal(att_text_stream_position(stream), att_text_stream_size(stream));
        assert_int_equal(att_text_stream_rewind(stream, NULL), ATT_OK);
        assert_int_equal(att_text_stream_position(stream), 0);
    }
    att_text_stream_free(stream);
}

static void bytes_are_those_of_the_file(void **state)
{
    (void)state;
    put("t.txt", text);
    assert_reads("t.txt", text, strlen(text));
    put("empty", "");
    assert_reads("empty", "", 0);
}

static void lines_are_whole_in_parts_of_any_size(void **state)
{
    (void)state;
    put("t.txt", text);
    att_text_stream *stream = open_stream("t.txt");
    for (size_t size = 1; size < 70; size++)
        for (int64_t most = 1; most < 8; most += 3) {
            att_string all = { 0 };
            int64_t lines, total = 0;
            do {
                att_string part = { 0 };
                assert_int_equal(att_text_stream_lines(stream, &part, size, most, &lines, NULL),
                                 ATT_OK);
                assert_true(lines <= most);
                total += lines;
                bool is_last = total == 6;
                if (lines > 0)
                    assert_true(is_last || part.data[part.length - 1] == '\n');
                assert_int_equal(lines == 0, part.length == 0);
                assert_int_equal(att_string_append(&all, part.data ? part.data : "", part.length),
                                 ATT_OK);
                att_string_free(&part);
            } while (lines > 0);
            assert_int_equal(total, 6);
            assert_string_equal(all.data, text);
            att_string_free(&all);
            assert_int_equal(att_text_stream_rewind(stream, NULL), ATT_OK);
        }
    att_text_stream_free(stream);
}

static void lines_and_bytes_can_be_mixed(void **state)
{
    (void)state;
    put("t.txt", text);
    att_text_stream *stream = open_stream("t.txt");
    att_string got = { 0 };
    int64_t lines;
    assert_int_equal(att_text_stream_lines(stream, &got, 4, 1, &lines, NULL), ATT_OK);
    assert_string_equal(got.data, "one\n");
    assert_int_equal(read_all(stream, &got, 7, NULL), ATT_OK);
    assert_string_equal(got.data, text);
    att_string_free(&got);
    att_text_stream_free(stream);
}

static void what_is_no_text_is_refused(void **state)
{
    (void)state;
    att_text_stream *stream;
    att_error err = { 0 };
    assert_int_equal(att_text_stream_open(&stream, "none", "none", &err), ATT_BAD_INPUT);
    assert_null(stream);
    assert_int_equal(att_text_stream_open(&stream, ".", ".", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "is a directory, expected a file or a pipe");
    put("x.xz", "\xFD"
                "7zXZ and more");
    assert_int_equal(att_text_stream_open(&stream, "x.xz", "x.xz", &err), ATT_BAD_INPUT);
    put_bytes("m", "\x10\0\0\0\0\0\0\0{\"__metadata__\":{}}", 26);
    assert_int_equal(att_text_stream_open(&stream, "m", "m", &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "is a .safetensors file"));
}

/* ---- compressed files */

#if defined ATT_HAVE_ZLIB || defined ATT_HAVE_ZSTD
/* Whole files, as training reads them. */
static void assert_loads(const char *path, const att_string *expected)
{
    struct att_text_file file;
    assert_int_equal(att_text_file_load(&file, path, NULL), ATT_OK);
    assert_string_equal(file.name, path);
    assert_int_equal(file.text.length, expected->length);
    assert_memory_equal(file.text.data, expected->data, expected->length + 1);
    att_string_free(&file.text);
}

static void assert_is_damaged(const char *path)
{
    struct att_text_file file;
    att_error err = { 0 };
    assert_int_equal(att_text_file_load(&file, path, &err), ATT_BAD_INPUT);
    assert_string_equal(err.place, path);
    assert_non_null(strstr(err.message, "is a damaged"));
    att_string_free(&file.text);
}

static void assert_is_limited(const char *bytes, size_t size, size_t unpacked)
{
    for (size_t limit = unpacked - 1; limit <= unpacked; limit++) {
        att_string packed = { 0 };
        att_error err = { 0 };
        assert_int_equal(att_string_append(&packed, bytes, size), ATT_OK);
        att_status status = att_unpack_text(&packed, limit, "f", &err);
        assert_int_equal(status, limit == unpacked ? ATT_OK : ATT_BAD_INPUT);
        att_string_free(&packed);
    }
}

/* Two streams one after the other; cut off at each place; and with each byte changed. */
static void check_compressed(const char *bytes, size_t size)
{
    char damaged[1000];
    att_error err;
    assert_true(2 * size < sizeof damaged);
    memcpy(damaged, bytes, size);
    memcpy(damaged + size, bytes, size);
    put_bytes("two", damaged, 2 * size);
    att_string twice = { 0 };
    for (int i = 0; i < 2; i++)
        assert_int_equal(att_string_append(&twice, text, strlen(text)), ATT_OK);
    assert_reads("two", twice.data, twice.length);
    assert_loads("two", &twice);
    assert_is_limited(damaged, 2 * size, twice.length);
    att_string_free(&twice);
    for (size_t cut = 5; cut < size; cut++) {
        put_bytes("cut", bytes, cut);
        att_text_stream *stream = open_stream("cut");
        att_string got = { 0 };
        err = (att_error){ 0 };
        assert_int_equal(read_all(stream, &got, 16, &err), ATT_BAD_INPUT);
        assert_string_equal(err.place, "cut");
        assert_non_null(strstr(err.message, "is a damaged"));
        att_string_free(&got);
        att_text_stream_free(stream);
        assert_is_damaged("cut");
    }
}
#endif

static void gzip_files_are_unpacked(void **state)
{
    (void)state;
#ifdef ATT_HAVE_ZLIB
    char packed[400];
    z_stream z = { 0 };
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)strlen(text);
    z.next_out = (Bytef *)packed;
    z.avail_out = sizeof packed;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t size = sizeof packed - z.avail_out;
    deflateEnd(&z);
    check_compressed(packed, size);
    memset(packed + size, 0, 10); /* padding */
    put_bytes("padded", packed, size + 10);
    assert_reads("padded", text, strlen(text));
    assert_loads("padded",
                 &(att_string){ .data = (char *)(uintptr_t)text, .length = strlen(text) });
    packed[size + 9] = 'x';
    put_bytes("cut", packed, size + 10);
    assert_is_damaged("cut");
#else
    skip();
#endif
}

static void zstd_files_are_unpacked(void **state)
{
    (void)state;
#ifdef ATT_HAVE_ZSTD
    char packed[400];
    size_t size = ZSTD_compress(packed, sizeof packed, text, strlen(text), 3);
    assert_false(ZSTD_isError(size));
    check_compressed(packed, size);
#else
    skip();
#endif
}

static void a_missing_library_is_named(void **state)
{
    (void)state;
#if !defined ATT_HAVE_ZLIB && !defined ATT_HAVE_ZSTD
    att_text_stream *stream;
    att_error err = { 0 };
    put("a.gz", "\x1F\x8B\x08 and more");
    assert_int_equal(att_text_stream_open(&stream, "a.gz", "a.gz", &err), ATT_UNSUPPORTED);
    assert_non_null(strstr(err.message, "lacks zlib"));
    put("a.zst", "\x28\xB5\x2F\xFD and more");
    assert_int_equal(att_text_stream_open(&stream, "a.zst", "a.zst", &err), ATT_UNSUPPORTED);
    assert_non_null(strstr(err.message, "lacks libzstd"));
    struct att_text_file file;
    assert_int_equal(att_text_file_load(&file, "a.gz", &err), ATT_UNSUPPORTED);
    assert_non_null(strstr(err.message, "lacks zlib"));
    att_string_free(&file.text);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(bytes_are_those_of_the_file),  IN_FOLDER(lines_are_whole_in_parts_of_any_size),
        IN_FOLDER(lines_and_bytes_can_be_mixed), IN_FOLDER(what_is_no_text_is_refused),
        IN_FOLDER(gzip_files_are_unpacked),      IN_FOLDER(zstd_files_are_unpacked),
        IN_FOLDER(a_missing_library_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
