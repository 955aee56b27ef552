/* Decoding with the Transformer: the decoder's run one token at a time. Between the steps the tape
 * forgets, and this keeps: keys and values of the sources, worked out once and shared by all rows
 * of a source, and pages of those of the tokens before.
 *
 * A model of texts sees so many tokens at a time, and a text may be longer. When its context is
 * full, the rows begin anew with the last half of what they have seen: so a token costs no more
 * than two, however long the text, and stands where the model has learned to see it. */
#include "model/output.h"
#include "model/transformer.h"

#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <string.h>

typedef struct stepper {
    att_pages *pages;
    int64_t sources, length; /* B, S */
    int64_t rows;            /* of the step before; the sources before the first */

    float *memory[ATT_MOST_DEEP]; /* [tokens of all sources][kv_width] */
    size_t memory_room;           /* floats of each */
    int64_t *offsets;             /* [sources + 1] */
    size_t offset_room;
    int64_t *source_of, *before; /* [rows] of this step and the one before */
    size_t row_room;

    /* A model of texts: the tokens in the pages. */
    int32_t *seen, *seen_before; /* [rows,context] of this step and the one before */
    size_t seen_room;            /* tokens of each */
} stepper;

att_status att_transformer_open(att_decoder *decoder, att_error *err)
{
    const att_transformer_parts *parts = decoder->model->parts;
    stepper *s = decoder->state = att_alloc_zero(1, sizeof *s);
    if (!s)
        return att_fail_memory(err);
    return att_pages_new(&s->pages, parts->decoder_layers, parts->kv_width, err);
}

void att_transformer_close(att_decoder *decoder)
{
    stepper *s = decoder->state;
    if (!s)
        return;
    att_pages_free(s->pages);
    for (int i = 0; i < ATT_MOST_DEEP; i++)
        att_free(s->memory[i]);
    att_free(s->offsets);
    att_free(s->source_of);
    att_free(s->before);
    att_free(s->seen);
    att_free(s->seen_before);
    att_free(s);
    decoder->state = NULL;
}

/* ---- room */

/* An array of at least `count` items of `size`; what was in it is not kept where it grows. */
static bool renew(void *array, size_t *room, size_t count, size_t size)
{
    void **at = array;
    if (count <= *room)
        return true;
    att_free(*at);
    *at = att_alloc(count, size);
    *room = *at ? count : 0;
    return *at;
}

static att_status reserve_rows(stepper *s, int64_t rows, att_error *err)
{
    if ((size_t)rows <= s->row_room)
        return ATT_OK;
    int64_t **const lists[] = { &s->source_of, &s->before };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        int64_t *bigger = att_realloc(*lists[i], s->row_room * sizeof **lists[i], (size_t)rows,
                                      sizeof **lists[i]);
        if (!bigger)
            return att_fail_memory(err);
        *lists[i] = bigger;
    }
    s->row_room = (size_t)rows;
    return ATT_OK;
}

/* ---- the sources */

static att_status keep_memory(stepper *s, const att_run *run, att_error *err)
{
    size_t tokens = (size_t)run->source_offsets[run->sources];
    size_t floats = tokens * (size_t)run->parts->kv_width, room = s->memory_room;
    for (int i = 0; i < run->parts->decoder_layers; i++) {
        room = s->memory_room;
        if (!renew(&s->memory[i], &room, floats, sizeof(float))) {
            s->memory_room = 0;
            return att_fail_memory(err);
        }
        memcpy(s->memory[i], run->memory[i]->value, floats * sizeof(float));
    }
    s->memory_room = room;
    if (!renew(&s->offsets, &s->offset_room, (size_t)run->sources + 1, sizeof *s->offsets))
        return att_fail_memory(err);
    memcpy(s->offsets, run->source_offsets, ((size_t)run->sources + 1) * sizeof *s->offsets);
    return ATT_OK;
}

static att_status read_sources(att_decoder *decoder, const att_sources *sources, att_error *err)
{
    att_run run = { .parts = decoder->model->parts, .tape = decoder->tape };
    run.parts->read(&run, sources);
    ATT_TRY(att_tape_status(decoder->tape, err));
    return keep_memory(decoder->state, &run, err);
}

att_status att_transformer_start(att_decoder *decoder, const att_sources *sources, att_error *err)
{
    stepper *s = decoder->state;
    const att_transformer_parts *parts = decoder->model->parts;
    ATT_TRY(reserve_rows(s, sources->rows, err));
    if (parts->reads)
        ATT_TRY(read_sources(decoder, sources, err));
    s->sources = s->rows = sources->rows;
    s->length = sources->length;
    for (int64_t r = 0; r < sources->rows; r++)
        s->source_of[r] = r;
    return att_pages_start(s->pages, sources->rows, err);
}

