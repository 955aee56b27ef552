/* TER (Snover et al., "A study of translation edit rate with targeted human annotation", 2006):
 * word edits, where shifting a phrase counts as one edit. Which phrases are shifted, and in which
 * order, follows Tercom as sacreBLEU implements it:
 *
 * - A phrase of up to 10 words of the hypothesis that also occurs in the reference, at most 50
 *   positions away, may shift to that position if it contains an error and the reference phrase is
 *   not fully matched.
 * - Each round makes the shift that saves most edits; of equal ones the longest phrase, then the
 * one from furthest left, then to furthest left; until no shift saves an edit, or 1000 were tried.
 * - The edit distance table is computed and stored only within 25 cells of the diagonal: memory
 * grows with the line, not with its square. */
#include "metrics/metric_spec.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"

#include <math.h>
#include <string.h>

enum {
    MAX_SHIFT_SIZE = 10,
    MAX_SHIFT_DISTANCE = 50,
    MAX_SHIFT_CANDIDATES = 1000,
    BEAM_WIDTH = 25,
    INFINITE_COST = INT32_MAX / 2
};

typedef enum edit { EDIT_NONE, EDIT_KEEP, EDIT_SUBSTITUTE, EDIT_DELETE, EDIT_INSERT } edit;

/* One hypothesis and one reference. Rows of the table are words of the hypothesis, columns words of
 * the reference. */
typedef struct ter_state {
    const int32_t *reference;
    int32_t *hypothesis, *shifted; /* as it is now, and after a shift that is tried */
    size_t rows, columns;          /* words of the hypothesis, and of the reference */
    size_t *row_offsets; /* [rows + 2] the first cell of each row's band; row 0 has none */
    int32_t *costs;      /* of `hypothesis`, band after band */
    uint8_t *edits;      /* the last edit of each cell, parallel to `costs` */
    int32_t *scratch;    /* [2, columns + 1] the current row, and the one above it */
    ptrdiff_t *aligned;  /* [columns] the hypothesis word aligned with each reference word */
    bool *hypothesis_errors, *reference_errors;
    int candidates;
} ter_state;

/* ---- the edit distance table */

typedef struct band {
    size_t first, end;
} band;

/* The columns of a row that are computed. The last row is computed up to its end. */
static band band_of(const ter_state *m, size_t row)
{
    double slope = m->rows > 0 ? (double)m->columns / (double)m->rows : 1;
    double beam = BEAM_WIDTH < slope / 2 ? ceil(slope / 2 + BEAM_WIDTH) : BEAM_WIDTH;
    double middle = floor((double)row * slope);
    double end = middle + beam < (double)m->columns + 1 ? middle + beam : (double)m->columns + 1;
    return (band){ .first = middle > beam ? (size_t)(middle - beam) : 0,
                   .end = row == m->rows ? m->columns + 1 : (size_t)end };
}

/* Computes a row from the one above it. Of equally cheap edits the first counts: match or
 * substitution, deletion, insertion. */
static void compute_row(const ter_state *m, int32_t word, size_t row, const int32_t *above,
                        int32_t *costs, uint8_t *edits)
{
    const band in = band_of(m, row);
    for (size_t j = 0; j <= m->columns; j++)
        costs[j] = INFINITE_COST;
    for (size_t j = in.first; j < in.end; j++) {
        int32_t cost = above[j] + 1;
        edit last = EDIT_DELETE;
        if (j > 0) {
            bool same = word == m->reference[j - 1];
            int32_t across = above[j - 1] + !same;
            if (across <= cost) {
                cost = across;
                last = same ? EDIT_KEEP : EDIT_SUBSTITUTE;
            }
            if (costs[j - 1] + 1 < cost) {
                cost = costs[j - 1] + 1;
                last = EDIT_INSERT;
            }
        }
        costs[j] = cost < INFINITE_COST ? cost : INFINITE_COST;
        if (edits)
            edits[j - in.first] = (uint8_t)(cost < INFINITE_COST ? last : EDIT_NONE);
    }
}

static int32_t *scratch_row(const ter_state *m, size_t row)
{
    return m->scratch + (row % 2) * (m->columns + 1);
}

/* Copies a row of the table back into the scratch rows. */
static void restore_row(const ter_state *m, size_t row)
{
    int32_t *out = scratch_row(m, row);
    for (size_t j = 0; j <= m->columns; j++)
        out[j] = row == 0 ? (int32_t)j : INFINITE_COST;
    if (row > 0)
        memcpy(out + band_of(m, row).first, m->costs + m->row_offsets[row],
               (m->row_offsets[row + 1] - m->row_offsets[row]) * sizeof *out);
}

