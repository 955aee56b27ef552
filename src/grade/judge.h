/* Judges a student's answers: each against the truth, against what follows from the student's own
 * earlier answers, and against known slips. docs/teaching.md defines what is right. */
#ifndef ATT_GRADE_JUDGE_H
#define ATT_GRADE_JUDGE_H

#include "grade/answers.h"
#include "grade/exercise.h"

typedef enum att_grade_outcome {
    ATT_OUTCOME_RIGHT,
    ATT_OUTCOME_FOLLOWS,  /* right, given the student's earlier answers */
    ATT_OUTCOME_WITHHELD, /* it follows, but from a value that makes it trivial */
    ATT_OUTCOME_WRONG,
    ATT_OUTCOME_MISSING,
    ATT_OUTCOME_UNREADABLE,
} att_grade_outcome;

const char *att_grade_outcome_name(att_grade_outcome outcome); /* "right", "follows", … */

/* A known slip: `id` for programs, `text` completes "It looks as if …". */
typedef struct att_slip_text {
    const char *id;
    const char *text;
} att_slip_text;

typedef struct att_named_slip {
    const att_slip_text *what;
    const att_slip_text *other; /* another one that gives the same numbers, or NULL */
    int line;                   /* of the operation in the sheet; 0: none */
} att_named_slip;

enum { ATT_MAX_SLIPS = 2, ATT_MAX_HINTS = 4 };

/* The mark of one answer. */
typedef struct att_mark {
    size_t number; /* of the ask, from 1 */
    const char *name;
    const char *description;
    const char *hints[ATT_MAX_HINTS];
    double max;
    double points;
    att_grade_outcome outcome;
    int64_t right; /* elements */
    int64_t elements;
    const uint8_t *carried; /* [marks] the earlier steps that it follows from; or NULL */
    att_named_slip slips[ATT_MAX_SLIPS];
    size_t slip_count;
    bool turned; /* a row was written as a column, or the other way round */
    int line, cell;
    const char *problem;
    const att_matrix *truth;
    const att_numbers *given; /* or NULL */
} att_mark;

struct att_grading {
    att_arena arena;
    const char *exercise; /* its name */
    const char *title;    /* its first heading, or its name */
    const char *student;
    const char *variant;
    const char *problem; /* answers that cannot be read, or NULL */
    const char *note;
    att_mark *marks;
    size_t count;
    double points, max;
};

/* ---- Between grading.c, judge.c and slips.c */

/* A way to compute the sheet: which answers are substituted, and which slips are made. */
typedef struct att_grade_scene {
    const uint8_t *used; /* [asks]; NULL: none */
    const att_slip_site *slips;
    size_t slip_count;
    bool rounds, cuts;
    int decimals;
} att_grade_scene;

enum { ATT_MAX_SITES = 96 };

typedef struct att_grader {
    const att_exercise *exercise;
    const char *variant;
    const att_sheet *sheet; /* the truth */
    const att_student_answers *answers;
    att_grading *grading;
    att_arena *arena; /* for values of this student */
    uint8_t *earlier; /* [asks] answers before the current one that can be carried */
    uint8_t *wrong;   /* [asks] those of them that are not right */
    uint8_t *formal;  /* [asks] those that are wrong in form alone, such as in percent */
    att_slip_site sites[ATT_MAX_SITES]; /* where slips are possible */
    size_t site_count;
    att_slip_site made[ATT_MAX_SITES]; /* slips named so far */
    size_t made_count;
    att_slip_site others[ATT_MAX_SLIPS * 4]; /* slips that may have been made instead */
    size_t other_count;
    bool out_of_memory; /* or cancelled: nothing more is computed */
    bool cancelled;
    att_error *err;
} att_grader;

/* The value of ask `index` in the scene; NULL if the scene cannot compute it. */
const att_matrix *att_grader_value(att_grader *judge, const att_grade_scene *scene, size_t index);

/* Which of the earlier answers the student went on with: all; the wrong ones, with the right ones
 * in full precision; the same without those that are wrong in form alone. Each set is [asks]; empty
 * sets and repetitions are left out. Returns how many there are. */
enum { ATT_MAX_SETS = 4 };
size_t att_grader_sets(att_grader *judge, const uint8_t *out[ATT_MAX_SETS]);

/* How far rounding of the answers of the scene moves the value of ask `index`: of a right answer
 * its distance from the truth, of a wrong one half a unit of its last digit. [elements], in the
 * judge's arena. NULL when memory is out. */
const double *att_grader_slack(att_grader *judge, const att_grade_scene *scene, size_t index,
                               const att_matrix *value);

/* Counts the elements of the answer that agree with `value`; -1 if the shapes differ. `slack` is
 * allowed besides what the ask allows; NULL: nothing. */
int64_t att_grader_agreement(const att_grader *judge, size_t index, const att_matrix *value,
                             const double *slack);
bool att_grader_agrees(const att_grader *judge, size_t index, const att_matrix *value,
                       const double *slack);

/* The largest distance of a number of the answer from the value; infinite if the shapes differ. */
double att_grader_distance(const att_grader *judge, size_t index, const att_matrix *value);

/* The same, also with the rounding that is carried if the value is near. */
bool att_grader_agrees_roughly(att_grader *judge, const att_grade_scene *scene, size_t index,
                               const att_matrix *value);

/* Judges one answer; those before it have been judged. */
void att_grader_answer(att_grader *judge, size_t index, att_mark *mark);

/* Names the slips that explain a wrong answer, if known ones do. */
void att_grader_find_slips(att_grader *judge, size_t index, att_mark *mark);

#endif
