/* The operations as models call them. Shapes use the letters of attend.h; `…` stands for any
 * leading dimensions. Each call returns a new node, or NULL once the tape has failed. Arrays of
 * integers (ids, lengths, offsets) are copied.
 *
 * Batch invariance: a row of a result (one b, one t) has the same bits whatever else is in the
 * batch, and a sequence computed step by step has the bits of the whole. */
#ifndef ATT_TAPE_OPS_H
#define ATT_TAPE_OPS_H

#include "reference/rnn.h"
#include "tape/tape.h"

/* ---- elementwise */
/* a + b and a * b. The shape of b must equal the last dimensions of a; b is broadcast. */
att_node *att_add(att_tape *tape, att_node *a, att_node *b);
att_node *att_multiply(att_tape *tape, att_node *a, att_node *b);
att_node *att_scale(att_tape *tape, att_node *a, float factor);
att_node *att_sum(att_tape *tape, att_node *a); /* of all elements: a scalar */
att_node *att_activate(att_tape *tape, att_node *x, att_activation activation);

/* ---- matrix products */
/* activation(x w + bias): x [..., D], w [D,N], bias [N] or NULL. `transposed`: w is [N,D], as where
 * the embedding table is the output layer. */
att_node *att_linear(att_tape *tape, att_node *x, att_node *w, att_node *bias,
                     att_activation activation, bool transposed);

/* Batched product: a [B,T,S] b [B,S,N] = [B,T,N]. */
att_node *att_bmm(att_tape *tape, att_node *a, att_node *b);

/* ---- shape */
att_node *att_reshape(att_tape *tape, att_node *x, int rank, const int64_t *shape); /* a view */

/* Concatenates along the last dimension; takes `count` columns from `first` on. */
att_node *att_concat(att_tape *tape, att_node *const *parts, int count);
att_node *att_slice(att_tape *tape, att_node *x, int64_t first, int64_t count);

/* Stacks T nodes [B,N] to [B,T,N]; selects step t of [B,T,N]; repeats [B,N] to [B,count,N]. */
att_node *att_stack(att_tape *tape, att_node *const *steps, int64_t count);
att_node *att_select(att_tape *tape, att_node *x, int64_t t);
att_node *att_expand(att_tape *tape, att_node *x, int64_t count);

/* Pools each of several sequences into one row, [sequences,N]: column means, column maxima, or the
 * last row. Sequence b is `lengths[b]` rows of x [..., N] from row `offsets[b]` on. An empty
 * sequence yields zeros. */
typedef enum att_pool_mode {
    ATT_POOL_MODE_MEAN,
    ATT_POOL_MODE_MAX,
    ATT_POOL_MODE_LAST
} att_pool_mode;
att_node *att_sequence_pool(att_tape *tape, att_node *x, att_pool_mode mode, int64_t sequences,
                            const int64_t *offsets, const int64_t *lengths);

/* ---- embeddings and positions */
/* Row `ids[i]` of table [V,D] for each id: [rows,columns,D]. An id below 0 yields zeros. */
att_node *att_embedding_lookup(att_tape *tape, att_node *table, int64_t rows, int64_t columns,
                               const int32_t *ids);

/* Sinusoidal position vectors of positions first … first+count-1, [count,width]: a constant. */
att_node *att_sinusoidal_positions(att_tape *tape, int64_t first, int64_t count, int64_t width);

/* RoPE, rotary position embedding (Su et al. 2021): rotates the first `heads` heads of `head_size`
 * columns each, row i by positions[i]; columns after those are copied. Columns j and
 * j + head_size/2 of a head are rotated together, by position / 10000^(2j/head_size). */
att_node *att_rope(att_tape *tape, att_node *x, int64_t heads, int64_t head_size,
                   const int32_t *positions);

/* ---- dropout, residuals, norms, gates */
/* Active in training alone. `dropout_id` distinguishes the uses within one step: element (row,
 * column) is drawn from the tape's seed and step, `dropout_id`, the row and the column. */
att_node *att_dropout(att_tape *tape, att_node *x, float probability, uint64_t dropout_id);

/* The same, but row i is drawn as row groups[i], so that all rows of a group lose the same columns.
 */
