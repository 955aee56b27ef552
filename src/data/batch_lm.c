/* Batches of a text; see chunks.h. */
#include "data/batch_lm.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "data/batch_internal.h"

/* Draws of chunks come from streams of their own, one per epoch, counted from these. */
#define OFFSET_STREAM (UINT64_C(1) << 44)
#define ORDER_STREAM  (UINT64_C(1) << 45)

typedef struct lm_batches {
    att_batches base;
    att_lm_batches_options options;
    const int32_t *ids;  /* of the text */
    int64_t targets;     /* tokens but the first */
    int64_t rows;        /* of a batch */
    int64_t offset;      /* not carried: targets in the first chunk, if that is shorter; else 0 */
    int64_t chunk_count; /* not carried: chunks of the epoch */
    int64_t *order;      /* [pieces] */
    int32_t *target_in, *target_out; /* of the batch shown */
    int64_t *lengths, *positions;
} lm_batches;

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- arranging */

/* Stream r of those carried: targets from *begin on, its length given back. Lengths differ by one
 * at most, the longer first. */
static int64_t stream_of(const lm_batches *c, int64_t r, int64_t *begin)
{
    int64_t each = c->targets / c->rows, more = c->targets % c->rows;
    *begin = r * each + min_i64(r, more);
    return each + (r < more);
}

/* Chunk i of those not carried. */
static int64_t chunk_of(const lm_batches *c, int64_t i, int64_t *begin)
{
    int64_t first = c->offset > 0 ? c->offset : c->options.sequence_length;
    *begin = i == 0 ? 0 : first + (i - 1) * c->options.sequence_length;
    return min_i64(i == 0 ? first : c->options.sequence_length, c->targets - *begin);
}

static void arrange(lm_batches *c, int64_t shift)
{
    c->offset = shift;
    if (c->options.carry_state) {
        int64_t begin, longest = stream_of(c, 0, &begin);
        c->base.count = (longest + c->options.sequence_length - 1) / c->options.sequence_length;
        return;
    }
    int64_t rest = c->targets - shift;
    c->chunk_count =
        (shift > 0) + (rest + c->options.sequence_length - 1) / c->options.sequence_length;
    for (int64_t i = 0; i < c->chunk_count; i++)
        c->order[i] = i;
    c->base.count = (c->chunk_count + c->rows - 1) / c->rows;
}

static void start_sequential(att_batches *base)
{
    arrange((lm_batches *)base, 0);
}

static void start_epoch(att_batches *base, int64_t epoch)
{
    lm_batches *c = (lm_batches *)base;
    if (c->options.carry_state) {
        arrange(c, 0);
        return;
    }
    int64_t most = min_i64(c->options.sequence_length, c->targets);
    uint64_t shift_stream = OFFSET_STREAM + (uint64_t)epoch;
    arrange(c, (int64_t)(att_random_double(c->options.seed, shift_stream, 0) * (double)most));
    for (int64_t i = c->chunk_count - 1; i > 0; i--) {
        uint64_t stream = ORDER_STREAM + (uint64_t)epoch;
        int64_t j =
            (int64_t)(att_random_double(c->options.seed, stream, (uint64_t)i) * (double)(i + 1));
        int64_t other = c->order[j];
        c->order[j] = c->order[i];
        c->order[i] = other;
    }
}

/* ---- filling */

/* Where row r of a batch begins among the targets, and how long it is: 0 for none. */
static int64_t row_of(const lm_batches *c, int64_t index, int64_t r, int64_t *begin)
{
    if (!c->options.carry_state) {
        int64_t i = index * c->rows + r;
        return i < c->chunk_count ? chunk_of(c, c->order[i], begin) : 0;
    }
    int64_t length = stream_of(c, r, begin), done = index * c->options.sequence_length;
    *begin += done;
    return min_i64(c->options.sequence_length, length - done);
}

static void fill_row(lm_batches *c, int64_t r, int64_t begin, int64_t length, int64_t width)
{
    int32_t *in = c->target_in + r * width, *out = c->target_out + r * width;
    for (int64_t t = 0; t < width; t++) {
        bool used = t < length;
        in[t] = used ? c->ids[begin + t] : ATT_ID_PAD;
        out[t] = used ? c->ids[begin + t + 1] : ATT_ID_PAD;
    }
    c->lengths[r] = length;
    c->positions[r] = begin;
}

static const att_batch *get(att_batches *base, int64_t index)
{
    lm_batches *c = (lm_batches *)base;
    int64_t begin, rows = 0, width = 0, used = 0, length;
    for (; rows < c->rows && (length = row_of(c, index, rows, &begin)) > 0; rows++)
        width = max_i64(width, length);
    for (int64_t r = 0; r < rows; r++) {
        length = row_of(c, index, r, &begin);
        fill_row(c, r, begin, length, width);
        used += length;
    }
    base->current = (att_batch){ .rows = rows,
                                 .target_length = width,
                                 .target_in = c->target_in,
                                 .target_out = c->target_out,
                                 .target_lengths = c->lengths,
                                 .pair_index = c->positions,
                                 .continues_previous = c->options.carry_state && index > 0,
                                 .target_tokens = used };
    return &base->current;
}

/* ---- life */

static void free_lm_batches(att_batches *base)
{
    lm_batches *c = (lm_batches *)base;
    att_free(c->order);
    att_free(c->target_in);
    att_free(c->target_out);
    att_free(c->lengths);
    att_free(c->positions);
    att_free(c);
}

static const att_batches_methods methods = { free_lm_batches, start_epoch, start_sequential, get };

/* As many rows as a batch has room for. A stream starts from nothing, so a short text is few: each
 * goes on for some chunks at least. */
static void choose_rows(lm_batches *c)
{
    enum { STREAM_CHUNKS = 16 };
    c->options.sequence_length = min_i64(c->options.sequence_length, c->targets);
    int64_t most = max_i64(c->options.batch_tokens / c->options.sequence_length, 1);
    int64_t least = c->options.sequence_length * (c->options.carry_state ? STREAM_CHUNKS : 1);
    c->rows = min_i64(most, max_i64(c->targets / least, 1));
    c->base.limits =
        (att_batch_limits){ .rows = c->rows,
                            .target_length = c->options.sequence_length,
                            .target_padded_tokens = c->rows * c->options.sequence_length };
}

att_status att_lm_batches_new(att_batches **out, const att_corpus *text,
                              const att_lm_batches_options *how, att_error *err)
{
    *out = NULL;
    lm_batches *c = att_alloc_zero(1, sizeof *c);
    if (!c)
        return att_fail_memory(err);
    *c = (lm_batches){ .base = { .methods = &methods },
                       .options = *how,
                       .ids = text->target.ids,
                       .targets = text->target.offsets[1] - 1 };
    choose_rows(c);
    size_t cells = (size_t)c->base.limits.target_padded_tokens, rows = (size_t)c->rows;
    c->order = att_alloc((size_t)(c->targets / c->options.sequence_length) + 2, sizeof *c->order);
    c->target_in = att_alloc(cells, sizeof *c->target_in);
    c->target_out = att_alloc(cells, sizeof *c->target_out);
    c->lengths = att_alloc(rows, sizeof *c->lengths);
    c->positions = att_alloc(rows, sizeof *c->positions);
    if (!c->order || !c->target_in || !c->target_out || !c->lengths || !c->positions) {
        free_lm_batches(&c->base);
        return att_fail_memory(err);
    }
    start_sequential(&c->base);
    *out = &c->base;
    return ATT_OK;
}
