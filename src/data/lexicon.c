/* Counts of aligned tokens, IBM model 1, and the lexicon made of them. All sums are in the order of
 * the pairs, so that a lexicon has the same bits everywhere. */
#include "data/lexicon.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"

#include <stdlib.h>
#include <string.h>

/* ---- counts */

typedef struct att_alignment_cell cell;

static size_t slot_of(const att_alignment_counts *counts, int32_t source, int32_t target)
{
    uint64_t key = (uint64_t)(uint32_t)source << 32 | (uint32_t)target;
    key = (key ^ key >> 31) * 0x9E3779B97F4A7C15U;
    size_t mask = counts->capacity - 1, at = (size_t)(key >> 32) & mask;
    while (counts->cells[at].source >= 0 &&
           (counts->cells[at].source != source || counts->cells[at].target != target))
        at = (at + 1) & mask;
    return at;
}

static bool grow(att_alignment_counts *counts)
{
    att_alignment_counts bigger = { .capacity = counts->capacity ? counts->capacity * 2 : 1024,
                                    .used = counts->used };
    bigger.cells = att_alloc(bigger.capacity, sizeof *bigger.cells);
    if (!bigger.cells)
        return false;
    for (size_t i = 0; i < bigger.capacity; i++)
        bigger.cells[i].source = -1;
    for (size_t i = 0; i < counts->capacity; i++)
        if (counts->cells[i].source >= 0)
            bigger.cells[slot_of(&bigger, counts->cells[i].source, counts->cells[i].target)] =
                counts->cells[i];
    att_free(counts->cells);
    *counts = bigger;
    return true;
}

/* The cell of a pair, made where it is new. NULL: out of memory. */
static cell *find_cell(att_alignment_counts *counts, int32_t source, int32_t target)
{
    if (counts->used * 4 >= counts->capacity * 3 && !grow(counts))
        return NULL;
    cell *at = &counts->cells[slot_of(counts, source, target)];
    if (at->source < 0) {
        *at = (cell){ .source = source, .target = target };
        counts->used++;
    }
    return at;
}

att_status att_alignment_counts_add(att_alignment_counts *counts, int32_t source, int32_t target,
                                    double times, att_error *err)
{
    cell *at = find_cell(counts, source, target);
    if (!at)
        return att_fail_memory(err);
    at->count += times;
    return ATT_OK;
}

void att_alignment_counts_free(att_alignment_counts *counts)
{
    att_free(counts->cells);
    *counts = (att_alignment_counts){ 0 };
}

/* ---- IBM model 1 */

int64_t att_lexicon_pairs(const att_corpus *corpus, int64_t max_pairs)
{
    return att_min_i64(corpus->pairs, max_pairs);
}

int64_t att_lexicon_pair(const att_corpus *corpus, int64_t max_pairs, int64_t index)
{
    int64_t used = att_lexicon_pairs(corpus, max_pairs);
    /* The quotient and the rest apart: the product may be too large for 64 bits. */
    return index * (corpus->pairs / used) + index * (corpus->pairs % used) / used;
}

typedef struct model1 {
    att_alignment_counts *counts;
    const att_corpus *corpus;
    int64_t no_source; /* the id that stands for no source token */
    double *totals;    /* [no_source + 1] Σ of the counts of a source token */
} model1;

static int32_t source_at(const model1 *m, const int32_t *source, int64_t count, int64_t i)
{
    return i < count ? source[i] : (int32_t)m->no_source;
}

/* Adds the expected counts of one target token: in the first iteration all source tokens are
 * equally probable. */
static bool add_target(model1 *m, const int32_t *source, int64_t count, int32_t target, bool first)
{
    double sum = 0;
    for (int64_t i = 0; i <= count; i++) {
        int32_t id = source_at(m, source, count, i);
        if (id == ATT_ID_UNK)
            continue;
        const cell *at = find_cell(m->counts, id, target);
        if (!at)
            return false;
        sum += first ? 1 : at->prob;
    }
    for (int64_t i = 0; i <= count; i++) {
        int32_t id = source_at(m, source, count, i);
        if (id == ATT_ID_UNK || sum <= 0)
            continue;
        cell *at = &m->counts->cells[slot_of(m->counts, id, target)];
        double part = (first ? 1 : at->prob) / sum;
        at->count += part;
        m->totals[id] += part;
    }
    return true;
}

static bool add_pair(model1 *m, int64_t pair, bool first)
{
    int64_t sources, targets;
    const int32_t *source = att_sequences_get(&m->corpus->source, pair, &sources);
    const int32_t *target = att_sequences_get(&m->corpus->target, pair, &targets);
    for (int64_t j = 0; j < targets; j++)
        if (target[j] >= ATT_ID_FIRST && !add_target(m, source, sources, target[j], first))
            return false;
    return true;
}

/* prob = count / total; the counts of another iteration start from zero. */
static void normalize(model1 *m, bool last)
{
    for (size_t i = 0; i < m->counts->capacity; i++) {
        cell *at = &m->counts->cells[i];
        if (at->source < 0)
            continue;
        at->prob = m->totals[at->source] > 0 ? at->count / m->totals[at->source] : 0;
        if (!last)
            at->count = 0;
    }
}

