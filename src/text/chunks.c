/* Batches of a text; see chunks.h. */
#include "text/chunks.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "text/batch_way.h"

/* Draws of chunks come from streams of their own, one per epoch, counted from these. */
#define SHIFT_STREAM (UINT64_C(1) << 44)
#define ORDER_STREAM (UINT64_C(1) << 45)

typedef struct chunks {
    att_batches base;
    att_chunking how;
    const int32_t *ids; /* of the text */
    int64_t targets;    /* tokens but the first */
    int64_t rows;       /* of a batch */
    int64_t shift;      /* not carried: targets in the first chunk, if that is shorter; else 0 */
    int64_t pieces;     /* not carried: chunks of the epoch */
    int64_t *order;     /* [pieces] */
    int32_t *target_in, *target_out; /* of the batch shown */
    int64_t *lengths, *place;
} chunks;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- arranging */

/* Stream r of those carried: targets from *begin on, its length given back. Lengths differ by one
 * at most, the longer first. */
static int64_t stream_of(const chunks *c, int64_t r, int64_t *begin)
{
    int64_t each = c->targets / c->rows, more = c->targets % c->rows;
    *begin = r * each + smaller(r, more);
    return each + (r < more);
}

/* Chunk i of those not carried. */
static int64_t piece_of(const chunks *c, int64_t i, int64_t *begin)
{
    int64_t first = c->shift > 0 ? c->shift : c->how.chunk;
    *begin = i == 0 ? 0 : first + (i - 1) * c->how.chunk;
    return smaller(i == 0 ? first : c->how.chunk, c->targets - *begin);
}

static void arrange(chunks *c, int64_t shift)
{
    c->shift = shift;
    if (c->how.carried) {
        int64_t begin, longest = stream_of(c, 0, &begin);
        c->base.count = (longest + c->how.chunk - 1) / c->how.chunk;
        return;
    }
    int64_t rest = c->targets - shift;
    c->pieces = (shift > 0) + (rest + c->how.chunk - 1) / c->how.chunk;
    for (int64_t i = 0; i < c->pieces; i++)
        c->order[i] = i;
    c->base.count = (c->pieces + c->rows - 1) / c->rows;
}

static void in_order(att_batches *base)
{
    arrange((chunks *)base, 0);
}

static void start(att_batches *base, int64_t epoch)
{
    chunks *c = (chunks *)base;
    if (c->how.carried) {
        arrange(c, 0);
        return;
    }
    int64_t most = smaller(c->how.chunk, c->targets);
    uint64_t shift_stream = SHIFT_STREAM + (uint64_t)epoch;
    arrange(c, (int64_t)(att_random_double(c->how.seed, shift_stream, 0) * (double)most));
    for (int64_t i = c->pieces - 1; i > 0; i--) {
        uint64_t stream = ORDER_STREAM + (uint64_t)epoch;
        int64_t j =
            (int64_t)(att_random_double(c->how.seed, stream, (uint64_t)i) * (double)(i + 1));
        int64_t other = c->order[j];
        c->order[j] = c->order[i];
        c->order[i] = other;
    }
}

/* ---- filling */

/* Where row r of a batch begins among the targets, and how long it is: 0 for none. */
static int64_t row_of(const chunks *c, int64_t index, int64_t r, int64_t *begin)
{
    if (!c->how.carried) {
        int64_t i = index * c->rows + r;
        return i < c->pieces ? piece_of(c, c->order[i], begin) : 0;
    }
    int64_t length = stream_of(c, r, begin), done = index * c->how.chunk;
    *begin += done;
    return smaller(c->how.chunk, length - done);
}

static void fill_row(chunks *c, int64_t r, int64_t begin, int64_t length, int64_t width)
{
    int32_t *in = c->target_in + r * width, *out = c->target_out + r * width;
    for (int64_t t = 0; t < width; t++) {
        bool used = t < length;
        in[t] = used ? c->ids[begin + t] : ATT_ID_NONE;
        out[t] = used ? c->ids[begin + t + 1] : ATT_ID_NONE;
    }
    c->lengths[r] = length;
    c->place[r] = begin;
}

static const att_batch *get(att_batches *base, int64_t index)
{
    chunks *c = (chunks *)base;
    int64_t begin, rows = 0, width = 0, used = 0, length;
    for (; rows < c->rows && (length = row_of(c, index, rows, &begin)) > 0; rows++)
        width = larger(width, length);
    for (int64_t r = 0; r < rows; r++) {
        length = row_of(c, index, r, &begin);
        fill_row(c, r, begin, length, width);
        used += length;
    }
    base->shown = (att_batch){ .rows = rows,
                               .target_length = width,
                               .target_in = c->target_in,
                               .target_out = c->target_out,
                               .target_lengths = c->lengths,
                               .pair = c->place,
                               .follows = c->how.carried && index > 0,
                               .target_tokens = used };
    return &base->shown;
}

/* ---- life */

static void free_chunks(att_batches *base)
{
    chunks *c = (chunks *)base;
    att_free(c->order);
    att_free(c->target_in);
    att_free(c->target_out);
    att_free(c->lengths);
    att_free(c->place);
    att_free(c);
}

static const att_batch_way way = { free_chunks, start, in_order, get };

/* As many rows as a batch has room for. A stream starts from nothing, so a short text is few: each
 * goes on for some chunks at least. */
static void choose_rows(chunks *c)
{
    enum { STREAM_CHUNKS = 16 };
    c->how.chunk = smaller(c->how.chunk, c->targets);
    int64_t most = larger(c->how.tokens / c->how.chunk, 1);
    int64_t least = c->how.chunk * (c->how.carried ? STREAM_CHUNKS : 1);
    c->rows = smaller(most, larger(c->targets / least, 1));
    c->base.limits = (att_batch_limits){ .rows = c->rows,
                                         .target_length = c->how.chunk,
                                         .target_cells = c->rows * c->how.chunk };
}

att_status att_chunks_new(att_batches **out, const att_corpus *text, const att_chunking *how,
                          att_error *err)
{
    *out = NULL;
    chunks *c = att_alloc_zero(1, sizeof *c);
    if (!c)
        return att_fail_memory(err);
    *c = (chunks){ .base = { .way = &way },
                   .how = *how,
                   .ids = text->target.ids,
                   .targets = text->target.at[1] - 1 };
    choose_rows(c);
    size_t cells = (size_t)c->base.limits.target_cells, rows = (size_t)c->rows;
    c->order = att_alloc((size_t)(c->targets / c->how.chunk) + 2, sizeof *c->order);
    c->target_in = att_alloc(cells, sizeof *c->target_in);
    c->target_out = att_alloc(cells, sizeof *c->target_out);
    c->lengths = att_alloc(rows, sizeof *c->lengths);
    c->place = att_alloc(rows, sizeof *c->place);
    if (!c->order || !c->target_in || !c->target_out || !c->lengths || !c->place) {
        free_chunks(&c->base);
        return att_fail_memory(err);
    }
    in_order(&c->base);
    *out = &c->base;
    return ATT_OK;
}
