/* Where in C a text stands; see scan.h. A rough reading, which follows a file through its
 * preprocessor's branches: what these leave open, a brace in the first column closes. */
#include "text/scan.h"

#include <string.h>

/* ---- comments and literals */

static void enter(att_scan *scan, att_within within)
{
    scan->within = within;
    scan->escaped = false;
    scan->previous = 0; /* the star of a beginning is not that of an end */
}

/* In code; true where something else begins. Two slashes after a colon are those of a URL. */
static bool begins_other(att_scan *scan)
{
    uint32_t c = scan->code;
    if (scan->previous == '/' && c == '*')
        enter(scan, ATT_WITHIN_COMMENT);
    else if (c == '/' && scan->after == '/' && scan->previous != ':')
        enter(scan, ATT_WITHIN_LINE_COMMENT);
    else if (c == '"')
        enter(scan, ATT_WITHIN_STRING);
    else if (c == '\'' && scan->word == 0 && !(scan->previous >= '0' && scan->previous <= 'z'))
        enter(scan, ATT_WITHIN_CHARACTER);
    return scan->within != ATT_WITHIN_CODE;
}

static void read_literal(att_scan *scan, uint32_t end)
{
    if (scan->code == '\n' && !scan->escaped)
        enter(scan, ATT_WITHIN_CODE); /* it was none, or is not finished */
    else if (scan->code == end && !scan->escaped)
        enter(scan, ATT_WITHIN_CODE);
    else
        scan->escaped = scan->code == '\\' && !scan->escaped;
}

/* ---- brackets */

static void close_bracket(int64_t *open)
{
    if (*open > 0)
        --*open;
}

static void read_bracket(att_scan *scan)
{
    switch (scan->code) {
    case '(':
        scan->round++;
        break;
    case ')':
        close_bracket(&scan->round);
        break;
    case '[':
        scan->square++;
        break;
    case ']':
        close_bracket(&scan->square);
        break;
    case '{':
        scan->curly++;
        break;
    case '}':
        close_bracket(&scan->curly);
        break;
    default:
        return;
    }
    bool first = scan->column == 1 && (scan->code == '{' || scan->code == '}');
    if (first) {
        scan->curly = scan->code == '{';
        scan->round = scan->square = 0;
    }
}

/* ---- what stands between certain signs */

/* The condition of an if: from its bracket to the one that closes it. */
static void read_condition(att_scan *scan)
{
    if (scan->if_read && scan->code == '(')
        scan->condition = scan->round;
    if (scan->condition > scan->round)
        scan->condition = 0;
    bool word = scan->word == 2 && scan->before == 'i' && scan->code == 'f';
    bool blank = att_scan_blank(scan->code);
    scan->if_read = word || (scan->if_read && blank);
}

static void read_assignment(att_scan *scan)
{
    bool compares = scan->after == '=' || (scan->previous && strchr("=!<>", (int)scan->previous));
    if (scan->code == '=' && !compares)
        scan->assigned = true;
    else if (scan->code == ';' || scan->code == '{' || scan->code == '}')
        scan->assigned = false;
}

static void read_code(att_scan *scan)
{
    read_bracket(scan);
    read_condition(scan);
    read_assignment(scan);
    if (scan->empty_line) {
        scan->round = scan->square = scan->condition = 0;
        scan->assigned = false;
    }
}

/* A directive goes on beyond a backslash at the end of its line. */
static void read_directive(att_scan *scan)
{
    if (scan->code == '\n')
        scan->directive = scan->directive && scan->before == '\\';
    else if (scan->code == '#' && scan->column == scan->indent + 1)
        scan->directive = true;
}

void att_scan_code(att_scan *scan)
{
    uint32_t c = scan->code;
    switch (scan->within) {
    case ATT_WITHIN_CODE:
        read_directive(scan);
        if (begins_other(scan))
            return;
        read_code(scan);
        break;
    case ATT_WITHIN_LINE_COMMENT:
        if (c == '\n')
            enter(scan, ATT_WITHIN_CODE);
        break;
    case ATT_WITHIN_COMMENT:
        if (scan->previous == '*' && c == '/') {
            enter(scan, ATT_WITHIN_CODE);
            return;
        }
        break;
    case ATT_WITHIN_STRING:
        read_literal(scan, '"');
        break;
    case ATT_WITHIN_CHARACTER:
        read_literal(scan, '\'');
        break;
    }
    scan->previous = c;
}
