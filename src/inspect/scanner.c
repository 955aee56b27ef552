/* Lines, words, quotations and sentences; see scan.h. */
#include "inspect/scanner.h"

#include "text/utf8.h"

#include <string.h>

enum { TAB = 8, MAX_LOOKAHEAD = 1 << 16 };

static bool is_digit(uint32_t code)
{
    return code >= '0' && code <= '9';
}

/* Latin, Greek and Cyrillic; the sign of multiplication stands among the letters. */
bool att_is_capital(uint32_t code)
{
    return (code >= 'A' && code <= 'Z') || (code >= 0xC0 && code <= 0xDE && code != 0xD7) ||
           (code >= 0x391 && code <= 0x3A9) || (code >= 0x410 && code <= 0x42F);
}

static uint32_t peek(const att_scanner *scan)
{
    uint32_t code = 0;
    if (scan->position < scan->length)
        att_utf8_decode_lossy(scan->text + scan->position, scan->length - scan->position, &code);
    return code;
}

/* ---- lines */

/* Characters from here to the end of the line, counted no further than LONGEST_LOOK bytes. */
static int64_t measure_line(const att_scanner *scan)
{
    size_t left = scan->length - scan->position;
    const char *start = scan->text + scan->position;
    size_t most = left < MAX_LOOKAHEAD ? left : MAX_LOOKAHEAD;
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

static void begin_line(att_scanner *scan)
{
    scan->column = 0;
    scan->indent = 0;
    scan->in_indent = true;
    scan->line_length = measure_line(scan);
}

static void read_line(att_scanner *scan)
{
    scan->blank_line = scan->codepoint == '\n' && scan->in_indent;
    if (scan->codepoint == '\n') {
        begin_line(scan);
        return;
    }
    scan->column++;
    scan->in_indent = scan->in_indent && (scan->codepoint == ' ' || scan->codepoint == '\t');
    if (scan->in_indent)
        scan->indent += scan->codepoint == '\t' ? TAB - scan->indent % TAB : 1;
}

/* ---- words */

/* A point stays in a number where a digit follows. */
static bool continues_word(const att_scanner *scan)
{
    if (att_utf8_identifier_part(scan->codepoint))
        return true;
    return scan->in_number && scan->codepoint == '.' && is_digit(scan->next_codepoint);
}

static void read_word(att_scanner *scan)
{
    if (!continues_word(scan)) {
        scan->word_length = 0;
        scan->in_number = scan->all_caps = false;
        return;
    }
    if (scan->word_length == 0) {
        scan->in_number = is_digit(scan->codepoint);
        scan->all_caps = true;
        scan->sentence_words++;
    }
    scan->word_length++;
    scan->all_caps = scan->all_caps && (att_is_capital(scan->codepoint) || scan->codepoint == '_' ||
                                        (scan->word_length > 1 && is_digit(scan->codepoint)));
}

static bool url_begins(const att_scanner *scan, size_t here)
{
    static const char *const starts[] = { "http://", "https://", "ftp://", "git://", "www." };
    if (att_utf8_identifier_part(scan->previous_codepoint))
        return false;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t length = strlen(starts[i]);
        if (scan->length - here >= length && memcmp(scan->text + here, starts[i], length) == 0)
            return true;
    }
    return false;
}

/* From its first letter to what cannot belong to one. */
static void read_url(att_scanner *scan, size_t here)
{
    static const char ends[] = "\"<>()[]{}`";
    uint32_t c = scan->codepoint;
    bool ended = att_is_blank(c) || (c < 0x80 && strchr(ends, (int)c));
    scan->in_url = scan->in_url ? !ended : url_begins(scan, here);
}

/* ---- prose */

/* An empty line ends what was left open. */
static void read_quotes(att_scanner *scan)
{
    switch (scan->codepoint) {
    case '"':
        scan->in_quotes = !scan->in_quotes;
        break;
    case 0x201C: /* “ */
    case 0xAB:
        scan->in_quotes = true;
        break;   /* « */
    case 0x201D: /* ” */
    case 0xBB:
        scan->in_quotes = false;
        break; /* » */
    default:
        scan->in_quotes = scan->in_quotes && !scan->blank_line;
    }
}

/* A sentence begins with the first word after a sign that ended the one before and a blank. */
static void read_sentence(att_scanner *scan)
{
    bool stop = scan->codepoint == '.' || scan->codepoint == '!' || scan->codepoint == '?';
    if (scan->blank_line || (scan->sentence_ended && att_is_blank(scan->codepoint)))
        scan->sentence_words = 0;
    if (stop)
        scan->sentence_ended = true;
    else if (att_utf8_identifier_part(scan->codepoint) || att_is_blank(scan->codepoint))
        scan->sentence_ended = false; /* quotation marks and brackets may stand between */
}

/* The character at `here`; the end of a line of DOS is one, and an end like any other. */
static size_t take(const att_scanner *scan, size_t here, uint32_t *code)
{
    const char *text = scan->text + here;
    size_t left = scan->length - here;
    if (left > 1 && text[0] == '\r' && text[1] == '\n') {
        *code = '\n';
        return 2;
    }
    return att_utf8_decode_lossy(text, left, code);
}

void att_scanner_start(att_scanner *scan, const char *text, size_t length)
{
    *scan = (att_scanner){ .text = text, .length = length };
    begin_line(scan);
    scan->next_codepoint = peek(scan);
}

size_t att_scanner_next(att_scanner *scan)
{
    size_t here = scan->position;
    if (here >= scan->length)
        return 0;
    scan->previous_codepoint = scan->codepoint;
    scan->position += take(scan, here, &scan->codepoint);
    scan->next_codepoint = peek(scan);
    read_line(scan);
    read_word(scan);
    read_url(scan, here);
    read_quotes(scan);
    read_sentence(scan);
    att_scanner_update_code(scan);
    return scan->position - here;
}
