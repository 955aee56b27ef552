/* The outcome of one answer: right by the truth, right by what follows from earlier answers, wrong.
 */
#include "grade/judge.h"

#include "base/math.h"

#include <float.h>
#include <math.h>
#include <string.h>

const char *att_grade_outcome_name(att_grade_outcome outcome)
{
    static const char *const names[] = {
        [ATT_OUTCOME_RIGHT] = "right",       [ATT_OUTCOME_FOLLOWS] = "follows",
        [ATT_OUTCOME_WITHHELD] = "withheld", [ATT_OUTCOME_WRONG] = "wrong",
        [ATT_OUTCOME_MISSING] = "missing",   [ATT_OUTCOME_UNREADABLE] = "unreadable",
    };
    return names[outcome];
}

/* ---- Values */

static const att_matrix *keep(att_grader *judge, const att_matrix *from)
{
    att_matrix *to = att_matrix_new(judge->arena, from->rows, from->cols);
    if (!to) {
        judge->out_of_memory = true;
        return NULL;
    }
    memcpy(to->data, from->data, (size_t)(from->rows * from->cols) * sizeof(double));
    return to;
}

/* A masked pair may be left blank, or hold what people write for minus infinity. */
static bool is_masked(const att_matrix *truth, int64_t i)
{
    return (truth->allowed && !truth->allowed[i]) || truth->data[i] == -(double)INFINITY;
}

/* The numbers of an answer in place of computed ones. */
static att_status substitute(att_grader *judge, size_t index, att_substitute *out)
{
    const att_ask *ask = judge->sheet->asks[index];
    const att_numbers *numbers = &judge->answers->items[index].numbers;
    int64_t size = numbers->rows * numbers->cols;
    int64_t *places = att_arena_alloc(judge->arena, (size_t)size, sizeof *places);
    double *values = att_arena_alloc(judge->arena, (size_t)size, sizeof *values);
    size_t count = 0;
    if (!places || !values)
        return ATT_NO_MEMORY;
    for (int64_t i = 0; i < size; i++) {
        if (isnan(numbers->values[i]) || ask->value->data[i] == -(double)INFINITY)
            continue;
        places[count] = ask->places[i];
        values[count++] = numbers->values[i];
    }
    *out = (att_substitute){ ask->line, ask->target, ask->part, ask->head, places, values, count };
    return ATT_OK;
}

const att_matrix *att_grader_value(att_grader *judge, const att_grade_scene *scene, size_t index)
{
    size_t asks = judge->sheet->ask_count, count = 0;
    att_substitute *rows = att_arena_alloc(judge->arena, asks, sizeof *rows);
    att_sheet *sheet = NULL;
    att_status status = rows ? ATT_OK : ATT_NO_MEMORY;
    for (size_t i = 0; i < asks && status == ATT_OK && scene->used; i++)
        if (scene->used[i])
            status = substitute(judge, i, &rows[count++]);
    att_scenario scenario = { .draw = judge->sheet->draw,
                              .substitutes = rows,
                              .substitute_count = count,
                              .slips = scene->slips,
                              .slip_count = scene->slip_count,
                              .rounds = scene->rounds,
                              .cuts = scene->cuts,
                              .decimals = scene->decimals };
    if (status == ATT_OK)
        status =
            att_exercise_compute_scenario(&sheet, judge->exercise, judge->variant, &scenario, NULL);
    judge->cancelled = judge->cancelled || status == ATT_CANCELLED;
    judge->out_of_memory =
        judge->out_of_memory || status == ATT_NO_MEMORY || status == ATT_CANCELLED;
    const att_matrix *value =
        sheet && index < sheet->ask_count ? keep(judge, sheet->asks[index]->value) : NULL;
    att_sheet_free(sheet);
    return value;
}

/* ---- Right or wrong */

/* The power of ten of the first digit of the largest element. */
static double magnitude(const att_matrix *value)
{
    double largest = 0;
    for (int64_t i = 0; i < value->rows * value->cols; i++)
        if (isfinite(value->data[i]))
            largest = fmax(largest, fabs(value->data[i]));
    return largest > 0 ? floor(att_log(largest) / att_log(10) + 1e-9) : 0;
}

