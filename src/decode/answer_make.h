/* Answers from hypotheses: numbers become tokens and text again. */
#ifndef ATT_DECODE_ANSWER_MAKE_H
#define ATT_DECODE_ANSWER_MAKE_H

#include "decode/search.h"

/* A line on its way through. */
typedef struct att_question {
    size_t index;
    const char *line;
    att_ids source;    /* as many as are taken */
    int64_t left_over; /* that are not */
    att_ids given;     /* what the answer is, or begins with */
} att_question;

/* What answers are made with. */
typedef struct att_answer_maker {
    const att_model *model;
    const att_answer_how *how;
    int64_t maps, heads; /* of the weights */
    att_arena *memory;   /* where answers live */
    att_text scratch;
} att_answer_maker;

/* Makes an answer of `count` hypotheses, the best first: the others hang on to it. */
att_status att_answer_make(att_answer_maker *maker, att_answer *out, const att_question *question,
                           const att_hypothesis *found, int64_t count, att_error *err);

#endif
