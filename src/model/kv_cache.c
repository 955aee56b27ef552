/* The paged KV cache: pages with reference counts, a page table per row, copy on write, and
 * gathering the keys and values of all rows for one layer. */
#include "model/kv_cache.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/parallel.h"

#include <assert.h>
#include <string.h>

typedef struct kv_page {
    float *data; /* [layers][ATT_KV_PAGE_TOKENS][width] */
    int64_t ref_count;
} kv_page;

/* ref_count of a page counts the rows that refer to it; unused pages are in `free`. */
struct att_kv_cache {
    int layers;
    int64_t width;
    int64_t rows, tokens; /* of each row */
    int64_t pages_per_row;

    kv_page *pages; /* [count] */
    int64_t count, capacity;
    int64_t *free; /* [free_count] of [capacity] */
    int64_t free_count;

    int64_t *page_table, *previous_page_table; /* [rows][pages_per_row] page numbers */
    size_t table_capacity;
    int64_t *offsets; /* [rows + 1] */
    size_t row_capacity;
    float *gathered; /* one layer of all rows; for inference only, so the next layer may reuse it */
    size_t gathered_capacity;
};

att_status att_kv_cache_new(att_kv_cache **out, int layers, int64_t width, att_error *err)
{
    *out = att_alloc_zero(1, sizeof **out);
    if (!*out)
        return att_fail_memory(err);
    (*out)->layers = layers;
    (*out)->width = width;
    return ATT_OK;
}

void att_kv_cache_free(att_kv_cache *cache)
{
    if (!cache)
        return;
    for (int64_t i = 0; i < cache->count; i++)
        att_free(cache->pages[i].data);
    att_free(cache->pages);
    att_free(cache->free);
    att_free(cache->page_table);
    att_free(cache->previous_page_table);
    att_free(cache->offsets);
    att_free(cache->gathered);
    att_free(cache);
}

int64_t att_kv_cache_tokens(const att_kv_cache *cache)
{
    return cache->tokens;
}

int64_t att_kv_cache_pages_used(const att_kv_cache *cache)
{
    return cache->count - cache->free_count;
}

/* ---- single pages */

static bool reserve_pages(att_kv_cache *cache)
{
    if (cache->count < cache->capacity)
        return true;
    size_t old = (size_t)cache->capacity, more = old > 0 ? 2 * old : 64;
    kv_page *all = att_realloc(cache->pages, old * sizeof *all, more, sizeof *all);
    if (all)
        cache->pages = all;
    int64_t *free = att_realloc(cache->free, old * sizeof *free, more, sizeof *free);
    if (free)
        cache->free = free;
    if (all && free)
        cache->capacity = (int64_t)more;
    return all && free;
}

/* The number of a page with one user, reused or new; -1 when memory is out. */
static int64_t acquire_page(att_kv_cache *cache)
{
    if (cache->free_count > 0) {
        int64_t number = cache->free[--cache->free_count];
        cache->pages[number].ref_count = 1;
        return number;
    }
    if (!reserve_pages(cache))
        return -1;
    size_t floats = (size_t)cache->layers * ATT_KV_PAGE_TOKENS * (size_t)cache->width;
    float *data = att_alloc(floats, sizeof *data);
    if (!data)
        return -1;
    cache->pages[cache->count] = (kv_page){ data, 1 };
    return cache->count++;
}

static void release_page(att_kv_cache *cache, int64_t number)
{
    if (--cache->pages[number].ref_count == 0)
        cache->free[cache->free_count++] = number;
}

static float *token_at(const att_kv_cache *cache, int64_t number, int layer, int64_t token)
{
    return cache->pages[number].data +
           ((int64_t)layer * ATT_KV_PAGE_TOKENS + token % ATT_KV_PAGE_TOKENS) * cache->width;
}

/* ---- rows */

static att_status reserve_rows(att_kv_cache *cache, int64_t rows, int64_t length, att_error *err)
{
    size_t lists = (size_t)(rows * length), places = (size_t)rows + 1;
    if (lists > cache->table_capacity) {
        size_t old = cache->table_capacity, more = 2 * lists;
        int64_t **const both[] = { &cache->page_table, &cache->previous_page_table };
        for (int i = 0; i < 2; i++) {
            int64_t *bigger = att_realloc(*both[i], old * sizeof **both[i], more, sizeof **both[i]);
            if (!bigger)
                return att_fail_memory(err);
            *both[i] = bigger;
        }
        cache->table_capacity = more;
    }
    if (places > cache->row_capacity) {
        int64_t *bigger = att_realloc(cache->offsets, cache->row_capacity * sizeof *bigger, places,
                                      sizeof *bigger);
        if (!bigger)
            return att_fail_memory(err);
        cache->offsets = bigger;
        cache->row_capacity = places;
    }
    return ATT_OK;
}

att_status att_kv_cache_reset(att_kv_cache *cache, int64_t rows, att_error *err)
{
    for (int64_t i = 0; i < cache->rows * cache->pages_per_row; i++)
        release_page(cache, cache->page_table[i]);
    cache->rows = rows;
    cache->tokens = cache->pages_per_row = 0;
    return reserve_rows(cache, rows, 1, err);
}

/* Fills the page table with the pages of the rows that are continued; a row has `length` pages now.
 */
