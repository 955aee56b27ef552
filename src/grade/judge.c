/* Judges the answers of a student, one after the other. */
#include "grade/judge.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/math.h"

#include <float.h>
#include <math.h>
#include <string.h>

const char *att_verdict_name(att_verdict verdict)
{
    static const char *const names[] = {
        [ATT_VERDICT_RIGHT] = "right",       [ATT_VERDICT_FOLLOWS] = "follows",
        [ATT_VERDICT_WITHHELD] = "withheld", [ATT_VERDICT_WRONG] = "wrong",
        [ATT_VERDICT_MISSING] = "missing",   [ATT_VERDICT_UNREADABLE] = "unreadable",
    };
    return names[verdict];
}

/* ---- Values */

static const att_matrix *keep(att_judge *judge, const att_matrix *from)
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
static att_status substitute(att_judge *judge, size_t index, att_substitute *out)
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

const att_matrix *att_judge_value(att_judge *judge, const att_grade_scene *scene, size_t index)
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
    judge->out_of_memory = judge->out_of_memory || status == ATT_NO_MEMORY;
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

int64_t att_judge_agreement(const att_judge *judge, size_t index, const att_matrix *value,
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

bool att_judge_agrees(const att_judge *judge, size_t index, const att_matrix *value,
                      const double *slack)
{
    const att_numbers *numbers = &judge->answers->items[index].numbers;
    return att_judge_agreement(judge, index, value, slack) == numbers->rows * numbers->cols;
}

double att_judge_distance(const att_judge *judge, size_t index, const att_matrix *value)
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

const double *att_judge_slack(att_judge *judge, const att_grade_scene *scene, size_t index,
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
            const att_matrix *moved = att_judge_value(judge, scene, index);
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
static bool is_rough(att_judge *judge, size_t index, const att_matrix *value)
{
    double *most = att_arena_alloc(judge->arena, (size_t)(value->rows * value->cols), sizeof *most);
    judge->out_of_memory = judge->out_of_memory || !most;
    for (int64_t i = 0; most && i < value->rows * value->cols; i++)
        most[i] = (double)INFINITY;
    return most && att_judge_agrees(judge, index, value, most);
}

bool att_judge_agrees_roughly(att_judge *judge, const att_grade_scene *scene, size_t index,
                              const att_matrix *value)
{
    const att_numbers *numbers = &judge->answers->items[index].numbers;
    if (!value || value->rows != numbers->rows || value->cols != numbers->cols ||
        !is_rough(judge, index, value))
        return false;
    return att_judge_agrees(judge, index, value, att_judge_slack(judge, scene, index, value));
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
static void find_carried(att_judge *judge, size_t index, const uint8_t *used,
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
        carried[j] = !same_numbers(att_judge_value(judge, &scene, index), value);
    }
    for (size_t j = index; j-- > 0 && !any(carried, asks);)
        carried[j] = judge->wrong[j];
    mark->carried = carried;
}

/* Whether the answer follows from a trivial value, or is itself trivial where the truth is not. */
static bool follows_trivially(const att_judge *judge, size_t index, const att_matrix *value,
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

size_t att_judge_sets(att_judge *judge, const uint8_t *out[ATT_MAX_SETS])
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
static void accept(att_judge *judge, size_t index, const uint8_t *used, const att_matrix *value,
                   att_mark *mark)
{
    bool depends = share(used, judge->wrong, judge->sheet->ask_count) &&
                   !same_numbers(value, judge->sheet->asks[index]->value);
    mark->verdict = depends ? ATT_VERDICT_FOLLOWS : ATT_VERDICT_RIGHT;
    if (!depends)
        return;
    find_carried(judge, index, used, value, mark);
    if (follows_trivially(judge, index, value, mark))
        mark->verdict = ATT_VERDICT_WITHHELD;
}

/* Compares with what follows from earlier answers, or from the slips that explain them, which are
 * exact. True: the answer follows. */
static bool follows(att_judge *judge, size_t index, att_mark *mark)
{
    const uint8_t *sets[ATT_MAX_SETS];
    const att_matrix *values[ATT_MAX_SETS];
    size_t count = att_judge_sets(judge, sets);
    const att_matrix *truth = judge->sheet->asks[index]->value;
    bool depends = false;
    for (size_t i = 0; i < count; i++) {
        const att_grade_scene scene = { .used = sets[i] };
        values[i] = att_judge_value(judge, &scene, index);
        depends = depends || (values[i] && !same_numbers(values[i], truth));
        if (!att_judge_agrees(judge, index, values[i], NULL))
            continue;
        accept(judge, index, sets[i], values[i], mark);
        return true;
    }
    const att_grade_scene slipped = { .slips = judge->made, .slip_count = judge->made_count };
    const att_matrix *again =
        depends && judge->made_count ? att_judge_value(judge, &slipped, index) : NULL;
    for (size_t i = 0; depends && i < judge->other_count; i++) {
        const att_grade_scene instead = { .slips = &judge->others[i], .slip_count = 1 };
        if (!att_judge_agrees(judge, index, again, NULL))
            again = att_judge_value(judge, &instead, index);
    }
    if (count > 0 && att_judge_agrees(judge, index, again, NULL)) {
        accept(judge, index, sets[0], again, mark);
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        const att_grade_scene scene = { .used = sets[i] };
        if (!att_judge_agrees_roughly(judge, &scene, index, values[i]))
            continue;
        accept(judge, index, sets[i], values[i], mark);
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t right = att_judge_agreement(judge, index, values[i], NULL);
        mark->right = right > mark->right ? right : mark->right;
    }
    return false;
}

/* ---- One answer */

static void set_points(const att_ask *ask, att_mark *mark)
{
    bool full = mark->verdict == ATT_VERDICT_RIGHT || mark->verdict == ATT_VERDICT_FOLLOWS;
    if (full)
        mark->right = mark->elements;
    if (full)
        mark->points = ask->points;
    else if (ask->partial && mark->verdict == ATT_VERDICT_WRONG && mark->right > 0)
        mark->points = ask->points * (double)mark->right / (double)mark->elements;
}

static void judge_answer(att_judge *judge, size_t index, att_mark *mark)
{
    const att_ask *ask = judge->sheet->asks[index];
    const att_student_answer *answer = &judge->answers->items[index];
    mark->line = answer->line;
    mark->cell = answer->cell;
    mark->turned = answer->turned;
    mark->problem = answer->problem;
    if (answer->state == ATT_ANSWER_MISSING || answer->state == ATT_ANSWER_UNREADABLE) {
        mark->verdict =
            answer->state == ATT_ANSWER_MISSING ? ATT_VERDICT_MISSING : ATT_VERDICT_UNREADABLE;
        return;
    }
    mark->given = &answer->numbers;
    mark->verdict = ATT_VERDICT_WRONG;
    int64_t right = att_judge_agreement(judge, index, ask->value, NULL);
    mark->right = right > 0 ? right : 0;
    if (right == mark->elements)
        mark->verdict = ATT_VERDICT_RIGHT;
    else if (answer->state != ATT_ANSWER_READ || !follows(judge, index, mark))
        att_judge_find_slips(judge, index, mark);
    if (answer->state == ATT_ANSWER_READ && ask->target) {
        judge->earlier[index] = 1;
        judge->wrong[index] = mark->verdict != ATT_VERDICT_RIGHT;
    }
    set_points(ask, mark);
}

/* ---- All answers */

/* Finds the places where a slip is possible. */
static att_status find_sites(att_judge *judge)
{
    att_sheet *sheet;
    att_scenario scenario = { .draw = judge->sheet->draw,
                              .sites = judge->sites,
                              .site_capacity = ATT_MAX_SITES };
    ATT_TRY(att_exercise_compute_scenario(&sheet, judge->exercise, judge->variant, &scenario,
                                          judge->err));
    judge->site_count = scenario.site_count;
    att_sheet_free(sheet);
    return ATT_OK;
}

static const char *copy_text(att_judge *judge, const char *text)
{
    char *to = text ? att_arena_strndup(&judge->grading->arena, text, strlen(text)) : NULL;
    judge->out_of_memory = judge->out_of_memory || (text && !to);
    return to;
}

/* What the report needs of the ask, so that the grading stands alone. */
static void describe(att_judge *judge, size_t index, att_mark *mark)
{
    const att_ask *ask = judge->sheet->asks[index];
    att_arena *arena = &judge->grading->arena;
    mark->number = index + 1;
    mark->name = copy_text(judge, ask->name);
    mark->description = copy_text(judge, ask->description);
    for (size_t i = 0; i < ATT_MAX_HINTS; i++)
        mark->hints[i] = copy_text(judge, ask->hints[i]);
    mark->max = ask->points;
    mark->verdict = ATT_VERDICT_MISSING;
    mark->elements = ask->value->rows * ask->value->cols;
    att_matrix *truth = att_matrix_new(arena, ask->value->rows, ask->value->cols);
    judge->out_of_memory = judge->out_of_memory || !truth;
    if (truth)
        memcpy(truth->data, ask->value->data, (size_t)mark->elements * sizeof(double));
    mark->truth = truth;
}

/* The numbers and problems move to the grading, which outlives the answers. */
static void keep_given(att_judge *judge, att_mark *mark)
{
    mark->problem = copy_text(judge, mark->problem);
    if (!mark->given)
        return;
    size_t count = (size_t)(mark->given->rows * mark->given->cols);
    att_numbers *kept = att_arena_alloc(&judge->grading->arena, 1, sizeof *kept);
    double *values = att_arena_alloc(&judge->grading->arena, count, sizeof *values);
    judge->out_of_memory = judge->out_of_memory || !kept || !values;
    if (!kept || !values)
        return;
    memcpy(values, mark->given->values, count * sizeof *values);
    *kept = (att_numbers){ mark->given->rows, mark->given->cols, mark->given->flat, values, NULL };
    mark->given = kept;
}

static void describe_exercise(att_judge *judge, const char *student)
{
    const att_sheet *sheet = judge->sheet;
    att_grading *grading = judge->grading;
    grading->exercise = copy_text(judge, judge->exercise->name);
    grading->student = copy_text(judge, student);
    grading->variant = sheet->random ? copy_text(judge, judge->variant) : NULL;
    grading->title = grading->exercise;
    for (size_t i = sheet->step_count; i-- > 0;)
        if (sheet->steps[i].kind == ATT_STEP_HEADING)
            grading->title = copy_text(judge, sheet->steps[i].text);
}

/* A variant that the answers state has to be the one that is graded. */
static void note_variant(att_judge *judge)
{
    const char *stated = judge->answers->variant;
    if (stated && judge->sheet->random && strcmp(stated, judge->variant) != 0)
        judge->grading->note =
            att_arena_printf(&judge->grading->arena, "the answers state variant %s", stated);
    else
        judge->grading->note = copy_text(judge, judge->answers->note);
    judge->out_of_memory =
        judge->out_of_memory || (stated && judge->sheet->random && !judge->grading->note &&
                                 strcmp(stated, judge->variant) != 0);
}

static att_status judge_all(att_judge *judge)
{
    size_t asks = judge->sheet->ask_count;
    att_grading *grading = judge->grading;
    att_arena scratch = { .limit = (size_t)1 << 30 };
    judge->earlier = att_arena_alloc(&grading->arena, asks, 1);
    judge->wrong = att_arena_alloc(&grading->arena, asks, 1);
    judge->formal = att_arena_alloc(&grading->arena, asks, 1);
    if (!judge->earlier || !judge->wrong || !judge->formal)
        return att_fail_memory(judge->err);
    ATT_TRY(find_sites(judge));
    judge->arena = &scratch;
    for (size_t i = 0; i < asks && !judge->out_of_memory; i++) {
        judge_answer(judge, i, &grading->marks[i]);
        grading->points += grading->marks[i].points;
        att_arena_free(&scratch);
    }
    note_variant(judge);
    for (size_t i = 0; i < asks; i++)
        keep_given(judge, &grading->marks[i]);
    return judge->out_of_memory ? att_fail_memory(judge->err) : ATT_OK;
}

static att_status start(att_judge *judge, const char *student)
{
    size_t asks = judge->sheet->ask_count;
    att_grading *grading = judge->grading;
    grading->marks = att_arena_alloc(&grading->arena, asks, sizeof *grading->marks);
    if (!grading->marks)
        return att_fail_memory(judge->err);
    grading->count = asks;
    describe_exercise(judge, student);
    for (size_t i = 0; i < asks; i++) {
        describe(judge, i, &grading->marks[i]);
        grading->max += grading->marks[i].max;
    }
    return judge->out_of_memory ? att_fail_memory(judge->err) : ATT_OK;
}

/* Reads the answers and judges them; answers that cannot be read are the grading's problem. */
static att_status read_and_judge(att_judge *judge, const void *bytes, size_t size, const char *name)
{
    att_student_answers answers;
    att_error problem = { 0 };
    att_status status =
        att_student_answers_read(&answers, judge->sheet, bytes, size, name, &problem);
    judge->answers = &answers;
    if (status == ATT_OK)
        status = judge_all(judge);
    else if (status == ATT_BAD_INPUT || status == ATT_UNSUPPORTED) {
        judge->grading->problem = copy_text(judge, problem.message);
        status = judge->out_of_memory ? att_fail_memory(judge->err) : ATT_OK;
    } else if (judge->err) {
        *judge->err = problem;
    }
    att_student_answers_free(&answers);
    return status;
}

/* `bytes` NULL: the file could not be read, for the reason `problem`. */
static att_status grade(att_grading **out, const att_exercise *exercise, const char *student,
                        const char *variant, const void *bytes, size_t size, const char *name,
                        const char *problem, att_error *err)
{
    att_sheet *sheet;
    *out = NULL;
    ATT_TRY(att_exercise_compute(&sheet, exercise, variant, err));
    att_judge *judge = att_alloc_zero(1, sizeof *judge);
    att_grading *grading = att_alloc_zero(1, sizeof *grading);
    att_status status = judge && grading ? ATT_OK : att_fail_memory(err);
    if (status == ATT_OK) {
        *judge = (att_judge){
            .exercise = exercise, .variant = variant, .sheet = sheet, .grading = grading, .err = err
        };
        status = start(judge, student);
        if (status == ATT_OK && bytes)
            status = read_and_judge(judge, bytes, size, name);
        else if (status == ATT_OK && !(grading->problem = copy_text(judge, problem)))
            status = att_fail_memory(err);
    }
    if (status == ATT_OK)
        *out = grading;
    else
        att_grading_free(grading);
    att_free(judge);
    att_sheet_free(sheet);
    return status;
}

att_status att_exercise_grade(att_grading **out, const att_exercise *exercise, const char *student,
                              const char *variant, const void *answers, size_t size,
                              const char *name, att_error *err)
{
    return grade(out, exercise, student, variant, answers ? answers : "", size, name, NULL, err);
}

att_status att_exercise_grade_file(att_grading **out, const att_exercise *exercise,
                                   const char *student, const char *variant, const char *path,
                                   att_error *err)
{
    att_string bytes = { 0 };
    att_error problem = { 0 };
    *out = NULL;
    att_status status = att_file_read(&bytes, path, ATT_MAX_ANSWERS, &problem);
    if (status == ATT_NO_MEMORY)
        return att_fail_memory(err);
    status = status == ATT_OK
                 ? grade(out, exercise, student, variant, bytes.data ? bytes.data : "",
                         bytes.length, path, NULL, err)
                 : grade(out, exercise, student, variant, NULL, 0, path, problem.message, err);
    att_string_free(&bytes);
    return status;
}

void att_grading_free(att_grading *grading)
{
    if (!grading)
        return;
    att_arena_free(&grading->arena);
    att_free(grading);
}

const char *att_grading_problem(const att_grading *grading)
{
    return grading->problem;
}

double att_grading_points(const att_grading *grading, double *max)
{
    if (max)
        *max = grading->max;
    return grading->points;
}
