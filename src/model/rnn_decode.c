/* Step-wise decoding with an RNN: the forward pass of rnn_forward.c one step at a time. Kept
 * between steps: the encoder output of each source, and the decoder state of each row. */
#include "model/rnn.h"

#include "base/alloc.h"
#include "base/error.h"
#include "model/copying.h"
#include "model/layer_check.h"

#include <assert.h>
#include <string.h>

/* Rows of floats copied from a node. */
typedef struct saved_rows {
    float *data;
    size_t capacity;
    int64_t width; /* 0: nothing is saved */
} saved_rows;

typedef struct rnn_decoder_state {
    int64_t sources; /* B */
    int64_t length;  /* S */
    int64_t rows;    /* of the step before; the sources before the first */
    int64_t position;
    saved_rows values, keys, encoder_final_state; /* of each source */
    int64_t *source_lengths;                      /* [sources] */
    int64_t *source_of;                           /* [rows] */
    int64_t *previous_source_of;                  /* [rows] source_of of the step before */
    size_t row_capacity;                          /* of the three */

    saved_rows state[ATT_MAX_RNN_LAYERS], readout, coverage; /* of each row */
} rnn_decoder_state;

static bool save_node(saved_rows *into, const att_node *node)
{
    into->width = 0;
    if (!node)
        return true;
    size_t count = (size_t)node->count;
    if (count > into->capacity) {
        float *bigger = att_alloc(count, sizeof *bigger);
        if (!bigger)
            return false;
        att_free(into->data);
        into->data = bigger;
        into->capacity = count;
    }
    memcpy(into->data, node->value, count * sizeof *into->data);
    into->width = node->shape[0] > 0 ? node->count / node->shape[0] : 0;
    return true;
}

/* A leaf of the given shape whose row r is saved row which[r]; NULL where nothing was saved. */
static att_node *restore_node(att_tape *tape, const saved_rows *from, const int64_t *which,
                              int rank, const int64_t *shape)
{
    if (from->width == 0)
        return NULL;
    att_node *leaf = att_tape_input(tape, rank, shape, NULL);
    size_t width = (size_t)from->width;
    for (int64_t r = 0; leaf && r < shape[0]; r++)
        memcpy(leaf->value + (size_t)r * width, from->data + (size_t)which[r] * width,
               width * sizeof *leaf->value);
    return leaf;
}

att_status att_rnn_decoder_open(att_decoder *decoder, att_error *err)
{
    decoder->state = att_alloc_zero(1, sizeof(rnn_decoder_state));
    return decoder->state ? ATT_OK : att_fail_memory(err);
}

void att_rnn_decoder_close(att_decoder *decoder)
{
    rnn_decoder_state *s = decoder->state;
    if (!s)
        return;
    saved_rows *const all[] = { &s->values, &s->keys, &s->encoder_final_state, &s->readout,
                                &s->coverage };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        att_free(all[i]->data);
    for (int i = 0; i < ATT_MAX_RNN_LAYERS; i++)
        att_free(s->state[i].data);
    att_free(s->source_lengths);
    att_free(s->source_of);
    att_free(s->previous_source_of);
    att_free(s);
    decoder->state = NULL;
}

