/* The answers that a student hands in, as numbers: from text as people write it (answers.c,
 * answer_text.c, answer_numbers.c), a .npz file or the JSON of a notebook (answer_files.c). Nothing
 * in them is executed or evaluated, beyond fractions of two numbers. */
#ifndef ATT_GRADE_ANSWERS_H
#define ATT_GRADE_ANSWERS_H

#include "base/arena.h"
#include "sheet/trace.h"

/* The largest file of answers in bytes. */
#define ATT_MAX_ANSWERS ((size_t)16 << 20)

/* The unit of a number without decimals of its own: a fraction, or a value of a .npz file. */
#define ATT_UNIT_EXACT 0.0

/* Numbers in the shape in which they were written. */
typedef struct att_numbers {
    int64_t rows, cols;
    bool flat;      /* written without rows: a list of rows · cols numbers */
    double *values; /* [rows, cols]; NaN: written as masked or left blank */
    double *units;  /* [rows, cols] unit of the last written digit; ATT_UNIT_EXACT */
} att_numbers;

typedef enum att_answer_state {
    ATT_ANSWER_MISSING,
    ATT_ANSWER_READ,       /* `numbers` has the shape that is asked for */
    ATT_ANSWER_MISSHAPEN,  /* `numbers` has another shape */
    ATT_ANSWER_UNREADABLE, /* `problem` */
} att_answer_state;

typedef struct att_student_answer {
    att_answer_state state;
    att_numbers numbers;
    bool spelled;        /* its name has the same capitals as in the sheet */
    bool turned;         /* a row written as a column, or the other way round */
    int line;            /* in the file, or in cell `cell` of a notebook; 0: none */
    int cell;            /* from 1; 0: no notebook */
    const char *problem; /* one sentence */
} att_student_answer;

typedef struct att_student_answers {
    att_arena arena;
    att_student_answer *items; /* [count], one per ask */
    size_t count;
    const char *variant; /* that the file states, or NULL */
    const char *note;    /* names that were read as other ones, or as none; or NULL */
    int note_count;
} att_student_answers;

/* Reads the answers to the asks of `sheet`; `name` is the file in errors. A line that cannot be
 * read is the problem of one answer; bytes that are no answers at all are ATT_BAD_INPUT. Release
 * with att_student_answers_free(), also after a failure. */
att_status att_student_answers_read(att_student_answers *out, const att_sheet *sheet,
                                    const void *bytes, size_t size, const char *name,
                                    att_error *err);
void att_student_answers_free(att_student_answers *answers);

/* ---- Between the files */

/* Text in plain ASCII where a character has an equal there: minus signs, dots, superscripts,
 * fractions, the markup of LaTeX and Markdown. Letters of other scripts are kept; a digit of
 * another script becomes ATT_FOREIGN_DIGIT. Lines stay lines. */
#define ATT_FOREIGN_DIGIT '\x02'
att_status att_answer_text_simplify(att_string *out, const char *text, size_t length);

/* Parses `length` bytes of simplified text as numbers, `expected` of them if possible. False: they
 * are no numbers, and *problem says why; NULL: memory is out. */
bool att_answer_numbers(att_numbers *out, att_arena *arena, const char *text, size_t length,
                        int64_t expected, const char **problem);

/* Reads simplified text; lines count from `line`, in the notebook's cell `cell`. */
att_status att_student_answers_read_text(att_student_answers *out, const att_sheet *sheet,
                                         const char *text, size_t length, int line, int cell,
                                         att_error *err);

/* Gives ask `index` these numbers, in the shape that is asked for if they have it. */
att_status att_student_answers_set(att_student_answers *out, const att_sheet *sheet, size_t index,
                                   const att_numbers *numbers, int line, int cell, att_error *err);

/* How an answer names its ask. In a sheet `A` and `a` are two values, but people confuse capitals
 * and small letters. So a name means the ask with exactly this name. If there is none, it means the
 * only ask that differs in capitals alone, unless the sheet has another value with this name. An
 * answer whose name differs in capitals never replaces one with the exact name. */
typedef enum att_answer_spelling {
    ATT_SPELLING_OTHER, /* its part, its description, its number */
    ATT_SPELLING_OTHER_CASE,
    ATT_SPELLING_EXACT,
} att_answer_spelling;

/* The ask that a name means, and how: its name, its part, its description, its number. SIZE_MAX:
 * none. */
size_t att_answer_find_ask(const att_sheet *sheet, const char *text, size_t length,
                           att_answer_spelling *spelling);

/* The ask whose description has these words, in any order: "head 1 weights" for "the weights of
 * head 1". SIZE_MAX: none, or several. */
size_t att_answer_find_words(const att_sheet *sheet, const char *text, size_t length);

/* "mu" for μ and Μ; NULL for another character. */
const char *att_answer_greek_name(uint32_t code);

/* "1", "q1", "Question 1", "step 1": the number of an ask; 0: none. */
size_t att_answer_ask_number(const char *text, size_t length);

/* Splits "w[1, 2]", "w(1,2)", "w_{12}", "w_12" and "w12" into the name and the indices, from 1; the
 * second is -1 if there is one. */
bool att_answer_split_index(const char *text, size_t length, size_t *name, int64_t index[2]);

/* States why the answer cannot be read, unless there is one that can. */
void att_answer_set_problem(att_student_answers *out, size_t index, const char *problem, int line,
                            int cell);

/* Sets one element or row of the answer; the others stay blank until they are set. */
att_status att_answer_set_element(att_student_answers *out, const att_sheet *sheet, size_t ask,
                                  const int64_t index[2], const att_numbers *numbers, int line,
                                  int cell, att_error *err);

/* Compares names as people write them: letters and digits alone, in any case. */
bool att_answer_same_name(const char *a, size_t a_length, const char *b, size_t b_length);

att_status att_student_answers_read_npz(att_student_answers *out, const att_sheet *sheet,
                                        const void *bytes, size_t size, const char *name,
                                        att_error *err);
att_status att_student_answers_read_notebook(att_student_answers *out, const att_sheet *sheet,
                                             const char *text, size_t length, const char *name,
                                             att_error *err);

#endif
