/* Shared by the tests of settings. */
#ifndef TESTS_SETTINGS_SETTINGS_HELP_H
#define TESTS_SETTINGS_SETTINGS_HELP_H

#include "base/alloc.h"
#include "settings/setting_specs.h"
#include "settings/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static inline att_settings *settings_of(const char *task)
{
    att_settings *settings;
    att_error err = { 0 };
    if (att_settings_new(&settings, task, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return settings;
}

static inline void set(att_settings *settings, const char *key, const char *value)
{
    att_error err = { 0 };
    if (att_settings_set(settings, key, value, &err) != ATT_OK)
        fail_msg("%s", err.message);
}

static inline void assert_value(const att_settings *settings, const char *key, const char *value)
{
    att_string got = { 0 };
    assert_int_equal(att_settings_get(&got, settings, key, NULL), ATT_OK);
    assert_string_equal(got.data ? got.data : "", value);
    att_string_free(&got);
}

#endif
