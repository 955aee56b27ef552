/* The paged KV cache of a Transformer decoder: keys and values of the tokens so far, in pages of a
 * few tokens. A row is a list of pages. Rows with a common prefix share pages, so that hypotheses
 * are dropped, forked and reordered by copying lists of page numbers; only a partly filled last
 * page that several rows are about to write to is copied (copy on write). */
#ifndef ATT_MODEL_KV_CACHE_H
#define ATT_MODEL_KV_CACHE_H

#include "tape/tape.h"

/* Few: a hypothesis that forks copies half a page on average. */
enum { ATT_KV_PAGE_TOKENS = 4 };

/* `width` floats per token and layer. Release with att_kv_cache_free(). */
typedef struct att_kv_cache att_kv_cache;
att_status att_kv_cache_new(att_kv_cache **out, int layers, int64_t width, att_error *err);
void att_kv_cache_free(att_kv_cache *cache);

/* Starts with `rows` rows without tokens. */
att_status att_kv_cache_reset(att_kv_cache *cache, int64_t rows, att_error *err);

/* Row r continues row order[r] (NULL: row r) and has room for one more token, which is then written
 * layer by layer. */
att_status att_kv_cache_advance(att_kv_cache *cache, int64_t rows, const int64_t *order,
                                att_error *err);

/* Writes the new token of all rows in one layer: columns `first` … of x [1,rows,.]. */
void att_kv_cache_append(att_kv_cache *cache, int layer, const att_node *x, int64_t first);

/* All tokens of all rows in one layer, row after row, [1, rows * tokens, width], in memory that the
 * next call overwrites; and the offset of each row, [rows + 1], borrowed until the next step. */
att_node *att_kv_cache_gather(att_kv_cache *cache, att_tape *tape, int layer);
const int64_t *att_kv_cache_offsets(const att_kv_cache *cache);

/* Tokens per row; pages in use. */
int64_t att_kv_cache_tokens(const att_kv_cache *cache);
int64_t att_kv_cache_pages_used(const att_kv_cache *cache);

#endif
