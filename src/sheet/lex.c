/* The lexer of the worksheet language: numbers, names, strings, operators and comments, with hints
 * for look-alike characters that are pasted from typeset text. */
#include "sheet/lex.h"

#include "base/minmax.h"
#include "text/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Operators and punctuation, longer ones first. U+2212 is the minus sign of typeset text. */
static const struct sign {
    const char *text;
    att_token_kind kind;
} signs[] = {
    { ".*", ATT_TOKEN_DOT_STAR },    { "./", ATT_TOKEN_DOT_SLASH },
    { ".^", ATT_TOKEN_CARET },       { "\xE2\x88\x92", ATT_TOKEN_MINUS },
    { "==", ATT_TOKEN_EQUAL_TO },    { "!=", ATT_TOKEN_NOT_EQUAL_TO },
    { "<=", ATT_TOKEN_LESS_EQUAL },  { ">=", ATT_TOKEN_GREATER_EQUAL },
    { "<", ATT_TOKEN_LESS },         { ">", ATT_TOKEN_GREATER },
    { "+", ATT_TOKEN_PLUS },         { "-", ATT_TOKEN_MINUS },
    { "*", ATT_TOKEN_STAR },         { "/", ATT_TOKEN_SLASH },
    { "^", ATT_TOKEN_CARET },        { "'", ATT_TOKEN_PRIME },
    { ".", ATT_TOKEN_DOT },          { ",", ATT_TOKEN_COMMA },
    { ";", ATT_TOKEN_SEMICOLON },    { ":", ATT_TOKEN_COLON },
    { "=", ATT_TOKEN_EQUALS },       { "(", ATT_TOKEN_ROUND_OPEN },
    { ")", ATT_TOKEN_ROUND_CLOSE },  { "[", ATT_TOKEN_SQUARE_OPEN },
    { "]", ATT_TOKEN_SQUARE_CLOSE }, { "{", ATT_TOKEN_CURLY_OPEN },
    { "}", ATT_TOKEN_CURLY_CLOSE },  { "%", ATT_TOKEN_PERCENT },
};

/* Characters that users type or paste instead of an operator of the language. */
static const struct lookalike {
    uint32_t code;
    const char *instead;
} lookalikes[] = {
    { 0x201C, "a string is written in straight quotes: \"…\"" },
    { 0x201D, "a string is written in straight quotes: \"…\"" },
    { 0x2018, "a transpose is written with a straight quote: X'" },
    { 0x2019, "a transpose is written with a straight quote: X'" },
    { 0x00D7, "a product is written with *" },
    { 0x00B7, "a product is written with *" },
    { 0x22C5, "a product is written with *" },
    { 0x2299, "an element-wise product is written with .*" },
    { 0x00B2, "a power is written with ^" },
    { 0x00B3, "a power is written with ^" },
    { 0x1D40, "a transpose is written X'" },
    { 0x22A4, "a transpose is written X'" },
    { 0x221A, "a square root is written sqrt(…)" },
    { 0x2264, "less or equal is written <=" },
    { 0x2265, "greater or equal is written >=" },
    { 0x2260, "not equal is written !=" },
    { 0x2248, "write = and give a tolerance with 'within'" },
    { 0x221E, "infinity is written inf" },
};

static char peek(const att_lexer *lexer, size_t ahead)
{
    size_t at = lexer->at + ahead;
    return at < lexer->source->length ? lexer->source->text[at] : '\0';
}

