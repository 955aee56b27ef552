/* Identifiers, strings and comments of exported programs. All text of a sheet enters a program
 * through these functions, so that none of it can become code. */
#include "render/export.h"

#include "base/minmax.h"
#include "text/utf8.h"

#include <string.h>

/* ---- Identifiers */

/* Words that a variable must not be, besides those that the definitions use. */
static const char *const keywords[] = {
    "False", "None",     "True",  "and",    "as",      "assert", "async",  "await",   "break",
    "class", "continue", "def",   "del",    "elif",    "else",   "except", "finally", "for",
    "from",  "global",   "if",    "import", "in",      "is",     "lambda", "match",   "nonlocal",
    "not",   "or",       "pass",  "raise",  "return",  "try",    "type",   "while",   "with",
    "yield", "case",     "print", "SHEET",  "getattr",
};

/* Letters that Python accepts in an identifier and leaves as they are. Python normalizes
 * identifiers (NFKC), so that two different names of a sheet could become one: other characters are
 * written as their code point. */
static const struct letters {
    uint32_t first, last;
} plain_letters[] = {
    { 0xC0, 0xD6 },     { 0xD8, 0xF6 },     { 0xF8, 0x131 },    { 0x134, 0x13E },
    { 0x141, 0x148 },   { 0x14A, 0x17E },   { 0x391, 0x3A1 },   { 0x3A3, 0x3A9 },
    { 0x3B1, 0x3C9 },   { 0x410, 0x44F },   { 0x5D0, 0x5EA },   { 0x904, 0x914 },
    { 0x915, 0x928 },   { 0x985, 0x98C },   { 0x3041, 0x3096 }, { 0x30A1, 0x30FA },
    { 0x4E00, 0x9FA5 }, { 0xAC00, 0xD7A3 },
};