/* The difference that the rule of the ask allows; `unit` is that of the answer's last digit. */
static double allowed(const att_ask *ask, double expected, double first, double unit)
{
    if (ask->rounded) { /* half a unit, where at least two digits have to be right */
        double most = 0.5 * att_pow(10, first - 1);
        return unit == ATT_UNIT_EXACT ? most / 10 : fmin(0.5 * unit, most);
    }
    if (ask->rule == ATT_RULE_PERCENT)
        return ask->tolerance / 100 * fabs(expected);
    if (ask->rule == ATT_RULE_DECIMALS)
        return 0.5 * att_pow(10, -ask->digits);
    if (ask->rule == ATT_RULE_DIGITS) {
        double own = expected != 0 ? floor(att_log(fabs(expected)) / att_log(10) + 1e-9) : -1;
        return 0.5 * att_pow(10, own + 1 - ask->digits);
    }
    return ask->tolerance;
}

static bool is_near(double x, double expected, bool masked, double tolerance)
{
    if (masked && (isnan(x) || x <= -1e4))
        return true;
    if (!isfinite(x) || !isfinite(expected))
        return x == expected || (isnan(x) && isnan(expected));
    double slack = 1e-9 * fmax(fabs(x), fabs(expected)) + 8 * DBL_EPSILON;
    return fabs(x - expected) <= tolerance + slack;
}

int64_t att_grader_agreement(const att_grader *judge, size_t index, const att_matrix *value,
                             const double *slack)
{
    const att_ask *ask = judge->sheet->asks[index];
    const att_numbers *numbers = &judge->answers->items[index].numbers;
    if (!value || value->rows != numbers->rows || value->cols != numbers->cols)
        return -1;
    bool same_shape = value->rows == ask->value->rows && value->cols == ask->value->cols;
    double first = magnitude(value);
    int64_t right = 0;
    for (int64_t i = 0; i < value->rows * value->cols; i++) {
        double tolerance = allowed(ask, value->data[i], first, numbers->units[i]);
        double most = fmax(4 * tolerance, 0.02 * att_pow(10, first));
        if (slack)
            tolerance += fmin(slack[i], most);
        bool masked =
            (same_shape && is_masked(ask->value, i)) || value->data[i] == -(double)INFINITY;
        right += is_near(numbers->values[i], value->data[i], masked, tolerance);
    }
    return right;
}

bool att_grader_agrees(const att_grader *judge, size_t index, const att_matrix *value,
                       const double *slack)
{
    const att_numbers *numbers = &judge->answers->items[index].numbers;
    return att_grader_agreement(judge, index, value, slack) == numbers->rows * numbers->cols;
}

double att_grader_distance(const att_grader *judge, size_t index, const att_matrix *value)
{
    const att_numbers *numbers = &judge->answers->items[index].numbers;
    double most = 0;
    if (!value || value->rows != numbers->rows || value->cols != numbers->cols)
        return (double)INFINITY;
    for (int64_t i = 0; i < value->rows * value->cols; i++)
        if (isfinite(value->data[i]) && isfinite(numbers->values[i]))
            most = fmax(most, fabs(value->data[i] - numbers->values[i]));
    return most;
}

/* ---- What follows from earlier answers */

/* Whether a number that is carried on makes what follows trivial: all equal, zero, not finite. */
static bool is_trivial(const double *values, int64_t count)
{
    bool equal = count > 1, zero = true;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            return true;
        equal = equal && values[i] == values[0];
        zero = zero && values[i] == 0;
    }
    return equal || zero;
}

const double *att_grader_slack(att_grader *judge, const att_grade_scene *scene, size_t index,
                               const att_matrix *value)
{
    enum { MAX_RUNS = 120 };
    int runs = 0;
    double *slack =
        att_arena_alloc(judge->arena, (size_t)(value->rows * value->cols), sizeof *slack);
    judge->out_of_memory = judge->out_of_memory || !slack;
    for (size_t j = 0; slack && scene->used && j < index; j++) {
        const att_numbers *numbers = &judge->answers->items[j].numbers;
        for (int64_t e = 0; scene->used[j] && e < numbers->rows * numbers->cols; e++) {
            double before = numbers->values[e];
            if (numbers->units[e] <= 0 || !isfinite(before) || runs++ >= MAX_RUNS)
                continue;
            double truth = judge->sheet->asks[j]->value->data[e];
            numbers->values[e] = judge->wrong[j] ? before + 0.5 * numbers->units[e] : truth;
            const att_matrix *moved = att_grader_value(judge, scene, index);
            numbers->values[e] = before;
            bool same = moved && moved->rows == value->rows && moved->cols == value->cols;
            for (int64_t i = 0; same && i < value->rows * value->cols; i++)
                if (isfinite(moved->data[i]) && isfinite(value->data[i]))
                    slack[i] += fabs(moved->data[i] - value->data[i]);
        }
    }
    return slack;
}

