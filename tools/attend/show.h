/* What the files of `attend show` share: its options, and one function for each kind of model. */
#ifndef SHOW_H
#define SHOW_H

#include "program.h"

#include "decoding.h"

typedef struct show_settings {
    decoding_options decoding;
    const char *target;
    const char *svg;
    const char *png;
    const char *pdf;
    const char *html;
    double scale; /* 0: not given */
    long layer;   /* 0: not given */
    long head;
    bool heads;
    long digits;
    int colour; /* colour_choice */
    bool ascii;
    bool quiet;
} show_settings;

/* Shows what models of one kind make of an input. */
typedef att_status show_kind(const show_settings *set, const decoding *models, const char *input,
                             att_error *err);

show_kind show_pairs, show_labels;

#endif
