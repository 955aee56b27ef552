/* Attention backward in float: sharing the work; see fused_back.h. */
#include "attention/fold.h"
#include "attention/fused_back.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"
#include "tensor/tensor.h"

/* Bytes of queries' gradients that are kept apart, by each worker and by all. With heads of 64 a
 * worker's hold 4096 queries: some milliseconds of work before all must wait for one another. */
enum { WORKER_PARTS = 1 << 20, ALL_PARTS = 1 << 24 };

static att_back_scratch carve_scratch(att_carver *c, const att_back *back)
{
    const att_problem *p = back->fused.problem;
    size_t lanes = ATT_TILE_LANES, block = ATT_BACK_KEYS,
           wide = (size_t)(p->Kk > p->M ? p->Kk : p->M);
    att_scratch common = { .tile = att_carve(c, 1, sizeof(att_tile)),
                           .scores = att_carve(c, block * lanes, sizeof(float)),
                           .bias = att_carve(c, block * lanes, sizeof(float)),
                           .by_distance = att_carve(c, block + lanes, sizeof(float)),
                           .allow = att_carve(c, block, sizeof(uint32_t)),
                           .kept = att_carve(c, block, sizeof(uint32_t)),
                           .gather = att_carve(c, block * wide, sizeof(float)),
                           .slope = att_carve(c, block * lanes, sizeof(float)) };
    float *query = att_carve(c, lanes * (size_t)p->Kk, sizeof(float));
    if (c->base)
        common.tile[0] = (att_tile){ .query = query };
    att_back_scratch s = { .common = common,
                           .rows_room = att_carve(c, lanes * (size_t)p->Kk, sizeof(float)),
                           .grad_room = att_carve(c, lanes * (size_t)p->M, sizeof(float)),
                           .grads = att_carve(c, block * lanes, sizeof(float)),
                           .grad_tile = att_carve(c, lanes * (size_t)p->M, sizeof(float)) };
    s.key_sums = att_carve(c, ATT_CHUNK_KEYS * back->key_stride, sizeof(float));
    s.value_sums = att_carve(c, ATT_CHUNK_KEYS * back->value_stride, sizeof(float));
    s.bias = att_bias_carve(c, back);
    size_t tiles = (size_t)back->tiles_at_once;
    s.parts = att_carve(c, tiles, sizeof(att_query_part));
    s.part_sums = att_carve(c, tiles * lanes * back->key_stride, sizeof(float));
    return s;
}

static att_back_scratch scratch_of(const att_back *back, int64_t worker)
{
    att_carver mine = { .base = back->scratch + (size_t)worker * back->scratch_size };
    return carve_scratch(&mine, back);
}

static int64_t choose_tiles_at_once(const att_back *back)
{
    if (!back->by_chunk)
        return 1;
    int64_t room =
        ALL_PARTS / back->workers < WORKER_PARTS ? ALL_PARTS / back->workers : WORKER_PARTS;
    int64_t width = back->key_stride > 0 ? (int64_t)back->key_stride : 1; /* K may be 0 */
    int64_t fit = room / (ATT_TILE_LANES * width * (int64_t)sizeof(float));
    int64_t all = back->heads * att_fused_most_tiles(back->fused.problem->T);
    int64_t tiles = fit < all ? fit : all;
    return tiles > 1 ? tiles : 1;
}

/* By chunk or not; the bytes of workspace that takes. */
static size_t plan(att_back *back, bool by_chunk)
{
    const att_problem *p = back->fused.problem;
    int64_t units = back->fused.sequences * p->G;
    if (by_chunk)
        units = p->S / ATT_CHUNK_KEYS + 1;
    int64_t threads = att_threads_get();
    back->by_chunk = by_chunk;
    back->workers = (int)(threads < units ? threads : units);
    back->tiles_at_once = choose_tiles_at_once(back);
    att_carver counting = { 0 };
    (void)carve_scratch(&counting, back);
    back->scratch_size = counting.used;
    return (size_t)back->workers * back->scratch_size + 63;
}

