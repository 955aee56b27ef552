/* Keys and values of the tokens that a decoder has been through, kept between steps. They lie in
 * pages of a few tokens; a row is a list of pages. Rows that begin alike share pages, so that beams
 * can be dropped, doubled and exchanged by copying lists of numbers: of the tokens themselves only
 * those in a last page, partly filled and about to be written to by several, are copied. */
#ifndef ATT_MODEL_PAGES_H
#define ATT_MODEL_PAGES_H

#include "tape/tape.h"

enum { ATT_PAGE_TOKENS = 16 };

/* `width` floats a token in each of `layers` layers. Release with att_pages_free(). */
typedef struct att_pages att_pages;
att_status att_pages_new(att_pages **out, int layers, int64_t width, att_error *err);
void att_pages_free(att_pages *pages);

/* Rows without tokens. */
att_status att_pages_start(att_pages *pages, int64_t rows, att_error *err);

/* Row r goes on from row order[r] (NULL: from itself), and has room for one token more, which is
 * then written layer by layer. */
att_status att_pages_follow(att_pages *pages, int64_t rows, const int64_t *order, att_error *err);

/* The token that all rows have got now, in one layer: columns `first` … of x [1,rows,.]. */
void att_pages_write(att_pages *pages, int layer, const att_node *x, int64_t first);

/* All tokens of all rows in one layer, row after row, [1, rows tokens, width]; and where each row
 * begins there, [rows + 1], lent until the next step. */
att_node *att_pages_read(const att_pages *pages, att_tape *tape, int layer);
const int64_t *att_pages_offsets(const att_pages *pages);

/* Tokens of each row; and pages in use. */
int64_t att_pages_tokens(const att_pages *pages);
int64_t att_pages_used(const att_pages *pages);

#endif
