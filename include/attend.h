/*
 * attend.h: attention in C, from the chalkboard sum to a trained model.
 *
 * This is the whole public interface of libattend and its manual.
 *
 *   1. Status and errors      what every call gives back
 *   2. Text                   a growing string, what renderers write into; saving a file
 *   3. Machine                threads and instruction sets
 *   4. Tensors                shapes and views
 *   5. Files                  .npy, .npz and .safetensors
 *   6. Matrix product         in float, with weights packed once
 *   7. Attention              score, mask, normalise, combine
 *   8. Worksheets             a sheet worked out step by step
 *   9. Rendering              traces and attention maps
 *  10. Settings               every choice of training, by name
 *  11. Metrics                how well lines of text agree with references
 *  12. Models                 model files: loading, making by hand, what is inside
 *  13. Answers                lines answered, pictures described, and how well
 *  14. Labels                 lines sorted, and how well
 *  15. Language models        texts that go on, and how well they are foreseen
 *  16. Looking inside         heads of Transformers, units of recurrent models
 *  17. Training               a model from settings and data
 *  18. Importing              weights of other programs
 *  19. Pictures               photographs from JPEG and PNG files; what a network sees in them
 *  20. Measuring              how fast all of this is here, and how fast it could be
 *  21. Gradient check         every operation of the models against its formula
 *
 * Conventions. The library never prints, exits or aborts. A call that can fail returns an
 * att_status and, where an att_error is given, says in it what was wrong and what was expected.
 * `_new` and `_load` make something that the matching `_free` releases (it takes NULL); `_view` and
 * `_get` lend. Vectors are rows. Every array carries its shape in these letters:
 *
 *   B batch                    T queries (target)          S keys (source)
 *   H heads of the query       G heads of keys and values  (H is a multiple of G)
 *   K width of a query or key  M width of a value          A hidden width of the additive score
 */
#ifndef ATTEND_H
#define ATTEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ATT_API __attribute__((visibility("default")))
#else
#define ATT_API
#endif

#define ATT_VERSION "0.1.0"

/* The version of the library in use, which may be newer than the header compiled against. */
ATT_API const char *att_version(void);

/* ---------------------------------------------------------------- 1. Status and errors */

typedef enum att_status {
    ATT_OK = 0,
    ATT_BAD_INPUT,   /* a file, text or argument that cannot be used as it is */
    ATT_NO_MEMORY,   /* an allocation failed */
    ATT_SYSTEM,      /* the operating system refused: reading, writing, renaming */
    ATT_UNSUPPORTED, /* this build lacks the library that the feature needs */
} att_status;

/* The detail of a failure. `message` is one sentence without a final full stop or newline;
 * `place` names the file, tensor or call; `line` and `column` count from 1 and are 0 where they
 * mean nothing; `excerpt` holds the offending line and a caret beneath, or is empty. */
typedef struct att_error {
    att_status status;
    int line;
    int column;
    char place[256];
    char message[768];
    char excerpt[512];
} att_error;

/* The name of a status: "ok", "bad input", … */
ATT_API const char *att_status_name(att_status status);

/* The one of `count` known words that `word` was probably meant to be, whatever its case, or NULL
 * where none is near: for "did you mean" in messages. */
ATT_API const char *att_suggest(const char *word, const char *const *known, size_t count);

/* ---------------------------------------------------------------- 2. Text */

/* A growing string. Start from {0}; `data`, once not NULL, always ends in a zero byte that
 * `length` does not count. */
typedef struct att_string {
    char *data;
    size_t length;
    size_t capacity;
} att_string;

/* Appends bytes. A failed allocation leaves the text as it was. */
ATT_API att_status att_string_append(att_string *text, const char *bytes, size_t length);

ATT_API void att_string_free(att_string *text);

/* Writes a file beside `path`, flushes it and renames it into place, so that no reader and no power
 * failure ever meets half of it. A file that was there keeps its mode; a device or FIFO such as
 * /dev/stdout is written to directly. */
ATT_API att_status att_file_save(const char *path, const void *bytes, size_t size, att_error *err);

/* ---------------------------------------------------------------- 3. Machine */

/* Threads used by calls from now on; 0 means as many as the process may use. The environment
 * variable ATTEND_THREADS sets the start value. Results do not depend on it. Any number of threads
 * may make calls at once, but none while this is changed: calls plan their memory by it. */
ATT_API void att_threads_set(int count);
ATT_API int att_threads_get(void);

/* The instruction set in use: "ref", "avx2" or "avx512". ATTEND_CPU forces one that is present. */
ATT_API const char *att_cpu_name(void);

/* Whether ATTEND_CPU and ATTEND_THREADS, where set, ask for what can be had. A program calls this
 * at its start to tell its user; the library itself otherwise uses the best there is. */
ATT_API att_status att_cpu_check(att_error *err);

/* ---------------------------------------------------------------- 4. Tensors */

#define ATT_MAX_RANK 8

/* Element types. The 16-bit ones are storage: att_tensor_* functions and attention's query, key,
 * value and biases take them; every other call refuses them. */
typedef enum att_dtype {
    ATT_F32 = 1, /* float */
    ATT_F64 = 2, /* double */
    ATT_F16 = 3, /* uint16_t: IEEE binary16, "float16" */
    ATT_BF16 = 4 /* uint16_t: the upper half of a float, "bfloat16" */
} att_dtype;

/* An array of up to 8 dimensions. Element [i0, i1, …] is at data[i0*stride[0] + i1*stride[1] + …];
 * strides count elements and may be 0 (broadcasting) or negative. A tensor that owns its block has
 * it in `owned`; a view has NULL there and must not outlive what it looks at. */
typedef struct att_tensor {
    void *data;
    att_dtype dtype;
    int rank;
    int64_t shape[ATT_MAX_RANK];
    int64_t stride[ATT_MAX_RANK];
    void *owned;
} att_tensor;

/* Makes a tensor of zeros, row-major. Release with att_tensor_free(). */
ATT_API att_status att_tensor_new(att_tensor *out, att_dtype dtype, int rank, const int64_t *shape,
                                  att_error *err);

/* Releases the block of an owning tensor and clears it; a view is only cleared. */
ATT_API void att_tensor_free(att_tensor *tensor);

/* A row-major view of `data`. */
ATT_API att_tensor att_tensor_view(const void *data, att_dtype dtype, int rank,
                                   const int64_t *shape);

/* `count` entries of dimension `dim` from `start` on, as a view. */
ATT_API att_status att_tensor_slice(att_tensor *out, const att_tensor *in, int dim, int64_t start,
                                    int64_t count, att_error *err);

/* Dimensions `a` and `b` exchanged, as a view. */
ATT_API att_status att_tensor_transpose(att_tensor *out, const att_tensor *in, int a, int b,
                                        att_error *err);

/* The same elements in another shape, as a view; the input must be row-major without gaps. */
ATT_API att_status att_tensor_reshape(att_tensor *out, const att_tensor *in, int rank,
                                      const int64_t *shape, att_error *err);

/* A row-major copy, converted to `dtype`. */
ATT_API att_status att_tensor_copy(att_tensor *out, const att_tensor *in, att_dtype dtype,
                                   att_error *err);

/* The number of elements; -1 for a broadcast view of more than an int64_t can count. */
ATT_API int64_t att_tensor_count(const att_tensor *tensor);

/* Element access for small work and tests; `index` has one entry per dimension, in range. */
ATT_API double att_tensor_get(const att_tensor *tensor, const int64_t *index);
ATT_API void att_tensor_set(att_tensor *tensor, const int64_t *index, double value);

/* ---------------------------------------------------------------- 5. Files */

/* Reads a .npy file of version 1, 2 or 3. float32 stays float; float16, booleans and integers of
 * up to 16 bits become float; float64 and wider integers become double (an integer that a double
 * cannot hold exactly is refused). Fortran order is converted to row-major. */
ATT_API att_status att_npy_load(att_tensor *out, const char *path, att_error *err);

/* The same from memory; `name` stands for the file in errors. */
ATT_API att_status att_npy_read(att_tensor *out, const void *bytes, size_t size, const char *name,
                                att_error *err);

/* Writes a .npy file (version 1.0) beside `path` and renames it into place. */
ATT_API att_status att_npy_save(const att_tensor *tensor, const char *path, att_error *err);

/* A set of named tensors with text metadata: the contents of a .npz or .safetensors file. */
typedef struct att_bundle att_bundle;

ATT_API att_status att_bundle_new(att_bundle **out, att_error *err);
ATT_API void att_bundle_free(att_bundle *bundle);

/* Reads a file; which format it is shows from its first bytes. Elements are converted as by
 * att_npy_load(); bfloat16 becomes float. A .npz may unpack to 4 GB at most. */
ATT_API att_status att_bundle_load(att_bundle **out, const char *path, att_error *err);
ATT_API att_status att_npz_read(att_bundle **out, const void *bytes, size_t size, const char *name,
                                att_error *err);
ATT_API att_status att_safetensors_read(att_bundle **out, const void *bytes, size_t size,
                                        const char *name, att_error *err);

