/* Prose with Markdown's emphasis, code, links and lists, and mathematics between dollar signs. One
 * walk finds them; each format says how they are written. Everything else is the user's text and is
 * escaped by the format. */
#ifndef ATT_RENDER_PROSE_H
#define ATT_RENDER_PROSE_H

#include "render/terminal.h"
#include "render/tex_math.h"

/* How a format writes prose. `text` and `code` escape `length` bytes of the user's. */
typedef struct att_prose_markup {
    void (*text)(att_writer *out, const char *text, size_t length);
    void (*code)(att_writer *out, const char *text, size_t length);
    const char *emphasis[2]; /* before and behind */
    const char *strong[2];
    void (*link)(att_writer *out, const char *url, size_t length, bool end);
    const char *math[2];
    att_math_style math_style;
    /* Blocks: a paragraph, a list without and with numbers, their items. */
    const char *paragraph[2];
    const char *list[2][2];
    const char *item[2];
    const char *number[2]; /* around the number of an item */
} att_prose_markup;

/* Inline text: no lists. */
void att_put_inline(att_writer *out, const char *text, size_t length,
                    const att_prose_markup *markup);

/* A paragraph of a sheet, whose lines are joined by '\n': text and lists. */
void att_put_prose(att_writer *out, const char *text, const att_prose_markup *markup);

/* The same on a terminal (prose_text.c). */
void att_prose_put_text(const att_terminal *terminal, const char *text);

/* Writes a part of a user's text with a function that takes strings. */
void att_put_user_text(att_writer *out, const char *text, size_t length,
                       void (*put)(att_writer *out, const char *text));

/* The next block of prose: a paragraph or an item of a list. */
typedef struct att_prose_block {
    const char *text;
    size_t length;
    enum { ATT_PROSE_PARAGRAPH, ATT_PROSE_BULLET, ATT_PROSE_NUMBER } kind;
    int number; /* ATT_PROSE_NUMBER, as written */
} att_prose_block;

/* Reads the block at *cursor, which moves behind it; false at the end. */
bool att_prose_next(const char **cursor, att_prose_block *out);

#endif
