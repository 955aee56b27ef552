/*
 * attend.h: attention, worksheets, and training and inference of attention models, in C.
 *
 * This is the whole public interface of libattend and its manual.
 *
 *   1. Status, errors, progress    4. Tensors and their files    8. Settings     12. Inside a model
 *   2. Strings and files           5. Matrix product             9. Metrics      13. Training
 *   3. Memory, threads, machine    6. Attention                 10. Models       14. Importing
 *                                  7. Worksheets and rendering  11. Inference    15. Images
 *
 * Vectors are rows. Every array carries its shape in these letters:
 *
 *   B batch                    T queries (target)          S keys (source)
 *   H heads of the query       G heads of keys and values  (H is a multiple of G)
 *   K size of a query or key   M size of a value           A hidden size of the additive score
 *
 * Errors. The library never prints, exits or aborts. A call that can fail returns an att_status and
 * describes a failure in *err (NULL: not wanted; unchanged on success): the file, line, argument or
 * tensor and what was expected. A failed call sets *out to NULL, clears it where it is an
 * att_tensor or att_image, leaves an att_string as it was, and changes nothing else unless stated.
 *
 * Ownership. `_new`, `_load`, `_read` and other calls with a `**out` make an object that its
 * `_free` releases (it takes NULL). Every `const` pointer that a call returns is borrowed from the
 * object that it came from. Inputs are borrowed during the call, except where a call says that they
 * must live longer. Calls that take an att_string append to it; its owner frees it.
 *
 * Threads. Calls on different objects may run at the same time. A model, an image encoder, a packed
 * matrix and every result never change: any number of threads may use one at once. Bundles,
 * sessions, training runs and settings are for one thread at a time while one changes them. Results
 * do not depend on the number of threads, the batch or the instruction set: the same inputs give
 * the same bits. Callbacks run on the thread that made the call. A child process may use the
 * library if no call ran at the fork().
 *
 * Stability. While the major version is 0, a new minor version may break the API and the ABI, a new
 * patch version breaks neither, and the soname is libattend.so.0.MINOR. From 1.0 on only a new
 * major version breaks them, and the soname is libattend.so.MAJOR. A struct that begins with `size`
 * may grow at its end: the caller starts from ATT_INIT(type), and fields that the caller does not
 * know are 0, which is always the default; a size of 0, or a field that the library does not know
 * and that is not 0, is ATT_BAD_INPUT. Do not copy a struct that is returned by pointer. */
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

/* Initializer of every struct that begins with `size`; all other fields become 0:
 *   att_decoding_options decoding = ATT_INIT(att_decoding_options);
 *   decoding.beam = 5; */
#ifdef __cplusplus
extern "C++" template <typename type> type att_sized_init(void)
{
    type made = type();
    made.size = sizeof made;
    return made;
}
#define ATT_INIT(type) att_sized_init<type>()
#else
#define ATT_INIT(type)                                                                             \
    {                                                                                              \
        .size = sizeof(type)                                                                       \
    }
#endif

#define ATT_VERSION       "0.2.0"
#define ATT_VERSION_MAJOR 0
#define ATT_VERSION_MINOR 2
#define ATT_VERSION_PATCH 0

/* The version of the library in use, which may be newer than the header compiled against. */
ATT_API const char *att_version(void);

/* ---------------------------------------------------------------- 1. Status, errors, progress */
typedef enum att_status {
    ATT_OK = 0,
    ATT_BAD_INPUT,   /* a file, text or argument that cannot be used as it is */
    ATT_NO_MEMORY,   /* an allocation failed */
    ATT_SYSTEM,      /* the operating system refused: reading, writing, renaming */
    ATT_UNSUPPORTED, /* this build lacks the library that the feature needs */
    ATT_CANCELLED,   /* the thread's att_callback returned false */
} att_status;
/* The detail of a failure. `message` is one sentence without a final full stop or newline;
 * `place` names the file, tensor or call; `line` and `column` count from 1 and are 0 where they
 * mean nothing; `excerpt` holds the line with the error and a caret beneath, or is empty. */
typedef struct att_error {
    att_status status;
    int line, column;
    char place[256];
    char message[768];
    char excerpt[512];
} att_error;

/* "ok", "bad input", … */
ATT_API const char *att_status_name(att_status status);
/* The one of `count` known words that `word` was probably meant to be, ignoring case, or NULL where
 * no word is near: for "did you mean" in messages. */
ATT_API const char *att_suggest(const char *word, const char *const *known, size_t count);

/* Progress and cancel. A thread can set one callback; every call that this thread makes and that
 * takes longer than a moment (loading, training, generation, worksheets, large attention, …) calls
 * it at least every 0.1 seconds and never more often than every 0.02. Returning false cancels: the
 * call returns ATT_CANCELLED when the operation under way is complete (a training step of one
 * process is given up, and made anew if the run goes on), releases what it made, and leaves every
 * object that it was given usable; the contents of output tensors are then undefined. The callback
 * may call the library with other objects; it returns normally, and sets no other callback. */
typedef struct att_progress {
    size_t size;       /* of this struct in the library in use */
    const char *phase; /* what the call does: "training", "loading", "generating", … */
    int64_t done;      /* units of work completed, */
    int64_t total;     /* of this many; 0: not known */
} att_progress;
typedef bool att_callback(void *context, const att_progress *progress);
/* Sets the callback of the calling thread, until it is set again; NULL: none. */
ATT_API void att_callback_set(att_callback *callback, void *context);

/* ---------------------------------------------------------------- 2. Strings and files */
/* A growing string. Start from {0}; `data`, once not NULL, always ends in a zero byte that
 * `length` does not count. */
typedef struct att_string {
    char *data;
    size_t length, capacity;
} att_string;

/* Appends bytes. A failed allocation leaves the string as it was. */
ATT_API att_status att_string_append(att_string *text, const char *bytes, size_t length);
ATT_API void att_string_free(att_string *text);

/* Writes a file beside `path`, flushes it and renames it into place, as all `_save` calls do:
 * nobody ever reads half of it. Its mode is kept. A device or FIFO is written to directly. */
ATT_API att_status att_file_save(const char *path, const void *bytes, size_t size, att_error *err);

/* ---------------------------------------------------------------- 3. Memory, threads, machine */
/* An allocator for all memory that the library itself allocates. (Optional libraries that decode
 * images and .npz files use malloc().) Threads call both functions at the same time. */
typedef struct att_allocator {
    size_t size;
    /* `bytes` (> 0) bytes aligned to `alignment`, a power of two from 64 on; NULL: no memory */
    void *(*allocate)(void *user_data, size_t bytes, size_t alignment);
    void (*release)(void *user_data, void *block); /* `block` is never NULL */
    void *user_data;
} att_allocator;

/* Replaces the allocator of the process, which otherwise is posix_memalign() and free() with huge
 * pages for large blocks. The struct is copied. ATT_BAD_INPUT if the library has allocated anything
 * before, or if a function is missing. No other thread may call the library meanwhile. */
ATT_API att_status att_allocator_set(const att_allocator *allocator, att_error *err);

/* Threads of later calls; 0: as many as the process may use. The environment variable
 * ATTEND_THREADS sets the start value. Not to be changed while another thread is inside a call. */
ATT_API void att_threads_set(int count);
ATT_API int att_threads_get(void);

/* The instruction set in use: "scalar", "avx2", "avx512" or "neon". ATTEND_CPU selects one the
 * machine has; the check reports a value of ATTEND_CPU or ATTEND_THREADS that will be ignored. */
ATT_API const char *att_cpu_name(void);
ATT_API att_status att_cpu_check(att_error *err);

/* ---------------------------------------------------------------- 4. Tensors and their files */
#define ATT_MAX_RANK 8
/* Element types. The 16-bit types are for storage: att_tensor_* functions and attention's query,
 * key, value and biases take them; every other call refuses them. So is int8, which only
 * att_tensor_* functions take. */
typedef enum att_dtype {
    ATT_F32 = 1,  /* float */
    ATT_F64 = 2,  /* double */
    ATT_F16 = 3,  /* uint16_t: IEEE binary16, "float16" */
    ATT_BF16 = 4, /* uint16_t: the upper half of a float, "bfloat16" */
    ATT_I8 = 5    /* int8_t: "int8" */
} att_dtype;

/* An array of up to 8 dimensions. Element [i0, i1, …] is at data[i0*stride[0] + i1*stride[1] + …];
 * strides count elements and may be 0 (broadcasting) or negative. A tensor that owns its block has
 * it in `owned`; a view has NULL there and must not outlive the data that it points to. */
typedef struct att_tensor {
    void *data;
    att_dtype dtype;
    int rank;
    int64_t shape[ATT_MAX_RANK], stride[ATT_MAX_RANK];
    void *owned;
} att_tensor;

/* Makes a tensor of zeros, row-major. Release with att_tensor_free(). */
ATT_API att_status att_tensor_new(att_tensor *out, att_dtype dtype, int rank, const int64_t *shape,
                                  att_error *err);
/* Releases the block of an owning tensor and clears it; a view is only cleared. */
ATT_API void att_tensor_free(att_tensor *tensor);
/* A row-major view of `data`; {0} if the rank is not 0 to 8 or the number of elements overflows. */
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
/* One element, for small work and tests; `index` has one entry per dimension, in range. */
ATT_API double att_tensor_get(const att_tensor *tensor, const int64_t *index);
ATT_API void att_tensor_set(att_tensor *tensor, const int64_t *index, double value);

/* Reads a .npy file of version 1, 2 or 3, or the bytes of one; `name` is the file in errors.
 * float32 stays float; float16, booleans and integers of up to 16 bits become float; float64 and
 * wider integers become double (an integer that a double cannot hold exactly is refused). Fortran
 * order is converted to row-major. */
ATT_API att_status att_npy_load(att_tensor *out, const char *path, att_error *err);
ATT_API att_status att_npy_read(att_tensor *out, const void *bytes, size_t size, const char *name,
                                att_error *err);
/* Writes a .npy file (version 1.0), or appends its bytes to *out. */
ATT_API att_status att_npy_save(const att_tensor *tensor, const char *path, att_error *err);
ATT_API att_status att_npy_write(att_string *out, const att_tensor *tensor, att_error *err);

/* A set of named tensors with text metadata: the contents of a .npz or .safetensors file. */
typedef struct att_bundle att_bundle;
ATT_API att_status att_bundle_new(att_bundle **out, att_error *err);
ATT_API void att_bundle_free(att_bundle *bundle);

/* Reads a file, or the bytes of one; its first bytes decide the format. Elements are converted as
 * by att_npy_load(); bfloat16 becomes float. A .npz file may expand to at most 4 GB. */
ATT_API att_status att_bundle_load(att_bundle **out, const char *path, att_error *err);
ATT_API att_status att_bundle_read(att_bundle **out, const void *bytes, size_t size,
                                   const char *name, att_error *err);

/* Writes a .safetensors file, or appends its bytes to *out: the same bytes for the same contents,
 * in any order. A file with the metadata attend.format gets a checksum, which reading verifies. */
ATT_API att_status att_safetensors_save(const att_bundle *bundle, const char *path, att_error *err);
ATT_API att_status att_safetensors_write(att_string *out, const att_bundle *bundle,
                                         const char *name, att_error *err);
/* Tensors in the order of the file (or of adding); NULL past the last, or for an unknown name. */
ATT_API size_t att_bundle_count(const att_bundle *bundle);
ATT_API const char *att_bundle_name(const att_bundle *bundle, size_t index);
ATT_API const att_tensor *att_bundle_at(const att_bundle *bundle, size_t index);
ATT_API const att_tensor *att_bundle_get(const att_bundle *bundle, const char *name);
/* Adds a copy of `tensor`; a name may be used once. */
ATT_API att_status att_bundle_add(att_bundle *bundle, const char *name, const att_tensor *tensor,
                                  att_error *err);
/* Text metadata; `_get` returns NULL for an unknown key. */
ATT_API const char *att_bundle_meta_get(const att_bundle *bundle, const char *key);
ATT_API att_status att_bundle_meta_set(att_bundle *bundle, const char *key, const char *value,
                                       att_error *err);

/* ---------------------------------------------------------------- 5. Matrix product */
typedef enum att_activation {
    ATT_ACTIVATION_NONE,
    ATT_ACTIVATION_RELU,
    ATT_ACTIVATION_GELU, /* x Phi(x), exact */
    ATT_ACTIVATION_SILU, /* x sigmoid(x) */
    ATT_ACTIVATION_TANH,
    ATT_ACTIVATION_SIGMOID
} att_activation;
typedef struct att_matmul_options {
    size_t size;
    bool add;               /* add to c; otherwise c is overwritten */
    const att_tensor *bias; /* [columns], added before the activation; NULL: none */
    att_activation activation;
} att_matmul_options;
/* c = activation(a b + bias): a [..., rows, depth], b [..., depth, columns], c [..., rows,
 * columns], all float; leading dimensions that a or b lacks, or that are 1 there, are repeated.
 * Transposes are views (att_tensor_transpose). One of b's last two dimensions must have stride 1,
 * and so must c's last; no stride is negative; c overlaps nothing else. `options` may be NULL.
 *
 * Each result is summed along the depth in blocks of 256, in each block by fused multiply-adds in
 * index order; the sums of blocks are added in order: the same bits however the work is divided. */
ATT_API att_status att_matmul(att_tensor *c, const att_tensor *a, const att_tensor *b,
                              const att_matmul_options *options, att_error *err);

/* A copy of a matrix b [depth, columns], laid out for use in many products. */
typedef struct att_packed_matrix att_packed_matrix;
ATT_API att_status att_packed_matrix_new(att_packed_matrix **out, const att_tensor *b,
                                         att_error *err);
