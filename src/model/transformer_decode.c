/* Step-wise decoding with a Transformer. Kept between steps: keys and values of the sources for
 * cross attention, computed once and shared by all rows of a source, and the KV cache of the tokens
 * so far.
 *
 * A language model has a limited context, and a text may be longer. When the context is full, the
 * rows start again with the last half of it: so a token costs at most two steps on average, however
 * long the text, and positions stay in the range that was trained. */
#include "model/copying.h"
#include "model/layer_check.h"
#include "model/log_softmax.h"
#include "model/transformer.h"
#include "nn/rows_by_source.h"

#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <string.h>

typedef struct transformer_decoder_state {
    att_kv_cache *kv_cache;
    int64_t sources, length; /* B, S */
    int64_t rows;            /* of the step before; the sources before the first */

    float *cross_kv[ATT_MAX_TRANSFORMER_LAYERS]; /* [tokens of all sources][kv_width] */
    size_t cross_kv_capacity;                    /* floats of each */
    float *copy_keys;                            /* [sources,S,D] of a model that copies */
    size_t copy_key_capacity;
    int64_t *offsets;        /* [sources + 1] */
    int64_t *source_lengths; /* [sources], with copy_keys */
    size_t offset_capacity, length_capacity;
    int64_t *source_of, *previous_source_of; /* [rows] of this step and the one before */
    size_t row_capacity;

    /* Language models: the tokens in the KV cache. */
    int32_t *context_tokens,
        *previous_context_tokens; /* [rows,context] of this step and the one before */
    size_t context_capacity;      /* tokens of each */
} transformer_decoder_state;

att_status att_transformer_open(att_decoder *decoder, att_error *err)
{
    const att_transformer_network *parts = decoder->model->network;
    transformer_decoder_state *s = decoder->state = att_alloc_zero(1, sizeof *s);
    if (!s)
        return att_fail_memory(err);
    return att_kv_cache_new(&s->kv_cache, parts->decoder_layers, parts->kv_size, err);
}

void att_transformer_close(att_decoder *decoder)
{
    transformer_decoder_state *s = decoder->state;
    if (!s)
        return;
    att_kv_cache_free(s->kv_cache);
    for (int i = 0; i < ATT_MAX_TRANSFORMER_LAYERS; i++)
        att_free(s->cross_kv[i]);
    att_free(s->copy_keys);
    att_free(s->offsets);
    att_free(s->source_lengths);
    att_free(s->source_of);
    att_free(s->previous_source_of);
    att_free(s->context_tokens);
    att_free(s->previous_context_tokens);
    att_free(s);
    decoder->state = NULL;
}

/* ---- memory */

/* Grows an array to at least `count` items of `size`; its contents are lost when it grows. */
static bool reserve_array(void *array, size_t *room, size_t count, size_t size)
{
    void **at = array;
    if (count <= *room)
        return true;
    att_free(*at);
    *at = att_alloc(count, size);
    *room = *at ? count : 0;
    return *at;
}

static att_status reserve_rows(transformer_decoder_state *s, int64_t rows, att_error *err)
{
    if ((size_t)rows <= s->row_capacity)
        return ATT_OK;
    int64_t **const lists[] = { &s->source_of, &s->previous_source_of };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        int64_t *bigger = att_realloc(*lists[i], s->row_capacity * sizeof **lists[i], (size_t)rows,
                                      sizeof **lists[i]);
        if (!bigger)
            return att_fail_memory(err);
        *lists[i] = bigger;
    }
    s->row_capacity = (size_t)rows;
    return ATT_OK;
}

/* ---- sources */

