/* attend.attention() and attend.attention_backward(): arguments to att_attention_options and
 * att_attention_inputs, which docs/attention.md describes. */
#include "core.h"

#include <string.h>

/* Arguments by index; the tensors first, as they are members of `problem`. */
enum {
    QUERY,
    KEY,
    VALUE,
    OUTPUT_GRAD,
    SCORE_W,
    SCORE_U,
    SCORE_B,
    SCORE_V,
    BIAS,
    ALIBI,
    RELATIVE,
    MASK,
    OUT,
    OUTPUT,
    LOG_SUM_EXP,
    TENSORS,
    SCORE = TENSORS,
    NORMALIZER,
    SCALE,
    SOFT_CAP,
    CAUSAL,
    OFFSET,
    WINDOW,
    QUERY_LENGTHS,
    KEY_LENGTHS,
    QUERY_OFFSETS,
    KEY_OFFSETS,
    BLOCKS,
    BLOCK_SIZE,
    DROPOUT,
    DROPOUT_SEED,
    DROPOUT_STEP,
    DROPOUT_LAYER,
    LAYOUT,
    ROWS,
    RETURN_WEIGHTS,
    RETURNS,
    WANTED,
    ARGUMENTS,
};
#define COMMON_NAMES "score_w", "score_u", "score_b", "score_v", "bias", "alibi", "relative", "mask"
#define OPTION_NAMES                                                                               \
    "score", "normalizer", "scale", "soft_cap", "causal", "offset", "window", "query_lengths",     \
        "key_lengths", "query_offsets", "key_offsets", "blocks", "block_size", "dropout",          \
        "dropout_seed", "dropout_step", "dropout_layer", "layout"
/* A name that no caller can type stands for an argument that the function does not have. */
#define NO_NAME " "
static const char *const forward_names[] = { "query",      "key",  "value",          NO_NAME,
                                             COMMON_NAMES, "out",  NO_NAME,          NO_NAME,
                                             OPTION_NAMES, "rows", "return_weights", "returns",
                                             NO_NAME,      NULL };
static const char *const backward_names[] = { "query",      "key",   "value",  "output_grad",
                                              COMMON_NAMES, NO_NAME, "output", "log_sum_exp",
                                              OPTION_NAMES, NO_NAME, NO_NAME,  NO_NAME,
                                              "wanted",     NULL };
_Static_assert(sizeof forward_names / sizeof *forward_names == ARGUMENTS + 1, "one name each");
_Static_assert(sizeof backward_names / sizeof *backward_names == ARGUMENTS + 1, "one name each");

enum { LISTS = 5 }; /* query_lengths, key_lengths, offsets, query_offsets, key_offsets */

typedef struct problem {
    PyObject *given[ARGUMENTS];
    core_input in[TENSORS];
    att_tensor tensor[TENSORS]; /* the inputs in the shapes of attend.h */
    bool used[TENSORS];
    att_attention_options options;
    att_attention_inputs inputs;
    int64_t *lists[LISTS];
    att_block *blocks;
    int rank;         /* of query, key, value and output: 2, 3 or 4 */
    bool heads_first; /* layout "bhtd" */
    int64_t first_row, row_count;
    att_dtype result; /* float64 if any input is */
} problem;

/* ---- shapes: [T,K], [B,T,K], [B,T,H,K] or [B,H,T,K] as [B,T,H,K], and others */

/* Inserts a dimension of size 1. */
static void insert_dim(att_tensor *tensor, int dim)
{
    for (int i = tensor->rank; i > dim; i--) {
        tensor->shape[i] = tensor->shape[i - 1];
        tensor->stride[i] = tensor->stride[i - 1];
    }
    tensor->shape[dim] = 1;
    tensor->stride[dim] = 0;
    tensor->rank++;
}

static void swap_heads(att_tensor *tensor)
{
    int64_t shape = tensor->shape[1], stride = tensor->stride[1];
    tensor->shape[1] = tensor->shape[2];
    tensor->stride[1] = tensor->stride[2];
    tensor->shape[2] = shape;
    tensor->stride[2] = stride;
}

/* A sequence of rows as the header has it. */
static void lift_sequence(att_tensor *tensor, bool heads_first)
{
    if (tensor->rank == 4 && heads_first)
        swap_heads(tensor);
    if (tensor->rank == 2)
        insert_dim(tensor, 0);
    if (tensor->rank == 3)
        insert_dim(tensor, 2);
}