att_node *att_dropout_grouped(att_tape *tape, att_node *x, float probability, uint64_t dropout_id,
                              const int32_t *groups);

/* x + dropout(y), both of one shape: a residual connection. */
att_node *att_residual(att_tape *tape, att_node *x, att_node *y, float probability,
                       uint64_t dropout_id);

/* Over the last dimension D of x; gain [D], bias [D]. */
att_node *att_layer_norm(att_tape *tape, att_node *x, att_node *gain, att_node *bias);
att_node *att_rms_norm(att_tape *tape, att_node *x, att_node *gain);

/* silu(a) b for x = [a, b]: [..., 2 F] to [..., F] (Shazeer 2020, "SwiGLU"). */
att_node *att_swiglu(att_tape *tape, att_node *x);

/* ---- images: [B,H,W,C] */
typedef struct att_conv2d_options {
    int64_t kernel_height, kernel_width;
    int64_t stride, padding; /* zeros on each side of the image */
    att_activation activation;
} att_conv2d_options;

/* activation(convolution + bias), [B,OH,OW,N] with OH = floor((H + 2 padding - kernel_height) /
 * stride) + 1, and OW likewise: w [kernel_height kernel_width C, N], its rows in the order (y, x,
 * c); bias [N] or NULL. */
att_node *att_conv2d(att_tape *tape, att_node *x, att_node *w, att_node *bias,
                     const att_conv2d_options *options);

/* Maxima of windows size x size, a stride apart, [B,OH,OW,C]. With `ceil` the last window of a row
 * or column may reach beyond the border and ends there; without, it must fit. */
att_node *att_max_pool2d(att_tape *tape, att_node *x, int64_t size, int64_t stride, bool ceil);

/* Means of adjacent windows height x width, [B,OH,OW,C]. Windows at the right and lower border may
 * be smaller. */
att_node *att_avg_pool2d(att_tape *tape, att_node *x, int64_t height, int64_t width);

/* ---- RNNs. The order of gates is in reference/rnn.h; a state is [B, states N]: hidden, then for
 * the LSTM the cell. */
typedef struct att_rnn_options {
    att_rnn_cell cell;
    bool reverse;           /* from the last step of each sequence to its first */
    const int64_t *lengths; /* [B] steps in use, or NULL: all; the others yield zeros */
} att_rnn_options;

typedef struct att_rnn_inputs {
    att_node *x;             /* [B,T,D] */
    att_node *w;             /* [D, gates N] */
    att_node *u;             /* [N, gates N] */
    att_node *bias;          /* [gates N], or NULL */
    att_node *bias_u;        /* [gates N], or NULL: added to h u; separate for the GRU alone */
    att_node *initial_state; /* [B, states N], or NULL: zeros */
} att_rnn_inputs;

/* A whole sequence: hidden states [B,T,N]. */
att_node *att_rnn(att_tape *tape, const att_rnn_inputs *in, const att_rnn_options *options);

/* The state [B, states N] of an att_rnn() node after the last step in use. A sequence of length 0
 * ends in its initial state. */
att_node *att_rnn_final_state(att_tape *tape, att_node *rnn);

/* The states after every step, [B,T, states N], for inspecting cells. Values only: no gradient
 * flows through this node. */
att_node *att_rnn_all_states(att_tape *tape, att_node *rnn);

/* ---- attention */
/* A range of columns of a node, so that query, key and value may be parts of one node. */
typedef struct att_column_range {
    int64_t first, count; /* count 0: all columns */
} att_column_range;

typedef struct att_attention_op_inputs {
    att_node *query; /* [B,T,H K] */
    att_node *key;   /* [B,S,G K] */
    att_node *value; /* [B,S,G M]; NULL: the result is the attention weights, [B,T,H S] */
    att_column_range query_columns, key_columns, value_columns;
    att_node *w, *u, *b, *v; /* parameters of the score, as in att_attention_inputs, shared by all
                                heads: [.,.] */
    att_node *bias;          /* [B|1,H|1,T|1,S|1] */
} att_attention_op_inputs;

/* All heads side by side: [B,T,H M]. `options` is copied with the lengths, offsets and blocks it
 * points to; a dense mask is not copied and must live until backward is done. Dropout is active in
 * training alone and is drawn from the tape's seed and step. */
