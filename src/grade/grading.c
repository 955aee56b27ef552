/* The grading of a student: reads the answers, judges one after the other, and keeps what reports
 * need. */
#include "base/alloc.h"
#include "base/file.h"
#include "grade/judge.h"

#include <string.h>

/* ---- All answers */

/* Finds the places where a slip is possible. */
static att_status find_sites(att_grader *judge)
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

static const char *copy_text(att_grader *judge, const char *text)
{
    char *to = text ? att_arena_strndup(&judge->grading->arena, text, strlen(text)) : NULL;
    judge->out_of_memory = judge->out_of_memory || (text && !to);
    return to;
}

/* What the report needs of the ask, so that the grading stands alone. */
static void describe(att_grader *judge, size_t index, att_mark *mark)
{
    const att_ask *ask = judge->sheet->asks[index];
    att_arena *arena = &judge->grading->arena;
    mark->number = index + 1;
    mark->name = copy_text(judge, ask->name);
    mark->description = copy_text(judge, ask->description);
    for (size_t i = 0; i < ATT_MAX_HINTS; i++)
        mark->hints[i] = copy_text(judge, ask->hints[i]);
    mark->max = ask->points;
    mark->outcome = ATT_OUTCOME_MISSING;
    mark->elements = ask->value->rows * ask->value->cols;
    att_matrix *truth = att_matrix_new(arena, ask->value->rows, ask->value->cols);
    judge->out_of_memory = judge->out_of_memory || !truth;
    if (truth)
        memcpy(truth->data, ask->value->data, (size_t)mark->elements * sizeof(double));
    mark->truth = truth;
}

/* The numbers and problems move to the grading, which outlives the answers. */
static void keep_given(att_grader *judge, att_mark *mark)
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

static void describe_exercise(att_grader *judge, const char *student)
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
static void note_variant(att_grader *judge)
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

static att_status judge_all(att_grader *judge)
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
        att_grader_answer(judge, i, &grading->marks[i]);
        grading->points += grading->marks[i].points;
        att_arena_free(&scratch);
    }
    note_variant(judge);
    for (size_t i = 0; i < asks; i++)
        keep_given(judge, &grading->marks[i]);
    if (judge->cancelled)
        return att_fail(judge->err, ATT_CANCELLED, NULL, "cancelled by the caller while grading");
    return judge->out_of_memory ? att_fail_memory(judge->err) : ATT_OK;
}

static att_status start(att_grader *judge, const char *student)
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
static att_status read_and_judge(att_grader *judge, const void *bytes, size_t size,
                                 const char *name)
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
    att_grader *judge = att_alloc_zero(1, sizeof *judge);
    att_grading *grading = att_alloc_zero(1, sizeof *grading);
    att_status status = judge && grading ? ATT_OK : att_fail_memory(err);
    if (status == ATT_OK) {
        *judge = (att_grader){
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
    if (status == ATT_SYSTEM) /* not the fault of the answers: nobody is graded without them */
        return att_fail(err, status, problem.place, "%s", problem.message);
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