/* Leading dimensions of size 1 up to `rank`. */
static void lift_leading(att_tensor *tensor, int rank)
{
    while (tensor->rank < rank)
        insert_dim(tensor, 0);
}

/* Ranks of the arguments: at least, and lifted to. 0: a sequence of rows. */
static const struct tensor_shape {
    int min_rank, rank;
    unsigned kinds;
} shapes[TENSORS] = {
    [QUERY] = { 0, 4, CORE_FLOATS | CORE_HALVES },
    [KEY] = { 0, 4, CORE_FLOATS | CORE_HALVES },
    [VALUE] = { 0, 4, CORE_FLOATS | CORE_HALVES },
    [OUTPUT_GRAD] = { 0, 4, CORE_FLOATS },
    [SCORE_W] = { 2, 3, CORE_FLOATS },
    [SCORE_U] = { 2, 3, CORE_FLOATS },
    [SCORE_B] = { 1, 2, CORE_FLOATS },
    [SCORE_V] = { 1, 2, CORE_FLOATS },
    [BIAS] = { 1, 4, CORE_FLOATS | CORE_HALVES },
    [ALIBI] = { 1, 1, CORE_FLOATS | CORE_HALVES },
    [RELATIVE] = { 1, 2, CORE_FLOATS | CORE_HALVES },
    [MASK] = { 1, 4, CORE_BYTES },
    [OUT] = { 0, 4, CORE_FLOATS | CORE_WRITABLE },
    [OUTPUT] = { 0, 4, CORE_FLOATS },
    [LOG_SUM_EXP] = { 1, 3, CORE_FLOATS },
};

static bool get_tensor(problem *p, int which, const char *name)
{
    const struct tensor_shape *shape = &shapes[which];
    if (!p->given[which])
        return true;
    if (!core_input_get(&p->in[which], p->given[which], name, shape->kinds))
        return false;
    p->used[which] = true;
    att_tensor *tensor = &p->tensor[which];
    *tensor = p->in[which].tensor;
    if (which == QUERY)
        p->rank = tensor->rank;
    int low = shape->min_rank ? shape->min_rank : 2, high = shape->rank;
    if (tensor->rank < low || tensor->rank > high) {
        core_bad_input(name, "expected %d to %d dimensions, found %d", low, high, tensor->rank);
        return false;
    }
    if (shape->min_rank == 0 && tensor->rank != p->rank) {
        core_bad_input(name, "expected %d dimensions, as query has, found %d", p->rank,
                       tensor->rank);
        return false;
    }
    if (shape->min_rank == 0)
        lift_sequence(tensor, p->heads_first);
    else if (which == LOG_SUM_EXP && tensor->rank == 2)
        insert_dim(tensor, 1); /* [B,T]: one head */
    else
        lift_leading(tensor, shape->rank);
    if (tensor->dtype == ATT_F64 && which != MASK && which != OUT)
        p->result = ATT_F64;
    return true;
}

static bool get_tensors(problem *p, const char *const *names)
{
    static const char *const layouts[] = { "bthd", "bhtd", NULL };
    p->result = ATT_F32;
    if (p->given[LAYOUT]) {
        int layout = core_choice(p->given[LAYOUT], "layout", layouts);
        if (layout < 0)
            return false;
        p->heads_first = layout == 1;
    }
    for (int i = 0; i < TENSORS; i++)
        if (!get_tensor(p, i, names[i]))
            return false;
    const att_tensor **inputs[] = {
        [QUERY] = &p->inputs.query,       [KEY] = &p->inputs.key,
        [VALUE] = &p->inputs.value,       [OUTPUT_GRAD] = NULL,
        [SCORE_W] = &p->inputs.score_w,   [SCORE_U] = &p->inputs.score_u,
        [SCORE_B] = &p->inputs.score_b,   [SCORE_V] = &p->inputs.score_v,
        [BIAS] = &p->inputs.bias,         [ALIBI] = &p->inputs.alibi,
        [RELATIVE] = &p->inputs.relative,
    };
    for (int i = 0; i <= RELATIVE; i++)
        if (inputs[i])
            *inputs[i] = p->used[i] ? &p->tensor[i] : NULL;
    return true;
}