/* Writes all tensors, doubles before floats and then by name, beside `path` and renames the file
 * into place. The same contents give the same bytes, in whatever order they were added. */
ATT_API att_status att_safetensors_save(const att_bundle *bundle, const char *path, att_error *err);

/* Tensors in the order of the file (or of adding); `_get` gives NULL for an unknown name. */
ATT_API size_t att_bundle_count(const att_bundle *bundle);
ATT_API const char *att_bundle_name(const att_bundle *bundle, size_t index);
ATT_API const att_tensor *att_bundle_at(const att_bundle *bundle, size_t index);
ATT_API const att_tensor *att_bundle_get(const att_bundle *bundle, const char *name);

/* Adds a copy of `tensor`; a name may be used once. */
ATT_API att_status att_bundle_add(att_bundle *bundle, const char *name, const att_tensor *tensor,
                                  att_error *err);

/* Text metadata; `_get` gives NULL for an unknown key. */
ATT_API const char *att_bundle_meta_get(const att_bundle *bundle, const char *key);
ATT_API att_status att_bundle_meta_set(att_bundle *bundle, const char *key, const char *value,
                                       att_error *err);

/* ---------------------------------------------------------------- 6. Matrix product */

/* What is done to each result as it is stored. */
typedef enum att_activation {
    ATT_ACTIVATION_NONE,
    ATT_ACTIVATION_RELU,
    ATT_ACTIVATION_GELU, /* x Phi(x), exact */
    ATT_ACTIVATION_SILU, /* x sigmoid(x) */
    ATT_ACTIVATION_TANH,
    ATT_ACTIVATION_SIGMOID,
} att_activation;

/* The choices of a product; all-zero means the plain one. */
typedef struct att_matmul_options {
    bool add;               /* to what c holds; else that is replaced */
    const att_tensor *bias; /* [columns], added before the activation; or NULL */
    att_activation activation;
} att_matmul_options;

/* c = activation(a b + bias): a [..., rows, depth], b [..., depth, columns], c [..., rows,
 * columns], all float; leading dimensions that a or b lacks, or that are 1 there, are repeated.
 * Transposes are views (att_tensor_transpose). Of b's last two dimensions one must have stride 1,
 * and c's last; none is negative; c overlaps nothing else. `how` may be NULL.
 *
 * Each result is summed along the depth in blocks of 256, in each block by fused multiply-adds in
 * index order; the sums of blocks are added in order. So a row is the same bits alone or among
 * others, with b packed or not, at any number of threads and on any instruction set. */
ATT_API att_status att_matmul(att_tensor *c, const att_tensor *a, const att_tensor *b,
                              const att_matmul_options *how, att_error *err);

/* A matrix b [depth, columns] laid out for products once, for use in many: the weights of a model.
 * It is a copy; changing b later does not change it. */
typedef struct att_packed_matrix att_packed_matrix;
ATT_API att_status att_packed_matrix_new(att_packed_matrix **out, const att_tensor *b,
                                         att_error *err);
ATT_API void att_packed_matrix_free(att_packed_matrix *packed);

/* The product with a packed b. It needs no memory and so does not fail on good arguments. */
ATT_API att_status att_matmul_packed(att_tensor *c, const att_tensor *a, const att_packed_matrix *b,
                                     const att_matmul_options *how, att_error *err);

/* ---------------------------------------------------------------- 7. Attention */

/* Attention has four places, each a choice: score, mask, normalise, combine. The order is
 *   score → scale → soft cap → bias → mask → normalise → dropout → combine,
 * and docs/attention.md says exactly what each means, with the formulas. */

/* How alike a query q and a key k are. Parameters are tensors of att_attention_inputs; each has a
 * leading head dimension of H, or 1 to share it among heads. */
typedef enum att_score {
    ATT_SCORE_DOT,      /* q·k */
    ATT_SCORE_SCALED,   /* q·k / sqrt(K) */
    ATT_SCORE_GENERAL,  /* qᵀ W k               score_w [H|1,Kq,Kk] */
    ATT_SCORE_ADDITIVE, /* vᵀ tanh(W q + U k + b) score_w [H|1,A,Kq], score_u [H|1,A,Kk],
                           score_b [H|1,A] or none, score_v [H|1,A]; where score_w or score_u is
                           none, the query or the key is W q or U k already, of width A */
    ATT_SCORE_CONCAT,   /* relu(vᵀ [q;k])       score_v [H|1,Kq+Kk] */
    ATT_SCORE_GAUSSIAN, /* exp(q·k) */
    ATT_SCORE_COSINE,   /* q·k / (|q| |k|); 0 where either is the zero vector */
    ATT_SCORE_LOCATION, /* (W q + b) at the key's position: score_w [H|1,≥P,Kq], score_b [H|1,≥P]
                           or none; P is S, or the length of the longest packed sequence */
} att_score;

/* How a query's scores become weights, over the keys it may attend. */
typedef enum att_normalizer {
    ATT_NORMALIZE_SOFTMAX,
    ATT_NORMALIZE_MEAN,      /* score / number of keys that may be attended */
    ATT_NORMALIZE_SPARSEMAX, /* the nearest point of the simplex */
    ATT_NORMALIZE_ENTMAX15,  /* 1.5-entmax: between softmax and sparsemax */
    ATT_NORMALIZE_SIGMOID,   /* each score on its own */
    ATT_NORMALIZE_SUM, /* score / sum of scores: with the Gaussian score, non-local networks */
    ATT_NORMALIZE_NONE,
} att_normalizer;

/* One block of a block mask: queries and keys counted in blocks from 0. */
typedef struct att_block {
    int64_t query;
    int64_t key;
} att_block;

/* The choices of an attention computation. All-zero means: dot score, softmax, no mask.
 *
 * Masks combine: a query sees a key only if every mask given allows it. Lengths, blocks, the dense
 * mask and the bias go by index. Causal masks, windows, ALiBi, relative tables and the location
 * score go by position: a key's is its index, a query's its index + `offset` (or its sequence's
 * entry in `offsets`), which is never implied by shapes; in packed sequences (B = 1) indices for
 * this count from the start of the sequence, and queries and keys of one sequence see only each
 * other.
 *
 * Whether dropout keeps a weight depends on seed, step, layer, b, h, i and j alone. */
typedef struct att_attention_options {
    att_score score;
    att_normalizer normalizer;
    double scale;    /* multiplies the score; 0: 1/sqrt(Kq) for the scaled score, else 1 */
    double soft_cap; /* score becomes cap*tanh(score/cap), cap from 1e-30 to 1e30; 0: none */

    bool causal;            /* query i sees keys ≤ i + offset */
    int64_t offset;         /* position of query 0, counted in keys */
    const int64_t *offsets; /* [B], or [sequences] where packed: position of query 0 of each
                               sequence, for KV caches of different lengths; NULL: `offset` for
                               all. With offsets, `offset` must be 0 */
    bool window;          /* query i sees keys from i+offset-window_left to i+offset+window_right */
    int64_t window_left;  /* negative: unlimited */
    int64_t window_right; /* negative: unlimited */
    const int64_t *query_lengths; /* [B] queries in use, or NULL; the others get zeros */
    const int64_t *key_lengths;   /* [B] keys in use, or NULL */
    const att_block *blocks;      /* [block_count] blocks that may be attended, or NULL: all */
    int64_t block_count;
    int64_t block_queries;        /* queries in a block */
    int64_t block_keys;           /* keys in a block */
    const uint8_t *mask;          /* dense mask, nonzero = may attend, or NULL */
    int64_t mask_stride[4];       /* of b, h, i, j, in elements; 0 broadcasts */
    int64_t sequences;            /* packed sequences; 0: not packed */
    const int64_t *query_offsets; /* [sequences+1] start of each in T, last = T */
    const int64_t *key_offsets;   /* [sequences+1] start of each in S, last = S */

    double dropout; /* probability p that a weight is dropped; the rest are scaled by 1/(1-p) */
    uint64_t dropout_seed; /* the same key gives the same draws, on every machine */
    uint64_t dropout_step;
    uint64_t dropout_layer;
} att_attention_options;

/* What goes in. query [B,T,H,Kq], key [B,S,G,Kk], value [B,S,G,M]; H is a multiple of G, and query
 * head h uses head h/(H/G) of keys and values. Kq = Kk but for the general, additive, concat and
 * location scores. Any strides, so that column vectors are a transposed view; float or double, and
 * query, key, value and biases also ATT_F16 or ATT_BF16: the results are those of the same values
 * in float, which are converted a few rows at a time. Results and gradients are float or double.
 * B, T, S, K and M may be 0. NULL where not used. */
typedef struct att_attention_inputs {
    const att_tensor *query;
    const att_tensor *key;
    const att_tensor *value;
    const att_tensor *score_w;
    const att_tensor *score_u;
    const att_tensor *score_b;
    const att_tensor *score_v;
    const att_tensor *bias;     /* [B|1,H|1,T|1,S|1], added after scale and soft cap */
    const att_tensor *alibi;    /* [H|1] slopes: adds -slope*|i + offset - j| */
    const att_tensor *relative; /* [H|1,2R+1]: adds table[clamp(j - i - offset, -R, R) + R] */
} att_attention_inputs;

