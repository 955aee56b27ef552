/* The options of every verb that lets a model answer: how answers are searched for, and by which
 * models. */
#ifndef DECODING_H
#define DECODING_H

#include "attend.h"

#include "options.h"

/* 0 and NULL: not given. */
typedef struct decoding_options {
    long beam;
    int length_norm; /* att_length_norm */
    double length_penalty;
    double coverage_penalty;
    long no_repeat;
    long least, most;
    double least_factor, most_factor;
    bool sample;
    double temperature;
    long top_k;
    double top_p;
    long seed;
    const char *with;
} decoding_options;

extern const char *const length_norm_words[]; /* NULL-ended, in the order of att_length_norm */

/* One row; MEMBER is that of decoding_options, which is the member `decoding` of TYPE. */
#define DECODING_ROW(TYPE, NAME, KIND, MEMBER, TAKES, SAYS, ...)                                   \
    {                                                                                              \
        .name = NAME, .kind = OPTION_##KIND, .offset = offsetof(TYPE, decoding.MEMBER),            \
        .takes = TAKES, .says = SAYS, ##__VA_ARGS__                                                \
    }

/* The rows, for the table of a verb whose settings are of TYPE. Models of the kinds WRITES write
 * tokens for it, one after another. */
#define DECODING_OPTIONS(TYPE, WRITES)                                                             \
    DECODING_ROW(TYPE, "beam", NUMBER, beam, "N", "answers followed at a time (default 1)",        \
                 .least = 1, .most = 1000, .kinds = WRITES),                                       \
        DECODING_ROW(TYPE, "length-norm", WORD, length_norm, "WORD",                               \
                     "how length counts in a beam: mean (default), gnmt or none",                  \
                     .words = length_norm_words, .kinds = KINDS_WRITE_LINES),                      \
        DECODING_ROW(TYPE, "length-penalty", REAL, length_penalty, "X",                            \
                     "the power of the length in it (default 1)", .least = 0.01, .most = 10,       \
                     .kinds = KINDS_WRITE_LINES),                                                  \
        DECODING_ROW(TYPE, "coverage-penalty", REAL, coverage_penalty, "X",                        \
                     "against source tokens that were not looked at (default 0)", .least = 0,      \
                     .most = 100, .kinds = KINDS_WRITE_LINES),                                     \
        DECODING_ROW(TYPE, "no-repeat", NUMBER, no_repeat, "N",                                    \
                     "no N tokens in a row come twice in an answer", .least = 1, .most = 1000,     \
                     .kinds = WRITES),                                                             \
        DECODING_ROW(TYPE, "least", NUMBER, least, "N", "tokens in an answer at least",            \
                     .least = 1, .most = 1e6, .kinds = KINDS_WRITE_LINES),                         \
        DECODING_ROW(TYPE, "most", NUMBER, most, "N",                                              \
                     "and at most, the end included (default: 50 + 2 for each of the line)",       \
                     .least = 1, .most = 1e6, .kinds = KINDS_WRITE_LINES),                         \
        DECODING_ROW(TYPE, "least-factor", REAL, least_factor, "X",                                \
                     "so many at least for each token of the source", .least = 0, .most = 1000,    \
                     .kinds = KINDS_WRITE_LINES),                                                  \
        DECODING_ROW(TYPE, "most-factor", REAL, most_factor, "X", "and at most", .least = 0.001,   \
                     .most = 1000, .kinds = KINDS_WRITE_LINES),                                    \
        DECODING_ROW(TYPE, "sample", FLAG, sample, NULL,                                           \
                     "draw each token instead of taking the most probable", .kinds = WRITES),      \
        DECODING_ROW(TYPE, "temperature", REAL, temperature, "X",                                  \
                     "with --sample: below 1 surer, above 1 wilder (default 1)", .least = 0.01,    \
                     .most = 100, .kinds = WRITES),                                                \
        DECODING_ROW(TYPE, "top-k", NUMBER, top_k, "N",                                            \
                     "with --sample: draw from the N most probable alone", .least = 1,             \
                     .most = 1e6, .kinds = WRITES),                                                \
        DECODING_ROW(TYPE, "top-p", REAL, top_p, "X",                                              \
                     "with --sample: from those that have this probability together",              \
                     .least = 0.001, .most = 1, .kinds = WRITES),                                  \
        DECODING_ROW(TYPE, "seed", NUMBER, seed, "N", "with --sample: another seed, other draws",  \
                     .least = 0, .most = 1e15, .kinds = WRITES),                                   \
        DECODING_ROW(TYPE, "with", TEXT, with, "MODELS",                                           \
                     "other models, with commas between them, that answer together with it")

/* What contradicts what; NULL: nothing. */
const char *decoding_bad(const decoding_options *options);

/* A model, and how it is to answer. */
typedef struct decoding {
    att_model *model;
    att_model **with; /* [how.with_count] */
    att_decoding how;
} decoding;

/* Loads the model at `path` and those of --with. To be closed on failure too. */
att_status decoding_open(decoding *out, const decoding_options *options, const char *path,
                         att_error *err);
void decoding_close(decoding *models);

#endif
