/* Getters for JSON values: they check the type, and their errors say what was expected and what was
 * found. */
#include "base/json.h"

#include "base/error.h"
#include "base/quote.h"

#include <stdio.h>
#include <string.h>

static const char *const type_names[] = {
    [ATT_JSON_NULL] = "null",
    [ATT_JSON_BOOL] = "true or false",
    [ATT_JSON_INTEGER] = "a whole number",
    [ATT_JSON_NUMBER] = "a number",
    [ATT_JSON_STRING] = "a string",
    [ATT_JSON_ARRAY] = "an array",
    [ATT_JSON_OBJECT] = "an object",
};

/* Room for ` for "key"[index]`. */
enum { PLACE_SIZE = ATT_QUOTED_SIZE + 40 };

static bool has_type(const att_json *value, att_json_type type)
{
    return value->type == type || (type == ATT_JSON_NUMBER && value->type == ATT_JSON_INTEGER);
}

static const char *found_name(const att_json *value, att_json_type expected)
{
    if (value->type == ATT_JSON_BOOL)
        return value->boolean ? "true" : "false";
    if (value->type == ATT_JSON_NUMBER && expected == ATT_JSON_INTEGER)
        return "a number with a fraction, an exponent or too many digits";
    return type_names[value->type];
}

/* `place` is ` for "key"` or the like; empty for the root. */
static att_status expect(const att_json *value, att_json_type type, const char *place,
                         const char *name, att_error *err)
{
    if (has_type(value, type))
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name, "expected %s%s, found %s", type_names[type], place,
                    found_name(value, type));
}

/* Formats ` for "key"`, or an empty string without a key. */
static const char *key_place(char out[PLACE_SIZE], const char *key)
{
    char quoted[ATT_QUOTED_SIZE];
    out[0] = '\0';
    if (key)
        snprintf(out, PLACE_SIZE, " for \"%s\"", att_quote(quoted, key, strlen(key)));
    return out;
}

att_status att_json_expect(const att_json *value, att_json_type type, const char *name,
                           att_error *err)
{
    char place[PLACE_SIZE];
    return expect(value, type, key_place(place, value->key), name, err);
}

att_status att_json_get(const att_json **out, const att_json *object, const char *key,
                        att_json_type type, const char *name, att_error *err)
{
    char place[PLACE_SIZE];
    ATT_TRY(att_json_expect(object, ATT_JSON_OBJECT, name, err));
    *out = att_json_find(object, key);
    if (!*out)
        return att_fail(err, ATT_BAD_INPUT, name, "expected %s%s, which is missing",
                        type_names[type], key_place(place, key));
    return att_json_expect(*out, type, name, err);
}

att_status att_json_get_item(const att_json **out, const att_json *array, size_t index,
                             att_json_type type, const char *name, att_error *err)
{
    char place[PLACE_SIZE], item[PLACE_SIZE + 24];
    ATT_TRY(att_json_expect(array, ATT_JSON_ARRAY, name, err));
    key_place(place, array->key);
    if (index >= array->count)
        return att_fail(err, ATT_BAD_INPUT, name, "expected more than %zu items%s, found %zu",
                        index, place, array->count);
    *out = &array->items[index];
    snprintf(item, sizeof item, array->key ? "%s[%zu]" : "%s for item %zu", place, index);
    return expect(*out, type, item, name, err);
}

att_status att_json_get_bool(bool *out, const att_json *object, const char *key, const char *name,
                             att_error *err)
{
    const att_json *value;
    ATT_TRY(att_json_get(&value, object, key, ATT_JSON_BOOL, name, err));
    *out = value->boolean;
    return ATT_OK;
}

att_status att_json_get_integer(int64_t *out, const att_json *object, const char *key,
                                const char *name, att_error *err)
{
    const att_json *value;
    ATT_TRY(att_json_get(&value, object, key, ATT_JSON_INTEGER, name, err));
    *out = value->integer;
    return ATT_OK;
}

att_status att_json_get_number(double *out, const att_json *object, const char *key,
                               const char *name, att_error *err)
{
    const att_json *value;
    ATT_TRY(att_json_get(&value, object, key, ATT_JSON_NUMBER, name, err));
    *out = value->number;
    return ATT_OK;
}

att_status att_json_get_string(const char **out, const att_json *object, const char *key,
                               const char *name, att_error *err)
{
    const att_json *value;
    ATT_TRY(att_json_get(&value, object, key, ATT_JSON_STRING, name, err));
    *out = value->string;
    return ATT_OK;
}

/* ---- errors */

att_status att_json_fail_in(att_error *err, const att_error *cause, const char *part,
                            const char *name)
{
    if (cause->status == ATT_NO_MEMORY)
        return att_fail_memory(err);
    if (cause->line == 0)
        return att_fail(err, cause->status, name, "%s: %s", part, cause->message);
    return att_fail(err, cause->status, name, "%s: line %d, column %d: %s", part, cause->line,
                    cause->column, cause->message);
}
