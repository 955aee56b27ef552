/* The operations as models call them. Shapes are in the letters of attend.h; `…` stands for any
 * leading dimensions. Each gives a new node, or NULL once the tape has failed. Arrays of numbers
 * (tokens, lengths) are copied.
 *
 * A row of a result (one b, one t) has the same bits whatever else is in the batch, and a sequence
 * worked step by step those of the whole. */
#ifndef ATT_TAPE_OPS_H
#define ATT_TAPE_OPS_H

#include "tape/tape.h"

/* ---- arithmetic */
att_node *att_add(att_tape *tape, att_node *a, att_node *b);      /* b's shape ends a's: repeated */
att_node *att_multiply(att_tape *tape, att_node *a, att_node *b); /* likewise */
att_node *att_color_scale(att_tape *tape, att_node *a, float factor);
att_node *att_sum(att_tape *tape, att_node *a); /* of everything: a number */

/* activation(x); att_activation as in the matrix product. */
att_node *att_activate(att_tape *tape, att_node *x, att_activation activation);

/* activation(x w + bias): x [..., D], w [D,N], bias [N] or NULL. `transposed`: w is [N,D], as where
 * an embedding serves as the output layer. */
att_node *att_linear(att_tape *tape, att_node *x, att_node *w, att_node *bias,
                     att_activation activation, bool transposed);

/* a b for each item: a [B,T,S], b [B,S,N]. */
att_node *att_bmm(att_tape *tape, att_node *a, att_node *b);

/* ---- shape */
att_node *att_reshape(att_tape *tape, att_node *x, int rank, const int64_t *shape);
att_node *att_concat(att_tape *tape, att_node *const *parts,
                     int count); /* along the last dimension */
att_node *att_slice(att_tape *tape, att_node *x, int64_t first, int64_t count); /* of the last */
att_node *att_stack(att_tape *tape, att_node *const *steps,
                    int64_t count);                               /* T times [B,N]: [B,T,N] */
att_node *att_select(att_tape *tape, att_node *x, int64_t t);     /* [B,T,N]: [B,N] */
att_node *att_expand(att_tape *tape, att_node *x, int64_t count); /* [B,N]: [B,count,N], repeated */

/* One row for each of several sequences: the mean of its rows, the largest of each column, or the
 * last. Sequence b is `lengths[b]` rows of x [..., N] from row `first[b]` on: [sequences,N]. One
 * without rows gives zeros. */
typedef enum att_pool_mode {
    ATT_POOL_MODE_MEAN,
    ATT_POOL_MODE_MAX,
    ATT_POOL_MODE_LAST
} att_pool_mode;
att_node *att_sequence_pool(att_tape *tape, att_node *x, att_pool_mode kind, int64_t sequences,
                            const int64_t *first, const int64_t *lengths);

/* ---- layers */
/* Row `ids[i]` of table [V,D] for each: [rows,columns,D]. An id below 0 gives zeros. */
att_node *att_embedding_lookup(att_tape *tape, att_node *table, int64_t rows, int64_t columns,
                               const int32_t *ids);

/* The sinusoids of positions first … first+T-1, [T,D]: a constant. */
att_node *att_sinusoidal_positions(att_tape *tape, int64_t first, int64_t count, int64_t width);

/* Acts while learning only; `place` tells uses in one step apart. Element (row, column) is drawn
 * under the tape's seed and step, `place`, and its row and column. */
att_node *att_dropout(att_tape *tape, att_node *x, float probability, uint64_t dropout_id);

/* The same for rows of kinds, one for each: element (row, column) is drawn as that of row `kind`
 * would be, so that rows of one kind lose the same columns. */
att_node *att_dropout_grouped(att_tape *tape, att_node *x, float probability, uint64_t dropout_id,
                              const int32_t *kinds);

/* x + dropout of y, of one shape: what goes around a part of a layer, and what comes out of it. */
att_node *att_residual(att_tape *tape, att_node *x, att_node *y, float probability,
                       uint64_t dropout_id);

att_node *att_layer_norm(att_tape *tape, att_node *x, att_node *gain,
                         att_node *bias); /* [..., D] */
att_node *att_rms_norm(att_tape *tape, att_node *x, att_node *gain);

/* ---- pictures: [B,H,W,C] */
typedef struct att_conv2d_options {
    int64_t kernel_height, kernel_width; /* of the kernel */
    int64_t stride, padding;             /* zeros around the picture */
    att_activation activation;
} att_conv2d_options;

/* activation(convolution + bias), [B,OH,OW,N] with OH = (H + 2 padding - height) / stride + 1,
 * rounded down, and OW likewise: w [height width C, N], its rows in the order (y, x, c); bias [N]
 * or NULL. */
att_node *att_conv2d(att_tape *tape, att_node *x, att_node *w, att_node *bias,
                     const att_conv2d_options *options);

/* The maximum of windows size x size, a stride apart, [B,OH,OW,C]. With `ceil` the last window of a
 * line may reach beyond the border, where there is nothing; without, it ends within. */
att_node *att_max_pool2d(att_tape *tape, att_node *x, int64_t size, int64_t stride, bool ceil);

/* Means of cells height x width that lie side by side, [B,OH,OW,C]; those at the right and the
 * lower border are cut there, and are the mean of what is left. */
att_node *att_avg_pool2d(att_tape *tape, att_node *x, int64_t height, int64_t width);

