/* Classifies lines as statements or text. Most text needs no mark; a line that looks like a
 * misspelled statement is an error, so that a typo cannot silently drop a check. */
#define _GNU_SOURCE /* memmem() */
#include "sheet/interpreter.h"

#include "base/minmax.h"
#include "sheet/function.h"
#include "text/utf8.h"

#include <string.h>
#include <strings.h>

static const struct keyword {
    const char *word;
    att_statement *run;
} keywords[] = {
    { "expect", att_run_expect }, { "label", att_run_label },     { "plot", att_run_plot },
    { "show", att_run_show },     { "compare", att_run_compare }, { "gradient", att_run_gradient },
};

enum { KEYWORDS = ATT_COUNT(keywords) };

/* The statements of exercises begin with words that also begin lines of prose ("given the scores",
 * "ask yourself"): each is a statement only before what it takes. */
enum follower { NAME_AND_EQUALS, EXPRESSION_AND_STRING, STRING_ALONE, CONDITION };

static const struct exercise_keyword {
    const char *word;
    att_statement *run;
    enum follower follower;
} exercise_keywords[] = {
    { "given", att_run_given, NAME_AND_EQUALS },
    { "ask", att_run_ask, EXPRESSION_AND_STRING },
    { "hint", att_run_hint, STRING_ALONE },
    { "require", att_run_require, CONDITION },
};

static att_status fail_line(const att_interpreter *interpreter, const att_sheet_line *line,
                            const char *format, ...) __attribute__((format(printf, 3, 4)));

static att_status fail_line(const att_interpreter *interpreter, const att_sheet_line *line,
                            const char *format, ...)
{
    va_list args;
    va_start(args, format);
    att_status status = att_sheet_source_vfail(&interpreter->source, interpreter->scope.err,
                                               line->number, line->column, format, args);
    va_end(args);
    return status;
}

/* The length in bytes of the name that the line starts with, or 0. */
static size_t leading_name(const att_sheet_line *line)
{
    size_t length = 0;
    uint32_t code;
    while (length < line->length) {
        size_t bytes = att_utf8_decode_lossy(line->text + length, line->length - length, &code);
        if (!(length ? att_utf8_identifier_part(code) : att_utf8_identifier_start(code)))
            break;
        length += bytes;
    }
    return length;
}

static bool is_assignment(const att_sheet_line *line, size_t name)
{
    while (name < line->length && (line->text[name] == ' ' || line->text[name] == '\t'))
        name++;
    return name < line->length && line->text[name] == '=';
}

static const struct keyword *find_keyword(const char *word, size_t length)
{
    for (size_t i = 0; i < KEYWORDS; i++)
        if (strlen(keywords[i].word) == length && memcmp(keywords[i].word, word, length) == 0)
            return &keywords[i];
    return NULL;
}

/* ---- Text that may be a misspelled statement */

static bool contains(const att_sheet_line *line, const char *what)
{
    return memmem(line->text, line->length, what, strlen(what)) != NULL;
}

/* The leftmost operand of an expression. */
static const att_expr *leftmost(const att_expr *node)
{
    while (node->children > 0 && node->kind != ATT_EXPR_CALL && node->child[0])
        node = node->child[0];
    return node;
}

/* Whether an expression is unlikely to be prose: it starts with a known name, or is written without
 * blanks, like a.weights. */
static bool is_intended_expression(const att_interpreter *interpreter, const att_sheet_line *line,
                                   const att_expr *node)
{
    const att_expr *first = leftmost(node);
    if (first->kind == ATT_EXPR_CALL &&
        (att_function_find(first->text) ||
         att_own_function_find(&interpreter->functions, first->text)))
        return true;
    if (first->kind == ATT_EXPR_NAME && att_symbol_table_get(&interpreter->symbols, first->text))
        return true;
    if (first->kind == ATT_EXPR_NUMBER)
        return true;
    bool one_piece = !memchr(line->text, ' ', line->length);
    return one_piece && (node->kind == ATT_EXPR_FIELD || node->kind == ATT_EXPR_INDEX ||
                         node->kind == ATT_EXPR_CALL);
}