ATT_API void att_packed_matrix_free(att_packed_matrix *packed);
/* The product with a packed b. It needs no memory and so does not fail on valid arguments. */
ATT_API att_status att_matmul_packed(att_tensor *c, const att_tensor *a, const att_packed_matrix *b,
                                     const att_matmul_options *options, att_error *err);

/* ---------------------------------------------------------------- 6. Attention */
/* score → scale → soft cap → bias → mask → normalize → dropout → combine: docs/attention.md has the
 * formula of each choice in each place. */

/* How similar a query q and a key k are. Parameters are tensors of att_attention_inputs; each has a
 * leading head dimension of H, or 1 to share it among heads. */
typedef enum att_score {
    ATT_SCORE_DOT,      /* q·k */
    ATT_SCORE_SCALED,   /* q·k / sqrt(K) */
    ATT_SCORE_GENERAL,  /* qᵀ W k               score_w [H|1,Kq,Kk] */
    ATT_SCORE_ADDITIVE, /* vᵀ tanh(W q + U k + b) score_w [H|1,A,Kq], score_u [H|1,A,Kk],
                           score_b [H|1,A] or NULL, score_v [H|1,A]; where score_w or score_u is
                           NULL, the query or the key is W q or U k already, of size A */
    ATT_SCORE_CONCAT,   /* relu(vᵀ [q;k])       score_v [H|1,Kq+Kk] */
    ATT_SCORE_GAUSSIAN, /* exp(q·k) */
    ATT_SCORE_COSINE,   /* q·k / (|q| |k|); 0 where either is the zero vector */
    ATT_SCORE_LOCATION, /* (W q + b) at the key's position: score_w [H|1,≥P,Kq], score_b [H|1,≥P]
                           or NULL; P is S, or the length of the longest packed sequence */
} att_score;

/* How the scores of a query become weights, over the keys that it may attend to. */
typedef enum att_normalizer {
    ATT_NORMALIZE_SOFTMAX,
    ATT_NORMALIZE_MEAN,      /* score / number of keys that may be attended to */
    ATT_NORMALIZE_SPARSEMAX, /* the nearest point of the simplex */
    ATT_NORMALIZE_ENTMAX15,  /* 1.5-entmax: between softmax and sparsemax */
    ATT_NORMALIZE_SIGMOID,   /* of each score alone */
    ATT_NORMALIZE_SUM, /* score / sum of scores: with the Gaussian score, non-local networks */
    ATT_NORMALIZE_NONE,
} att_normalizer;

typedef struct att_block {
    int64_t query, key; /* of a block mask: in blocks, from 0 */
} att_block;

/* The choices of an attention computation. All 0: dot score, softmax, no mask.
 *
 * Masks combine: a query attends to a key only if every mask given allows it. Lengths, blocks, the
 * dense mask and the bias use indices. Causal masks, windows, ALiBi, relative tables and the
 * location score use positions: the position of a key is its index, that of a query its index +
 * `offset` (or the entry of its sequence in `offsets`), which is never implied by shapes. In packed
 * sequences (B = 1) these indices count from the start of the sequence, and queries attend only to
 * keys of their own sequence.
 *
 * Whether dropout keeps a weight depends on seed, step, layer, b, h, i and j alone. */
typedef struct att_attention_options {
    size_t size;
    att_score score;
    att_normalizer normalizer;
    double scale;    /* multiplies the score; 0: 1/sqrt(Kq) for the scaled score, otherwise 1 */
    double soft_cap; /* score becomes cap*tanh(score/cap), cap from 1e-30 to 1e30; 0: none */
    bool causal;     /* query i attends to keys ≤ i + offset */
    int64_t offset;  /* position of query 0: the number of keys before it */
    const int64_t *offsets; /* [B], or [sequences] where packed: position of query 0 of each
                               sequence, for KV caches of different lengths; NULL: `offset` for
                               all. With offsets, `offset` must be 0 */
    bool window;            /* query i attends to keys from i+offset-window_left to
                               i+offset+window_right */
    int64_t window_left, window_right; /* negative: unlimited */
    const int64_t *query_lengths;      /* [B] queries in use, or NULL: all; the others get zeros */
    const int64_t *key_lengths;        /* [B] keys in use, or NULL: all */
    const att_block *blocks; /* [block_count] blocks that may be attended to, or NULL: all */
    int64_t block_count;
    int64_t block_queries, block_keys; /* queries and keys in a block */
    const uint8_t *mask;               /* dense mask, nonzero = may attend, or NULL */
    int64_t mask_stride[4];            /* of b, h, i, j, in elements; 0 broadcasts */
    int64_t sequences;                 /* packed sequences; 0: not packed */
    const int64_t *query_offsets;      /* [sequences+1] start of each in T, last = T */
    const int64_t *key_offsets;        /* [sequences+1] start of each in S, last = S */
    double dropout; /* probability p that a weight is dropped; the rest are scaled by 1/(1-p) */
    uint64_t dropout_seed; /* the same seed, step and layer give the same draws on every machine */
    uint64_t dropout_step, dropout_layer;
} att_attention_options;
/* query [B,T,H,Kq], key [B,S,G,Kk], value [B,S,G,M]; H is a multiple of G (grouped-query
 * attention), and query head h uses head h/(H/G) of keys and values. Kq = Kk except for the
 * general, additive, concat and location scores. Any strides, so column vectors are a transposed
 * view. Each is float or double (if any is double, the reference runs); query,
 * key, value and biases may also be ATT_F16 or ATT_BF16: the results are those of the same values
 * in float, converted a few rows at a time. Results and gradients are float or double. B, T, S, K
 * and M may be 0. NULL where not used. */
typedef struct att_attention_inputs {
    const att_tensor *query, *key, *value;
    const att_tensor *score_w, *score_u, *score_b, *score_v;
    const att_tensor *bias;     /* [B|1,H|1,T|1,S|1], added after scale and soft cap */
    const att_tensor *alibi;    /* [H|1] slopes: adds -slope*|i + offset - j| */
    const att_tensor *relative; /* [H|1,2R+1]: adds table[clamp(j - i - offset, -R, R) + R] */
} att_attention_inputs;

/* Each may be NULL except `output`. None may overlap an input or another output, or be a broadcast
 * view. A query that may attend to nothing gets zeros, and -inf as its log-sum-exp. Masked keys
 * never reach a result, not even NaN and infinity; NaN in a key or value in use propagates. */
typedef struct att_attention_outputs {
    att_tensor *output;      /* [B,T,H,M] */
    att_tensor *scores;      /* [B,H,T,S] before normalizing; -inf where masked */
    att_tensor *weights;     /* [B,H,T,S] before dropout; 0 where masked */
    att_tensor *log_sum_exp; /* [B,H,T] of the scores that are not masked */
    att_tensor *key_totals;  /* [B,H,S] sum of the weights of each key, before dropout */
    att_tensor *entropy;     /* [B,H,T] of the weights, in nats; NaN where a weight is negative */
} att_attention_outputs;

/* Gradients of a loss, each of the shape of its input and added to, not overwritten; NULL where not
 * wanted. None may overlap an input or be a broadcast view. */
typedef struct att_attention_grads {
    att_tensor *query, *key, *value;
    att_tensor *score_w, *score_u, *score_b, *score_v;
    att_tensor *bias, *alibi, *relative;
} att_attention_grads;

/* Attention at full speed. Float tensors are computed in tiles of queries and blocks of keys
 * (fused, "flash" attention), in memory that grows with the sequence and not with its square; where
 * a score or normalizer needs the whole row of a query, a few rows at a time. Double tensors use
 * the reference below. A query's result has the same bits at any number of threads, on any
 * instruction set, alone or in a batch, packed or padded, over a KV cache (offset = number of keys
 * before it) or in the full matrix.
 *
 * `workspace` has att_attention_workspace() bytes for this problem and the number of threads in
 * use, of any alignment, for one call at a time; with NULL the call allocates. `options` may be
 * NULL. */
ATT_API att_status att_attention_forward(const att_attention_options *options,
                                         const att_attention_inputs *in,
                                         const att_attention_outputs *out, void *workspace,
                                         att_error *err);

/* Its gradients, from the gradient of the output, [B,T,H,M]. `forward` has the output and the
 * log_sum_exp of the forward for the same problem; where it is NULL or lacks one, they are computed
 * again. Gradients of query, key and value are as reproducible as the forward; those of parameters
 * and shared biases are sums over all queries and so depend on the batch. */
ATT_API att_status att_attention_backward(const att_attention_options *options,
                                          const att_attention_inputs *in,
                                          const att_attention_outputs *forward,
                                          const att_tensor *output_grad,
                                          const att_attention_grads *grads, void *workspace,
                                          att_error *err);

/* Bytes of workspace of the forward or the backward; 0 also where the problem is not valid. */
ATT_API size_t att_attention_workspace(const att_attention_options *options,
                                       const att_attention_inputs *in, bool backward);

/* The reference: attention in double precision, written per query and key; slow, exact, complete.
 * It needs memory for a few rows of S numbers, never for T·S. On failure nothing has been written,
 * and the message names the tensor, its shape and the rule that it breaks. */
ATT_API att_status att_attention_forward_reference(const att_attention_options *options,
                                                   const att_attention_inputs *in,
                                                   const att_attention_outputs *out,
                                                   att_error *err);
ATT_API att_status att_attention_backward_reference(const att_attention_options *options,
                                                    const att_attention_inputs *in,
                                                    const att_tensor *output_grad,
                                                    const att_attention_grads *grads,
                                                    att_error *err);
/* Names as users write them ("scaled", "sparsemax"); NULL past the last. */
ATT_API const char *att_score_name(att_score score);
ATT_API const char *att_normalizer_name(att_normalizer normalizer);

/* ---------------------------------------------------------------- 7. Worksheets and rendering */
/* An evaluated worksheet (docs/worksheets.md): its trace of steps, checks and maps. */
typedef struct att_sheet att_sheet;
/* Evaluates the sheet in the file at `path`; `load` in it is relative to the file's folder. Or from
 * memory: `name` is the file in errors; `load` reads files in `folder`, or none if it is NULL. */
ATT_API att_status att_sheet_load(att_sheet **out, const char *path, att_error *err);
ATT_API att_status att_sheet_read(att_sheet **out, const char *text, size_t length,
                                  const char *name, const char *folder, att_error *err);
ATT_API void att_sheet_free(att_sheet *sheet);
/* Expectations, comparisons and checks of gradients in the sheet, and how many of them failed. */
ATT_API size_t att_sheet_checks(const att_sheet *sheet);
ATT_API size_t att_sheet_failures(const att_sheet *sheet);

/* Failure `index`, from 0, as an error: the sheet's name, the line, what was expected and found,
 * and in `excerpt` the statement as written. Past the last, *out is cleared. */
ATT_API void att_sheet_failure_get(att_error *out, const att_sheet *sheet, size_t index);

/* The paths of files that `load` and `compare` opened, in order, with repetitions. */
ATT_API size_t att_sheet_file_count(const att_sheet *sheet);
ATT_API const char *att_sheet_file_get(const att_sheet *sheet, size_t index);

/* Text is for a terminal; an HTML page is self-contained. */
typedef enum att_format {
    ATT_FORMAT_TEXT,
    ATT_FORMAT_MARKDOWN,
    ATT_FORMAT_LATEX,
    ATT_FORMAT_HTML,
    ATT_FORMAT_JSON,
    ATT_FORMAT_SVG
} att_format;
/* How many elements of a result are worked out with their numbers; JSON has all. */
typedef enum att_detail {
    ATT_DETAIL_SHEET, /* as the sheet says: `detail none|one|all`, or one element */
    ATT_DETAIL_NONE,
    ATT_DETAIL_ONE,
    ATT_DETAIL_ALL
} att_detail;
typedef enum att_color { ATT_COLOR_NONE, ATT_COLOR_256, ATT_COLOR_TRUE } att_color;

/* Options of every `_render` call. Options that do not apply to the format or object are ignored; a
 * format that an object does not have is ATT_BAD_INPUT. */
typedef struct att_render_options {
    size_t size;
    att_format format;
    int digits;        /* digits after the decimal point; 0: 4; -1: none */
    const char *only;  /* sheets: show only the steps of this name; NULL: all */
    int64_t row;       /* sheets: show only this row of matrices, from 1; 0: all */
    int64_t head;      /* sheets and maps: show only this head, from 1; 0: all */
    att_color color;   /* text */
    bool ascii;        /* text: draw with ASCII characters alone */
    int width;         /* text and SVG: columns; 0: 100 */
    bool flat;         /* SVG maps: for rasterizers, one path per color and no data per cell */
    att_detail detail; /* sheets: elements worked out, whatever the sheet says */
    bool arcs;         /* SVG and HTML maps: arcs between words instead of cells */
} att_render_options;
/* Appends the sheet. An `only` that names no step, or a row or a head that no matrix has, is
 * ATT_BAD_INPUT. Text, Markdown, LaTeX, HTML, JSON. */
ATT_API att_status att_sheet_render(att_string *out, const att_sheet *sheet,
                                    const att_render_options *options, att_error *err);

/* Several sheets as one document with a part for each; JSON is always an array. `only`, `row` and
 * `head` must occur in one of them. */
ATT_API att_status att_sheets_render(att_string *out, const att_sheet *const *sheets, size_t count,
                                     const att_render_options *options, att_error *err);

/* Appends a Python program that computes the same in double precision, with NumPy or PyTorch alone,
 * and asserts the same claims. Files that the sheet reads are searched in the folder of the
 * program, or in the folder that is its first argument. */