/* What comes out; each may be NULL but `output`. None may overlap an input or be a broadcast view.
 * A query that may attend nothing gets zeros, and -inf as its log-sum-exp. Of a masked key nothing
 * is read into any result: NaN and infinity there do not leak. NaN in a used place shows. */
typedef struct att_attention_outputs {
    att_tensor *output;      /* [B,T,H,M] */
    att_tensor *scores;      /* [B,H,T,S] before normalising; -inf where masked */
    att_tensor *weights;     /* [B,H,T,S] before dropout; 0 where masked */
    att_tensor *log_sum_exp; /* [B,H,T] of the scores that may be attended */
    att_tensor *key_totals;  /* [B,H,S] weight each key received, before dropout */
    att_tensor *entropy;     /* [B,H,T] of the weights, in nats; NaN where a weight is negative */
} att_attention_outputs;

/* Gradients of a loss, each of the shape of its input and added to, not overwritten; NULL where
 * unwanted, and where all are, nothing is done. None may overlap an input or be a broadcast view.
 * The reference runs a sum over queries, heads or a broadcast bias in double and adds it once. */
typedef struct att_attention_grads {
    att_tensor *query;
    att_tensor *key;
    att_tensor *value;
    att_tensor *score_w;
    att_tensor *score_u;
    att_tensor *score_b;
    att_tensor *score_v;
    att_tensor *bias;
    att_tensor *alibi;
    att_tensor *relative;
} att_attention_grads;

/* Attention at full speed. Float tensors go through tiles of queries and blocks of keys, in memory
 * that grows with the sequence and not with its square; where a score or normaliser needs a query's
 * whole row, through a few rows at a time. What is in double goes to the reference below. A query's
 * result has the same bits at any number of threads, on any instruction set, alone or in a batch,
 * packed or padded, over a cache of keys (offset = number of keys before it) or in the full matrix.
 *
 * `workspace`, where given, has att_attention_workspace() bytes for this problem and the number of
 * threads in use; with NULL the call allocates. */
ATT_API att_status att_attention_forward(const att_attention_options *how,
                                         const att_attention_inputs *in,
                                         const att_attention_outputs *out, void *workspace,
                                         att_error *err);

/* Its gradients, given that of the output, [B,T,H,M]. `forward` has the output and the log_sum_exp
 * that the forward gave for the same problem; where it is NULL or lacks one, they are worked out
 * again. The same bits as promised above, for each gradient on its own; those of parameters and
 * shared biases are sums over all queries and so depend on what is in the batch. */
ATT_API att_status att_attention_backward(const att_attention_options *how,
                                          const att_attention_inputs *in,
                                          const att_attention_outputs *forward,
                                          const att_tensor *output_grad,
                                          const att_attention_grads *grads, void *workspace,
                                          att_error *err);

/* Bytes of workspace of the forward or the backward; 0 where none is needed, or where the problem
 * is not a valid one. */
ATT_API size_t att_attention_workspace(const att_attention_options *how,
                                       const att_attention_inputs *in, bool backward);

/* The truth: attention in double precision, written per query and key. Slow, exact, complete. Needs
 * room for a few rows of S numbers, never for T·S. On failure nothing has been written, and the
 * message names the tensor, its shape and the rule that it breaks. */
ATT_API att_status att_attention_forward_reference(const att_attention_options *how,
                                                   const att_attention_inputs *in,
                                                   const att_attention_outputs *out,
                                                   att_error *err);

/* Its gradients, given that of the output, [B,T,H,M]. */
ATT_API att_status att_attention_backward_reference(const att_attention_options *how,
                                                    const att_attention_inputs *in,
                                                    const att_tensor *output_grad,
                                                    const att_attention_grads *grads,
                                                    att_error *err);

/* The same result as matrix products, softmax(Q Kᵀ) V: the dot, scaled and general scores. Needs
 * room for T·S; a masked value is multiplied by 0, so that NaN there shows in this form. */
ATT_API att_status att_attention_forward_matrix(const att_attention_options *how,
                                                const att_attention_inputs *in,
                                                const att_attention_outputs *out, att_error *err);

/* Names as users write them ("scaled", "sparsemax"); NULL past the last. */
ATT_API const char *att_score_name(att_score score);
ATT_API const char *att_normalizer_name(att_normalizer normaliser);

/* ---------------------------------------------------------------- 8. Worksheets */

/* A worksheet (docs/worksheets.md) worked out: its trace of steps, checks and maps. */
typedef struct att_sheet att_sheet;

/* Works out the sheet in the file at `path`; `load` in it is relative to the file's folder. */
ATT_API att_status att_sheet_load(att_sheet **out, const char *path, att_error *err);

/* The same from memory. `name` stands for the file in errors; files are looked for in `folder`,
 * or not at all where it is NULL. */
ATT_API att_status att_sheet_read(att_sheet **out, const char *text, size_t length,
                                  const char *name, const char *folder, att_error *err);

ATT_API void att_sheet_free(att_sheet *sheet);

/* Expectations and comparisons in the sheet, and how many of them failed. */
ATT_API size_t att_sheet_checks(const att_sheet *sheet);
ATT_API size_t att_sheet_failures(const att_sheet *sheet);

/* Failure `index`, from 0, told as errors are: the sheet's name, the line, the verdict, and in
 * `excerpt` the statement as written. An index beyond the last clears *out. */
ATT_API void att_sheet_failure_get(att_error *out, const att_sheet *sheet, size_t index);

/* The files that `load` and `compare` named, lent: paths as they were opened, in order, one that
 * was named twice twice. A program that writes results must not write over them. */
ATT_API size_t att_sheet_file_count(const att_sheet *sheet);
ATT_API const char *att_sheet_file_get(const att_sheet *sheet, size_t index);

/* ---------------------------------------------------------------- 9. Rendering */

typedef enum att_format {
    ATT_FORMAT_TEXT,
    ATT_FORMAT_MARKDOWN,
    ATT_FORMAT_LATEX,
    ATT_FORMAT_HTML,
    ATT_FORMAT_JSON,
} att_format;

typedef enum att_color { ATT_COLOR_NONE, ATT_COLOR_256, ATT_COLOR_TRUE } att_color;

typedef struct att_render_options {
    att_format format;
    int digits;       /* digits after the decimal point in shown numbers; -1: 4 */
    const char *only; /* show only the steps of this name, or NULL */
    int64_t row;      /* show only this row of matrices, from 1; 0: all */
    int64_t head;     /* show only this head, from 1; 0: all */
    att_color color;  /* text only */
    bool ascii;       /* text only: no character beyond ASCII in what we draw */
    int width;        /* text only: columns of the terminal; 0: 100 */
} att_render_options;

/* Adds the sheet, rendered, to *out, which on failure holds what it held before. An `only` that
 * names no step, a row or a head that nothing has are ATT_BAD_INPUT. */
ATT_API att_status att_sheet_render(att_string *out, const att_sheet *sheet,
                                    const att_render_options *options, att_error *err);

/* Several sheets as one document: as text and Markdown one after the other, each headed by its
 * name; one LaTeX or HTML document with a part for each; JSON always has an array of sheets.
 * `only`, `row` and `head` must be found in one of them. */
ATT_API att_status att_sheets_render(att_string *out, const att_sheet *const *sheets, size_t count,
                                     const att_render_options *options, att_error *err);

/* An attention map: one panel per head, queries down, keys across. */
typedef struct att_map {
    const char *title; /* or NULL */
    int64_t panels;    /* heads */
    int64_t queries;
    int64_t keys;
    const double *weights;           /* [panels, queries, keys] */
    const uint8_t *allowed;          /* [panels, queries, keys], 0 where masked; or NULL */
    const char *const *query_labels; /* [queries], UTF-8; or NULL: numbers */
    const char *const *key_labels;   /* [keys]; or NULL */
    const char *const *panel_labels; /* [panels]; or NULL */
    const char *query_name;          /* what queries are; NULL: "query" */
    const char *key_name;            /* likewise */
} att_map;

/* The maps that `plot` lines of a sheet asked for, lent. */
ATT_API size_t att_sheet_map_count(const att_sheet *sheet);
ATT_API const att_map *att_sheet_map_get(const att_sheet *sheet, size_t index);

/* A map as an SVG document: one rect per cell, carrying its query, key and value. */
ATT_API att_status att_map_svg(att_string *out, const att_map *map, att_error *err);

/* The same picture for a rasteriser, to the pixel: cells of one colour are one path and carry
 * nothing. PNG and PDF are made from this; a million rects are more than SVG libraries take. */
ATT_API att_status att_map_svg_flat(att_string *out, const att_map *map, att_error *err);

/* A map as lines for a terminal; of the options, digits, head, colour, ascii and width count. */
ATT_API att_status att_map_text(att_string *out, const att_map *map,
                                const att_render_options *options, att_error *err);

