/* Finds emphasis, code, links, mathematics and lists in prose. */
#include "render/prose.h"

#include "base/string.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { MAX_NESTING = 4 };

/* ---- Blocks */

/* The length of "- ", "* " or "12. " at the start of a line; 0: none. */
static size_t marker_length(const char *line, int *number)
{
    size_t digits = 0;
    *number = 0;
    if ((line[0] == '-' || line[0] == '*') && line[1] == ' ')
        return 2;
    while (digits < 4 && isdigit((unsigned char)line[digits]))
        *number = *number * 10 + (line[digits++] - '0');
    return digits > 0 && line[digits] == '.' && line[digits + 1] == ' ' ? digits + 2 : 0;
}

bool att_prose_next(const char **cursor, att_prose_block *out)
{
    const char *at = *cursor;
    int number, ignored;
    while (*at == '\n')
        at++;
    if (!*at)
        return false;
    size_t marker = marker_length(at, &number);
    *out =
        (att_prose_block){ .text = at + marker,
                           .kind = marker == 0                                 ? ATT_PROSE_PARAGRAPH
                                   : number > 0 || isdigit((unsigned char)*at) ? ATT_PROSE_NUMBER
                                                                               : ATT_PROSE_BULLET,
                           .number = number };
    const char *end = at + strcspn(at, "\n");
    while (*end && marker_length(end + 1, &ignored) == 0)
        end += 1 + strcspn(end + 1, "\n");
    out->length = (size_t)(end - out->text);
    *cursor = end;
    return true;
}

/* ---- Inline */

struct prose {
    att_writer *out;
    const att_prose_markup *markup;
    const char *pending; /* plain text that is not written yet */
    size_t pending_length;
};

/* A mark and its end are at most this far apart, so that many open marks take no long time. */
enum { MAX_SPAN = 2000 };

static void flush(struct prose *p)
{
    if (p->pending_length > 0)
        p->markup->text(p->out, p->pending, p->pending_length);
    p->pending_length = 0;
}

static void put_inline(att_writer *out, const att_prose_markup *markup, const char *s, size_t n,
                       int depth);

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* The closing mark of `count` characters `c` in s from `from` on, with no blank before it; 0: none.
 */
static size_t closing(const char *s, size_t n, size_t from, char c, size_t count)
{
    for (size_t i = from; i + count <= n; i++) {
        if (s[i] == '\\') {
            i++;
            continue;
        }
        size_t run = 0;
        while (i + run < n && s[i + run] == c)
            run++;
        if (run == 0)
            continue;
        if (run == count && !is_blank(s[i - 1]))
            return i;
        i += run - 1;
    }
    return 0;
}

/* *em* and **strong**; returns the bytes, or 0. A star between letters or digits is a product. */
static size_t put_emphasis(struct prose *p, const char *s, size_t n, bool after_word, int depth)
{
    size_t stars = n > 1 && s[1] == '*' ? 2 : 1;
    if (after_word || n <= stars || is_blank(s[stars]) || s[stars] == '*')
        return 0;
    size_t end = closing(s, n, stars + 1, '*', stars);
    if (end == 0 || (end + stars < n && is_word(s[end + stars])))
        return 0;
    const char *const *mark = stars == 2 ? p->markup->strong : p->markup->emphasis;
    flush(p);
    att_put(p->out, mark[0]);
    put_inline(p->out, p->markup, s + stars, end - stars, depth + 1);
    att_put(p->out, mark[1]);
    return end + stars;
}

static size_t put_code(struct prose *p, const char *s, size_t n)
{
    const char *end = n > 1 ? memchr(s + 1, '`', n - 1) : NULL;
    if (!end || end == s + 1)
        return 0;
    flush(p);
    p->markup->code(p->out, s + 1, (size_t)(end - s) - 1);
    return (size_t)(end - s) + 1;
}

/* $…$: no blank inside of the dollar signs, no digit behind them, so that prices are text. */
static size_t put_math(struct prose *p, const char *s, size_t n)
{
    const char *end = n > 2 ? memchr(s + 1, '$', n - 1) : NULL;
    size_t length = end ? (size_t)(end - s) - 1 : 0;
    if (length == 0 || is_blank(s[1]) || is_blank(s[length]) ||
        (length + 2 < n && isdigit((unsigned char)s[length + 2])) ||
        !att_math_is_valid(s + 1, length))
        return 0;
    flush(p);
    att_put(p->out, p->markup->math[0]);
    att_put_math(p->out, s + 1, length, p->markup->math_style);
    att_put(p->out, p->markup->math[1]);
    return length + 2;
}

