/* Checks of the mask options, and the keys that masks leave to a query; see mask.h. */
#include "attention/mask.h"

#include "attention/sequence.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"

#include <stdlib.h>
#include <string.h>

/* Far larger than any tensor, yet sums of a few cannot overflow. */
#define MAX_OFFSET ((int64_t)1 << 53)

/* The number of blocks that cover `length` ≤ 2^32 queries or keys; a block may be of any size. */
static int64_t block_total(int64_t length, int64_t block)
{
    return att_ceil_div_i64(length, att_min_i64(block, MAX_OFFSET));
}

/* Lengths: each from 0 to the size of its dimension. */
static att_status check_lengths(const char *name, const int64_t *lengths, int64_t count,
                                const char *size_name, int64_t size, att_error *err)
{
    for (int64_t b = 0; lengths && b < count; b++)
        if (lengths[b] < 0 || lengths[b] > size)
            return att_fail(err, ATT_BAD_INPUT, "attention",
                            "%s[%lld] is %lld, expected 0 to %s = %lld", name, (long long)b,
                            (long long)lengths[b], size_name, (long long)size);
    return ATT_OK;
}

/* Starts of packed sequences: from 0, not decreasing, to the size of the dimension. */
static att_status check_offsets(const char *name, const int64_t *offsets, int64_t sequences,
                                const char *size_name, int64_t size, att_error *err)
{
    if (!offsets)
        return att_fail(err, ATT_BAD_INPUT, "attention",
                        "%s is missing: packed sequences need sequences + 1 entries", name);
    if (offsets[0] != 0)
        return att_fail(err, ATT_BAD_INPUT, "attention", "%s[0] is %lld, expected 0", name,
                        (long long)offsets[0]);
    for (int64_t s = 0; s < sequences; s++)
        if (offsets[s + 1] < offsets[s])
            return att_fail(err, ATT_BAD_INPUT, "attention",
                            "%s decreases from %lld to %lld at index %lld", name,
                            (long long)offsets[s], (long long)offsets[s + 1], (long long)(s + 1));
    if (offsets[sequences] != size)
        return att_fail(err, ATT_BAD_INPUT, "attention", "%s ends at %lld, expected %s = %lld",
                        name, (long long)offsets[sequences], size_name, (long long)size);
    return ATT_OK;
}

static att_status check_packing(const att_problem *p, att_error *err)
{
    const att_attention_options *options = p->options;
    if (options->sequences < 0)
        return att_fail(err, ATT_BAD_INPUT, "attention", "sequences is %lld, expected 0 or more",
                        (long long)options->sequences);
    if (options->sequences == 0) {
        if (options->query_offsets || options->key_offsets)
            return att_fail(err, ATT_BAD_INPUT, "attention", "%s is given, but sequences is 0",
                            options->query_offsets ? "query_offsets" : "key_offsets");
        return ATT_OK;
    }
    if (p->B != 1)
        return att_fail(err, ATT_BAD_INPUT, "attention",
                        "packed sequences need a batch of 1, but B = %lld", (long long)p->B);
    ATT_TRY(
        check_offsets("query_offsets", options->query_offsets, options->sequences, "T", p->T, err));
    return check_offsets("key_offsets", options->key_offsets, options->sequences, "S", p->S, err);
}

/* Positions of query 0: at most 2^53 in magnitude, given once for all sequences or once for each.
 */
static att_status check_positions(const att_problem *p, att_error *err)
{
    const att_attention_options *options = p->options;
    if (options->offset < -MAX_OFFSET || options->offset > MAX_OFFSET)
        return att_fail(err, ATT_BAD_INPUT, "attention", "offset is %lld, expected -2^53 to 2^53",
                        (long long)options->offset);
    if (options->offsets && options->offset != 0)
        return att_fail(err, ATT_BAD_INPUT, "attention",
                        "offset is %lld and offsets is given, expected one of them",
                        (long long)options->offset);
    for (int64_t s = 0; options->offsets && s < att_sequence_count(p); s++)
        if (options->offsets[s] < -MAX_OFFSET || options->offsets[s] > MAX_OFFSET)
            return att_fail(err, ATT_BAD_INPUT, "attention",
                            "offsets[%lld] is %lld, expected -2^53 to 2^53", (long long)s,
                            (long long)options->offsets[s]);
    return ATT_OK;
}

static att_status check_blocks(const att_problem *p, att_error *err)
{
    const att_attention_options *options = p->options;
    if (!options->blocks && options->block_count == 0)
        return ATT_OK;
    if (!options->blocks || options->block_count < 0)
        return att_fail(err, ATT_BAD_INPUT, "attention", "block_count is %lld, but blocks is %s",
                        (long long)options->block_count, options->blocks ? "given" : "missing");
    if (options->block_queries < 1 || options->block_keys < 1)
        return att_fail(err, ATT_BAD_INPUT, "attention",
                        "blocks of %lld queries and %lld keys: both must be at least 1",
                        (long long)options->block_queries, (long long)options->block_keys);
    int64_t rows = block_total(p->T, options->block_queries);
    int64_t cols = block_total(p->S, options->block_keys);
    for (int64_t n = 0; n < options->block_count; n++) {
        att_block block = options->blocks[n];
        if (block.query < 0 || block.query >= rows || block.key < 0 || block.key >= cols)
            return att_fail(err, ATT_BAD_INPUT, "attention",
                            "blocks[%lld] is (%lld, %lld), but there are %lld × %lld blocks",
                            (long long)n, (long long)block.query, (long long)block.key,
                            (long long)rows, (long long)cols);
    }
    return ATT_OK;
}