/* Whether the answer is near enough for rounding to explain the rest. */
static bool is_rough(att_grader *judge, size_t index, const att_matrix *value)
{
    double *most = att_arena_alloc(judge->arena, (size_t)(value->rows * value->cols), sizeof *most);
    judge->out_of_memory = judge->out_of_memory || !most;
    for (int64_t i = 0; most && i < value->rows * value->cols; i++)
        most[i] = (double)INFINITY;
    return most && att_grader_agrees(judge, index, value, most);
}

bool att_grader_agrees_roughly(att_grader *judge, const att_grade_scene *scene, size_t index,
                               const att_matrix *value)
{
    const att_numbers *numbers = &judge->answers->items[index].numbers;
    if (!value || value->rows != numbers->rows || value->cols != numbers->cols ||
        !is_rough(judge, index, value))
        return false;
    return att_grader_agrees(judge, index, value, att_grader_slack(judge, scene, index, value));
}

static bool any(const uint8_t *flags, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (flags[i])
            return true;
    return false;
}

static bool same_numbers(const att_matrix *a, const att_matrix *b)
{
    if (!a || !b || a->rows != b->rows || a->cols != b->cols)
        return false;
    for (int64_t i = 0; i < a->rows * a->cols; i++)
        if (!is_near(a->data[i], b->data[i], false, 1e-9 * (1 + fabs(b->data[i]))))
            return false;
    return true;
}

/* Marks the wrong steps without which the value would be another. */
static void find_carried(att_grader *judge, size_t index, const uint8_t *used,
                         const att_matrix *value, att_mark *mark)
{
    size_t asks = judge->sheet->ask_count;
    uint8_t *carried = att_arena_alloc(&judge->grading->arena, asks, 1);
    uint8_t *without = att_arena_alloc(judge->arena, asks, 1);
    judge->out_of_memory = judge->out_of_memory || !carried || !without;
    if (!carried || !without)
        return;
    for (size_t j = 0; j < index; j++) {
        if (!judge->wrong[j] || !used[j])
            continue;
        memcpy(without, used, asks);
        without[j] = 0;
        const att_grade_scene scene = { .used = without };
        carried[j] = !same_numbers(att_grader_value(judge, &scene, index), value);
    }
    for (size_t j = index; j-- > 0 && !any(carried, asks);)
        carried[j] = judge->wrong[j];
    mark->carried = carried;
}

/* Whether the answer follows from a trivial value, or is itself trivial where the truth is not. */
static bool follows_trivially(const att_grader *judge, size_t index, const att_matrix *value,
                              const att_mark *mark)
{
    const att_matrix *truth = judge->sheet->asks[index]->value;
    int64_t count = truth->rows * truth->cols;
    if (is_trivial(value->data, value->rows * value->cols) && !is_trivial(truth->data, count))
        return true;
    for (size_t j = 0; mark->carried && j < index; j++) {
        const att_numbers *numbers = &judge->answers->items[j].numbers;
        const att_matrix *of = judge->sheet->asks[j]->value;
        if (mark->carried[j] && is_trivial(numbers->values, numbers->rows * numbers->cols) &&
            !is_trivial(of->data, of->rows * of->cols))
            return true;
    }
    return false;
}

size_t att_grader_sets(att_grader *judge, const uint8_t *out[ATT_MAX_SETS])
{
    size_t asks = judge->sheet->ask_count, count = 0;
    const uint8_t *from[] = { judge->wrong, judge->earlier };
    for (int i = 0; i < ATT_MAX_SETS; i++) {
        uint8_t *set = att_arena_alloc(judge->arena, asks, 1);
        if (!set) {
            judge->out_of_memory = true;
            return 0;
        }
        for (size_t j = 0; j < asks; j++)
            set[j] = from[i % 2][j] && !(i >= 2 && judge->formal[j]);
        bool known = !any(set, asks);
        for (size_t j = 0; j < count; j++)
            known = known || memcmp(out[j], set, asks) == 0;
        if (!known)
            out[count++] = set;
    }
    return count;
}

static bool share(const uint8_t *a, const uint8_t *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i] && b[i])
            return true;
    return false;
}

