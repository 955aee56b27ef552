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
    DECODING_ROW(TYPE, "beam", INTEGER, beam, "N", "beam size (default 1: greedy search)",         \
                 .min = 1, .max = 1000, .model_types = WRITES),                                    \
        DECODING_ROW(TYPE, "length-norm", CHOICE, length_norm, "WORD",                             \
                     "length normalization of hypothesis scores: mean (default), gnmt or none",    \
                     .choices = length_norm_choices, .model_types = TYPES_GENERATE_LINES),         \
        DECODING_ROW(TYPE, "length-penalty", REAL, length_penalty, "X",                            \
                     "exponent of the length in the normalization (default 1)", .min = 0.01,       \
                     .max = 10, .model_types = TYPES_GENERATE_LINES),                              \
        DECODING_ROW(                                                                              \
            TYPE, "coverage-penalty", REAL, coverage_penalty, "X",                                 \
            "weight of the coverage penalty (GNMT) for unattended source tokens (default 0)",      \
            .min = 0, .max = 100, .model_types = TYPES_GENERATE_LINES),                            \
        DECODING_ROW(TYPE, "no-repeat-ngram", INTEGER, no_repeat_ngram, "N",                       \
                     "never generate the same n-gram of N tokens twice in one output", .min = 1,   \
                     .max = 1000, .model_types = WRITES),                                          \
        DECODING_ROW(TYPE, "min-output-length", INTEGER, min_output_length, "N",                   \
                     "minimum output length in tokens", .min = 1, .max = 1e6,                      \
                     .model_types = TYPES_GENERATE_LINES),                                         \
        DECODING_ROW(TYPE, "max-output-length", INTEGER, max_output_length, "N",                   \
                     "maximum output length in tokens, end token included (default: 50 + 2 per "   \
                     "source token)",                                                              \
                     .min = 1, .max = 1e6, .model_types = TYPES_GENERATE_LINES),                   \
        DECODING_ROW(TYPE, "min-length-ratio", REAL, min_length_ratio, "X",                        \
                     "minimum output length as a multiple of the source length", .min = 0,         \
                     .max = 1000, .model_types = TYPES_GENERATE_LINES),                            \
        DECODING_ROW(TYPE, "max-length-ratio", REAL, max_length_ratio, "X",                        \
                     "maximum output length as a multiple of the source length", .min = 0.001,     \
                     .max = 1000, .model_types = TYPES_GENERATE_LINES),                            \
        DECODING_ROW(TYPE, "sample", FLAG, sample, NULL,                                           \
                     "sample each token from the model's distribution", .model_types = WRITES),    \
        DECODING_ROW(TYPE, "temperature", REAL, temperature, "X",                                  \
                     "with --sample: softmax temperature (default 1)", .min = 0.01, .max = 100,    \
                     .model_types = WRITES),                                                       \
        DECODING_ROW(TYPE, "top-k", INTEGER, top_k, "N",                                           \
                     "with --sample: sample from the N most probable tokens", .min = 1,            \
                     .max = 1e6, .model_types = WRITES),                                           \
        DECODING_ROW(TYPE, "top-p", REAL, top_p, "X",                                              \
                     "with --sample: nucleus sampling from the smallest set of tokens with total " \
                     "probability X",                                                              \
                     .min = 0.001, .max = 1, .model_types = WRITES),                               \
        DECODING_ROW(TYPE, "seed", INTEGER, seed, "N", "with --sample: random seed", .min = 0,     \
                     .max = 1e15, .model_types = WRITES),                                          \
        DECODING_ROW(TYPE, "ensemble", STRING, ensemble, "MODELS",                                 \
                     "further models of the ensemble, separated by commas")

/* What contradicts what; NULL: nothing. */
const char *decoding_conflict(const decoding_options *options);

/* A model, and how it is to answer. */
typedef struct decoding {
    att_model *model;
    att_model **ensemble; /* [how.with_count] */
    att_decoding_options options;
} decoding;

/* Loads the model at `path` and those of --ensemble. To be closed on failure too. */
att_status decoding_open(decoding *out, const decoding_options *options, const char *path,
                         att_error *err);
void decoding_close(decoding *models);

#endif