typedef enum att_export_language { ATT_EXPORT_NUMPY, ATT_EXPORT_PYTORCH } att_export_language;
ATT_API att_status att_sheet_export(att_string *out, const att_sheet *sheet,
                                    att_export_language language, att_error *err);

/* Appends a diagram of the sheet: a box for each value, arrows from the values that it is computed
 * from; attention and recurrent cells are drawn from the inside. `only`: what leads to this value;
 * NULL: all. SVG, or LaTeX: a document with a TikZ picture. */
ATT_API att_status att_sheet_diagram(att_string *out, const att_sheet *sheet, const char *only,
                                     att_format format, att_error *err);

/* An attention map: one panel per head, queries down, keys across. Text, SVG, HTML and JSON; in SVG
 * each cell is a rect that carries its query, key and value, except where `flat` is set. */
typedef struct att_map {
    const char *title; /* or NULL */
    int64_t panels;    /* heads */
    int64_t queries, keys;
    const double *weights;           /* [panels, queries, keys] */
    const uint8_t *allowed;          /* [panels, queries, keys], 0 where masked; or NULL */
    const char *const *query_labels; /* [queries], UTF-8; or NULL: numbers */
    const char *const *key_labels;   /* [keys]; or NULL */
    const char *const *panel_labels; /* [panels]; or NULL */
    const char *query_name;          /* axis label of the queries; NULL: "query" */
    const char *key_name;            /* axis label of the keys; NULL: "key" */
    const uint8_t *marked;           /* [queries] a star after the label where not 0; or NULL */
    const char *mark_name;           /* the meaning of the star, with `marked` */
    int64_t panel_columns; /* an overview, so many small panels in a row (as text a table of where
                              each attends); 0: panels with labels and numbers */
} att_map;
ATT_API att_status att_map_render(att_string *out, const att_map *map,
                                  const att_render_options *options, att_error *err);
/* The maps that `plot` lines of a sheet asked for. */
ATT_API size_t att_sheet_map_count(const att_sheet *sheet);
ATT_API const att_map *att_sheet_map_get(const att_sheet *sheet, size_t index);

/* An exercise: a sheet with `ask` lines (docs/teaching.md). Its variants have other random numbers,
 * which depend on the sheet and the variant's name alone. From a file or from memory, as a sheet.
 */
typedef struct att_exercise att_exercise;
ATT_API att_status att_exercise_load(att_exercise **out, const char *path, att_error *err);
ATT_API att_status att_exercise_read(att_exercise **out, const char *text, size_t length,
                                     const char *name, const char *folder, att_error *err);
ATT_API void att_exercise_free(att_exercise *exercise);
/* Appends the question paper of a variant, or its solution, in a format of sheets. */
ATT_API att_status att_exercise_render(att_string *out, const att_exercise *exercise,
                                       const char *variant, bool solution,
                                       const att_render_options *options, att_error *err);

/* The graded answers of one student, from a file or from its bytes: text, .npz or a notebook, of
 * which nothing is run. Answers that cannot be read as a whole earn no points;
 * att_grading_problem() says why (NULL: they were read). */
typedef struct att_grading att_grading;
ATT_API att_status att_exercise_grade_file(att_grading **out, const att_exercise *exercise,
                                           const char *student, const char *variant,
                                           const char *path, att_error *err);
ATT_API att_status att_exercise_grade(att_grading **out, const att_exercise *exercise,
                                      const char *student, const char *variant, const void *answers,
                                      size_t size, const char *name, att_error *err);
ATT_API void att_grading_free(att_grading *grading);
ATT_API const char *att_grading_problem(const att_grading *grading);
ATT_API double att_grading_points(const att_grading *grading, double *max);

/* What a student's page says of an answer that is not right. */
typedef enum att_grade_detail {
    ATT_GRADE_EXPLAIN, /* what it follows from, the known slip that explains it, the hints */
    ATT_GRADE_CHECK,   /* right or wrong alone */
    ATT_GRADE_REVEAL   /* also the right numbers */
} att_grade_detail;
/* Appends the page of a student (text, Markdown, HTML, JSON), or the results.json of Gradescope. */
ATT_API att_status att_grading_render(att_string *out, const att_grading *grading,
                                      att_grade_detail detail, const att_render_options *options,
                                      att_error *err);
ATT_API att_status att_grading_gradescope(att_string *out, const att_grading *grading,
                                          att_grade_detail detail, att_error *err);
/* Appends the table of a class for the teacher (text, Markdown, HTML, JSON), or as CSV. */
ATT_API att_status att_gradings_render(att_string *out, const att_grading *const *gradings,
                                       size_t count, const att_render_options *options,
                                       att_error *err);
ATT_API att_status att_gradings_csv(att_string *out, const att_grading *const *gradings,
                                    size_t count, att_error *err);

/* Text with one value per token (the activation of a unit, an attention weight), shown as the
 * background color of the token, or without colors as block characters beneath. Tokens are printed
 * one after the other; spaces between words are tokens too. Text, SVG and HTML. */
typedef struct att_highlight {
    const char *title; /* or NULL */
    int64_t count;
    const char *const *tokens; /* [count] UTF-8 */
    const double *values;      /* [count]; NaN: not colored */
    const uint8_t *underlined; /* [count] underlined where not 0; or NULL */
    double max_value;          /* the value of the strongest color; 0: the largest value */
} att_highlight;
ATT_API att_status att_highlight_render(att_string *out, const att_highlight *highlight,
                                        const att_render_options *options, att_error *err);

/* Curves over 1, 2, …, on a logarithmic scale, where values of 0 or less are left out, or on a
 * linear one. Text and SVG. */
typedef struct att_curve {
    const char *name;
    const double *values; /* [count] of the plot */
} att_curve;
typedef struct att_plot {
    const char *title; /* or NULL */
    const char *x_label, *y_label;
    int64_t count;           /* values of each curve */
    const att_curve *curves; /* [curve_count], at most ATT_PLOT_CURVES */
    size_t curve_count;
    bool linear;     /* SVG: a linear scale from 0; a value that is not finite is left out */
    int64_t x_last;  /* SVG: what the last value is at; 0: `count` */
    int64_t x_first; /* and the first, with x_last */
} att_plot;
enum { ATT_PLOT_CURVES = 8 };
ATT_API att_status att_plot_render(att_string *out, const att_plot *plot,
                                   const att_render_options *options, att_error *err);

/* ---------------------------------------------------------------- 8. Settings */
/* Every setting of training is a row of one table. On the command line of `attend train` it is
 * `--key value`, in a config file `key = value`, and a model file stores all of them. */
typedef enum att_setting_type {
    ATT_SETTING_INTEGER, /* an integer between `min` and `max` */
    ATT_SETTING_REAL,    /* a number between them */
    ATT_SETTING_CHOICE,  /* one of `choices` */
    ATT_SETTING_TEXT,    /* any text except the empty one */
    ATT_SETTING_FLAG,    /* "yes" or "no" */
} att_setting_type;
typedef struct att_setting {
    const char *key;   /* "train-count" */
    const char *group; /* rows of a group follow each other */
    att_setting_type type;
    const char *placeholder; /* name of its value in help, "FILE"; NULL for a flag */
    const char *help;        /* one line of help */
    double min, max;
    const char *const *choices; /* NULL-terminated, or NULL */
} att_setting;

/* The rows, from 0; NULL past the last. And the row of a key; NULL for an unknown key. */
ATT_API size_t att_setting_count(void);
ATT_API const att_setting *att_setting_get(size_t index);
ATT_API const att_setting *att_setting_find(const char *key);
/* The key of what version 0.1 or another program calls by this name ("lr": learning-rate); or NULL.
 */
ATT_API const char *att_setting_renamed(const char *key);
/* Whether a task uses a setting: `alphabet` has no meaning where pairs come from files. */
ATT_API bool att_setting_applies(const att_setting *setting, const char *task);

/* A value for every row. */
typedef struct att_settings att_settings;
/* The defaults of a task; NULL: those of `pairs`, until a task is set. */
ATT_API att_status att_settings_new(att_settings **out, const char *task, att_error *err);
ATT_API void att_settings_free(att_settings *settings);

/* Sets one. Defaults that depend on it follow. A message about a value begins with the key; a
 * message about an unknown key names the nearest one. */
ATT_API att_status att_settings_set(att_settings *settings, const char *key, const char *value,
                                    att_error *err);
/* Appends the value of a key, as it could be set; nothing for a text that was not given. */
ATT_API att_status att_settings_get(att_string *out, const att_settings *settings, const char *key,
                                    att_error *err);

/* Sets what a config file says, in a file or in memory: one `key = value` per line; `#` starts a
 * comment, and a value with spaces at its ends or a `#` is in double quotes. Later files win;
 * att_settings_set() wins over files. On failure *err names the line; lines before it are set. */
ATT_API att_status att_settings_load(att_settings *settings, const char *path, att_error *err);
ATT_API att_status att_settings_read(att_settings *settings, const char *text, size_t length,
                                     const char *name, att_error *err);
/* Whether the settings fit together; if not, *err names the two that contradict each other. */
ATT_API att_status att_settings_check(const att_settings *settings, att_error *err);
/* Whether the task and the architecture of these settings use a setting. */
ATT_API bool att_settings_applies(const att_settings *settings, const att_setting *setting);

/* ---------------------------------------------------------------- 9. Metrics */
/* A measure of how well outputs agree with references. */
typedef struct att_metric {
    const char *name;  /* "bleu" */
    const char *title; /* "BLEU" */
    const char *help;  /* one line of help */
    bool lower_is_better;
} att_metric;

/* All of them, from 0; NULL past the last. */
ATT_API size_t att_metric_count(void);
ATT_API const att_metric *att_metric_get(size_t index);

/* Hypotheses and their references: lines without line ends, UTF-8. */
typedef struct att_hypotheses {
    const char *const *hypotheses;        /* [count] */
    const char *const *const *references; /* [reference_count][count]; NULL where a line has fewer,
                                             but each has one */
    size_t count, reference_count;
} att_hypotheses;
typedef struct att_metric_options {
    size_t size;
    const char *tokenizer; /* words of BLEU: "13a", "none", "char" or "intl"; NULL: 13a */
    bool lowercase;        /* compare lowercase text */
    int64_t resamples;     /* bootstrap resamples of the lines, for intervals; 0: none */
    uint64_t seed;         /* of the bootstrap */
} att_metric_options;
typedef struct att_interval {
    double low, high; /* contains 95 % of the bootstrap resamples; NaN without them */
} att_interval;
typedef struct att_metric_score {
    const att_metric *metric;
    double value; /* of 100; error rates and CIDEr may exceed that */
    att_interval interval;
    const char
        *signature; /* how it was computed: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|…" */
} att_metric_score;
typedef struct att_metric_scores att_metric_scores;
/* Scores hypotheses by the metrics of `names`. BLEU, chrF and TER are those of sacreBLEU with its
 * defaults (docs/metrics.md). With several references each line may agree with any of them. A line
 * that is not UTF-8 is ATT_BAD_INPUT; err->place says in which text, err->line where. */
ATT_API att_status att_metrics_score(att_metric_scores **out, const char *const *names,
                                     size_t count, const att_hypotheses *texts,
                                     const att_metric_options *options, att_error *err);
ATT_API void att_metric_scores_free(att_metric_scores *scores);
/* The score of names[index]; NULL past the last. And the number of lines that were scored. */
ATT_API const att_metric_score *att_metric_scores_get(const att_metric_scores *scores,
                                                      size_t index);
ATT_API size_t att_metric_scores_lines(const att_metric_scores *scores);

/* The same for files of lines ("-": standard input), which must have the same number of lines.
 * Errors name file and line. */
ATT_API att_status att_metrics_score_files(att_metric_scores **out, const char *const *names,
                                           size_t count, const char *hypotheses,
                                           const char *const *references, size_t reference_count,
                                           const att_metric_options *options, att_error *err);

/* ---------------------------------------------------------------- 10. Models */
/* A model: settings, vocabularies and parameters, stored in one .safetensors file. What a call
 * needs besides (tapes, KV caches, beams) belongs to the call, or to an att_session. */
typedef struct att_model att_model;
/* What a model does, which is decided by the task that it was trained for. */
typedef enum att_model_type {
    ATT_MODEL_SEQ2SEQ,    /* a line in, a line out */
    ATT_MODEL_LM,         /* a language model: continues a text */
    ATT_MODEL_CLASSIFIER, /* a line in, one of a list of labels out */
    ATT_MODEL_CAPTION,    /* an image in, a line out */
    ATT_MODEL_TAGGER,     /* a line in, a label for each of its tokens out */
} att_model_type;
enum { ATT_MODEL_TYPES = ATT_MODEL_TAGGER + 1 };
/* Reads a model from a file, or from the bytes of one, which are not needed afterwards; `name` is
 * the file in errors. An error names the tensor that is missing, unknown, of the wrong shape, not
 * finite or different from its checksum. Free it when no call uses it any more. */
ATT_API att_status att_model_load(att_model **out, const char *path, att_error *err);
ATT_API att_status att_model_read(att_model **out, const void *bytes, size_t size, const char *name,
                                  att_error *err);
/* The same without comparing the tensors with the checksum: faster, for att_model_info(). */
ATT_API att_status att_model_load_unverified(att_model **out, const char *path, att_error *err);
ATT_API void att_model_free(att_model *model);

/* The numbers of linear layers and embeddings: float32, or int8 with a scale for each output, which
 * takes a quarter of the memory (docs/running.md). Attention, norms and softmax are always float.
 */
typedef enum att_precision {
    ATT_PRECISION_STORED, /* as in the file */
    ATT_PRECISION_FLOAT32,
    ATT_PRECISION_INT8,
} att_precision;
typedef struct att_model_load_options {
    size_t size;
    att_precision precision;
} att_model_load_options;
/* att_model_load() and att_model_read() with options (NULL: none). Loading float weights as int8
 * gives the bits of their quantized file. */
