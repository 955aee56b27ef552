/* Finds the answers in a text: lines such as `a.weights = [0.26 0.33 0.41]`, with the name of what
 * is asked for, its number or its description, and the numbers behind it or on the lines below. */
#define _GNU_SOURCE /* memmem() */
#include "grade/answers.h"

#include "base/minmax.h"
#include "base/string.h"
#include "tensor/bundle.h"
#include "text/utf8.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- Names */

/* The next letter or digit of a name as compared, or -1 at its end. */
static int next_letter(const char *text, size_t length, size_t *at)
{
    while (*at < length) {
        unsigned char c = (unsigned char)text[(*at)++];
        if (isalnum(c) || c > 127)
            return tolower(c);
    }
    return -1;
}

bool att_answer_same_name(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t i = 0, j = 0;
    for (;;) {
        int x = next_letter(a, a_length, &i), y = next_letter(b, b_length, &j);
        if (x != y)
            return false;
        if (x < 0)
            return i > 0 && j > 0;
    }
}

/* "1", "q1", "Question 1", "step 1": the number of an ask; 0: none. */
size_t att_answer_ask_number(const char *text, size_t length)
{
    static const char *const words[] = { "q",    "question", "step",   "answer", "ans", "nr",
                                         "task", "exercise", "number", "part",   "no",  "ex" };
    size_t at = 0;
    while (at < length && !isalnum((unsigned char)text[at]))
        at++;
    for (size_t i = 0; i < ATT_COUNT(words); i++) {
        size_t word = strlen(words[i]);
        if (length - at > word && strncasecmp(text + at, words[i], word) == 0 &&
            !isalpha((unsigned char)text[at + word])) {
            at += word;
            break;
        }
    }
    while (at < length && strchr(" .#(", text[at]))
        at++;
    size_t number = 0, digits = 0;
    for (; at < length && isdigit((unsigned char)text[at]) && digits < 4; at++, digits++)
        number = 10 * number + (size_t)(text[at] - '0');
    while (at < length && strchr(" .):", text[at]))
        at++;
    return at == length ? number : 0;
}

/* The name of a part alone, if one ask has it: "weights" for a.weights. */
static bool is_part(const att_ask *ask, const char *text, size_t length)
{
    return ask->part && ask->head == 0 && ask->formula->kind == ATT_EXPR_FIELD &&
           att_answer_same_name(ask->part, strlen(ask->part), text, length);
}

/* Skips "a", "an" and "the". */
static void skip_article(const char **text, size_t *length)
{
    static const char *const articles[] = { "the ", "a ", "an " };
    for (size_t i = 0; i < ATT_COUNT(articles); i++) {
        size_t word = strlen(articles[i]);
        if (*length > word && strncasecmp(*text, articles[i], word) == 0) {
            *text += word;
            *length -= word;
            return;
        }
    }
}

static bool is_description(const att_ask *ask, const char *text, size_t length)
{
    const char *description = ask->description;
    size_t size = strlen(description);
    skip_article(&description, &size);
    skip_article(&text, &length);
    return att_answer_same_name(description, size, text, length);
}

/* The ask that a name means: by its name, its part, its description, its number. SIZE_MAX: none. */
size_t att_answer_find_ask(const att_sheet *sheet, const char *text, size_t length)
{
    size_t found = SIZE_MAX, times = 0;
    for (size_t i = 0; i < sheet->ask_count; i++)
        if (att_answer_same_name(sheet->asks[i]->name, strlen(sheet->asks[i]->name), text, length))
            return i;
    for (size_t i = 0; i < sheet->ask_count; i++)
        if (is_part(sheet->asks[i], text, length) || is_description(sheet->asks[i], text, length)) {
            found = i;
            times++;
        }
    if (times == 1)
        return found;
    size_t number = att_answer_ask_number(text, length);
    return number >= 1 && number <= sheet->ask_count ? number - 1 : SIZE_MAX;
}

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

/* ---- Elements: a.weights[1, 2] = 0.33, w_12 = 0.33 */

/* Splits "w[1, 2]", "w(1,2)", "w_{12}" and "w_12" into the name and the indices, from 1. */
bool att_answer_split_index(const char *text, size_t length, size_t *name, int64_t index[2])
{
    int64_t numbers[3] = { 0 };
    int count = 0;
    size_t end = length;
    while (end > 0 && strchr(" ])}", text[end - 1]))
        end--;
    size_t from = end;
    while (from > 0 && (isdigit((unsigned char)text[from - 1]) || strchr(" ,", text[from - 1])))
        from--;
    size_t open = from;
    while (open > 0 && strchr("[({_ ", text[open - 1]))
        open--;
    if (open == from || open == 0)
        return false;
    bool separated = false;
    for (size_t i = from; i < end && count < 3;) {
        if (!isdigit((unsigned char)text[i])) {
            separated = true;
            i++;
            continue;
        }
        size_t digits = 0;
        for (; i < end && isdigit((unsigned char)text[i]) && digits < 6; i++, digits++)
            numbers[count] = 10 * numbers[count] + (text[i] - '0');
        count++;
    }
    if (count == 1 && !separated && numbers[0] >= 11 && numbers[0] <= 99 && end - from == 2) {
        numbers[1] = numbers[0] % 10;
        numbers[0] /= 10;
        count = 2;
    }
    *name = open;
    index[0] = numbers[0];
    index[1] = count == 2 ? numbers[1] : -1;
    return count == 1 || count == 2;
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
