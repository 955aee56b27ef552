/* TER (Snover et al., "A study of translation edit rate with targeted human annotation", 2006):
 * edits between words, where moving a run of words counts as one. Which runs are moved, and in what
 * order, are the rules of Tercom as sacreBLEU has them:
 *
 * - A run of up to 10 words of the answer that also stands in the reference, at most 50 places
 * away, may move to where the reference has it, if some of it is wrong where it stands and some of
 * the reference is wrong there.
 * - Each round makes the move that saves most edits; of equal ones the longest, then the one from
 *   furthest left, then to furthest left; until none saves any, or 1000 have been tried.
 * - The table of edits is worked out only within 25 places of the diagonal, and no more of it is
 *   kept: memory grows with the line, not with its square. */
#include "metrics/measure.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

enum { LONGEST_RUN = 10, FURTHEST = 50, MOST_TRIED = 1000, BEAM = 25, FAR = INT32_MAX / 2 };

typedef enum edit { EDIT_NONE, EDIT_KEEP, EDIT_REPLACE, EDIT_REMOVE, EDIT_ADD } edit;

/* One answer on its way to one reference. Rows of the table are for the words of the answer,
 * columns for those of the reference. */
typedef struct moving {
    const int32_t *reference;
    int32_t *answer, *moved; /* as it is now, and as a move would make it */
    size_t rows, columns;    /* words of the answer, and of the reference */
    size_t *at;         /* [rows + 2] where the cells of each row's band begin; row 0 has none */
    int32_t *costs;     /* cells for `answer`, band after band */
    uint8_t *edits;     /* beside them: the last edit of each */
    int32_t *scratch;   /* [2, columns + 1] the row in work, and the one above it */
    ptrdiff_t *aligned; /* [columns] the word of the answer beside each of the reference */
    bool *answer_wrong, *reference_wrong;
    int tried;
} moving;

/* ---- the table */

typedef struct band {
    size_t first, end;
} band;

/* The columns of a row that are worked out. The last row is, up to its end. */
static band band_of(const moving *m, size_t row)
{
    double slope = m->rows > 0 ? (double)m->columns / (double)m->rows : 1;
    double beam = BEAM < slope / 2 ? ceil(slope / 2 + BEAM) : BEAM;
    double middle = floor((double)row * slope);
    double end = middle + beam < (double)m->columns + 1 ? middle + beam : (double)m->columns + 1;
    return (band){ .first = middle > beam ? (size_t)(middle - beam) : 0,
                   .end = row == m->rows ? m->columns + 1 : (size_t)end };
}

/* Works one row out from the one above it. Of edits equally cheap the first counts: keeping or
 * replacing, removing, adding. */
static void work_row(const moving *m, int32_t word, size_t row, const int32_t *above,
                     int32_t *costs, uint8_t *edits)
{
    const band in = band_of(m, row);
    for (size_t j = 0; j <= m->columns; j++)
        costs[j] = FAR;
    for (size_t j = in.first; j < in.end; j++) {
        int32_t least = above[j] + 1;
        edit last = EDIT_REMOVE;
        if (j > 0) {
            bool same = word == m->reference[j - 1];
            int32_t across = above[j - 1] + !same;
            if (across <= least) {
                least = across;
                last = same ? EDIT_KEEP : EDIT_REPLACE;
            }
            if (costs[j - 1] + 1 < least) {
                least = costs[j - 1] + 1;
                last = EDIT_ADD;
            }
        }
        costs[j] = least < FAR ? least : FAR;
        if (edits)
            edits[j - in.first] = (uint8_t)(least < FAR ? last : EDIT_NONE);
    }
}

static int32_t *row_in_work(const moving *m, size_t row)
{
    return m->scratch + (row % 2) * (m->columns + 1);
}

/* Puts a row of the table back into the place where it was in work. */
static void recall_row(const moving *m, size_t row)
{
    int32_t *out = row_in_work(m, row);
    for (size_t j = 0; j <= m->columns; j++)
        out[j] = row == 0 ? (int32_t)j : FAR;
    if (row > 0)
        memcpy(out + band_of(m, row).first, m->costs + m->at[row],
               (m->at[row + 1] - m->at[row]) * sizeof *out);
}

