/* Fused attention, backward: splitting the work among threads; see fused_backward.h. */
#include "attention/fused_backward.h"
#include "attention/paths.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/parallel.h"
#include "tensor/tensor.h"

/* Bytes of buffered query gradients, per worker and in total. With heads of 64 a worker buffers
 * 4096 queries: some milliseconds of work between barriers. */
enum { MAX_WORKER_PART_BYTES = 1 << 20, MAX_TOTAL_PART_BYTES = 1 << 24 };

static att_backward_buffers alloc_buffers(att_workspace *c, const att_backward_pass *back)
{
    const att_problem *p = back->fused.problem;
    size_t lanes = ATT_TILE_LANES, block = ATT_BACKWARD_KEYS,
           wide = (size_t)att_max_i64(p->Kk, p->M);
    int64_t sharing = back->fused.tiles_per_kv_head;
    att_fused_buffers common = {
        .tile = att_workspace_alloc(c, 1, sizeof(att_query_tile)),
        .scores = att_workspace_alloc(c, block * lanes, sizeof(float)),
        .bias = att_workspace_alloc(c, block * lanes, sizeof(float)),
        .distance_bias = att_workspace_alloc(c, block + lanes, sizeof(float)),
        .mask_bits = att_workspace_alloc(c, block, sizeof(uint32_t)),
        .dropout_bits = att_workspace_alloc(c, block, sizeof(uint32_t)),
        .gathered = att_workspace_alloc(c, block * wide, sizeof(float)),
        .keys = att_row_copy_alloc(c, p->in->key, ATT_CHUNK_KEYS, sharing),
        .values = att_row_copy_alloc(c, p->in->value, ATT_CHUNK_KEYS, sharing),
        .cap_derivative = att_workspace_alloc(c, block * lanes, sizeof(float))
    };
    att_backward_buffers s = {
        .common = common,
        .tile_query = att_workspace_alloc(c, lanes * (size_t)p->Kk, sizeof(float)),
        .query_buffer = att_workspace_alloc(c, lanes * (size_t)p->Kk, sizeof(float)),
        .grad_buffer = att_workspace_alloc(c, lanes * (size_t)p->M, sizeof(float)),
        .grads = att_workspace_alloc(c, block * lanes, sizeof(float)),
        .output_grad_tile = att_workspace_alloc(c, lanes * (size_t)p->M, sizeof(float))
    };
    s.key_sums = att_workspace_alloc(c, ATT_CHUNK_KEYS * back->key_stride, sizeof(float));
    s.value_sums = att_workspace_alloc(c, ATT_CHUNK_KEYS * back->value_stride, sizeof(float));
    s.bias = att_bias_grad_alloc(c, back);
    size_t tiles = (size_t)back->tiles_per_round;
    s.query_grad_parts = att_workspace_alloc(c, tiles, sizeof(att_query_grad_part));
    s.query_grad_sums = att_workspace_alloc(c, tiles * lanes * back->key_stride, sizeof(float));
    return s;
}

static att_backward_buffers worker_buffers(const att_backward_pass *back, int64_t worker)
{
    att_workspace mine = att_workspace_part(back->buffers, back->buffers_size, worker);
    return alloc_buffers(&mine, back);
}

/* The buffers as the worker itself uses them; other threads only read its query gradients. */
static att_backward_buffers start_worker(const att_backward_pass *back, int64_t worker)
{
    att_backward_buffers s = worker_buffers(back, worker);
    s.common.tile[0] = (att_query_tile){ .query = s.tile_query };
    return s;
}

static int64_t choose_tiles_per_round(const att_backward_pass *back)
{
    if (!back->by_chunk)
        return 1;
    int64_t room = att_min_i64(MAX_TOTAL_PART_BYTES / back->workers, MAX_WORKER_PART_BYTES);
    int64_t width = back->key_stride > 0 ? (int64_t)back->key_stride : 1; /* K may be 0 */
    int64_t fit = room / (ATT_TILE_LANES * width * (int64_t)sizeof(float));
    int64_t all = back->heads_per_kv_head * att_fused_max_tile_count(back->fused.problem->T);
    return att_max_i64(att_min_i64(fit, all), 1);
}

/* Plans the split by chunk or by head and returns the bytes of workspace. */
static size_t plan(att_backward_pass *back, bool by_chunk)
{
    const att_problem *p = back->fused.problem;
    int64_t units = back->fused.sequences * p->G;
    if (by_chunk)
        units = p->S / ATT_CHUNK_KEYS + 1;
    back->by_chunk = by_chunk;
    back->workers = (int)att_min_i64(att_threads_get(), units);
    back->tiles_per_round = choose_tiles_per_round(back);
    att_workspace counting = { 0 };
    (void)alloc_buffers(&counting, back);
    back->buffers_size = att_workspace_part_size(&counting);
    return (size_t)back->workers * back->buffers_size + ATT_WORKSPACE_ALIGNMENT - 1;
}

static void start(att_backward_pass *back, const att_problem *p, const att_attention_grads *grads)
{
    *back = (att_backward_pass){ .grads = grads,
                                 .heads_per_kv_head = p->H / p->G,
                                 .key_stride = att_padded_stride(p->Kk),
                                 .value_stride = att_padded_stride(p->M) };
    (void)att_fused_plan(&back->fused, p, NULL);
}