/* The result of parsing a line as an expression on trial. */
struct expression_trial {
    bool intended;   /* an expression that is unlikely to be prose */
    bool fills_line; /* the expression is the whole line */
    bool assigned;   /* a '=' follows the expression */
    bool continues;  /* as `gradient` does: `with`, `for` or `check` follows the expression */
    bool ends_early; /* incomplete: it may continue on the next line */
    bool quoted;     /* a string follows the expression */
};

/* Parses the line as an expression and discards it. Lines longer than people write are not
 * tried. */
static att_status try_expression(const att_interpreter *interpreter, const att_sheet_line *line,
                                 struct expression_trial *out)
{
    enum { TRIAL_NODES = 100000 };
    att_arena scratch = { 0 };
    att_sheet_source origin = interpreter->source;
    origin.length = line->offset + line->length;
    att_parser parser;
    att_expr *node;
    *out = (struct expression_trial){ 0 };
    att_status status = att_parser_start(&parser, &origin, &scratch, NULL, line->offset,
                                         line->number, line->column);
    parser.nodes_left = TRIAL_NODES;
    parser.plain = true;
    if (status == ATT_OK)
        status = att_parse_expression(&parser, &node);
    if (status == ATT_OK && att_parser_at_comparison(&parser)) { /* x < 3, but not x: text */
        att_expr *right;
        status = att_parser_take(&parser);
        if (status == ATT_OK)
            status = att_parse_expression(&parser, &right);
    }
    if (status == ATT_OK) {
        out->intended = is_intended_expression(interpreter, line, node);
        out->fills_line = att_parser_at(&parser, ATT_TOKEN_END);
        out->assigned = att_parser_at(&parser, ATT_TOKEN_EQUALS) ||
                        att_parser_at(&parser, ATT_TOKEN_EQUAL_TO) ||
                        (att_parser_at(&parser, ATT_TOKEN_COLON) &&
                         origin.text[parser.token.offset + 1] == '='); /* f(x) := x */
        out->quoted = att_parser_at(&parser, ATT_TOKEN_STRING) && node->kind != ATT_EXPR_STRING;
        out->continues = att_parser_at_word(&parser, "with") ||
                         att_parser_at_word(&parser, "for") || att_parser_at_word(&parser, "check");
    } else {
        out->ends_early = att_parser_at(&parser, ATT_TOKEN_END);
    }
    att_arena_free(&scratch);
    return status == ATT_NO_MEMORY ? att_fail_memory(interpreter->scope.err) : ATT_OK;
}

static att_status reject_expression(const att_interpreter *interpreter, const att_sheet_line *line)
{
    struct expression_trial expression_trial;
    ATT_TRY(try_expression(interpreter, line, &expression_trial));
    if (expression_trial.intended && expression_trial.fills_line)
        return fail_line(interpreter, line,
                         "an expression on its own: expected 'show …' to show it, 'name = …' to "
                         "keep it, or '> …' for text");
    if (expression_trial.assigned)
        return fail_line(
            interpreter, line,
            "a value can only be assigned to a plain name: expected 'name = …', 'expect … = "
            "…', or '> …' for text");
    return ATT_OK;
}

/* The line without its first `bytes` bytes and the blanks behind them; its column is unchanged. */
static att_sheet_line rest_of(const att_sheet_line *line, size_t bytes)
{
    while (bytes < line->length && (line->text[bytes] == ' ' || line->text[bytes] == '\t'))
        bytes++;
    att_sheet_line rest = *line;
    rest.text += bytes;
    rest.offset += bytes;
    rest.length -= bytes;
    return rest;
}

/* Whether the line begins with a known name or function. */
static bool begins_known(const att_interpreter *interpreter, const att_sheet_line *line)
{
    enum { MAX_LENGTH = 63 };
    char name[MAX_LENGTH + 1] = "";
    size_t length = leading_name(line);
    if (length == 0 || length > MAX_LENGTH)
        return false;
    memcpy(name, line->text, length);
    return att_function_find(name) || att_symbol_table_get(&interpreter->symbols, name);
}

/* Whether the text behind the word is what follows a keyword: `shwo x`, `expct error a * b`. In
 * prose more words follow: "shows a matrix" is text even if the sheet has a name `a`. A capitalized
 * word starts a sentence more often than it is a typo, so it must be followed by a complete claim:
 * `Expect x = 3`. */