static void start(att_back *back, const att_problem *p, const att_attention_grads *grads)
{
    *back = (att_back){ .grads = grads,
                        .heads = p->H / p->G,
                        .key_stride = att_sum_stride(p->Kk),
                        .value_stride = att_sum_stride(p->M) };
    (void)att_fused_plan(&back->fused, p, NULL);
}

/* One head of keys per worker as long as there are enough of them. */
static bool goes_by_chunk(const att_back *back)
{
    const att_problem *p = back->fused.problem;
    int64_t threads = att_threads_get(), units = back->fused.sequences * p->G;
    return att_bias_ordered(p, back->grads) || (threads > 1 && units < 2 * threads);
}

static void work_heads(void *context, int64_t worker, int64_t end)
{
    (void)end;
    att_back *back = context;
    att_back_scratch scratch = scratch_of(back, worker);
    int64_t G = back->fused.problem->G, unit;
    while ((unit = atomic_fetch_add(&back->fused.next, 1)) < back->fused.sequences * G) {
        att_head head = att_fused_head(&back->fused, unit / G, unit % G * back->heads);
        for (int64_t n = 0; n < att_back_chunks(&head); n++) {
            att_chunk chunk = att_back_chunk(back, unit / G, unit % G, n);
            att_back_tiles(back, &chunk, 0, chunk.tiles, &scratch);
        }
    }
}

/* The tiles that all workers go through now, as far as there are any. */
static int64_t tiles_end(const att_back *back, int64_t tiles)
{
    int64_t end = back->tile + back->tiles_at_once;
    return end < tiles ? end : tiles;
}

static void work_chunk(void *context, int64_t worker, int64_t end)
{
    (void)end;
    const att_back *back = context;
    att_back_scratch scratch = scratch_of(back, worker);
    att_chunk chunk = att_back_chunk(back, back->sequence, back->g, back->chunk + worker);
    att_back_tiles(back, &chunk, back->tile, tiles_end(back, chunk.tiles), &scratch);
}

/* What the chunks of one round hold for tiles begin … end-1 of those at hand, chunk by chunk. */
static void add_parts(void *context, int64_t begin, int64_t end)
{
    const att_back *back = context;
    att_head head = att_fused_head(&back->fused, back->sequence, back->g * back->heads);
    int64_t left = att_back_chunks(&head) - back->chunk;
    for (int64_t worker = 0; worker < back->workers && worker < left; worker++) {
        att_back_scratch scratch = scratch_of(back, worker);
        for (int64_t tile = begin; tile < end; tile++)
            att_back_turn(back, head.b, &scratch, back->tile + tile);
    }
}

/* `round` chunks from back->chunk on, one per worker. */
static void chunks_together(att_back *back, int64_t round, int64_t tiles)
{
    back->tile = 0;
    do {
        att_parallel_for(round, 1, work_chunk, back);
        if (back->grads->query)
            att_parallel_for(tiles_end(back, tiles) - back->tile, 2, add_parts, back);
        back->tile += back->tiles_at_once;
    } while (back->tile < tiles);
}

static void chunks_in_turn(att_back *back)
{
    att_head head = att_fused_head(&back->fused, back->sequence, back->g * back->heads);
    int64_t chunks = att_back_chunks(&head), tiles = back->heads * att_fused_tiles(&head);
    for (back->chunk = 0; back->chunk < chunks; back->chunk += back->workers) {
        int64_t round = chunks - back->chunk < back->workers ? chunks - back->chunk : back->workers;
        chunks_together(back, round, tiles);
        for (int64_t worker = 0; worker < round; worker++) {
            att_back_scratch scratch = scratch_of(back, worker);
            att_bias_turn(back, &head, &scratch);
        }
    }
}