ATT_API att_status att_model_load_with(att_model **out, const char *path,
                                       const att_model_load_options *options, att_error *err);
ATT_API att_status att_model_read_with(att_model **out, const void *bytes, size_t size,
                                       const char *name, const att_model_load_options *options,
                                       att_error *err);
/* A copy with int8 weights, for inference: it cannot be trained, and has no gradients. */
ATT_API att_status att_model_quantize(att_model **out, const att_model *model, att_error *err);
/* ATT_PRECISION_FLOAT32 or ATT_PRECISION_INT8. */
ATT_API att_precision att_model_precision(const att_model *model);

typedef struct att_checksum_report {
    size_t size;
    bool recorded;  /* the file has a checksum; without one nothing was compared */
    size_t tensors; /* how many there are, and their bytes */
    uint64_t bytes;
} att_checksum_report;
/* Compares a .safetensors file with its checksum, the SHA-256 of its header and of each tensor
 * (docs/models.md). A difference is ATT_BAD_INPUT, and the error names the tensor. */
ATT_API att_status att_checksum_verify(att_checksum_report *out, const char *path, att_error *err);

/* Writes the file of a model, or appends its bytes to *out. */
ATT_API att_status att_model_save(const att_model *model, const char *path, att_error *err);
ATT_API att_status att_model_write(att_string *out, const att_model *model, att_error *err);
ATT_API att_model_type att_model_type_get(const att_model *model);

/* Appends settings, parameters and the training record, as text or as one line of JSON. */
ATT_API att_status att_model_info(att_string *out, const att_model *model, bool json,
                                  att_error *err);

typedef struct att_token_list {
    const char *const *tokens; /* [count] in the order of their ids */
    size_t count;
} att_token_list;

/* Builds a model with the initial values of training, from settings (copied) and tokens. `source`
 * is NULL for models that do not read lines (LM, captions). */
ATT_API att_status att_model_build(att_model **out, const att_settings *settings,
                                   const att_token_list *source, const att_token_list *target,
                                   att_error *err);

/* The parameters: their number, names (NULL past the last), and the values of one: a view, which
 * is not to be written and does not outlive the model, or a copy. Only float weights have a view;
 * a copy of int8 weights is float. */
ATT_API size_t att_model_tensor_count(const att_model *model);
ATT_API const char *att_model_tensor_name(const att_model *model, size_t index);
ATT_API att_status att_model_tensor_view(att_tensor *out, const att_model *model, const char *name,
                                         att_error *err);
ATT_API att_status att_model_tensor_get(att_tensor *out, const att_model *model, const char *name,
                                        att_error *err);

/* A copy of `model` with the parameters in `tensors`, by name: so a built model is given values. */
ATT_API att_status att_model_replace_tensors(att_model **out, const att_model *model,
                                             const att_bundle *tensors, att_error *err);

/* ---- the tokenizer and the vocabularies of a model */
/* Token ids that every vocabulary has; its own tokens follow from ATT_TOKEN_FIRST on. */
enum {
    ATT_TOKEN_PAD = -1,  /* beyond the end of a sequence; in no vocabulary */
    ATT_TOKEN_UNK = 0,   /* any token that the vocabulary lacks */
    ATT_TOKEN_BOS = 1,   /* the start */
    ATT_TOKEN_EOS = 2,   /* the end */
    ATT_TOKEN_FIRST = 3, /* the most frequent token */
};

/* The vocabulary of the model's input or of its output. Only models that read lines
 * (ATT_MODEL_SEQ2SEQ, ATT_MODEL_CLASSIFIER, ATT_MODEL_TAGGER) have ATT_SIDE_SOURCE; the target
 * tokens of classifiers and taggers are labels. */
typedef enum att_side { ATT_SIDE_SOURCE, ATT_SIDE_TARGET } att_side;

/* The number of tokens, the reserved ones included; 0 where the model has no such vocabulary. */
ATT_API int32_t att_model_vocab_size(const att_model *model, att_side side);
/* Whether it was trained with tags beside the text: its source lines are `text<TAB>tags`. */
ATT_API bool att_model_has_tags(const att_model *model);

/* The token of an id as text to display: "<unknown>", "<start>" and "<end>" for the reserved ids; a
 * BPE token has "▁" for a space and "<0xE2>" for a byte that is not a character. NULL for an id
 * that the vocabulary lacks. */
ATT_API const char *att_model_token(const att_model *model, att_side side, int32_t id);
/* The id of a token as att_model_token() displays it (of `length` bytes), or -1. */
ATT_API int32_t att_model_token_id(const att_model *model, att_side side, const char *token,
                                   size_t length);

/* The tokens of a text: ids, pieces and byte offsets. */
typedef struct att_encoded_text att_encoded_text;
/* Encodes a line without its line end (a whole text with line ends, for language models) as the
 * model itself does. ATT_BAD_INPUT where it is not UTF-8. */
ATT_API att_status att_model_encode(att_encoded_text **out, const att_model *model, att_side side,
                                    const char *text, size_t length, att_error *err);
ATT_API void att_encoded_text_free(att_encoded_text *encoded);
ATT_API size_t att_encoded_text_count(const att_encoded_text *encoded);
/* The ids, [att_encoded_text_count()]. */
ATT_API const int32_t *att_encoded_text_ids(const att_encoded_text *encoded);

/* The text of token `index` after normalization (composed form, lowercase where the model asks for
 * it), not terminated, of *length bytes. An unknown token has its text too; a byte token may be a
 * part of a character; a reserved token is empty. NULL past the last. */
ATT_API const char *att_encoded_text_piece(const att_encoded_text *encoded, size_t index,
                                           size_t *length);

/* The bytes [*start, *end) of the original text that token `index` was made of: the smallest range
 * that produced it. Ranges rise; white space between words belongs to no token; a reserved token
 * has an empty range. false past the last. */
ATT_API bool att_encoded_text_range(const att_encoded_text *encoded, size_t index, size_t *start,
                                    size_t *end);

/* Appends the text of `count` ids, without start and end tokens. An id out of range is refused. */
ATT_API att_status att_model_decode(att_string *out, const att_model *model, att_side side,
                                    const int32_t *ids, size_t count, att_error *err);

/* ---------------------------------------------------------------- 11. Inference */
/* One beam search serves all models that generate (docs/running.md). `options` may be NULL. */

/* The divisor of the sum of the log-probabilities of an output of n tokens, the end included. */
typedef enum att_length_norm {
    ATT_LENGTH_MEAN, /* n^penalty */
    ATT_LENGTH_GNMT, /* ((5 + n) / 6)^penalty (Wu et al. 2016) */
    ATT_LENGTH_NONE, /* 1 */
} att_length_norm;

/* When a beam search ends. Either way no output scores below that of greedy decoding. */
typedef enum att_beam_stop {
    ATT_BEAM_STOP_HEURISTIC, /* as many outputs as the beam size have ended, and the best live
                                hypothesis, as if it ended next, ranks after the n_best kept */
    ATT_BEAM_STOP_EXACT,     /* no live hypothesis can rank before them, however it continues up to
                                max_output_length: slower, and rarely another output */
} att_beam_stop;

typedef struct att_shortlist att_shortlist; /* the next tokens that a line allows; see below */

/* Options of decoding. The default is greedy decoding: the most probable token at each step. A
 * negative number (except length_penalty), or a top_p above 1, is ATT_BAD_INPUT. */
typedef struct att_decoding_options {
    size_t size;
    int64_t beam;   /* beam size: hypotheses per source at a time; 0: 1 */
    int64_t n_best; /* outputs per source, at most; 0: 1. The beam has at least this size */
    att_length_norm length_norm;
    double length_penalty;   /* exponent of length_norm; 0: 1 */
    double coverage_penalty; /* weight of Σ log(min(attention to each source token, 1)) */
    int64_t no_repeat_ngram; /* no n-gram of this many tokens occurs twice; 0: no limit */
    /* Tokens of the output: at least max(min_output_length, min_length_ratio × source tokens)
     * before the end; at most min(max_output_length, max_length_ratio × source tokens), the end
     * included. No maximum: 10 + twice the most tokens that training
     * targets had for a source of this length (50 + 2 × source tokens where the model does not
     * know); for an image, 50. */
    int64_t min_output_length, max_output_length;
    double min_length_ratio, max_length_ratio;
    bool sample;        /* sample tokens instead of taking the most probable */
    double temperature; /* log-probabilities are divided by it before sampling; 0: 1 */
    int64_t top_k;      /* sample from the k most probable tokens; 0: all */
    double top_p;       /* sample from the most probable tokens that sum to p; 0: all */
    uint64_t seed;      /* samples depend on the seed, the number of the line and the position */
    att_model *const *ensemble; /* [ensemble_count] further models, with equal vocabularies: the
 probability of a token is the mean over all models */
    size_t ensemble_count;
    att_beam_stop beam_stop;
    const att_shortlist *shortlist; /* of a sequence-to-sequence model; NULL: every token */
} att_decoding_options;
/* What happens to a line with more than max_input_length tokens. */
typedef enum att_input_overflow { ATT_OVERFLOW_REFUSE, ATT_OVERFLOW_TRUNCATE } att_input_overflow;

typedef struct att_generate_options {
    size_t size;
    const att_decoding_options *decoding; /* NULL: greedy */
    bool attention;                       /* return the attention weights */
    bool all_heads;                       /* with `attention`: those of every layer and head too */
    int64_t layer;                        /* whose attention is returned, from 1; 0: the last */
    int64_t head;                         /* likewise; 0: the mean of the layer's heads */
    bool replace_unknown;        /* an unknown token becomes the source token with most attention */
    const char *const *targets;  /* [count] forced outputs (teacher forcing); NULL: none */
    const char *const *prefixes; /* [count] what outputs start with; NULL: nothing */
    int64_t max_input_length;    /* tokens of a line, at most what the model supports; 0: ten times
                                    its setting max-length, negative: no other limit */
    att_input_overflow input_overflow;
    int64_t batch_size;  /* lines at a time; 0: automatic. It changes the speed alone */
    uint64_t first_line; /* number of the first line, for sampling */
} att_generate_options;
/* One output. Everything in it belongs to the att_outputs. */
typedef struct att_output {
    const char *text;               /* the output as a line */
    double score;                   /* sum of the log-probabilities of its tokens */
    double normalized_score;        /* what the outputs of a line are ranked by */
    bool truncated;                 /* it ended at max_output_length, not at the end token */
    int64_t unknown_tokens;         /* source tokens that the vocabulary lacks, */
    int64_t unknown_tags;           /* and how many of them are tags */
    int64_t truncated_input_tokens; /* source tokens beyond max_input_length, which were removed */
    int64_t source_count, target_count; /* the end token is counted, where it was reached */
    const char *const *source_tokens;   /* [source_count] */
    const char *const *target_tokens;   /* [target_count] the end as "<end>" */
    const double *token_scores;         /* [target_count] log-probability of each */
    const double *copy_probs; /* [target_count] the part of copying in the probability of each, 0 to
                                 1; NULL: the model does not copy */
    const uint8_t *copied;    /* [target_count] not 0 where it is more than half; likewise */
    const double *weights;    /* [target_count, source_count] attention; NULL: none */
    int64_t grid_rows, grid_columns; /* of an image: its cells are the source, row by row; or 0 */
    int64_t layers, heads;           /* of cross attention; 1 and 1 in an RNN */
    const double *head_weights;      /* [layers, heads, target_count, source_count]; NULL: not
                                        asked for */
    int64_t alternative_count;       /* further outputs of the same source (n_best) */
    const struct att_output *const *alternatives; /* [alternative_count] the best first */
} att_output;
typedef struct att_outputs att_outputs;
/* Generates outputs for `count` lines without line ends, several at a time. For a model that was
 * trained with tags beside the text, a line is `text<TAB>tags` (walk<TAB>V;PST), and its tokens are
 * those of the text followed by the tags, as [V]. An output does not depend on the other lines,
 * their order or the number of threads; a line without tokens has an empty output. A line that is
 * not UTF-8 is ATT_BAD_INPUT, and err->line is its number from 1. So is, in every call that
 * computes with a model, a score that is NaN or infinite because its weights are too large or
 * damaged: the message names the layer where such a value first appeared, and err->line the line,
 * image or row (a score of -inf beside finite ones is an impossible token). */
ATT_API att_status att_model_generate(att_outputs **out, const att_model *model,
                                      const char *const *lines, size_t count,
                                      const att_generate_options *options, att_error *err);
ATT_API void att_outputs_free(att_outputs *outputs);
/* The number of lines, and the best output of one; NULL past the last. */
ATT_API size_t att_outputs_count(const att_outputs *outputs);
ATT_API const att_output *att_outputs_get(const att_outputs *outputs, size_t line);

/* ---- inputs from a table: a column of a CSV file, of JSON lines or of tab-separated lines */

typedef struct att_inputs_options {
    size_t size;
    const char *format;  /* "csv" (with a header), "jsonl" or "tsv" */
    const char *columns; /* the column of the inputs, by name or number, and of a model with tags
                            beside the text also theirs: "text", "2", "lemma,features". NULL: as in
                            training, or a usual name; of "tsv" the first */
} att_inputs_options;
typedef struct att_inputs att_inputs;

/* Reads the inputs of a file ("-": standard input) as att_model_generate(), att_model_classify()
 * and att_model_tag() take them. Empty lines of a CSV file are left out; other rows without text
 * are empty inputs. */
ATT_API att_status att_inputs_load(att_inputs **out, const att_model *model, const char *path,
                                   const att_inputs_options *options, att_error *err);