att_node *att_attention_op(att_tape *tape, const att_attention_op_inputs *in, int64_t heads,
                           int64_t kv_heads, const att_attention_options *options);

/* The weights of an att_attention_op() node, [B,H,T,S], computed again: values only. */
att_node *att_attention_op_weights(att_tape *tape, att_node *attention);

/* The bias of local attention with a predicted center (Luong et al. 2015, "local-p"):
 * -(s - p)² / (2 width²) for key s, [B,1,T,S], with p = lengths[b] place[b,t]; place [B,T,1] in
 * (0,1). */
att_node *att_local_window_bias(att_tape *tape, att_node *place, int64_t keys,
                                const int64_t *lengths, float width);

/* ---- losses, summed over rows: scalars */
/* What is trained beside plain cross-entropy; all-zero: nothing. */
typedef struct att_loss_terms {
    float label_smoothing;
    float consistency; /* weight of the consistency loss (reference/loss.h) of rows i and N / 2 + i
                          of all N rows, which predict the same target with other dropout */
} att_loss_terms;

/* Cross-entropy of logits [..., V] against targets, one per row; a target below 0 is skipped.
 * `losses`, if not NULL, receives the unsmoothed loss of each row (0 where skipped). */
att_node *att_cross_entropy(att_tape *tape, att_node *logits, const int32_t *targets,
                            att_loss_terms terms, float *losses);

/* An output layer and its loss in one operation: the cross-entropy of the logits x w + bias (as in
 * att_linear) against targets, one per row, 0 or more. The logits are never all in memory.
 * `losses`, if not NULL, receives one entry per row. */
typedef struct att_linear_cross_entropy_inputs {
    att_node *x, *w, *bias; /* bias may be NULL */
    bool transposed;
} att_linear_cross_entropy_inputs;

typedef struct att_token_loss {
    float loss;     /* -log probability of the target, unsmoothed */
    bool predicted; /* the target has the largest logit, and is the first where several have it */
} att_token_loss;

att_node *att_linear_cross_entropy(att_tape *tape, const att_linear_cross_entropy_inputs *in,
                                   const int32_t *targets, att_loss_terms terms,
                                   att_token_loss *losses);

/* Guided alignment: -log of attention weights [B,T,S] at the aligned key of each query; a key below
 * 0 is skipped. */
att_node *att_guided_alignment_loss(att_tape *tape, att_node *weights, const int32_t *keys);

/* Linear-chain CRF: -log of the probability of the labels of each sequence, which is `lengths[b]`
 * rows of the emissions from row `offsets[b]` on. A sequence with a label below 0 is skipped.
 * `labels` has one per row; `losses`, if not NULL, receives one entry per sequence (0 where
 * skipped). */
typedef struct att_crf_inputs {
    att_node *emissions;   /* [..., L] */
    att_node *transitions; /* [L,L] from the row's label to the column's */
    att_node *start, *end; /* [L] */
} att_crf_inputs;

att_node *att_crf_loss(att_tape *tape, const att_crf_inputs *in, int64_t sequences,
                       const int64_t *offsets, const int64_t *lengths, const int32_t *labels,
                       float *losses);

/* Cross-entropy of a pointer-generator (reference/loss.h has the formula), which generates a token
 * of the vocabulary or copies a token of the source. One target per row, below 0: skipped; a target
 * of V or more must be the id of a source token of its row. `losses`, if not NULL, receives the
 * unsmoothed loss of each row (0 where skipped). */
typedef struct att_copy_inputs {
    att_node *logits;  /* [..., V] */
    att_node *gate;    /* [..., 1] before the sigmoid */
    att_node *weights; /* [..., S] attention weights of each row */
} att_copy_inputs;

typedef struct att_copy_sources {
    int64_t count;            /* B */
    int64_t length;           /* S */
    const int32_t *ids;       /* [B,S] ids of the source tokens, below 0 in padding */
    const int64_t *source_of; /* [rows] the source of each row */
} att_copy_sources;

att_node *att_copy_cross_entropy(att_tape *tape, const att_copy_inputs *in,
                                 const att_copy_sources *sources, const int32_t *targets,
                                 float label_smoothing, float *losses);

#endif