static int32_t compute_table(ter_state *m)
{
    restore_row(m, 0);
    for (size_t i = 1; i <= m->rows; i++) {
        int32_t *row = scratch_row(m, i);
        compute_row(m, m->hypothesis[i - 1], i, scratch_row(m, i - 1), row,
                    m->edits + m->row_offsets[i]);
        memcpy(m->costs + m->row_offsets[i], row + band_of(m, i).first,
               (m->row_offsets[i + 1] - m->row_offsets[i]) * sizeof *row);
    }
    return scratch_row(m, m->rows)[m->columns];
}

/* The cost after a shift, which leaves the rows before `from` unchanged. */
static int32_t cost_after_shift(const ter_state *m, size_t from)
{
    restore_row(m, from);
    for (size_t i = from + 1; i <= m->rows; i++)
        compute_row(m, m->shifted[i - 1], i, scratch_row(m, i - 1), scratch_row(m, i), NULL);
    return scratch_row(m, m->rows)[m->columns];
}

/* The last edit of a cell: none outside the band of its row, an insertion in row 0. */
static edit last_edit(const ter_state *m, size_t row, size_t column)
{
    if (row == 0)
        return EDIT_INSERT;
    const band in = band_of(m, row);
    bool kept = column >= in.first && column < in.end;
    return kept ? (edit)m->edits[m->row_offsets[row] + column - in.first] : EDIT_NONE;
}

/* Traces the table back: the alignment of words, and which words have errors. */
static void align(ter_state *m)
{
    size_t i = m->rows, j = m->columns;
    while (i > 0 || j > 0) {
        edit last = last_edit(m, i, j);
        bool both = last == EDIT_KEEP || last == EDIT_SUBSTITUTE;
        if (last != EDIT_INSERT)
            m->hypothesis_errors[--i] = last != EDIT_KEEP;
        if (both || last == EDIT_INSERT) {
            m->reference_errors[--j] = last != EDIT_KEEP;
            m->aligned[j] = (ptrdiff_t)i - !both;
        }
    }
}

/* ---- shifts */

typedef struct shift {
    int32_t saved;
    size_t start, length, to;
} shift;

static bool is_better(const shift *a, const shift *b)
{
    if (a->saved != b->saved)
        return a->saved > b->saved;
    if (a->length != b->length)
        return a->length > b->length;
    return a->start != b->start ? a->start < b->start : a->to < b->to;
}

/* Writes the hypothesis with the phrase moved to before word `to`. If `to` is inside the phrase,
 * the words after the phrase up to length + to come before it. */
static void apply_shift(const ter_state *m, const shift *by)
{
    size_t after = by->start + by->length;
    size_t end = by->to > after ? by->to : att_min_size(by->length + by->to, m->rows);
    size_t at = 0;
    const struct {
        size_t from, to;
    } back[] = { { 0, by->to }, { by->start, after }, { by->to, by->start }, { after, m->rows } },
      forth[] = { { 0, by->start }, { after, end }, { by->start, after }, { end, m->rows } };
    for (int i = 0; i < 4; i++) {
        size_t from = by->to < by->start ? back[i].from : forth[i].from;
        size_t to = by->to < by->start ? back[i].to : forth[i].to;
        memcpy(m->shifted + at, m->hypothesis + from, (to - from) * sizeof *m->shifted);
        at += to - from;
    }
}

static bool any(const bool *wrong, size_t start, size_t length)
{
    for (size_t i = start; i < start + length; i++)
        if (wrong[i])
            return true;
    return false;
}

/* Tries to shift one phrase to every position aligned with the equal phrase of the reference. */
static void try_shifts(ter_state *m, size_t start, size_t there, size_t length, int32_t cost,
                       shift *best)
{
    ptrdiff_t beside = m->aligned[there];
    bool within = beside >= (ptrdiff_t)start && beside < (ptrdiff_t)(start + length);
    if (within || !any(m->hypothesis_errors, start, length) ||
        !any(m->reference_errors, there, length))
        return;
    size_t before = SIZE_MAX;
    for (size_t i = 0; i <= length; i++) {
        size_t to = there + i == 0 ? 0 : (size_t)(m->aligned[there + i - 1] + 1);
        if (to == before)
            continue;
        before = to;
        shift next = { .start = start, .length = length, .to = to };
        apply_shift(m, &next);
        next.saved = cost - cost_after_shift(m, att_min_size(start, to));
        m->candidates++;
        if (best->length == 0 || is_better(&next, best))
            *best = next;
    }
}