/* One key/value head per worker as long as there are enough of them. */
static bool splits_by_chunk(const att_backward_pass *back)
{
    const att_problem *p = back->fused.problem;
    int64_t threads = att_threads_get(), units = back->fused.sequences * p->G;
    return att_bias_grad_is_shared(p, back->grads) || (threads > 1 && units < 2 * threads);
}

static void run_heads(void *context, int64_t worker, int64_t end)
{
    (void)end;
    att_backward_pass *back = context;
    att_backward_buffers buffers = start_worker(back, worker);
    int64_t G = back->fused.problem->G, units = back->fused.sequences * G, turn;
    while ((turn = atomic_fetch_add(&back->fused.next_unit, 1)) < units) {
        int64_t unit = att_spread_unit(turn, units, back->workers);
        att_sequence_head head = att_sequence_head_get(back->fused.problem, unit / G,
                                                       unit % G * back->heads_per_kv_head);
        for (int64_t n = 0; n < att_backward_chunk_count(&head); n++) {
            att_key_chunk chunk = att_backward_chunk(back, unit / G, unit % G, n);
            att_backward_tiles(back, &chunk, 0, chunk.tiles, &buffers);
            if (att_progress_abandoned()) {
                atomic_store(&back->fused.next_unit, units); /* workers stop */
                return;
            }
        }
    }
}

/* The end of the tiles of this round. */
static int64_t tiles_end(const att_backward_pass *back, int64_t tiles)
{
    return att_min_i64(back->tile + back->tiles_per_round, tiles);
}

static void run_chunk(void *context, int64_t worker, int64_t end)
{
    (void)end;
    const att_backward_pass *back = context;
    att_backward_buffers buffers = start_worker(back, worker);
    att_key_chunk chunk = att_backward_chunk(back, back->sequence, back->g, back->chunk + worker);
    att_backward_tiles(back, &chunk, back->tile, tiles_end(back, chunk.tiles), &buffers);
}

/* Adds the contributions of the chunks of this round to tiles begin … end-1 of it, chunk by chunk.
 */
static void add_query_grad_parts(void *context, int64_t begin, int64_t end)
{
    const att_backward_pass *back = context;
    att_sequence_head head = att_sequence_head_get(back->fused.problem, back->sequence,
                                                   back->g * back->heads_per_kv_head);
    int64_t left = att_backward_chunk_count(&head) - back->chunk;
    for (int64_t worker = 0; worker < back->workers && worker < left; worker++) {
        att_backward_buffers buffers = worker_buffers(back, worker);
        for (int64_t tile = begin; tile < end; tile++)
            att_backward_add_query_grads(back, head.b, &buffers, back->tile + tile);
    }
}

/* Processes `round` chunks from back->chunk on, one per worker. */
static void run_chunk_round(att_backward_pass *back, int64_t round, int64_t tiles)
{
    back->tile = 0;
    do {
        att_parallel_for(round, 1, run_chunk, back);
        if (back->grads->query)
            att_parallel_for(tiles_end(back, tiles) - back->tile, 2, add_query_grad_parts, back);
        back->tile += back->tiles_per_round;
    } while (back->tile < tiles);
}

static void run_chunks(att_backward_pass *back)
{
    att_sequence_head head = att_sequence_head_get(back->fused.problem, back->sequence,
                                                   back->g * back->heads_per_kv_head);
    int64_t chunks = att_backward_chunk_count(&head),
            tiles = back->heads_per_kv_head * att_fused_tile_count(&head);
    for (back->chunk = 0; back->chunk < chunks; back->chunk += back->workers) {
        int64_t round = att_min_i64(chunks - back->chunk, back->workers);
        run_chunk_round(back, round, tiles);
        for (int64_t worker = 0; worker < round; worker++) {
            att_backward_buffers buffers = worker_buffers(back, worker);
            att_bias_grad_flush(back, &head, &buffers);
        }
    }
}

static void backward(att_backward_pass *back)
{
    if (!back->by_chunk) {
        att_parallel_for(back->workers, 1, run_heads, back);
        return;
    }
    for (back->sequence = 0; back->sequence < back->fused.sequences; back->sequence++)
        for (back->g = 0; back->g < back->fused.problem->G; back->g++)
            run_chunks(back);
}

size_t att_fused_backward_workspace(const att_problem *problem)
{
    att_backward_pass back;
    start(&back, problem, NULL);
    size_t heads = plan(&back, false);
    return att_max_size(heads, plan(&back, true));
}

static att_status run(const att_problem *problem, const att_attention_outputs *forward,
                      const att_tensor *output_grad, const att_attention_grads *grads,
                      void *workspace, att_error *err)
{
    att_backward_pass back;
    void *own;
    start(&back, problem, grads);
    void *room = att_workspace_get(workspace, plan(&back, splits_by_chunk(&back)), &own);
    if (!room)
        return att_fail_memory(err);
    back.buffers = room;
    back.output = forward->output;
    back.log_sum_exp = forward->log_sum_exp;
    back.output_grad = output_grad;
    att_status status = att_fused_init_block_list(&back.fused, err);
    if (status == ATT_OK)
        backward(&back);
    att_fused_free(&back.fused);
    att_free(own);
    return status;
}

/* Where the results of the forward are not given: computes them first. */
static att_status run_forward_then_backward(const att_problem *p, const att_tensor *output_grad,
                                            const att_attention_grads *grads, void *workspace,
                                            att_error *err)
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
    if (!given || !att_outputs_are_float32(forward))
        return run_forward_then_backward(problem, output_grad, grads, workspace, err);
    return run(problem, forward, output_grad, grads, workspace, err);
}
