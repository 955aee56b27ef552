/* Any bytes as JSON. A value that is read, written and read again has the same bits, and both are
 * written as the same text. Every getter is called on every value, as every type. */
#include "fuzz/fuzz.h"

#include "base/json.h"
#include "base/utf8.h"

/* No deeper than the writer can write, since what is read is written. */
static const att_json_limits limits = { .depth = ATT_JSON_WRITE_DEPTH, .memory = 1 << 26 };

static void check_value(const att_json *value, const att_json *parent)
{
    bool member = parent && parent->type == ATT_JSON_OBJECT;
    PROMISE(member == (value->key != NULL));
    PROMISE(!member || att_json_find(parent, value->key) == value);
    PROMISE(!member || att_utf8_valid(value->key, strlen(value->key)));
    if (value->type == ATT_JSON_STRING) {
        PROMISE(strlen(value->string) == value->length);
        PROMISE(att_utf8_valid(value->string, value->length));
    }
}

static void put_scalar(att_json_writer *out, const att_json *value)
{
    if (value->type == ATT_JSON_BOOL)
        att_json_put_bool(out, value->key, value->boolean);
    else if (value->type == ATT_JSON_INTEGER)
        att_json_put_integer(out, value->key, value->integer);
    else if (value->type == ATT_JSON_NUMBER)
        att_json_put_number(out, value->key, value->number);
    else if (value->type == ATT_JSON_STRING)
        att_json_put_bytes(out, value->key, value->string, value->length);
    else
        att_json_put_null(out, value->key);
}

static void put_tree(att_json_writer *out, const att_json *value, const att_json *parent)
{
    check_value(value, parent);
    if (value->type != ATT_JSON_ARRAY && value->type != ATT_JSON_OBJECT) {
        put_scalar(out, value);
        return;
    }
    if (value->type == ATT_JSON_ARRAY)
        att_json_begin_array(out, value->key);
    else
        att_json_begin_object(out, value->key);
    for (size_t i = 0; i < value->count; i++)
        put_tree(out, &value->items[i], value);
    att_json_end(out);
}

/* Integers that were written as doubles may come back as integers: the doubles are the same. */
static void check_same(const att_json *a, const att_json *b)
{
    if (a->type == ATT_JSON_NUMBER) {
        PROMISE(b->type == ATT_JSON_NUMBER || b->type == ATT_JSON_INTEGER);
        PROMISE(memcmp(&a->number, &b->number, sizeof a->number) == 0);
        return;
    }
    PROMISE(a->type == b->type);
    PROMISE(!a->key == !b->key && (!a->key || strcmp(a->key, b->key) == 0));
    if (a->type == ATT_JSON_BOOL)
        PROMISE(a->boolean == b->boolean);
    if (a->type == ATT_JSON_INTEGER)
        PROMISE(a->integer == b->integer);
    if (a->type == ATT_JSON_STRING)
        PROMISE(a->length == b->length && strcmp(a->string, b->string) == 0);
    if (a->type != ATT_JSON_ARRAY && a->type != ATT_JSON_OBJECT)
        return;
    PROMISE(a->count == b->count);
    for (size_t i = 0; i < a->count; i++)
        check_same(&a->items[i], &b->items[i]);
}

static void check_again(const att_json_doc *doc)
{
    att_error err = { 0 };
    att_string written = { 0 }, same = { 0 };
    att_json_doc again;
    att_json_writer out = att_json_begin(&written, ATT_JSON_EXACT);
    put_tree(&out, doc->root, NULL);
    PROMISE(att_json_finish(&out, "output", &err) == ATT_OK);
    PROMISE(att_json_read(&again, written.data, written.length, "again", NULL, &err) == ATT_OK);
    check_same(doc->root, again.root);
    out = att_json_begin(&same, ATT_JSON_EXACT);
    put_tree(&out, again.root, NULL);
    PROMISE(att_json_finish(&out, "output", &err) == ATT_OK);
    PROMISE(strcmp(written.data, same.data) == 0);
    att_json_free(&again);
    att_string_free(&written);
    att_string_free(&same);
}

/* ---- getters */

static bool is_type(const att_json *value, att_json_type type)
{
    return value->type == type || (type == ATT_JSON_NUMBER && value->type == ATT_JSON_INTEGER);
}

/* A getter succeeds exactly where the value has the type; otherwise it says in one line, with the
 * place, what was expected. */
static void check_got(att_status status, bool expected, const att_error *err)
{
    PROMISE(status == (expected ? ATT_OK : ATT_BAD_INPUT));
    if (expected)
        return;
    check_refusal(status, err);
    PROMISE(strcmp(err->place, "input") == 0);
    PROMISE(strncmp(err->message, "expected ", 9) == 0);
}

