/* Known slips: which of them explain a wrong answer. Some show in the answer itself (cut off, rows
 * and columns exchanged); others are operations done otherwise, for which the sheet is computed
 * again with the slip made and the student's earlier answers in place. */
#include "grade/judge.h"

#include "base/math.h"
#include "base/minmax.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const att_slip_text operations[ATT_SLIPS] = {
    [ATT_SLIP_NO_SCALE] = { "no-scale",
                            "the division by the square root of the size was left out" },
    [ATT_SLIP_SCALE_NOT_ROOT] = { "scale-not-root",
                                  "it was divided by the size instead of its square root" },
    [ATT_SLIP_VARIANCE_NOT_ROOT] = { "variance-not-root",
                                     "it was divided by the variance instead of its square root" },
    [ATT_SLIP_SOFTMAX_COLUMNS] = { "softmax-columns",
                                   "the softmax was taken over the columns instead of the rows, or "
                                   "the other way round" },
    [ATT_SLIP_EXP_ONLY] = { "exp-only", "the exponents were not divided by their sum" },
    [ATT_SLIP_MASK_LATE] = { "mask-late", "the mask was applied after the softmax" },
    [ATT_SLIP_MASK_MISSING] = { "mask-missing", "the mask was left out" },
    [ATT_SLIP_MASK_ZERO] = { "mask-zero", "masked scores were set to 0 instead of minus infinity" },
    [ATT_SLIP_NOT_TRANSPOSED] = { "not-transposed",
                                  "a factor that has to be transposed, such as the keys, was not" },
    [ATT_SLIP_TRANSPOSED] = { "transposed-factor",
                              "rows and columns of a factor were mixed: it was transposed" },
    [ATT_SLIP_HEADS_ADDED] = { "heads-added", "the heads were added instead of concatenated" },
    [ATT_SLIP_GATES_EXCHANGED] = { "gates-exchanged",
                                   "the gates that weigh the old and the new state were "
                                   "exchanged" },
    [ATT_SLIP_NO_BIAS] = { "term-left-out", "a term of a sum, such as a bias, was left out" },
    [ATT_SLIP_NO_ACTIVATION] = { "no-activation",
                                 "the activation function, such as tanh, was left out" },
    [ATT_SLIP_ELEMENTWISE] = { "elementwise", "matrices were multiplied element by element" },
};

static const att_slip_text cut_off = { "cut-off", "the numbers were cut off instead of rounded" };
static const att_slip_text few_digits = { "few-digits",
                                          "the numbers were rounded to too few digits" };
static const att_slip_text exchanged = { "transposed-answer",
                                         "rows and columns of the answer are exchanged" };
static const att_slip_text percent = { "percent", "the numbers are given in percent" };
static const att_slip_text sign = { "sign", "the sign is reversed" };
static const att_slip_text rounded_early = { "rounded-early",
                                             "numbers were rounded too early, before they were "
                                             "used further" };
static const att_slip_text cut_early = { "cut-early",
                                         "numbers were cut off before they were used further" };

static void name(att_mark *mark, const att_slip_text *what, int line)
{
    mark->slips[mark->slip_count++] = (att_named_slip){ what, NULL, line };
}

/* ---- Slips that show in the answer */

/* The values to compare with: the truth, and what follows from earlier answers. */
struct references {
    const att_matrix *items[ATT_MAX_SETS + 2];
    size_t count;
};

static void add_reference(struct references *references, const att_matrix *value)
{
    if (value)
        references->items[references->count++] = value;
}

/* Whether every element is the reference's, shortened to the digits that are written. */
static bool is_shortened(const att_numbers *numbers, const att_matrix *value, bool cut)
{
    bool differs = false;
    if (value->rows != numbers->rows || value->cols != numbers->cols)
        return false;
    for (int64_t i = 0; i < value->rows * value->cols; i++) {
        double unit = numbers->units[i], x = value->data[i];
        if (!(unit > 0) || !isfinite(x) || !isfinite(numbers->values[i]))
            return false;
        double scaled = fabs(x) / unit;
        double to = copysign(floor(scaled + (cut ? 0 : 0.5) + scaled * 4 * DBL_EPSILON) * unit, x);
        if (!(fabs(to - numbers->values[i]) <= 1e-6 * unit))
            return false;
        double rounded = floor(scaled + 0.5 + scaled * 4 * DBL_EPSILON) * unit;
        differs = differs || !cut || fabs(fabs(to) - rounded) > 0.5 * unit;
    }
    return differs;
}

