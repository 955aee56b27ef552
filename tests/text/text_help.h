/* Text files and settings for tests of language model data. */
#ifndef TESTS_TEXT_HELP_H
#define TESTS_TEXT_HELP_H

#include "base/file.h"
#include "data/data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Writes a file into a new folder under /tmp and stores its path. */
static inline void text_file(char path[64], const char *bytes, size_t length)
{
    char folder[] = "/tmp/attend-text-XXXXXX";
    assert_non_null(mkdtemp(folder));
    snprintf(path, 64, "%s/t", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static inline void text_remove(const char *path)
{
    char folder[64];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* The settings of a language model, with pairs of keys and values that differ, ended by NULL. */
static inline att_settings *text_settings(const char *path, const char *const *given)
{
    att_settings *settings;
    att_error err = { 0 };
    assert_int_equal(att_settings_new(&settings, "lm", NULL), ATT_OK);
    assert_int_equal(att_settings_set(settings, "train", path, NULL), ATT_OK);
    for (; given && given[0]; given += 2)
        if (att_settings_set(settings, given[0], given[1], &err) != ATT_OK)
            fail_msg("%s", err.message);
    return settings;
}

#define GIVEN_TEXT(...) ((const char *const[]){ __VA_ARGS__, NULL })

#endif