/* The answer agrees with `value`, which follows from the answers of `used`. */
static void accept(att_grader *judge, size_t index, const uint8_t *used, const att_matrix *value,
                   att_mark *mark)
{
    bool depends = share(used, judge->wrong, judge->sheet->ask_count) &&
                   !same_numbers(value, judge->sheet->asks[index]->value);
    mark->outcome = depends ? ATT_OUTCOME_FOLLOWS : ATT_OUTCOME_RIGHT;
    if (!depends)
        return;
    find_carried(judge, index, used, value, mark);
    if (follows_trivially(judge, index, value, mark))
        mark->outcome = ATT_OUTCOME_WITHHELD;
}

/* Compares with what follows from earlier answers, or from the slips that explain them, which are
 * exact. True: the answer follows. */
static bool follows(att_grader *judge, size_t index, att_mark *mark)
{
    const uint8_t *sets[ATT_MAX_SETS];
    const att_matrix *values[ATT_MAX_SETS];
    size_t count = att_grader_sets(judge, sets);
    const att_matrix *truth = judge->sheet->asks[index]->value;
    bool depends = false;
    for (size_t i = 0; i < count; i++) {
        const att_grade_scene scene = { .used = sets[i] };
        values[i] = att_grader_value(judge, &scene, index);
        depends = depends || (values[i] && !same_numbers(values[i], truth));
        if (!att_grader_agrees(judge, index, values[i], NULL))
            continue;
        accept(judge, index, sets[i], values[i], mark);
        return true;
    }
    const att_grade_scene slipped = { .slips = judge->made, .slip_count = judge->made_count };
    const att_matrix *again =
        depends && judge->made_count ? att_grader_value(judge, &slipped, index) : NULL;
    for (size_t i = 0; depends && i < judge->other_count; i++) {
        const att_grade_scene instead = { .slips = &judge->others[i], .slip_count = 1 };
        if (!att_grader_agrees(judge, index, again, NULL))
            again = att_grader_value(judge, &instead, index);
    }
    if (count > 0 && att_grader_agrees(judge, index, again, NULL)) {
        accept(judge, index, sets[0], again, mark);
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        const att_grade_scene scene = { .used = sets[i] };
        if (!att_grader_agrees_roughly(judge, &scene, index, values[i]))
            continue;
        accept(judge, index, sets[i], values[i], mark);
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t right = att_grader_agreement(judge, index, values[i], NULL);
        mark->right = right > mark->right ? right : mark->right;
    }
    return false;
}

/* ---- One answer */

static void set_points(const att_ask *ask, att_mark *mark)
{
    bool full = mark->outcome == ATT_OUTCOME_RIGHT || mark->outcome == ATT_OUTCOME_FOLLOWS;
    if (full)
        mark->right = mark->elements;
    if (full)
        mark->points = ask->points;
    else if (ask->partial && mark->outcome == ATT_OUTCOME_WRONG && mark->right > 0)
        mark->points = ask->points * (double)mark->right / (double)mark->elements;
}

void att_grader_answer(att_grader *judge, size_t index, att_mark *mark)
{
    const att_ask *ask = judge->sheet->asks[index];
    const att_student_answer *answer = &judge->answers->items[index];
    mark->line = answer->line;
    mark->cell = answer->cell;
    mark->turned = answer->turned;
    mark->problem = answer->problem;
    if (answer->state == ATT_ANSWER_MISSING || answer->state == ATT_ANSWER_UNREADABLE) {
        mark->outcome =
            answer->state == ATT_ANSWER_MISSING ? ATT_OUTCOME_MISSING : ATT_OUTCOME_UNREADABLE;
        return;
    }
    mark->given = &answer->numbers;
    mark->outcome = ATT_OUTCOME_WRONG;
    int64_t right = att_grader_agreement(judge, index, ask->value, NULL);
    mark->right = right > 0 ? right : 0;
    if (right == mark->elements)
        mark->outcome = ATT_OUTCOME_RIGHT;
    else if (answer->state != ATT_ANSWER_READ || !follows(judge, index, mark))
        att_grader_find_slips(judge, index, mark);
    if (answer->state == ATT_ANSWER_READ && ask->target) {
        judge->earlier[index] = 1;
        judge->wrong[index] = mark->outcome != ATT_OUTCOME_RIGHT;
    }
    set_points(ask, mark);
}
