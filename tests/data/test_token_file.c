/* Opening and reading token files: headers that contradict themselves or the file, elements that
 * contradict each other, and failing reads. */
#include "data/token_file.h"

#include "data/tokens_help.h"
#include "failing_memory.h"

#include <sys/resource.h>

/* ---- the header */

static void a_file_without_room_for_its_header_is_refused(void **state)
{
    (void)state;
    put("t.tokens", "1234567");
    refuse_to_open("t.tokens", "has 7 bytes, too few for the length of a header");
    put_bytes("t.tokens", "\x05\0\0\0\0\0\0\0{}  ", 12);
    refuse_to_open("t.tokens", "states a header of 5 bytes, more than it has or than 67108864");
    put_bytes("t.tokens", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8);
    refuse_to_open("t.tokens", "states a header of 18446744073709551615 bytes, more than it has or "
                               "than 67108864");
    put_bytes("t.tokens", "\x04\0\0\0\0\0\0\0{}  ", 12);
    refuse_to_open("t.tokens", "is not a token file of this version");
}

static void another_version_is_refused(void **state)
{
    (void)state;
    bool found = true;
    prepare_task("pairs", "t.tokens");
    change_header("t.tokens", "'tokens 1'", "'tokens 2'");
    refuse_to_open("t.tokens", "is not a token file of this version");
    assert_int_equal(att_token_file_detect(&found, "t.tokens", NULL), ATT_OK);
    assert_false(found);
}

#define DO_NOT_FIT                                                                                 \
    "the tensor 'train.target.ids': its dtype, shape and data_offsets do not fit each other or "   \
    "the file"
#define IDS "'train.target.ids':{'dtype':'U16','shape':[6],'data_offsets':[0,12]}"

static void a_tensor_that_does_not_fit_is_named(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { "{'dtype':'F32','shape':[6],'data_offsets':[0,12]}", DO_NOT_FIT },
        { "{'dtype':'I64','shape':[6],'data_offsets':[0,12]}", DO_NOT_FIT },
        { "{'dtype':'U8','shape':[12],'data_offsets':[0,12]}", DO_NOT_FIT },
        { "{'dtype':'U16','shape':[6,1],'data_offsets':[0,12]}", DO_NOT_FIT },
        { "{'dtype':'U16','shape':[6],'data_offsets':[0,12,12]}", DO_NOT_FIT },
        { "{'dtype':'U16','shape':[-1],'data_offsets':[0,-2]}", DO_NOT_FIT },
        { "{'dtype':'U16','shape':[7],'data_offsets':[0,12]}", DO_NOT_FIT },
        { "{'dtype':'U16','shape':[6],'data_offsets':[2,14]}", DO_NOT_FIT },
        { "{'dtype':'U16','shape':[9223372036854775807],'data_offsets':[0,12]}", DO_NOT_FIT },
        { "{'shape':[6],'data_offsets':[0,12]}",
          "the tensor 'train.target.ids': expected a string for \"dtype\", which is missing" },
        { "{'dtype':'U16','data_offsets':[0,12]}",
          "the tensor 'train.target.ids': expected an array for \"shape\", which is missing" },
        { "{'dtype':'U16','shape':[6],'data_offsets':12}",
          "the tensor 'train.target.ids': expected an array for \"data_offsets\", found a whole "
          "number" },
        { "{'dtype':'U16','shape':[],'data_offsets':[0,12]}",
          "the tensor 'train.target.ids': expected more than 0 items for \"shape\", found 0" },
        { "{'dtype':'U16','shape':[6],'data_offsets':['0',12]}",
          "the tensor 'train.target.ids': expected a whole number for \"data_offsets\"[0], found a "
          "string" },
        { "{'dtype':'U16','shape':[6],'data_offsets':[0]}",
          "the tensor 'train.target.ids': expected more than 1 items for \"data_offsets\", found "
          "1" },
        { "[]", "the tensor 'train.target.ids': expected an object for \"train.target.ids\", found "
                "an array" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char changed[256];
        snprintf(changed, sizeof changed, "'train.target.ids':%s", rows[i][0]);
        prepare_task("pairs", "t.tokens");
        change_header("t.tokens", IDS, changed);
        refuse_to_open("t.tokens", rows[i][1]);
    }
}

static void a_tensor_that_no_token_file_has_is_refused(void **state)
{
    (void)state;
    prepare_task("pairs", "t.tokens");
    change_header("t.tokens", "'train.target.ids'", "'train.target.idx'");
    refuse_to_open("t.tokens", "has a tensor that no token file has");
}

static void bytes_beyond_the_tensors_are_refused(void **state)
{
    (void)state;
    char message[128];
    prepare_task("pairs", "t.tokens");
    token_bytes bytes = read_tokens("t.tokens");
    bytes.data[bytes.size] = 0;
    put_bytes("t.tokens", bytes.data, bytes.size + 1);
    snprintf(message, sizeof message, "has %zu bytes, expected %zu by its header", bytes.size + 1,
             bytes.size);
    refuse_to_open("t.tokens", message);
}

static void a_header_that_is_not_json_is_refused(void **state)
{
    (void)state;
    prepare_task("pairs", "t.tokens");
    change_header("t.tokens", "'tokens 1','", "'tokens 1'.'");
    refuse_to_open("t.tokens", "the header: line 1, column 44: expected ',' or '}', found '.'");
}

/* ---- the checksum */

static void a_checksum_under_another_name_is_refused(void **state)
{
    (void)state;
    prepare_task("pairs", "t.tokens");
    token_bytes bytes = read_tokens("t.tokens");
    bytes.data[find_in_header(&bytes, "\"attend.checksum\"") + 1] = 'e';
    put_bytes("t.tokens", bytes.data, bytes.size);
    refuse_to_open("t.tokens",
                   "has its checksum under another name: the file was damaged or changed");
}

