/* The scanner for lines, words, quotation marks and sentences. The part for C is in scanner_code.c.
 */
#include "inspect/scanner.h"

#include "base/minmax.h"
#include "text/utf8.h"

#include <string.h>

enum { TAB = 8, MAX_LOOKAHEAD = 1 << 16 };

static bool is_digit(uint32_t code)
{
    return code >= '0' && code <= '9';
}

/* Latin, Greek and Cyrillic. U+00D7, the multiplication sign, lies within the range of letters. */
bool att_is_capital(uint32_t code)
{
    return (code >= 'A' && code <= 'Z') || (code >= 0xC0 && code <= 0xDE && code != 0xD7) ||
           (code >= 0x391 && code <= 0x3A9) || (code >= 0x410 && code <= 0x42F);
}

static uint32_t peek(const att_scanner *scanner)
{
    uint32_t code = 0;
    if (scanner->position < scanner->length)
        att_utf8_decode_lossy(scanner->text + scanner->position,
                              scanner->length - scanner->position, &code);
    return code;
}

/* ---- lines */

/* Characters from here to the end of the line, within MAX_LOOKAHEAD bytes. */
static int64_t measure_line(const att_scanner *scanner)
{
    size_t left = scanner->length - scanner->position;
    const char *start = scanner->text + scanner->position;
    size_t lookahead = att_min_size(left, MAX_LOOKAHEAD);
    const char *end = memchr(start, '\n', lookahead);
    int64_t count = 0;
    if (!end)
        end = start + lookahead;
    else if (end > start && end[-1] == '\r')
        end--;
    for (const char *at = start; at < end; at++)
        count += ((unsigned char)*at & 0xC0) != 0x80;
    return count;
}

static void begin_line(att_scanner *scanner)
{
    scanner->column = 0;
    scanner->indent = 0;
    scanner->in_indent = true;
    scanner->line_length = measure_line(scanner);
}

static void read_line(att_scanner *scanner)
{
    scanner->blank_line = scanner->codepoint == '\n' && scanner->in_indent;
    if (scanner->codepoint == '\n') {
        begin_line(scanner);
        return;
    }
    scanner->column++;
    scanner->in_indent =
        scanner->in_indent && (scanner->codepoint == ' ' || scanner->codepoint == '\t');
    if (scanner->in_indent)
        scanner->indent += scanner->codepoint == '\t' ? TAB - scanner->indent % TAB : 1;
}

/* ---- words */

/* A period inside a number continues it if a digit follows. */
static bool continues_word(const att_scanner *scanner)
{
    if (att_utf8_identifier_part(scanner->codepoint))
        return true;
    return scanner->in_number && scanner->codepoint == '.' && is_digit(scanner->next_codepoint);
}

static void read_word(att_scanner *scanner)
{
    if (!continues_word(scanner)) {
        scanner->word_length = 0;
        scanner->in_number = scanner->all_caps = false;
        return;
    }
    if (scanner->word_length == 0) {
        scanner->in_number = is_digit(scanner->codepoint);
        scanner->all_caps = true;
        scanner->sentence_words++;
    }
    scanner->word_length++;
    scanner->all_caps =
        scanner->all_caps && (att_is_capital(scanner->codepoint) || scanner->codepoint == '_' ||
                              (scanner->word_length > 1 && is_digit(scanner->codepoint)));
}

static bool url_begins(const att_scanner *scanner, size_t here)
{
    static const char *const starts[] = { "http://", "https://", "ftp://", "git://", "www." };
    if (att_utf8_identifier_part(scanner->previous_codepoint))
        return false;
    for (size_t i = 0; i < ATT_COUNT(starts); i++) {
        size_t length = strlen(starts[i]);
        if (scanner->length - here >= length &&
            memcmp(scanner->text + here, starts[i], length) == 0)
            return true;
    }
    return false;
}

/* A URL extends from its scheme to the first character that cannot be part of it. */
static void read_url(att_scanner *scanner, size_t here)
{
    static const char ends[] = "\"<>()[]{}`";
    uint32_t c = scanner->codepoint;
    bool ended = att_is_blank(c) || (c < 0x80 && strchr(ends, (int)c));
    scanner->in_url = scanner->in_url ? !ended : url_begins(scanner, here);
}

/* ---- prose */

/* An empty line closes an open quotation. */
static void read_quotes(att_scanner *scanner)
{
    switch (scanner->codepoint) {
    case '"':
        scanner->in_quotes = !scanner->in_quotes;
        break;
    case 0x201C: /* “ */
    case 0xAB:
        scanner->in_quotes = true;
        break;   /* « */
    case 0x201D: /* ” */
    case 0xBB:
        scanner->in_quotes = false;
        break; /* » */
    default:
        scanner->in_quotes = scanner->in_quotes && !scanner->blank_line;
    }
}

/* A sentence starts with the first word after a sentence-ending mark and white space. */
static void read_sentence(att_scanner *scanner)
{
    bool ends = scanner->codepoint == '.' || scanner->codepoint == '!' || scanner->codepoint == '?';
    if (scanner->blank_line || (scanner->sentence_ended && att_is_blank(scanner->codepoint)))
        scanner->sentence_words = 0;
    if (ends)
        scanner->sentence_ended = true;
    else if (att_utf8_identifier_part(scanner->codepoint) || att_is_blank(scanner->codepoint))
        scanner->sentence_ended = false; /* quotation marks and brackets may come between */
}

/* Decodes the character at `here`; CR LF is one line end. */
static size_t decode_character(const att_scanner *scanner, size_t here, uint32_t *code)
{
    const char *text = scanner->text + here;
    size_t left = scanner->length - here;
    if (left > 1 && text[0] == '\r' && text[1] == '\n') {
        *code = '\n';
        return 2;
    }
    return att_utf8_decode_lossy(text, left, code);
}

void att_scanner_start(att_scanner *scanner, const char *text, size_t length)
{
    *scanner = (att_scanner){ .text = text, .length = length };
    begin_line(scanner);
    scanner->next_codepoint = peek(scanner);
}

size_t att_scanner_next(att_scanner *scanner)
{
    size_t here = scanner->position;
    if (here >= scanner->length)
        return 0;
    scanner->previous_codepoint = scanner->codepoint;
    scanner->position += decode_character(scanner, here, &scanner->codepoint);
    scanner->next_codepoint = peek(scanner);
    read_line(scanner);
    read_word(scanner);
    read_url(scanner, here);
    read_quotes(scanner);
    read_sentence(scanner);
    att_scanner_update_code(scanner);
    return scanner->position - here;
}
