/* Checks of the gradients of attention that hold on any scene and every path; see
 * forward_promises.h for the forward pass. */
#ifndef TESTS_ATTENTION_BACKWARD_PROMISES_H
#define TESTS_ATTENTION_BACKWARD_PROMISES_H

#include "fenced_workspace.h"
#include "grads.h"

/* A scene with the gradient of its output, and room for all others: in float, and for the
 * reference's in double. */
typedef struct backward {
    scene s;
    loss l;
    grads found, wanted;
} backward;

static inline void backward_open(backward *b, choice c)
{
    scene_new(&b->s, c);
    loss_new(&b->l, &b->s);
    grads_new(&b->found, &b->s, ATT_F32);
    grads_new(&b->wanted, &b->s, ATT_F64);
}

static inline void backward_fast(backward *b)
{
    ASSERT_OK(att_attention_backward(&b->s.options, &b->s.in, NULL, b->l.grad.out.output,
                                     &b->found.to, NULL, err));
}

static inline void backward_run(backward *b)
{
    backward_fast(b);
    ASSERT_OK(att_attention_backward_reference(&b->s.options, &b->s.in, b->l.grad.out.output,
                                               &b->wanted.to, err));
}

static inline void backward_close(backward *b)
{
    grads_free(&b->found);
    grads_free(&b->wanted);
    results_free(&b->l.grad);
    scene_free(&b->s);
}

/* ---- same bits */

/* The hash of all gradients; `forward` and `workspace` may be NULL. */
static inline uint64_t backward_hash(const backward *b, const results *forward, att_cpu cpu,
                                     int threads, void *workspace)
{
    grads found;
    assert_true(att_cpu_set(cpu));
    att_threads_set(threads);
    grads_new(&found, &b->s, ATT_F32);
    ASSERT_OK(att_attention_backward(&b->s.options, &b->s.in, forward ? &forward->out : NULL,
                                     b->l.grad.out.output, &found.to, workspace, err));
    uint64_t hash = grads_hash(&found);
    grads_free(&found);
    return hash;
}

/* With `count` of the numbers of threads, chosen by the seed, and with what the forward pass found
 * or without. */
static inline void promise_same_grad_bits(choice c, size_t count)
{
    backward b;
    results forward;
    backward_open(&b, c);
    results_new(&forward, &b.s, ATT_F32, false);
    ASSERT_OK(att_attention_forward(&b.s.options, &b.s.in, &forward.out, NULL, err));
    uint64_t plain = backward_hash(&b, &forward, ATT_CPU_SCALAR, 1, NULL);
    ATT_FOR_EACH_CPU (cpu)
        for (size_t t = c.seed; t < c.seed + count; t += THIN) {
            int threads = thread_numbers[t % COUNT(thread_numbers)];
            const results *before = t % 2 ? &forward : NULL;
            if (backward_hash(&b, before, (att_cpu)cpu, threads, NULL) != plain)
                fail_msg("other bits on set %d with %d threads: %s", cpu, threads, choice_name(&c));
        }
    results_free(&forward);
    backward_close(&b);
    att_cpu_set(att_cpu_best());
    att_threads_set(1);
}

/* A gradient computed alone has the bits that it has when all are computed. */
static inline void promise_one_grad_alone(choice c)
{
    backward all;
    backward_open(&all, c);
    backward_fast(&all);
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++) {
        grads one;
        grads_new(&one, &all.s, ATT_F32);
        for (int other = 0; other < ATT_SLOT_COUNT; other++)
            if (other != slot)
                memset((char *)&one.to + (size_t)other * sizeof(att_tensor *), 0,
                       sizeof(att_tensor *));
        ASSERT_OK(att_attention_backward(&all.s.options, &all.s.in, NULL, all.l.grad.out.output,
                                         &one.to, NULL, err));
        if (one.block[slot])
            assert_memory_equal(one.block[slot], all.found.block[slot], one.bytes[slot]);
        grads_free(&one);
    }
    backward_close(&all);
}