static void backward(att_back *back)
{
    if (!back->by_chunk) {
        att_parallel_for(back->workers, 1, work_heads, back);
        return;
    }
    for (back->sequence = 0; back->sequence < back->fused.sequences; back->sequence++)
        for (back->g = 0; back->g < back->fused.problem->G; back->g++)
            chunks_in_turn(back);
}

size_t att_back_room(const att_problem *problem)
{
    att_back back;
    start(&back, problem, NULL);
    size_t heads = plan(&back, false), chunks = plan(&back, true);
    return heads > chunks ? heads : chunks;
}

static bool grads_fit(const att_problem *problem, const att_tensor *output_grad,
                      const att_attention_grads *grads)
{
    bool floats = att_all_float(problem, NULL) && output_grad->dtype == ATT_F32;
    for (int s = 0; s < ATT_SLOTS; s++) {
        const att_tensor *grad = att_problem_grad(grads, (att_slot)s);
        floats &= !grad || grad->dtype == ATT_F32;
    }
    return floats;
}

static att_status run(const att_problem *problem, const att_attention_outputs *forward,
                      const att_tensor *output_grad, const att_attention_grads *grads,
                      void *workspace, att_error *err)
{
    att_back back;
    void *own;
    start(&back, problem, grads);
    void *room = att_fused_room(workspace, plan(&back, goes_by_chunk(&back)), &own);
    if (!room)
        return att_fail_memory(err);
    back.scratch = room;
    back.output = forward->output;
    back.log_sum_exp = forward->log_sum_exp;
    back.output_grad = output_grad;
    att_status status = att_fused_lists(&back.fused, err);
    if (status == ATT_OK)
        backward(&back);
    att_fused_free(&back.fused);
    att_free(own);
    return status;
}

/* Without the forward's results: works them out first. */
static att_status run_both(const att_problem *p, const att_tensor *output_grad,
                           const att_attention_grads *grads, void *workspace, att_error *err)
{
    att_tensor output = { 0 }, sums = { 0 };
    const att_attention_outputs forward = { .output = &output, .log_sum_exp = &sums };
    const int64_t output_shape[] = { p->B, p->T, p->H, p->M };
    const int64_t sums_shape[] = { p->B, p->H, p->T };
    att_status status = att_tensor_new(&output, ATT_F32, 4, output_shape, err);
    if (status == ATT_OK)
        status = att_tensor_new(&sums, ATT_F32, 3, sums_shape, err);
    if (status == ATT_OK)
        status = att_fused_forward(p, &forward, NULL, err);
    if (status == ATT_OK)
        status = run(p, &forward, output_grad, grads, workspace, err);
    att_tensor_free(&output);
    att_tensor_free(&sums);
    return status;
}

att_status att_fused_backward(const att_problem *problem, const att_attention_outputs *forward,
                              const att_tensor *output_grad, const att_attention_grads *grads,
                              void *workspace, att_error *err)
{
    bool given = forward && forward->output && forward->log_sum_exp;
    if (!given || !att_all_float(problem, forward))
        return run_both(problem, output_grad, grads, workspace, err);
    return run(problem, forward, output_grad, grads, workspace, err);
}

att_status att_attention_backward(const att_attention *how, const att_attention_inputs *in,
                                  const att_attention_outputs *forward,
                                  const att_tensor *output_grad, const att_attention_grads *grads,
                                  void *workspace, att_error *err)
{
    att_problem problem;
    ATT_TRY(att_problem_new(&problem, how, in, err));
    ATT_TRY(att_problem_check_grads(&problem, output_grad, grads, err));
    if (forward && forward->output && forward->log_sum_exp)
        ATT_TRY(att_problem_check_outputs(&problem, forward, err));
    if (!att_problem_wants(grads))
        return ATT_OK;
    if (!grads_fit(&problem, output_grad, grads))
        return att_attention_backward_ref(how, in, output_grad, grads, err);
    if (!att_fused_fits(&problem))
        return att_folded_backward(&problem, forward, output_grad, grads, workspace, err);
    return att_fused_backward(&problem, forward, output_grad, grads, workspace, err);
}