static att_status save_cross_kv(transformer_decoder_state *s, const att_transformer_pass *pass,
                                att_error *err)
{
    size_t tokens = (size_t)pass->source_offsets[pass->source_count];
    size_t floats = tokens * (size_t)pass->network->kv_size, room = s->cross_kv_capacity;
    for (int i = 0; i < pass->network->decoder_layers; i++) {
        room = s->cross_kv_capacity;
        if (!reserve_array(&s->cross_kv[i], &room, floats, sizeof(float))) {
            s->cross_kv_capacity = 0;
            return att_fail_memory(err);
        }
        memcpy(s->cross_kv[i], pass->cross_kv[i]->value, floats * sizeof(float));
    }
    s->cross_kv_capacity = room;
    if (!reserve_array(&s->offsets, &s->offset_capacity, (size_t)pass->source_count + 1,
                       sizeof *s->offsets))
        return att_fail_memory(err);
    memcpy(s->offsets, pass->source_offsets, ((size_t)pass->source_count + 1) * sizeof *s->offsets);
    return ATT_OK;
}

static att_status save_copy_keys(transformer_decoder_state *s, const att_transformer_pass *pass,
                                 att_error *err)
{
    if (!pass->copy_keys)
        return ATT_OK;
    size_t floats = (size_t)pass->copy_keys->count, sources = (size_t)pass->source_count;
    if (!reserve_array(&s->copy_keys, &s->copy_key_capacity, floats, sizeof(float)) ||
        !reserve_array(&s->source_lengths, &s->length_capacity, sources, sizeof(int64_t)))
        return att_fail_memory(err);
    memcpy(s->copy_keys, pass->copy_keys->value, floats * sizeof(float));
    memcpy(s->source_lengths, pass->source_lengths, sources * sizeof(int64_t));
    return ATT_OK;
}

static att_status encode_sources(att_decoder *decoder, const att_sources *sources, att_error *err)
{
    att_transformer_pass pass = { .network = decoder->model->network, .tape = decoder->tape };
    pass.network->encode(&pass, sources);
    ATT_TRY(att_tape_status(decoder->tape, err));
    ATT_TRY(att_layer_check_encoded(decoder->tape, sources, err));
    ATT_TRY(save_copy_keys(decoder->state, &pass, err));
    return save_cross_kv(decoder->state, &pass, err);
}

att_status att_transformer_start(att_decoder *decoder, const att_sources *sources, att_error *err)
{
    transformer_decoder_state *s = decoder->state;
    const att_transformer_network *parts = decoder->model->network;
    ATT_TRY(reserve_rows(s, sources->rows, err));
    if (parts->has_encoder)
        ATT_TRY(encode_sources(decoder, sources, err));
    s->sources = s->rows = sources->rows;
    s->length = sources->length;
    for (int64_t r = 0; r < sources->rows; r++)
        s->source_of[r] = r;
    return att_kv_cache_reset(s->kv_cache, sources->rows, err);
}

/* ---- rows and their sources */

/* Updates the source of each row. */
static void reorder_rows(transformer_decoder_state *s, int64_t rows, const int64_t *order)
{
    int64_t *swap = s->previous_source_of;
    s->previous_source_of = s->source_of;
    s->source_of = swap;
    for (int64_t r = 0; r < rows; r++) {
        int64_t from = order ? order[r] : r;
        assert(from >= 0 && from < s->rows);
        s->source_of[r] = s->previous_source_of[from];
    }
}

/* Groups the rows by source: the rows of a source are the queries of one cross attention. */
static void group_rows_by_source(const transformer_decoder_state *s, att_transformer_pass *pass)
{
    const att_rows_by_source *grouped =
        att_rows_by_source_make(pass->tape, s->sources, s->rows, s->source_of);
    if (!grouped)
        return;
    pass->grouped_rows = grouped;
    pass->query_offsets = grouped->offsets;
    pass->row_order = grouped->in_order ? NULL : grouped->order;
    pass->row_restore = grouped->in_order ? NULL : grouped->place;
}

/* One token per row, all at the same position. */
static const att_packed_sequences *pack_single_tokens(att_tape *tape, int64_t rows,
                                                      const int32_t *tokens, int64_t position)
{
    att_packed_sequences *out = att_tape_alloc(tape, 1, sizeof *out);
    int64_t *offsets = att_tape_alloc(tape, rows + 1, sizeof *offsets);
    int32_t *positions = att_tape_alloc(tape, rows, sizeof *positions);
    if (!positions)
        return NULL;
    for (int64_t r = 0; r < rows; r++) {
        offsets[r] = r;
        positions[r] = (int32_t)position;
    }
    offsets[rows] = rows;
    *out = (att_packed_sequences){ rows, rows, offsets, tokens, positions };
    return out;
}

