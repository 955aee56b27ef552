/* What the files of `attend score` share: its options, and one function per model type. */
#ifndef SCORE_H
#define SCORE_H

#include "program.h"

#include "decoding.h"

typedef struct score_settings {
    decoding_options decoding; /* --ensemble and --precision are options of this verb */
    bool json;
    long max_input_length; /* 0: not given */
} score_settings;

/* The input is a file ("-": standard input). */
model_function score_seq2seq, score_lm;

#endif
