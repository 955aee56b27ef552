/* Candidates: lists of tokens for each source, and the part of the output layer that they need. */
#include "model/candidates.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"
#include "kern/kern.h"
#include "model/log_softmax.h"
#include "nn/param_builder.h"
#include "tape/op_util.h"

#include <math.h>
#include <string.h>

/* ---- lists */

void att_candidates_clear(att_candidates *candidates)
{
    candidates->sources = 0;
    candidates->ids.count = candidates->all.count = 0;
}

void att_candidates_free(att_candidates *candidates)
{
    att_free(candidates->offsets);
    att_ids_free(&candidates->ids);
    att_free(candidates->columns);
    att_ids_free(&candidates->all);
    att_free(candidates->place);
    *candidates = (att_candidates){ 0 };
}

att_status att_candidates_add(att_candidates *candidates, const int32_t *ids, size_t count,
                              att_error *err)
{
    size_t row = (size_t)candidates->sources;
    /* Room for the end of this source, after the first 0 and the ends of the sources before. */
    if (!att_array_grow((void **)&candidates->offsets, &candidates->offset_capacity,
                        row == 0 ? 0 : row + 1, sizeof *candidates->offsets))
        return att_fail_memory(err);
    candidates->offsets[0] = 0;
    for (size_t i = 0; i < count; i++)
        if (att_ids_add(&candidates->ids, ids[i]) != ATT_OK)
            return att_fail_memory(err);
    candidates->sources++;
    candidates->offsets[candidates->sources] = (int64_t)candidates->ids.count;
    return ATT_OK;
}

static bool reserve_finish(att_candidates *c, int64_t vocabulary)
{
    if (c->place_count < vocabulary) {
        att_free(c->place);
        c->place = att_alloc((size_t)vocabulary, sizeof *c->place);
        c->place_count = c->place ? vocabulary : 0;
    }
    if (c->column_capacity < c->ids.count) {
        att_free(c->columns);
        c->columns = att_alloc(c->ids.count, sizeof *c->columns);
        c->column_capacity = c->columns ? c->ids.count : 0;
    }
    return c->place && (c->columns || c->ids.count == 0);
}

att_status att_candidates_finish(att_candidates *c, int64_t vocabulary, att_error *err)
{
    enum { ABSENT = -1, PRESENT = 0 };
    if (!reserve_finish(c, vocabulary))
        return att_fail_memory(err);
    for (int64_t i = 0; i < vocabulary; i++)
        c->place[i] = ABSENT;
    for (size_t i = 0; i < c->ids.count; i++)
        c->place[c->ids.items[i]] = PRESENT;
    for (int64_t i = 0; i < vocabulary; i++) {
        if (c->place[i] == ABSENT)
            continue;
        c->place[i] = (int32_t)c->all.count;
        if (att_ids_add(&c->all, (int32_t)i) != ATT_OK)
            return att_fail_memory(err);
    }
    for (size_t i = 0; i < c->ids.count; i++)
        c->columns[i] = c->place[c->ids.items[i]];
    return ATT_OK;
}

/* ---- the part of the output layer */

void att_candidate_layer_start(att_candidate_layer *layer, const att_candidates *candidates)
{
    layer->candidates = candidates;
    layer->gathered = false;
}

void att_candidate_layer_free(att_candidate_layer *layer)
{
    att_free(layer->panels);
    att_free(layer->int8_block);
    att_free(layer->bias);
    *layer = (att_candidate_layer){ 0 };
}

/* Grows an array of floats to at least `count`; its contents are lost when it grows. */
static bool reserve_floats(float **floats, size_t *capacity, size_t count)
{
    if (count <= *capacity)
        return true;
    att_free(*floats);
    *floats = att_alloc(count, sizeof **floats);
    *capacity = *floats ? count : 0;
    return *floats != NULL;
}

/* Copies the columns of the candidates from panels of all tokens to panels of their own; the last
 * panel is filled up with zeros. */
static void gather_panels(float *to, const float *from, const att_ids *ids, size_t depth)
{
    enum { W = ATT_PANEL_COLUMNS };
    size_t panels = (ids->count + W - 1) / W;
    for (size_t i = 0; i < panels * W; i++) {
        float *column = to + i / W * depth * W + i % W;
        size_t id = i < ids->count ? (size_t)ids->items[i] : 0;
        const float *source = from + id / W * depth * W + id % W;
        for (size_t k = 0; k < depth; k++)
            column[k * W] = i < ids->count ? source[k * W] : 0;
    }
}

/* The weights of the candidates, of floats. False where memory is out. */
static bool gather_floats(att_candidate_layer *layer, att_tape *tape, const att_node *w,
                          bool transposed, size_t depth)
{
    const att_ids *all = &layer->candidates->all;
    const float *panels = att_node_packed_weights(tape, w, transposed);
    if (!panels || !reserve_floats(&layer->panels, &layer->panel_capacity,
                                   att_matmul_packed_size(depth, all->count)))
        return false;
    gather_panels(layer->panels, panels, all, depth);
    return true;
}

