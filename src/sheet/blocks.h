/* What the files of the blocks share: a layer gathering its parts, the choices of an attention
 * call, and the head that works them out.
 *
 *   blocks.c            the table of functions and their options
 *   blocks_layer.c      a layer and its parts; options read
 *   blocks_choices.c    the options of attention as an att_attention_options
 *   blocks_scores.c     the scores: formula, parameters, sums written out
 *   blocks_weights.c    the normalisers likewise
 *   blocks_head.c       one head: shapes checked, worked out by the reference
 *   blocks_parts.c      … and laid open as parts
 *   blocks_attention.c  attention, self_attention, cross_attention, multihead
 *   blocks_plain.c      positional, linear, conv1d
 *   blocks_recurrent.c  rnn, lstm, gru
 */
#ifndef ATT_SHEET_BLOCKS_H
#define ATT_SHEET_BLOCKS_H

#include "sheet/function.h"
#include "sheet/calculation.h"

/* ---------------------------------------------------------------- layers */

/* A call that becomes a record: its parts gather here in the order of computation. */
typedef struct att_sheet_layer {
    const att_call *call;
    bool columns; /* vectors are columns, as handout 001 writes them; everything else: rows */
    att_trace_part *parts;
    size_t part_count;
    size_t part_capacity;
} att_sheet_layer;

/* Starts a layer of up to `parts` parts and reads the option `vectors`, where the function has it.
 */
att_status att_sheet_layer_start(att_sheet_layer *layer, const att_call *call, size_t parts);

/* Adds a part. Its value must be there: NULL means that memory is out. */
att_status att_sheet_layer_add(att_sheet_layer *layer, const att_trace_part *part);

/* Hands the parts over; the last one is the result. */
void att_sheet_layer_finish(const att_sheet_layer *layer, att_value *out);

/* Vectors as rows from the way the sheet writes them, and back: transposed where they are columns,
 * else the matrix itself. NULL when memory is out. */
const att_matrix *att_sheet_layer_orient(const att_sheet_layer *layer, const att_matrix *matrix);

/* Refuses a call that would take too long: more than ATT_MAX_MULTIPLICATIONS. */
att_status att_sheet_layer_check_cost(const att_call *call, double multiplications);

/* The vectors of `x` mapped by `w`: x w, or w x where vectors are columns; and the formula of it.
 * Shapes have been checked. */
att_matrix *att_sheet_layer_linear(const att_sheet_layer *layer, const att_matrix *x,
                                   const att_matrix *w, const char *name,
                                   att_calculations *calculations);
att_expr *att_sheet_layer_linear_formula(const att_sheet_layer *layer, att_expr *x, att_expr *w);

/* A formula's text without what parameters add that may be left out and were: <…> stays where `b`
 * was given, {…} where `b_h` was. NULL when memory is out. */
const char *att_formula_drop_absent(att_arena *arena, const char *text, bool b, bool b_h);

/* ---------------------------------------------------------------- arguments and options */

/* An argument with what errors need to speak of it. */
typedef struct att_argument {
    const att_matrix *matrix;
    const char *name; /* as written if that is short, else what the usage calls it */
    att_expr *node;
} att_argument;

/* What to call the argument written as `node`, known as `usual`; NULL when memory is out. */
const char *att_argument_name(const att_call *call, const att_expr *node, const char *usage_name);

/* Refuses a matrix without rows or columns. */
att_status att_argument_check(const att_call *call, const att_argument *argument);

/* Argument `index`, which must be a matrix and not empty. */
att_status att_argument_get(const att_call *call, size_t index, const char *usage_name,
                            att_argument *out);

/* Fails unless x maps through w, with a reasonable amount of work. */
att_status att_argument_check_linear(const att_sheet_layer *layer, const att_argument *x,
                                     const att_argument *w);

/* Takes a row or column of `length` numbers; where it is absent (index ≥ arg_count) gives NULL. */
att_status att_argument_vector(const att_call *call, size_t index, const char *usage_name,
                               int64_t length, const att_matrix **out);

/* The node of an option's value, for carets; NULL where the option is absent. */
const att_expr *att_option_node(const att_call *call, const char *name);

/* A number option; `*out` keeps its value where the option is absent. */
att_status att_option_number(const att_call *call, const char *name, double *out);

/* A whole number between `least` and `most`. */
att_status att_option_integer(const att_call *call, const char *name, int64_t min, int64_t max,
                              int64_t *out);

/* A word out of `words`, which ends with NULL: its index. */
att_status att_option_word(const att_call *call, const char *name, const char *const *words,
                           size_t *out);

/* ---------------------------------------------------------------- attention */

