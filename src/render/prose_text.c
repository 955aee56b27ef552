/* Prose on a terminal: wrapped, with bullets and numbers before the items of lists. Emphasis stays
 * as written, which a terminal shows well enough. */
#include "render/prose.h"

#include "base/string.h"
#include "text/display_width.h"

#include <stdio.h>

static void put_text(att_writer *out, const char *text, size_t length)
{
    att_put_bytes(out, text, length);
}

static void put_code(att_writer *out, const char *text, size_t length)
{
    att_put(out, "`");
    att_put_bytes(out, text, length);
    att_put(out, "`");
}

static void put_link(att_writer *out, const char *url, size_t length, bool end)
{
    if (!end)
        return;
    att_put(out, " (");
    att_put_bytes(out, url, length);
    att_put(out, ")");
}

#define PROSE(STYLE)                                                                               \
    {                                                                                              \
        .text = put_text, .code = put_code, .emphasis = { "*", "*" }, .strong = { "**", "**" },    \
        .link = put_link, .math = { "", "" }, .math_style = (STYLE)                                \
    }
static const att_prose_markup markup = PROSE(ATT_MATH_UNICODE);
static const att_prose_markup ascii_markup = PROSE(ATT_MATH_ASCII);

/* A paragraph, or an item of a list behind its mark. */
static void put_block(const att_terminal *terminal, const att_prose_block *block)
{
    att_string text = { 0 };
    att_writer line = att_writer_on(&text);
    char mark[16] = "";
    att_put_inline(&line, block->text, block->length, terminal->ascii ? &ascii_markup : &markup);
    if (line.status != ATT_OK)
        terminal->out->status = line.status;
    if (block->kind == ATT_PROSE_BULLET)
        snprintf(mark, sizeof mark, terminal->ascii ? "  - " : "  • ");
    else if (block->kind == ATT_PROSE_NUMBER)
        snprintf(mark, sizeof mark, "  %d. ", block->number);
    int indent = att_display_width(mark);
    att_put(terminal->out, mark);
    att_terminal_wrapped(terminal, text.data ? text.data : "", indent, indent);
    att_string_free(&text);
}

void att_prose_put_text(const att_terminal *terminal, const char *text)
{
    att_prose_block block;
    while (att_prose_next(&text, &block))
        put_block(terminal, &block);
}
