/* Statements that say how the sheet is worked out: detail, round and cut. Their first words are
 * words of prose too, so a line is one of them only if its other words fit. */
#include "sheet/interpreter.h"

#include "base/minmax.h"

#include <string.h>
#include <strings.h>

/* ---- Words of a line */

enum { MAX_WORDS = 8, MAX_WORD = 24 };

/* The words of a line up to a comment; `count` is MAX_WORDS + 1 if it has more. */
struct words {
    size_t count;
    char word[MAX_WORDS][MAX_WORD + 1];
};

static void read_words(struct words *words, const att_sheet_line *line)
{
    *words = (struct words){ 0 };
    for (size_t at = 0; at < line->length && words->count <= MAX_WORDS;) {
        size_t length = 0;
        while (at < line->length && (line->text[at] == ' ' || line->text[at] == '\t'))
            at++;
        while (at + length < line->length && !strchr(" \t", line->text[at + length]))
            length++;
        if (length == 0 || line->text[at] == '#' || line->text[at] == '%')
            return;
        if (words->count < MAX_WORDS) {
            size_t kept = length < MAX_WORD ? length : MAX_WORD;
            memcpy(words->word[words->count], line->text + at, kept);
        }
        words->count++;
        at += length;
    }
}

/* Whether a word is `expected`, in any case, or a misspelling of it. */
static bool is_near(const char *word, const char *expected)
{
    const char *const known[] = { expected };
    char small[MAX_WORD + 1] = "";
    for (size_t i = 0; word[i]; i++)
        small[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] - 'A' + 'a' : word[i]);
    size_t length = strlen(small), wanted = strlen(expected);
    bool as_long = length <= wanted + 1 && wanted <= length + 1; /* not "rounded" for "round" */
    return strcmp(small, expected) == 0 || (as_long && att_suggest(small, known, 1) != NULL);
}

static att_status fail_setting(const att_interpreter *interpreter, const att_sheet_line *line,
                               const char *expected)
{
    return att_sheet_source_fail(&interpreter->source, interpreter->scope.err, line->number,
                                 line->column,
                                 "this looks like a misspelled statement: expected '%s' (text that "
                                 "looks like a statement starts with '>')",
                                 expected);
}

/* ---- detail none | one | all */

static bool is_detail_word(const char *word)
{
    return is_near(word, "none") || is_near(word, "one") || is_near(word, "all");
}

static att_status read_detail(const att_interpreter *interpreter, const att_sheet_line *line,
                              const struct words *words, att_statement **out)
{
    if (words->count == 1 && strcmp(words->word[0], "detail") == 0)
        *out = att_run_detail; /* which says what it expects */
    if (words->count != 2 || !is_near(words->word[0], "detail"))
        return ATT_OK;
    if (strcmp(words->word[0], "detail") == 0)
        *out = att_run_detail;
    else if (is_detail_word(words->word[1]))
        return fail_setting(interpreter, line, "detail none', 'detail one' or 'detail all");
    return ATT_OK;
}

att_status att_run_detail(att_interpreter *interpreter, att_parser *parser)
{
    static const char *const words[] = { NULL, "none", "one", "all" }; /* by att_detail */
    for (size_t i = ATT_DETAIL_NONE; i < ATT_COUNT(words); i++) {
        if (!att_parser_at_word(parser, words[i]))
            continue;
        interpreter->detail = (att_detail)i;
        ATT_TRY(att_parser_take(parser));
        return att_parser_end(parser);
    }
    return att_parser_expected(parser, "'none', 'one' or 'all' after 'detail'");
}

/* ---- round each step to 2 decimals, cut each step to 2 decimals, round no step */

static bool has_near(const struct words *words, const char *expected)
{
    for (size_t i = 1; i < words->count && i < MAX_WORDS; i++)
        if (is_near(words->word[i], expected))
            return true;
    return false;
}

static bool is_word(const struct words *words, size_t index, const char *word)
{
    return index < words->count && strcmp(words->word[index], word) == 0;
}

static att_status read_round(const att_interpreter *interpreter, const att_sheet_line *line,
                             const struct words *words, att_statement **out)
{
    bool first = is_word(words, 0, "round") || is_word(words, 0, "cut");
    bool each = is_word(words, 1, "each") || is_word(words, 1, "no");
    if (first && each && is_word(words, 2, "step")) {
        *out = att_run_round;
        return ATT_OK;
    }
    bool near =
        words->count > 0 && (is_near(words->word[0], "round") || is_near(words->word[0], "cut"));
    if (!near)
        return ATT_OK;
    bool of_steps = has_near(words, "step") || has_near(words, "steps");
    bool decimals = has_near(words, "decimal") || has_near(words, "decimals") ||
                    has_near(words, "digits") || has_near(words, "places");
    if (of_steps && (decimals || (words->count == 3 && is_near(words->word[1], "no"))))
        return fail_setting(interpreter, line,
                            "round each step to 2 decimals', 'cut each step to 2 decimals' or "
                            "'round no step");
    return ATT_OK;
}

static att_status take_word(att_parser *parser, const char *word, const char *expected)
{
    return att_parser_at_word(parser, word) ? att_parser_take(parser)
                                            : att_parser_expected(parser, expected);
}

/* The parser is behind the first word. */
att_status att_run_round(att_interpreter *interpreter, att_parser *parser)
{
    bool cut = att_token_is(&parser->lexer, &parser->last, "cut");
    bool none = att_parser_at_word(parser, "no");
    ATT_TRY(att_parser_take(parser)); /* each or no, seen before, as the next word */
    ATT_TRY(take_word(parser, "step", "'step'"));
    if (none) {
        interpreter->rounding = NULL;
        return att_parser_end(parser);
    }
    ATT_TRY(take_word(parser, "to", "'to' and a number of decimals"));
    double decimals = parser->token.number;
    if (!att_parser_at(parser, ATT_TOKEN_NUMBER) || !(decimals >= 0 && decimals <= 12) ||
        decimals != (int)decimals)
        return att_parser_expected(parser, "a number of decimals from 0 to 12 after 'to'");
    ATT_TRY(att_parser_take(parser));
    ATT_TRY(take_word(parser, att_parser_at_word(parser, "decimal") ? "decimal" : "decimals",
                      "'decimals'"));
    ATT_TRY(att_parser_end(parser));
    att_rounding *rounding = att_arena_alloc(&interpreter->sheet->arena, 1, sizeof *rounding);
    if (!rounding)
        return att_fail_memory(interpreter->scope.err);
    *rounding = (att_rounding){ .decimals = (int)decimals, .cut = cut };
    interpreter->rounding = rounding;
    return ATT_OK;
}

/* ---- All of them */

att_status att_sheet_line_setting(const att_interpreter *interpreter, const att_sheet_line *line,
                                  att_statement **out)
{
    struct words words;
    read_words(&words, line);
    ATT_TRY(read_detail(interpreter, line, &words, out));
    return *out ? ATT_OK : read_round(interpreter, line, &words, out);
}