static const att_matrix *turn(att_grader *judge, const att_matrix *from)
{
    att_matrix *to = att_matrix_transpose(judge->arena, from);
    judge->out_of_memory = judge->out_of_memory || !to;
    return to;
}

static const att_matrix *scale(att_grader *judge, const att_matrix *from, double factor)
{
    att_matrix *to = att_matrix_new(judge->arena, from->rows, from->cols);
    judge->out_of_memory = judge->out_of_memory || !to;
    for (int64_t i = 0; to && i < from->rows * from->cols; i++)
        to->data[i] = factor * from->data[i];
    return to;
}

static bool find_form(att_grader *judge, size_t index, const struct references *references,
                      att_mark *mark)
{
    const att_numbers *numbers = &judge->answers->items[index].numbers;
    for (size_t r = 0; r < references->count && !judge->out_of_memory; r++) {
        const att_matrix *value = references->items[r];
        const att_slip_text *what = NULL;
        if (value->rows > 1 && value->cols > 1 &&
            att_grader_agrees(judge, index, turn(judge, value), NULL))
            what = &exchanged;
        else if (is_shortened(numbers, value, true))
            what = &cut_off;
        else if (is_shortened(numbers, value, false))
            what = &few_digits;
        if (what) {
            name(mark, what, 0);
            return true;
        }
    }
    return false;
}

static bool find_factor(att_grader *judge, size_t index, const struct references *references,
                        att_mark *mark)
{
    for (size_t r = 0; r < references->count && !judge->out_of_memory; r++) {
        const att_matrix *value = references->items[r];
        bool reversed = att_grader_agrees(judge, index, scale(judge, value, -1), NULL);
        if (reversed || att_grader_agrees(judge, index, scale(judge, value, 100), NULL)) {
            name(mark, reversed ? &sign : &percent, 0);
            return true;
        }
    }
    return false;
}

/* ---- Slips of operations */

/* Whether the slips explain the answer: with earlier answers in place, with none, or with the slips
 * named so far instead, which are exact. `roughly`: with the rounding that earlier answers carry.
 */
static bool explains(att_grader *judge, size_t index, const att_slip_site *slips, size_t count,
                     bool roughly)
{
    const uint8_t *sets[ATT_MAX_SETS];
    att_slip_site all[2 * ATT_MAX_SITES];
    att_grade_scene scenes[ATT_MAX_SETS + 2];
    size_t scene_count = att_grader_sets(judge, sets);
    memcpy(all, slips, count * sizeof *slips);
    memcpy(all + count, judge->made, judge->made_count * sizeof *slips);
    for (size_t i = 0; i < scene_count; i++)
        scenes[i] = (att_grade_scene){ .used = sets[i], .slips = slips, .slip_count = count };
    scenes[scene_count++] = (att_grade_scene){ .slips = slips, .slip_count = count };
    if (judge->made_count > 0)
        scenes[scene_count++] =
            (att_grade_scene){ .slips = all, .slip_count = count + judge->made_count };
    for (size_t i = 0; i < scene_count && !judge->out_of_memory; i++) {
        const att_matrix *value = att_grader_value(judge, &scenes[i], index);
        if (roughly ? att_grader_agrees_roughly(judge, &scenes[i], index, value)
                    : att_grader_agrees(judge, index, value, NULL))
            return true;
    }
    return false;
}

/* Remembers what was named, so that later answers can be explained by it. */
static void accept(att_grader *judge, const att_slip_site *slips, size_t count, att_mark *mark)
{
    bool named[ATT_SLIPS] = { false };
    for (size_t i = 0; i < count; i++) {
        if (!named[slips[i].slip] && mark->slip_count < ATT_MAX_SLIPS)
            name(mark, &operations[slips[i].slip], slips[i].line);
        named[slips[i].slip] = true;
        if (judge->made_count < ATT_MAX_SITES)
            judge->made[judge->made_count++] = slips[i];
    }
}

