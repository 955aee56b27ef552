/* Shared by the files of the blocks (attention, RNN cells and other layers as worksheet functions):
 * a layer that collects its parts, the options of an attention call, and one attention head.
 *
 *   blocks.c              table of functions and their options
 *   blocks_common.c       a layer and its parts; reading arguments and options
 *   blocks_options.c      the options of attention as an att_attention_options
 *   blocks_scores.c       scores: formula, parameters, calculations
 *   blocks_normalizers.c  normalizers: formula, calculations
 *   blocks_head.c         one head: shape checks and evaluation by the reference
 *   blocks_parts.c        the parts of one head, from its projected keys to its output
 *   blocks_attention.c    attention, self_attention, cross_attention, multihead
 *   blocks_feedforward.c  positional, linear, conv1d
 *   blocks_rnn.c          rnn, lstm, gru; their cells in blocks_rnn_cells.c */
#ifndef ATT_SHEET_BLOCKS_H
#define ATT_SHEET_BLOCKS_H

#include "attention/normalize.h"
#include "attention/score.h"
#include "sheet/function.h"
#include "sheet/calculation.h"

/* ---------------------------------------------------------------- layers */

/* A call whose result is a record. Its parts are collected here in the order of computation. */
typedef struct att_sheet_layer {
    const att_call *call;
    bool columns; /* vectors are columns instead of rows (option `vectors`) */
    att_trace_part *parts;
    size_t part_count;
    size_t part_capacity;
} att_sheet_layer;

/* Starts a layer of at most `parts` parts and reads the option `vectors` if the function has it. */
att_status att_sheet_layer_start(att_sheet_layer *layer, const att_call *call, size_t parts);

/* Adds a part. A NULL value is reported as out of memory. */
att_status att_sheet_layer_add(att_sheet_layer *layer, const att_trace_part *part);

/* Makes *out a record of the parts; the last part is its result. */
void att_sheet_layer_finish(const att_sheet_layer *layer, att_value *out);

/* Converts between the sheet's orientation and vectors as rows: the transpose where vectors are
 * columns, otherwise the matrix itself. NULL when memory is out. */
const att_matrix *att_sheet_layer_orient(const att_sheet_layer *layer, const att_matrix *matrix);

/* Fails if the call needs more than ATT_MAX_MULTIPLICATIONS. */
att_status att_sheet_layer_check_cost(const att_call *call, double multiplications);

/* Applies the linear map `w` to the vectors of `x`: x w, or w x where vectors are columns; and its
 * formula. The caller has checked the shapes. */
att_matrix *att_sheet_layer_linear(const att_sheet_layer *layer, const att_matrix *x,
                                   const att_matrix *w, const char *name,
                                   att_calculations *calculations);
att_expr *att_sheet_layer_linear_formula(const att_sheet_layer *layer, att_expr *x, att_expr *w);

/* The text of a formula without its absent optional parameters: keeps <…> if `b` was given and {…}
 * if `b_h` was. NULL when memory is out. */
const char *att_formula_drop_absent(att_arena *arena, const char *text, bool b, bool b_h);

/* ---------------------------------------------------------------- arguments and options */

/* An argument with its name and place for error messages. */
typedef struct att_argument {
    const att_matrix *matrix;
    const char
        *name; /* as written in the sheet if that is short, otherwise the name in the usage line */
    att_expr *node;
} att_argument;

/* The name of the argument `node` in messages: as written, or `usage_name`. NULL when memory is
 * out. */
const char *att_argument_name(const att_call *call, const att_expr *node, const char *usage_name);

/* Fails if the matrix has no rows or no columns. */
att_status att_argument_check(const att_call *call, const att_argument *argument);

/* Argument `index`, which must be a matrix that is not empty. */
att_status att_argument_get(const att_call *call, size_t index, const char *usage_name,
                            att_argument *out);

/* Fails if the shapes of x and w do not fit, or if their product is too much work. */
att_status att_argument_check_linear(const att_sheet_layer *layer, const att_argument *x,
                                     const att_argument *w);

/* Argument `index` as a row or column of `length` numbers; NULL if absent (index ≥ arg_count). */
att_status att_argument_vector(const att_call *call, size_t index, const char *usage_name,
                               int64_t length, const att_matrix **out);

/* The node of an option's value, as the place of errors; NULL if the option is absent. */
const att_expr *att_option_node(const att_call *call, const char *name);

/* A number option; `*out` is unchanged if the option is absent. */
att_status att_option_number(const att_call *call, const char *name, double *out);

/* An integer option from `min` to `max`; `*out` is unchanged if the option is absent. */
att_status att_option_integer(const att_call *call, const char *name, int64_t min, int64_t max,
                              int64_t *out);

/* An option whose value is one of `words` (NULL-terminated): its index. */
att_status att_option_word(const att_call *call, const char *name, const char *const *words,
                           size_t *out);

/* ---------------------------------------------------------------- attention */

enum { ATT_PARAM_W, ATT_PARAM_U, ATT_PARAM_B, ATT_PARAM_V, ATT_PARAMS };