/* Text whose tokens have a value each: what a unit of a model did, how hard a word was looked at.
 * Tokens stand one after the other as they are; blanks between words are tokens of their own. */
typedef struct att_highlight {
    const char *title; /* or NULL */
    int64_t count;
    const char *const *tokens; /* [count] UTF-8 */
    const double *values;      /* [count]; NaN: not coloured */
    const uint8_t *underlined; /* [count] underlined where not 0; or NULL */
    double max_value;          /* what has the strongest colour; 0: the largest value there is */
} att_highlight;

/* Lines for a terminal, wrapped at its width, tokens on a background that tells their value, from
 * most negative over nothing to most positive, or from 0 where none is negative. Without colours a
 * line of blocks beneath each line of text tells the same. Ends of lines and tabs are visible. Of
 * the options, colour, ascii and width count. */
ATT_API att_status att_highlight_text(att_string *out, const att_highlight *coloured,
                                      const att_render_options *options, att_error *err);

/* The same as an SVG document, wrapped at `columns` (0: 100). */
ATT_API att_status att_highlight_svg(att_string *out, const att_highlight *coloured, int columns,
                                     att_error *err);

/* The same as an HTML page that needs nothing else; pointing at a token tells its value. */
ATT_API att_status att_highlight_html(att_string *out, const att_highlight *coloured,
                                      att_error *err);

/* Curves over places 1, 2, …, on a logarithmic scale: numbers that are 0 or less are left out. */
typedef struct att_curve {
    const char *name;
    const double *values; /* [count] of the plot */
} att_curve;

typedef struct att_plot {
    const char *title;             /* or NULL */
    const char *x_label, *y_label; /* what the axes are */
    int64_t count;                 /* places */
    const att_curve *curves;       /* [curve_count], at most ATT_PLOT_CURVES */
    size_t curve_count;
} att_plot;
enum { ATT_PLOT_CURVES = 8 };

/* A plot as lines for a terminal; of the options, colour, ascii and width count. As SVG. */
ATT_API att_status att_plot_text(att_string *out, const att_plot *plot,
                                 const att_render_options *options, att_error *err);
ATT_API att_status att_plot_svg(att_string *out, const att_plot *plot, att_error *err);

/* ---------------------------------------------------------------- 10. Settings */

/* Every choice of training is one row of one table. On the command line of `attend train` it is
 * `--key value`, in a config file `key = value`, and a model keeps all of them. */
typedef enum att_setting_type {
    ATT_SETTING_INTEGER, /* a whole number between `least` and `most` */
    ATT_SETTING_REAL,    /* a number between them */
    ATT_SETTING_CHOICE,  /* one of `words` */
    ATT_SETTING_TEXT,    /* any text but the empty one */
    ATT_SETTING_FLAG,    /* "yes" or "no" */
} att_setting_type;

typedef struct att_setting {
    const char *key;   /* "train-count" */
    const char *group; /* rows of one group stand together */
    att_setting_type type;
    const char *placeholder; /* what its value is called in help, "FILE"; NULL for a flag */
    const char *help;        /* one line of help */
    double min;
    double max;
    const char *const *choices; /* NULL-ended, or NULL */
} att_setting;

/* The rows, from 0; NULL beyond the last. */
ATT_API size_t att_setting_count(void);
ATT_API const att_setting *att_setting_get(size_t index);

/* The row of a key; NULL for one that there is not. */
ATT_API const att_setting *att_setting_find(const char *key);

/* Whether a task has any use for a setting: `alphabet` means nothing where pairs come from files.
 */
ATT_API bool att_setting_applies(const att_setting *setting, const char *task);

/* A value for every row. */
typedef struct att_settings att_settings;

/* The defaults of a task; NULL: those of `pairs`, until a task is set. */
ATT_API att_status att_settings_new(att_settings **out, const char *task, att_error *err);
ATT_API void att_settings_free(att_settings *settings);

/* Sets one. Defaults that depend on it follow. A message about a value begins with the key; about a
 * key that there is not, it tells the nearest. */
ATT_API att_status att_settings_set(att_settings *settings, const char *key, const char *value,
                                    att_error *err);

/* Adds the value of a key to *out, as it could be set; nothing for a text that was not given. */
ATT_API att_status att_settings_get(att_string *out, const att_settings *settings, const char *key,
                                    att_error *err);

/* Sets what a config file says: a line `key = value` each; `#` starts a comment, and a value with
 * spaces at its ends or a `#` stands in double quotes. Of two files the later counts; what
 * att_settings_set() has set stays. On failure *err names the line; those before it have been set.
 */
ATT_API att_status att_settings_load(att_settings *settings, const char *path, att_error *err);

/* Whether the settings make sense together; if not, *err names the two that contradict each other.
 */
ATT_API att_status att_settings_check(const att_settings *settings, att_error *err);

/* Whether settings as they are have any use for one of them: neither their task nor their family of
 * models leaves it out. */
ATT_API bool att_settings_applies(const att_settings *settings, const att_setting *setting);

/* ---------------------------------------------------------------- 11. Metrics */

/* A measure of how well answers agree with references. */
typedef struct att_metric {
    const char *name;     /* "bleu" */
    const char *title;    /* "BLEU" */
    const char *help;     /* one line of help */
    bool lower_is_better; /* less is better */
} att_metric;

/* All of them, from 0; NULL beyond the last. */
ATT_API size_t att_metric_count(void);
ATT_API const att_metric *att_metric_get(size_t index);

/* Lines without their ends, as UTF-8. */
typedef struct att_hypotheses {
    const char *const *hypotheses;        /* [count] */
    const char *const *const *references; /* [reference_count][count]; NULL where a line has fewer,
                                             but each has one */
    size_t count;
    size_t reference_count;
} att_hypotheses;

/* All-zero means: 13a, capitals as they are, no interval. */
typedef struct att_metric_options {
    const char *tokenizer; /* words of BLEU: "13a", "none", "char" or "intl"; NULL: 13a */
    bool lowercase;        /* compare small letters */
    int64_t resamples;     /* of the lines, to tell how sure a score is; 0: none */
    uint64_t seed;         /* of those */
} att_metric_options;

/* 95 % of the resamples lie in it; NaN where there were none. */
typedef struct att_interval {
    double low, high;
} att_interval;

typedef struct att_metric_score {
    const att_metric *metric;
    double value; /* of 100; error rates and CIDEr may exceed that */
    att_interval interval;
    char signature[192]; /* how it was computed: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|…" */
} att_metric_score;

/* Scores answers by the metrics named, out[i] by names[i]. BLEU, chrF and TER are those of
 * sacreBLEU with its defaults (docs/metrics.md). With several references each line may agree with
 * any. A line that is not UTF-8 is ATT_BAD_INPUT; err->place says of which text and err->line, from
 * 1, where. */
ATT_API att_status att_metrics_score(att_metric_score *out, const char *const *names, size_t count,
                                     const att_hypotheses *texts, const att_metric_options *how,
                                     att_error *err);

/* The same for files of lines ("-": standard input), which must have as many; *lines receives how
 * many. Errors name file and line. */
ATT_API att_status att_metrics_score_files(att_metric_score *out, size_t *lines,
                                           const char *const *names, size_t count,
                                           const char *answers, const char *const *references,
                                           size_t reference_count, const att_metric_options *how,
                                           att_error *err);

/* ---------------------------------------------------------------- 12. Models */

/* A model: settings, vocabularies and parameters, as trained and kept in one .safetensors file. */
typedef struct att_model att_model;

/* What a model takes and gives; its task decides. */
typedef enum att_model_type {
    ATT_MODEL_SEQ2SEQ,    /* a line for a line */
    ATT_MODEL_LM,         /* what comes next in a text */
    ATT_MODEL_CLASSIFIER, /* one of a list of labels for a line */
    ATT_MODEL_CAPTION,    /* a line for a picture */
} att_model_type;
enum { ATT_MODEL_TYPES = ATT_MODEL_CAPTION + 1 };

/* Reads a model file. What is missing, misshapen or too much in it is named in *err. */
ATT_API att_status att_model_load(att_model **out, const char *path, att_error *err);
ATT_API void att_model_free(att_model *model);

/* Its kind, which says what of the sections below is for it. */
ATT_API att_model_type att_model_type_get(const att_model *model);

/* Writes it beside `path` and renames it into place. */
ATT_API att_status att_model_save(const att_model *model, const char *path, att_error *err);

/* Tokens that a vocabulary is to have, numbered in their order. */
typedef struct att_token_list {
    const char *const *tokens; /* [count] */
    size_t count;
} att_token_list;

/* Makes a model by hand: of the kind that `settings` say, which are copied, for these tokens; a
 * kind that reads none has no source, which may be NULL then. Its parameters start as for training,
 * and can be set. */
ATT_API att_status att_model_build(att_model **out, const att_settings *settings,
                                   const att_token_list *source, const att_token_list *target,
                                   att_error *err);