static att_status is_like_statement(const att_interpreter *interpreter, const att_sheet_line *line,
                                    size_t name, bool capital, const char *near, bool *out)
{
    *out = !capital && (contains(line, "=") || contains(line, "\"") || contains(line, " within "));
    if (*out)
        return ATT_OK;
    att_sheet_line rest = rest_of(line, name);
    size_t word = leading_name(&rest);
    if ((word == 5 && memcmp(rest.text, "error", word) == 0) ||
        (word == 3 && memcmp(rest.text, "not", word) == 0))
        rest = rest_of(&rest, word);
    struct expression_trial expression_trial;
    ATT_TRY(try_expression(interpreter, &rest, &expression_trial));
    bool complete = expression_trial.fills_line ||
                    (expression_trial.continues && strcmp(near, "gradient") == 0);
    *out = expression_trial.intended && (expression_trial.assigned || (complete && !capital));
    if (expression_trial.ends_early && !capital && rest.length > 0)
        *out = strchr("[{(", rest.text[0]) || begins_known(interpreter, &rest);
    return ATT_OK;
}

/* `expct x = 3`: a word near a keyword before something like a statement. */
static att_status reject_near_keyword(const att_interpreter *interpreter,
                                      const att_sheet_line *line, size_t name)
{
    enum { MAX_LENGTH = 16 };
    bool capital = line->text[0] >= 'A' && line->text[0] <= 'Z';
    if (name > MAX_LENGTH || (!capital && !(line->text[0] >= 'a' && line->text[0] <= 'z')))
        return ATT_OK;
    char word[MAX_LENGTH + 1] = "";
    char small[MAX_LENGTH + 1] = "";
    const char *known[KEYWORDS];
    memcpy(word, line->text, name);
    for (size_t i = 0; i < name; i++)
        small[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] - 'A' + 'a' : word[i]);
    for (size_t i = 0; i < KEYWORDS; i++)
        known[i] = keywords[i].word;
    const char *near = att_suggest(small, known, KEYWORDS);
    bool like = false;
    if (near)
        ATT_TRY(is_like_statement(interpreter, line, name, capital, near, &like));
    if (!like)
        return ATT_OK;
    return fail_line(interpreter, line,
                     "unknown statement '%s': did you mean '%s'? (text that looks like a statement "
                     "starts with '>')",
                     word, near);
}

/* ---- Exercises */

/* Whether a requirement is meant, so that a slip in the rest of it is an error, and not text. */
static bool is_condition(const att_interpreter *interpreter, const att_sheet_line *rest)
{
    static const char *const signs[] = { "<", ">", "==", "!=", " nonzero", " distinct" };
    bool found = begins_known(interpreter, rest) ||
                 (rest->length > 0 && strchr("([{-0123456789.", rest->text[0]));
    for (size_t i = 0; i < ATT_COUNT(signs); i++)
        found = found || contains(rest, signs[i]);
    return found;
}

/* Whether the line behind the keyword is what the statement takes. */
static att_status takes(const att_interpreter *interpreter, const att_sheet_line *rest,
                        enum follower follower, bool *out)
{
    size_t name = leading_name(rest);
    struct expression_trial trial;
    *out = rest->length > 0 && rest->text[0] == '"'; /* of `ask`: the expression is missing */
    if (follower == STRING_ALONE || (follower == EXPRESSION_AND_STRING && *out))
        return ATT_OK;
    if (follower == CONDITION || follower == NAME_AND_EQUALS) {
        *out = follower == CONDITION ? is_condition(interpreter, rest)
                                     : name > 0 && is_assignment(rest, name);
        return ATT_OK;
    }
    ATT_TRY(try_expression(interpreter, rest, &trial));
    *out = trial.quoted || (contains(rest, "\"") && begins_known(interpreter, rest)) ||
           (trial.intended && (trial.fills_line || contains(rest, " points ")));
    return ATT_OK;
}

static bool same_letters(const char *word, size_t length, const char *keyword)
{
    return strlen(keyword) == length && strncasecmp(word, keyword, length) == 0;
}