/* ---- options */

/* Words of an enum of attend.h, by its own function. */
static int enum_word(PyObject *word, const char *name, const char *(*name_of)(int))
{
    const char *words[16] = { NULL };
    for (int i = 0; i < 15 && name_of(i); i++)
        words[i] = name_of(i);
    return core_choice(word, name, words);
}

static const char *score_name(int i)
{
    return att_score_name((att_score)i);
}

static const char *normalizer_name(int i)
{
    return att_normalizer_name((att_normalizer)i);
}

static bool get_words(problem *p)
{
    int score = ATT_SCORE_SCALED, normalizer = ATT_NORMALIZE_SOFTMAX;
    if (p->given[SCORE])
        score = enum_word(p->given[SCORE], "score", score_name);
    if (score >= 0 && p->given[NORMALIZER])
        normalizer = enum_word(p->given[NORMALIZER], "normalizer", normalizer_name);
    if (score < 0 || normalizer < 0)
        return false;
    p->options.score = (att_score)score;
    p->options.normalizer = (att_normalizer)normalizer;
    return true;
}

/* window=n is (n, n); None in a pair is unlimited. */
static bool get_window(problem *p)
{
    PyObject *window = p->given[WINDOW];
    if (!window)
        return true;
    p->options.window = true;
    int64_t *ends[2] = { &p->options.window_left, &p->options.window_right };
    if (!PyTuple_Check(window) && !PyList_Check(window)) {
        if (!core_int64(ends[0], window, "window"))
            return false;
        *ends[1] = *ends[0];
        return true;
    }
    if (PySequence_Size(window) != 2) {
        core_bad_input("window", "expected an integer or a pair (left, right)");
        return false;
    }
    for (int i = 0; i < 2; i++) {
        PyObject *end = PySequence_GetItem(window, i);
        bool got = end && (end == Py_None || core_int64(ends[i], end, "window"));
        if (end == Py_None)
            *ends[i] = -1;
        Py_XDECREF(end);
        if (!got)
            return false;
    }
    return true;
}

/* A list whose length must be `expected`. */
static bool get_list(problem *p, int slot, int which, const char *name, int64_t expected,
                     const int64_t **out)
{
    if (!p->given[which])
        return true;
    size_t count;
    p->lists[slot] = core_integers(p->given[which], name, &count);
    if (!p->lists[slot])
        return false;
    if (expected >= 0 && (int64_t)count != expected) {
        core_bad_input(name, "expected %lld integers, found %zu", (long long)expected, count);
        return false;
    }
    *out = p->lists[slot];
    if (which == QUERY_OFFSETS)
        p->options.sequences = (int64_t)count - 1;
    return true;
}

/* Packed sequences: query_offsets and key_offsets, each with one more entry than sequences. */
static bool get_lists(problem *p)
{
    att_attention_options *options = &p->options;
    int64_t batch = p->tensor[QUERY].shape[0];
    if (!p->given[QUERY_OFFSETS] != !p->given[KEY_OFFSETS]) {
        core_bad_input("query_offsets", "expected query_offsets and key_offsets together");
        return false;
    }
    if (!get_list(p, 0, QUERY_LENGTHS, "query_lengths", batch, &options->query_lengths) ||
        !get_list(p, 1, KEY_LENGTHS, "key_lengths", batch, &options->key_lengths) ||
        !get_list(p, 3, QUERY_OFFSETS, "query_offsets", -1, &options->query_offsets))
        return false;
    if (options->query_offsets && options->sequences < 1) {
        core_bad_input("query_offsets", "expected at least 2 integers");
        return false;
    }
    if (!get_list(p, 4, KEY_OFFSETS, "key_offsets", options->sequences + 1, &options->key_offsets))
        return false;
    PyObject *offset = p->given[OFFSET];
    if (!offset)
        return true;
    if (PyIndex_Check(offset) && !PySequence_Check(offset))
        return core_int64(&options->offset, offset, "offset");
    return get_list(p, 2, OFFSET, "offset", options->sequences ? options->sequences : batch,
                    &options->offsets);
}

