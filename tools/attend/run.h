/* What the files of `attend run` share: its options, and one function for each kind of model. */
#ifndef RUN_H
#define RUN_H

#include "program.h"

#include "decoding.h"

typedef struct run_settings {
    decoding_options decoding;
    bool json;
    bool attention;
    bool heads;
    bool score;
    bool alignments;
    bool replace_unknown;
    long n_best;
    long layer;
    long head;
    long max_input_length;
    int input_overflow; /* att_input_overflow */
    long batch_size;
    const char *prefix;
    const char *prefixes;      /* a file of them */
    const char *prompt;        /* "-": standard input */
    long max_new_tokens;       /* 0: not given */
    const char *image_encoder; /* a file of them, to look at photographs with */
    const char *const *inputs; /* [input_count] the operands after the model */
    int input_count;
} run_settings;

/* Runs models of one kind. */
typedef att_status run_by_type(const run_settings *set, const decoding *models, att_error *err);

run_by_type run_seq2seq, run_lm, run_classifier, run_caption;

/* Adds an answer to *out in the form that was asked for; `number` is its line's, from 1. */
att_status run_write_output(att_string *out, const att_output *answer, size_t number,
                            const run_settings *set, att_error *err);

/* How answers are to be made; each begins with its text of `begin`, NULL: with nothing. */
att_generate_options run_generate_options(const run_settings *set, const decoding *models,
                                          size_t before, const char *const *begin);

/* Tells what is on the photographs after args[0], where that is a network that looks at such; false
 * where it is not, and nothing was told. */
bool run_image_encoder(exit_code *code, const struct verb *verb, const run_settings *set,
                       char **args, int count);

#endif