static void reorder_rows(att_kv_cache *cache, int64_t rows, const int64_t *order, int64_t length)
{
    int64_t *swap = cache->previous_page_table, old = cache->pages_per_row;
    cache->previous_page_table = cache->page_table;
    cache->page_table = swap;
    for (int64_t r = 0; r < rows; r++) {
        int64_t from = order ? order[r] : r;
        assert(from >= 0 && from < cache->rows);
        for (int64_t i = 0; i < old; i++) {
            int64_t number = cache->previous_page_table[from * old + i];
            cache->page_table[r * length + i] = number;
            cache->pages[number].ref_count++;
        }
    }
    for (int64_t i = 0; i < cache->rows * old; i++)
        release_page(cache, cache->previous_page_table[i]);
    cache->rows = rows;
}

/* Copy on write: gives a row its own copy of a page that several rows share. */
static int64_t copy_on_write(att_kv_cache *cache, int64_t number)
{
    int64_t own = acquire_page(cache);
    if (own < 0)
        return -1;
    size_t filled = (size_t)(cache->tokens % ATT_KV_PAGE_TOKENS * cache->width);
    for (int layer = 0; layer < cache->layers; layer++)
        memcpy(token_at(cache, own, layer, 0), token_at(cache, number, layer, 0),
               filled * sizeof(float));
    release_page(cache, number);
    return own;
}

/* Room for the gathered rows. It grows by several tokens, so that a step seldom touches new
 * memory. */
static att_status reserve_gathered(att_kv_cache *cache, int64_t rows, int64_t tokens,
                                   att_error *err)
{
    enum { SPARE_TOKENS = 16 };
    size_t row_size = (size_t)(rows * cache->width);
    if (row_size * (size_t)tokens <= cache->gathered_capacity)
        return ATT_OK;
    att_free(cache->gathered);
    cache->gathered_capacity = row_size * att_round_up((size_t)tokens, SPARE_TOKENS);
    cache->gathered = att_alloc(cache->gathered_capacity, sizeof *cache->gathered);
    if (cache->gathered)
        return ATT_OK;
    cache->gathered_capacity = 0;
    return att_fail_memory(err);
}

/* After a failure rows hold fewer pages than they need, and each page is counted once: the cache
 * can be reset. */
att_status att_kv_cache_advance(att_kv_cache *cache, int64_t rows, const int64_t *order,
                                att_error *err)
{
    bool full = cache->tokens % ATT_KV_PAGE_TOKENS == 0;
    int64_t length = cache->pages_per_row + full;
    ATT_TRY(reserve_rows(cache, rows > cache->rows ? rows : cache->rows, length, err));
    ATT_TRY(reserve_gathered(cache, rows, cache->tokens + 1, err));
    reorder_rows(cache, rows, order, length);
    for (int64_t r = 0; r < rows; r++) {
        int64_t *last = &cache->page_table[r * length + length - 1];
        if (!full && cache->pages[*last].ref_count == 1)
            continue;
        int64_t number = full ? acquire_page(cache) : copy_on_write(cache, *last);
        if (number < 0) {
            cache->rows = 0; /* their pages are not lost: att_kv_cache_free() releases all */
            return att_fail_memory(err);
        }
        *last = number;
    }
    cache->pages_per_row = length;
    cache->tokens++;
    for (int64_t r = 0; r <= rows; r++)
        cache->offsets[r] = r * cache->tokens;
    return ATT_OK;
}

const int64_t *att_kv_cache_offsets(const att_kv_cache *cache)
{
    return cache->offsets;
}

void att_kv_cache_append(att_kv_cache *cache, int layer, const att_node *x, int64_t first)
{
    if (!x)
        return;
    for (int64_t r = 0; r < cache->rows; r++)
        memcpy(token_at(cache, cache->page_table[(r + 1) * cache->pages_per_row - 1], layer,
                        cache->tokens - 1),
               x->value + r * x->shape[2] + first, (size_t)cache->width * sizeof(float));
}

typedef struct gather_job {
    const att_kv_cache *cache;
    int layer;
} gather_job;

static void gather_rows(void *context, int64_t begin, int64_t end)
{
    const gather_job *job = context;
    const att_kv_cache *cache = job->cache;
    for (int64_t r = begin; r < end; r++)
        for (int64_t token = 0; token < cache->tokens; token += ATT_KV_PAGE_TOKENS) {
            int64_t left = cache->tokens - token;
            int64_t number =
                cache->page_table[r * cache->pages_per_row + token / ATT_KV_PAGE_TOKENS];
            memcpy(
                cache->gathered + (r * cache->tokens + token) * cache->width,
                token_at(cache, number, job->layer, token),
                (size_t)((left < ATT_KV_PAGE_TOKENS ? left : ATT_KV_PAGE_TOKENS) * cache->width) *
                    sizeof(float));
        }
}

att_node *att_kv_cache_gather(att_kv_cache *cache, att_tape *tape, int layer)
{
    enum { GRAIN = 1 << 14 }; /* floats per parallel task */
    const int64_t shape[] = { 1, cache->rows * cache->tokens, cache->width };
    gather_job job = { cache, layer };
    att_parallel_for(cache->rows, 1 + GRAIN / (cache->tokens * cache->width + 1), gather_rows,
                     &job);
    return att_tape_input_view(tape, 3, shape, cache->gathered);
}