/* Addresses of the web, of mail, of a file beside the document and of a place in it. Anything else
 * with a scheme, as javascript:, is not a link. */
static bool is_safe_url(const char *url, size_t n)
{
    static const char *const schemes[] = { "https://", "http://", "mailto:" };
    for (size_t i = 0; i < n; i++)
        if (isspace((unsigned char)url[i]) || iscntrl((unsigned char)url[i]) ||
            strchr("<>\"'`\\{}()", url[i]))
            return false;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (n > strlen(schemes[i]) && strncasecmp(url, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return n > 0 && !memchr(url, ':', n) && url[0] != '/';
}

/* [text](address) */
static size_t put_link(struct prose *p, const char *s, size_t n, int depth)
{
    const char *close = memchr(s, ']', n);
    size_t text = close ? (size_t)(close - s) : 0;
    if (text < 2 || text + 2 >= n || s[text + 1] != '(' || memchr(s + 1, '[', text - 1))
        return 0;
    const char *url = s + text + 2;
    const char *end = memchr(url, ')', n - text - 2);
    size_t length = end ? (size_t)(end - url) : 0;
    if (!end || !is_safe_url(url, length))
        return 0;
    flush(p);
    p->markup->link(p->out, url, length, false);
    put_inline(p->out, p->markup, s + 1, text - 1, depth + 1);
    p->markup->link(p->out, url, length, true);
    return text + 2 + length + 1;
}

static size_t put_special(struct prose *p, const char *s, size_t n, bool after_word, int depth)
{
    n = n < MAX_SPAN ? n : MAX_SPAN;
    if (depth >= MAX_NESTING)
        return 0;
    switch (s[0]) {
    case '*':
        return put_emphasis(p, s, n, after_word, depth);
    case '`':
        return put_code(p, s, n);
    case '$':
        return put_math(p, s, n);
    case '[':
        return put_link(p, s, n, depth);
    default:
        return 0;
    }
}

static void put_inline(att_writer *out, const att_prose_markup *markup, const char *s, size_t n,
                       int depth)
{
    struct prose p = { out, markup, s, 0 };
    for (size_t at = 0; at < n;) {
        bool escape = s[at] == '\\' && at + 1 < n && strchr("*`$[]\\", s[at + 1]);
        size_t used = 0;
        p.pending_length = (size_t)(s + at - p.pending);
        if (escape) {
            flush(&p);
            p.pending = s + at + 1;
            at += 2;
            continue;
        }
        if (strchr("*`$[", s[at]))
            used = put_special(&p, s + at, n - at, at > 0 && is_word(s[at - 1]), depth);
        if (used > 0)
            p.pending = s + at + used;
        at += used > 0 ? used : 1;
    }
    p.pending_length = (size_t)(s + n - p.pending);
    flush(&p);
}

void att_put_inline(att_writer *out, const char *text, size_t length,
                    const att_prose_markup *markup)
{
    put_inline(out, markup, text, length, 0);
}

void att_put_user_text(att_writer *out, const char *text, size_t length,
                       void (*put)(att_writer *out, const char *text))
{
    att_string copy = { 0 };
    if (out->status != ATT_OK)
        return;
    out->status = att_string_append(&copy, text, length);
    if (out->status == ATT_OK && length > 0)
        put(out, copy.data);
    att_string_free(&copy);
}

void att_put_prose(att_writer *out, const char *text, const att_prose_markup *markup)
{
    att_prose_block block;
    int list = -1; /* the open list: 0 bullets, 1 numbers */
    while (att_prose_next(&text, &block)) {
        int kind = block.kind == ATT_PROSE_PARAGRAPH ? -1 : block.kind == ATT_PROSE_NUMBER;
        if (list >= 0 && kind != list)
            att_put(out, markup->list[list][1]);
        if (kind >= 0 && kind != list)
            att_put(out, markup->list[kind][0]);
        list = kind;
        att_put(out, kind < 0    ? markup->paragraph[0]
                     : kind == 0 ? markup->item[0]
                                 : markup->number[0]);
        if (kind == 1) {
            att_put_integer(out, block.number);
            att_put(out, markup->number[1]);
        }
        att_put_inline(out, block.text, block.length, markup);
        att_put(out, kind < 0 ? markup->paragraph[1] : markup->item[1]);
    }
    if (list >= 0)
        att_put(out, markup->list[list][1]);
}