/* blocks=[(query block, key block), …], block_size=(queries, keys). */
static bool get_blocks(problem *p)
{
    if (!p->given[BLOCKS] && !p->given[BLOCK_SIZE])
        return true;
    if (!p->given[BLOCKS] || !p->given[BLOCK_SIZE]) {
        core_bad_input("blocks", "expected blocks and block_size together");
        return false;
    }
    size_t count;
    int64_t *size = core_integers(p->given[BLOCK_SIZE], "block_size", &count);
    if (size && count == 2) {
        p->options.block_queries = size[0];
        p->options.block_keys = size[1];
    } else if (size) {
        core_bad_input("block_size", "expected (queries, keys), found %zu integers", count);
    }
    PyMem_Free(size);
    PyObject *items = PyErr_Occurred() ? NULL : PySequence_Tuple(p->given[BLOCKS]);
    Py_ssize_t blocks = items ? PyTuple_Size(items) : 0;
    p->blocks = items ? PyMem_Malloc((size_t)(blocks + 1) * sizeof *p->blocks) : NULL;
    for (Py_ssize_t i = 0; p->blocks && i < blocks; i++) {
        int64_t *pair = core_integers(PyTuple_GetItem(items, i), "blocks", &count);
        if (pair && count == 2)
            p->blocks[i] = (att_block){ .query = pair[0], .key = pair[1] };
        else if (pair)
            core_bad_input("blocks", "expected pairs, found %zu integers", count);
        PyMem_Free(pair);
        if (PyErr_Occurred())
            break;
    }
    Py_XDECREF(items);
    p->options.blocks = p->blocks;
    p->options.block_count = blocks;
    return p->blocks && !PyErr_Occurred();
}

static bool get_mask(problem *p)
{
    if (!p->used[MASK])
        return true;
    static const char letters[] = "BHTS";
    const att_tensor *mask = &p->tensor[MASK];
    int64_t full[4] = { p->tensor[QUERY].shape[0], p->tensor[QUERY].shape[2],
                        p->tensor[QUERY].shape[1], p->tensor[KEY].shape[1] };
    p->options.mask = mask->data;
    for (int i = 0; i < 4; i++) {
        if (mask->shape[i] != full[i] && mask->shape[i] != 1) {
            core_bad_input("mask",
                           "expected a shape that broadcasts to [B,H,T,S], found %lld where "
                           "%c is %lld",
                           (long long)mask->shape[i], letters[i], (long long)full[i]);
            return false;
        }
        p->options.mask_stride[i] = mask->shape[i] == 1 ? 0 : mask->stride[i];
    }
    return true;
}

static bool get_numbers(problem *p)
{
    att_attention_options *options = &p->options;
    PyObject **given = p->given;
    int64_t seeds[3] = { 0 };
    bool got = (!given[SCALE] || core_double(&options->scale, given[SCALE], "scale")) &&
               (!given[SOFT_CAP] || core_double(&options->soft_cap, given[SOFT_CAP], "soft_cap")) &&
               (!given[CAUSAL] || core_bool(&options->causal, given[CAUSAL], "causal")) &&
               (!given[DROPOUT] || core_double(&options->dropout, given[DROPOUT], "dropout"));
    for (int i = 0; got && i < 3; i++)
        if (given[DROPOUT_SEED + i])
            got = core_int64(&seeds[i], given[DROPOUT_SEED + i], forward_names[DROPOUT_SEED + i]);
    options->dropout_seed = (uint64_t)seeds[0];
    options->dropout_step = (uint64_t)seeds[1];
    options->dropout_layer = (uint64_t)seeds[2];
    return got;
}

/* ---- rows: only some of the queries, which keep their positions */

static bool get_rows(problem *p)
{
    att_tensor *query = &p->tensor[QUERY];
    p->row_count = query->shape[1];
    if (!p->given[ROWS])
        return true;
    size_t count;
    int64_t *rows = core_integers(p->given[ROWS], "rows", &count);
    if (!rows)
        return false;
    int64_t first = rows[0], last = count == 2 ? rows[1] : 0, all = query->shape[1];
    PyMem_Free(rows);
    if (count != 2 || first < 0 || last < first || last > all) {
        core_bad_input("rows", "expected (first, last + 1) between 0 and %lld", (long long)all);
        return false;
    }
    if (p->options.dropout > 0 || p->options.blocks || p->options.sequences) {
        core_bad_input("rows", "expected no dropout, blocks or packed sequences with rows");
        return false;
    }
    p->first_row = first;
    p->row_count = last - first;
    return true;
}

