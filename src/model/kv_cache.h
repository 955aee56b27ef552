/* Keys and values of the tokens that a decoder has been through, kept between steps. They lie in
 * pages of a few tokens; a row is a list of pages. Rows that begin alike share pages, so that beams
 * can be dropped, doubled and exchanged by copying lists of numbers: of the tokens themselves only
 * those in a last page, partly filled and about to be written to by several, are copied. */
#ifndef ATT_MODEL_KV_CACHE_H
#define ATT_MODEL_KV_CACHE_H

#include "tape/tape.h"

enum { ATT_KV_PAGE_TOKENS = 16 };

/* `width` floats a token in each of `layers` layers. Release with att_kv_cache_free(). */
typedef struct att_kv_cache att_kv_cache;
att_status att_kv_cache_new(att_kv_cache **out, int layers, int64_t width, att_error *err);
void att_kv_cache_free(att_kv_cache *pages);

/* Rows without tokens. */
att_status att_kv_cache_reset(att_kv_cache *pages, int64_t rows, att_error *err);

/* Row r goes on from row order[r] (NULL: from itself), and has room for one token more, which is
 * then written layer by layer. */
att_status att_kv_cache_advance(att_kv_cache *pages, int64_t rows, const int64_t *order,
                                att_error *err);

/* The token that all rows have got now, in one layer: columns `first` … of x [1,rows,.]. */
void att_kv_cache_append(att_kv_cache *pages, int layer, const att_node *x, int64_t first);

/* All tokens of all rows in one layer, row after row, [1, rows tokens, width]; and where each row
 * begins there, [rows + 1], lent until the next step. */
att_node *att_kv_cache_gather(const att_kv_cache *pages, att_tape *tape, int layer);
const int64_t *att_kv_cache_offsets(const att_kv_cache *pages);

/* Tokens of each row; and pages in use. */
int64_t att_kv_cache_tokens(const att_kv_cache *pages);
int64_t att_kv_cache_pages_used(const att_kv_cache *pages);

#endif
