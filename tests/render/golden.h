/* Comparison with golden files in tests/FOLDER/golden. To record them again after an intended
 * change:
 *
 *     ATTEND_GOLDEN=write build/tests/test_render
 *
 * and read the difference before committing it. Include after cmocka.h. */
#ifndef TEST_GOLDEN_H
#define TEST_GOLDEN_H

#include "attend.h"
#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void golden_path(char *path, size_t size, const char *folder, const char *name)
{
    snprintf(path, size, "%s/tests/%s/golden/%s", ATTEND_SOURCE_DIR, folder, name);
}

/* The number of the first line in which the two differ. */
static inline int first_difference(const char *a, const char *b)
{
    int line = 1;
    for (; *a && *a == *b; a++, b++)
        line += *a == '\n';
    return line;
}

static inline void assert_golden(const char *folder, const char *name, const att_string *text)
{
    char path[512];
    att_string expected = { 0 };
    att_error err = { 0 };
    golden_path(path, sizeof path, folder, name);
    const char *mode = getenv("ATTEND_GOLDEN");
    if (mode && strcmp(mode, "write") == 0)
        assert_int_equal(att_file_save(path, text->data, text->length, &err), ATT_OK);
    if (att_file_read(&expected, path, SIZE_MAX / 4, &err) != ATT_OK)
        fail_msg("%s: %s", path, err.message);
    if (expected.length != text->length || memcmp(expected.data, text->data, text->length) != 0)
        fail_msg("%s differs from line %d on", path, first_difference(expected.data, text->data));
    att_string_free(&expected);
}

#endif
