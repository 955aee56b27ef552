/* Classifies lines as statements or text. Most text needs no mark; a line that looks like a
 * misspelled statement is an error, so that a typo cannot silently drop a check. */
#define _GNU_SOURCE /* memmem() */
#include "sheet/sheet_line.h"

#include "base/minmax.h"

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

static att_status reject_expression(const att_interpreter *interpreter, const att_sheet_line *line)
{
    att_expression_trial trial;
    ATT_TRY(att_sheet_line_try(interpreter, line, &trial));
    if (trial.intended && trial.fills_line)
        return att_sheet_line_fail(
            interpreter, line,
            "an expression on its own: expected 'show …' to show it, 'name = …' to "
            "keep it, or '> …' for text");
    if (trial.assigned)
        return att_sheet_line_fail(
            interpreter, line,
            "a value can only be assigned to a plain name: expected 'name = …', 'expect … = "
            "…', or '> …' for text");
    return ATT_OK;
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
    att_sheet_line rest = att_sheet_line_rest(line, name);
    size_t word = att_sheet_line_leading_name(&rest);
    if ((word == 5 && memcmp(rest.text, "error", word) == 0) ||
        (word == 3 && memcmp(rest.text, "not", word) == 0))
        rest = att_sheet_line_rest(&rest, word);
    att_expression_trial trial;
    ATT_TRY(att_sheet_line_try(interpreter, &rest, &trial));
    bool complete = trial.fills_line || (trial.continues && strcmp(near, "gradient") == 0);
    *out = trial.intended && (trial.assigned || (complete && !capital));
    if (trial.ends_early && !capital && rest.length > 0)
        *out = strchr("[{(", rest.text[0]) || att_sheet_line_begins_known(interpreter, &rest);
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
    return att_sheet_line_fail(
        interpreter, line,
        "unknown statement '%s': did you mean '%s'? (text that looks like a statement "
        "starts with '>')",
        word, near);
}

/* ---- Exercises */

/* Whether a requirement is meant, so that a slip in the rest of it is an error, and not text. */
static bool is_condition(const att_interpreter *interpreter, const att_sheet_line *rest)
{
    static const char *const signs[] = { "<", ">", "==", "!=", " nonzero", " distinct" };
    bool found = att_sheet_line_begins_known(interpreter, rest) ||
                 (rest->length > 0 && strchr("([{-0123456789.", rest->text[0]));
    for (size_t i = 0; i < ATT_COUNT(signs); i++)
        found = found || contains(rest, signs[i]);
    return found;
}

/* Whether the line behind the keyword is what the statement takes. */
static att_status takes(const att_interpreter *interpreter, const att_sheet_line *rest,
                        enum follower follower, bool *out)
{
    size_t name = att_sheet_line_leading_name(rest);
    att_expression_trial trial;
    *out = rest->length > 0 && rest->text[0] == '"'; /* of `ask`: the expression is missing */
    if (follower == STRING_ALONE || (follower == EXPRESSION_AND_STRING && *out))
        return ATT_OK;
    if (follower == CONDITION || follower == NAME_AND_EQUALS) {
        *out = follower == CONDITION ? is_condition(interpreter, rest)
                                     : name > 0 && is_assignment(rest, name);
        return ATT_OK;
    }
    ATT_TRY(att_sheet_line_try(interpreter, rest, &trial));
    *out = trial.quoted ||
           (contains(rest, "\"") && att_sheet_line_begins_known(interpreter, rest)) ||
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
    const att_sheet_line rest = att_sheet_line_rest(line, name);
    for (size_t i = 0; i < ATT_COUNT(exercise_keywords); i++) {
        const struct exercise_keyword *row = &exercise_keywords[i];
        bool same = same_letters(word, name, row->word);
        if (!same && (is_other_word(word) || !att_suggest(word, &row->word, 1)))
            continue;
        ATT_TRY(takes(interpreter, &rest, row->follower, &applies));
        if (!applies)
            continue;
        if (strcmp(word, row->word) != 0)
            return att_sheet_line_fail(
                interpreter, line,
                "unknown statement '%s': did you mean '%s'? (text that looks like a "
                "statement starts with '>')",
                word, row->word);
        *out = row->run;
        return ATT_OK;
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
        if (att_sheet_line_begins_known(interpreter, &rest))
            return att_sheet_line_fail(
                interpreter, line,
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
    const att_sheet_line rest = att_sheet_line_rest(line, name);
    size_t second = att_sheet_line_leading_name(&rest);
    if (second == 0 || name > MAX_LENGTH || second > MAX_LENGTH)
        return ATT_OK;
    memcpy(joined, line->text, name);
    memcpy(joined + name, rest.text, second);
    const struct keyword *keyword = find_keyword(joined, name + second);
    return keyword
               ? att_sheet_line_fail(interpreter, line, "found '%s' in two pieces", keyword->word)
               : ATT_OK;
}

/* `x += 1`, `x := 2`: assignments of other languages. */
static att_status reject_operator(const att_interpreter *interpreter, const att_sheet_line *line,
                                  size_t name)
{
    att_sheet_line rest = att_sheet_line_rest(line, name);
    if (rest.length < 2 || rest.text[1] != '=' || !strchr("+-*/^:", rest.text[0]))
        return ATT_OK;
    return att_sheet_line_fail(
        interpreter, line,
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
    for (size_t i = 1; att_sheet_line_leading_name(&rest) > 0 && i < rest.length; i++)
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
    const att_sheet_line rest = att_sheet_line_rest(line, 1);
    att_expression_trial trial;
    ATT_TRY(att_sheet_line_try(interpreter, &rest, &trial));
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
        return att_sheet_line_fail(
            interpreter, line,
            "a line cannot start with '%.*s': expected a statement, or '> …' for text",
            minus ? 3 : 1, line->text);
    if (((c >= '0' && c <= '9') || c == '.') && only_numbers(line))
        return att_sheet_line_fail(
            interpreter, line,
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
    size_t name = att_sheet_line_leading_name(line);
    const struct keyword *keyword = find_keyword(line->text, name);
    if (name > 0 && is_assignment(line, name)) {
        const char *reserved = keyword ? keyword->word : reserved_word(line->text, name);
        if (reserved)
            return att_sheet_line_fail(interpreter, line, "'%s' is a keyword and cannot be a name",
                                       reserved);
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