static shift best_shift(ter_state *m, int32_t cost)
{
    shift best = { 0 };
    for (size_t h = 0; h < m->rows && !att_progress_cancelled(); h++, att_progress_poll())
        for (size_t r = h > MAX_SHIFT_DISTANCE ? h - MAX_SHIFT_DISTANCE : 0;
             r < att_min_size(m->columns, h + MAX_SHIFT_DISTANCE + 1); r++)
            for (size_t n = 1; n <= MAX_SHIFT_SIZE && h + n <= m->rows && r + n <= m->columns;
                 n++) {
                if (m->hypothesis[h + n - 1] != m->reference[r + n - 1])
                    break;
                try_shifts(m, h, r, n, cost, &best);
                if (m->candidates >= MAX_SHIFT_CANDIDATES)
                    return best;
            }
    return best;
}

static int32_t edits_with_shifts(ter_state *m)
{
    for (int32_t moves = 0;; moves++) {
        int32_t cost = compute_table(m);
        align(m);
        shift best = best_shift(m, cost);
        if (m->candidates >= MAX_SHIFT_CANDIDATES || best.saved <= 0)
            return cost + moves;
        apply_shift(m, &best);
        memcpy(m->hypothesis, m->shifted, m->rows * sizeof *m->hypothesis);
    }
}

/* ---- the metric */

static void free_ter_state(ter_state *m)
{
    att_free(m->hypothesis);
    att_free(m->shifted);
    att_free(m->row_offsets);
    att_free(m->costs);
    att_free(m->edits);
    att_free(m->scratch);
    att_free(m->aligned);
    att_free(m->hypothesis_errors);
    att_free(m->reference_errors);
}

/* Sets the offsets of all bands and allocates their cells. */
static bool alloc_table(ter_state *m)
{
    m->row_offsets = att_alloc(m->rows + 2, sizeof *m->row_offsets);
    if (!m->row_offsets)
        return false;
    m->row_offsets[0] = m->row_offsets[1] = 0;
    for (size_t i = 1; i <= m->rows; i++) {
        const band in = band_of(m, i);
        m->row_offsets[i + 1] = m->row_offsets[i] + (in.end - in.first);
    }
    m->costs = att_alloc(m->row_offsets[m->rows + 1], sizeof *m->costs);
    m->edits = att_alloc(m->row_offsets[m->rows + 1], sizeof *m->edits);
    return m->costs && m->edits;
}

static att_status edits_to(double *edits, const att_symbols *hypothesis,
                           const att_symbols *reference)
{
    size_t rows = hypothesis->count, columns = reference->count;
    *edits = (double)rows;
    if (columns == 0)
        return ATT_OK;
    ter_state m = { .reference = reference->items,
                    .hypothesis = att_alloc(rows, sizeof *m.hypothesis),
                    .shifted = att_alloc(rows, sizeof *m.shifted),
                    .rows = rows,
                    .columns = columns,
                    .scratch = att_alloc(2 * (columns + 1), sizeof *m.scratch),
                    .aligned = att_alloc(columns, sizeof *m.aligned),
                    .hypothesis_errors = att_alloc(rows, sizeof *m.hypothesis_errors),
                    .reference_errors = att_alloc(columns, sizeof *m.reference_errors) };
    bool good = m.hypothesis && m.shifted && m.scratch && m.aligned && m.hypothesis_errors &&
                m.reference_errors && alloc_table(&m);
    if (good) {
        if (rows > 0)
            memcpy(m.hypothesis, hypothesis->items, rows * sizeof *m.hypothesis);
        *edits = edits_with_shifts(&m);
    }
    free_ter_state(&m);
    return good ? ATT_OK : ATT_NO_MEMORY;
}

/* The fewest edits to any reference, over the mean length of all references. */
att_status att_ter_stats(double *stats, const att_metric_line *line, att_ngrams *grams)
{
    (void)grams;
    double fewest = 0, lengths = 0;
    for (size_t r = 0; r < line->reference_count; r++) {
        double edits;
        ATT_TRY(edits_to(&edits, &line->hypothesis, &line->references[r]));
        fewest = r == 0 || edits < fewest ? edits : fewest;
        lengths += (double)line->references[r].count;
    }
    stats[0] = fewest;
    stats[1] = lengths / (double)line->reference_count;
    return ATT_OK;
}
