/* What the files of `attend run` share: its options, and one function per model type. */
#ifndef RUN_H
#define RUN_H

#include "program.h"

#include "decoding.h"
#include "lines.h"

typedef enum run_format {
    RUN_FORMAT_LINES,
    RUN_FORMAT_CONLL,
    RUN_FORMAT_CSV,
    RUN_FORMAT_JSONL,
    RUN_FORMAT_TSV
} run_format;

extern const char *const run_formats[]; /* NULL-ended: the words of run_format */

typedef struct run_settings {
    decoding_options decoding;
    bool json;
    bool raw;
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
    int format;          /* run_format */
    const char *columns; /* of a table; NULL: not given */
    long column;         /* of the tokens in a CoNLL file; 0: as in training */
    const char *prefix;
    const char *prefixes;      /* file with one prefix per line */
    const char *prompt;        /* "-": standard input */
    long max_new_tokens;       /* 0: not given */
    bool recorded_data;        /* open files that only the model names */
    const char *image_encoder; /* file of the encoder for the image files */
    const char *const *inputs; /* [input_count] operands after the model */
    int input_count;
} run_settings;

model_function run_seq2seq, run_lm, run_classifier, run_caption, run_tagger;

/* Appends an output in the form that was asked for; `number` is its line, from 1. */
att_status run_write_output(att_string *out, const att_output *output, size_t number,
                            const run_settings *set, att_error *err);

/* The file of lines to read: the operand after the model, or "-", standard input. */
static inline const char *run_input_path(const run_settings *set)
{
    return set->input_count > 0 ? set->inputs[0] : "-";
}

/* What a model reads: lines, or the rows of a table (--format csv, jsonl, tsv). */
typedef struct run_inputs {
    const char *path;
    att_inputs *table; /* NULL: lines */
} run_inputs;

att_status run_inputs_open(run_inputs *out, const run_settings *set, const att_model *model,
                           att_error *err);
void run_inputs_close(run_inputs *inputs);

/* Processes all inputs (lines.h). */
att_status run_inputs_for_each(const run_inputs *inputs, lines_callback *process, void *context,
                               att_error *err);

/* The line of an input in its file, from 1. */
size_t run_inputs_line(const run_inputs *inputs, size_t index);

/* The options for lines from `first_line` on; `prefixes` has a forced prefix per output, or is
 * NULL. */
att_generate_options run_generate_options(att_decoding_options *options, const run_settings *set,
                                          const decoding *models, size_t first_line,
                                          const char *const *prefixes);

/* Classifies the image files after args[0] if that is an image encoder; *code receives the exit
 * code. False if it is not, and nothing was printed. What cannot be read for want of memory or by
 * a system error is reported. */
bool run_image_encoder(exit_code *code, const struct verb *verb, const run_settings *set,
                       char **args, int count);

#endif