att_status att_mask_check(const att_problem *p, att_error *err)
{
    const att_attention_options *options = p->options;
    ATT_TRY(check_lengths("query_lengths", options->query_lengths, p->B, "T", p->T, err));
    ATT_TRY(check_lengths("key_lengths", options->key_lengths, p->B, "S", p->S, err));
    ATT_TRY(check_packing(p, err));
    ATT_TRY(check_positions(p, err));
    return check_blocks(p, err);
}

int64_t att_mask_positions(const att_problem *p)
{
    if (p->options->sequences == 0)
        return p->S;
    int64_t max_length = 0;
    for (int64_t s = 0; s < p->options->sequences; s++) {
        int64_t length = p->options->key_offsets[s + 1] - p->options->key_offsets[s];
        max_length = att_max_i64(max_length, length);
    }
    return max_length;
}

static int compare_blocks(const void *left, const void *right)
{
    const att_block *a = left;
    const att_block *b = right;
    if (a->query != b->query)
        return a->query < b->query ? -1 : 1;
    return (a->key > b->key) - (a->key < b->key);
}

att_status att_mask_new(att_mask *out, const att_problem *p, att_error *err)
{
    *out = (att_mask){ .problem = p };
    if (!p->options->blocks)
        return ATT_OK;
    size_t count = (size_t)p->options->block_count;
    out->blocks = att_alloc(count, sizeof *out->blocks);
    if (!out->blocks)
        return att_fail_memory(err);
    if (count > 0) {
        memcpy(out->blocks, p->options->blocks, count * sizeof *out->blocks);
        qsort(out->blocks, count, sizeof *out->blocks, compare_blocks);
    }
    return ATT_OK;
}

void att_mask_free(att_mask *mask)
{
    att_free(mask->blocks);
    mask->blocks = NULL;
}

att_key_range att_mask_key_range(const att_problem *p, int64_t b, int64_t i)
{
    const att_attention_options *options = p->options;
    att_key_range range = { .end = p->S, .query_position = i };
    int64_t s = b;
    if (options->sequences > 0) {
        s = att_sequence_find(options->query_offsets, options->sequences, i);
        range.query_position = i - options->query_offsets[s];
        range.key_start = range.begin = options->key_offsets[s];
        range.end = options->key_offsets[s + 1];
    }
    range.query_position += options->offsets ? options->offsets[s] : options->offset;
    int64_t own = range.key_start + range.query_position; /* the key at the query's position */
    if (options->query_lengths && i >= options->query_lengths[b])
        range.end = range.begin;
    if (options->key_lengths)
        range.end = att_min_i64(range.end, options->key_lengths[b]);
    if (options->causal)
        range.end = att_min_i64(range.end, own + 1);
    if (options->window && options->window_left >= 0)
        range.begin = att_max_i64(range.begin, own - att_min_i64(options->window_left, MAX_OFFSET));
    if (options->window && options->window_right >= 0)
        range.end =
            att_min_i64(range.end, own + att_min_i64(options->window_right, MAX_OFFSET) + 1);
    return range;
}

/* The first block of the sorted list that is not before (query, key). */
static int64_t find_block(const att_mask *mask, att_block wanted)
{
    int64_t low = 0;
    int64_t high = mask->problem->options->block_count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (compare_blocks(&mask->blocks[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Writes those of keys begin … end-1 that the dense mask allows. */
static int64_t apply_dense_mask(const att_attention_options *options, int64_t b, int64_t h,
                                int64_t i, int64_t begin, int64_t end, int64_t *keys)
{
    int64_t count = 0;
    const int64_t *stride = options->mask_stride;
    const uint8_t *row =
        options->mask ? options->mask + b * stride[0] + h * stride[1] + i * stride[2] : NULL;
    for (int64_t j = begin; j < end; j++)
        if (!row || row[j * stride[3]])
            keys[count++] = j;
    return count;
}

int64_t att_mask_keys(const att_mask *mask, att_key_range range, int64_t b, int64_t h, int64_t i,
                      int64_t *keys)
{
    const att_attention_options *options = mask->problem->options;
    if (range.end <= range.begin)
        return 0;
    if (!mask->blocks)
        return apply_dense_mask(options, b, h, i, range.begin, range.end, keys);
    int64_t count = 0;
    int64_t done = range.begin; /* keys before it are handled: a block listed twice counts once */
    att_block first = { i / options->block_queries, range.begin / options->block_keys };
    for (int64_t n = find_block(mask, first); n < options->block_count; n++) {
        att_block block = mask->blocks[n];
        int64_t begin = att_max_i64(done, block.key * options->block_keys);
        if (block.query != first.query || begin >= range.end)
            break;
        int64_t size =
            att_min_i64(options->block_keys, range.end - block.key * options->block_keys);
        int64_t end = block.key * options->block_keys + size;
        count += apply_dense_mask(options, b, h, i, begin, end, keys + count);
        done = att_max_i64(done, end);
    }
    return count;
}