ATT_API void att_inputs_free(att_inputs *inputs);
ATT_API size_t att_inputs_count(const att_inputs *inputs);
ATT_API const char *const *att_inputs_lines(const att_inputs *inputs); /* [count] */
/* The line of the file where an input starts, from 1. */
ATT_API int64_t att_inputs_line_number(const att_inputs *inputs, size_t index);
/* Which columns were read: "CSV: inputs in column 1, 'text'". */
ATT_API const char *att_inputs_description(const att_inputs *inputs);

/* ---- lexical shortlists: the output layer over candidate tokens only */
/* For each line the next tokens are chosen among the most frequent tokens of the target vocabulary,
 * those that the tokens of the line may become, and those written like them: a large output layer
 * is then fast. Outputs still do not depend on other lines, but may differ from those without it,
 * and forced targets are refused. The model must outlive the shortlist. */
typedef struct att_shortlist_options {
    size_t size;
    int64_t frequent;  /* tokens that every line has; 0: 500, negative: none */
    int64_t top;       /* target tokens of each source token, at most; 0: 200 */
    bool attention;    /* learn from the model's attention (its last layer), not by IBM model 1 */
    int64_t max_pairs; /* to learn from, evenly spaced in the file; 0: 200,000 */
} att_shortlist_options;

typedef struct att_shortlist_stats {
    size_t size;
    int64_t entries;        /* pairs of a source and a target token */
    int64_t pairs;          /* that were learned from */
    int64_t vocabulary;     /* target tokens of the model */
    double mean_candidates; /* of a line */
    double coverage;        /* part of the target tokens that were candidates, 0 to 1 */
} att_shortlist_stats;

/* Learns one from the pairs of a file, in a format that training reads. `stats` may be NULL. */
ATT_API att_status att_shortlist_learn(att_shortlist **out, const att_model *model,
                                       const char *path, const att_shortlist_options *options,
                                       att_shortlist_stats *stats, att_error *err);

/* Its file: lines of target<TAB>source<TAB>probability, or separated by spaces as lexical tables of
 * word aligners are. Tokens that the model lacks are ignored. */
ATT_API att_status att_shortlist_load(att_shortlist **out, const att_model *model, const char *path,
                                      const att_shortlist_options *options, att_error *err);
ATT_API att_status att_shortlist_save(const att_shortlist *shortlist, const char *path,
                                      att_error *err);
ATT_API void att_shortlist_free(att_shortlist *shortlist);

/* Writes captions for images: float [count,cells,depth] or [count,rows,columns,depth] features of
 * the size that the model was trained on. The source of an output is the cells, row by row. */
ATT_API att_status att_model_caption(att_outputs **out, const att_model *model,
                                     const att_tensor *images, const att_generate_options *options,
                                     att_error *err);

/* Loads image features from a .npy file, multiplied by the model's setting features-scale; `path`
 * NULL: the validation images of its training, loaded or generated again. Files that only the model
 * names are opened with `recorded_data` (see att_eval_options), else refused. */
ATT_API att_status att_model_images(att_tensor *out, const att_model *model, const char *path,
                                    bool recorded_data, att_error *err);

/* The attention map of an output, borrowed, with the tokens of both sides as labels, copied ones
 * marked; and of one layer, from 1 (0: the last), with a panel for each head (all_heads). false:
 * there is none. */
ATT_API bool att_output_map(att_map *out, const att_output *output);
ATT_API bool att_output_layer_map(att_map *out, const att_output *output, int64_t layer);

/* Appends pairs i-j, in the order of j: output token j, except the end, has its largest attention
 * at source token i, both from 0. ATT_BAD_INPUT where the output has no attention. */
ATT_API att_status att_output_alignment(att_string *out, const att_output *output, att_error *err);
/* Appends an output as one line of JSON; docs/running.md lists the keys. */
ATT_API att_status att_output_json(att_string *out, const att_output *output, att_error *err);

/* Appends an output with attention as an HTML page: tokens that show their attention when pointed
 * at, the map (one of the two above), and a table. */
ATT_API att_status att_output_html(att_string *out, const att_output *output, const att_map *map,
                                   att_error *err);

/* The image that attention is drawn over: a JPEG or PNG file as it is, or pixels. */
typedef struct att_overlay_image {
    const void *file; /* [size] bytes, or NULL */
    size_t size;
    const uint8_t *pixels; /* [rows,columns,3] red, green, blue; or NULL */
    int64_t rows, columns; /* of either, in pixels */
    bool crop;             /* the model's input is the center square of it; otherwise all of it */
} att_overlay_image;

/* Appends the attention of a caption: for each word a copy of the image, bright where the model
 * attends, as SVG or HTML (blank where `image` is NULL); or the grid in shades, as text. */
ATT_API att_status att_output_overlay_render(att_string *out, const att_output *output,
                                             const att_overlay_image *image,
                                             const att_render_options *options, att_error *err);

/* ---- sessions: decoding step by step, for a search of your own */
/* A session encodes sources once and then decodes rows (hypotheses) token by token; it keeps the
 * state of the decoder (KV cache, RNN states). The library's own beam search runs on it, and
 * examples/own_search.c is a nucleus sampler. */
typedef struct att_session att_session;

typedef struct att_session_options {
    size_t size;
    att_model *const *ensemble; /* [ensemble_count] as in att_decoding_options */
    size_t ensemble_count;
    bool attention;     /* steps return attention weights */
    bool hidden_states; /* steps return the decoder's hidden states */
} att_session_options;
/* A session with a model of type ATT_MODEL_SEQ2SEQ, ATT_MODEL_CAPTION or ATT_MODEL_LM, which must
 * outlive it, as those of the ensemble must. */
ATT_API att_status att_session_new(att_session **out, const att_model *model,
                                   const att_session_options *options, att_error *err);
ATT_API void att_session_free(att_session *session);

/* Starts with new sources; row r of the first step continues from source r. What the session
 * decoded before is dropped. There are four ways: lines; token ids of the source vocabulary,
 * sequence after sequence, with the length of each (a sequence may not be empty); features of
 * images as in att_model_caption(); and, for language models, only a number of rows. */
ATT_API att_status att_session_start_lines(att_session *session, const char *const *lines,
                                           size_t count, att_error *err);
ATT_API att_status att_session_start_ids(att_session *session, const int32_t *ids,
                                         const int64_t *lengths, size_t count, att_error *err);
ATT_API att_status att_session_start_images(att_session *session, const att_tensor *images,
                                            att_error *err);
ATT_API att_status att_session_start_text(att_session *session, size_t rows, att_error *err);

/* The result of a step, borrowed until the next call with the session. */
typedef struct att_session_output {
    size_t size; /* of this struct in the library in use */
    int64_t rows, vocab_size;
    const float *log_probs; /* [rows, vocab_size] of the next token; a model that copies has also
                               ids for source tokens that its vocabulary lacks */
    int64_t layers, heads, source_length;
    const float *attention; /* [rows, layers, heads, source_length] to the source, padded with
                               zeros; of the first model that has attention. NULL: not asked for, or
                               none */
    int64_t hidden_size;
    const float *hidden; /* [rows, hidden_size] of the first model: the decoder's top layer, in a
                            Transformer after the final norm. NULL: not asked for */
} att_session_output;

/* Feeds one token to each of `rows` rows and computes the log-probabilities of the next. Row r
 * continues row order[r] of the step before (at the first step: source order[r]), so rows can be
 * dropped, reordered and forked, by repeating a row; `order` NULL: row r continues row r. The first
 * tokens are att_session_start_token(). A token, a number of rows or an order that does not fit is
 * ATT_BAD_INPUT and changes nothing; after any other failure the session must be started again. */
ATT_API att_status att_session_step(att_session *session, int64_t rows, const int32_t *tokens,
                                    const int64_t *order, const att_session_output **out,
                                    att_error *err);

/* Feeds `count` tokens to each row as it is, tokens [rows,count], and returns the result of the
 * last: a prompt, or a forced prefix. `count` is at least 1. */
ATT_API att_status att_session_feed(att_session *session, int64_t rows, const int32_t *tokens,
                                    int64_t count, const att_session_output **out, att_error *err);

/* The token to feed first (in a language model without ATT_TOKEN_BOS, the line end), the token that
 * ends an output (-1 where a text has no end), and the size of the target vocabulary: of a model
 * that copies, from a start on with the ids that its sources add. */
ATT_API int32_t att_session_start_token(const att_session *session);
ATT_API int32_t att_session_end_token(const att_session *session);
ATT_API int32_t att_session_vocab_size(const att_session *session);

/* The sources: their number, the tokens of one (for images: cells), and token `index` of one as
 * text to display, borrowed until the next start; NULL where sources are not tokens, or past the
 * last. */
ATT_API int64_t att_session_source_count(const att_session *session);
ATT_API int64_t att_session_source_length(const att_session *session, int64_t source);
ATT_API const char *att_session_source_token(const att_session *session, int64_t source,
                                             int64_t index);

/* A token of the target vocabulary, or one that a source adds, as text to display, borrowed until
 * the next start; NULL where there is no such token. */
ATT_API const char *att_session_token(const att_session *session, int64_t source, int32_t token);

/* ---- language models */
typedef struct att_complete_options {
    size_t size;
    const att_decoding_options *decoding; /* NULL: greedy. Its length limits are ignored */
    int64_t max_new_tokens;               /* 0: 100 */
} att_complete_options;
/* Counts of a completion or of a scored text. Start from ATT_INIT(att_completion). */
typedef struct att_completion {
    size_t size;
    int64_t prompt_tokens;
    int64_t unknown_tokens; /* tokens of the prompt that the vocabulary lacks */
    int64_t tokens;         /* that on_token was called for */
    double score;           /* sum of their log-probabilities */
    double perplexity;      /* exp(-score / tokens); NaN without tokens */
} att_completion;

/* Called for each token with its text and its log-probability; false ends the call with ATT_OK. */
typedef bool att_token_callback(void *context, const char *text, size_t length, double score);

/* Continues a prompt of `length` bytes, token by token. on_token is called as soon as a token is
 * certain: at once, unless there is a beam. The text of a call is whole UTF-8 characters: a token
 * that is part of a character comes with an empty text, and bytes that cannot become a character
 * come as U+FFFD. Without a prompt the text starts as after a line end. The time of a token does
 * not grow with the text: a Transformer whose context is full continues from its last half. */
ATT_API att_status att_model_complete(att_completion *out, const att_model *model,
                                      const char *prompt, size_t length,
                                      const att_complete_options *options,
                                      att_token_callback *on_token, void *context, att_error *err);

typedef struct att_score_options {
    size_t size;
    att_model *const *ensemble; /* [ensemble_count] as in att_decoding_options */
    size_t ensemble_count;
} att_score_options;
/* Calls on_token for each token but the first, with its bytes, which may be part of a character. */
ATT_API att_status att_model_score_text(att_completion *out, const att_model *model,
                                        const char *text, size_t length,
                                        const att_score_options *options,
                                        att_token_callback *on_token, void *context,
                                        att_error *err);

/* ---- classifiers */
/* The labels of a classifier or tagger, from 0, the most frequent in training first. Models of
 * other types have none; past the last, NULL. */
ATT_API size_t att_model_label_count(const att_model *model);
ATT_API const char *att_model_label(const att_model *model, size_t index);
typedef struct att_classify_options {
    size_t size;
    bool attention;           /* return the attention weights of the tokens */
    int64_t max_input_length; /* as in att_generate_options */
    att_input_overflow input_overflow;
    int64_t batch_size;         /* lines at a time; 0: automatic. It changes the speed alone */
    att_model *const *ensemble; /* [ensemble_count] as in att_decoding_options */
    size_t ensemble_count;
} att_classify_options;
/* The prediction for one line. Everything in it belongs to the att_predictions. */
typedef struct att_prediction {
    const char *label_text; /* the most probable label; "" for a line without tokens */
    int64_t label;          /* its index; -1 for a line without tokens */
    const double
        *probabilities; /* [label_count] calibrated (docs/models.md); NULL without tokens */
    int64_t label_count;
    int64_t unknown_tokens;         /* tokens that the vocabulary lacks */
    int64_t truncated_input_tokens; /* tokens beyond max_input_length, which were removed */
    int64_t token_count;
    const char *const *tokens;  /* [token_count] */
    bool spaced;                /* tokens are words, to be printed with spaces between them */
    const double *weights;      /* [token_count] attention, the mean of the heads; NULL: none */
    int64_t heads;              /* of the attention */
    const double *head_weights; /* [heads, token_count] */
} att_prediction;
typedef struct att_predictions att_predictions;
/* Classifies `count` lines, as att_model_generate() does. */
ATT_API att_status att_model_classify(att_predictions **out, const att_model *model,
                                      const char *const *lines, size_t count,
                                      const att_classify_options *options, att_error *err);
ATT_API void att_predictions_free(att_predictions *predictions);
ATT_API size_t att_predictions_count(const att_predictions *predictions);
ATT_API const att_prediction *att_predictions_get(const att_predictions *predictions, size_t index);
/* Appends a prediction as one line of JSON; docs/running.md lists the keys. */
ATT_API att_status att_prediction_json(att_string *out, const att_prediction *prediction,
                                       const att_model *model, att_error *err);