static void skip_rows(att_tensor *tensor, int dim, int64_t first, int64_t count)
{
    size_t size = tensor->dtype == ATT_F64 ? 8 : tensor->dtype == ATT_F32 ? 4 : 2;
    if (count > 0)
        tensor->data = (char *)tensor->data + first * tensor->stride[dim] * (int64_t)size;
    tensor->shape[dim] = count;
}

static void apply_rows(problem *p)
{
    if (!p->given[ROWS])
        return;
    att_attention_options *options = &p->options;
    int64_t first = p->first_row, count = p->row_count, batch = p->tensor[QUERY].shape[0];
    skip_rows(&p->tensor[QUERY], 1, first, count);
    if (p->used[BIAS] && p->tensor[BIAS].shape[2] != 1)
        skip_rows(&p->tensor[BIAS], 2, first, count);
    if (options->mask)
        options->mask += first * options->mask_stride[2];
    if (!options->offsets)
        options->offset += first;
    for (int64_t b = 0; b < batch; b++) {
        if (p->lists[2])
            p->lists[2][b] += first;
        if (p->lists[0]) {
            int64_t left = p->lists[0][b] - first;
            p->lists[0][b] = left < 0 ? 0 : left > count ? count : left;
        }
    }
}

/* Fills the problem from the arguments; problem_free() in any case. */
static bool problem_get(problem *p, const char *const *names)
{
    p->options = (att_attention_options)ATT_INIT(att_attention_options);
    if (!(get_tensors(p, names) && get_words(p) && get_numbers(p) && get_window(p) &&
          get_lists(p) && get_blocks(p) && get_mask(p) && get_rows(p)))
        return false;
    apply_rows(p);
    return true;
}

static void problem_free(problem *p)
{
    for (int i = 0; i < TENSORS; i++)
        if (p->used[i])
            core_input_release(&p->in[i]);
    for (int i = 0; i < LISTS; i++)
        PyMem_Free(p->lists[i]);
    PyMem_Free(p->blocks);
}

/* ---- forward */

enum { RESULT_SCORES, RESULT_WEIGHTS, RESULT_LSE, RESULT_TOTALS, RESULT_ENTROPY, RESULTS };
static const char *const result_names[] = { "scores",     "weights", "log_sum_exp",
                                            "key_totals", "entropy", NULL };

/* The results asked for, in order; -1 with an exception. */
static int wanted_results(const problem *p, int *wanted)
{
    bool weights = false;
    if (p->given[RETURN_WEIGHTS] &&
        !core_bool(&weights, p->given[RETURN_WEIGHTS], "return_weights"))
        return -1;
    int count = 0;
    if (weights)
        wanted[count++] = RESULT_WEIGHTS;
    if (!p->given[RETURNS])
        return count;
    core_lines words;
    if (!core_lines_get(&words, p->given[RETURNS], "returns"))
        return -1;
    for (size_t i = 0; i < words.count && count >= 0; i++) {
        int which =
            core_choice(PyTuple_GetItem(words.owner, (Py_ssize_t)i), "returns", result_names);
        bool twice = false;
        for (int j = 0; j < count; j++)
            twice = twice || wanted[j] == which;
        if (twice)
            core_bad_input("returns", "expected each result once, found \"%s\" twice",
                           result_names[which]);
        count = which < 0 || twice ? -1 : count;
        if (count >= 0)
            wanted[count++] = which;
    }
    core_lines_free(&words);
    return count;
}

/* Removes the dimensions that the caller's arrays do not have: heads at rank 3, batch at rank 2. */
static PyObject *result_zeros(const problem *p, const int64_t *shape, int rank)
{
    int64_t kept[ATT_MAX_RANK];
    int count = 0;
    for (int i = 0; i < rank; i++)
        if (!(i == 0 && p->rank == 2) && !(i == 1 && p->rank < 4))
            kept[count++] = shape[i];
    return core_array_zeros(p->result, count, kept);
}

