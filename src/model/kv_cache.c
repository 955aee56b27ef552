/* Pages of keys and values; see pages.h. */
#include "model/kv_cache.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"

#include <assert.h>
#include <string.h>

typedef struct kv_page {
    float *data; /* [layers][ATT_KV_PAGE_TOKENS][width] */
    int64_t ref_count;
} kv_page;

/* Every page is used by as many rows as its `users` say; those of none are in `free`. */
struct att_kv_cache {
    int layers;
    int64_t width;
    int64_t rows, tokens;  /* of each row */
    int64_t pages_per_row; /* pages of each row */

    kv_page *pages; /* [count] */
    int64_t count, capacity;
    int64_t *free; /* [free_count] of [capacity] */
    int64_t free_count;

    int64_t *page_table, *previous_page_table; /* [rows][length] numbers of pages */
    size_t table_capacity;
    int64_t *offsets; /* [rows + 1] */
    size_t row_capacity;
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

void att_kv_cache_free(att_kv_cache *pages)
{
    if (!pages)
        return;
    for (int64_t i = 0; i < pages->count; i++)
        att_free(pages->pages[i].data);
    att_free(pages->pages);
    att_free(pages->free);
    att_free(pages->page_table);
    att_free(pages->previous_page_table);
    att_free(pages->offsets);
    att_free(pages);
}

int64_t att_kv_cache_tokens(const att_kv_cache *pages)
{
    return pages->tokens;
}

int64_t att_kv_cache_pages_used(const att_kv_cache *pages)
{
    return pages->count - pages->free_count;
}

/* ---- single pages */

static bool reserve_pages(att_kv_cache *pages)
{
    if (pages->count < pages->capacity)
        return true;
    size_t old = (size_t)pages->capacity, more = old > 0 ? 2 * old : 64;
    kv_page *all = att_realloc(pages->pages, old * sizeof *all, more, sizeof *all);
    if (all)
        pages->pages = all;
    int64_t *free = att_realloc(pages->free, old * sizeof *free, more, sizeof *free);
    if (free)
        pages->free = free;
    if (all && free)
        pages->capacity = (int64_t)more;
    return all && free;
}

/* A page with one user, of those that are free or a new one; its number, or -1. */
static int64_t acquire_page(att_kv_cache *pages)
{
    if (pages->free_count > 0) {
        int64_t number = pages->free[--pages->free_count];
        pages->pages[number].ref_count = 1;
        return number;
    }
    if (!reserve_pages(pages))
        return -1;
    size_t floats = (size_t)pages->layers * ATT_KV_PAGE_TOKENS * (size_t)pages->width;
    float *data = att_alloc(floats, sizeof *data);
    if (!data)
        return -1;
    pages->pages[pages->count] = (kv_page){ data, 1 };
    return pages->count++;
}

static void release_page(att_kv_cache *pages, int64_t number)
{
    if (--pages->pages[number].ref_count == 0)
        pages->free[pages->free_count++] = number;
}

static float *token_at(const att_kv_cache *pages, int64_t number, int layer, int64_t token)
{
    return pages->pages[number].data +
           ((int64_t)layer * ATT_KV_PAGE_TOKENS + token % ATT_KV_PAGE_TOKENS) * pages->width;
}

/* ---- rows */

static att_status reserve_rows(att_kv_cache *pages, int64_t rows, int64_t length, att_error *err)
{
    size_t lists = (size_t)(rows * length), places = (size_t)rows + 1;
    if (lists > pages->table_capacity) {
        size_t old = pages->table_capacity, more = 2 * lists;
        int64_t **const both[] = { &pages->page_table, &pages->previous_page_table };
        for (int i = 0; i < 2; i++) {
            int64_t *bigger = att_realloc(*both[i], old * sizeof **both[i], more, sizeof **both[i]);
            if (!bigger)
                return att_fail_memory(err);
            *both[i] = bigger;
        }
        pages->table_capacity = more;
    }
    if (places > pages->row_capacity) {
        int64_t *bigger = att_realloc(pages->offsets, pages->row_capacity * sizeof *bigger, places,
                                      sizeof *bigger);
        if (!bigger)
            return att_fail_memory(err);
        pages->offsets = bigger;
        pages->row_capacity = places;
    }
    return ATT_OK;
}

att_status att_kv_cache_reset(att_kv_cache *pages, int64_t rows, att_error *err)
{
    for (int64_t i = 0; i < pages->rows * pages->pages_per_row; i++)
        release_page(pages, pages->page_table[i]);
    pages->rows = rows;
    pages->tokens = pages->pages_per_row = 0;
    return reserve_rows(pages, rows, 1, err);
}

/* Lists the pages that each row goes on from; there are `length` in a list now. */
static void reorder_rows(att_kv_cache *pages, int64_t rows, const int64_t *order, int64_t length)
{
    int64_t *swap = pages->previous_page_table, old = pages->pages_per_row;
    pages->previous_page_table = pages->page_table;
    pages->page_table = swap;
    for (int64_t r = 0; r < rows; r++) {
        int64_t from = order ? order[r] : r;
        assert(from >= 0 && from < pages->rows);
        for (int64_t i = 0; i < old; i++) {
            int64_t number = pages->previous_page_table[from * old + i];
            pages->page_table[r * length + i] = number;
            pages->pages[number].ref_count++;
        }
    }
    for (int64_t i = 0; i < pages->rows * old; i++)
        release_page(pages, pages->previous_page_table[i]);
    pages->rows = rows;
}

/* The tokens of a page that several rows use, in a page that one of them has to itself. */
static int64_t copy_on_write(att_kv_cache *pages, int64_t number)
{
    int64_t own = acquire_page(pages);
    if (own < 0)
        return -1;
    size_t filled = (size_t)(pages->tokens % ATT_KV_PAGE_TOKENS * pages->width);
    for (int layer = 0; layer < pages->layers; layer++)
        memcpy(token_at(pages, own, layer, 0), token_at(pages, number, layer, 0),
               filled * sizeof(float));
    release_page(pages, number);
    return own;
}

/* On failure rows hold fewer pages than they should, and none twice: they can be started anew. */
att_status att_kv_cache_advance(att_kv_cache *pages, int64_t rows, const int64_t *order,
                                att_error *err)
{
    bool full = pages->tokens % ATT_KV_PAGE_TOKENS == 0;
    int64_t length = pages->pages_per_row + full;
    ATT_TRY(reserve_rows(pages, rows > pages->rows ? rows : pages->rows, length, err));
    reorder_rows(pages, rows, order, length);
    for (int64_t r = 0; r < rows; r++) {
        int64_t *last = &pages->page_table[r * length + length - 1];
        if (!full && pages->pages[*last].ref_count == 1)
            continue;
        int64_t number = full ? acquire_page(pages) : copy_on_write(pages, *last);
        if (number < 0) {
            pages->rows = 0; /* what they held is lost to them; att_kv_cache_free() has it still */
            return att_fail_memory(err);
        }
        *last = number;
    }
    pages->pages_per_row = length;
    pages->tokens++;
    for (int64_t r = 0; r <= rows; r++)
        pages->offsets[r] = r * pages->tokens;
    return ATT_OK;
}

const int64_t *att_kv_cache_offsets(const att_kv_cache *pages)
{
    return pages->offsets;
}

void att_kv_cache_append(att_kv_cache *pages, int layer, const att_node *x, int64_t first)
{
    if (!x)
        return;
    for (int64_t r = 0; r < pages->rows; r++)
        memcpy(token_at(pages, pages->page_table[(r + 1) * pages->pages_per_row - 1], layer,
                        pages->tokens - 1),
               x->value + r * x->shape[2] + first, (size_t)pages->width * sizeof(float));
}

typedef struct gather_job {
    const att_kv_cache *pages;
    float *to;
    int layer;
} gather_job;

static void gather_rows(void *context, int64_t begin, int64_t end)
{
    const gather_job *job = context;
    const att_kv_cache *pages = job->pages;
    for (int64_t r = begin; r < end; r++)
        for (int64_t token = 0; token < pages->tokens; token += ATT_KV_PAGE_TOKENS) {
            int64_t left = pages->tokens - token;
            int64_t number =
                pages->page_table[r * pages->pages_per_row + token / ATT_KV_PAGE_TOKENS];
            memcpy(
                job->to + (r * pages->tokens + token) * pages->width,
                token_at(pages, number, job->layer, token),
                (size_t)((left < ATT_KV_PAGE_TOKENS ? left : ATT_KV_PAGE_TOKENS) * pages->width) *
                    sizeof(float));
        }
}

att_node *att_kv_cache_gather(const att_kv_cache *pages, att_tape *tape, int layer)
{
    enum { GRAIN = 1 << 14 }; /* floats to a thread's turn */
    const int64_t shape[] = { 1, pages->rows * pages->tokens, pages->width };
    float *all = att_tape_alloc(tape, shape[1] * shape[2], sizeof *all);
    if (!all)
        return NULL;
    gather_job job = { pages, all, layer };
    att_parallel_for(pages->rows, 1 + GRAIN / (pages->tokens * pages->width + 1), gather_rows,
                     &job);
    return att_tape_input_view(tape, 3, shape, all);
}