/* Its parameters by name: how many, the name of one (NULL past the last), a copy of its values to
 * be released with att_tensor_free(), and other values of the same shape. */
ATT_API size_t att_model_tensor_count(const att_model *model);
ATT_API const char *att_model_tensor_name(const att_model *model, size_t index);
ATT_API att_status att_model_tensor_get(att_tensor *out, const att_model *model, const char *name,
                                        att_error *err);
ATT_API att_status att_model_tensor_set(att_model *model, const char *name,
                                        const att_tensor *values, att_error *err);

/* Adds what is inside and how it was trained to *out: lines of text, or one line of JSON. */
ATT_API att_status att_model_info(att_string *out, const att_model *model, bool json,
                                  att_error *err);

/* ---------------------------------------------------------------- 13. Answers */

/* Models that answer lines (ATT_MODEL_SEQ2SEQ) and that say what is in pictures
 * (ATT_MODEL_CAPTION): how they are asked, what they give, and how that is drawn and measured. One
 * search serves all (docs/running.md). */

/* By what the sum of an answer's log-probabilities is divided, n its tokens with the end: longer
 * answers are less probable, and would always lose. */
typedef enum att_length_norm {
    ATT_LENGTH_MEAN, /* n^penalty */
    ATT_LENGTH_GNMT, /* ((5 + n) / 6)^penalty */
    ATT_LENGTH_NONE, /* nothing */
} att_length_norm;

/* How answers are searched for. All-zero means: the most probable token at each step. */
typedef struct att_decoding_options {
    int64_t beam;   /* hypotheses followed at a time; 0: 1 */
    int64_t n_best; /* answers to a line at most; 0: 1. The beam is at least as wide */
    att_length_norm length_norm;
    double length_penalty;   /* 0: 1 */
    double coverage_penalty; /* times the logarithms of how much each source token was looked at */
    int64_t no_repeat_ngram; /* no so many tokens in a row come twice; 0: they may */

    int64_t min_output_length; /* before the end; the larger of both counts */
    double min_length_ratio;   /* tokens to one of the source */
    int64_t max_output_length; /* the end included; the smaller of both counts; */
    double max_length_ratio;   /* both 0: 50 more than twice the source's; of a picture, 50 */

    bool sample;        /* draw tokens instead of taking the most probable */
    double temperature; /* log-probabilities are divided by it; 0: 1 */
    int64_t top_k;      /* draw from so many, the most probable; 0: all */
    double top_p;       /* draw from the most probable that together have this; 0: all */
    uint64_t seed;      /* draws depend on it, the line's number and the place in the answer */

    att_model *const
        *ensemble;         /* models that answer together with the one that is asked: a token's */
    size_t ensemble_count; /* probability is the mean of all. Their tokens must be the same */
} att_decoding_options;

typedef enum att_input_overflow { ATT_OVERFLOW_REFUSE, ATT_OVERFLOW_TRUNCATE } att_input_overflow;

/* How answers are made. All-zero means: the model's own answers, without attention. */
typedef struct att_generate_options {
    att_decoding_options decoding;
    bool attention;              /* keep the weights */
    bool all_heads;              /* with attention: those of every layer and head too */
    int64_t layer;               /* whose weights are looked at, from 1; 0: the last */
    int64_t head;                /* likewise; 0: the mean of the layer's heads */
    bool replace_unknown;        /* an unknown token becomes the source token looked at most */
    const char *const *targets;  /* [count] what is to be answered, to look at; NULL: own answers */
    const char *const *prefixes; /* [count] what answers begin with; NULL: nothing */
    int64_t max_input_length;    /* tokens of a line; 0: as many as the model can take */
    att_input_overflow input_overflow; /* what becomes of a longer one */
    int64_t batch_size;                /* lines at a time; 0: as fits. Changes the speed alone */
    uint64_t first_line;               /* number of the first line, for what is drawn */
} att_generate_options;

/* What a model makes of one line. All of it belongs to the att_outputs. */
typedef struct att_output {
    const char *text;               /* the answer as a line */
    double score;                   /* log-probability of its tokens together */
    double normalized_score;        /* what answers to a line are ordered by */
    bool truncated;                 /* it was ended by most_tokens, not by the model */
    int64_t unknown_tokens;         /* source tokens that the model does not know */
    int64_t truncated_input_tokens; /* source tokens beyond `longest`, which were cut off */
    int64_t source_count;
    int64_t target_count;             /* the end, where it was reached, included */
    const char *const *source_tokens; /* [source_count] */
    const char *const *target_tokens; /* [target_count] the end as "<end>" */
    const double *token_scores;       /* [target_count] log-probability of each */
    const double *weights;            /* [target_count, source_count] attention; NULL: none */
    int64_t grid_rows, grid_columns;  /* of a picture: its cells are the source, row by row; or 0 */
    int64_t layers, heads;            /* that look at the source; 1 and 1 in a recurrent model */
    const double *head_weights; /* [layers, heads, target_count, source_count]; NULL: not asked */
    const struct att_output *alternatives; /* [other_count] the next best */
    int64_t alternative_count;
} att_output;

typedef struct att_outputs att_outputs;

/* Answers `count` lines (without their ends), several at a time. An answer does not depend on what
 * else is asked, on the order or on threads; a line without tokens has the empty answer. A line
 * that is not UTF-8 is ATT_BAD_INPUT, and err->line counts from 1 which it was. Not from several
 * threads at once with one model. */
ATT_API att_status att_model_generate(att_outputs **out, att_model *model, const char *const *lines,
                                      size_t count, const att_generate_options *how,
                                      att_error *err);
ATT_API void att_outputs_free(att_outputs *answers);
ATT_API size_t att_outputs_count(const att_outputs *answers);
ATT_API const att_output *att_outputs_get(const att_outputs *answers, size_t index);

/* Says what is in pictures, with a model of captions: float [count,cells,depth] or
 * [count,rows,columns,depth] of the size that the model was trained on, as att_model_images()
 * gives them. An answer's source is the cells, row by row. */
ATT_API att_status att_model_caption(att_outputs **out, att_model *model,
                                     const att_tensor *pictures, const att_generate_options *how,
                                     att_error *err);

/* Reads a .npy file of pictures for a model, multiplied as those it was trained on (setting
 * features-scale); `path` NULL: those that it was validated on, read or made up again. Release with
 * att_tensor_free(). */
ATT_API att_status att_model_images(att_tensor *out, const att_model *model, const char *path,
                                    att_error *err);

/* The map of an answer's attention, with both sides' tokens as labels, lent. false where there are
 * no weights. */
ATT_API bool att_output_map(att_map *out, const att_output *answer);

/* The map of one layer, from 1 (0: the last), a panel for each head. false where the heads' weights
 * were not asked for, or there is no such layer. */
ATT_API bool att_output_layer_map(att_map *out, const att_output *answer, int64_t layer);

/* Adds pairs i-j to *out, with spaces between them, in the order of j: answer token j looked at
 * source token i most, both from 0; the end has none. ATT_BAD_INPUT where there are no weights. */
ATT_API att_status att_output_alignment(att_string *out, const att_output *answer, att_error *err);

/* Adds an answer to *out as one line of JSON: {"text", "score", "rank", "cut", "unknown", "source"
 * and "target" (tokens), "scores" (of the target's tokens), "attention" (a row for each), "heads"
 * (the same for each head of each layer), "others" (objects like it, without the source)}, the last
 * three where they were asked for. */
ATT_API att_status att_output_json(att_string *out, const att_output *answer, att_error *err);

/* Adds an answer that has attention to *out as an HTML page that needs nothing else: tokens with
 * their probabilities, each of which shows where it looked when pointed at, the map (one of the two
 * above), and a table. */
ATT_API att_status att_output_html(att_string *out, const att_output *answer, const att_map *map,
                                   att_error *err);

/* What attention to a picture is laid over: a JPEG or PNG file as it is, or pixels. */
typedef struct att_overlay_image {
    const void *file; /* [size] bytes, or NULL */
    size_t size;
    const uint8_t *pixels; /* [rows,columns,3] red, green, blue; or NULL */
    int64_t rows, columns; /* of either, in pixels */
    bool crop;             /* the model saw the largest square in its middle; else all of it */
} att_overlay_image;

/* Adds the strip of a picture's answer to *out: for each word a copy of the picture, bright where
 * the model looked for it; as SVG or as an HTML page that needs nothing else. Without `backdrop`
 * the copies are blank paper. In a terminal, the grid in shades for each word. */
ATT_API att_status att_output_overlay_svg(att_string *out, const att_output *answer,
                                          const att_overlay_image *backdrop, att_error *err);
ATT_API att_status att_output_overlay_html(att_string *out, const att_output *answer,
                                           const att_overlay_image *backdrop, att_error *err);
ATT_API att_status att_output_overlay_text(att_string *out, const att_output *answer,
                                           const att_render_options *options, att_error *err);

/* A model measured on pairs. Rates are between 0 and 1 (error rates may exceed 1), NaN where there
 * was nothing to count. */