att_status att_lexicon_align(att_alignment_counts *out, const att_corpus *corpus, int64_t sources,
                             int64_t max_pairs, int iterations, att_error *err)
{
    int64_t used = att_lexicon_pairs(corpus, max_pairs);
    model1 m = { .counts = out, .corpus = corpus, .no_source = sources };
    m.totals = att_alloc((size_t)sources + 1, sizeof *m.totals);
    att_status status = m.totals ? ATT_OK : att_fail_memory(err);
    for (int round = 0; round < iterations && status == ATT_OK; round++) {
        memset(m.totals, 0, ((size_t)sources + 1) * sizeof *m.totals);
        for (int64_t i = 0; i < used && status == ATT_OK; i++) {
            if (!add_pair(&m, att_lexicon_pair(corpus, max_pairs, i), round == 0))
                status = att_fail_memory(err);
            else if (i % 64 == 0)
                status = att_progress_step(round * used + i, err);
        }
        normalize(&m, round + 1 == iterations);
    }
    att_free(m.totals);
    return status;
}

/* ---- the lexicon */

static int by_tokens(const void *a, const void *b)
{
    const att_lexicon_entry *one = a, *other = b;
    if (one->source != other->source)
        return one->source < other->source ? -1 : 1;
    return (one->target > other->target) - (one->target < other->target);
}

static int by_prob(const void *a, const void *b)
{
    const att_lexicon_entry *one = a, *other = b;
    if (one->source == other->source && one->prob != other->prob)
        return one->prob > other->prob ? -1 : 1;
    return by_tokens(a, b);
}

/* Adds up the entries of the same pair of tokens, which follow each other. */
static size_t merge_entries(att_lexicon_entry *entries, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept > 0 && by_tokens(&entries[kept - 1], &entries[i]) == 0)
            entries[kept - 1].prob += entries[i].prob;
        else
            entries[kept++] = entries[i];
    return kept;
}

/* Keeps the `best` first of each source token and sets the offsets. */
static void cut(att_lexicon *lexicon, size_t count, int64_t best)
{
    size_t kept = 0, at = 0;
    for (int64_t source = 0; source < lexicon->sources; source++) {
        lexicon->offsets[source] = (int64_t)kept;
        for (int64_t rank = 0; at < count && lexicon->entries[at].source == source; at++, rank++)
            if (rank < best)
                lexicon->entries[kept++] = lexicon->entries[at];
    }
    lexicon->offsets[lexicon->sources] = (int64_t)kept;
}

/* Takes over the entries. */
static att_status finish(att_lexicon *out, att_lexicon_entry *entries, size_t count,
                         int64_t sources, int64_t best, att_error *err)
{
    *out = (att_lexicon){ .sources = sources, .entries = entries };
    out->offsets = att_alloc((size_t)sources + 1, sizeof *out->offsets);
    if (!out->offsets) {
        att_lexicon_free(out);
        return att_fail_memory(err);
    }
    qsort(entries, count, sizeof *entries, by_tokens);
    count = merge_entries(entries, count);
    qsort(entries, count, sizeof *entries, by_prob);
    cut(out, count, best);
    return ATT_OK;
}

att_status att_lexicon_from_entries(att_lexicon *out, const att_lexicon_entry *entries,
                                    size_t count, int64_t sources, int64_t best, att_error *err)
{
    att_lexicon_entry *copy = att_alloc(count, sizeof *copy);
    if (!copy)
        return att_fail_memory(err);
    if (count > 0)
        memcpy(copy, entries, count * sizeof *copy);
    return finish(out, copy, count, sources, best, err);
}

/* Entries whose probability is the count until it is divided by the total of the source. */
att_status att_lexicon_from_counts(att_lexicon *out, const att_alignment_counts *counts,
                                   int64_t sources, int64_t best, att_error *err)
{
    att_lexicon_entry *entries = att_alloc(counts->used, sizeof *entries);
    if (!entries)
        return att_fail_memory(err);
    size_t count = 0;
    for (size_t i = 0; i < counts->capacity; i++) {
        const cell *at = &counts->cells[i];
        if (at->source >= 0 && at->source < sources && at->count > 0)
            entries[count++] = (att_lexicon_entry){ at->source, at->target, at->count };
    }
    qsort(entries, count, sizeof *entries, by_tokens);
    for (size_t first = 0, end; first < count; first = end) {
        double total = 0;
        for (end = first; end < count && entries[end].source == entries[first].source; end++)
            total += entries[end].prob;
        for (size_t i = first; i < end; i++)
            entries[i].prob /= total;
    }
    return finish(out, entries, count, sources, best, err);
}

void att_lexicon_free(att_lexicon *lexicon)
{
    att_free(lexicon->offsets);
    att_free(lexicon->entries);
    *lexicon = (att_lexicon){ 0 };
}
