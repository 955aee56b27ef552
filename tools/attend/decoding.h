/* What the verbs that use a model share: the decoding options (beam search, sampling, ensembles),
 * and opening a model and calling the function for its type. */
#ifndef DECODING_H
#define DECODING_H

#include "program.h"

/* 0 and NULL: not given. */
typedef struct decoding_options {
    long beam;
    int beam_stop;   /* att_beam_stop */
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
    const char *without_heads;
    const char *shortlist;
    long shortlist_frequent, shortlist_top;
    int precision; /* att_precision */
} decoding_options;

/* NULL-ended, in the order of att_length_norm and att_beam_stop. */
extern const char *const length_norm_choices[], *const beam_stop_choices[];

/* NULL-ended, in the order of att_precision. */
extern const char *const precision_choices[];
#define PRECISION_HELP                                                                             \
    "weights of linear layers and embeddings: int8, float32, or stored, as in the file (default)"

/* A row for a member of decoding_options, which is the member `decoding` of struct TYPE. */
#define DECODING_ROW(TYPE, NAME, KIND, MEMBER, PLACEHOLDER, HELP, ...)                             \
    OPTION_ROW(TYPE, NAME, 0, KIND, decoding.MEMBER, PLACEHOLDER, HELP, ##__VA_ARGS__)

/* All rows, for the table of a verb whose settings are of struct TYPE. WRITES: the model types that
 * generate tokens for this verb. */
#define DECODING_OPTIONS(TYPE, WRITES)                                                             \
    DECODING_ROW(TYPE, "beam", INTEGER, beam, "N", "beam size (default 1: greedy search)",         \
                 .min = 1, .max = 1000, .model_types = WRITES),                                    \
        DECODING_ROW(TYPE, "beam-stop", CHOICE, beam_stop, "WORD",                                 \
                     "when beam search ends: heuristic (default), once no unfinished output is "   \
                     "likely to score higher, or exact, once none can, which takes longer",        \
                     .choices = beam_stop_choices, .model_types = WRITES),                         \
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
                     "maximum output length in tokens, end token included (default: by the "       \
                     "lengths of the training data)",                                              \
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
                     "further models of the ensemble, separated by commas", .is_list = true),      \
        DECODING_ROW(TYPE, "without-heads", STRING, without_heads, "HEADS",                        \
                     "switch heads of a Transformer off: PART:LAYER:HEAD, separated by commas, "   \
                     "where PART is encoder, decoder or cross",                                    \
                     .is_list = true),                                                             \
        DECODING_ROW(TYPE, "precision", CHOICE, precision, "WORD", PRECISION_HELP,                 \
                     .choices = precision_choices),                                                \
        DECODING_ROW(TYPE, "shortlist", STRING, shortlist, "FILE",                                 \
                     "choose the next tokens from a lexical shortlist, made by 'attend "           \
                     "shortlist': fast where the target vocabulary is large",                      \
                     .model_types = TYPE_SEQ2SEQ),                                                 \
        DECODING_ROW(TYPE, "shortlist-frequent", INTEGER, shortlist_frequent, "N",                 \
                     "with --shortlist: the N most frequent tokens are always candidates "         \
                     "(default 500)",                                                              \
                     .min = 1, .max = 1e6, .model_types = TYPE_SEQ2SEQ),                           \
        DECODING_ROW(TYPE, "shortlist-top", INTEGER, shortlist_top, "N",                           \
                     "with --shortlist: at most N candidates for each source token "               \
                     "(default 200)",                                                              \
                     .min = 1, .max = 1e6, .model_types = TYPE_SEQ2SEQ)

/* The message about two options that contradict each other; NULL: none do. */
const char *decoding_conflict(const decoding_options *options);

/* A model, the further models of an ensemble, and how they generate. */
typedef struct decoding {
    att_model *model;
    att_model **ensemble; /* [options.ensemble_count] */
    att_shortlist *shortlist;
    att_decoding_options options;
} decoding;

/* Loads a model; `precision` is an att_precision. */
att_status model_load(att_model **out, const char *path, int precision, att_error *err);

/* Loads the models of a list separated by commas; `option_name` is named in errors. Release with
 * models_free(), also on failure. */
att_status models_load(att_model ***out, size_t *count, const char *option_name, const char *list,
                       int precision, att_error *err);
void models_free(att_model **models, size_t count);

/* Replaces *model by a copy without the heads of a list (the value of --without-heads). */
att_status heads_switch_off(att_model **model, const char *list, att_error *err);

/* Runs a verb on models of one type. `settings` is the verb's; `input` an operand, or NULL. */
typedef att_status model_function(const void *settings, const decoding *models, const char *input,
                                  att_error *err);

/* How a verb uses a model. */
typedef struct model_verb {
    const struct verb *verb;
    const void *settings, *defaults;
    const decoding_options *decoding;
    model_function *const *functions; /* [ATT_MODEL_TYPES]; NULL: the type is not supported */
    const char *unsupported;          /* what to use for such a type instead, or NULL */
    /* Checks the operands once the model type is known; or NULL. */
    exit_code (*check)(const struct model_verb *with, att_model_type type, const char *input);
    att_transport *transport; /* of several processes, to be closed; NULL: one */
    bool blames_model; /* errors that weights cause name the model: the input is no file of lines */
} model_verb;

/* Loads the model at `path` and those of --ensemble, checks that the verb and the options given
 * apply to its type, calls the function of that type, and reports an error. */
exit_code model_verb_run(const model_verb *with, const char *path, const char *input);

#endif