static void a_file_may_lack_its_checksum(void **state)
{
    (void)state;
    att_token_file *file;
    prepare_task("pairs", "t.tokens");
    change_header("t.tokens", IDS, IDS);
    assert_int_equal(att_token_file_open(&file, "t.tokens", true, NULL), ATT_OK);
    assert_null(att_token_file_meta(file, "attend.checksum"));
    att_token_file_free(file);
}

/* ---- elements */

static void a_range_beyond_a_tensor_is_refused(void **state)
{
    (void)state;
    static const int64_t ranges[][2] = { { 0, 7 }, { 6, 1 }, { 7, 0 }, { -1, 1 }, { 1, -1 } };
    att_token_file *file;
    int32_t ids[8];
    prepare_task("pairs", "t.tokens");
    assert_int_equal(att_token_file_open(&file, "t.tokens", true, NULL), ATT_OK);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        att_error err = { 0 };
        char message[128];
        att_status status = att_token_file_read(file, ATT_TOKENS_TRAIN, ATT_SECTION_TARGET_IDS,
                                                ranges[i][0], ranges[i][1], ids, &err);
        snprintf(message, sizeof message,
                 "the tensor 'train.target.ids' has 6 elements, expected at least %d",
                 (int)(ranges[i][0] + ranges[i][1]));
        assert_refused(status, &err, "t.tokens", message);
    }
    att_token_file_free(file);
}

static void offsets_must_rise_inside_the_ids(void **state)
{
    (void)state;
    static const struct {
        int64_t index, value;
    } rows[] = { { 0, -1 }, { 1, 7 }, { 2, 1 }, { 3, INT64_MAX }, { 3, INT64_MIN } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_token_file *file;
        att_error err = { 0 };
        int64_t offsets[4];
        char message[160];
        prepare_task("pairs", "t.tokens");
        change_element("t.tokens", ATT_TOKENS_TRAIN, ATT_SECTION_SOURCE_OFFSETS, rows[i].index,
                       rows[i].value);
        assert_int_equal(att_token_file_open(&file, "t.tokens", true, NULL), ATT_OK);
        att_status status =
            att_token_file_offsets(file, ATT_TOKENS_TRAIN, false, 0, 3, offsets, &err);
        snprintf(message, sizeof message,
                 "the tensor 'train.source.offsets' has %lld at index %d, expected a rising number "
                 "up to 6",
                 (long long)rows[i].value, (int)rows[i].index);
        assert_refused(status, &err, "t.tokens", message);
        att_token_file_free(file);
    }
}

/* ---- failures of the system */

static void a_failing_read_is_an_error_of_the_system(void **state)
{
    (void)state;
    att_token_file *file;
    att_error err = { 0 };
    int32_t id;
    prepare_task("pairs", "t.tokens");
    assert_int_equal(att_token_file_open(&file, "t.tokens", true, NULL), ATT_OK);
    assert_int_equal(close(file->fd), 0);
    for (int64_t count = 0; count < 2; count++) { /* of the bytes, and of the time */
        assert_int_equal(att_token_file_read(file, ATT_TOKENS_TRAIN, ATT_SECTION_TARGET_IDS, 0,
                                             count, &id, &err),
                         ATT_SYSTEM);
        assert_string_equal(err.place, "t.tokens");
        assert_non_null(strstr(err.message, "cannot read: "));
    }
    file->fd = -1;
    att_token_file_free(file);
}

static void a_file_that_cannot_be_opened_is_an_error(void **state)
{
    (void)state;
    att_token_file *file;
    att_error err = { 0 };
    bool found = true;
    struct rlimit limit;
    prepare_task("pairs", "t.tokens");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct rlimit none = { 0, limit.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    att_status detected = att_token_file_detect(&found, "t.tokens", NULL);
    att_status opened = att_token_file_open(&file, "t.tokens", false, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(detected, ATT_SYSTEM);
    assert_false(found);
    assert_int_equal(opened, ATT_SYSTEM);
    assert_string_equal(err.place, "t.tokens");
    assert_non_null(strstr(err.message, "cannot open: "));
    assert_null(file);
}

static void only_a_regular_file_is_opened(void **state)
{
    (void)state;
    bool found = true;
    assert_int_equal(mkdir("folder", 0700), 0);
    refuse_to_open("folder", "is not a regular file, expected a token file");
    assert_int_equal(att_token_file_detect(&found, "folder", NULL), ATT_OK);
    assert_false(found);
}

static att_status open_and_free(void *path)
{
    att_token_file *file;
    att_status status = att_token_file_open(&file, path, true, NULL);
    att_token_file_free(file);
    return status;
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    char path[] = "t.tokens";
    prepare_task("pairs", path);
    every_arena_allocation_fails(open_and_free, path, 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_file_without_room_for_its_header_is_refused),
        IN_FOLDER(another_version_is_refused),
        IN_FOLDER(a_tensor_that_does_not_fit_is_named),
        IN_FOLDER(a_tensor_that_no_token_file_has_is_refused),
        IN_FOLDER(bytes_beyond_the_tensors_are_refused),
        IN_FOLDER(a_header_that_is_not_json_is_refused),
        IN_FOLDER(a_checksum_under_another_name_is_refused),
        IN_FOLDER(a_file_may_lack_its_checksum),
        IN_FOLDER(a_range_beyond_a_tensor_is_refused),
        IN_FOLDER(offsets_must_rise_inside_the_ids),
        IN_FOLDER(a_failing_read_is_an_error_of_the_system),
        IN_FOLDER(a_file_that_cannot_be_opened_is_an_error),
        IN_FOLDER(only_a_regular_file_is_opened),
        IN_FOLDER(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
