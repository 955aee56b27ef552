/* Lines on their way to a model: their tokens, the longest first, and batches of them. */
#ifndef ATT_DECODE_REQUESTS_H
#define ATT_DECODE_REQUESTS_H

#include "model/model.h"

/* One line. */
typedef struct att_request {
    size_t index; /* among the lines */
    const char *line;
    att_ids source;           /* as many as are taken */
    int64_t truncated_tokens; /* that are not */
    att_ids forced_target;    /* what the answer is, or begins with */
} att_request;

typedef struct att_requests {
    att_request *items; /* [count] the longest first; those without tokens come last */
    size_t count;
} att_requests;

/* How long a line may be. */
typedef struct att_input_limit {
    int64_t max_length; /* tokens; 0: any number */
    att_input_overflow overflow;
} att_input_limit;

/* The longest line that a model and those beside it can take, and the caller wants; 0: any. */
int64_t att_max_input_length(const att_model *model, att_model *const *with, size_t with_count,
                             int64_t wanted);

/* Makes tokens of lines, which are lent. A line that cannot be taken is named by err->line, from 1.
 * To be freed on failure too. */
att_status att_requests_tokenize(att_requests *out, const att_vocab *words,
                                 const char *const *lines, size_t count,
                                 const att_input_limit *limit, att_error *err);
void att_requests_free(att_requests *questions);

/* How many of those from `first` on, which has tokens, go together: at most `most`. */
size_t att_requests_batch_size(const att_requests *questions, size_t first, size_t most);

/* The sources of `rows` questions, the first of which is the longest. Release with
 * att_request_sources_free(). */
att_status att_request_sources(att_sources *out, const att_request *questions, int64_t rows,
                               att_error *err);
void att_request_sources_free(att_sources *sources);

/* An error in one of many lines says which. */
att_status att_error_at_line(att_status status, size_t index, att_error *err);

#endif
