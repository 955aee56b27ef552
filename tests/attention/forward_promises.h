/* Checks of forward attention that hold on any scene and every path: the same bits at any number of
 * threads, on any instruction set and in any batch; a workspace of the size returned by
 * att_attention_workspace(); no leaks. The tests of each path choose the scenes. */
#ifndef TESTS_ATTENTION_FORWARD_PROMISES_H
#define TESTS_ATTENTION_FORWARD_PROMISES_H

#include "fenced_workspace.h"

/* A scene with room for its results in float, and for the reference's in double. */
typedef struct forward {
    scene s;
    results found, exact;
} forward;

static inline void forward_open(forward *f, choice c)
{
    scene_new(&f->s, c);
    results_new(&f->found, &f->s, ATT_F32, true);
    results_new(&f->exact, &f->s, ATT_F64, true);
}

static inline void forward_run(forward *f)
{
    ASSERT_OK(att_attention_forward(&f->s.options, &f->s.in, &f->found.out, NULL, err));
    ASSERT_OK(att_attention_forward_reference(&f->s.options, &f->s.in, &f->exact.out, err));
}

static inline void forward_close(forward *f)
{
    results_free(&f->found);
    results_free(&f->exact);
    scene_free(&f->s);
}

/* ---- same bits */

/* The hash of all results under one instruction set and number of threads. */
static inline uint64_t forward_hash(const scene *s, att_cpu cpu, int threads, void *workspace)
{
    results found;
    assert_true(att_cpu_set(cpu));
    att_threads_set(threads);
    results_new(&found, s, ATT_F32, s->c.seed % 2);
    ASSERT_OK(att_attention_forward(&s->options, &s->in, &found.out, workspace, err));
    uint64_t hash = results_hash(&found);
    results_free(&found);
    return hash;
}

/* With `count` of the numbers of threads, chosen by the seed. */
static inline void promise_same_bits(choice c, size_t count)
{
    scene s;
    scene_new(&s, c);
    uint64_t plain = forward_hash(&s, ATT_CPU_SCALAR, 1, NULL);
    ATT_FOR_EACH_CPU (cpu)
        for (size_t t = c.seed; t < c.seed + count; t += THIN) {
            int threads = thread_numbers[t % COUNT(thread_numbers)];
            if (forward_hash(&s, (att_cpu)cpu, threads, NULL) != plain)
                fail_msg("other bits on set %d with %d threads: %s", cpu, threads, choice_name(&c));
        }
    scene_free(&s);
    att_cpu_set(att_cpu_best());
    att_threads_set(1);
}

/* ---- in any batch */

/* The same scene with some of the queries and keys only, by views; it is released with the whole.
 */
static inline void part_of(scene *part, const scene *s, int64_t b, int64_t query, int64_t queries,
                           int64_t key, int64_t keys)
{
    *part = *s;
    part->c.B = 1;
    part->c.T = queries;
    part->c.S = keys;
    for (int slot = ATT_SLOT_QUERY; slot <= ATT_SLOT_VALUE; slot++) {
        att_tensor *t = &part->tensor[slot];
        int64_t first = slot == ATT_SLOT_QUERY ? query : key;
        t->data = (float *)t->data + b * t->stride[0] + first * t->stride[1];
        t->shape[0] = 1;
        t->shape[1] = slot == ATT_SLOT_QUERY ? queries : keys;
    }
    scene_connect(part);
}

/* The output of the part has the bits of the whole's from query `first` on. */
static inline void assert_same_rows(const scene *part, const results *whole, int64_t b,
                                    int64_t first)
{
    results alone;
    results_new(&alone, part, ATT_F32, false);
    ASSERT_OK(att_attention_forward(&part->options, &part->in, &alone.out, NULL, err));
    for (int64_t i = 0; i < part->c.T; i++)
        for (int64_t h = 0; h < part->c.H; h++)
            for (int64_t m = 0; m < part->c.M; m++) {
                float found = (float)get(alone.out.output, 0, i, h, m);
                float wanted = (float)get(whole->out.output, b, first + i, h, m);
                if (memcmp(&found, &wanted, sizeof found) != 0 && !(isnan(found) && isnan(wanted)))
                    fail_msg("query %d got %.9g, expected %.9g: %s", (int)(first + i),
                             (double)found, (double)wanted, choice_name(&part->c));
            }
    results_free(&alone);
}

/* A causal scene computed query by query, with the keys so far and no others. */
static inline void promise_decoding(choice c, int64_t step)
{
    scene s, part;
    results whole;
    scene_new(&s, c);
    results_new(&whole, &s, ATT_F32, false);
    ASSERT_OK(att_attention_forward(&s.options, &s.in, &whole.out, NULL, err));
    for (int64_t i = 0; i < c.T; i += step) {
        part_of(&part, &s, 0, i, 1, 0, i + 1);
        part.options.offset = i;
        assert_same_rows(&part, &whole, 0, i);
    }
    results_free(&whole);
    scene_free(&s);
}

/* Each of a scene's packed sequences on its own, and padded with the keys that follow it, which a
 * length cuts off. */
static inline void promise_packing(const scene *s)
{
    results whole;
    const int64_t *queries = s->options.query_offsets, *keys = s->options.key_offsets;
    results_new(&whole, s, ATT_F32, false);
    ASSERT_OK(att_attention_forward(&s->options, &s->in, &whole.out, NULL, err));
    for (int64_t n = 0; n < s->options.sequences; n++) {
        int64_t length = keys[n + 1] - keys[n];
        const int64_t rooms[] = { length, s->c.S - keys[n] };
        for (size_t k = 0; k < COUNT(rooms); k++) {
            scene part;
            part_of(&part, s, 0, queries[n], queries[n + 1] - queries[n], keys[n], rooms[k]);
            part.options.sequences = 0;
            part.options.query_offsets = part.options.key_offsets = NULL;
            part.options.key_lengths = k > 0 ? &length : NULL;
            assert_same_rows(&part, &whole, 0, queries[n]);
        }
    }
    results_free(&whole);
}

/* ---- memory */

static inline void promise_workspace(choice c, int threads)
{
    scene s;
    fenced_workspace w;
    scene_new(&s, c);
    att_threads_set(threads);
    workspace_open(&w, &s, false);
    assert_true(forward_hash(&s, att_cpu_best(), threads, w.room) ==
                forward_hash(&s, att_cpu_best(), threads, NULL));
    workspace_close(&w);
    scene_free(&s);
    att_threads_set(1);
}

/* Every allocation of a call fails in turn; there are fewer than `most`. */
static inline void promise_failures(choice c, size_t most)
{
    scene s;
    results found;
    scene_new(&s, c);
    results_new(&found, &s, ATT_F32, true);
    size_t live = att_alloc_live();
    att_status status = ATT_NO_MEMORY;
    for (size_t n = 1; status != ATT_OK; n++) {
        att_error err = { 0 };
        assert_true(n < most);
        att_alloc_fail_at(n);
        status = att_attention_forward(&s.options, &s.in, &found.out, NULL, &err);
        att_alloc_fail_at(0);
        assert_true(status == ATT_OK || status == ATT_NO_MEMORY);
        assert_true(status == err.status);
        assert_int_equal(att_alloc_live(), live);
    }
    results_free(&found);
    scene_free(&s);
}

#endif