/* ---- recurrent */
typedef enum att_rnn_cell {
    ATT_RNN_CELL_VANILLA,
    ATT_RNN_CELL_GRU,
    ATT_RNN_CELL_LSTM
} att_rnn_cell;

/* Columns of w, u and bias per unit: 1, 3 (reset, update, candidate), 4 (input, forget, candidate,
 * output). A state is [B, att_rnn_cell_states(cell) N]: hidden, then for the LSTM the cell. */
int att_rnn_cell_gates(att_rnn_cell cell);
int att_rnn_cell_states(att_rnn_cell cell);

typedef struct att_rnn_options {
    att_rnn_cell cell;
    bool reverse;           /* from the last step of each sequence to its first */
    const int64_t *lengths; /* [B] steps in use, or NULL: all; the others give zeros */
} att_rnn_options;

typedef struct att_rnn_inputs {
    att_node *x;             /* [B,T,D] */
    att_node *w;             /* [D, gates N] */
    att_node *u;             /* [N, gates N] */
    att_node *bias;          /* [gates N], or NULL */
    att_node *bias_u;        /* [gates N], or NULL: added to h u, which matters for the GRU alone */
    att_node *initial_state; /* state [B, states N], or NULL: zeros */
} att_rnn_inputs;

/* A whole sequence: hidden states [B,T,N]. */
att_node *att_rnn(att_tape *tape, const att_rnn_inputs *in, const att_rnn_options *options);

/* The state that `recur`, a node of att_rnn(), ends in, [B, states N]: after its last step in
 * use. A sequence of no steps ends where it started. */
att_node *att_rnn_final_state(att_tape *tape, att_node *rnn);

/* Every state on the way, [B,T, states N]: for step-by-step use and for looking into cells. Values
 * only: no gradient flows through this one. */
att_node *att_rnn_all_states(att_tape *tape, att_node *rnn);

/* silu(a) b for x = [a, b]: [..., 2 F] to [..., F] (Shazeer 2020, "SwiGLU"). */
att_node *att_swiglu(att_tape *tape, att_node *x);

/* Turns heads by their positions (Su et al. 2021): the first `heads` heads of `width` columns each,
 * row i by positions[i]; columns after those stay as they are. Columns j and j + width/2 of a head
 * turn together, by position / 10000^(2j/width). */
att_node *att_rope(att_tape *tape, att_node *x, int64_t heads, int64_t width,
                   const int32_t *positions);

/* ---- attention */
/* Some columns of a node: those of its heads, where others stand beside them. */
typedef struct att_column_range {
    int64_t first, count; /* count 0: all */
} att_column_range;

typedef struct att_attention_op_inputs {
    att_node *query; /* [B,T,H K] */
    att_node *key;   /* [B,S,G K] */
    att_node *value; /* [B,S,G M]; NULL: the result is the weights themselves, [B,T,H S] */
    att_column_range query_columns, key_columns,
        value_columns; /* so that the three may be one node */
    att_node *w, *u, *b,
        *v;         /* parameters of the score, as in att_attention_inputs; one head: [.,.] */
    att_node *bias; /* [B|1,H|1,T|1,S|1] */
} att_attention_op_inputs;

/* Heads combined: [B,T,H M]. `how` is copied with the lengths, offsets and blocks it points to; a
 * dense mask is lent until the backward is done. Its dropout acts while learning only and is drawn
 * under the tape's seed and step. */
att_node *att_attention_op(att_tape *tape, const att_attention_op_inputs *in, int64_t heads,
                           int64_t key_heads, const att_attention_options *options);

/* The weights of an att_attention_op() node, [B,H,T,S], worked out again: values only. */
att_node *att_attention_op_weights(att_tape *tape, att_node *attend);

/* A window that the model places itself (Luong et al. 2015, "local-p"): -(s - p)^2 / (2 width^2)
 * for key s, [B,1,T,S], with p = lengths[b] place[b,t]; place [B,T,1] in (0,1). */
att_node *att_local_window_bias(att_tape *tape, att_node *dropout_id, int64_t keys,
                                const int64_t *lengths, float width);

/* ---- losses, summed over rows: single numbers */
/* Cross-entropy of scores [..., V] against targets, one per row; a target below 0 is skipped. With
 * `losses` (not NULL) the loss of each row, unsmoothed, is written there (0 where skipped). */
att_node *att_cross_entropy(att_tape *tape, att_node *scores, const int32_t *targets,
                            float smoothing, float *losses);

/* An output layer and its loss: the cross-entropy of x w + bias, as att_linear() takes them,
 * against targets, one per row, none of them skipped. The scores are never all in memory. With
 * `losses` (not NULL) what became of each row is written there. */
typedef struct att_linear_cross_entropy_inputs {
    att_node *x, *w, *bias; /* bias may be NULL */
    bool transposed;
} att_linear_cross_entropy_inputs;

typedef struct att_token_loss {
    float loss;     /* -log probability of the target, unsmoothed */
    bool predicted; /* the target had the largest score, and was the first of equals */
} att_token_loss;

att_node *att_linear_cross_entropy(att_tape *tape, const att_linear_cross_entropy_inputs *in,
                                   const int32_t *targets, float smoothing, att_token_loss *losses);

/* -log of weights [B,T,S] at the key given for each query; below 0 is skipped. */
att_node *att_guided_alignment_loss(att_tape *tape, att_node *weights, const int32_t *keys);

#endif