/* Other slips that give the same numbers: later answers may show which of them was made. Returns
 * the first of them, or NULL. */
static const att_slip_text *find_others(att_grader *judge, size_t index, att_slip made,
                                        bool roughly)
{
    const att_slip_text *first = NULL;
    for (size_t i = 0; i < judge->site_count && !judge->out_of_memory; i++) {
        const att_slip_site *site = &judge->sites[i];
        if (site->slip <= made || judge->other_count == ATT_COUNT(judge->others) ||
            !explains(judge, index, site, 1, roughly))
            continue;
        judge->others[judge->other_count++] = *site;
        first = first ? first : &operations[site->slip];
    }
    return first;
}

/* One slip at one operation, in the order of the table; or the same slip wherever it is possible.
 */
static bool find_one(att_grader *judge, size_t index, bool roughly, att_mark *mark)
{
    for (att_slip slip = 0; slip < ATT_SLIPS; slip++) {
        att_slip_site same[ATT_MAX_SITES];
        size_t count = 0;
        for (size_t i = 0; i < judge->site_count && !judge->out_of_memory; i++) {
            if (judge->sites[i].slip != slip)
                continue;
            same[count++] = judge->sites[i];
            if (explains(judge, index, &judge->sites[i], 1, roughly)) {
                const att_slip_text *other = find_others(judge, index, slip, roughly);
                accept(judge, &judge->sites[i], 1, mark);
                mark->slips[mark->slip_count - 1].other = other;
                return true;
            }
        }
        if (count > 1 && explains(judge, index, same, count, roughly)) {
            accept(judge, same, count, mark);
            return true;
        }
    }
    return false;
}

static bool find_two(att_grader *judge, size_t index, att_mark *mark)
{
    enum { MAX_SITES = 24 };
    size_t count = att_min_size(judge->site_count, MAX_SITES);
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count && !judge->out_of_memory; j++) {
            const att_slip_site pair[2] = { judge->sites[i], judge->sites[j] };
            if (explains(judge, index, pair, 2, false)) {
                accept(judge, pair, 2, mark);
                return true;
            }
        }
    return false;
}

/* Every value rounded, or cut off, before it is used: the nearest of those that agree. */
static bool find_early(att_grader *judge, size_t index, att_mark *mark)
{
    const att_slip_text *best = NULL;
    double nearest = (double)INFINITY;
    for (int decimals = 3; decimals >= 0; decimals--)
        for (int way = 0; way < 4 && !judge->out_of_memory; way++) {
            bool cut = way % 2 == 1;
            const att_grade_scene scene = { .used = way >= 2 ? judge->earlier : NULL,
                                            .rounds = !cut,
                                            .cuts = cut,
                                            .decimals = decimals };
            const att_matrix *value = att_grader_value(judge, &scene, index);
            double distance = att_grader_distance(judge, index, value);
            if (distance >= nearest || !att_grader_agrees(judge, index, value, NULL))
                continue;
            nearest = distance;
            best = cut ? &cut_early : &rounded_early;
        }
    if (best)
        name(mark, best, 0);
    return best != NULL;
}

void att_grader_find_slips(att_grader *judge, size_t index, att_mark *mark)
{
    struct references references = { 0 };
    const uint8_t *sets[ATT_MAX_SETS];
    size_t count = att_grader_sets(judge, sets);
    add_reference(&references, judge->sheet->asks[index]->value);
    for (size_t i = 0; i < count; i++) {
        const att_grade_scene scene = { .used = sets[i] };
        add_reference(&references, att_grader_value(judge, &scene, index));
    }
    const att_grade_scene slipped = { .slips = judge->made, .slip_count = judge->made_count };
    if (judge->made_count > 0)
        add_reference(&references, att_grader_value(judge, &slipped, index));
    if (find_form(judge, index, &references, mark)) {
        judge->formal[index] = 1;
        return;
    }
    if (find_one(judge, index, false, mark) || (count > 0 && find_one(judge, index, true, mark)) ||
        find_early(judge, index, mark))
        return;
    if (find_factor(judge, index, &references, mark))
        judge->formal[index] = 1;
    else
        find_two(judge, index, mark);
}