/* A result [B,H,T|S,(S)] in the caller's rank; *view is the full one. */
static PyObject *new_result(const problem *p, int which, att_tensor *view)
{
    int64_t B = p->tensor[QUERY].shape[0], H = p->tensor[QUERY].shape[2];
    int64_t T = p->row_count, S = p->tensor[KEY].shape[1];
    bool square = which == RESULT_SCORES || which == RESULT_WEIGHTS;
    int64_t shape[4] = { B, H, which == RESULT_TOTALS ? S : T, S };
    PyObject *array = result_zeros(p, shape, square ? 4 : 3);
    if (array)
        *view = att_tensor_view(core_array_tensor(array)->data, p->result, square ? 4 : 3, shape);
    return array;
}

/* A row-major sequence of rows of the caller's rank and layout; *view is [B,T,H,M]. */
static PyObject *new_sequence(const problem *p, int64_t rows, int64_t heads, int64_t width,
                              att_tensor *view)
{
    int64_t B = p->tensor[QUERY].shape[0];
    int64_t four[4] = { B, p->heads_first ? heads : rows, p->heads_first ? rows : heads, width };
    int64_t three[3] = { B, rows, width }, two[2] = { rows, width };
    PyObject *array = core_array_zeros(p->result, p->rank,
                                       p->rank == 4   ? four
                                       : p->rank == 3 ? three
                                                      : two);
    if (array) {
        *view = *core_array_tensor(array);
        view->owned = NULL;
        lift_sequence(view, p->heads_first);
    }
    return array;
}

/* The bytes from the first to the last element; nothing where there is no element. */
static void extent(const att_tensor *tensor, uintptr_t *low, uintptr_t *high)
{
    int64_t first = 0, last = 1, size = tensor->dtype == ATT_F64 ? 8 : 4;
    for (int i = 0; i < tensor->rank; i++) {
        int64_t reach = (tensor->shape[i] - 1) * tensor->stride[i];
        *(reach < 0 ? &first : &last) += reach;
    }
    bool empty = att_tensor_count(tensor) == 0;
    *low = (uintptr_t)tensor->data + (uintptr_t)(empty ? 0 : first * size);
    *high = (uintptr_t)tensor->data + (uintptr_t)(empty ? 0 : last * size);
}

/* attend.h leaves it to the caller that outputs overlap no input; here nobody can know. */
static bool out_is_apart(const problem *p)
{
    uintptr_t low, high, other_low, other_high;
    extent(&p->tensor[OUT], &low, &high);
    for (int i = 0; i < OUT; i++) {
        if (!p->used[i])
            continue;
        extent(&p->tensor[i], &other_low, &other_high);
        if (low < other_high && other_low < high) {
            core_bad_input("out", "expected memory of its own, found an overlap with %s",
                           forward_names[i]);
            return false;
        }
    }
    return true;
}

static bool run_forward(problem *p, const att_attention_outputs *out)
{
    core_call call;
    att_error err = { 0 };
    core_begin(&call);
    att_status status = att_attention_forward(&p->options, &p->inputs, out, NULL, &err);
    return core_end(&call, status, &err);
}

/* The output, or a tuple of it and what `returns` names. */
static PyObject *forward(problem *p)
{
    int wanted[RESULTS + 1], count = wanted_results(p, wanted);
    if (count < 0)
        return NULL;
    att_tensor views[RESULTS], output;
    att_attention_outputs out = { .output = &output };
    att_tensor **members[] = { &out.scores, &out.weights, &out.log_sum_exp, &out.key_totals,
                               &out.entropy };
    PyObject *first = p->given[OUT];
    if (first) {
        if (!out_is_apart(p))
            return NULL;
        Py_INCREF(first);
        output = p->tensor[OUT];
    } else {
        first = new_sequence(p, p->row_count, p->tensor[QUERY].shape[2], p->tensor[VALUE].shape[3],
                             &output);
    }
    PyObject *tuple = first && count > 0 ? PyTuple_New(count + 1) : NULL;
    bool ready = first && (count == 0 || tuple);
    for (int i = 0; ready && i < count; i++) {
        PyObject *array = new_result(p, wanted[i], &views[wanted[i]]);
        ready = array && PyTuple_SetItem(tuple, i + 1, array) == 0;
        *members[wanted[i]] = &views[wanted[i]];
    }
    if (!ready || !run_forward(p, &out)) {
        Py_XDECREF(first);
        Py_XDECREF(tuple);
        return NULL;
    }
    if (tuple)
        PyTuple_SetItem(tuple, 0, first);
    return tuple ? tuple : first;
}

