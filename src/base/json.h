/* JSON (RFC 8259): a strict reader that builds a tree, and a writer that needs no tree.
 *
 * The reader accepts UTF-8 only. It also refuses what other readers handle in different ways:
 * duplicate keys, a byte order mark, lone surrogates, U+0000 in strings, numbers too large for a
 * double. Depth and memory are limited and nothing is recursive. No function depends on the locale
 * or on global state, so all of them are safe to call from any thread. */
#ifndef ATT_BASE_JSON_H
#define ATT_BASE_JSON_H

#include "attend.h"
#include "base/arena.h"

/* ---- values */

typedef enum att_json_type {
    ATT_JSON_NULL,
    ATT_JSON_BOOL,
    ATT_JSON_INTEGER, /* a number without fraction or exponent that fits into 64 bits */
    ATT_JSON_NUMBER,  /* any other number */
    ATT_JSON_STRING,
    ATT_JSON_ARRAY,
    ATT_JSON_OBJECT,
} att_json_type;

/* A value; `type` says which member of the union is set. Items of an array and members of an object
 * are in the order of the text. Strings and keys are UTF-8, end with a zero byte and contain no
 * other. */
typedef struct att_json att_json;
struct att_json {
    att_json_type type;
    const char *key; /* of a member of an object; NULL for others */
    union {
        bool boolean;
        struct {
            int64_t integer; /* set for ATT_JSON_INTEGER */
            double number;   /* set for both kinds of number, correctly rounded; -0 is -0.0 */
        };
        struct {
            const char *string;
            size_t length; /* in bytes */
        };
        struct {
            const att_json *items; /* [count] of an array, or the members of an object */
            size_t count;
        };
    };
};

/* ---- reading */

/* Upper limits; 0 means the default. */
typedef struct att_json_limits {
    size_t size;   /* bytes of the text; default 100 million */
    size_t depth;  /* levels of nested arrays and objects; default 64 */
    size_t string; /* bytes of one string or key after decoding; default: no separate limit */
    size_t memory; /* bytes of the tree; default 256 MiB */
} att_json_limits;

typedef struct att_json_doc {
    const att_json *root;
    att_arena arena; /* owns every value, string and key */
} att_json_doc;

/* Parses the whole text as one value; `limits` may be NULL. Errors have `name` as their place, and
 * a line and a column in characters. The text is not needed afterwards. On success release the
 * document with att_json_free(); on failure *out is empty. Memory that cannot be allocated is
 * ATT_NO_MEMORY, everything else ATT_BAD_INPUT. */
att_status att_json_read(att_json_doc *out, const char *text, size_t length, const char *name,
                         const att_json_limits *limits, att_error *err);

/* Releases all values at once; does nothing to an empty document. */
void att_json_free(att_json_doc *doc);

/* Passes on the failure `cause` of JSON that is only a part of the file `name`. The message begins
 * with what part it is, and with the line and column in it: "the header: line 1, column 7:
 * expected a value, found '}'". Returns cause->status. */
att_status att_json_fail_in(att_error *err, const att_error *cause, const char *part,
                            const char *name);

/* ---- getters. They fail with ATT_BAD_INPUT and say in *err what `name` should have had and what
 * was found: expected a whole number for "steps", found a string. A value that must be a number may
 * be an integer, but not the other way round. */

/* The member `key`, found in logarithmic time, or NULL where there is none or `object` is NULL or
 * no object. */
const att_json *att_json_find(const att_json *object, const char *key);

/* Checks the type of `value`. */
att_status att_json_expect(const att_json *value, att_json_type type, const char *name,
                           att_error *err);

/* Gets the member `key`, which must exist and have the type. */
att_status att_json_get(const att_json **out, const att_json *object, const char *key,
                        att_json_type type, const char *name, att_error *err);

/* The same for scalars. The string belongs to the document. */
att_status att_json_get_bool(bool *out, const att_json *object, const char *key, const char *name,
                             att_error *err);
att_status att_json_get_integer(int64_t *out, const att_json *object, const char *key,
                                const char *name, att_error *err);
att_status att_json_get_number(double *out, const att_json *object, const char *key,
                               const char *name, att_error *err);
att_status att_json_get_string(const char **out, const att_json *object, const char *key,
                               const char *name, att_error *err);

/* Gets the item `index` (from 0) of an array, which must exist and have the type. */
att_status att_json_get_item(const att_json **out, const att_json *array, size_t index,
                             att_json_type type, const char *name, att_error *err);

/* ---- writing. The output is compact, and the same calls write the same bytes. */

/* How to write what JSON cannot represent: NaN, infinities, bytes that are not UTF-8. */
typedef enum att_json_policy {
    ATT_JSON_EXACT,   /* fail with ATT_BAD_INPUT: for files that we read back */
    ATT_JSON_REPLACE, /* write null, and U+FFFD for each byte: for output to other programs */
} att_json_policy;

enum { ATT_JSON_WRITE_DEPTH = 64 };

/* A writer keeps the first failure, and after it every call does nothing; so callers check once, in
 * att_json_finish(). The members are private. */
typedef struct att_json_writer {
    att_string *text;
    att_json_policy policy;
    att_status status;
    const char *fault; /* the message if the status is ATT_BAD_INPUT */
    size_t start;      /* length of the text at the start */
    uint64_t objects;  /* bit d is set if an object, not an array, is open at depth d */
    int depth;
    bool comma;   /* the next value needs a comma before it */
    bool newline; /* the next value or closing bracket needs a line break before it */
} att_json_writer;

/* Starts to append one value to `text`. */
att_json_writer att_json_begin(att_string *text, att_json_policy policy);

/* Returns the first failure, with `name` as its place; the text is then as it was at the start. */
att_status att_json_finish(att_json_writer *out, const char *name, att_error *err);

/* Each of these writes one value. `key` is required inside an object and NULL elsewhere.
 * att_json_end() closes the innermost object or array, of which at most ATT_JSON_WRITE_DEPTH may be
 * open. */
void att_json_begin_object(att_json_writer *out, const char *key);
void att_json_begin_array(att_json_writer *out, const char *key);
void att_json_end(att_json_writer *out);
void att_json_put_null(att_json_writer *out, const char *key);
void att_json_put_bool(att_json_writer *out, const char *key, bool value);
void att_json_put_integer(att_json_writer *out, const char *key, int64_t value);

/* Writes the fewest digits that read back to the same bits. Negative zero is written as -0.0, since
 * many readers take -0 for an integer. */
void att_json_put_number(att_json_writer *out, const char *key, double value);

/* A NULL string is written as null. Bytes may include zero bytes, as in att_json_escape(). */
void att_json_put_string(att_json_writer *out, const char *key, const char *string);
void att_json_put_bytes(att_json_writer *out, const char *key, const char *bytes, size_t length);

/* Writes a value that is JSON already. */
void att_json_put_raw(att_json_writer *out, const char *key, const char *json, size_t length);

/* Writes a line break before the next value (before its key, in an object) or closing bracket. */
void att_json_newline(att_json_writer *out);

/* Appends a JSON string with its quotes, without a writer. Control characters up to U+009F are
 * escaped, so that no terminal acts on them. A zero byte is written as \u0000, which our reader
 * refuses. On failure nothing is appended. */
att_status att_json_escape(att_string *text, const char *bytes, size_t length,
                           att_json_policy policy);

#endif
