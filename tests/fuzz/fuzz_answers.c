/* Any bytes as the answers to an exercise: read, graded, and reported in every format. */
#include "fuzz/fuzz.h"
#include "grade/judge.h"
#include "text/utf8.h"

static const char sheet[] = "# Exercise\n"
                            "given h = [1 2; 3 1; 0 2]\n"
                            "given s = [1 0.5]\n"
                            "a = attention(s, h, h)\n"
                            "ask a.products \"the products\" points 2\n"
                            "ask a.scores \"the scores\" points 2 within 0.01\n"
                            "ask a.weights \"the weights\" points 3 within 0.01\n"
                            "ask a \"the context\" points 2 partial to 2 decimals\n"
                            "m = [1 2; 3 4] * h'\n"
                            "ask m \"the matrix\" within 1 %\n";

static void check_text(const att_string *text)
{
    const char *data = text->data ? text->data : "";
    PROMISE(att_utf8_valid_prefix(data, text->length) == text->length);
    PROMISE(strpbrk(data, "\033\a\b") == NULL);
}

static void check_marks(const att_grading *grading)
{
    PROMISE(grading->points >= 0 && grading->points <= grading->max);
    for (size_t i = 0; i < grading->count; i++) {
        const att_mark *mark = &grading->marks[i];
        bool good = mark->outcome == ATT_OUTCOME_RIGHT || mark->outcome == ATT_OUTCOME_FOLLOWS;
        PROMISE(mark->points >= 0 && mark->points <= mark->max);
        PROMISE(!good || (mark->points == mark->max && mark->slip_count == 0));
        PROMISE(mark->right >= 0 && mark->right <= mark->elements);
        PROMISE((mark->outcome == ATT_OUTCOME_UNREADABLE) <= (mark->problem != NULL));
    }
}

static void check_reports(const att_grading *grading, size_t seed)
{
    static const att_format formats[] = { ATT_FORMAT_TEXT, ATT_FORMAT_MARKDOWN, ATT_FORMAT_HTML,
                                          ATT_FORMAT_JSON };
    const att_render_options options = { .size = sizeof(att_render_options),
                                         .format = formats[seed % 4] };
    att_string text = { 0 };
    PROMISE(att_grading_render(&text, grading, (att_grade_detail)(seed % 3), &options, NULL) ==
            ATT_OK);
    PROMISE(att_gradings_render(&text, &grading, 1, &options, NULL) == ATT_OK);
    PROMISE(att_gradings_csv(&text, &grading, 1, NULL) == ATT_OK);
    PROMISE(att_grading_gradescope(&text, grading, ATT_GRADE_EXPLAIN, NULL) == ATT_OK);
    check_text(&text);
    att_string_free(&text);
}

/* Numbers have the shape that they claim; what could not be read says why. */
static void check_answers(const att_student_answers *answers, const att_sheet *asked)
{
    for (size_t i = 0; i < answers->count; i++) {
        const att_student_answer *answer = &answers->items[i];
        const att_matrix *value = asked->asks[i]->value;
        bool has_numbers =
            answer->state == ATT_ANSWER_READ || answer->state == ATT_ANSWER_MISSHAPEN;
        PROMISE(!has_numbers || (answer->numbers.values && answer->numbers.units &&
                                 answer->numbers.rows > 0 && answer->numbers.cols > 0));
        PROMISE(answer->state != ATT_ANSWER_READ ||
                (answer->numbers.rows == value->rows && answer->numbers.cols == value->cols));
        PROMISE(answer->state != ATT_ANSWER_UNREADABLE || answer->problem);
    }
}

static void read_answers(const att_exercise *exercise, const uint8_t *data, size_t size)
{
    att_sheet *asked;
    att_student_answers answers;
    att_error err = { 0 };
    PROMISE(att_exercise_compute(&asked, exercise, "1", &err) == ATT_OK);
    att_status status = att_student_answers_read(&answers, asked, data, size, "answers", &err);
    if (status == ATT_OK)
        check_answers(&answers, asked);
    else
        check_refusal(status, &err);
    att_student_answers_free(&answers);
    att_sheet_free(asked);
}

/* Reading is fast; grading computes the sheet hundreds of times, so only some inputs are graded. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_exercise *exercise;
    att_grading *grading;
    PROMISE(att_exercise_read(&exercise, sheet, strlen(sheet), "sheet", NULL, &err) == ATT_OK);
    read_answers(exercise, data, size);
    if (size % 16 == 0 && att_exercise_grade(&grading, exercise, "student", "1", data, size,
                                             "answers", &err) == ATT_OK) {
        check_marks(grading);
        check_reports(grading, size / 16);
        att_grading_free(grading);
    }
    att_exercise_free(exercise);
    PROMISE(att_alloc_live() == live);
    return 0;
}
