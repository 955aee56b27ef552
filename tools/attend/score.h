/* What the files of `attend score` share: its options, and one function for each kind of model. */
#ifndef SCORE_H
#define SCORE_H

#include "program.h"

#include "decoding.h"

typedef struct score_settings {
    decoding_options decoding; /* of which --ensemble alone can be given */
    bool json;
} score_settings;

/* Scores a file ("-": standard input) by models of one kind. */
typedef att_status score_by_type(const score_settings *set, const decoding *models,
                                 const char *file, att_error *err);

score_by_type score_seq2seq, score_lm;

#endif