/* In a scene of one head, the gradient of query i computed without other queries. */
static inline void assert_query_grad(const backward *b, int64_t i)
{
    enum { WIDEST = 64 };
    float found[WIDEST] = { 0 };
    const scene *s = &b->s;
    att_tensor query = s->tensor[ATT_SLOT_QUERY], grad = *b->l.grad.out.output;
    att_tensor to = att_tensor_view(found, ATT_F32, 4, SHAPE(1, 1, 1, s->c.K));
    att_attention_options options = s->options;
    att_attention_inputs in = s->in;
    assert_true(s->c.K <= WIDEST);
    query.data = (float *)query.data + i * query.stride[1];
    grad.data = (float *)grad.data + i * grad.stride[1];
    query.shape[1] = grad.shape[1] = 1;
    in.query = &query;
    options.offset += i;
    for (int64_t k = 0; k < s->c.K; k++)
        found[k] = 1; /* what was there before, as in grads_new() */
    ASSERT_OK(att_attention_backward(&options, &in, NULL, &grad,
                                     &(att_attention_grads){ .query = &to }, NULL, err));
    for (int64_t k = 0; k < s->c.K; k++) {
        double wanted = get(b->found.to.query, 0, i, 0, k);
        if ((double)found[k] != wanted && !(isnan(found[k]) && isnan(wanted)))
            fail_msg("query %d got %.9g, expected %.9g: %s", (int)i, (double)found[k], wanted,
                     choice_name(&s->c));
    }
}

static inline void promise_query_grads(choice c, int64_t step)
{
    backward b;
    backward_open(&b, c);
    backward_fast(&b);
    for (int64_t i = 0; i < c.T; i += step)
        assert_query_grad(&b, i);
    backward_close(&b);
}

/* ---- what is not finite */

/* One number of an input, or of the output's gradient, becomes NaN or an infinity: gradients are
 * finite where the reference's are. `where` is 3 × (query, key, value, gradient) + which. */
static inline void promise_finite_grads(choice c, int where, int64_t query, int64_t key)
{
    static const double wild[] = { NAN, INFINITY, -INFINITY };
    backward b;
    backward_open(&b, c);
    att_tensor *at = where < 9 ? &b.s.tensor[where / 3] : b.l.grad.out.output;
    bool by_query = where < 3 || where >= 9;
    att_tensor_set(at, SHAPE(0, by_query ? query : key, 0, 2), wild[where % 3]);
    backward_run(&b);
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++)
        for (int64_t e = 0; b.s.tensor[slot].data && e < att_tensor_count(&b.s.tensor[slot]); e++) {
            double found = (double)((float *)b.found.tensor[slot].data)[e];
            double wanted = ((double *)b.wanted.tensor[slot].data)[e];
            if (isfinite(found) != isfinite(wanted))
                fail_msg("gradient of %s, element %d, is %g, expected %g, case %d: %s",
                         grad_names[slot], (int)e, found, wanted, where, choice_name(&c));
        }
    backward_close(&b);
}

/* ---- memory */

static inline void promise_backward_workspace(choice c, int threads)
{
    backward b;
    fenced_workspace w;
    backward_open(&b, c);
    att_threads_set(threads);
    workspace_open(&w, &b.s, true);
    assert_true(backward_hash(&b, NULL, att_cpu_best(), threads, w.room) ==
                backward_hash(&b, NULL, att_cpu_best(), threads, NULL));
    workspace_close(&w);
    backward_close(&b);
    att_threads_set(1);
}

/* Every allocation of a call fails in turn; there are fewer than `most`. */
static inline void promise_backward_failures(backward *b, size_t most)
{
    size_t live = att_alloc_live();
    att_status status = ATT_NO_MEMORY;
    for (size_t n = 1; status != ATT_OK; n++) {
        att_error err = { 0 };
        assert_true(n < most);
        att_alloc_fail_at(n);
        status = att_attention_backward(&b->s.options, &b->s.in, NULL, b->l.grad.out.output,
                                        &b->found.to, NULL, &err);
        att_alloc_fail_at(0);
        assert_true(status == ATT_OK || status == ATT_NO_MEMORY);
        assert_true(status == err.status);
        assert_int_equal(att_alloc_live(), live);
    }
}

#endif
