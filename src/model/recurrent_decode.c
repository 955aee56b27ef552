/* Decoding with the recurrent family: the walk of recurrent_walk.c one step at a time. Between the
 * steps the tape forgets, and this keeps: what the encoder said of each source, and where each row
 * is. */
#include "model/recurrent.h"

#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <string.h>

/* Rows of floats. */
typedef struct kept {
    float *data;
    size_t capacity;
    int64_t width; /* 0: nothing is kept */
} kept;

typedef struct stepper {
    int64_t sources; /* B */
    int64_t length;  /* S */
    int64_t rows;    /* of the step before; the sources before the first */
    int64_t position;
    kept values, keys, last; /* of each source */
    int64_t *source_lengths; /* [sources] */
    int64_t *source_of;      /* [rows] */
    int64_t *before;         /* [rows] source_of of the step before */
    size_t room;             /* of the three */

    kept state[ATT_MOST_LAYERS], readout, covered; /* of each row */
} stepper;

static bool keep(kept *into, const att_node *node)
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

/* A leaf of the given shape whose row r is row from[r] of what was kept; NULL where nothing was. */
static att_node *bring_back(att_tape *tape, const kept *from, const int64_t *which, int rank,
                            const int64_t *shape)
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

att_status att_recurrent_open(att_decoder *decoder, att_error *err)
{
    decoder->state = att_alloc_zero(1, sizeof(stepper));
    return decoder->state ? ATT_OK : att_fail_memory(err);
}

void att_recurrent_close(att_decoder *decoder)
{
    stepper *s = decoder->state;
    if (!s)
        return;
    kept *const all[] = { &s->values, &s->keys, &s->last, &s->readout, &s->covered };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        att_free(all[i]->data);
    for (int i = 0; i < ATT_MOST_LAYERS; i++)
        att_free(s->state[i].data);
    att_free(s->source_lengths);
    att_free(s->source_of);
    att_free(s->before);
    att_free(s);
    decoder->state = NULL;
}

/* Room for so many rows in each of the three lists of numbers. */
static att_status make_room(stepper *s, int64_t rows, att_error *err)
{
    if ((size_t)rows <= s->room)
        return ATT_OK;
    int64_t **const lists[] = { &s->source_lengths, &s->source_of, &s->before };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        int64_t *bigger =
            att_realloc(*lists[i], s->room * sizeof **lists[i], (size_t)rows, sizeof **lists[i]);
        if (!bigger)
            return att_fail_memory(err);
        *lists[i] = bigger;
    }
    s->room = (size_t)rows;
    return ATT_OK;
}

/* Takes along what the next step needs of this one. */
static att_status keep_rows(stepper *s, const att_walk *walk, att_error *err)
{
    bool ok = keep(&s->readout, walk->readout) && keep(&s->covered, walk->covered);
    for (int i = 0; i < walk->parts->layers; i++)
        ok = ok && keep(&s->state[i], walk->state[i]);
    s->rows = walk->rows;
    s->position = walk->position;
    return ok ? ATT_OK : att_fail_memory(err);
}

att_status att_recurrent_start(att_decoder *decoder, const att_sources *sources, att_error *err)
{
    stepper *s = decoder->state;
    ATT_TRY(make_room(s, sources->rows, err));
    att_walk walk = { .parts = decoder->model->parts, .tape = decoder->tape };
    walk.parts->read(&walk, sources);
    ATT_TRY(att_tape_status(decoder->tape, err));
    s->sources = sources->rows;
    s->length = sources->length;
    for (int64_t r = 0; r < sources->rows; r++) {
        s->source_lengths[r] = sources->lengths ? sources->lengths[r] : 0;
        s->source_of[r] = r;
    }
    bool scored = walk.parts->scored, apart = walk.memory.keys != walk.memory.values;
    bool ok = keep(&s->values, scored ? walk.memory.values : NULL) &&
              keep(&s->keys, scored && apart ? walk.memory.keys : NULL) &&
              keep(&s->last, walk.last);
    return ok ? keep_rows(s, &walk, err) : att_fail_memory(err);
}

/* Which row of the step before, and which source, each row goes on from. Gives the rows' order. */
static const int64_t *follow(stepper *s, att_tape *tape, int64_t rows, const int64_t *order)
{
    int64_t *from = att_tape_take(tape, rows, sizeof *from);
    if (!from)
        return NULL;
    int64_t *swap = s->before;
    s->before = s->source_of;
    s->source_of = swap;
    for (int64_t r = 0; r < rows; r++) {
        from[r] = order ? order[r] : r;
        assert(from[r] >= 0 && from[r] < s->rows);
        s->source_of[r] = s->before[from[r]];
    }
    return from;
}

/* What was read of the sources, lent: rows of one source share it. */
static att_memory lend_memory(const stepper *s, att_tape *tape, int64_t rows)
{
    if (s->values.width == 0)
        return (att_memory){ 0 };
    const int64_t shape[] = { s->sources, s->length, s->values.width / s->length };
    att_node *values = att_tape_lend(tape, 3, shape, s->values.data);
    att_node *keys = s->keys.width > 0 ? att_tape_lend(tape, 3, shape, s->keys.data) : values;
    return (att_memory){ .values = values,
                         .keys = keys,
                         .lengths = s->source_lengths,
                         .seats = att_seats_make(tape, s->sources, rows, s->source_of) };
}

/* A walk that stands where the rows `from` of the step before stood. */
static void bring_walk(att_walk *walk, const stepper *s, const int64_t *from)
{
    const att_recurrent_parts *parts = walk->parts;
    att_tape *tape = walk->tape;
    int64_t rows = walk->rows;
    walk->memory = lend_memory(s, tape, rows);
    walk->last = bring_back(tape, &s->last, s->source_of, 2, (int64_t[]){ rows, parts->width });
    for (int i = 0; i < parts->layers; i++)
        walk->state[i] =
            bring_back(tape, &s->state[i], from, 2, (int64_t[]){ rows, s->state[i].width });
    walk->readout =
        bring_back(tape, &s->readout, from, 3, (int64_t[]){ rows, 1, parts->readout_width });
    walk->covered = bring_back(tape, &s->covered, from, 2, (int64_t[]){ rows, s->length });
    walk->position = s->position;
}

att_status att_recurrent_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                              const int64_t *order, att_decoded *out, att_error *err)
{
    stepper *s = decoder->state;
    ATT_TRY(make_room(s, rows, err));
    att_walk walk = { .parts = decoder->model->parts,
                      .tape = decoder->tape,
                      .rows = rows,
                      .want_weights = decoder->want_weights };
    const int64_t *from = follow(s, decoder->tape, rows, order);
    if (from)
        bring_walk(&walk, s, from);
    att_node *readout = att_walk_on(&walk, tokens, 1);
    const att_node *scores = att_walk_scores(&walk, readout, walk.position - 1);
    out->log_probs = att_log_probs_of(decoder->tape, scores);
    out->weights = walk.want_weights && walk.weights ? walk.weights->value : NULL;
    out->maps = out->heads = 1;
    ATT_TRY(att_tape_status(decoder->tape, err));
    return keep_rows(s, &walk, err);
}