/* ---- attention weights */

/* Copies weights from [1,H,rows,keys of all sources], grouped by source, to [rows,maps,S]. */
static const float *copy_attention(const transformer_decoder_state *s,
                                   const att_transformer_pass *pass)
{
    const att_transformer_network *parts = pass->network;
    int64_t heads = parts->heads, maps = heads * parts->decoder_layers, S = s->length;
    int64_t keys = s->offsets[s->sources];
    float *out = att_tape_alloc(pass->tape, s->rows * maps * S, sizeof *out);
    if (!out)
        return NULL;
    memset(out, 0, (size_t)(s->rows * maps * S) * sizeof *out);
    for (int64_t map = 0; map < maps; map++)
        for (int64_t r = 0; r < s->rows; r++) {
            const att_node *all = pass->cross_attention[map / heads];
            int64_t row = pass->row_restore ? pass->row_restore[r] : r;
            int64_t first = s->offsets[s->source_of[r]], last = s->offsets[s->source_of[r] + 1];
            if (all)
                memcpy(out + (r * maps + map) * S,
                       all->value + (map % heads * s->rows + row) * keys + first,
                       (size_t)(last - first) * sizeof *out);
        }
    return out;
}

/* ---- steps */

/* Runs the decoder on one token per row, [1,rows,D]; the KV cache has been advanced. */
static att_node *run_tokens(att_decoder *decoder, att_transformer_pass *pass, const int32_t *tokens)
{
    transformer_decoder_state *s = decoder->state;
    att_tape *tape = decoder->tape;
    int64_t position = att_kv_cache_tokens(s->kv_cache) - 1;
    *pass = (att_transformer_pass){ .network = decoder->model->network,
                                    .tape = tape,
                                    .source_count = s->sources,
                                    .source_offsets = s->offsets,
                                    .kv_cache = s->kv_cache,
                                    .want_attention = decoder->want_attention };
    if (pass->network->has_encoder) {
        const int64_t shape[] = { 1, s->offsets[s->sources], pass->network->kv_size };
        group_rows_by_source(s, pass);
        for (int i = 0; i < pass->network->decoder_layers; i++)
            pass->cross_kv[i] = att_tape_input_view(tape, 3, shape, s->cross_kv[i]);
        if (pass->network->copy.enabled) {
            const int64_t padded[] = { s->sources, s->length, pass->network->hidden_size };
            pass->copy_keys = att_tape_input_view(tape, 3, padded, s->copy_keys);
            pass->source_lengths = s->source_lengths;
        }
    }
    return att_transformer_decode(pass, pack_single_tokens(tape, s->rows, tokens, position));
}

static att_status reserve_context(transformer_decoder_state *s, int64_t rows, int64_t context,
                                  att_error *err)
{
    size_t count = (size_t)rows * (size_t)context;
    if (count <= s->context_capacity)
        return ATT_OK;
    int32_t **const lists[] = { &s->context_tokens, &s->previous_context_tokens };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        int32_t *bigger = att_realloc(*lists[i], s->context_capacity * sizeof **lists[i], count,
                                      sizeof **lists[i]);
        if (!bigger)
            return att_fail_memory(err);
        *lists[i] = bigger;
    }
    s->context_capacity = count;
    return ATT_OK;
}

/* Brings the context tokens into the order of the rows of this step. */
static void reorder_context(transformer_decoder_state *s, int64_t rows, const int64_t *order,
                            int64_t context)
{
    size_t count = (size_t)att_kv_cache_tokens(s->kv_cache) * sizeof *s->context_tokens;
    int32_t *swap = s->previous_context_tokens;
    s->previous_context_tokens = s->context_tokens;
    s->context_tokens = swap;
    for (int64_t r = 0; r < rows; r++)
        memcpy(s->context_tokens + r * context,
               s->previous_context_tokens + (order ? order[r] : r) * context, count);
}

