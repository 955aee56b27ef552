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
    long no_repeat_ngram;
    long min_output_length, max_output_length;
    double min_length_ratio, max_length_ratio;
    bool sample;
    double temperature;
    long top_k;
    double top_p;
    long seed;
    const char *ensemble;
} decoding_options;

extern const char *const length_norm_choices[]; /* NULL-ended, in the order of att_length_norm */

/* One row; MEMBER is that of decoding_options, which is the member `decoding` of TYPE. */
#define DECODING_ROW(TYPE, NAME, KIND, MEMBER, TAKES, SAYS, ...)                                   \
    {                                                                                              \
        .name = NAME, .kind = OPTION_##KIND, .offset = offsetof(TYPE, decoding.MEMBER),            \
        .placeholder = TAKES, .help = SAYS, ##__VA_ARGS__                                          \
    }

/* The rows, for the table of a verb whose settings are of TYPE. Models of the kinds WRITES write
 * tokens for it, one after another. */
#define DECODING_OPTIONS(TYPE, WRITES)                                                             \
    DECODING_ROW(TYPE, "beam", INTEGER, beam, "N", "answers followed at a time (default 1)",       \
                 .min = 1, .max = 1000, .model_types = WRITES),                                    \
        DECODING_ROW(TYPE, "length-norm", CHOICE, length_norm, "WORD",                             \
                     "how length counts in a beam: mean (default), gnmt or none",                  \
                     .choices = length_norm_choices, .model_types = TYPES_GENERATE_LINES),         \
        DECODING_ROW(TYPE, "length-penalty", REAL, length_penalty, "X",                            \
                     "the power of the length in it (default 1)", .min = 0.01, .max = 10,          \
                     .model_types = TYPES_GENERATE_LINES),                                         \
        DECODING_ROW(TYPE, "coverage-penalty", REAL, coverage_penalty, "X",                        \
                     "against source tokens that were not looked at (default 0)", .min = 0,        \
                     .max = 100, .model_types = TYPES_GENERATE_LINES),                             \
        DECODING_ROW(TYPE, "no-repeat", INTEGER, no_repeat_ngram, "N",                             \
                     "no N tokens in a row come twice in an answer", .min = 1, .max = 1000,        \
                     .model_types = WRITES),                                                       \
        DECODING_ROW(TYPE, "least", INTEGER, min_output_length, "N",                               \
                     "tokens in an answer at least", .min = 1, .max = 1e6,                         \
                     .model_types = TYPES_GENERATE_LINES),                                         \
        DECODING_ROW(TYPE, "most", INTEGER, max_output_length, "N",                                \
                     "and at most, the end included (default: 50 + 2 for each of the line)",       \
                     .min = 1, .max = 1e6, .model_types = TYPES_GENERATE_LINES),                   \
        DECODING_ROW(TYPE, "least-factor", REAL, min_length_ratio, "X",                            \
                     "so many at least for each token of the source", .min = 0, .max = 1000,       \
                     .model_types = TYPES_GENERATE_LINES),                                         \
        DECODING_ROW(TYPE, "most-factor", REAL, max_length_ratio, "X", "and at most",              \
                     .min = 0.001, .max = 1000, .model_types = TYPES_GENERATE_LINES),              \
        DECODING_ROW(TYPE, "sample", FLAG, sample, NULL,                                           \
                     "draw each token instead of taking the most probable",                        \
                     .model_types = WRITES),                                                       \
        DECODING_ROW(TYPE, "temperature", REAL, temperature, "X",                                  \
                     "with --sample: below 1 surer, above 1 wilder (default 1)", .min = 0.01,      \
                     .max = 100, .model_types = WRITES),                                           \
        DECODING_ROW(TYPE, "top-k", INTEGER, top_k, "N",                                           \
                     "with --sample: draw from the N most probable alone", .min = 1, .max = 1e6,   \
                     .model_types = WRITES),                                                       \
        DECODING_ROW(TYPE, "top-p", REAL, top_p, "X",                                              \
                     "with --sample: from those that have this probability together",              \
                     .min = 0.001, .max = 1, .model_types = WRITES),                               \
        DECODING_ROW(TYPE, "seed", INTEGER, seed, "N", "with --sample: another seed, other draws", \
                     .min = 0, .max = 1e15, .model_types = WRITES),                                \
        DECODING_ROW(TYPE, "with", STRING, ensemble, "MODELS",                                     \
                     "other models, with commas between them, that answer together with it")

/* What contradicts what; NULL: nothing. */
const char *decoding_conflict(const decoding_options *options);

/* A model, and how it is to answer. */
typedef struct decoding {
    att_model *model;
    att_model **ensemble; /* [how.with_count] */
    att_decoding_options options;
} decoding;

/* Loads the model at `path` and those of --with. To be closed on failure too. */
att_status decoding_open(decoding *out, const decoding_options *options, const char *path,
                         att_error *err);
void decoding_close(decoding *models);

#endif
