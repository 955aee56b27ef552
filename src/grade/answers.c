/* The answers of a student: setting one, or an element of one, and reading a file of any kind. */
#define _GNU_SOURCE /* memmem() */
#include "grade/answers.h"

#include "base/string.h"
#include "tensor/bundle.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- Setting answers */

att_status att_student_answers_set(att_student_answers *out, const att_sheet *sheet, size_t index,
                                   const att_numbers *numbers, int line, int cell, att_error *err)
{
    const att_matrix *value = sheet->asks[index]->value;
    att_student_answer *answer = &out->items[index];
    int64_t count = numbers->rows * numbers->cols;
    bool fits = count == value->rows * value->cols;
    bool same = numbers->rows == value->rows && numbers->cols == value->cols;
    bool vector = value->rows == 1 || value->cols == 1;
    *answer = (att_student_answer){
        .state = ATT_ANSWER_READ, .numbers = *numbers, .line = line, .cell = cell
    };
    answer->turned = fits && !same && !numbers->flat && vector && count > 1;
    if (fits && (same || vector || numbers->flat)) {
        answer->numbers.rows = value->rows;
        answer->numbers.cols = value->cols;
        return ATT_OK;
    }
    answer->state = ATT_ANSWER_MISSHAPEN;
    answer->problem = att_arena_printf(
        &out->arena, "expected %lld × %lld numbers, found %lld × %lld", (long long)value->rows,
        (long long)value->cols, (long long)numbers->rows, (long long)numbers->cols);
    return answer->problem ? ATT_OK : att_fail_memory(err);
}

/* A later answer replaces an earlier one, but what cannot be read replaces nothing. */
void att_answer_set_problem(att_student_answers *out, size_t index, const char *problem, int line,
                            int cell)
{
    att_student_answer *answer = &out->items[index];
    if (answer->state == ATT_ANSWER_MISSING || answer->state == ATT_ANSWER_UNREADABLE)
        *answer = (att_student_answer){
            .state = ATT_ANSWER_UNREADABLE, .problem = problem, .line = line, .cell = cell
        };
}

/* Sets one element; the others stay blank until they are set. */
att_status att_answer_set_element(att_student_answers *out, const att_sheet *sheet, size_t ask,
                                  const int64_t index[2], const att_numbers *numbers, int line,
                                  int cell, att_error *err)
{
    const att_matrix *value = sheet->asks[ask]->value;
    int64_t place = index[1] < 0 ? index[0] - 1 : (index[0] - 1) * value->cols + index[1] - 1;
    bool row = index[1] < 0 && value->rows > 1 && value->cols > 1; /* X[2]: a row */
    int64_t count = row ? value->cols : 1;
    if (row)
        place = (index[0] - 1) * value->cols;
    int64_t size = value->rows * value->cols;
    if (place < 0 || place + count > size || (index[1] > value->cols) ||
        numbers->rows * numbers->cols != count) {
        att_answer_set_problem(out, ask, "an element that the answer does not have", line, cell);
        return ATT_OK;
    }
    att_student_answer *answer = &out->items[ask];
    if (answer->state != ATT_ANSWER_READ) {
        att_numbers blank = { .rows = value->rows, .cols = value->cols };
        blank.values = att_arena_alloc(&out->arena, (size_t)size, sizeof *blank.values);
        blank.units = att_arena_alloc(&out->arena, (size_t)size, sizeof *blank.units);
        if (!blank.values || !blank.units)
            return att_fail_memory(err);
        for (int64_t i = 0; i < size; i++)
            blank.values[i] = (double)NAN;
        ATT_TRY(att_student_answers_set(out, sheet, ask, &blank, line, cell, err));
    }
    memcpy(answer->numbers.values + place, numbers->values, (size_t)count * sizeof(double));
    memcpy(answer->numbers.units + place, numbers->units, (size_t)count * sizeof(double));
    return ATT_OK;
}

/* ---- Files */

static att_status read_plain(att_student_answers *out, const att_sheet *sheet, const char *text,
                             size_t length, const char *name, att_error *err)
{
    bool wide =
        length >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0);
    if (wide || memchr(text, '\0', length))
        return att_fail(err, ATT_BAD_INPUT, name,
                        wide ? "expected text in UTF-8, found UTF-16"
                             : "expected text, a .npz file or a notebook, found other bytes");
    att_string simple = { 0 };
    att_status status = att_answer_text_simplify(&simple, text, length);
    if (status != ATT_OK)
        status = att_fail_memory(err);
    else if (simple.length > 0)
        status = att_student_answers_read_text(out, sheet, simple.data, simple.length, 1, 0, err);
    att_string_free(&simple);
    return status;
}

static bool is_notebook(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && isspace((unsigned char)text[at]))
        at++;
    return at < length && text[at] == '{' && memmem(text, length, "\"cells\"", 7) != NULL;
}

att_status att_student_answers_read(att_student_answers *out, const att_sheet *sheet,
                                    const void *bytes, size_t size, const char *name,
                                    att_error *err)
{
    *out = (att_student_answers){ .count = sheet->ask_count };
    if (size > ATT_MAX_ANSWERS)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "the answers have %zu bytes, more than the limit of %zu", size,
                        ATT_MAX_ANSWERS);
    out->arena.limit = (size_t)1 << 30;
    out->items = att_arena_alloc(&out->arena, out->count, sizeof *out->items);
    if (!out->items)
        return att_fail_memory(err);
    att_file_format format = att_file_format_detect(bytes, size);
    if (format == ATT_FILE_ZIP)
        return att_student_answers_read_npz(out, sheet, bytes, size, name, err);
    if (is_notebook(bytes, size))
        return att_student_answers_read_notebook(out, sheet, bytes, size, name, err);
    return read_plain(out, sheet, bytes, size, name, err);
}

void att_student_answers_free(att_student_answers *answers)
{
    att_arena_free(&answers->arena);
    *answers = (att_student_answers){ 0 };
}