static int32_t work_table(moving *m)
{
    recall_row(m, 0);
    for (size_t i = 1; i <= m->rows; i++) {
        int32_t *row = row_in_work(m, i);
        work_row(m, m->answer[i - 1], i, row_in_work(m, i - 1), row, m->edits + m->at[i]);
        memcpy(m->costs + m->at[i], row + band_of(m, i).first,
               (m->at[i + 1] - m->at[i]) * sizeof *row);
    }
    return row_in_work(m, m->rows)[m->columns];
}

/* The cost after a move, which leaves the rows before `from` as they are. */
static int32_t cost_of_moved(const moving *m, size_t from)
{
    recall_row(m, from);
    for (size_t i = from + 1; i <= m->rows; i++)
        work_row(m, m->moved[i - 1], i, row_in_work(m, i - 1), row_in_work(m, i), NULL);
    return row_in_work(m, m->rows)[m->columns];
}

/* The last edit of a cell; beyond its row's band there is none, and in row 0 words are added. */
static edit last_edit(const moving *m, size_t row, size_t column)
{
    if (row == 0)
        return EDIT_ADD;
    const band in = band_of(m, row);
    bool kept = column >= in.first && column < in.end;
    return kept ? (edit)m->edits[m->at[row] + column - in.first] : EDIT_NONE;
}

/* Reads the table backwards: what stands beside what, and which words are wrong. */
static void align(moving *m)
{
    size_t i = m->rows, j = m->columns;
    while (i > 0 || j > 0) {
        edit last = last_edit(m, i, j);
        bool both = last == EDIT_KEEP || last == EDIT_REPLACE;
        if (last != EDIT_ADD)
            m->answer_wrong[--i] = last != EDIT_KEEP;
        if (both || last == EDIT_ADD) {
            m->reference_wrong[--j] = last != EDIT_KEEP;
            m->aligned[j] = (ptrdiff_t)i - !both;
        }
    }
}

/* ---- moves */

typedef struct move {
    int32_t saved;
    size_t start, length, to;
} move;

