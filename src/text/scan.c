/* Lines, words, quotations and sentences; see scan.h. */
#include "text/scan.h"

#include "text/utf8.h"

#include <string.h>

enum { TAB = 8, LONGEST_LOOK = 1 << 16 };

static bool is_digit(uint32_t code)
{
    return code >= '0' && code <= '9';
}

/* Latin, Greek and Cyrillic; the sign of multiplication stands among the letters. */
bool att_scan_capital(uint32_t code)
{
    return (code >= 'A' && code <= 'Z') || (code >= 0xC0 && code <= 0xDE && code != 0xD7) ||
           (code >= 0x391 && code <= 0x3A9) || (code >= 0x410 && code <= 0x42F);
}

static uint32_t peek(const att_scan *scan)
{
    uint32_t code = 0;
    if (scan->at < scan->length)
        att_utf8_take(scan->text + scan->at, scan->length - scan->at, &code);
    return code;
}

/* ---- lines */

/* Characters from here to the end of the line, counted no further than LONGEST_LOOK bytes. */
static int64_t look_along(const att_scan *scan)
{
    size_t left = scan->length - scan->at;
    const char *start = scan->text + scan->at;
    size_t most = left < LONGEST_LOOK ? left : LONGEST_LOOK;
    const char *end = memchr(start, '\n', most);
    int64_t count = 0;
    if (!end)
        end = start + most;
    else if (end > start && end[-1] == '\r')
        end--;
    for (const char *at = start; at < end; at++)
        count += ((unsigned char)*at & 0xC0) != 0x80;
    return count;
}

static void begin_line(att_scan *scan)
{
    scan->column = 0;
    scan->indent = 0;
    scan->indenting = true;
    scan->line_length = look_along(scan);
}

static void read_line(att_scan *scan)
{
    scan->empty_line = scan->code == '\n' && scan->indenting;
    if (scan->code == '\n') {
        begin_line(scan);
        return;
    }
    scan->column++;
    scan->indenting = scan->indenting && (scan->code == ' ' || scan->code == '\t');
    if (scan->indenting)
        scan->indent += scan->code == '\t' ? TAB - scan->indent % TAB : 1;
}

/* ---- words */

/* A point stays in a number where a digit follows. */
static bool goes_on(const att_scan *scan)
{
    if (att_utf8_name_part(scan->code))
        return true;
    return scan->is_number && scan->code == '.' && is_digit(scan->after);
}

static void read_word(att_scan *scan)
{
    if (!goes_on(scan)) {
        scan->word = 0;
        scan->is_number = scan->capitals = false;
        return;
    }
    if (scan->word == 0) {
        scan->is_number = is_digit(scan->code);
        scan->capitals = true;
        scan->sentence_words++;
    }
    scan->word++;
    scan->capitals = scan->capitals && (att_scan_capital(scan->code) || scan->code == '_' ||
                                        (scan->word > 1 && is_digit(scan->code)));
}

static bool url_begins(const att_scan *scan, size_t here)
{
    static const char *const starts[] = { "http://", "https://", "ftp://", "git://", "www." };
    if (att_utf8_name_part(scan->before))
        return false;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t length = strlen(starts[i]);
        if (scan->length - here >= length && memcmp(scan->text + here, starts[i], length) == 0)
            return true;
    }
    return false;
}

/* From its first letter to what cannot belong to one. */
static void read_url(att_scan *scan, size_t here)
{
    static const char ends[] = "\"<>()[]{}`";
    uint32_t c = scan->code;
    bool ended = att_scan_blank(c) || (c < 0x80 && strchr(ends, (int)c));
    scan->in_url = scan->in_url ? !ended : url_begins(scan, here);
}

/* ---- prose */

/* An empty line ends what was left open. */
static void read_quotes(att_scan *scan)
{
    switch (scan->code) {
    case '"':
        scan->quoted = !scan->quoted;
        break;
    case 0x201C: /* “ */
    case 0xAB:
        scan->quoted = true;
        break;   /* « */
    case 0x201D: /* ” */
    case 0xBB:
        scan->quoted = false;
        break; /* » */
    default:
        scan->quoted = scan->quoted && !scan->empty_line;
    }
}

/* A sentence begins with the first word after a sign that ended the one before and a blank. */
static void read_sentence(att_scan *scan)
{
    bool stop = scan->code == '.' || scan->code == '!' || scan->code == '?';
    if (scan->empty_line || (scan->sentence_over && att_scan_blank(scan->code)))
        scan->sentence_words = 0;
    if (stop)
        scan->sentence_over = true;
    else if (att_utf8_name_part(scan->code) || att_scan_blank(scan->code))
        scan->sentence_over = false; /* quotation marks and brackets may stand between */
}

/* The character at `here`; the end of a line of DOS is one, and an end like any other. */
static size_t take(const att_scan *scan, size_t here, uint32_t *code)
{
    const char *text = scan->text + here;
    size_t left = scan->length - here;
    if (left > 1 && text[0] == '\r' && text[1] == '\n') {
        *code = '\n';
        return 2;
    }
    return att_utf8_take(text, left, code);
}

void att_scan_start(att_scan *scan, const char *text, size_t length)
{
    *scan = (att_scan){ .text = text, .length = length };
    begin_line(scan);
    scan->after = peek(scan);
}

size_t att_scan_next(att_scan *scan)
{
    size_t here = scan->at;
    if (here >= scan->length)
        return 0;
    scan->before = scan->code;
    scan->at += take(scan, here, &scan->code);
    scan->after = peek(scan);
    read_line(scan);
    read_word(scan);
    read_url(scan, here);
    read_quotes(scan);
    read_sentence(scan);
    att_scan_code(scan);
    return scan->at - here;
}