typedef struct att_seq2seq_eval {
    int64_t lines;
    int64_t tokens;          /* of the references */
    double exact_match;      /* lines answered right in every token */
    double token_accuracy;   /* tokens foreseen, given the reference before them; ends included */
    double token_error_rate; /* insertions, deletions and replacements per reference token */
    double word_error_rate;  /* the same in words, where these are not the tokens */
    double perplexity;       /* of the references */
    att_interval exact_match_interval, token_accuracy_interval, token_error_rate_interval,
        word_error_rate_interval, perplexity_interval; /* NaN without resamples */
} att_seq2seq_eval;

/* How a model is measured. All-zero means: by the most probable tokens, and no text, no intervals.
 */
typedef struct att_eval_options {
    const att_decoding_options *decoding; /* how answers are searched for; where tokens are drawn, a
                                     pair's number is its place among those measured */
    const char *const *metrics; /* [metric_count] that the answers' text is scored by as well, */
    size_t metric_count;        /* against the targets as they stand in the file */
    att_metric_options metric_options; /* how; small letters where the model knows no others */
    const char *features; /* .npy of the pictures that captions are of; NULL: those that the
                             model was validated on */
} att_eval_options;

/* Measures on the pairs of a file (source<TAB>target lines; "-": standard input), or where `path`
 * is NULL on the pairs that the model was validated on, read or made up again. `texts` receives the
 * score of each metric of how->metrics; `how` may be NULL. Adds to *notes, which may be NULL, what
 * was left out and why. */
ATT_API att_status att_model_evaluate_seq2seq(att_seq2seq_eval *out, att_metric_score *texts,
                                              att_model *model, const char *path,
                                              const att_eval_options *how, att_string *notes,
                                              att_error *err);

/* The metrics that suit the text a model answers in: BLEU and chrF for words; often none. */
ATT_API const char *const *att_model_metrics(const att_model *model, size_t *count);

/* ---------------------------------------------------------------- 14. Labels */

/* Models that sort, of the kind ATT_MODEL_CLASSIFIER: one of a list of labels for each line. */

/* The labels that a model tells apart, numbered from 0, the most frequent in training first. Models
 * of other kinds have none; past the last, NULL. */
ATT_API size_t att_model_label_count(const att_model *model);
ATT_API const char *att_model_label(const att_model *model, size_t index);

/* How lines are sorted. All-zero means: by the model alone, without attention. */
typedef struct att_classify_options {
    bool attention;                    /* keep the weights of tokens */
    int64_t max_input_length;          /* tokens of a line; 0: as many as the model can take */
    att_input_overflow input_overflow; /* what becomes of a longer one */
    int64_t batch_size;                /* lines at a time; 0: as fits. Changes the speed alone */
    att_model *const
        *ensemble;         /* models that decide together with the one that is asked: a label's */
    size_t ensemble_count; /* probability is the mean of all. Their tokens must be the same */
} att_classify_options;

/* What a model says of one line. All of it belongs to the att_predictions. */
typedef struct att_prediction {
    const char *label_text;      /* the most probable label; "" for a line without tokens */
    int64_t label;               /* its number; -1 for a line without tokens */
    const double *probabilities; /* [labels] calibrated: see docs/models.md; NULL without tokens */
    int64_t label_count;
    int64_t unknown_tokens;         /* tokens that the model does not know */
    int64_t truncated_input_tokens; /* tokens beyond `longest`, which were cut off */
    int64_t token_count;
    const char *const *tokens;  /* [token_count] */
    bool spaced;                /* they are words, between which there are spaces */
    const double *weights;      /* [token_count] attention, the mean of the heads; NULL: none */
    int64_t heads;              /* of it */
    const double *head_weights; /* [heads, token_count] */
} att_prediction;

typedef struct att_predictions att_predictions;

/* Sorts `count` lines (without their ends). A verdict does not depend on what else is asked, on the
 * order or on threads. Errors are those of att_model_generate(). */
ATT_API att_status att_model_classify(att_predictions **out, att_model *model,
                                      const char *const *lines, size_t count,
                                      const att_classify_options *how, att_error *err);
ATT_API void att_predictions_free(att_predictions *verdicts);
ATT_API size_t att_predictions_count(const att_predictions *verdicts);
ATT_API const att_prediction *att_predictions_get(const att_predictions *verdicts, size_t index);

/* Adds a verdict to *out as one line of JSON: {"label", "probabilities" (by label), "unknown",
 * "tokens", "attention" (of each token) and "heads" (the same for each head)}, the last two where
 * they were asked for and the model has them. */
ATT_API att_status att_prediction_json(att_string *out, const att_prediction *verdict,
                                       const att_model *model, att_error *err);

/* One label against all others. */
typedef struct att_label_metrics {
    int64_t support, predicted; /* sentences that have it, and that a model gave it */
    double precision;           /* of those given it, the part that has it */
    double recall;              /* of those that have it, the part given it */
    double f1;                  /* the harmonic mean of both */
} att_label_metrics;

/* A model measured on sentences and their labels. Rates are between 0 and 1. */
typedef struct att_classifier_eval {
    int64_t lines;
    double accuracy;
    att_interval accuracy_interval; /* NaN without resamples */
    double macro_f1;                /* the mean of the F1 of all labels that were there or given */
    double loss;                    /* the mean of -log probability of the true label, in nats */
    double calibration_error; /* expected: how far probabilities are from how often they hold */
    int64_t labels;
    const int64_t *confusion; /* [labels, labels] rows: what is true, columns: what was given */
    const att_label_metrics *per_label; /* [labels] */
} att_classifier_eval;

/* Measures on the lines `sentence<TAB>label` of a file, as att_model_evaluate_seq2seq() does; of
 * `how`, the models of its decoding and text.resamples and text.seed count. A label that the model
 * does not know is ATT_BAD_INPUT. Release with att_classifier_eval_free(). */
ATT_API att_status att_model_evaluate_classifier(att_classifier_eval **out, att_model *model,
                                                 const char *path, const att_eval_options *how,
                                                 att_string *notes, att_error *err);
ATT_API void att_classifier_eval_free(att_classifier_eval *scores);

/* Adds these figures to *out as one line of JSON: {"sentences", "accuracy", "macro_f1", "loss",
 * "calibration_error", "labels" (an object for each, with its rates), "confusion" (rows of what is
 * true) and, where there are resamples, "intervals"}. */
ATT_API att_status att_classifier_eval_json(att_string *out, const att_classifier_eval *scores,
                                            const att_model *model, att_error *err);

/* ---------------------------------------------------------------- 15. Language models */

/* Models of the kind ATT_MODEL_LM: what comes next. */

/* How a text goes on. */
typedef struct att_complete_options {
    att_decoding_options
        decoding;           /* the most probable tokens, a beam, or drawn; limits do not count */
    int64_t max_new_tokens; /* to be added */
} att_complete_options;

/* What came of it. */
typedef struct att_completion {
    int64_t prompt_tokens;
    int64_t unknown_tokens; /* of those, which the model does not know */
    int64_t tokens;         /* that were told */
    double score;           /* their log-probabilities together */
} att_completion;

/* Called for each token with the text it stands for and its log-probability; false ends the text
 * there. */
typedef bool att_token_callback(void *context, const char *text, size_t length, double score);

/* Lets a language model go on after a prompt of `length` bytes, token by token: each is told as
 * soon as it is certain, at once unless there is a beam. The text told is whole characters of
 * UTF-8; a token that is part of one is told with nothing, and what can be no character comes out
 * as U+FFFD. Without a prompt the text begins as after the end of a line. A token takes the same
 * time however long the text gets: when the context of a Transformer is full, it goes on from its
 * last half. */
ATT_API att_status att_model_complete(att_completion *out, att_model *model, const char *prompt,
                                      size_t length, const att_complete_options *how,
                                      att_token_callback *told, void *context, att_error *err);

/* Tells the tokens of a text and the log-probability of each after those before it; the first has
 * none and is not told. Texts are the tokens' bytes as they are. Of `how`, which may be NULL,
 * `with` counts. */
ATT_API att_status att_model_score_text(att_completion *out, att_model *model, const char *text,
                                        size_t length, const att_decoding_options *how,
                                        att_token_callback *told, void *context, att_error *err);

/* A language model measured on a text: every token but the first, given those before it. */
typedef struct att_lm_eval {
    int64_t tokens;
    int64_t characters;
    int64_t unknown_tokens;    /* tokens that the model does not know */
    double loss;               /* nats to a token */
    double bits_per_character; /* to a character */
    double perplexity;         /* of a token */
    double accuracy; /* tokens that were the most probable; an unknown one is never right; NaN
                        where several models foretell */
} att_lm_eval;

/* Measures on the text of a file ("-": standard input), or where `path` is NULL on what the model
 * was validated on. A recurrent model reads it in as many streams as it was trained on at a time,
 * each from its start to its end; a Transformer in chunks of its context, end to end. Of `how`,
 * which may be NULL, `decoding->with` counts: the probability of a token is then the mean of what
 * the models give it, each reading the text in its own way. */
