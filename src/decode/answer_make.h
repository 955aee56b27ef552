/* Answers from hypotheses: numbers become tokens and text again. */
#ifndef ATT_DECODE_ANSWER_MAKE_H
#define ATT_DECODE_ANSWER_MAKE_H

#include "base/arena.h"
#include "decode/questions.h"
#include "decode/search.h"

struct att_answers {
    att_answer *items; /* [count] */
    size_t count;
    att_arena arena;
};

/* What answers are made with. */
typedef struct att_answer_maker {
    const att_model *model;
    const att_answer_how *how;
    int64_t maps, heads;             /* of the weights */
    int64_t grid_rows, grid_columns; /* of a picture; 0: sources are lines */
    const char *const *cells;        /* [grid_rows * grid_columns] their names */
    att_arena *memory;               /* where answers live */
    att_text scratch;
} att_answer_maker;

/* Sets the source's tokens, as they were typed, and what is said of them. */
att_status att_answer_source(att_answer_maker *maker, att_answer *answer,
                             const att_question *question, att_error *err);

/* Makes an answer of `count` hypotheses, the best first: the others hang on to it. */
att_status att_answer_make(att_answer_maker *maker, att_answer *out, const att_question *question,
                           const att_hypothesis *found, int64_t count, att_error *err);

#endif
