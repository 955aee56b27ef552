/* Lines on their way to a model: their tokens, the longest first, and batches of them. */
#ifndef ATT_DECODE_QUESTIONS_H
#define ATT_DECODE_QUESTIONS_H

#include "model/model.h"

/* One line. */
typedef struct att_question {
    size_t index; /* among the lines */
    const char *line;
    att_ids source;    /* as many as are taken */
    int64_t left_over; /* that are not */
    att_ids given;     /* what the answer is, or begins with */
} att_question;

typedef struct att_questions {
    att_question *items; /* [count] the longest first; those without tokens come last */
    size_t count;
} att_questions;

/* How long a line may be. */
typedef struct att_line_limit {
    int64_t longest; /* tokens; 0: any number */
    att_too_long too_long;
} att_line_limit;

/* The longest line that a model and those beside it can take, and the caller wants; 0: any. */
int64_t att_longest_line(const att_model *model, att_model *const *with, size_t with_count,
                         int64_t wanted);

/* Makes tokens of lines, which are lent. A line that cannot be taken is named by err->line, from 1.
 * To be freed on failure too. */
att_status att_questions_read(att_questions *out, const att_vocab *words, const char *const *lines,
                              size_t count, const att_line_limit *limit, att_error *err);
void att_questions_free(att_questions *questions);

/* How many of those from `first` on, which has tokens, go together: at most `most`. */
size_t att_questions_batch(const att_questions *questions, size_t first, size_t most);

/* The sources of `rows` questions, the first of which is the longest. Release with
 * att_question_sources_free(). */
att_status att_question_sources(att_sources *out, const att_question *questions, int64_t rows,
                                att_error *err);
void att_question_sources_free(att_sources *sources);

/* An error in one of many lines says which. */
att_status att_in_line(att_status status, size_t index, att_error *err);

#endif