static PyObject *attention(PyObject *module, PyObject *const *args, Py_ssize_t count,
                           PyObject *keywords)
{
    (void)module;
    problem p;
    memset(&p.given, 0, sizeof p.given);
    memset(&p.used, 0, sizeof p.used);
    memset(&p.lists, 0, sizeof p.lists);
    p.inputs = (att_attention_inputs){ 0 };
    p.blocks = NULL;
    p.heads_first = false;
    p.first_row = 0;
    if (!core_arguments(p.given, "attention", forward_names, 3, 3, args, count, keywords))
        return NULL;
    PyObject *out = problem_get(&p, forward_names) ? forward(&p) : NULL;
    problem_free(&p);
    return out;
}

/* ---- backward */

static const char *const grad_names[] = { "query",   "key",      "value",   "score_w",
                                          "score_u", "score_b",  "score_v", "bias",
                                          "alibi",   "relative", NULL };
static const int grad_inputs[] = { QUERY,   KEY,     VALUE, SCORE_W, SCORE_U,
                                   SCORE_B, SCORE_V, BIAS,  ALIBI,   RELATIVE };
enum { GRADS = 10 };

static bool wanted_grads(const problem *p, bool *wanted)
{
    for (int i = 0; i < GRADS; i++)
        wanted[i] = !p->given[WANTED] && p->used[grad_inputs[i]];
    if (!p->given[WANTED])
        return true;
    core_lines words;
    if (!core_lines_get(&words, p->given[WANTED], "wanted"))
        return false;
    bool valid = true;
    for (size_t i = 0; valid && i < words.count; i++) {
        int which = core_choice(PyTuple_GetItem(words.owner, (Py_ssize_t)i), "wanted", grad_names);
        valid = which >= 0;
        if (valid && !p->used[grad_inputs[which]]) {
            core_bad_input("wanted", "expected inputs that were given, found \"%s\"",
                           grad_names[which]);
            valid = false;
        }
        if (valid)
            wanted[which] = true;
    }
    core_lines_free(&words);
    return valid;
}

/* A gradient of the shape of its input, as the caller gave it; *view as attend.h has it. */
static PyObject *new_grad(const problem *p, int which, att_tensor *view)
{
    const att_tensor *given = &p->in[which].tensor;
    PyObject *array = core_array_zeros(p->result, given->rank, given->shape);
    if (!array)
        return NULL;
    *view = *core_array_tensor(array);
    view->owned = NULL;
    if (shapes[which].min_rank == 0)
        lift_sequence(view, p->heads_first);
    else
        lift_leading(view, shapes[which].rank);
    return array;
}

