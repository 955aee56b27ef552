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
    bool copy_unknown;
    long n_best;
    long layer;
    long head;
    long longest;
    int too_long; /* att_too_long */
    long batch;
    const char *prefix;
    const char *prefixes; /* a file of them */
    const char *prompt;   /* "-": standard input */
    long length;          /* 0: not given */
} run_settings;

/* Runs models of one kind. */
typedef att_status run_kind(const run_settings *set, const decoding *models, att_error *err);

run_kind run_pairs, run_text, run_labels;

/* Tells what is on the photographs after args[0], where that is a network that looks at such; false
 * where it is not, and nothing was told. */
bool run_photos(exit_code *code, const struct verb *verb, const run_settings *set, char **args,
                int count);

#endif
