/* What the files of `attend show` share: its options, and one function per model type. */
#ifndef SHOW_H
#define SHOW_H

#include "program.h"

#include "decoding.h"
#include "drawing_files.h"
#include "output.h"

/* Which attention is drawn, in the order of the words of --part. */
typedef enum show_part {
    SHOW_PART_DEFAULT = -1, /* cross-attention, or the only one of the model */
    SHOW_CROSS,
    SHOW_ENCODER,
    SHOW_DECODER
} show_part;

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
    bool overview, arcs;
    long alternatives; /* 0: not given */
    bool beam_tree;
    long max_new_tokens; /* 0: not given */
    long digits;
    int color; /* color_choice */
    bool ascii;
    bool quiet;
    const char *unit; /* LAYER:UNIT */
    int signal;       /* att_unit_signal */
    bool gradients;
    const char *compare; /* further models for --gradients, separated by commas */
    bool json;
    const char *features;
    bool recorded_data;        /* open files that only the model names */
    const char *image_encoder; /* file of the encoder for the image file INPUT */
    long image_index;          /* from 0 */
} show_settings;

/* The input is the operand after the model; NULL: none was given. */
model_function show_seq2seq, show_lm, show_classifier, show_caption, show_tagger;

/* An attention map and what it is of. */
typedef struct show_figure {
    const char *heading;      /* printed above the map, or NULL */
    const att_output *output; /* of cross-attention; NULL: the map stands alone */
    const att_map *map;
} show_figure;

/* Writes a map, with readable labels, to the files that were asked for, then as JSON or text. */
att_status show_map(const show_figure *figure, const show_settings *set, att_error *err);

/* The same for the self-attention of a Transformer on the line, in the layer and the heads that
 * were asked for; and whether any were. */
att_status show_self_attention(const att_model *model, const att_head_selection *line,
                               const char *heading, const show_settings *set, att_error *err);
bool show_asks_for_map(const show_settings *set);

/* --alternatives and --beam-tree instead of a map. */
model_function show_alternatives, show_beam_tree;

/* The image that a caption model reads, by the options and the operand: a new tensor. */
att_status show_select_image(att_tensor *out, const show_settings *set, const att_model *model,
                             const char *input, att_error *err);

/* The block that --part names, or `other` where it was not given. */
att_attention_block show_block(const show_settings *set, att_attention_block other);

/* --cell and --gradients, for RNNs of every type: whether one of them was given, and whether the
 * other options go with it; what does not is reported. */
bool show_inspects_rnn(const show_settings *set);
exit_code show_check_rnn_options(const struct verb *verb, const show_settings *set,
                                 const show_settings *defaults);
model_function show_unit, show_gradients;

/* The operand, or standard input for "-". */
att_status show_read_input(att_string *out, const char *input, att_error *err);
/* Sets *line to the input, or to the one line of standard input where it is '-'. */
att_status show_read_line(const char **line, att_string *read, const char *input, att_error *err);

/* Writes the SVG as the image files that were asked for, then the other files, then the text unless
 * --quiet. `name` describes the figure on standard error. */
att_status show_write(output_list *files, const att_string *svg, const char *name,
                      const att_string *text, const show_settings *set, att_error *err);

/* Writes highlighted text as the files that were asked for, then as text unless --quiet. */
att_status show_highlight(const att_highlight *highlight, const show_settings *set, att_error *err);

/* Appends numbers as a JSON array, with enough digits for a float. */
att_status show_numbers_json(att_string *out, const double *values, int64_t count);

/* The image files that were asked for. */
drawing_files show_drawing_files(const show_settings *set);

#endif
