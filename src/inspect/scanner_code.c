/* Where in C a text stands; see scan.h. A rough reading, which follows a file through its
 * preprocessor's branches: what these leave open, a brace in the first column closes. */
#include "inspect/scanner.h"

#include <string.h>

/* ---- comments and literals */

static void enter(att_scanner *scan, att_lexical_context within)
{
    scan->context = within;
    scan->escaped = false;
    scan->unconsumed_codepoint = 0; /* the star of a beginning is not that of an end */
}

/* In code; true where something else begins. Two slashes after a colon are those of a URL. */
static bool enters_comment_or_literal(att_scanner *scan)
{
    uint32_t c = scan->codepoint;
    if (scan->unconsumed_codepoint == '/' && c == '*')
        enter(scan, ATT_LEXICAL_BLOCK_COMMENT);
    else if (c == '/' && scan->next_codepoint == '/' && scan->unconsumed_codepoint != ':')
        enter(scan, ATT_LEXICAL_LINE_COMMENT);
    else if (c == '"')
        enter(scan, ATT_LEXICAL_STRING);
    else if (c == '\'' && scan->word_length == 0 &&
             !(scan->unconsumed_codepoint >= '0' && scan->unconsumed_codepoint <= 'z'))
        enter(scan, ATT_LEXICAL_CHARACTER);
    return scan->context != ATT_LEXICAL_CODE;
}

static void read_literal(att_scanner *scan, uint32_t end)
{
    if (scan->codepoint == '\n' && !scan->escaped)
        enter(scan, ATT_LEXICAL_CODE); /* it was none, or is not finished */
    else if (scan->codepoint == end && !scan->escaped)
        enter(scan, ATT_LEXICAL_CODE);
    else
        scan->escaped = scan->codepoint == '\\' && !scan->escaped;
}

/* ---- brackets */

static void close_bracket(int64_t *open)
{
    if (*open > 0)
        --*open;
}

static void read_bracket(att_scanner *scan)
{
    switch (scan->codepoint) {
    case '(':
        scan->round_depth++;
        break;
    case ')':
        close_bracket(&scan->round_depth);
        break;
    case '[':
        scan->square_depth++;
        break;
    case ']':
        close_bracket(&scan->square_depth);
        break;
    case '{':
        scan->curly_depth++;
        break;
    case '}':
        close_bracket(&scan->curly_depth);
        break;
    default:
        return;
    }
    bool first = scan->column == 1 && (scan->codepoint == '{' || scan->codepoint == '}');
    if (first) {
        scan->curly_depth = scan->codepoint == '{';
        scan->round_depth = scan->square_depth = 0;
    }
}

/* ---- what stands between certain signs */

/* The condition of an if: from its bracket to the one that closes it. */
static void read_condition(att_scanner *scan)
{
    if (scan->after_if && scan->codepoint == '(')
        scan->condition_depth = scan->round_depth;
    if (scan->condition_depth > scan->round_depth)
        scan->condition_depth = 0;
    bool word = scan->word_length == 2 && scan->previous_codepoint == 'i' && scan->codepoint == 'f';
    bool blank = att_is_blank(scan->codepoint);
    scan->after_if = word || (scan->after_if && blank);
}

static void read_assignment(att_scanner *scan)
{
    bool compares = scan->next_codepoint == '=' ||
                    (scan->unconsumed_codepoint && strchr("=!<>", (int)scan->unconsumed_codepoint));
    if (scan->codepoint == '=' && !compares)
        scan->in_assignment = true;
    else if (scan->codepoint == ';' || scan->codepoint == '{' || scan->codepoint == '}')
        scan->in_assignment = false;
}

static void read_code(att_scanner *scan)
{
    read_bracket(scan);
    read_condition(scan);
    read_assignment(scan);
    if (scan->blank_line) {
        scan->round_depth = scan->square_depth = scan->condition_depth = 0;
        scan->in_assignment = false;
    }
}

/* A directive goes on beyond a backslash at the end of its line. */
static void read_directive(att_scanner *scan)
{
    if (scan->codepoint == '\n')
        scan->in_directive = scan->in_directive && scan->previous_codepoint == '\\';
    else if (scan->codepoint == '#' && scan->column == scan->indent + 1)
        scan->in_directive = true;
}

void att_scanner_update_code(att_scanner *scan)
{
    uint32_t c = scan->codepoint;
    switch (scan->context) {
    case ATT_LEXICAL_CODE:
        read_directive(scan);
        if (enters_comment_or_literal(scan))
            return;
        read_code(scan);
        break;
    case ATT_LEXICAL_LINE_COMMENT:
        if (c == '\n')
            enter(scan, ATT_LEXICAL_CODE);
        break;
    case ATT_LEXICAL_BLOCK_COMMENT:
        if (scan->unconsumed_codepoint == '*' && c == '/') {
            enter(scan, ATT_LEXICAL_CODE);
            return;
        }
        break;
    case ATT_LEXICAL_STRING:
        read_literal(scan, '"');
        break;
    case ATT_LEXICAL_CHARACTER:
        read_literal(scan, '\'');
        break;
    }
    scan->unconsumed_codepoint = c;
}
