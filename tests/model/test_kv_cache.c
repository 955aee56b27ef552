/* The paged KV cache: rows keep their tokens while other rows are dropped, forked and reordered,
 * and share the pages of a common prefix. */
#include "base/alloc.h"
#include "model/kv_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

enum { LAYERS = 2, WIDTH = 3, MOST_ROWS = 6, MOST_TOKENS = 50 };

/* The expected content of each row: one number per token. */
typedef struct scene {
    att_kv_cache *pages;
    att_tape *tape;
    int64_t rows, tokens;
    float wanted[MOST_ROWS][MOST_TOKENS];
    float next; /* the number of the next token, all different */
} scene;

static void start(scene *s, int64_t rows)
{
    s->rows = rows;
    s->tokens = 0;
    assert_int_equal(att_kv_cache_reset(s->pages, rows, NULL), ATT_OK);
}

static void open_scene(scene *s, int64_t rows)
{
    *s = (scene){ .next = 1 };
    assert_int_equal(att_kv_cache_new(&s->pages, LAYERS, WIDTH, NULL), ATT_OK);
    assert_int_equal(att_tape_new(&s->tape, NULL, NULL), ATT_OK);
    start(s, rows);
}

static void close_scene(scene *s)
{
    att_kv_cache_free(s->pages);
    att_tape_free(s->tape);
}

/* Appends a token to each row and compares everything. A value encodes its token, layer and column;
 * the first column of x is not part of the token and must be skipped. */
static void step(scene *s, int64_t rows, const int64_t *order)
{
    float before[MOST_ROWS][MOST_TOKENS];
    memcpy(before, s->wanted, sizeof before);
    att_tape_begin(s->tape, false, 0, 0);
    assert_int_equal(att_kv_cache_advance(s->pages, rows, order, NULL), ATT_OK);
    for (int64_t r = 0; r < rows; r++) {
        memcpy(s->wanted[r], before[order ? order[r] : r], sizeof before[0]);
        s->wanted[r][s->tokens] = s->next++;
    }
    s->rows = rows;
    s->tokens++;
    for (int layer = 0; layer < LAYERS; layer++) {
        att_node *x = att_tape_input(s->tape, 3, (int64_t[]){ 1, rows, WIDTH + 1 }, NULL);
        for (int64_t r = 0; r < rows; r++)
            for (int c = 0; c < WIDTH; c++)
                x->value[r * (WIDTH + 1) + 1 + c] =
                    s->wanted[r][s->tokens - 1] * 100 + (float)(10 * layer + c);
        att_kv_cache_append(s->pages, layer, x, 1);
    }
}

static void assert_all(const scene *s)
{
    const int64_t *offsets = att_kv_cache_offsets(s->pages);
    assert_int_equal(att_kv_cache_tokens(s->pages), s->tokens);
    for (int layer = 0; layer < LAYERS; layer++) {
        const att_node *all = att_kv_cache_gather(s->pages, s->tape, layer);
        assert_int_equal(all->shape[1], s->rows * s->tokens);
        assert_int_equal(offsets[s->rows], all->shape[1]);
        for (int64_t r = 0; r < s->rows; r++)
            for (int64_t t = 0; t < s->tokens; t++)
                for (int c = 0; c < WIDTH; c++)
                    assert_true(all->value[(offsets[r] + t) * WIDTH + c] ==
                                s->wanted[r][t] * 100 + (float)(10 * layer + c));
    }
}

static void rows_hold_their_own_tokens_however_they_are_reordered(void **state)
{
    (void)state;
    scene s;
    open_scene(&s, 3);
    uint32_t seed = 7;
    for (int t = 0; t < MOST_TOKENS; t++) {
        int64_t order[MOST_ROWS];
        seed = seed * 1664525u + 1013904223u;
        int64_t rows = 1 + seed % MOST_ROWS;
        for (int64_t r = 0; r < rows; r++) {
            seed = seed * 1664525u + 1013904223u;
            order[r] = (int64_t)(seed >> 8) % s.rows;
        }
        step(&s, rows, order);
        assert_all(&s);
    }
    start(&s, 2);
    assert_int_equal(att_kv_cache_pages_used(s.pages), 0);
    step(&s, 2, NULL);
    assert_all(&s);
    close_scene(&s);
}

/* Four rows that continue one row share all pages but the one that is written to. */
static void rows_with_a_common_prefix_share_their_full_pages(void **state)
{
    (void)state;
    scene s;
    open_scene(&s, 1);
    for (int t = 0; t < 2 * ATT_KV_PAGE_TOKENS + 1; t++)
        step(&s, 1, NULL);
    assert_int_equal(att_kv_cache_pages_used(s.pages), 3);
    step(&s, 4, (int64_t[]){ 0, 0, 0, 0 });
    assert_all(&s);
    assert_int_equal(att_kv_cache_pages_used(s.pages), 2 + 4);
    step(&s, 1, (int64_t[]){ 2 });
    assert_all(&s);
    assert_int_equal(att_kv_cache_pages_used(s.pages), 3);
    close_scene(&s);
}

static void rows_that_are_only_exchanged_copy_nothing(void **state)
{
    (void)state;
    scene s;
    open_scene(&s, 3);
    step(&s, 3, NULL);
    for (int t = 1; t < ATT_KV_PAGE_TOKENS; t++) {
        step(&s, 3, (int64_t[]){ 2, 0, 1 });
        assert_int_equal(att_kv_cache_pages_used(s.pages), 3);
    }
    assert_all(&s);
    close_scene(&s);
}

static void running_out_of_memory_loses_nothing(void **state)
{
    (void)state;
    size_t live = att_alloc_live();
    for (size_t n = 1; n < 12; n++) {
        att_kv_cache *pages = NULL;
        att_alloc_fail_at(n);
        att_status status = att_kv_cache_new(&pages, LAYERS, WIDTH, NULL);
        if (status == ATT_OK)
            status = att_kv_cache_reset(pages, 2, NULL);
        for (int t = 0; t < ATT_KV_PAGE_TOKENS + 1 && status == ATT_OK; t++)
            status = att_kv_cache_advance(pages, 2, (int64_t[]){ 0, 0 }, NULL);
        att_alloc_fail_at(0);
        if (pages && status != ATT_OK) { /* the cache can be reset */
            assert_int_equal(att_kv_cache_reset(pages, 2, NULL), ATT_OK);
            assert_int_equal(att_kv_cache_advance(pages, 2, NULL, NULL), ATT_OK);
        }
        att_kv_cache_free(pages);
        assert_int_equal(att_alloc_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_hold_their_own_tokens_however_they_are_reordered),
        cmocka_unit_test(rows_with_a_common_prefix_share_their_full_pages),
        cmocka_unit_test(rows_that_are_only_exchanged_copy_nothing),
        cmocka_unit_test(running_out_of_memory_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