struct att_sheet_head;

/* How sheets show a score function. */
typedef struct att_score_spec {
    att_score score;
    bool needs_equal_width;     /* the score multiplies q and k, so d_q = d_k */
    const char *row_formula;    /* formula for vectors as rows, for att_formula_drop_absent() */
    const char *column_formula; /* formula for vectors as columns */
    const char *description;
    const char *shapes[ATT_PARAMS]; /* "qa": d_q × A where vectors are rows; NULL: not taken */
    const char *optional;           /* names of optional parameters */
    /* The calculation of the score of query i and key j. */
    att_expr *(*write_sum)(att_arena *arena, const struct att_sheet_head *head, int64_t i,
                           int64_t j);
} att_score_spec;

extern const att_score_spec att_score_specs[ATT_SCORE_COUNT];

/* How sheets show a normalizer. */
typedef struct att_normalizer_spec {
    att_normalizer normalizer;
    const char *formula;
    const char *description;
    /* The calculation of the weight of query i and key j; NULL: no calculation is shown. */
    att_expr *(*write_sum)(att_arena *arena, const struct att_sheet_head *head, int64_t i,
                           int64_t j);
} att_normalizer_spec;

extern const att_normalizer_spec att_normalizer_specs[ATT_NORMALIZER_COUNT];

/* The options of an attention call. */
typedef struct att_sheet_attention {
    att_attention_options options; /* its pointers are unused: masks are in the fields below */
    int64_t heads;                 /* an option given as a list has one entry per head */
    int64_t length;                /* number of valid keys; -1: all */
} att_sheet_attention;

att_status att_sheet_attention_read(const att_sheet_layer *layer, int64_t heads,
                                    att_sheet_attention *out);

/* One head: inputs, parameters and results. Vectors are rows here, in either orientation of the
 * sheet; parameters have the layout of attend.h section 6, [A,Kq] and so on. */
typedef struct att_sheet_head {
    int64_t number; /* from 1; 0: a call with a single unnumbered head */
    att_argument q; /* named in errors about widths: q itself, or W_q */
    att_argument k;
    att_argument v;
    const att_matrix *query; /* [T,Kq] */
    const att_matrix *key;   /* [S,Kk] */
    const att_matrix *value; /* [S,M] */
    const att_matrix *param[ATT_PARAMS];
    const att_matrix *bias;           /* [T|1,S|1] or NULL */
    double alibi_slope;               /* ALiBi slope; 0: no ALiBi */
    const uint8_t *allowed;           /* [T,S] or NULL */
    const att_matrix *projected_keys; /* general score: W k for each key (part "projected") */
    const att_matrix
        *raw_scores; /* scores before scale, soft cap and bias; NULL: same as the scores */
    att_matrix *scores;
    att_matrix *weights;
    att_matrix *output;
} att_sheet_head;

/* Reads and checks the score parameters of this head from the options. */
att_status att_sheet_head_read_params(const att_sheet_layer *layer,
                                      const att_sheet_attention *attention, att_sheet_head *head);

/* Computes the head with the reference implementation and adds its parts. */
att_status att_sheet_head_compute(att_sheet_layer *layer, const att_sheet_attention *attention,
                                  att_sheet_head *head);

/* Rounds the results of a head that has been computed, step by step (blocks_rounded.c). `products`
 * are its raw scores, or NULL. */
att_status att_sheet_head_round(const att_sheet_layer *layer, const att_sheet_attention *attention,
                                att_sheet_head *head, att_matrix *products);

/* Calls the reference and stores its results in `scores`, `weights` (may be NULL) and `output`. */
att_status att_sheet_head_reference(const att_sheet_layer *layer,
                                    const att_attention_options *options,
                                    const att_sheet_head *head, att_matrix *scores,
                                    att_matrix *weights, att_matrix *output);

/* Computes the head's results again where the scenario changes them (blocks_scenario.c). */
att_status att_sheet_head_apply_scenario(const att_sheet_layer *layer,
                                         const att_attention_options *options,
                                         att_sheet_head *head);

/* The same for the projection x w, a part of head `head`, and for the concatenated heads; these
 * return NULL when memory is out. */
const att_matrix *att_scenario_product(const att_sheet_layer *layer, const char *part, int64_t head,
                                       const att_argument *x, const att_argument *w,
                                       const att_matrix *value);
const att_matrix *att_scenario_heads(const att_sheet_layer *layer, const att_sheet_head *heads,
                                     int64_t count, const att_matrix *value);

/* Adds the parts of a head that has been computed. */
att_status att_sheet_head_add_parts(att_sheet_layer *layer, const att_sheet_attention *attention,
                                    att_sheet_head *head);

/* Element (i, j) of a matrix whose single row or single column is broadcast. */
double att_broadcast_at(const att_matrix *matrix, int64_t i, int64_t j);

/* The value of an option for one head: its entry of a list, or the value that all heads share. NULL
 * if the option is absent. */
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