/* `value` is the member `key` of `object`, or NULL where the getters must refuse it. */
static void check_scalars(const att_json *object, const char *key, const att_json *value)
{
    bool boolean = false;
    int64_t integer = 0;
    double number = 0;
    const char *string = NULL;
    att_error err = { 0 };
    bool is_bool = value && is_type(value, ATT_JSON_BOOL);
    bool is_integer = value && is_type(value, ATT_JSON_INTEGER);
    bool is_number = value && is_type(value, ATT_JSON_NUMBER);
    bool is_string = value && is_type(value, ATT_JSON_STRING);
    check_got(att_json_get_bool(&boolean, object, key, "input", &err), is_bool, &err);
    PROMISE(!is_bool || boolean == value->boolean);
    check_got(att_json_get_integer(&integer, object, key, "input", &err), is_integer, &err);
    PROMISE(!is_integer || integer == value->integer);
    check_got(att_json_get_number(&number, object, key, "input", &err), is_number, &err);
    PROMISE(!is_number || memcmp(&number, &value->number, sizeof number) == 0);
    check_got(att_json_get_string(&string, object, key, "input", &err), is_string, &err);
    PROMISE(!is_string || string == value->string);
}

/* A member by its key, or an item by its index, as every type. */
static void check_part(const att_json *parent, const att_json *value, size_t index)
{
    for (int type = ATT_JSON_NULL; type <= ATT_JSON_OBJECT; type++) {
        const att_json *got = NULL;
        att_error err = { 0 };
        bool expected = is_type(value, (att_json_type)type);
        att_status status =
            parent->type == ATT_JSON_OBJECT
                ? att_json_get(&got, parent, value->key, (att_json_type)type, "input", &err)
                : att_json_get_item(&got, parent, index, (att_json_type)type, "input", &err);
        check_got(status, expected, &err);
        PROMISE(!expected || got == value);
    }
    if (parent->type == ATT_JSON_OBJECT)
        check_scalars(parent, value->key, value);
}

/* A value as every type, parts that it lacks, and then its parts. */
static void check_getters(const att_json *value)
{
    static const char missing[] = "a key that no \n document has";
    const att_json *got;
    att_error err = { 0 };
    bool parts = value->type == ATT_JSON_OBJECT || value->type == ATT_JSON_ARRAY;
    for (int type = ATT_JSON_NULL; type <= ATT_JSON_OBJECT; type++)
        check_got(att_json_expect(value, (att_json_type)type, "input", &err),
                  is_type(value, (att_json_type)type), &err);
    check_scalars(value, missing, NULL);
    check_got(att_json_get(&got, value, missing, ATT_JSON_NULL, "input", &err), false, &err);
    check_got(
        att_json_get_item(&got, value, parts ? value->count : 0, ATT_JSON_NULL, "input", &err),
        false, &err);
    for (size_t i = 0; parts && i < value->count; i++) {
        check_part(value, &value->items[i], i);
        check_getters(&value->items[i]);
    }
}

/* Whatever the bytes, they can be written as a string that can be read. */
static void check_escape(const char *bytes, size_t size)
{
    att_string text = { 0 };
    att_json_doc doc;
    bool zero = memchr(bytes, 0, size) != NULL;
    att_status status = att_json_escape(&text, bytes, size, ATT_JSON_EXACT);
    PROMISE(status == (att_utf8_valid(bytes, size) ? ATT_OK : ATT_BAD_INPUT));
    text.length = 0;
    PROMISE(att_json_escape(&text, bytes, size, ATT_JSON_REPLACE) == ATT_OK);
    PROMISE(att_json_read(&doc, text.data, text.length, "string", NULL, NULL) ==
            (zero ? ATT_BAD_INPUT : ATT_OK));
    if (status == ATT_OK && !zero)
        PROMISE(doc.root->length == size && memcmp(doc.root->string, bytes, size) == 0);
    att_json_free(&doc);
    att_string_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_json_doc doc;
    att_status status = att_json_read(&doc, (const char *)data, size, "input", &limits, &err);
    if (status == ATT_OK) {
        check_again(&doc);
        check_getters(doc.root);
    } else {
        PROMISE(!doc.root);
        check_refusal(status, &err);
        PROMISE(err.line >= 1 && err.column >= 1);
    }
    att_json_free(&doc);
    if (size > 0)
        check_escape((const char *)data, size);
    PROMISE(att_alloc_live() == live);
    return 0;
}