/* ---- rows and their sources */

/* Which source each row belongs to now. */
static void follow(stepper *s, int64_t rows, const int64_t *order)
{
    int64_t *swap = s->before;
    s->before = s->source_of;
    s->source_of = swap;
    for (int64_t r = 0; r < rows; r++) {
        int64_t from = order ? order[r] : r;
        assert(from >= 0 && from < s->rows);
        s->source_of[r] = s->before[from];
    }
}

/* Counts the rows of each source; where rows are not in the order of their sources, says how to
 * bring them into it. So the rows of a source are the queries of one attention to it. */
static void sort_rows(const stepper *s, att_run *run)
{
    int64_t *ends = att_tape_take(run->tape, s->sources + 1, sizeof *ends);
    int32_t *by_source = att_tape_take(run->tape, s->rows, sizeof *by_source);
    int32_t *back = att_tape_take(run->tape, s->rows, sizeof *back);
    if (!back)
        return;
    memset(ends, 0, ((size_t)s->sources + 1) * sizeof *ends);
    for (int64_t r = 0; r < s->rows; r++)
        ends[s->source_of[r] + 1]++;
    for (int64_t i = 0; i < s->sources; i++)
        ends[i + 1] += ends[i];
    bool sorted = true;
    for (int64_t r = 0; r < s->rows; r++) { /* ends[i] goes from the start of i to its end */
        int64_t place = ends[s->source_of[r]]++;
        by_source[place] = (int32_t)r;
        back[r] = (int32_t)place;
        sorted = sorted && place == r;
    }
    memmove(ends + 1, ends, (size_t)s->sources * sizeof *ends);
    ends[0] = 0;
    run->query_offsets = ends;
    run->by_source = sorted ? NULL : by_source;
    run->back = sorted ? NULL : back;
}

/* One token a row, all at the same position. */
static const att_stretch *stretch_of(att_tape *tape, int64_t rows, const int32_t *tokens,
                                     int64_t position)
{
    att_stretch *out = att_tape_take(tape, 1, sizeof *out);
    int64_t *offsets = att_tape_take(tape, rows + 1, sizeof *offsets);
    int32_t *positions = att_tape_take(tape, rows, sizeof *positions);
    if (!positions)
        return NULL;
    for (int64_t r = 0; r < rows; r++) {
        offsets[r] = r;
        positions[r] = (int32_t)position;
    }
    offsets[rows] = rows;
    *out = (att_stretch){ rows, rows, offsets, tokens, positions };
    return out;
}

/* ---- attention as it is asked for */

/* From [1,H,rows,keys of all sources] in the order of sources to [rows,maps,S]. */
static const float *weights_of(const stepper *s, const att_run *run)
{
    const att_transformer_parts *parts = run->parts;
    int64_t heads = parts->heads, maps = heads * parts->decoder_layers, S = s->length;
    int64_t keys = s->offsets[s->sources];
    float *out = att_tape_take(run->tape, s->rows * maps * S, sizeof *out);
    if (!out)
        return NULL;
    memset(out, 0, (size_t)(s->rows * maps * S) * sizeof *out);
    for (int64_t map = 0; map < maps; map++)
        for (int64_t r = 0; r < s->rows; r++) {
            const att_node *all = run->weights[map / heads];
            int64_t row = run->back ? run->back[r] : r;
            int64_t first = s->offsets[s->source_of[r]], last = s->offsets[s->source_of[r] + 1];
            if (all)
                memcpy(out + (r * maps + map) * S,
                       all->value + (map % heads * s->rows + row) * keys + first,
                       (size_t)(last - first) * sizeof *out);
        }
    return out;
}

/* ---- steps */

/* Takes one token a row through the decoder, [1,rows,D]; where each row goes on from is settled. */
static att_node *take_tokens(att_decoder *decoder, att_run *run, const int32_t *tokens)
{
    stepper *s = decoder->state;
    att_tape *tape = decoder->tape;
    int64_t position = att_pages_tokens(s->pages) - 1;
    *run = (att_run){ .parts = decoder->model->parts,
                      .tape = tape,
                      .sources = s->sources,
                      .source_offsets = s->offsets,
                      .pages = s->pages,
                      .want_weights = decoder->want_weights };
    if (run->parts->reads) {
        const int64_t shape[] = { 1, s->offsets[s->sources], run->parts->kv_width };
        sort_rows(s, run);
        for (int i = 0; i < run->parts->decoder_layers; i++)
            run->memory[i] = att_tape_lend(tape, 3, shape, s->memory[i]);
    }
    return att_transformer_decode(run, stretch_of(tape, s->rows, tokens, position));
}