enum { ATT_PARAM_W, ATT_PARAM_U, ATT_PARAM_B, ATT_PARAM_V, ATT_PARAMS };

struct att_sheet_head;

/* A score as sheets show it. */
typedef struct att_score_spec {
    att_score score;
    bool needs_equal_width;         /* q and k are multiplied: d_q = d_k */
    const char *row_formula;        /* where vectors are rows, for att_formula_drop_absent() */
    const char *column_formula;     /* … and where they are columns */
    const char *description;        /* in words */
    const char *shapes[ATT_PARAMS]; /* "qa": d_q × A where vectors are rows; NULL: not taken */
    const char *optional;           /* names of parameters that may be left out */
    /* The sum of query i and key j written out. */
    att_expr *(*write_sum)(att_arena *arena, const struct att_sheet_head *head, int64_t i,
                           int64_t j);
} att_score_spec;

extern const att_score_spec att_score_specs[]; /* indexed by att_score */

/* A normaliser as sheets show it. */
typedef struct att_normalizer_spec {
    att_normalizer normalizer;
    const char *formula;
    const char *description;
    /* The weight of query i for key j written out; NULL function: nothing to write. */
    att_expr *(*write_sum)(att_arena *arena, const struct att_sheet_head *head, int64_t i,
                           int64_t j);
} att_normalizer_spec;

extern const att_normalizer_spec att_normalizer_specs[]; /* indexed by att_normalizer */

/* What the options of an attention call chose. */
typedef struct att_sheet_attention {
    att_attention_options options; /* without pointers: masks are in the fields below */
    int64_t heads;                 /* options given as lists have one entry per head */
    int64_t length;                /* keys in use; -1: all */
} att_sheet_attention;

att_status att_sheet_attention_read(const att_sheet_layer *layer, int64_t heads,
                                    att_sheet_attention *out);

/* One head: inputs, parameters and, once worked out, results. Vectors are rows here whatever the
 * sheet's orientation; parameters lie as attend.h section 6 says, [A,Kq] and so on. */
typedef struct att_sheet_head {
    int64_t number; /* from 1; 0: there is only one and it is not counted */
    att_argument q; /* what to blame when widths do not fit: q itself, or W_q */
    att_argument k;
    att_argument v;
    const att_matrix *query; /* [T,Kq] */
    const att_matrix *key;   /* [S,Kk] */
    const att_matrix *value; /* [S,M] */
    const att_matrix *param[ATT_PARAMS];
    const att_matrix *bias;           /* [T|1,S|1] or NULL */
    double alibi_slope;               /* of ALiBi; 0: none */
    const uint8_t *allowed;           /* [T,S] or NULL */
    const att_matrix *projected_keys; /* general score: W k for each key */
    const att_matrix *raw_scores;     /* scores before scale, cap and bias; NULL: nothing follows */
    att_matrix *scores;
    att_matrix *weights;
    att_matrix *output;
} att_sheet_head;

/* Checks the parameters that the options give for this head and takes them over. */
att_status att_sheet_head_read_params(const att_sheet_layer *layer,
                                      const att_sheet_attention *attention, att_sheet_head *head);

/* Works the head out by the reference and adds its parts, from the scores to the output. */
att_status att_sheet_head_compute(att_sheet_layer *layer, const att_sheet_attention *attention,
                                  att_sheet_head *head);

/* The second half of it: the parts of a head whose numbers are there. */
att_status att_sheet_head_add_parts(att_sheet_layer *layer, const att_sheet_attention *attention,
                                    att_sheet_head *head);

/* Element (i, j) of a matrix over pairs that may have one row or one column for all. */
double att_broadcast_at(const att_matrix *matrix, int64_t i, int64_t j);

/* The value of an option for one head: the list's entry, or the value shared by all. NULL where the
 * option is absent. */
att_status att_sheet_attention_option(const att_sheet_layer *layer,
                                      const att_sheet_attention *attention, const char *name,
                                      int64_t head, const att_matrix **out);

/* ---------------------------------------------------------------- the functions */

att_status att_run_attention(const att_call *call, att_value *out);
att_status att_run_self_attention(const att_call *call, att_value *out);
att_status att_run_cross_attention(const att_call *call, att_value *out);
att_status att_run_multihead(const att_call *call, att_value *out);
att_status att_run_positional(const att_call *call, att_value *out);
att_status att_run_linear(const att_call *call, att_value *out);
att_status att_run_conv1d(const att_call *call, att_value *out);
att_status att_run_rnn(const att_call *call, att_value *out);
att_status att_run_lstm(const att_call *call, att_value *out);
att_status att_run_gru(const att_call *call, att_value *out);

#endif