static bool is_plain(uint32_t code)
{
    bool ascii = (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') ||
                 (code >= '0' && code <= '9') || code == '_';
    for (size_t i = 0; !ascii && i < ATT_COUNT(plain_letters); i++)
        if (code >= plain_letters[i].first && code <= plain_letters[i].last)
            return true;
    return ascii;
}

static bool is_taken(const att_exporter *exporter, const char *identifier)
{
    for (size_t i = 0; i < ATT_COUNT(keywords); i++)
        if (strcmp(keywords[i], identifier) == 0)
            return true;
    return att_export_is_used(exporter->language, identifier) ||
           att_symbol_table_get(&exporter->identifiers, identifier);
}

/* The name with every character that Python would refuse or change replaced: h₁ becomes h1. */
static const char *spell(att_arena *arena, const char *name)
{
    const char *word = name[0] == '_' && name[1] == '_' ? "v" : ""; /* Python's own: __debug__ */
    uint32_t code;
    size_t length;
    for (const char *at = name; *at && word; at += length) {
        length = att_utf8_decode_lossy(at, strlen(at), &code);
        if (code >= 0x2080 && code <= 0x2089) /* a subscript digit */
            word = att_arena_printf(arena, "%s%c", word, (char)('0' + (code - 0x2080)));
        else if (is_plain(code))
            word = att_arena_printf(arena, "%s%.*s", word, (int)length, at);
        else
            word = att_arena_printf(arena, "%s_u%04X", word, (unsigned)code);
    }
    if (word && word[0] >= '0' && word[0] <= '9') /* ₁ alone */
        word = att_arena_printf(arena, "v%s", word);
    return word;
}

/* As in the sheet where Python allows it and nothing has it yet. */
static const char *make_identifier(att_exporter *exporter, const char *name)
{
    att_arena *arena = &exporter->arena;
    const char *word = spell(arena, name);
    const char *identifier = word;
    if (word && is_taken(exporter, word))
        identifier = att_arena_printf(arena, "%s_", word);
    for (int number = 2; identifier && is_taken(exporter, identifier); number++)
        identifier = att_arena_printf(arena, "%s_%d", word, number);
    return identifier;
}

const char *att_export_identifier(att_exporter *exporter, const char *name)
{
    const att_value none = { 0 };
    const char *identifier = make_identifier(exporter, name);
    if (!identifier ||
        !att_symbol_table_set(&exporter->identifiers, &exporter->arena, identifier, &none, 0)) {
        att_export_no_memory(exporter);
        return "";
    }
    return identifier;
}

const att_export_name *att_export_find(const att_exporter *exporter, const char *name)
{
    for (size_t i = exporter->local_count; i-- > 0;)
        if (strcmp(exporter->locals[i].name, name) == 0)
            return &exporter->locals[i];
    const att_symbol *row = att_symbol_table_get(&exporter->names, name);
    bool pending = exporter->pending && strcmp(exporter->pending, name) == 0;
    const att_export_name *value = row && !pending ? &exporter->values[row->step] : NULL;
    return value && !value->reserved ? value : NULL;
}

/* The row of a name, which is made if it is new; NULL when memory is out. */
static att_export_name *name_row(att_exporter *exporter, const char *name)
{
    const att_value none = { 0 };
    const att_symbol *row = att_symbol_table_get(&exporter->names, name);
    if (row)
        return &exporter->values[row->step];
    const char *identifier = att_export_identifier(exporter, name);
    void *values = exporter->values;
    bool grown = att_arena_array_grow(&exporter->arena, &values, &exporter->value_capacity,
                                      exporter->value_count, sizeof *exporter->values);
    exporter->values = values;
    if (!grown || !att_symbol_table_set(&exporter->names, &exporter->arena, name, &none,
                                        exporter->value_count)) {
        att_export_no_memory(exporter);
        return NULL;
    }
    att_export_name *value = &exporter->values[exporter->value_count++];
    *value = (att_export_name){ .name = name, .identifier = identifier, .reserved = true };
    return value;
}

const char *att_export_reserve(att_exporter *exporter, const char *name)
{
    const att_export_name *row = name_row(exporter, name);
    return row ? row->identifier : "";
}

const char *att_export_assign(att_exporter *exporter, const char *name, att_export_type type)
{
    att_export_name *row = name_row(exporter, name);
    if (!row)
        return "";
    row->type = type;
    row->by_hand = NULL;
    row->reserved = false;
    return row->identifier;
}

void att_export_assign_hand(att_exporter *exporter, const char *name, const char *by_hand)
{
    att_export_name *row = name_row(exporter, name);
    if (row)
        row->by_hand = by_hand;
}

/* ---- Text */

/* Characters that change the direction of text could make code look like something else. */
static bool is_invisible(uint32_t code)
{
    return code < 0x20 || code == 0x7F || (code >= 0x200B && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
           code == 0xFEFF || code == 0xFFFD;
}

void att_export_string(att_exporter *exporter, const char *text)
{
    att_writer *out = &exporter->out;
    uint32_t code;
    att_put(out, "\"");
    for (size_t length; *text; text += length) {
        length = att_utf8_decode_lossy(text, strlen(text), &code);
        if (code == '"' || code == '\\')
            att_putf(out, "\\%c", (char)code);
        else if (code == '\n')
            att_put(out, "\\n");
        else if (is_invisible(code))
            att_putf(out, "\\u%04x", (unsigned)code);
        else
            att_put_bytes(out, text, length);
    }
    att_put(out, "\"");
}

/* Writes up to the next line end, which it returns. */
static const char *put_line(att_writer *out, const char *text)
{
    uint32_t code;
    while (*text && *text != '\n') {
        size_t length = att_utf8_decode_lossy(text, strlen(text), &code);
        if (is_invisible(code))
            att_put(out, code == '\t' ? " " : "\xEF\xBF\xBD");
        else
            att_put_bytes(out, text, length);
        text += length;
    }
    return text;
}

void att_export_comment(att_exporter *exporter, const char *text)
{
    for (const char *end; text; text = *end ? end + 1 : NULL) {
        att_put(&exporter->out, *text && *text != '\n' ? "# " : "#");
        end = put_line(&exporter->out, text);
        att_put(&exporter->out, "\n");
    }
}

void att_export_on_line(att_exporter *exporter, const char *text)
{
    for (const char *end; text; text = *end ? end + 1 : NULL) {
        while (*text == ' ')
            text++;
        end = put_line(&exporter->out, text);
        if (*end)
            att_put(&exporter->out, " ");
    }
}
