/* Pages of keys and values; see pages.h. */
#include "model/pages.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"

#include <assert.h>
#include <string.h>

typedef struct page {
    float *data; /* [layers][ATT_PAGE_TOKENS][width] */
    int64_t users;
} page;

/* Every page is used by as many rows as its `users` say; those of none are in `free`. */
struct att_pages {
    int layers;
    int64_t width;
    int64_t rows, tokens; /* of each row */
    int64_t length;       /* pages of each row */

    page *all; /* [count] */
    int64_t count, capacity;
    int64_t *free; /* [free_count] of [capacity] */
    int64_t free_count;

    int64_t *lists, *lists_before; /* [rows][length] numbers of pages */
    size_t list_room;
    int64_t *offsets; /* [rows + 1] */
    size_t row_room;
};

att_status att_pages_new(att_pages **out, int layers, int64_t width, att_error *err)
{
    *out = att_alloc_zero(1, sizeof **out);
    if (!*out)
        return att_fail_memory(err);
    (*out)->layers = layers;
    (*out)->width = width;
    return ATT_OK;
}

void att_pages_free(att_pages *pages)
{
    if (!pages)
        return;
    for (int64_t i = 0; i < pages->count; i++)
        att_free(pages->all[i].data);
    att_free(pages->all);
    att_free(pages->free);
    att_free(pages->lists);
    att_free(pages->lists_before);
    att_free(pages->offsets);
    att_free(pages);
}

int64_t att_pages_tokens(const att_pages *pages)
{
    return pages->tokens;
}

int64_t att_pages_used(const att_pages *pages)
{
    return pages->count - pages->free_count;
}

/* ---- single pages */

static bool reserve_pages(att_pages *pages)
{
    if (pages->count < pages->capacity)
        return true;
    size_t old = (size_t)pages->capacity, more = old > 0 ? 2 * old : 64;
    page *all = att_realloc(pages->all, old * sizeof *all, more, sizeof *all);
    if (all)
        pages->all = all;
    int64_t *free = att_realloc(pages->free, old * sizeof *free, more, sizeof *free);
    if (free)
        pages->free = free;
    if (all && free)
        pages->capacity = (int64_t)more;
    return all && free;
}

/* A page with one user, of those that are free or a new one; its number, or -1. */
static int64_t take_page(att_pages *pages)
{
    if (pages->free_count > 0) {
        int64_t number = pages->free[--pages->free_count];
        pages->all[number].users = 1;
        return number;
    }
    if (!reserve_pages(pages))
        return -1;
    size_t floats = (size_t)pages->layers * ATT_PAGE_TOKENS * (size_t)pages->width;
    float *data = att_alloc(floats, sizeof *data);
    if (!data)
        return -1;
    pages->all[pages->count] = (page){ data, 1 };
    return pages->count++;
}

static void leave_page(att_pages *pages, int64_t number)
{
    if (--pages->all[number].users == 0)
        pages->free[pages->free_count++] = number;
}

static float *token_at(const att_pages *pages, int64_t number, int layer, int64_t token)
{
    return pages->all[number].data +
           ((int64_t)layer * ATT_PAGE_TOKENS + token % ATT_PAGE_TOKENS) * pages->width;
}

/* ---- rows */

static att_status reserve_rows(att_pages *pages, int64_t rows, int64_t length, att_error *err)
{
    size_t lists = (size_t)(rows * length), places = (size_t)rows + 1;
    if (lists > pages->list_room) {
        size_t old = pages->list_room, more = 2 * lists;
        int64_t **const both[] = { &pages->lists, &pages->lists_before };
        for (int i = 0; i < 2; i++) {
            int64_t *bigger = att_realloc(*both[i], old * sizeof **both[i], more, sizeof **both[i]);
            if (!bigger)
                return att_fail_memory(err);
            *both[i] = bigger;
        }
        pages->list_room = more;
    }
    if (places > pages->row_room) {
        int64_t *bigger =
            att_realloc(pages->offsets, pages->row_room * sizeof *bigger, places, sizeof *bigger);
        if (!bigger)
            return att_fail_memory(err);
        pages->offsets = bigger;
        pages->row_room = places;
    }
    return ATT_OK;
}

att_status att_pages_start(att_pages *pages, int64_t rows, att_error *err)
{
    for (int64_t i = 0; i < pages->rows * pages->length; i++)
        leave_page(pages, pages->lists[i]);
    pages->rows = rows;
    pages->tokens = pages->length = 0;
    return reserve_rows(pages, rows, 1, err);
}