/* ---- taggers */
typedef struct att_tag_options {
    size_t size;
    int64_t max_input_length; /* as in att_generate_options */
    att_input_overflow input_overflow;
    int64_t batch_size;         /* lines at a time; 0: automatic. It changes the speed alone */
    att_model *const *ensemble; /* [ensemble_count] as in att_decoding_options */
    size_t ensemble_count;
} att_tag_options;
/* The labels of the tokens of one line (att_model_label()). It belongs to the att_taggings. */
typedef struct att_tagging {
    int64_t token_count;
    const char *const *tokens;    /* [token_count] */
    const char *const *labels;    /* [token_count] */
    const int64_t *label_indices; /* [token_count] */
    const double *probabilities;  /* [token_count, label_count] of every label of each token */
    int64_t label_count;
    int64_t unknown_tokens;         /* tokens that the vocabulary lacks */
    int64_t truncated_input_tokens; /* tokens beyond max_input_length, which have no label */
} att_tagging;
typedef struct att_taggings att_taggings;
/* Labels the whitespace-separated tokens of `count` lines, as att_model_generate() does. */
ATT_API att_status att_model_tag(att_taggings **out, const att_model *model,
                                 const char *const *lines, size_t count,
                                 const att_tag_options *options, att_error *err);
/* Appends a CoNLL file ("-": standard input) with the label of each token as one more column.
 * `column` has the tokens, from 1; 0: as in training. Its sentences cannot be truncated. */
ATT_API att_status att_model_tag_conll(att_string *out, const att_model *model, const char *path,
                                       int64_t column, const att_tag_options *options,
                                       att_error *err);
ATT_API void att_taggings_free(att_taggings *taggings);
ATT_API size_t att_taggings_count(const att_taggings *taggings);
ATT_API const att_tagging *att_taggings_get(const att_taggings *taggings, size_t index);
/* Appends a line as one line of JSON; docs/running.md lists the keys. */
ATT_API att_status att_tagging_json(att_string *out, const att_tagging *tagging, att_error *err);

/* ---- evaluation */
/* An example of a dataset. All strings are UTF-8 and are copied. */
typedef struct att_example {
    const char *source; /* source sentence, without a line end; NULL for captions and text */
    const char
        *target;   /* target sentence, label, labels of the tokens or caption, without a line
                      end; for a language model the next piece of the text, line ends included */
    int64_t image; /* captions: index of the image in the features, from 0 */
} att_example;

/* Gets the next example, whose strings stay valid until the next call; false: there is none. Called
 * on the calling thread, once per example; to abort, cancel through the att_callback. */
typedef bool att_example_iterator(void *context, att_example *out);
typedef struct att_eval_options {
    size_t size;
    const att_decoding_options *decoding; /* NULL: greedy. For sampling, the number of a line is its
                                             index in the dataset */
    const char *const *metrics; /* [metric_count] text metrics of the outputs against the targets */
    size_t metric_count;        /* as they are in the dataset */
    const att_metric_options *metric_options; /* lowercase is set where the model is lowercase */
    const char *features; /* .npy file of the features of captioned images; NULL: the validation
                             images of training */
    att_example_iterator *examples; /* the dataset, instead of a file; NULL: a file */
    void *examples_context;
    const att_tensor *feature_values; /* features of captioned images, instead of a file */
    bool recorded_data; /* open files that only the model names; otherwise they are ATT_BAD_INPUT,
                           since a model's file may come from anybody and name any file */
    int64_t max_input_length; /* as in att_generate_options; a longer source is ATT_BAD_INPUT */
    struct att_transport *transport; /* processes that share the evaluation (section 13): all make
                                        the call, and all get the result that one alone would get;
                                        NULL: one process */
    const char *format, *columns; /* of a file of pairs or sentences, as the settings of these names
                                     have them; both NULL: as in training, or as guessed */
    int64_t stride; /* of a Transformer language model: tokens by which its context moves. Only
                       these new tokens are scored, those before them are context. From 1 to the
                       context length; 0: chunks end to end */
} att_eval_options;
/* Evaluation of a seq2seq or caption model. Rates are between 0 and 1 (error rates may exceed 1),
 * NaN where there was nothing to count. Start from ATT_INIT(att_seq2seq_eval). */
typedef struct att_seq2seq_eval {
    size_t size;
    int64_t lines, tokens;   /* tokens of the references */
    double exact_match;      /* lines whose output equals the reference in every token, or that of
                                another line with the same source */
    double token_accuracy;   /* tokens predicted under teacher forcing; end tokens included */
    double token_error_rate; /* insertions, deletions and substitutions per reference token */
    double word_error_rate;  /* the same in words, where tokens are not words */
    double perplexity;       /* of the references */
    att_interval exact_match_interval, token_accuracy_interval, token_error_rate_interval,
        word_error_rate_interval, perplexity_interval; /* NaN without bootstrap resamples */
    int64_t truncated_outputs;                         /* cut at the maximum output length */
    int64_t several_targets;                           /* sources with more than one target */
} att_seq2seq_eval;

/* Evaluates on the pairs of a file (source<TAB>target lines; "-": standard input), or if `path` is
 * NULL on the examples of the options, or else on the validation pairs of training, loaded or
 * generated again. *scores receives the text metrics of options->metrics; it may be NULL. Appends
 * to *notes, which may be NULL, what was skipped and why. */
ATT_API att_status att_model_evaluate_seq2seq(att_seq2seq_eval *out, att_metric_scores **scores,
                                              const att_model *model, const char *path,
                                              const att_eval_options *options, att_string *notes,
                                              att_error *err);
/* The text metrics that suit the outputs of a model: BLEU and chrF for words; for others none. */
ATT_API const char *const *att_model_metrics(const att_model *model, size_t *count);

/* Evaluation of a language model on a text: every token except the first, given those before it.
 * Start from ATT_INIT(att_lm_eval). */
typedef struct att_lm_eval {
    size_t size;
    int64_t tokens, characters;
    int64_t unknown_tokens; /* tokens that the vocabulary lacks */
    double loss;            /* nats per token */
    double bits_per_character;
    double perplexity; /* per token */
    double accuracy;   /* tokens that were the most probable; an unknown token never counts as
                          correct. NaN for an ensemble */
} att_lm_eval;

/* Evaluates on a text, as above. An RNN reads the text in as many streams as it was trained on at a
 * time, each from its start to its end; a Transformer in chunks of its context length, end to end,
 * or overlapping by options->stride.
 * Of the decoding options, the ensemble is used: the probability of a token is then the mean over
 * the models, each reading the text in its own way. */
ATT_API att_status att_model_evaluate_lm(att_lm_eval *out, const att_model *model, const char *path,
                                         const att_eval_options *options, att_string *notes,
                                         att_error *err);

typedef struct att_label_metrics {
    int64_t support, predicted; /* lines that have the label, and lines it was predicted for */
    double precision;           /* of the lines it was predicted for, the part that has it */
    double recall;              /* of the lines that have it, the part it was predicted for */
    double f1;                  /* the harmonic mean of precision and recall */
} att_label_metrics;

/* Evaluation of a classifier. Rates are between 0 and 1. */
typedef struct att_classifier_eval {
    int64_t lines;
    double accuracy;
    att_interval accuracy_interval; /* NaN without bootstrap resamples */
    double macro_f1;                /* the mean F1 of all labels that occur or were predicted */
    double loss;                    /* the mean of -log probability of the true label, in nats */
    double uncalibrated_loss;       /* at temperature 1, as in training; NaN of an ensemble */
    double calibration_error;       /* expected calibration error */
    int64_t labels;
    const int64_t *confusion; /* [labels, labels] rows: true labels, columns: predicted labels */
    int64_t unknown_labels;   /* lines whose label the model lacks: they count as wrong, and are not
                                 in `confusion` and `loss` */
} att_classifier_eval;

/* Evaluates on sentence<TAB>label lines, as above. Of `options`, the ensemble of its decoding and
 * the bootstrap of metric_options are used. */
ATT_API att_status att_model_evaluate_classifier(att_classifier_eval **out, const att_model *model,
                                                 const char *path, const att_eval_options *options,
                                                 att_string *notes, att_error *err);
ATT_API void att_classifier_eval_free(att_classifier_eval *eval);
/* NULL past the last. */
ATT_API const att_label_metrics *att_classifier_eval_label(const att_classifier_eval *eval,
                                                           int64_t label);

/* Appends an evaluation as one line of JSON; docs/metrics.md lists the keys. */
ATT_API att_status att_classifier_eval_json(att_string *out, const att_classifier_eval *eval,
                                            const att_model *model, att_error *err);

/* Evaluation of a tagger. Spans are those of conlleval: tokens labeled B-type, I-type (also E, S,
 * L, U); a span is correct if its borders and its type are. A label that the model lacks counts as
 * wrong. */
typedef struct att_tagger_eval {
    int64_t sentences, tokens;
    int64_t unknown_labels;  /* tokens whose label the model lacks */
    bool has_spans;          /* a label has such a prefix; otherwise `spans` means nothing */
    att_label_metrics spans; /* of all spans; support and predicted are numbers of spans */
    double token_accuracy, sentence_accuracy;
    double loss; /* the mean of -log probability of the true label of a token, in nats */
    att_interval f1_interval, token_accuracy_interval, sentence_accuracy_interval; /* or NaN */
    int64_t types;                                                                 /* of spans */
} att_tagger_eval;
typedef struct att_span_type_metrics {
    const char *type; /* "city" of B-city */
    att_label_metrics metrics;
} att_span_type_metrics;

/* Evaluates on a CoNLL file or on tokens<TAB>labels lines, as above. Of `options`, the ensemble of
 * its decoding and the bootstrap of metric_options are used. */
ATT_API att_status att_model_evaluate_tagger(att_tagger_eval **out, const att_model *model,
                                             const char *path, const att_eval_options *options,
                                             att_string *notes, att_error *err);
ATT_API void att_tagger_eval_free(att_tagger_eval *eval);
/* The types of spans, by name; NULL past the last. */
ATT_API const att_span_type_metrics *att_tagger_eval_type(const att_tagger_eval *eval,
                                                          int64_t index);
/* Appends an evaluation as one line of JSON; docs/metrics.md lists the keys. */
ATT_API att_status att_tagger_eval_json(att_string *out, const att_tagger_eval *eval,
                                        att_error *err);

/* Paired significance: two systems on the same lines, metric by metric. p-values are those of
 * sacreBLEU's paired tests: bootstrap resampling and approximate randomization (docs/metrics.md).
 */
typedef struct att_comparison_row {
    const char *name, *title; /* "exact_match", "exact match": as in the evaluation of one model */
    bool lower_is_better;
    bool is_rate;           /* between 0 and 1; text metrics are of 100 */
    double baseline, value; /* the scores of the baseline and of the other system */
    double baseline_mean, baseline_margin, mean, margin; /* of bootstrap resamples: 95 % are in
                                                            mean ± margin */
    double bootstrap_p, randomization_p;                 /* NaN where the scores are equal */
} att_comparison_row;
typedef struct att_comparison att_comparison;
/* Compares `model`, with the ensemble of the decoding options, with `baseline`, or with the
 * ensemble of `baseline_count` models, on the same data: seq2seq and caption models, classifiers
 * and taggers. A metric is left out where the models split the targets into different tokens, the
 * loss of classifiers and taggers where only one of them has a label of the data. The
 * resamples of metric_options (0: 1000) are those of the bootstrap; the randomization makes ten
 * times as many trials. The rest is as in att_model_evaluate_seq2seq(). */
ATT_API att_status att_models_compare(att_comparison **out, const att_model *model,
                                      att_model *const *baseline, size_t baseline_count,
                                      const char *path, const att_eval_options *options,
                                      att_string *notes, att_error *err);
/* Compares `hypotheses` with other outputs of the same lines by text metrics, as
 * att_metrics_score() scores them; or two files, as att_metrics_score_files() scores one. */
ATT_API att_status att_metrics_compare(att_comparison **out, const char *const *names, size_t count,
                                       const att_hypotheses *texts, const char *const *baseline,
                                       const att_metric_options *options, att_error *err);
ATT_API att_status att_metrics_compare_files(att_comparison **out, const char *const *names,
                                             size_t count, const char *hypotheses,
                                             const char *baseline, const char *const *references,
                                             size_t reference_count,
                                             const att_metric_options *options, att_error *err);
ATT_API void att_comparison_free(att_comparison *comparison);
ATT_API int64_t att_comparison_lines(const att_comparison *comparison);
/* NULL past the last. */
ATT_API const att_comparison_row *att_comparison_get(const att_comparison *comparison,
                                                     size_t index);

/* ---------------------------------------------------------------- 12. Inside a model */
/* Where a Transformer attends: encoder self-attention, decoder self-attention, cross attention. */
typedef enum att_attention_block {
    ATT_BLOCK_ENCODER,
    ATT_BLOCK_DECODER,
    ATT_BLOCK_CROSS
} att_attention_block;

/* Heads of a Transformer, run on a line. */
typedef struct att_head_selection {
    att_attention_block block;
    int64_t layer, head; /* from 1; 0: att_model_head_sheet() the first, att_model_attention_map()
                            the last layer and all heads */
    const char *input;   /* the source; of a language model, the text */
    const char *target;  /* what the decoder is fed (teacher forcing); NULL: the model's own output;
                            not of models without a source */
} att_head_selection;

/* Appends a worksheet that computes one head, from its input to what it adds to the residual
 * stream, and expects the attention weights that the model computed in single precision. It loads
 * parameters from `file`, the model's name in the sheet's folder. Transformers alone have heads. */
ATT_API att_status att_model_head_sheet(att_string *out, const att_model *model, const char *file,
                                        const att_head_selection *which, att_error *err);

/* Appends a worksheet that computes the whole model on a line, from the embeddings to the
 * probabilities of the next token or of the labels, and expects what the model itself computes. A
 * model of more than two layers, eight heads or a hidden size of 64 is worked out in part (its last
 * Transformer layer, one step of its RNN decoder), from what the model computed before; the sheet
 * says what was left out. It loads parameters from `file`, as above. */