/* The same of int8. */
static bool gather_int8(att_candidate_layer *layer, const att_int8_matrix *from)
{
    const att_ids *all = &layer->candidates->all;
    size_t size = att_int8_matrix_size(from->depth, all->count);
    if (size > layer->int8_capacity) {
        att_free(layer->int8_block);
        layer->int8_block = att_alloc(size, 1);
        layer->int8_capacity = layer->int8_block ? size : 0;
    }
    if (!layer->int8_block)
        return false;
    layer->int8 = att_int8_matrix_place(layer->int8_block, from->depth, all->count);
    att_int8_matrix_gather(&layer->int8, from, all->items, all->count);
    return true;
}

static bool gather(att_candidate_layer *layer, att_tape *tape, const att_output_weights *weights,
                   size_t depth)
{
    const att_ids *all = &layer->candidates->all;
    const att_node *w = att_tape_param(tape, weights->w);
    if (!w)
        return false;
    if (!(w->int8 ? gather_int8(layer, w->int8)
                  : gather_floats(layer, tape, w, weights->transposed, depth)) ||
        !reserve_floats(&layer->bias, &layer->bias_capacity, all->count)) {
        att_fail_memory(att_tape_error(tape));
        return false;
    }
    const att_node *bias =
        weights->bias == ATT_NO_PARAM ? NULL : att_tape_param(tape, weights->bias);
    for (size_t i = 0; i < all->count; i++)
        layer->bias[i] = bias ? bias->value[all->items[i]] : 0;
    return layer->gathered = true;
}

/* ---- log-probabilities */

typedef struct candidate_job {
    const att_candidates *candidates;
    const int64_t *source_of; /* [rows] */
    const float *logits;      /* [rows, all candidates] */
    float *scratch;           /* likewise */
    float *log_probs;         /* [rows, vocabulary] */
    float *log_sum_exp;       /* [rows] */
    int64_t vocabulary;
} candidate_job;

static void log_softmax_row(const candidate_job *job, int64_t row)
{
    const att_candidates *c = job->candidates;
    int64_t first = c->offsets[job->source_of[row]], end = c->offsets[job->source_of[row] + 1];
    const float *logits = job->logits + row * (int64_t)c->all.count;
    float *own = job->scratch + row * (int64_t)c->all.count;
    float *to = job->log_probs + row * job->vocabulary;
    for (int64_t i = first; i < end; i++)
        own[i - first] = logits[c->columns[i]];
    job->log_sum_exp[row] = att_kernels_get()->log_softmax(own, own, (size_t)(end - first));
    for (int64_t i = 0; i < job->vocabulary; i++)
        to[i] = -INFINITY;
    for (int64_t i = first; i < end; i++)
        to[c->ids.items[i]] = own[i - first];
}

static void log_softmax_rows(void *context, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++)
        log_softmax_row(context, row);
}

/* The logits of all candidates of the batch, [rows,count]. */
static att_node *compute_logits(const att_candidate_layer *layer, att_tape *tape, const att_node *x,
                                bool int8)
{
    int64_t rows = att_node_rows(x), count = (int64_t)layer->candidates->all.count;
    size_t depth = (size_t)att_node_last_dim(x);
    att_node *logits = att_tape_input(tape, 2, (int64_t[]){ rows, count }, NULL);
    if (logits && int8)
        return att_tape_int8_matmul(tape, &(att_int8_linear){ .b = &layer->int8,
                                                              .rows = rows,
                                                              .a = x->value,
                                                              .c = logits->value,
                                                              .bias = layer->bias })
                   ? logits
                   : NULL;
    const att_matmul_call call = { .batch = 1,
                                   .rows = (size_t)rows,
                                   .columns = (size_t)count,
                                   .depth = depth,
                                   .a = x->value,
                                   .a_row_stride = depth,
                                   .a_column_stride = 1,
                                   .panels = layer->panels,
                                   .c = logits ? logits->value : NULL,
                                   .c_row_stride = (size_t)count,
                                   .bias = layer->bias,
                                   .activation = ATT_ACTIVATION_NONE };
    return logits && att_tape_matmul(tape, &call) ? logits : NULL;
}

const float *att_candidate_log_probs(att_candidate_layer *layer, att_tape *tape, att_node *x,
                                     const att_output_weights *weights, const int64_t *source_of)
{
    enum { GRAIN = 1 << 14 }; /* log-probabilities per parallel task */
    if (!x || (!layer->gathered && !gather(layer, tape, weights, (size_t)att_node_last_dim(x))))
        return NULL;
    const att_node *w = att_tape_param(tape, weights->w);
    att_node *logits = w ? compute_logits(layer, tape, x, w->int8) : NULL;
    if (!logits)
        return NULL;
    int64_t rows = att_node_rows(x);
    candidate_job job = { .candidates = layer->candidates,
                          .source_of = source_of,
                          .logits = logits->value,
                          .vocabulary = w->shape[!weights->transposed] };
    job.scratch = att_tape_alloc(tape, logits->count, sizeof(float));
    job.log_probs = att_tape_alloc(tape, rows * job.vocabulary, sizeof(float));
    job.log_sum_exp = att_tape_alloc(tape, rows, sizeof(float));
    if (!job.scratch || !job.log_probs || !job.log_sum_exp)
        return NULL;
    att_parallel_for(rows, 1 + GRAIN / job.vocabulary, log_softmax_rows, &job);
    return att_log_softmax_check(tape, logits, job.log_sum_exp) ? job.log_probs : NULL;
}