/* Lists the pages that each row goes on from; there are `length` in a list now. */
static void follow(att_pages *pages, int64_t rows, const int64_t *order, int64_t length)
{
    int64_t *swap = pages->lists_before, old = pages->length;
    pages->lists_before = pages->lists;
    pages->lists = swap;
    for (int64_t r = 0; r < rows; r++) {
        int64_t from = order ? order[r] : r;
        assert(from >= 0 && from < pages->rows);
        for (int64_t i = 0; i < old; i++) {
            int64_t number = pages->lists_before[from * old + i];
            pages->lists[r * length + i] = number;
            pages->all[number].users++;
        }
    }
    for (int64_t i = 0; i < pages->rows * old; i++)
        leave_page(pages, pages->lists_before[i]);
    pages->rows = rows;
}

/* The tokens of a page that several rows use, in a page that one of them has to itself. */
static int64_t fork_page(att_pages *pages, int64_t number)
{
    int64_t own = take_page(pages);
    if (own < 0)
        return -1;
    size_t filled = (size_t)(pages->tokens % ATT_PAGE_TOKENS * pages->width);
    for (int layer = 0; layer < pages->layers; layer++)
        memcpy(token_at(pages, own, layer, 0), token_at(pages, number, layer, 0),
               filled * sizeof(float));
    leave_page(pages, number);
    return own;
}

/* On failure rows hold fewer pages than they should, and none twice: they can be started anew. */
att_status att_pages_follow(att_pages *pages, int64_t rows, const int64_t *order, att_error *err)
{
    bool full = pages->tokens % ATT_PAGE_TOKENS == 0;
    int64_t length = pages->length + full;
    ATT_TRY(reserve_rows(pages, rows > pages->rows ? rows : pages->rows, length, err));
    follow(pages, rows, order, length);
    for (int64_t r = 0; r < rows; r++) {
        int64_t *last = &pages->lists[r * length + length - 1];
        if (!full && pages->all[*last].users == 1)
            continue;
        int64_t number = full ? take_page(pages) : fork_page(pages, *last);
        if (number < 0) {
            pages->rows = 0; /* what they held is lost to them; att_pages_free() has it still */
            return att_fail_memory(err);
        }
        *last = number;
    }
    pages->length = length;
    pages->tokens++;
    for (int64_t r = 0; r <= rows; r++)
        pages->offsets[r] = r * pages->tokens;
    return ATT_OK;
}

const int64_t *att_pages_offsets(const att_pages *pages)
{
    return pages->offsets;
}

void att_pages_write(att_pages *pages, int layer, const att_node *x, int64_t first)
{
    if (!x)
        return;
    for (int64_t r = 0; r < pages->rows; r++)
        memcpy(token_at(pages, pages->lists[(r + 1) * pages->length - 1], layer, pages->tokens - 1),
               x->value + r * x->shape[2] + first, (size_t)pages->width * sizeof(float));
}

typedef struct reading {
    const att_pages *pages;
    float *to;
    int layer;
} reading;

static void read_rows(void *context, int64_t begin, int64_t end)
{
    const reading *job = context;
    const att_pages *pages = job->pages;
    for (int64_t r = begin; r < end; r++)
        for (int64_t token = 0; token < pages->tokens; token += ATT_PAGE_TOKENS) {
            int64_t left = pages->tokens - token;
            int64_t number = pages->lists[r * pages->length + token / ATT_PAGE_TOKENS];
            memcpy(job->to + (r * pages->tokens + token) * pages->width,
                   token_at(pages, number, job->layer, token),
                   (size_t)((left < ATT_PAGE_TOKENS ? left : ATT_PAGE_TOKENS) * pages->width) *
                       sizeof(float));
        }
}

att_node *att_pages_read(const att_pages *pages, att_tape *tape, int layer)
{
    enum { GRAIN = 1 << 14 }; /* floats to a thread's turn */
    const int64_t shape[] = { 1, pages->rows * pages->tokens, pages->width };
    float *all = att_tape_take(tape, shape[1] * shape[2], sizeof *all);
    if (!all)
        return NULL;
    reading job = { pages, all, layer };
    att_parallel_for(pages->rows, 1 + GRAIN / (pages->tokens * pages->width + 1), read_rows, &job);
    return att_tape_lend(tape, 3, shape, all);
}