static bool is_better(const move *a, const move *b)
{
    if (a->saved != b->saved)
        return a->saved > b->saved;
    if (a->length != b->length)
        return a->length > b->length;
    return a->start != b->start ? a->start < b->start : a->to < b->to;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Writes the answer with the run before word `to` of it, or after as many words as the run has
 * where that is within the run. */
static void make_move(const moving *m, const move *by)
{
    size_t after = by->start + by->length;
    size_t end = by->to > after ? by->to : least(by->length + by->to, m->rows);
    size_t at = 0;
    const struct {
        size_t from, to;
    } back[] = { { 0, by->to }, { by->start, after }, { by->to, by->start }, { after, m->rows } },
      forth[] = { { 0, by->start }, { after, end }, { by->start, after }, { end, m->rows } };
    for (int i = 0; i < 4; i++) {
        size_t from = by->to < by->start ? back[i].from : forth[i].from;
        size_t to = by->to < by->start ? back[i].to : forth[i].to;
        memcpy(m->moved + at, m->answer + from, (to - from) * sizeof *m->moved);
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

/* Tries one run at every place beside its like in the reference. */
static void try_run(moving *m, size_t start, size_t there, size_t length, int32_t cost, move *best)
{
    ptrdiff_t beside = m->aligned[there];
    bool within = beside >= (ptrdiff_t)start && beside < (ptrdiff_t)(start + length);
    if (within || !any(m->answer_wrong, start, length) || !any(m->reference_wrong, there, length))
        return;
    size_t before = SIZE_MAX;
    for (size_t i = 0; i <= length; i++) {
        size_t to = there + i == 0 ? 0 : (size_t)(m->aligned[there + i - 1] + 1);
        if (to == before)
            continue;
        before = to;
        move next = { .start = start, .length = length, .to = to };
        make_move(m, &next);
        next.saved = cost - cost_of_moved(m, least(start, to));
        m->tried++;
        if (best->length == 0 || is_better(&next, best))
            *best = next;
    }
}

static move best_move(moving *m, int32_t cost)
{
    move best = { 0 };
    for (size_t h = 0; h < m->rows; h++)
        for (size_t r = h > FURTHEST ? h - FURTHEST : 0; r < least(m->columns, h + FURTHEST + 1);
             r++)
            for (size_t n = 1; n <= LONGEST_RUN && h + n <= m->rows && r + n <= m->columns; n++) {
                if (m->answer[h + n - 1] != m->reference[r + n - 1])
                    break;
                try_run(m, h, r, n, cost, &best);
                if (m->tried >= MOST_TRIED)
                    return best;
            }
    return best;
}

static int32_t edits_with_moves(moving *m)
{
    for (int32_t moves = 0;; moves++) {
        int32_t cost = work_table(m);
        align(m);
        move best = best_move(m, cost);
        if (m->tried >= MOST_TRIED || best.saved <= 0)
            return cost + moves;
        make_move(m, &best);
        memcpy(m->answer, m->moved, m->rows * sizeof *m->answer);
    }
}

/* ---- the metric */

static void free_moving(moving *m)
{
    att_free(m->answer);
    att_free(m->moved);
    att_free(m->at);
    att_free(m->costs);
    att_free(m->edits);
    att_free(m->scratch);
    att_free(m->aligned);
    att_free(m->answer_wrong);
    att_free(m->reference_wrong);
}

/* Gives each row's band its cells, and all of them their memory. */
static bool take_table(moving *m)
{
    m->at = att_alloc(m->rows + 2, sizeof *m->at);
    if (!m->at)
        return false;
    m->at[0] = m->at[1] = 0;
    for (size_t i = 1; i <= m->rows; i++) {
        const band in = band_of(m, i);
        m->at[i + 1] = m->at[i] + (in.end - in.first);
    }
    m->costs = att_alloc(m->at[m->rows + 1], sizeof *m->costs);
    m->edits = att_alloc(m->at[m->rows + 1], sizeof *m->edits);
    return m->costs && m->edits;
}

static att_status edits_to(double *edits, const att_symbols *answer, const att_symbols *reference)
{
    size_t rows = answer->count, columns = reference->count;
    *edits = (double)rows;
    if (columns == 0)
        return ATT_OK;
    moving m = { .reference = reference->items,
                 .answer = att_alloc(rows, sizeof *m.answer),
                 .moved = att_alloc(rows, sizeof *m.moved),
                 .rows = rows,
                 .columns = columns,
                 .scratch = att_alloc(2 * (columns + 1), sizeof *m.scratch),
                 .aligned = att_alloc(columns, sizeof *m.aligned),
                 .answer_wrong = att_alloc(rows, sizeof *m.answer_wrong),
                 .reference_wrong = att_alloc(columns, sizeof *m.reference_wrong) };
    bool good = m.answer && m.moved && m.scratch && m.aligned && m.answer_wrong &&
                m.reference_wrong && take_table(&m);
    if (good) {
        if (rows > 0)
            memcpy(m.answer, answer->items, rows * sizeof *m.answer);
        *edits = edits_with_moves(&m);
    }
    free_moving(&m);
    return good ? ATT_OK : ATT_NO_MEMORY;
}

/* The fewest edits to any reference, over the average length of all. */
att_status att_ter_count(double *numbers, const att_measured *line, att_ngrams *grams)
{
    (void)grams;
    double fewest = 0, lengths = 0;
    for (size_t r = 0; r < line->reference_count; r++) {
        double edits;
        ATT_TRY(edits_to(&edits, &line->answer, &line->references[r]));
        fewest = r == 0 || edits < fewest ? edits : fewest;
        lengths += (double)line->references[r].count;
    }
    numbers[0] = fewest;
    numbers[1] = lengths / (double)line->reference_count;
    return ATT_OK;
}
