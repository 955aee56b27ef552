/* Lines to be decoded or classified: their tokens, sorted by length, and batches of them. */
#ifndef ATT_DECODE_REQUESTS_H
#define ATT_DECODE_REQUESTS_H

#include "model/model.h"

/* Lines tokenized between two polls of the progress callback. */
enum { ATT_LINES_PER_POLL = 16 };

typedef struct att_request {
    size_t index; /* of the line */
    const char *line;
    att_ids source;
    int64_t truncated_tokens; /* tokens removed from its end */
    att_ids copy_ids;      /* beside `source`: of the extended vocabulary, for models that copy */
    att_ids forced_target; /* the output, or its prefix */
} att_request;

typedef struct att_requests {
    att_request *items; /* [count] the longest first; lines without tokens come last */
    size_t count;
} att_requests;

typedef struct att_input_limit {
    int64_t max_length; /* tokens of a line; 0: no limit */
    att_input_overflow overflow;
    bool is_default; /* the caller may raise it */
} att_input_limit;

/* The smallest of the limits of all models and of the caller's own (0: by default ten times the
 * setting max-length of the model; negative: none). */
att_input_limit att_input_limit_of(const att_model *model, att_model *const *ensemble,
                                   size_t ensemble_count, int64_t own_limit);

/* Fails where a line of `tokens` tokens is too long. */
att_status att_input_limit_check(const att_input_limit *limit, int64_t tokens, att_error *err);

/* Tokenizes lines, which must outlive the requests. An error has the number of its line, from 1, in
 * err->line. Release with att_requests_free(), also after a failure. */
att_status att_requests_tokenize(att_requests *out, const att_vocab *vocab,
                                 const char *const *lines, size_t count,
                                 const att_input_limit *limit, att_error *err);
void att_requests_free(att_requests *requests);

/* The number of requests from `first` on, which has tokens, that form a batch: at most `max`. */
size_t att_requests_batch_size(const att_requests *requests, size_t first, size_t max);

/* The sources of `rows` requests, the first of which is the longest. Release with
 * att_request_sources_free(). */
att_status att_request_sources(att_sources *out, const att_request *requests, int64_t rows,
                               att_error *err);
void att_request_sources_free(att_sources *sources);

/* The words of a batch as they are written, for character features. Start from {0}. */
typedef struct att_request_words {
    att_string text, scratch;
    const char **words; /* [rows,length] */
} att_request_words;

/* Sets sources->words to the words of the requests, if the vocabulary is of words. Release with
 * att_request_words_free() after the sources have been used, also after a failure. */
att_status att_request_words_add(att_request_words *out, att_sources *sources,
                                 const att_vocab *vocab, const att_request *requests,
                                 att_error *err);
void att_request_words_free(att_request_words *words);

/* Sets err->line to the number of a line, from 1, where `status` is an error of it. */
att_status att_error_at_line(att_status status, size_t index, att_error *err);

/* The same for an error of a batch of requests, whose `line` is a row of the batch, from 1, or 0:
 * then it is an error of the first. */
att_status att_error_at_request(att_status status, const att_request *requests, att_error *err);

#endif
