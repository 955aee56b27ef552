/* JSON in tests: reading a text that must be valid, and members that must exist. */
#ifndef TESTS_JSON_HELP_H
#define TESTS_JSON_HELP_H

#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Reads the text; release with att_json_free(). */
static inline att_json_doc json_of(const att_string *text)
{
    att_json_doc doc;
    att_error err = { 0 };
    if (att_json_read(&doc, text->data, text->length, "json", NULL, &err) != ATT_OK)
        fail_msg("line %d, column %d: %s in %s", err.line, err.column, err.message, text->data);
    return doc;
}

static inline const att_json *member(const att_json *object, const char *key)
{
    const att_json *found = att_json_find(object, key);
    if (!found)
        fail_msg("no \"%s\"", key);
    return found;
}

/* The item `index` of the array `key`. */
static inline const att_json *item(const att_json *object, const char *key, size_t index)
{
    const att_json *array = member(object, key);
    assert_int_equal(array->type, ATT_JSON_ARRAY);
    assert_true(index < array->count);
    return &array->items[index];
}

static inline size_t item_count(const att_json *object, const char *key)
{
    const att_json *array = member(object, key);
    assert_int_equal(array->type, ATT_JSON_ARRAY);
    return array->count;
}

static inline double number_of(const att_json *object, const char *key)
{
    double value = 0;
    assert_int_equal(att_json_get_number(&value, object, key, "json", NULL), ATT_OK);
    return value;
}

static inline const char *string_of(const att_json *object, const char *key)
{
    const char *value = NULL;
    assert_int_equal(att_json_get_string(&value, object, key, "json", NULL), ATT_OK);
    return value;
}

#endif
