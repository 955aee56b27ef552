/* Batches for language models; see batch_lm.h. */
#include "data/batch_lm.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/random.h"
#include "data/batch_internal.h"
#include "data/permutation.h"
#include "data/token_corpus.h"

#include <string.h>

/* More chunks than this are not listed in memory: their order is that of a permutation which is
 * computed chunk by chunk. */
enum { MAX_LISTED_CHUNKS = 1 << 20 };

typedef struct lm_batches {
    att_batches base;
    att_lm_batches_options options;
    const att_corpus *text;
    int64_t epoch;
    bool shuffled;       /* without carried state: chunks in random order */
    int64_t targets;     /* tokens to predict: all but the first */
    int64_t rows;        /* of a full batch */
    int64_t streams;     /* with carried state: of all groups */
    int64_t rounds;      /* with carried state: chunks of a stream */
    int64_t offset;      /* without carried state: targets of a shorter first chunk, or 0 */
    bool overlaps;       /* with a stride, in sequential order */
    int64_t chunk_count; /* without carried state: chunks of the epoch */
    int64_t *order;      /* [chunk_count] the chunks in the order of the epoch; NULL: too many */
    int32_t *row;        /* [sequence_length + 1] tokens of a row */
    int32_t *target_in, *target_out; /* of the current batch */
    int64_t *lengths, *contexts, *positions;
} lm_batches;

/* ---- arranging */

/* With carried state: stream r covers the targets from *begin on. Returns its length. Lengths
 * differ by at most one, the longer streams first. */
static int64_t stream_of(const lm_batches *c, int64_t r, int64_t *begin)
{
    int64_t each = c->targets / c->streams, more = c->targets % c->streams;
    *begin = r * each + att_min_i64(r, more);
    return each + (r < more);
}

/* With a stride: chunk i ends with the tokens that it predicts; *begin is the start of its context.
 * Returns its length. */
static int64_t overlapping_chunk_of(const lm_batches *c, int64_t i, int64_t *begin)
{
    int64_t length = c->options.sequence_length;
    int64_t end = att_min_i64(length + i * c->options.stride, c->targets);
    *begin = end - length;
    return length;
}

/* The first tokens of chunk i that are only context. */
static int64_t context_of(const lm_batches *c, int64_t i)
{
    if (i == 0)
        return 0;
    int64_t begin;
    overlapping_chunk_of(c, i, &begin);
    return c->options.sequence_length + (i - 1) * c->options.stride - begin;
}

/* Without carried state: chunk i covers the targets from *begin on. Returns its length. */
static int64_t chunk_of(const lm_batches *c, int64_t i, int64_t *begin)
{
    if (c->overlaps)
        return overlapping_chunk_of(c, i, begin);
    int64_t first = c->offset > 0 ? c->offset : c->options.sequence_length;
    *begin = i == 0 ? 0 : first + (i - 1) * c->options.sequence_length;
    return att_min_i64(i == 0 ? first : c->options.sequence_length, c->targets - *begin);
}

static void arrange(lm_batches *c, int64_t offset)
{
    c->offset = offset;
    if (c->options.carry_state) {
        int64_t begin, longest = stream_of(c, 0, &begin);
        c->rounds = att_ceil_div_i64(longest, c->options.sequence_length);
        c->base.count = c->rounds * c->options.groups;
        return;
    }
    if (c->overlaps)
        c->chunk_count =
            1 + att_ceil_div_i64(c->targets - c->options.sequence_length, c->options.stride);
    else
        c->chunk_count =
            (offset > 0) + att_ceil_div_i64(c->targets - offset, c->options.sequence_length);
    for (int64_t i = 0; c->order && i < c->chunk_count; i++)
        c->order[i] = i;
    c->base.count = att_ceil_div_i64(c->chunk_count, c->rows);
}

/* The chunk at place i of the epoch. */
static int64_t chunk_at(const lm_batches *c, int64_t i)
{
    if (c->order)
        return c->order[i];
    return c->shuffled
               ? att_permutation_at(c->options.seed, ATT_STREAM_LM_ORDER + (uint64_t)c->epoch,
                                    c->chunk_count, i)
               : i;
}