static PyObject *backward(problem *p)
{
    bool wanted[GRADS];
    if (!wanted_grads(p, wanted))
        return NULL;
    PyObject *dict = PyDict_New();
    att_tensor views[GRADS];
    att_attention_grads grads = { 0 };
    att_tensor **members[] = { &grads.query,   &grads.key,     &grads.value,   &grads.score_w,
                               &grads.score_u, &grads.score_b, &grads.score_v, &grads.bias,
                               &grads.alibi,   &grads.relative };
    bool ready = dict;
    for (int i = 0; ready && i < GRADS; i++) {
        if (!wanted[i])
            continue;
        ready = core_put(dict, grad_names[i], new_grad(p, grad_inputs[i], &views[i]));
        *members[i] = &views[i];
    }
    att_attention_outputs forward_results = {
        .output = p->used[OUTPUT] ? &p->tensor[OUTPUT] : NULL,
        .log_sum_exp = p->used[LOG_SUM_EXP] ? &p->tensor[LOG_SUM_EXP] : NULL,
    };
    bool saved = p->used[OUTPUT] && p->used[LOG_SUM_EXP];
    core_call call;
    att_error err = { 0 };
    if (ready) {
        core_begin(&call);
        att_status status =
            att_attention_backward(&p->options, &p->inputs, saved ? &forward_results : NULL,
                                   &p->tensor[OUTPUT_GRAD], &grads, NULL, &err);
        ready = core_end(&call, status, &err);
    }
    if (!ready)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *attention_backward(PyObject *module, PyObject *const *args, Py_ssize_t count,
                                    PyObject *keywords)
{
    (void)module;
    problem p;
    memset(&p, 0, sizeof p);
    if (!core_arguments(p.given, "attention_backward", backward_names, 4, 4, args, count, keywords))
        return NULL;
    PyObject *out = problem_get(&p, backward_names) ? backward(&p) : NULL;
    problem_free(&p);
    return out;
}

static const char attention_doc[] =
    "attention(query, key, value, *, score='scaled', normalizer='softmax', scale=None,\n"
    "          soft_cap=None, causal=False, offset=0, window=None, mask=None, bias=None,\n"
    "          alibi=None, relative=None, query_lengths=None, key_lengths=None,\n"
    "          query_offsets=None, key_offsets=None, blocks=None, block_size=None, dropout=0,\n"
    "          dropout_seed=0, dropout_step=0, dropout_layer=0, score_w=None, score_u=None,\n"
    "          score_b=None, score_v=None, layout='bthd', rows=None, return_weights=False,\n"
    "          returns=(), out=None)\n"
    "\n"
    "Attention: score, mask, normalize, combine (docs/attention.md has the formulas).\n"
    "\n"
    "`query`, `key` and `value` are arrays [T,K], [B,T,K], or with heads [B,T,H,K], or [B,H,T,K]\n"
    "with layout=\"bhtd\"; keys and values may have fewer heads. They are float32, float16 or\n"
    "bfloat16; with float64 the double-precision reference runs. No array is copied.\n"
    "\n"
    "score        \"dot\", \"scaled\", \"general\", \"additive\", \"concat\", \"gaussian\", "
    "\"cosine\",\n"
    "             \"location\"; parameters in score_w, score_u, score_b, score_v\n"
    "normalizer   \"softmax\", \"mean\", \"sparsemax\", \"entmax\", \"sigmoid\", \"sum\", "
    "\"none\"\n"
    "causal       query i attends to keys <= i + offset; offset is a number, or one per sequence\n"
    "window       n, or (left, right), None for unlimited: how far from its position a query "
    "looks\n"
    "mask         bool or uint8, broadcast to [B,H,T,S]; nonzero = may attend\n"
    "bias         added to the scores, broadcast to [B,H,T,S]; alibi: slopes [H]; relative: table\n"
    "rows         (first, last + 1): only these queries, at their positions\n"
    "returns      more results: \"scores\", \"weights\", \"log_sum_exp\", \"key_totals\", "
    "\"entropy\";\n"
    "             then the result is a tuple (output, …). return_weights=True puts the weights "
    "first\n"
    "out          an array to write the output to\n"
    "\n"
    ">>> q = attend.Array([[1, 0], [0, 1]])\n"
    ">>> output, weights = attend.attention(q, q, q, score=\"dot\", return_weights=True)\n"
    ">>> weights\n"
    "Array([[0.731059, 0.268941], [0.268941, 0.731059]], dtype='float32')\n"
    ">>> attend.attention(q, q, q, causal=True, returns=[\"entropy\"])[1]\n"
    "Array([0, 0.634347], dtype='float32')\n";

static const char backward_doc[] =
    "attention_backward(query, key, value, output_grad, *, output=None, log_sum_exp=None,\n"
    "                   wanted=None, …)\n"
    "\n"
    "Gradients of attention, as a dict by the names of the inputs, from the gradient of the "
    "output.\n"
    "\n"
    "Takes the arguments of attention() besides. `output` and `log_sum_exp` of the forward save "
    "its\n"
    "repetition. `wanted` names the inputs whose gradients are computed; otherwise all.\n"
    "\n"
    ">>> q = attend.Array([[1.0, 0.0]]); k = attend.Array([[1.0, 0.0], [0.0, 1.0]])\n"
    ">>> grads = attend.attention_backward(q, k, k, attend.Array([[1.0, 1.0]]), score=\"dot\")\n"
    ">>> sorted(grads), grads[\"value\"].shape\n"
    "(['key', 'query', 'value'], (2, 2))\n";

PyMethodDef core_attention_methods[] = {
    { "attention", CORE_FAST(attention), METH_FASTCALL | METH_KEYWORDS, attention_doc },
    { "attention_backward", CORE_FAST(attention_backward), METH_FASTCALL | METH_KEYWORDS,
      backward_doc },
    { NULL, NULL, 0, NULL },
};
