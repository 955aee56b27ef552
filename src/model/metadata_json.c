/* What a training loop or an import left in a model's metadata; see format.h and model.h. */
#include "model/model_file.h"

#include "base/error.h"
#include "base/string.h"

#ifdef ATT_HAVE_JANSSON
#include <jansson.h>

att_status att_metadata_check(const char *json, const char *key, const char *name, att_error *err)
{
    json_error_t why;
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &why);
    bool good = json_is_object(root);
    json_decref(root);
    if (good)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name, "its metadata '%s' is no JSON object", key);
}

static att_status print_value(att_string *out, const char *key, const json_t *value)
{
    if (json_is_string(value))
        return att_string_printf(out, "  %-18s %s\n", key, json_string_value(value));
    if (json_is_integer(value))
        return att_string_printf(out, "  %-18s %lld\n", key, (long long)json_integer_value(value));
    if (json_is_real(value))
        return att_string_printf(out, "  %-18s %.6g\n", key, json_real_value(value));
    if (json_is_boolean(value))
        return att_string_printf(out, "  %-18s %s\n", key, json_is_true(value) ? "yes" : "no");
    return ATT_OK; /* objects are for programs */
}

static att_status print_cell(att_string *out, const json_t *value)
{
    if (json_is_integer(value))
        return att_string_printf(out, " %14lld", (long long)json_integer_value(value));
    return att_string_printf(out, " %14.6g", json_number_value(value));
}

/* A list of objects with the same keys as a table: the course of training. */
static att_status print_table(att_string *out, const char *key, const json_t *list)
{
    size_t index;
    json_t *row, *value;
    const char *column;
    ATT_TRY(att_string_printf(out, "  %s\n ", key));
    json_object_foreach(json_array_get(list, 0), column, value)
    {
        ATT_TRY(att_string_printf(out, " %14s", column));
    }
    json_array_foreach(list, index, row)
    {
        ATT_TRY(att_string_puts(out, "\n "));
        json_object_foreach(row, column, value)
        {
            ATT_TRY(print_cell(out, value));
        }
    }
    return att_string_puts(out, "\n");
}

att_status att_metadata_print(att_string *out, const char *json)
{
    json_error_t why;
    json_t *root = json_loads(json, 0, &why);
    att_status status = ATT_OK;
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value)
    {
        status = json_is_array(value) ? print_table(out, key, value) : print_value(out, key, value);
        if (status != ATT_OK)
            break;
    }
    json_decref(root);
    return status;
}

att_status att_metadata_write(att_string *out, const att_metadata_entry *notes, size_t count,
                              att_error *err)
{
    json_t *root = json_object();
    bool good = root;
    for (size_t i = 0; i < count && good; i++) {
        json_t *value =
            notes[i].text ? json_string(notes[i].text) : json_integer((json_int_t)notes[i].number);
        good = json_object_set_new(root, notes[i].key, value) == 0;
    }
    good = good && json_dump_callback(root, att_string_write_callback, out, JSON_COMPACT) == 0;
    json_decref(root);
    return good ? ATT_OK : att_fail_memory(err);
}

#else

att_status att_metadata_check(const char *json, const char *key, const char *name, att_error *err)
{
    (void)json;
    (void)key;
    return att_fail(err, ATT_UNSUPPORTED, name, "this build cannot read models: it lacks jansson");
}

att_status att_metadata_print(att_string *out, const char *json)
{
    (void)out;
    (void)json;
    return ATT_OK;
}

att_status att_metadata_write(att_string *out, const att_metadata_entry *notes, size_t count,
                              att_error *err)
{
    (void)out;
    (void)notes;
    (void)count;
    return att_fail(err, ATT_UNSUPPORTED, NULL, "this build cannot write models: it lacks jansson");
}

#endif