static void start_sequential(att_batches *base)
{
    lm_batches *c = (lm_batches *)base;
    c->epoch = 0;
    c->shuffled = false;
    c->overlaps = c->options.stride > 0 && !c->options.carry_state;
    arrange(c, 0);
}

static void start_epoch(att_batches *base, int64_t epoch)
{
    lm_batches *c = (lm_batches *)base;
    c->epoch = epoch;
    c->shuffled = true;
    c->overlaps = false;
    if (c->options.carry_state) {
        arrange(c, 0);
        return;
    }
    int64_t max_offset = att_min_i64(c->options.sequence_length, c->targets);
    uint64_t offset_stream = ATT_STREAM_LM_OFFSET + (uint64_t)epoch;
    arrange(c,
            (int64_t)(att_random_double(c->options.seed, offset_stream, 0) * (double)max_offset));
    for (int64_t i = c->chunk_count - 1; c->order && i > 0; i--) {
        int64_t j = att_shuffle_partner(c->options.seed, ATT_STREAM_LM_ORDER + (uint64_t)epoch, i);
        int64_t other = c->order[j];
        c->order[j] = c->order[i];
        c->order[i] = other;
    }
}

/* ---- filling */

/* Row r of a batch covers the targets from *begin on. Returns its length; 0: there is no such row.
 */
static int64_t row_of(const lm_batches *c, int64_t index, int64_t r, int64_t *begin)
{
    if (!c->options.carry_state) {
        int64_t i = index * c->rows + r;
        return i < c->chunk_count ? chunk_of(c, chunk_at(c, i), begin) : 0;
    }
    int64_t groups = c->options.groups, group = index % groups, round = index / groups;
    int64_t first = group * c->streams / groups, past = (group + 1) * c->streams / groups;
    if (first + r >= past)
        return 0;
    int64_t length = stream_of(c, first + r, begin);
    int64_t done = round * c->options.sequence_length, end = done + c->options.sequence_length;
    if (groups > 1) { /* equal chunks: no group runs out of text before another */
        done = length * round / c->rounds;
        end = length * (round + 1) / c->rounds;
    }
    *begin += done;
    return att_min_i64(end, length) - done;
}

/* Tokens [begin, begin + count) of the text; unknown ones where they cannot be read. */
static void read_tokens(lm_batches *c, int64_t begin, int64_t count)
{
    if (!c->text->stored) {
        memcpy(c->row, c->text->target.ids + begin, (size_t)count * sizeof *c->row);
        return;
    }
    att_error err = { 0 };
    att_status status = c->base.status;
    if (status == ATT_OK)
        status = att_token_corpus_read(c->text->stored, c->epoch, begin, count, c->row, &err);
    att_batches_keep_failure(&c->base, status, &err);
    for (int64_t i = 0; status != ATT_OK && i < count; i++)
        c->row[i] = ATT_ID_UNK;
}

static void fill_row(lm_batches *c, int64_t r, int64_t begin, int64_t length, int64_t width)
{
    int32_t *in = c->target_in + r * width, *out = c->target_out + r * width;
    read_tokens(c, begin, length + 1);
    for (int64_t t = 0; t < width; t++) {
        bool used = t < length;
        in[t] = used ? c->row[t] : ATT_ID_PAD;
        out[t] = used ? c->row[t + 1] : ATT_ID_PAD;
    }
    c->lengths[r] = length;
    c->positions[r] = begin + c->contexts[r];
}

static const att_batch *get(att_batches *base, int64_t index)
{
    lm_batches *c = (lm_batches *)base;
    int64_t begin, rows = 0, width = 0, used = 0, length;
    for (; rows < c->rows && (length = row_of(c, index, rows, &begin)) > 0; rows++)
        width = att_max_i64(width, length);
    for (int64_t r = 0; r < rows; r++) {
        length = row_of(c, index, r, &begin);
        c->contexts[r] = c->overlaps ? context_of(c, index * c->rows + r) : 0;
        fill_row(c, r, begin, length, width);
        used += length;
    }
    base->current =
        (att_batch){ .rows = rows,
                     .target_length = width,
                     .target_in = c->target_in,
                     .target_out = c->target_out,
                     .target_lengths = c->lengths,
                     .context_tokens = c->overlaps ? c->contexts : NULL,
                     .pair_index = c->positions,
                     .continues_previous = c->options.carry_state && index >= c->options.groups,
                     .target_tokens = used };
    return &base->current;
}