typedef struct att_model_sheet_options {
    size_t size;
    const char *input;  /* the line; of a language model, the text; of a caption model NULL */
    const char *target; /* what the decoder is fed; NULL: the model's own output */
    int64_t step; /* the step of the decoder to work out, from 1; 0: the last of a Transformer;
                     all of a small RNN, the first of a larger one */
    const att_tensor *image; /* of a caption model: one image, as in att_model_caption() */
} att_model_sheet_options;
ATT_API att_status att_model_sheet(att_string *out, const att_model *model, const char *file,
                                   const att_model_sheet_options *options, att_error *err);

/* Layers with such attention: 0 where the model has none. A language model has decoder
 * self-attention, a classifier or tagger encoder self-attention alone. Heads of each layer. */
ATT_API int64_t att_model_attention_layers(const att_model *model, att_attention_block block);
ATT_API int64_t att_model_attention_heads(const att_model *model);
/* Whether a classifier reads a stop token behind the line, whose state it classifies. */
ATT_API bool att_model_has_stop_token(const att_model *model);

/* The attention map of one block and layer of a Transformer that reads lines: of one head, or of
 * all heads, each in a panel (`every_head`) or their mean. Rows and columns of the decoder are the
 * start token and the target (in a language model the text); each row is the position that predicts
 * the next token. The stop token of a classifier is the last row, "<end>". */
typedef struct att_attention_map att_attention_map;
ATT_API att_status att_model_attention_map(att_attention_map **out, const att_model *model,
                                           const att_head_selection *which, bool every_head,
                                           att_error *err);
/* All layers and heads of a block as an overview, a row of panels for each layer; which->layer and
 * which->head are not used. */
ATT_API att_status att_model_attention_overview(att_attention_map **out, const att_model *model,
                                                const att_head_selection *which, att_error *err);
ATT_API void att_attention_map_free(att_attention_map *map);
ATT_API const att_map *att_attention_map_get(const att_attention_map *map);

/* A copy of a Transformer of any type with these heads switched off: what each of them adds to the
 * output projection is zero, whatever it attends to. Everything that takes a model takes the copy,
 * so that its outputs, scores and maps can be compared with those of `model`. */
typedef struct att_attention_head {
    att_attention_block block;
    int64_t layer, head; /* from 1 */
} att_attention_head;
ATT_API att_status att_model_without_heads(att_model **out, const att_model *model,
                                           const att_attention_head *heads, size_t count,
                                           att_error *err);

/* The most probable choices at each step. A step is a token of the output of a seq2seq or caption
 * model, a token of the text of a language model, the prediction of a classifier, or a token and
 * its label by a tagger: there the alternatives are labels. */
typedef struct att_alternative_step {
    const char *token;         /* what was chosen here; NULL behind the text of a language model */
    double probability;        /* of that token; NaN where there is none */
    int64_t rank;              /* of that token among all, from 1; 0 where there is none */
    int64_t count;             /* alternatives, that token included if it is among them */
    const char *const *tokens; /* [count] the most probable first */
    const double *probabilities; /* [count] */
    const char *source; /* of a tagger: the token that the labels are for; NULL for others */
} att_alternative_step;
typedef struct att_alternatives_options {
    size_t size;
    int64_t count;                        /* alternatives for each step, up to 100; 0: 5 */
    const char *target;                   /* output of a seq2seq or caption model; NULL: its own */
    const att_decoding_options *decoding; /* how its own output is found; NULL: greedy. For a model
                                             of any type, the ensemble */
} att_alternatives_options;
typedef struct att_alternatives att_alternatives;
/* Probabilities are those of the model, whatever the search: of a classifier calibrated, of a
 * tagger with a CRF the marginals over all sequences of labels (forward-backward), so that a label
 * of the best sequence (Viterbi) may have another rank than 1. `line` is a source, a text or a
 * sentence. */
ATT_API att_status att_model_alternatives(att_alternatives **out, const att_model *model,
                                          const char *line, const att_alternatives_options *options,
                                          att_error *err);
/* The same for the caption of an image: features of one, as in att_model_caption(). */
ATT_API att_status att_model_caption_alternatives(att_alternatives **out, const att_model *model,
                                                  const att_tensor *image,
                                                  const att_alternatives_options *options,
                                                  att_error *err);
ATT_API void att_alternatives_free(att_alternatives *alternatives);
/* The steps; NULL past the last. Text, JSON and HTML. */
ATT_API const att_alternative_step *att_alternatives_get(const att_alternatives *alternatives,
                                                         size_t step);
ATT_API att_status att_alternatives_render(att_string *out, const att_alternatives *alternatives,
                                           const att_render_options *options, att_error *err);

/* A beam search as a tree: the hypotheses of each step, and the best candidates that it dropped. */
typedef enum att_beam_fate {
    ATT_BEAM_DROPPED,  /* a candidate that the beam had no room for */
    ATT_BEAM_KEPT,     /* continued at the next step, or dropped when the search ended */
    ATT_BEAM_FINISHED, /* an output */
    ATT_BEAM_BEST,     /* the best output, and the hypotheses that lead to it */
} att_beam_fate;
typedef struct att_beam_node {
    int64_t parent; /* its index, below this one's; -1: the start */
    int64_t step;   /* from 1 */
    const char *token;
    double log_prob, score;  /* of the token; the sum up to it */
    double normalized_score; /* of an output that the beam kept; NaN for others */
    att_beam_fate fate;
} att_beam_node;
typedef struct att_beam_tree att_beam_tree;
/* The search of att_model_generate() for one line, or of att_model_complete() for a prompt;
 * options->beam is at least 2. In a language model the nodes are the new tokens, of which there are
 * max_output_length (0: 10), and scores leave out the prompt. Classifiers and taggers have no beam
 * and are ATT_BAD_INPUT. */
ATT_API att_status att_model_beam_tree(att_beam_tree **out, const att_model *model,
                                       const char *line, const att_decoding_options *options,
                                       att_error *err);
/* The same for the search of att_model_caption() for one image. */
ATT_API att_status att_model_caption_beam_tree(att_beam_tree **out, const att_model *model,
                                               const att_tensor *image,
                                               const att_decoding_options *options, att_error *err);
ATT_API void att_beam_tree_free(att_beam_tree *tree);
/* The nodes, step by step, the best of a step first; NULL past the last. Text, JSON and SVG. */
ATT_API const att_beam_node *att_beam_tree_get(const att_beam_tree *tree, size_t index);
ATT_API att_status att_beam_tree_render(att_string *out, const att_beam_tree *tree,
                                        const att_render_options *options, att_error *err);

/* Appends the learning curves of a model's training record: the losses of every validation. Text
 * and SVG. ATT_BAD_INPUT where the file has no validations. */
ATT_API att_status att_model_curves_render(att_string *out, const att_model *model,
                                           const att_render_options *options, att_error *err);

/* Units of recurrent models (docs/cells.md): what single units do while a text is read. */
typedef enum att_unit_signal {
    ATT_SIGNAL_DEFAULT, /* the cell of an LSTM, the hidden state of others */
    ATT_SIGNAL_HIDDEN,  /* the hidden state */
    ATT_SIGNAL_CELL,    /* tanh of the cell of an LSTM */
} att_unit_signal;
typedef struct att_layer_unit {
    int64_t layer, unit; /* both from 1 */
} att_layer_unit;
/* The value of a unit after each token of a text, as highlighted text. */
typedef struct att_unit_activations att_unit_activations;
ATT_API att_status att_model_unit_activations(att_unit_activations **out, const att_model *model,
                                              const char *text, size_t length, att_layer_unit unit,
                                              att_unit_signal signal, att_error *err);
ATT_API void att_unit_activations_free(att_unit_activations *activations);
ATT_API const att_highlight *att_unit_activations_get(const att_unit_activations *activations);

/* Options of the search for units that track a property of the text. */
typedef struct att_cells_options {
    size_t size;
    att_unit_signal signal;
    double held_out; /* part of the text, its end, that the units found are measured on; 0: 0.25 */
    int64_t max_tokens; /* tokens to read at most; 0: a million */
    int64_t n_best;     /* units to report for each property; 0: 3 */
    const char *text;   /* the text, instead of a file, of `length` bytes; NULL: a file */
    size_t length;
    const char *const *patterns; /* [pattern_count] further properties, NAME=REGEX: true inside of a
                                    match in a line (docs/cells.md) */
    size_t pattern_count;        /* at most 16 */
} att_cells_options;
/* A unit and its agreement with a property: correlations between -1 and 1 on the part of the text
 * that was searched and on the held-out part; for a binary property also the area under the ROC
 * curve there (of the negated unit where the correlation is negative), NaN for others. */
typedef struct att_cell_match {
    att_layer_unit unit;
    double search_correlation, held_out_correlation;
    double auc;
} att_cell_match;
typedef struct att_cells_property {
    const char *property, *help;
    bool binary;                          /* true or false at each token; otherwise a number */
    double mean;                          /* over the part searched */
    int64_t match_count;                  /* 0 where the property never changes */
    const att_cell_match *const *matches; /* [match_count] the best first */
    att_highlight sample; /* of the held-out text, colored by the best unit, underlined where the
                             property is true */
} att_cells_property;
typedef struct att_cells_info {
    int64_t layers, hidden_size; /* units of each layer */
    att_unit_signal signal;      /* never ATT_SIGNAL_DEFAULT */
    int64_t search_tokens, held_out_tokens;
} att_cells_info;

/* Compares every unit of a recurrent model with every property, on the text of a file ("-":
 * standard input), or with `path` NULL on that of the options. */
typedef struct att_cells att_cells;
ATT_API att_status att_model_cells(att_cells **out, const att_model *model, const char *path,
                                   const att_cells_options *options, att_error *err);
ATT_API void att_cells_free(att_cells *cells);
ATT_API const att_cells_info *att_cells_info_get(const att_cells *cells);
/* The properties; NULL past the last. */
ATT_API size_t att_cells_count(const att_cells *cells);
ATT_API const att_cells_property *att_cells_get(const att_cells *cells, size_t index);

/* Appends the result: a table with the best unit of each property (text), all of it in one line
 * (JSON), or a page with highlighted samples (HTML). */
ATT_API att_status att_cells_render(att_string *out, const att_cells *cells,
                                    const att_render_options *options, att_error *err);

/* Gradient flow: the norm of the gradient of the last token's loss with respect to the state after
 * each token before it, for every layer of a recurrent model. */
typedef struct att_gradient_flow att_gradient_flow;
ATT_API att_status att_model_gradient_flow(att_gradient_flow **out, const att_model *model,
                                           const char *text, size_t length, att_error *err);
ATT_API void att_gradient_flow_free(att_gradient_flow *flow);
ATT_API int64_t att_gradient_flow_count(const att_gradient_flow *flow); /* tokens except the last */
ATT_API double att_gradient_flow_loss(const att_gradient_flow *flow);   /* of the last, in nats */

/* One curve per layer, from 0, named by its cell: "LSTM, layer 1". NULL past the last. */
ATT_API size_t att_gradient_flow_layers(const att_gradient_flow *flow);
ATT_API const att_curve *att_gradient_flow_get(const att_gradient_flow *flow, size_t layer);

/* ---------------------------------------------------------------- 13. Training */
/* Training over several processes. Each makes the same run and names, in att_training_options, the
 * transport by which it reaches the others. The `accumulate` micro-batches of a step are shared
 * out; the sum of their gradients is a fixed binary tree over the micro-batches, so the run ends in
 * the bits of one process whatever their number, and a checkpoint can be resumed with another.
 *
 * Each process owns a slice of the parameters. A step sends each gradient, in buckets, to the owner
 * of its slice as soon as the backward pass has made it final; the owner sums, updates its slice
 * with its part of the optimizer's moments, and sends the new parameters to all. Process 0 decides
 * what depends on a clock, and alone writes files. All calls that train are collective: every
 * process makes them in the same order. A failure of one fails the call in all where they can agree
 * on it: not where memory is out, or a message is missing, in the middle of a step.
 *
 * A transport moves bytes between two processes. All its functions get `context`, and are called by
 * one thread. They return ATT_OK, or fail as the library's calls do. */
typedef struct att_transport {
    size_t size;
    void *context;
    int rank, ranks;  /* this process, from 0, and how many there are */
    const char *host; /* for messages */
    double timeout;   /* seconds without any message after which a run gives up; 0: 600 */
    bool agreed;      /* set by the library: the last failure of a call was that of all processes.
                         Else this one failed alone, and should call `abort` */
    /* Start to send, or to receive, a message of `bytes` > 0 bytes; the library cuts what is longer
     * than 60 KiB into several messages. Messages of one process to another with the same `tag` (0
     * to 32767) arrive in order; a receive has the size of its message. The bytes must not change,
     * or be read, before the message is complete. *request identifies it until `wait` says that it
     * is. */
    att_status (*send)(void *context, int to, int tag, const void *data, size_t bytes,
                       int64_t *request, att_error *err);
    att_status (*receive)(void *context, int from, int tag, void *data, size_t bytes,
                          int64_t *request, att_error *err);
    /* Lets messages move for up to `seconds` (0: looks once). Requests that are complete become -1;
     * returns early once all of them are. */
    att_status (*wait)(void *context, int64_t *requests, size_t count, double seconds,
                       att_error *err);
    void (*abort)(void *context, int exit_code); /* ends all processes at once; does not return */
    void (*close)(void *context);
} att_transport;
/* What a plugin, a shared object, exports as `attend_transport`: fills *out, whose size is that of
 * the library's struct. `version` is that of the library. */
typedef att_status att_transport_plugin(att_transport *out, const char *version, att_error *err);