/* Grows the three arrays of rows. */
static att_status reserve_rows(rnn_decoder_state *s, int64_t rows, att_error *err)
{
    if ((size_t)rows <= s->row_capacity)
        return ATT_OK;
    int64_t **const lists[] = { &s->source_lengths, &s->source_of, &s->previous_source_of };
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

/* Saves the state that the next step needs. */
static att_status save_rows(rnn_decoder_state *s, const att_rnn_decoder *pass, att_error *err)
{
    bool ok = save_node(&s->readout, pass->readout) && save_node(&s->coverage, pass->coverage);
    for (int i = 0; i < pass->network->layers; i++)
        ok = ok && save_node(&s->state[i], pass->state[i]);
    s->rows = pass->rows;
    s->position = pass->position;
    return ok ? ATT_OK : att_fail_memory(err);
}

att_status att_rnn_decoder_start(att_decoder *decoder, const att_sources *sources, att_error *err)
{
    rnn_decoder_state *s = decoder->state;
    ATT_TRY(reserve_rows(s, sources->rows, err));
    att_rnn_decoder pass = { .network = decoder->model->network, .tape = decoder->tape };
    pass.network->encode(&pass, sources);
    ATT_TRY(att_tape_status(decoder->tape, err));
    ATT_TRY(att_layer_check_encoded(decoder->tape, sources, err));
    s->sources = sources->rows;
    s->length = sources->length;
    for (int64_t r = 0; r < sources->rows; r++) {
        s->source_lengths[r] = sources->lengths ? sources->lengths[r] : 0;
        s->source_of[r] = r;
    }
    bool scored = pass.network->has_attention, apart = pass.memory.keys != pass.memory.values;
    bool ok = save_node(&s->values, scored ? pass.memory.values : NULL) &&
              save_node(&s->keys, scored && apart ? pass.memory.keys : NULL) &&
              save_node(&s->encoder_final_state, pass.encoder_final_state);
    return ok ? save_rows(s, &pass, err) : att_fail_memory(err);
}

/* Updates the source of each row. Returns the row of the step before that each row continues. */
static const int64_t *reorder_rows(rnn_decoder_state *s, att_tape *tape, int64_t rows,
                                   const int64_t *order)
{
    int64_t *from = att_tape_alloc(tape, rows, sizeof *from);
    if (!from)
        return NULL;
    int64_t *swap = s->previous_source_of;
    s->previous_source_of = s->source_of;
    s->source_of = swap;
    for (int64_t r = 0; r < rows; r++) {
        from[r] = order ? order[r] : r;
        assert(from[r] >= 0 && from[r] < s->rows);
        s->source_of[r] = s->previous_source_of[from[r]];
    }
    return from;
}

/* The encoder output as a view; rows of one source share it. */
static att_memory restore_memory(const rnn_decoder_state *s, att_tape *tape, int64_t rows)
{
    if (s->values.width == 0)
        return (att_memory){ 0 };
    const int64_t shape[] = { s->sources, s->length, s->values.width / s->length };
    att_node *values = att_tape_input_view(tape, 3, shape, s->values.data);
    att_node *keys = s->keys.width > 0 ? att_tape_input_view(tape, 3, shape, s->keys.data) : values;
    const att_rows_by_source *grouped =
        att_rows_by_source_make(tape, s->sources, rows, s->source_of);
    bool identity = !grouped || att_rows_by_source_is_identity(grouped);
    return (att_memory){ .values = values,
                         .keys = keys,
                         .lengths = s->source_lengths,
                         .rows_by_source = identity ? NULL : grouped };
}

/* A decoder in the state of the rows `from` of the step before. */
static void restore_decoder(att_rnn_decoder *pass, const rnn_decoder_state *s, const int64_t *from)
{
    const att_rnn_network *parts = pass->network;
    att_tape *tape = pass->tape;
    int64_t rows = pass->rows;
    pass->memory = restore_memory(s, tape, rows);
    pass->encoder_final_state = restore_node(tape, &s->encoder_final_state, s->source_of, 2,
                                             (int64_t[]){ rows, parts->hidden_size });
    for (int i = 0; i < parts->layers; i++)
        pass->state[i] =
            restore_node(tape, &s->state[i], from, 2, (int64_t[]){ rows, s->state[i].width });
    pass->readout =
        restore_node(tape, &s->readout, from, 3, (int64_t[]){ rows, 1, parts->readout_size });
    pass->coverage = restore_node(tape, &s->coverage, from, 2, (int64_t[]){ rows, s->length });
    pass->position = s->position;
}

static void set_log_probs(att_decoder *decoder, const att_rnn_decoder *pass, att_node *readout,
                          att_decoder_output *out)
{
    const rnn_decoder_state *s = decoder->state;
    if (decoder->candidates.candidates) {
        const att_output_weights weights = att_rnn_output_weights(pass->network);
        out->log_probs = att_candidate_log_probs(&decoder->candidates, decoder->tape, readout,
                                                 &weights, s->source_of);
        return;
    }
    att_node *scores = att_rnn_decoder_logits(pass, readout, pass->position - 1);
    if (pass->network->copy.enabled) {
        const att_copy_inputs in = att_rnn_decoder_copy_inputs(pass, scores, readout);
        att_copy_output(decoder->tape, &in, &decoder->copy, s->source_of, out);
    } else {
        out->log_probs = att_log_softmax(decoder->tape, scores);
    }
}

att_status att_rnn_decoder_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                                const int64_t *order, att_decoder_output *out, att_error *err)
{
    rnn_decoder_state *s = decoder->state;
    ATT_TRY(reserve_rows(s, rows, err));
    att_rnn_decoder pass = { .network = decoder->model->network,
                             .tape = decoder->tape,
                             .rows = rows,
                             .want_attention = decoder->want_attention };
    const int64_t *from = reorder_rows(s, decoder->tape, rows, order);
    if (from)
        restore_decoder(&pass, s, from);
    set_log_probs(decoder, &pass, att_rnn_decoder_run(&pass, tokens, 1), out);
    out->attention = pass.want_attention && pass.attention ? pass.attention->value : NULL;
    out->attention_maps = out->heads = 1;
    ATT_TRY(att_tape_status(decoder->tape, err));
    out->hidden = pass.hidden->value;
    out->hidden_size = pass.network->hidden_size;
    return save_rows(s, &pass, err);
}