ATT_API att_status att_model_evaluate_lm(att_lm_eval *out, att_model *model, const char *path,
                                         const att_eval_options *how, att_string *notes,
                                         att_error *err);

/* ---------------------------------------------------------------- 16. Looking inside */

/* Where a Transformer attends: sources to themselves, targets to themselves, targets to sources. */
typedef enum att_attention_block {
    ATT_BLOCK_ENCODER,
    ATT_BLOCK_DECODER,
    ATT_BLOCK_CROSS
} att_attention_block;

/* One head of a model, at work on a line. */
typedef struct att_head_selection {
    att_attention_block block;
    int64_t layer, head; /* from 1; 0: the first */
    const char *input;   /* the source */
    const char *target;  /* what the decoder has said; NULL: the model's own answer */
} att_head_selection;

/* Adds a worksheet to *out that works this head out, from embeddings or what the layers before gave
 * to what it adds, and expects of its weights what the model found in single precision. It loads
 * parameters from `file`, the model's name in the sheet's folder. Transformers alone have heads. */
ATT_API att_status att_model_head_sheet(att_string *out, att_model *model, const char *file,
                                        const att_head_selection *which, att_error *err);

/* What heads look at in a line, to draw. */
typedef struct att_attention_map att_attention_map;

/* Runs a Transformer over which->input and keeps the weights of one part and layer (0: the last):
 * those of which->head, or of all heads (0), each in a panel or their mean. Rows and columns of the
 * decoder are the start and what was said, each row being what the next token is found from.
 * Release with att_attention_map_free(). */
ATT_API att_status att_model_attention_map(att_attention_map **out, att_model *model,
                                           const att_head_selection *which, bool every_head,
                                           att_error *err);
ATT_API void att_attention_map_free(att_attention_map *look);

/* The map, lent. */
ATT_API const att_map *att_attention_map_get(const att_attention_map *look);

/* Of recurrent models: what single units do while a text is read (docs/cells.md). */

/* What is read off a unit. */
typedef enum att_unit_signal {
    ATT_SIGNAL_DEFAULT, /* the cell of an LSTM, the hidden state of others */
    ATT_SIGNAL_HIDDEN,  /* the hidden state */
    ATT_SIGNAL_CELL,    /* tanh of the cell of an LSTM */
} att_unit_signal;

/* One unit of a layer, both from 1. */
typedef struct att_layer_unit {
    int64_t layer, unit;
} att_layer_unit;

/* A text as it is read, and what a unit does after each of its tokens. */
typedef struct att_unit_activations att_unit_activations;

ATT_API att_status att_model_unit_activations(att_unit_activations **out, att_model *model,
                                              const char *text, size_t length, att_layer_unit unit,
                                              att_unit_signal signal, att_error *err);
ATT_API void att_unit_activations_free(att_unit_activations *watched);

/* The text coloured by it, lent. */
ATT_API const att_highlight *att_unit_activations_get(const att_unit_activations *watched);

/* How units are searched for that keep track of something. All-zero means the usual. */
typedef struct att_cells_options {
    att_unit_signal signal;
    double held_out; /* part of the text, its end, that the units found are measured on; 0: 0.25 */
    int64_t max_tokens; /* tokens to read at most; 0: a million */
    int64_t n_best;     /* units to tell of each property; 0: 3 */
    /* Told now and then how many tokens have been read, of all that will be; or NULL. */
    void (*on_progress)(void *context, int64_t read, int64_t all);
    void *context;
} att_cells_options;

/* A unit, and how it goes along with a property: correlations between -1 and 1 on the part of the
 * text that was searched and on the part held out; and of a property that holds or does not, how
 * well the unit tells these apart there: the probability that it is larger (or smaller, where it
 * goes against) at a place of the one kind than at one of the other; NaN for other properties. */
typedef struct att_cell_match {
    att_layer_unit unit;
    double search_correlation, held_out_correlation;
    double auc;
} att_cell_match;

typedef struct att_cells_property {
    const char *property, *help;
    bool binary;                   /* it holds or it does not */
    double mean;                   /* over the part searched */
    const att_cell_match *matches; /* [found_count] the best first; none where it never changes */
    int64_t match_count;
    att_highlight
        sample; /* of the text held out, coloured by the best; where it holds underlined */
} att_cells_property;

typedef struct att_cells_info {
    int64_t layers, hidden_size;            /* units of each */
    att_unit_signal signal;                 /* not the usual */
    int64_t search_tokens, held_out_tokens; /* tokens */
} att_cells_info;

/* Compares every unit of a recurrent model with every property of text that there is, on the text
 * of a file ("-": standard input). */
typedef struct att_cells att_cells;
ATT_API att_status att_model_cells(att_cells **out, att_model *model, const char *path,
                                   const att_cells_options *how, att_error *err);
ATT_API void att_cells_free(att_cells *cells);

ATT_API att_cells_info att_cells_info_get(const att_cells *cells);
ATT_API size_t att_cells_count(const att_cells *cells);
ATT_API const att_cells_property *att_cells_get(const att_cells *cells, size_t index);

/* Adds what was found to *out: a table for a terminal, with the best unit of each property; one
 * line of JSON with all; a page with coloured samples. */
ATT_API att_status att_cells_text(att_string *out, const att_cells *cells,
                                  const att_render_options *options, att_error *err);
ATT_API att_status att_cells_json(att_string *out, const att_cells *cells, att_error *err);
ATT_API att_status att_cells_html(att_string *out, const att_cells *cells, att_error *err);

/* How far a loss reaches back: the norm of the gradient of the last token's loss with respect to
 * the state after each token before it, for every layer of a recurrent model. */
typedef struct att_gradient_flow att_gradient_flow;
ATT_API att_status att_model_gradient_flow(att_gradient_flow **out, att_model *model,
                                           const char *text, size_t length, att_error *err);
ATT_API void att_gradient_flow_free(att_gradient_flow *flow);

ATT_API int64_t
att_gradient_flow_count(const att_gradient_flow *flow); /* states: tokens but the last */
ATT_API double att_gradient_flow_loss(const att_gradient_flow *flow); /* of the last, in nats */
ATT_API size_t att_gradient_flow_layers(const att_gradient_flow *flow);

/* Of one layer, from 0, lent; its name tells the kind of cell: "LSTM, layer 1". */
ATT_API att_curve att_gradient_flow_get(const att_gradient_flow *flow, size_t layer);

/* ---------------------------------------------------------------- 17. Training */

/* A run: data, a model and where its training stands. */
typedef struct att_training att_training;

/* Reads or makes the data, makes the model, and measures what the largest batch needs; or takes up
 * the run of the checkpoint that the setting `resume` names, which gives exactly what the run would
 * have given without a break. The settings are lent; those that were not given are then taken from
 * the checkpoint, and those that cannot change in the middle of a run are refused. Release with
 * att_training_free(). */
ATT_API att_status att_training_new(att_training **out, att_settings *settings, att_error *err);
ATT_API void att_training_free(att_training *training);

/* Adds to *out what was found in the data, the size of the model and the memory that the run needs:
 * lines to show before it starts. */
ATT_API att_status att_training_report(att_string *out, const att_training *training,
                                       att_error *err);

/* How a model did on the validation data. Losses are per target token, in nats. */
typedef struct att_validation {
    int64_t step;  /* after this many steps */
    int64_t epoch; /* in this epoch, from 1 */
    double learning_rate;
    double train_loss;     /* since the validation before */
    double train_accuracy; /* likewise: target tokens that were the most probable */
    double loss;
    double accuracy; /* target tokens that were the most probable after those before them */
    double
        exact_match; /* part of the lines that the model, on its own, gets right in every token */
    double token_error_rate; /* wrong, missing and surplus tokens to a token of the reference,
                                likewise */
    double bleu; /* of 100, of its own answers, BLEU-4 where these are captions; NaN unless that
                    makes a model the best */
    double bits_per_character; /* of a text, to a character of it, and `exact` and `errors` are 0;
                                  else NaN */
} att_validation;

typedef enum att_training_event {
    ATT_TRAINING_STEP,       /* a step was made */
    ATT_TRAINING_VALIDATING, /* a batch was validated */
    ATT_TRAINING_VALIDATED,  /* `last` is new */
} att_training_event;

typedef struct att_training_progress {
    att_training_event event;
    int64_t step, steps;   /* made, and planned */
    int64_t epoch, epochs; /* under way, and planned; from 1 */
    double loss;           /* of training since the last validation */
    double learning_rate;
    double gradient_norm;              /* before clipping */
    double tokens_per_second;          /* targets learnt from, in this run: tokens, or labels */
    double seconds, seconds_left;      /* of this run; NaN where not known yet */
    const att_validation *last, *best; /* NULL before the first */
    bool improved;                     /* the last is the best */
} att_training_progress;

/* Called after each event; false stops the run. */
typedef bool att_training_callback(void *context, const att_training_progress *progress);

