/* What the files of `attend show` share: its options, and one function for each kind of model. */
#ifndef SHOW_H
#define SHOW_H

#include "program.h"

#include "decoding.h"

/* Whose attention is drawn, in the order of the words. */
typedef enum show_part { SHOW_CROSS, SHOW_ENCODER, SHOW_DECODER } show_part;

typedef struct show_settings {
    decoding_options decoding;
    const char *target;
    const char *svg;
    const char *png;
    const char *pdf;
    const char *html;
    double scale; /* 0: not given */
    int part;     /* show_part */
    long layer;   /* 0: not given */
    long head;
    bool heads;
    long digits;
    int color; /* colour_choice */
    bool ascii;
    bool quiet;
    const char *unit; /* LAYER:UNIT */
    int signal;       /* att_unit_signal */
    bool gradients;
    bool json;
    const char *features;
    const char *image_encoder; /* a file of them, to look at the input with */
    long image_index;          /* from 0 */
} show_settings;

/* Shows what models of one kind make of an input; NULL: none was given. */
typedef att_status show_by_type(const show_settings *set, const decoding *models, const char *input,
                                att_error *err);

show_by_type show_seq2seq, show_classifier, show_caption;

/* What goes on inside a recurrent model of any kind: one unit, or how far a loss reaches back.
 * Whether the settings ask for one of them; what contradicts it, told on standard error. */
bool show_inspects_units(const show_settings *set);
exit_code show_units_check(const struct verb *verb, const show_settings *set,
                           const show_settings *usual);
show_by_type show_unit, show_gradients;

#endif