/* Context shift: starts again with the last half of the context. */
static att_status shift_context(att_decoder *decoder, int64_t rows, int64_t context, att_error *err)
{
    transformer_decoder_state *s = decoder->state;
    int64_t kept = context / 2;
    att_transformer_pass pass;
    for (int64_t r = 0; r < rows; r++)
        memmove(s->context_tokens + r * context, s->context_tokens + (r + 1) * context - kept,
                (size_t)kept * sizeof *s->context_tokens);
    ATT_TRY(att_kv_cache_reset(s->kv_cache, rows, err));
    for (int64_t t = 0; t < kept; t++) {
        att_tape_begin(decoder->tape, false, 0, 0);
        int32_t *tokens = att_tape_alloc(decoder->tape, rows, sizeof *tokens);
        for (int64_t r = 0; tokens && r < rows; r++)
            tokens[r] = s->context_tokens[r * context + t];
        ATT_TRY(att_kv_cache_advance(s->kv_cache, rows, NULL, err));
        run_tokens(decoder, &pass, tokens);
        ATT_TRY(att_tape_status(decoder->tape, err));
    }
    att_tape_begin(decoder->tape, false, 0, 0);
    return ATT_OK;
}

/* Language models: appends the tokens to the context, shifting it when it is full. *order is then
 * the order for the KV cache. */
static att_status append_context(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                                 const int64_t **order, att_error *err)
{
    transformer_decoder_state *s = decoder->state;
    const att_transformer_network *parts = decoder->model->network;
    int64_t context = parts->context_length;
    ATT_TRY(reserve_context(s, rows > s->rows ? rows : s->rows, context, err));
    reorder_context(s, rows, *order, context);
    s->rows = rows;
    if (att_kv_cache_tokens(s->kv_cache) == context) {
        ATT_TRY(shift_context(decoder, rows, context, err));
        *order = NULL;
    }
    int64_t at = att_kv_cache_tokens(s->kv_cache);
    for (int64_t r = 0; r < rows; r++)
        s->context_tokens[r * context + at] = tokens[r];
    return ATT_OK;
}

static void set_log_probs(att_decoder *decoder, const att_transformer_pass *pass, att_node *x,
                          att_decoder_output *out)
{
    const transformer_decoder_state *s = decoder->state;
    att_tape *tape = decoder->tape;
    if (pass->network->copy.enabled) {
        const att_copy_inputs in = att_transformer_copy_inputs(pass, x, NULL, pass->grouped_rows);
        att_copy_output(tape, &in, &decoder->copy, s->source_of, out);
        return;
    }
    if (decoder->candidates.candidates) {
        const att_output_weights weights = att_transformer_output_weights(pass->network);
        out->log_probs =
            att_candidate_log_probs(&decoder->candidates, tape, x, &weights, s->source_of);
        return;
    }
    const att_linear_cross_entropy_inputs output = att_transformer_output(pass, x);
    out->log_probs = att_log_softmax(
        tape, att_linear(tape, x, output.w, output.bias, ATT_ACTIVATION_NONE, output.transposed));
}

att_status att_transformer_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                                const int64_t *order, att_decoder_output *out, att_error *err)
{
    transformer_decoder_state *s = decoder->state;
    const att_transformer_network *parts = decoder->model->network;
    att_transformer_pass pass;
    ATT_TRY(reserve_rows(s, rows, err));
    reorder_rows(s, rows, order);
    if (parts->context_length > 0)
        ATT_TRY(append_context(decoder, rows, tokens, &order, err));
    s->rows = rows;
    ATT_TRY(att_kv_cache_advance(s->kv_cache, rows, order, err));
    att_node *x = run_tokens(decoder, &pass, tokens);
    set_log_probs(decoder, &pass, x, out);
    out->attention_maps = parts->heads * parts->decoder_layers;
    out->heads = parts->heads;
    out->attention = pass.want_attention && parts->has_encoder ? copy_attention(s, &pass) : NULL;
    ATT_TRY(att_tape_status(decoder->tape, err));
    out->hidden = x->value;
    out->hidden_size = parts->hidden_size;
    return ATT_OK;
}