/* Trains until the run is over or `watch` (may be NULL) stops it; either way a checkpoint is saved,
 * and after each validation that is the best so far, and at the end, the model. Files are written
 * beside their place and renamed. Where the loss or the gradient is no longer a number, the run
 * fails at that step and the files of before stay. */
ATT_API att_status att_training_run(att_training *training, att_training_callback *watch,
                                    void *context, att_error *err);

/* The kind of the model that it trains. */
ATT_API att_model_type att_training_model_type(const att_training *training);

/* Whether the run is over (att_training_run() would have nothing left to do). */
ATT_API bool att_training_finished(const att_training *training);

/* Steps made so far, in this run and before. */
ATT_API int64_t att_training_steps(const att_training *training);

/* All validations so far, lent; and the number of the best, from 1 (0 before the first). */
ATT_API size_t att_training_history(const att_training *training, const att_validation **rows);
ATT_API size_t att_training_best(const att_training *training);

/* Where the model and the checkpoint go. */
ATT_API const char *att_training_model_path(const att_training *training);
ATT_API const char *att_training_checkpoint_path(const att_training *training);

/* ---------------------------------------------------------------- 18. Importing */

/* Weights of other programs. A format is a row of a table. */
typedef struct att_import_format {
    const char *name;     /* "ctranslate2" */
    const char *file;     /* the file that it is read from: "model.bin" */
    const char *help;     /* what becomes of it, in one line */
    bool has_token_kinds; /* lines can be split into its tokens in several ways */
    bool needs_tokenizer; /* its tokeniser is another file */
} att_import_format;

/* Format `index`, from 0, lent for good; NULL past the last. */
ATT_API const att_import_format *att_import_format_get(size_t index);

/* All-zero means: as the format has it. */
typedef struct att_import_options {
    const char *tokens;    /* what a token is: "space" (what stands between spaces) or "char" */
    const char *tokenizer; /* the file that has it; NULL: looked for beside the weights */
} att_import_options;

/* Reads weights of another program: *out is what a model file holds, to be saved by
 * att_safetensors_save(). What is not understood (a version, a tensor, a shape, a way to quantise)
 * is ATT_BAD_INPUT and named in *err. `how` may be NULL. */
ATT_API att_status att_import(att_bundle **out, const char *format, const char *path,
                              const att_import_options *how, att_error *err);

/* ---------------------------------------------------------------- 19. Pictures */

/* Pixels of 8-bit red, green and blue, [height,width,3], line by line from the top. */
typedef struct att_image {
    int64_t width, height;
    uint8_t *pixels;
} att_image;

/* Reads a JPEG or PNG file; which it is shows from its first bytes. Grey, palettes, 16 bits, the
 * colours of print and interlacing become plain pixels, what is transparent lies on white, and a
 * photograph is put upright where the camera tells how it was held. At most 65535 pixels on a side
 * and 100 million in all; a file that ends early or is damaged is refused. Release with
 * att_image_free(). */
ATT_API att_status att_image_load(att_image *out, const char *path, att_error *err);

/* The same from memory; `name` stands for the file in errors. */
ATT_API att_status att_image_read(att_image *out, const void *bytes, size_t size, const char *name,
                                  att_error *err);
ATT_API void att_image_free(att_image *picture);

/* The largest square in the middle of a picture, scaled to `pixels` on a side: a new picture. */
ATT_API att_status att_image_center_crop(att_image *out, const att_image *in, int64_t pixels,
                                         att_error *err);

/* Adds the bytes of a PNG file of the picture to *out. */
ATT_API att_status att_image_png(att_string *out, const att_image *picture, att_error *err);

/* A network that looks at photographs, SqueezeNet v1.0, from a file that att_import() made of its
 * published weights. It tells what is on a photograph, and it gives features: what it saw in each
 * cell of a grid, which models of captions learn from. It looks at the middle square of a picture.
 * Not from several threads at once. */
typedef struct att_image_encoder att_image_encoder;

ATT_API att_status att_image_encoder_load(att_image_encoder **out, const char *path,
                                          att_error *err);
ATT_API void att_image_encoder_free(att_image_encoder *eyes);
ATT_API att_status att_image_encoder_save(const att_image_encoder *eyes, const char *path,
                                          att_error *err);

/* The names of what it knows; NULL past the last. */
ATT_API size_t att_image_encoder_label_count(const att_image_encoder *eyes);
ATT_API const char *att_image_encoder_label(const att_image_encoder *eyes, size_t index);

/* The probability of each label, [att_image_encoder_label_count()], for one picture. */
ATT_API att_status att_image_encoder_classify(float *out, att_image_encoder *eyes,
                                              const att_image *picture, att_error *err);

/* Numbers in a cell of its features. */
ATT_API int64_t att_image_encoder_channels(const att_image_encoder *eyes);

/* The features of one picture, float [rows,columns,depth]: a new tensor. */
ATT_API att_status att_image_encoder_features(att_tensor *out, att_image_encoder *eyes,
                                              const att_image *picture, att_error *err);

/* Teaches the eyes to give features as others have made them from the same network: `seen` [N,C]
 * are features of N cells as these eyes give them, `wanted` [N,D] those that should come out. From
 * then on features are the linear map of C to D numbers that fits best (least squares, with a
 * pull towards 0 of `ridge` times the mean variance of the numbers seen). *error receives the
 * deviation that is left, as a part of that of `wanted`. Eyes can be taught once. */
ATT_API att_status att_image_encoder_fit(att_image_encoder *eyes, const att_tensor *seen,
                                         const att_tensor *wanted, double ridge, double *error,
                                         att_error *err);

/* ---------------------------------------------------------------- 20. Measuring */

/* The machine, as far as it tells. */
typedef struct att_machine_info {
    char processor[64]; /* its own name */
    int cores;          /* that this process may use */
    int64_t cache[3];   /* bytes of the first, second and third cache of data; 0: not known */
    int64_t memory;     /* bytes; 0: not known */
} att_machine_info;

ATT_API void att_machine_get(att_machine_info *out);

/* What the machine can do at best, which a benchmark is held against. */
typedef enum att_limit {
    ATT_LIMIT_COMPUTE, /* fused multiply-adds on registers alone, in operations per second */
    ATT_LIMIT_MEMORY,  /* reading an array far larger than the caches, in bytes per second */
    ATT_LIMIT_CACHE,   /* y += a x in the first cache, in bytes per second read and written */
} att_limit;
enum { ATT_LIMITS = ATT_LIMIT_CACHE + 1 };

/* "compute", "memory", "cache"; NULL past the last. */
ATT_API const char *att_limit_name(att_limit limit);

/* The instruction sets that can be measured here, plainest first; NULL past the last. */
ATT_API const char *att_bench_cpu(size_t index);

/* A benchmark, and what one call of it does. */
typedef struct att_bench {
    const char *name; /* "attention/forward/1024", "kernel/exp" */
    const char *help; /* the shape in words */
    att_limit limit;  /* the one that applies */
    double flops;     /* multiplications and additions; 0 where they are not counted */
    double bytes;     /* read and written */
    double elements;  /* results */
    bool one_thread;  /* it never uses more */
} att_bench;

ATT_API size_t att_bench_count(void);

/* Benchmark `index`, from 0; its strings are lent for good. */
ATT_API void att_bench_get(att_bench *out, size_t index);

typedef struct att_bench_options {
    const char *cpu; /* "ref", "avx2" or "avx512"; NULL: the one in use */
    int threads;     /* 0: as many as in use */
    double seconds;  /* to go on measuring for; 0: a tenth. At least one call is made */
} att_bench_options;

/* Seconds that one call takes. */
typedef struct att_bench_times {
    double best;
    double median;
    int64_t calls; /* that these come from */
} att_bench_times;

/* Measures one benchmark, or one limit. While it runs, the instruction set and the number of
 * threads are those of `how` for the whole process; afterwards they are as they were. */
ATT_API att_status att_bench_run(att_bench_times *out, size_t index, const att_bench_options *how,
                                 att_error *err);
ATT_API att_status att_limit_measure(double *out, att_limit limit, const att_bench_options *how,
                                     att_error *err);

/* ---------------------------------------------------------------- 21. Gradient check */

/* Models are built from operations, each with a forward and a backward of its own. Every one of
 * them states its formula in double precision as well, and samples: shapes and settings to try, odd
 * ones among them. A check compares, on one sample, the forward with the formula and the backward
 * with central differences of it. */
typedef struct att_gradcheck {
    const char *op;
    const char *sample;
    bool passed;
    double forward_error, forward_bound;   /* relative to the largest entry, or to 1 if larger */
    double backward_error, backward_bound; /* the largest over all inputs */
    int input;                             /* which input's gradient that is of, from 0 */
} att_gradcheck;

/* Operations are numbered from 0; a name is NULL past the last. */
ATT_API int att_gradcheck_count(void);
ATT_API const char *att_gradcheck_name(int op);
ATT_API int att_gradcheck_samples(int op);

/* Checks an operation on one of its samples. */
ATT_API att_status att_gradcheck_run(att_gradcheck *out, int op, int sample, att_error *err);

#ifdef __cplusplus
}
#endif

#endif