static size_t peek_code(const att_lexer *lexer, size_t ahead, uint32_t *code)
{
    size_t at = lexer->at + ahead;
    if (at < lexer->source->length)
        return att_utf8_decode_lossy(lexer->source->text + at, lexer->source->length - at, code);
    *code = 0;
    return 0;
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool at_end(const att_lexer *lexer)
{
    return lexer->at >= lexer->source->length;
}

static att_status fail_here(const att_lexer *lexer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static att_status fail_here(const att_lexer *lexer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    att_status status =
        att_sheet_source_vfail(lexer->source, lexer->err, lexer->line, lexer->column, format, args);
    va_end(args);
    return status;
}

/* Moves over a newline. */
static void next_line(att_lexer *lexer)
{
    lexer->at++;
    lexer->line++;
    lexer->column = 1;
}

/* Whether there are only blanks before the current position in its line; from `ahead` on. */
static bool starts_line(const att_lexer *lexer)
{
    size_t at = lexer->at;
    const char *text = lexer->source->text;
    while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t'))
        at--;
    return at == 0 || text[at - 1] == '\n';
}

static bool ends_line(const att_lexer *lexer, size_t ahead)
{
    while (peek(lexer, ahead) == ' ' || peek(lexer, ahead) == '\t')
        ahead++;
    return lexer->at + ahead >= lexer->source->length || peek(lexer, ahead) == '\n';
}

/* `50%` and `50 %` behind a statement look like a percentage, and would be read as 50. */
static att_status check_percent(const att_lexer *lexer)
{
    if (peek(lexer, 0) != '%' || starts_line(lexer))
        return ATT_OK;
    char before = lexer->source->text[lexer->at - 1];
    if ((before == ' ' || before == '\t') && !ends_line(lexer, 1))
        return ATT_OK;
    return fail_here(lexer,
                     "found '%%', which starts a comment: expected a blank before and a text "
                     "behind it (a percentage can only be a tolerance: 'within 1 %%')");
}

/* Skips '# …' or '% …' to the end of the line; the comment behind a complete statement is kept. */
static att_status skip_comment(att_lexer *lexer)
{
    const char *text = lexer->source->text;
    bool shown = peek(lexer, 0) == '#' && lexer->mode == ATT_LEX_LINE;
    ATT_TRY(check_percent(lexer));
    size_t begin = lexer->at + 1;
    while (!at_end(lexer) && peek(lexer, 0) != '\n')
        lexer->at++;
    size_t end = lexer->at;
    while (begin < end && (text[begin] == ' ' || text[begin] == '\t'))
        begin++;
    while (end > begin && (text[end - 1] == ' ' || text[end - 1] == '\t'))
        end--;
    if (!shown || begin == end)
        return ATT_OK;
    lexer->comment = att_arena_strndup(lexer->arena, text + begin, end - begin);
    return lexer->comment ? ATT_OK : att_fail_memory(lexer->err);
}

/* Skips blanks, comments and newlines that have no meaning. */
static att_status skip_blanks(att_lexer *lexer)
{
    for (;;) {
        char c = peek(lexer, 0);
        if (at_end(lexer))
            return ATT_OK;
        if (c == ' ' || c == '\t') {
            lexer->at++;
            lexer->column++;
        } else if (c == '#' || (c == '%' && !lexer->percent_sign)) {
            ATT_TRY(skip_comment(lexer));
        } else if (c == '\n' && lexer->mode == ATT_LEX_GROUP) {
            next_line(lexer);
        } else {
            return ATT_OK;
        }
    }
}

/* Makes the next `length` bytes (`characters` code points) the token. */
static void take(att_lexer *lexer, att_token *token, att_token_kind kind, size_t length,
                 int characters)
{
    token->kind = kind;
    token->offset = lexer->at;
    token->length = length;
    lexer->at += length;
    lexer->column += characters;
    token->end_column = lexer->column;
}

/* The length of digits [. digits] [e [+-] digits] at the current position; the dot of `3.*X` is not
 * part of it. */
static size_t number_length(const att_lexer *lexer)
{
    size_t n = 0;
    while (digit(peek(lexer, n)))
        n++;
    char after = peek(lexer, n) == '.' ? peek(lexer, n + 1) : '*';
    if (after != '*' && after != '/' && after != '^')
        n++;
    while (digit(peek(lexer, n)))
        n++;
    if (peek(lexer, n) != 'e' && peek(lexer, n) != 'E')
        return n;
    size_t exponent = n + 1;
    if (peek(lexer, exponent) == '+' || peek(lexer, exponent) == '-')
        exponent++;
    if (!digit(peek(lexer, exponent)))
        return n;
    while (digit(peek(lexer, exponent)))
        exponent++;
    return exponent;
}

static att_status lex_number(att_lexer *lexer, att_token *token)
{
    size_t length = number_length(lexer);
    uint32_t after;
    peek_code(lexer, length, &after);
    const char *text = lexer->source->text + lexer->at;
    int shown = length > 40 ? 40 : (int)length;
    if (att_utf8_identifier_start(after))
        return fail_here(lexer,
                         "the number %.*s runs into a letter: a product needs a '*', and a "
                         "name cannot start with a digit",
                         shown, text);
    token->number = strtod(
        text, NULL); /* stops at the same place: the next character cannot continue a number */
    if (isinf(token->number))
        return fail_here(lexer, "the number %.*s is too large for double precision", shown, text);
    take(lexer, token, ATT_TOKEN_NUMBER, length, (int)length);
    return ATT_OK;
}

static void lex_name(att_lexer *lexer, att_token *token)
{
    size_t length = 0;
    int characters = 0;
    for (;;) {
        uint32_t code;
        size_t bytes = peek_code(lexer, length, &code);
        if (bytes == 0 || !att_utf8_identifier_part(code))
            break;
        length += bytes;
        characters++;
    }
    take(lexer, token, ATT_TOKEN_NAME, length, characters);
}

/* The character after a backslash, or 0. */
static char escaped(char c)
{
    static const char from[] = "\"\\nt", to[] = "\"\\\n\t";
    const char *found = c ? strchr(from, c) : NULL;
    return found ? to[found - from] : '\0';
}

/* Finds the closing quote: its byte distance from the opening quote, and the code points
 * between. */
static att_status string_end(att_lexer *lexer, size_t *length, int *characters)
{
    size_t n = 1;
    *characters = 1;
    for (;;) {
        uint32_t code;
        size_t bytes = peek_code(lexer, n, &code);
        if (bytes == 0 || code == '\n')
            return fail_here(lexer,
                             "this string is not closed: expected a second '\"' on its line");
        if (code == '"')
            break;
        if (code == '\\' && !escaped(peek(lexer, n + 1))) {
            lexer->column += *characters;
            return fail_here(lexer, "unknown escape in a string: expected \\\" \\\\ \\n or \\t");
        }
        n += code == '\\' ? 2 : bytes;
        *characters += code == '\\' ? 2 : 1;
    }
    *length = n;
    return ATT_OK;
}

static att_status lex_string(att_lexer *lexer, att_token *token)
{
    size_t length = 0;
    int characters = 0;
    ATT_TRY(string_end(lexer, &length, &characters));
    const char *from = lexer->source->text + lexer->at + 1;
    char *to = att_arena_alloc(lexer->arena, length, 1);
    if (!to)
        return att_fail_memory(lexer->err);
    token->string = to;
    for (size_t i = 0; i + 1 < length; i++)
        *to++ = from[i] == '\\' ? escaped(from[++i]) : from[i];
    take(lexer, token, ATT_TOKEN_STRING, length + 1, characters + 1);
    return ATT_OK;
}

static att_status lex_sign(att_lexer *lexer, att_token *token)
{
    const char *text = lexer->source->text + lexer->at;
    for (size_t i = 0; i < ATT_COUNT(signs); i++) {
        size_t length = strlen(signs[i].text);
        if (strncmp(text, signs[i].text, length) == 0) {
            take(lexer, token, signs[i].kind, length, length == 2 ? 2 : 1);
            return ATT_OK;
        }
    }
    uint32_t code;
    size_t bytes = peek_code(lexer, 0, &code);
    for (size_t i = 0; i < ATT_COUNT(lookalikes); i++)
        if (code == lookalikes[i].code)
            return fail_here(lexer, "unexpected character '%.*s': %s", (int)bytes, text,
                             lookalikes[i].instead);
    return fail_here(lexer, "unexpected character '%.*s'", (int)bytes, text);
}

static att_status lex_token(att_lexer *lexer, att_token *token)
{
    char c = peek(lexer, 0);
    uint32_t code;
    peek_code(lexer, 0, &code);
    if (digit(c) || (c == '.' && digit(peek(lexer, 1))))
        return lex_number(lexer, token);
    if (c == '"')
        return lex_string(lexer, token);
    if (!att_utf8_identifier_start(code))
        return lex_sign(lexer, token);
    lex_name(lexer, token);
    return ATT_OK;
}

att_status att_lex_next(att_lexer *lexer, att_token *token)
{
    size_t before = lexer->at;
    ATT_TRY(skip_blanks(lexer));
    *token = (att_token){ .line = lexer->line,
                          .column = lexer->column,
                          .end_column = lexer->column,
                          .offset = lexer->at,
                          .space_before = lexer->at > before };
    if (at_end(lexer) || (peek(lexer, 0) == '\n' && lexer->mode == ATT_LEX_LINE))
        return ATT_OK;
    if (peek(lexer, 0) == '\n') {
        token->kind = ATT_TOKEN_NEWLINE;
        next_line(lexer);
        return ATT_OK;
    }
    ATT_TRY(lex_token(lexer, token));
    char after = peek(lexer, 0);
    token->space_after = after == ' ' || after == '\t' || after == '\n';
    return ATT_OK;
}

const char *att_token_describe(const att_lexer *lexer, const att_token *token,
                               char out[ATT_QUOTE_SIZE])
{
    const char *text = lexer->source->text + token->offset;
    int length = token->length > 40 ? 40 : (int)token->length;
    while (length > 0 && (size_t)length < token->length && (text[length] & 0xC0) == 0x80)
        length--; /* do not cut within a character */
    if (token->kind == ATT_TOKEN_END || token->kind == ATT_TOKEN_NEWLINE)
        snprintf(out, ATT_QUOTE_SIZE, "the end of the line");
    else if (token->kind == ATT_TOKEN_NUMBER)
        snprintf(out, ATT_QUOTE_SIZE, "the number %.*s", length, text);
    else if (token->kind == ATT_TOKEN_STRING)
        snprintf(out, ATT_QUOTE_SIZE, "a string");
    else
        snprintf(out, ATT_QUOTE_SIZE, "'%.*s'", length, text);
    return out;
}

bool att_token_is(const att_lexer *lexer, const att_token *token, const char *word)
{
    return token->kind == ATT_TOKEN_NAME && strlen(word) == token->length &&
           memcmp(lexer->source->text + token->offset, word, token->length) == 0;
}