/* Words that are near a keyword and begin lines of prose. */
static bool is_other_word(const char *word)
{
    static const char *const words[] = { "gives", "give",     "giving",   "driven", "asks",
                                         "task",  "mask",     "and",      "as",     "is",
                                         "hints", "requires", "required", "wins",   "a" };
    for (size_t i = 0; i < ATT_COUNT(words); i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* The statement of an exercise that the line is; *out stays NULL for another line. A misspelled
 * keyword, or one with capitals, before what the statement takes is an error. */
static att_status find_exercise_statement(const att_interpreter *interpreter,
                                          const att_sheet_line *line, size_t name,
                                          att_statement **out)
{
    enum { MAX_LENGTH = 10 };
    char word[MAX_LENGTH + 1] = "";
    bool applies = false;
    if (name == 0 || name > MAX_LENGTH)
        return ATT_OK;
    memcpy(word, line->text, name);
    const att_sheet_line rest = rest_of(line, name);
    for (size_t i = 0; i < ATT_COUNT(exercise_keywords); i++) {
        const struct exercise_keyword *row = &exercise_keywords[i];
        bool same = same_letters(word, name, row->word);
        if (!same && (is_other_word(word) || !att_suggest(word, &row->word, 1)))
            continue;
        ATT_TRY(takes(interpreter, &rest, row->follower, &applies));
        if (!applies)
            continue;
        if (strcmp(word, row->word) != 0)
            return fail_line(interpreter, line,
                             "unknown statement '%s': did you mean '%s'? (text that looks like a "
                             "statement starts with '>')",
                             word, row->word);
        *out = row->run;
        return ATT_OK;
    }
    return ATT_OK;
}

/* ---- Claims in the middle of a line, and under other names */

/* Words of other languages for `expect`. */
static const char *const claim_words[] = { "expect", "expects", "assert", "check", "verify",
                                           "ensure", "confirm", "test",   "claim" };

static bool is_claim_word(const char *word, size_t length)
{
    for (; length > 0 && *word == '_'; word++) /* emphasis: _expect_ */
        length--;
    while (length > 0 && word[length - 1] == '_')
        length--;
    for (size_t i = 0; i < ATT_COUNT(claim_words); i++)
        if (strlen(claim_words[i]) == length && strncasecmp(claim_words[i], word, length) == 0)
            return true;
    return false;
}

/* Behind "1." or "a)" a misspelled `expect` counts too. In a sentence it would be `except`. */
static bool is_near_claim_word(const char *word, size_t length)
{
    enum { MAX_LENGTH = 16 };
    static const char *const known[] = { "expect" };
    char small[MAX_LENGTH + 1] = "";
    if (length > MAX_LENGTH)
        return false;
    for (size_t i = 0; i < length; i++)
        small[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] - 'A' + 'a' : word[i]);
    return att_suggest(small, known, 1) != NULL;
}

/* The line behind the words `that`, `not` and `error`, and behind a colon. */
static att_sheet_line skip_fillers(att_sheet_line line)
{
    static const char *const fillers[] = { "that", "not", "error" };
    if (line.length > 0 && line.text[0] == ':')
        line = rest_of(&line, 1);
    for (size_t i = 0; i < ATT_COUNT(fillers); i++)
        if (leading_name(&line) == strlen(fillers[i]) &&
            memcmp(line.text, fillers[i], strlen(fillers[i])) == 0)
            line = rest_of(&line, strlen(fillers[i]));
    return line;
}

/* Whether the line continues as a claim does: with an expression and '=', or, of an error, with an
 * expression to its end; or, as in `assert(x == 4)`, with a bracket. */
static att_status continues_as_claim(const att_interpreter *interpreter, const att_sheet_line *line,
                                     size_t from, bool *out)
{
    const att_sheet_line behind = rest_of(line, from), rest = skip_fillers(behind);
    struct expression_trial trial = { 0 };
    *out = from < line->length && line->text[from] == '(';
    if (*out || rest.length == 0)
        return ATT_OK;
    ATT_TRY(try_expression(interpreter, &rest, &trial));
    bool of_error = rest.offset > behind.offset && trial.intended && trial.fills_line;
    *out = trial.assigned || of_error || rest.text[0] == '=';
    return ATT_OK;
}

/* `1. expect x = 3`, `Expect that x = 3`, `assert x = 3`, `We expect x = 3`: text that has a claim
 * in it, which nobody would check. */
att_status att_sheet_line_reject_claim(const att_interpreter *interpreter,
                                       const att_sheet_line *line)
{
    bool in_sentence = false; /* a word that is longer than "Q1" or "a" came before */
    for (size_t at = 0, bytes; at < line->length; at += bytes) {
        const att_sheet_line from = { line->text + at, line->offset + at, line->length - at,
                                      line->number, line->column };
        uint32_t code;
        size_t word = leading_name(&from);
        bytes = word > 0 ? word : att_utf8_decode_lossy(from.text, from.length, &code);
        bool claim = is_claim_word(from.text, word) ||
                     (word > 0 && !in_sentence && is_near_claim_word(from.text, word));
        if (claim)
            ATT_TRY(continues_as_claim(interpreter, &from, word, &claim));
        if (claim)
            return fail_line(
                interpreter, line,
                "a claim that nobody checks: expected 'expect … = …' at the start of a "
                "line, or '> …' for text");
        in_sentence |= word > 2;
    }
    return ATT_OK;
}

/* `expectx = 4`, `expect_x = 4`: a keyword that runs into a name is not a name. */
static att_status reject_joined_keyword(const att_interpreter *interpreter,
                                        const att_sheet_line *line, size_t name)
{
    for (size_t i = 0; i < KEYWORDS; i++) {
        size_t length = strlen(keywords[i].word);
        if (name <= length || memcmp(line->text, keywords[i].word, length) != 0)
            continue;
        length += line->text[length] == '_';
        const att_sheet_line rest = { line->text + length, line->offset + length, name - length,
                                      line->number, line->column };
        if (begins_known(interpreter, &rest))
            return fail_line(interpreter, line,
                             "found the name '%.*s': did you mean '%s %.*s'? (another name is "
                             "clearer)",
                             (int)name, line->text, keywords[i].word, (int)rest.length, rest.text);
    }
    return ATT_OK;
}

/* `exp ect x = 4`: a keyword in two pieces. */
static att_status reject_split_keyword(const att_interpreter *interpreter,
                                       const att_sheet_line *line, size_t name)
{
    enum { MAX_LENGTH = 16 };
    char joined[2 * MAX_LENGTH];
    const att_sheet_line rest = rest_of(line, name);
    size_t second = leading_name(&rest);
    if (second == 0 || name > MAX_LENGTH || second > MAX_LENGTH)
        return ATT_OK;
    memcpy(joined, line->text, name);
    memcpy(joined + name, rest.text, second);
    const struct keyword *keyword = find_keyword(joined, name + second);
    return keyword ? fail_line(interpreter, line, "found '%s' in two pieces", keyword->word)
                   : ATT_OK;
}

/* `x += 1`, `x := 2`: assignments of other languages. */
static att_status reject_operator(const att_interpreter *interpreter, const att_sheet_line *line,
                                  size_t name)
{
    att_sheet_line rest = rest_of(line, name);
    if (rest.length < 2 || rest.text[1] != '=' || !strchr("+-*/^:", rest.text[0]))
        return ATT_OK;
    return fail_line(interpreter, line,
                     "found '%.2s' after a name: did you mean '='? (text that looks like a "
                     "statement starts with '>')",
                     rest.text);
}

/* "0.1 0.2 0.3", which is left over when a matrix is closed too early. */
static bool only_numbers(const att_sheet_line *line)
{
    for (size_t i = 0; i < line->length; i++) {
        char c = line->text[i];
        bool exponent =
            (c == 'e' || c == 'E') && i > 0 && line->text[i - 1] >= '0' && line->text[i - 1] <= '9';
        if (!exponent && !strchr("0123456789 \t.,;+-*/^()[]{}=':", c))
            return false;
    }
    return true;
}

/* [text](address) */
static bool is_link(const att_sheet_line *line)
{
    const char *close = line->text[0] == '[' ? memchr(line->text, ']', line->length) : NULL;
    return close && close + 1 < line->text + line->length && close[1] == '(';
}

/* *emphasis* and **strong**: the last star is not followed by a letter, as in *x*y. */
static bool is_emphasis(const att_sheet_line *line)
{
    size_t stars = line->length > 1 && line->text[1] == '*' ? 2 : 1;
    if (line->text[0] != '*' || line->length <= stars)
        return false;
    const att_sheet_line rest = { line->text + stars, line->offset, line->length - stars,
                                  line->number, line->column };
    for (size_t i = 1; leading_name(&rest) > 0 && i < rest.length; i++)
        if (rest.text[i] == '*' && (i + 1 == rest.length || strchr(" \t.,;:!?)", rest.text[i + 1])))
            return true;
    return false;
}

/* "- text" and "* text" are items of a list; "- b" may be the rest of a statement that was meant to
 * continue, if b is a name of the sheet. */
static att_status is_marked_text(const att_interpreter *interpreter, const att_sheet_line *line,
                                 bool *out)
{
    bool item =
        line->length > 2 && (line->text[0] == '-' || line->text[0] == '*') && line->text[1] == ' ';
    *out = is_link(line) || is_emphasis(line);
    if (!item)
        return ATT_OK;
    const att_sheet_line rest = rest_of(line, 1);
    struct expression_trial trial;
    ATT_TRY(try_expression(interpreter, &rest, &trial));
    bool expression = trial.intended || strchr("[({+-*/0123456789.", rest.text[0]);
    bool continues = expression && (trial.fills_line || only_numbers(&rest));
    *out = !continues && !trial.assigned;
    return ATT_OK;
}

static att_status reject_start(const att_interpreter *interpreter, const att_sheet_line *line)
{
    char c = line->text[0];
    bool marked = false;
    ATT_TRY(is_marked_text(interpreter, line, &marked));
    if (marked)
        return ATT_OK;
    bool minus = line->length >= 3 && memcmp(line->text, "\xE2\x88\x92", 3) == 0;
    if (minus || strchr("[](){}+-*/^=;,:", c))
        return fail_line(interpreter, line,
                         "a line cannot start with '%.*s': expected a statement, or '> …' for text",
                         minus ? 3 : 1, line->text);
    if (((c >= '0' && c <= '9') || c == '.') && only_numbers(line))
        return fail_line(interpreter, line,
                         "numbers on their own: expected a statement, or '> …' for text (was a "
                         "matrix closed too early?)");
    return ATT_OK;
}

/* `load` and the keywords of exercises, which cannot be names either; or NULL. */
static const char *reserved_word(const char *word, size_t length)
{
    for (size_t i = 0; i < ATT_COUNT(exercise_keywords); i++)
        if (strlen(exercise_keywords[i].word) == length &&
            memcmp(exercise_keywords[i].word, word, length) == 0)
            return exercise_keywords[i].word;
    return length == strlen("load") && memcmp(word, "load", length) == 0 ? "load" : NULL;
}

att_status att_sheet_line_statement(att_interpreter *interpreter, const att_sheet_line *line,
                                    att_statement **out)
{
    *out = NULL;
    if (line->text[0] == '>')
        return ATT_OK;
    size_t name = leading_name(line);
    const struct keyword *keyword = find_keyword(line->text, name);
    if (name > 0 && is_assignment(line, name)) {
        const char *reserved = keyword ? keyword->word : reserved_word(line->text, name);
        if (reserved)
            return fail_line(interpreter, line, "'%s' is a keyword and cannot be a name", reserved);
        *out = att_run_assign;
        return reject_joined_keyword(interpreter, line, name);
    }
    if (keyword || att_sheet_line_is_definition(line)) {
        *out = keyword ? keyword->run : att_run_define;
        return ATT_OK;
    }
    size_t body = 0;
    ATT_TRY(att_sheet_line_loop(interpreter, line, &body));
    if (body > 0) {
        *out = att_run_for;
        return ATT_OK;
    }
    ATT_TRY(att_sheet_line_setting(interpreter, line, out));
    ATT_TRY(att_sheet_line_diagram(interpreter, line, out));
    ATT_TRY(find_exercise_statement(interpreter, line, name, out));
    if (*out)
        return ATT_OK;
    if (name > 0) {
        ATT_TRY(reject_near_keyword(interpreter, line, name));
        ATT_TRY(reject_split_keyword(interpreter, line, name));
        ATT_TRY(reject_operator(interpreter, line, name));
    }
    ATT_TRY(reject_start(interpreter, line));
    ATT_TRY(att_sheet_line_reject_claim(interpreter, line));
    return reject_expression(interpreter, line);
}
