/* Claims in text: a line that states `x = 3` behind `expect`, or behind a word of another language
 * for it, where nobody would check it. */
#include "sheet/sheet_line.h"

#include "base/minmax.h"
#include "base/string.h"
#include "text/utf8.h"

#include <string.h>
#include <strings.h>

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

/* The line behind the end of emphasis, as in `**expect** x = 3`, behind a colon, and behind the
 * words `that`, `not` and `error`. */
static att_sheet_line skip_fillers(att_sheet_line line)
{
    static const char *const fillers[] = { "that", "not", "error" };
    while (line.length > 0 && strchr("*_`~\":", line.text[0]))
        line = att_sheet_line_rest(&line, 1);
    for (size_t i = 0; i < ATT_COUNT(fillers); i++)
        if (att_sheet_line_leading_name(&line) == strlen(fillers[i]) &&
            memcmp(line.text, fillers[i], strlen(fillers[i])) == 0)
            line = att_sheet_line_rest(&line, strlen(fillers[i]));
    return line;
}

/* Whether the line continues as a claim does: with an expression and '=', or, of an error, with an
 * expression to its end; or, as in `assert(x == 4)`, with a bracket. */
static att_status continues_as_claim(const att_interpreter *interpreter, const att_sheet_line *line,
                                     size_t from, bool *out)
{
    const att_sheet_line behind = att_sheet_line_rest(line, from), rest = skip_fillers(behind);
    att_expression_trial trial = { 0 };
    *out = from < line->length && line->text[from] == '(';
    if (*out || rest.length == 0)
        return ATT_OK;
    ATT_TRY(att_sheet_line_try(interpreter, &rest, &trial));
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
        size_t word = att_sheet_line_leading_name(&from);
        bytes = word > 0 ? word : att_utf8_decode_lossy(from.text, from.length, &code);
        bool claim = is_claim_word(from.text, word) ||
                     (word > 0 && !in_sentence && is_near_claim_word(from.text, word));
        if (claim)
            ATT_TRY(continues_as_claim(interpreter, &from, word, &claim));
        if (claim)
            return att_sheet_line_fail(
                interpreter, line,
                "a claim that nobody checks: expected 'expect … = …' at the start of a "
                "line, or '> …' for text");
        in_sentence |= word > 2;
    }
    return ATT_OK;
}