static att_status reserve_seen(stepper *s, int64_t rows, int64_t context, att_error *err)
{
    size_t count = (size_t)rows * (size_t)context;
    if (count <= s->seen_room)
        return ATT_OK;
    int32_t **const lists[] = { &s->seen, &s->seen_before };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        int32_t *bigger =
            att_realloc(*lists[i], s->seen_room * sizeof **lists[i], count, sizeof **lists[i]);
        if (!bigger)
            return att_fail_memory(err);
        *lists[i] = bigger;
    }
    s->seen_room = count;
    return ATT_OK;
}

/* What each row has seen, in the order of this step's rows, which have as many tokens each. */
static void bring_seen(stepper *s, int64_t rows, const int64_t *order, int64_t context)
{
    size_t count = (size_t)att_pages_tokens(s->pages) * sizeof *s->seen;
    int32_t *swap = s->seen_before;
    s->seen_before = s->seen;
    s->seen = swap;
    for (int64_t r = 0; r < rows; r++)
        memcpy(s->seen + r * context, s->seen_before + (order ? order[r] : r) * context, count);
}

/* Begins anew with the last half of what the rows have seen. */
static att_status begin_anew(att_decoder *decoder, int64_t rows, int64_t context, att_error *err)
{
    stepper *s = decoder->state;
    int64_t kept = context / 2;
    att_run run;
    for (int64_t r = 0; r < rows; r++)
        memmove(s->seen + r * context, s->seen + (r + 1) * context - kept,
                (size_t)kept * sizeof *s->seen);
    ATT_TRY(att_pages_start(s->pages, rows, err));
    for (int64_t t = 0; t < kept; t++) {
        att_tape_begin(decoder->tape, false, 0, 0);
        int32_t *tokens = att_tape_take(decoder->tape, rows, sizeof *tokens);
        for (int64_t r = 0; tokens && r < rows; r++)
            tokens[r] = s->seen[r * context + t];
        ATT_TRY(att_pages_follow(s->pages, rows, NULL, err));
        take_tokens(decoder, &run, tokens);
        ATT_TRY(att_tape_status(decoder->tape, err));
    }
    att_tape_begin(decoder->tape, false, 0, 0);
    return ATT_OK;
}

/* A text: notes the tokens, and sees to it that there is room for them in the context. *order is
 * that of the pages from here on. */
static att_status keep_seen(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                            const int64_t **order, att_error *err)
{
    stepper *s = decoder->state;
    const att_transformer_parts *parts = decoder->model->parts;
    int64_t context = parts->context;
    ATT_TRY(reserve_seen(s, rows > s->rows ? rows : s->rows, context, err));
    bring_seen(s, rows, *order, context);
    s->rows = rows;
    if (att_pages_tokens(s->pages) == context) {
        ATT_TRY(begin_anew(decoder, rows, context, err));
        *order = NULL;
    }
    int64_t at = att_pages_tokens(s->pages);
    for (int64_t r = 0; r < rows; r++)
        s->seen[r * context + at] = tokens[r];
    return ATT_OK;
}

att_status att_transformer_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                                const int64_t *order, att_decoded *out, att_error *err)
{
    stepper *s = decoder->state;
    const att_transformer_parts *parts = decoder->model->parts;
    att_run run;
    ATT_TRY(reserve_rows(s, rows, err));
    follow(s, rows, order);
    if (parts->context > 0)
        ATT_TRY(keep_seen(decoder, rows, tokens, &order, err));
    s->rows = rows;
    ATT_TRY(att_pages_follow(s->pages, rows, order, err));
    att_node *x = take_tokens(decoder, &run, tokens);
    const att_output_inputs output = att_transformer_output(&run, x);
    out->log_probs =
        att_log_probs_of(decoder->tape, att_linear(decoder->tape, x, output.w, output.bias,
                                                   ATT_ACTIVATION_NONE, output.transposed));
    out->maps = parts->heads * parts->decoder_layers;
    out->heads = parts->heads;
    out->weights = run.want_weights && parts->reads ? weights_of(s, &run) : NULL;
    return att_tape_status(decoder->tape, err);
}
