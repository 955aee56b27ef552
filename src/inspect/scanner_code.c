/* The C part of the scanner: comments, literals, brackets, conditions, assignments and directives.
 * An approximation: all branches of the preprocessor are read, and a brace in the first column
 * closes any brackets that they leave open. */
#include "inspect/scanner.h"

#include <string.h>

/* ---- comments and literals */

static void enter(att_scanner *scanner, att_lexical_context context)
{
    scanner->context = context;
    scanner->escaped = false;
    scanner->unconsumed_codepoint =
        0; /* so that the star of an opening slash-star cannot close the comment */
}

/* In code: true if a comment or literal starts here. Two slashes after a colon belong to a URL. */
static bool enters_comment_or_literal(att_scanner *scanner)
{
    uint32_t c = scanner->codepoint;
    if (scanner->unconsumed_codepoint == '/' && c == '*')
        enter(scanner, ATT_LEXICAL_BLOCK_COMMENT);
    else if (c == '/' && scanner->next_codepoint == '/' && scanner->unconsumed_codepoint != ':')
        enter(scanner, ATT_LEXICAL_LINE_COMMENT);
    else if (c == '"')
        enter(scanner, ATT_LEXICAL_STRING);
    else if (c == '\'' && scanner->word_length == 0 &&
             !(scanner->unconsumed_codepoint >= '0' && scanner->unconsumed_codepoint <= 'z'))
        enter(scanner, ATT_LEXICAL_CHARACTER);
    return scanner->context != ATT_LEXICAL_CODE;
}

static void read_literal(att_scanner *scanner, uint32_t end)
{
    if (scanner->codepoint == '\n' && !scanner->escaped)
        enter(scanner, ATT_LEXICAL_CODE); /* not a literal, or unterminated */
    else if (scanner->codepoint == end && !scanner->escaped)
        enter(scanner, ATT_LEXICAL_CODE);
    else
        scanner->escaped = scanner->codepoint == '\\' && !scanner->escaped;
}

/* ---- brackets */

static void close_bracket(int64_t *open)
{
    if (*open > 0)
        --*open;
}

static void read_bracket(att_scanner *scanner)
{
    switch (scanner->codepoint) {
    case '(':
        scanner->round_depth++;
        break;
    case ')':
        close_bracket(&scanner->round_depth);
        break;
    case '[':
        scanner->square_depth++;
        break;
    case ']':
        close_bracket(&scanner->square_depth);
        break;
    case '{':
        scanner->curly_depth++;
        break;
    case '}':
        close_bracket(&scanner->curly_depth);
        break;
    default:
        return;
    }
    bool first = scanner->column == 1 && (scanner->codepoint == '{' || scanner->codepoint == '}');
    if (first) {
        scanner->curly_depth = scanner->codepoint == '{';
        scanner->round_depth = scanner->square_depth = 0;
    }
}

/* ---- conditions, assignments, directives */

/* The condition of an if extends from its opening to its closing bracket. */
static void read_condition(att_scanner *scanner)
{
    if (scanner->after_if && scanner->codepoint == '(')
        scanner->condition_depth = scanner->round_depth;
    if (scanner->condition_depth > scanner->round_depth)
        scanner->condition_depth = 0;
    bool word = scanner->word_length == 2 && scanner->previous_codepoint == 'i' &&
                scanner->codepoint == 'f';
    bool blank = att_is_blank(scanner->codepoint);
    scanner->after_if = word || (scanner->after_if && blank);
}

static void read_assignment(att_scanner *scanner)
{
    bool compares =
        scanner->next_codepoint == '=' ||
        (scanner->unconsumed_codepoint && strchr("=!<>", (int)scanner->unconsumed_codepoint));
    if (scanner->codepoint == '=' && !compares)
        scanner->in_assignment = true;
    else if (scanner->codepoint == ';' || scanner->codepoint == '{' || scanner->codepoint == '}')
        scanner->in_assignment = false;
}

static void read_code(att_scanner *scanner)
{
    read_bracket(scanner);
    read_condition(scanner);
    read_assignment(scanner);
    if (scanner->blank_line) {
        scanner->round_depth = scanner->square_depth = scanner->condition_depth = 0;
        scanner->in_assignment = false;
    }
}

/* A backslash at the end of a line continues the directive. */
static void read_directive(att_scanner *scanner)
{
    if (scanner->codepoint == '\n')
        scanner->in_directive = scanner->in_directive && scanner->previous_codepoint == '\\';
    else if (scanner->codepoint == '#' && scanner->column == scanner->indent + 1)
        scanner->in_directive = true;
}

void att_scanner_update_code(att_scanner *scanner)
{
    uint32_t c = scanner->codepoint;
    switch (scanner->context) {
    case ATT_LEXICAL_CODE:
        read_directive(scanner);
        if (enters_comment_or_literal(scanner))
            return;
        read_code(scanner);
        break;
    case ATT_LEXICAL_LINE_COMMENT:
        if (c == '\n')
            enter(scanner, ATT_LEXICAL_CODE);
        break;
    case ATT_LEXICAL_BLOCK_COMMENT:
        if (scanner->unconsumed_codepoint == '*' && c == '/') {
            enter(scanner, ATT_LEXICAL_CODE);
            return;
        }
        break;
    case ATT_LEXICAL_STRING:
        read_literal(scanner, '"');
        break;
    case ATT_LEXICAL_CHARACTER:
        read_literal(scanner, '\'');
        break;
    }
    scanner->unconsumed_codepoint = c;
}