/* Opens the transport of the launcher that started this process: a plugin for Open MPI or MPICH,
 * `attend-mpi-openmpi.so` or `attend-mpi-mpich.so` beside the program or library, or in
 * LIBDIR/attend. The environment variable ATTEND_TRANSPORT names another plugin's file. *out is
 * NULL where no launcher started the process. A missing plugin is ATT_UNSUPPORTED. Call it once,
 * before anything else; close it when no run uses it any more. */
ATT_API att_status att_transport_open(att_transport **out, att_error *err);
ATT_API void att_transport_close(att_transport *transport);

/* Ends a part of the caller's own work that may have failed in some processes: `status` and *err of
 * the first that failed, in all; the message names its host unless it is process 0. All processes
 * make the call. A NULL transport: returns `status`. */
ATT_API att_status att_transport_agree(att_transport *transport, att_status status, att_error *err);

/* A training run: dataset, model, optimizer and how far the run is. */
typedef struct att_training att_training;
typedef struct att_training_options {
    size_t size;
    att_example_iterator *train; /* training examples; NULL: the files that the settings name */
    void *train_context;
    att_example_iterator *valid; /* validation examples; NULL: a part of the training examples, by
                                    the setting valid-fraction */
    void *valid_context;
    const att_tensor *features;       /* captions: [images,cells,channels] or
                                         [images,height,width,channels]; copied */
    const att_tensor *valid_features; /* the same for `valid`; NULL: `features` */
    att_transport *transport;         /* NULL: one process; must outlive the run */
} att_training_options;
/* Reads, generates or copies the dataset, builds the vocabularies and the model, and measures the
 * memory of the largest batch. The setting `resume` names the checkpoint of a run to resume: it
 * ends in the bits of an uninterrupted run; settings that were not given are set to its values, and
 * settings that cannot change in a run are refused. With the setting `time`, steps are timed, and
 * settings of the size and the length of the run are chosen, for the report too; with `init-from`,
 * the run starts from the weights of a model. The settings must outlive the run; it alone may
 * change them. */
ATT_API att_status att_training_new(att_training **out, att_settings *settings,
                                    const att_training_options *options, att_error *err);
ATT_API void att_training_free(att_training *training);

/* Appends lines on the data, the size of the model and the memory that the run needs. */
ATT_API att_status att_training_report(att_string *out, const att_training *training,
                                       att_error *err);
/* Metrics on the validation data. Losses are per target token, in nats. */
typedef struct att_validation {
    int64_t step, epoch; /* after this many steps, in this epoch (from 1) */
    double learning_rate;
    double train_loss;     /* since the validation before */
    double train_accuracy; /* likewise: target tokens that were the most probable */
    double loss;     /* of labels that the training data have; NaN where the data have no other */
    double accuracy; /* under teacher forcing: target tokens that were the most probable */
    double exact_match;      /* lines whose output equals the reference in every token */
    double token_error_rate; /* insertions, deletions and substitutions per reference token */
    double bleu; /* of 100 (captions: BLEU-4); NaN unless the setting best-metric asks for it */
    double bits_per_character; /* of a language model; NaN for others */
    double perplexity;         /* exp(loss) */
    double truncated_outputs;  /* lines whose output was cut at the maximum output length; NaN
                                  where there are no outputs */
    double f1;                 /* of the spans of a tagger; NaN where there are none */
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
    double tokens_per_second;          /* target tokens, or labels, in this run */
    double seconds, seconds_left;      /* of this run; NaN where not known yet */
    const att_validation *last, *best; /* NULL before the first */
    bool improved;                     /* the last is the best */
    int processes;                     /* that share the run, */
    const char *host;                  /* and where this one runs; NULL where it is alone */
    double sent_bytes, wait_seconds;   /* by this process to others, and for them */
    double overlapped_bytes;           /* of sent_bytes, those sent during a backward pass */
} att_training_progress;
typedef bool att_training_callback(void *context, const att_training_progress *progress);

/* Trains until the run is finished, or `on_event` (may be NULL), which is called after each event,
 * returns false (then the call returns ATT_OK). Saves a checkpoint when it returns, and the model
 * after each best validation and at the end. If the thread's att_callback cancels, the checkpoint
 * is saved and ATT_CANCELLED returned; calling again continues. If the loss or the gradient is not
 * finite, the run fails at that step and the files written before stay. The output is locked during
 * the call: a second run on the same `out`, in any process, is ATT_BAD_INPUT. */
ATT_API att_status att_training_run(att_training *training, att_training_callback *on_event,
                                    void *context, att_error *err);

/* Makes up to `steps` optimizer steps, with the validations that fall due, and returns; nothing is
 * saved. Any division into calls gives the same bits as att_training_run(). */
ATT_API att_status att_training_advance(att_training *training, int64_t steps,
                                        att_training_callback *on_event, void *context,
                                        att_error *err);
/* Saves the checkpoint and the best model so far. att_training_free() unlocks the output. */
ATT_API att_status att_training_save(att_training *training, att_error *err);
/* A new model with the best parameters so far (the current ones before the first validation). */
ATT_API att_status att_training_model(att_model **out, att_training *training, att_error *err);

/* The type of the model; steps made so far, in this run and before; and whether the run is over
 * (att_training_run() would have nothing left to do). */
ATT_API att_model_type att_training_model_type(const att_training *training);
ATT_API int64_t att_training_steps(const att_training *training);
ATT_API bool att_training_finished(const att_training *training);
/* Appends a line on what more training would likely bring, by the validations so far. */
ATT_API att_status att_training_outlook(att_string *out, const att_training *training,
                                        att_error *err);
/* The validations so far, from 0 (NULL past the last), and the best (NULL before the first), valid
 * until the next call that trains. */
ATT_API size_t att_training_validation_count(const att_training *training);
ATT_API const att_validation *att_training_validation(const att_training *training, size_t index);
ATT_API const att_validation *att_training_best(const att_training *training);
/* The paths of the model and the checkpoint. */
ATT_API const char *att_training_model_path(const att_training *training);
ATT_API const char *att_training_checkpoint_path(const att_training *training);

/* Data larger than memory. A token file has a dataset encoded, with its vocabularies; the setting
 * `train` of a run may name it instead of text, and the run has the same bits. Only a window of it
 * is in memory (docs/training.md). */
typedef struct att_corpus_input {
    const char *path;   /* text, or pairs in the format of the setting `train`; gzip and zstd files
                           are unpacked; "-": standard input; a pipe goes to a temporary file */
    const char *target; /* the lines parallel to those of `path`; NULL: one file */
    double weight;      /* how often an epoch reads each example; 0: once. A part is another one in
                           each epoch */
} att_corpus_input;
typedef struct att_prepare_options {
    size_t size;
    const att_corpus_input *inputs; /* corpora to train on; NULL: those that the settings name */
    size_t input_count;
    int64_t count_limit; /* distinct words (pieces, for BPE) of a vocabulary that are counted at
                            once: beyond it the rarest are dropped; 0: 1 million */
} att_prepare_options;
/* Makes the token file `path` by the settings of the data and the tokens (init-from: with the
 * vocabularies of a model), for the tasks pairs, translate, classify, tag and lm. Appends a report
 * on the data to *report (may be NULL): also what was dropped, and by how much counts may be too
 * low. */
ATT_API att_status att_prepare(const char *path, att_settings *settings,
                               const att_prepare_options *options, att_string *report,
                               att_error *err);

/* The data of a task that generates it (reverse, copy, sort, shapes), for training or validation:
 * appends source<TAB>target lines; for shapes image<TAB>caption lines, and *images (may be NULL)
 * becomes a new float [images,rows,columns,3] of red, green and blue from 0 to 1. */
ATT_API att_status att_synthetic_data(att_string *lines, att_tensor *images,
                                      const att_settings *settings, bool valid, att_error *err);

/* A search for settings around the given ones, by successive halving: as many tries as the setting
 * `try` says train for a part of the steps, the better half of them goes on for twice as many, and
 * so on until the best alone has trained to its end. The first try has the given settings; those
 * that were not given vary in the others: sizes, dropout, learning rate, batch. */
typedef struct att_try {
    const char *options; /* how it differs from the first: "--hidden-size 128 --dropout 0.3" */
    int64_t steps;       /* trained */
    double seconds;
    const att_validation *best; /* NULL: there was no time for it, or its loss was not finite */
} att_try;
typedef struct att_search att_search;
typedef struct att_search_progress {
    int64_t index, count;  /* the try that trains, from 0, and the tries of this round */
    int64_t round, rounds; /* from 1 */
    const att_training_progress *training;
    const char *report; /* on the data, as in att_training_report() */
} att_search_progress;
typedef bool att_search_callback(void *context, const att_search_progress *progress);

/* Searches and trains. The best model is written to the setting `out`, as a training run does; the
 * files of the tries are removed. A callback that returns false, or a cancelled att_callback, ends
 * the search with ATT_CANCELLED: the checkpoints of the tries stay, each a run that can be resumed,
 * but the search cannot. */
ATT_API att_status att_search_run(att_search **out, const att_settings *settings,
                                  att_search_callback *on_event, void *context, att_error *err);
ATT_API void att_search_free(att_search *search);
/* The tries, the best first; NULL past the last. */
ATT_API const att_try *att_search_get(const att_search *search, size_t index);
/* The arguments of `attend train` that train the best again: "pairs --train t.tsv …"; its path. */
ATT_API const char *att_search_command(const att_search *search);
ATT_API const char *att_search_model_path(const att_search *search);

/* ---------------------------------------------------------------- 14. Importing */
typedef struct att_import_format {
    const char *name;     /* "ctranslate2" */
    const char *file;     /* the file that it is read from: "model.bin" */
    const char *help;     /* what it becomes, in one line */
    bool has_token_kinds; /* the option `tokens` applies */
    bool needs_tokenizer; /* its tokenizer is another file */
} att_import_format;

/* Format `index`, from 0; NULL past the last. */
ATT_API const att_import_format *att_import_format_get(size_t index);
typedef struct att_import_options {
    size_t size;
    const char *tokens;    /* "space", "char" or "codepoint"; NULL: as the format has it */
    const char *tokenizer; /* the file of the tokenizer; NULL: looked for beside the weights */
    /* Int8 weights of the file as they are (ATT_PRECISION_STORED) or as float32. Int8 is refused:
     * att_model_quantize() makes int8 of float32. */
    att_precision precision;
} att_import_options;
/* Reads weights of another program: *out has the contents of a model file, to be saved with
 * att_safetensors_save(). What is not supported is ATT_BAD_INPUT and named in *err. */
ATT_API att_status att_import(att_bundle **out, const char *format, const char *path,
                              const att_import_options *options, att_error *err);

/* ---------------------------------------------------------------- 15. Images */
/* Pixels of 8-bit red, green and blue, [height,width,3], row by row from the top. */
typedef struct att_image {
    int64_t width, height;
    uint8_t *pixels;
} att_image;

/* Reads a JPEG or PNG file, or the bytes of one; its first bytes decide which. Gray, palettes, 16
 * bits, CMYK and interlacing become plain pixels, transparency is put on white, and the image is
 * rotated as its EXIF orientation says. At most 65535 pixels on a side and 100 million in all. */
ATT_API att_status att_image_load(att_image *out, const char *path, att_error *err);
ATT_API att_status att_image_read(att_image *out, const void *bytes, size_t size, const char *name,
                                  att_error *err);
ATT_API void att_image_free(att_image *image);
/* The largest center square of an image, scaled to `pixels` on a side: a new image. */
ATT_API att_status att_image_center_crop(att_image *out, const att_image *in, int64_t pixels,
                                         att_error *err);
/* Appends the bytes of a PNG file of the image. */
ATT_API att_status att_image_png(att_string *out, const att_image *image, att_error *err);

/* An image encoder: SqueezeNet v1.0, imported from its published weights. From the center square of
 * an image it predicts its class, or computes features for caption models: a vector per cell. */
typedef struct att_image_encoder att_image_encoder;
ATT_API att_status att_image_encoder_load(att_image_encoder **out, const char *path,
                                          att_error *err);
ATT_API att_status att_image_encoder_read(att_image_encoder **out, const void *bytes, size_t size,
                                          const char *name, att_error *err);
ATT_API void att_image_encoder_free(att_image_encoder *encoder);
ATT_API att_status att_image_encoder_save(const att_image_encoder *encoder, const char *path,
                                          att_error *err);
ATT_API att_status att_image_encoder_write(att_string *out, const att_image_encoder *encoder,
                                           att_error *err);
/* Its class labels (NULL past the last), and the probability of each, [count], for one image. */
ATT_API size_t att_image_encoder_label_count(const att_image_encoder *encoder);
ATT_API const char *att_image_encoder_label(const att_image_encoder *encoder, size_t index);
ATT_API att_status att_image_encoder_classify(float *out, const att_image_encoder *encoder,
                                              const att_image *image, att_error *err);
/* The features of one image, float [rows,columns,channels]: a new tensor. */
ATT_API int64_t att_image_encoder_channels(const att_image_encoder *encoder);
ATT_API att_status att_image_encoder_features(att_tensor *out, const att_image_encoder *encoder,
                                              const att_image *image, att_error *err);

/* A new image encoder whose features go through a linear projection, fitted so that they match
 * features that another program computed from the same network: `features` [N,C] are those of
 * `encoder` for N cells, `targets` [N,D] the wanted ones. Ridge regression, with a penalty of
 * `ridge` times the mean variance of the features. *residual receives the deviation that is left,
 * as a fraction of that of the targets. `encoder` may not have a projection already. */
ATT_API att_status att_image_encoder_fit(att_image_encoder **out, const att_image_encoder *encoder,
                                         const att_tensor *features, const att_tensor *targets,
                                         double ridge, double *residual, att_error *err);

#ifdef __cplusplus
}
#endif

#endif