/* All batches are full but the first chunk's, where it is shorter, and the last. */
static int64_t largest(att_batches *base)
{
    int64_t found = 0, most = 0;
    for (int64_t i = 0; i < att_min_i64(base->count, 3); i++) {
        const att_batch *batch = get(base, i);
        if (batch->rows * batch->target_length > most) {
            most = batch->rows * batch->target_length;
            found = i;
        }
    }
    return found;
}

/* ---- making */

static void free_lm_batches(att_batches *base)
{
    lm_batches *c = (lm_batches *)base;
    att_free(c->row);
    att_free(c->order);
    att_free(c->target_in);
    att_free(c->target_out);
    att_free(c->lengths);
    att_free(c->contexts);
    att_free(c->positions);
    att_free(c);
}

static const att_batches_methods methods = { free_lm_batches, start_epoch, start_sequential,
                                             largest, get };

/* As many rows as fit into a batch. Every stream starts from the initial state, so a short text
 * gets fewer streams, each of at least STREAM_CHUNKS chunks, but at least one for each group. */
static void choose_rows(lm_batches *c)
{
    enum { STREAM_CHUNKS = 16 };
    int64_t groups = c->options.groups;
    int64_t length = att_max_i64(c->options.sequence_length, groups > 1 ? 2 : 1);
    c->options.sequence_length = length = att_min_i64(length, c->targets);
    int64_t max_rows = att_max_i64(c->options.batch_tokens / length, 1);
    int64_t min_tokens = length * (c->options.carry_state ? STREAM_CHUNKS : 1);
    int64_t rows = att_max_i64(c->targets / min_tokens, groups);
    c->streams = max_rows > rows / groups ? rows : max_rows * groups;
    c->rows = att_ceil_div_i64(c->streams, groups);
    c->base.limits =
        (att_batch_limits){ .rows = c->rows,
                            .target_length = c->options.sequence_length,
                            .target_padded_tokens = c->rows * c->options.sequence_length };
}

att_status att_lm_batches_new(att_batches **out, const att_corpus *text,
                              const att_lm_batches_options *options, att_error *err)
{
    *out = NULL;
    lm_batches *c = att_alloc_zero(1, sizeof *c);
    if (!c)
        return att_fail_memory(err);
    *c = (lm_batches){ .base = { .methods = &methods },
                       .options = *options,
                       .text = text,
                       .targets = text->target.offsets[1] - 1 };
    c->options.groups = att_max_i64(options->groups, 1);
    if (c->targets < c->options.groups) {
        long long targets = c->targets, groups = c->options.groups;
        att_free(c);
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "accumulate %lld: expected at most one stream for each token of the text "
                        "after its first, %lld",
                        groups, targets);
    }
    if (c->options.max_listed_chunks == 0)
        c->options.max_listed_chunks = MAX_LISTED_CHUNKS;
    choose_rows(c);
    size_t cells = (size_t)c->base.limits.target_padded_tokens, rows = (size_t)c->rows;
    int64_t max_chunks = c->targets / c->options.sequence_length + 2;
    bool listed = !c->options.carry_state && c->options.stride == 0 &&
                  max_chunks <= c->options.max_listed_chunks;
    c->order = listed ? att_alloc((size_t)max_chunks, sizeof *c->order) : NULL;
    c->row = att_alloc((size_t)c->options.sequence_length + 1, sizeof *c->row);
    c->target_in = att_alloc(cells, sizeof *c->target_in);
    c->target_out = att_alloc(cells, sizeof *c->target_out);
    c->lengths = att_alloc(rows, sizeof *c->lengths);
    c->contexts = att_alloc(rows, sizeof *c->contexts);
    c->positions = att_alloc(rows, sizeof *c->positions);
    if ((listed && !c->order) || !c->row || !c->target_in || !c->target_out || !c->lengths ||
        !c->contexts || !c->positions) {
        free_lm_batches(&c->base);
        return att_fail_memory(err);
    }
    start_sequential(&c->base);
    *out = &c->base;
    return ATT_OK;
}
