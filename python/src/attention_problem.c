/* Arguments of attention to att_attention_options and att_attention_inputs (docs/attention.md). */
#include "attention_problem.h"

#include <string.h>

#define COMMON_NAMES "score_w", "score_u", "score_b", "score_v", "bias", "alibi", "relative", "mask"
#define OPTION_NAMES                                                                               \
    "score", "normalizer", "scale", "soft_cap", "causal", "offset", "window", "query_lengths",     \
        "key_lengths", "query_offsets", "key_offsets", "blocks", "block_size", "dropout",          \
        "dropout_seed", "dropout_step", "dropout_layer", "layout"
/* A name that no caller can type stands for an argument that the function does not have. */
#define NO_NAME " "
const char *const attention_forward_names[] = { "query",      "key",  "value",          NO_NAME,
                                                COMMON_NAMES, "out",  NO_NAME,          NO_NAME,
                                                OPTION_NAMES, "rows", "return_weights", "returns",
                                                NO_NAME,      NULL };
const char *const attention_backward_names[] = { "query",      "key",   "value",  "output_grad",
                                                 COMMON_NAMES, NO_NAME, "output", "log_sum_exp",
                                                 OPTION_NAMES, NO_NAME, NO_NAME,  NO_NAME,
                                                 "wanted",     NULL };
_Static_assert(sizeof attention_forward_names / sizeof *attention_forward_names == ARGUMENTS + 1,
               "one name each");
_Static_assert(sizeof attention_backward_names / sizeof *attention_backward_names == ARGUMENTS + 1,
               "one name each");

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
void attention_lift_sequence(att_tensor *tensor, bool heads_first)
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

void attention_lift(att_tensor *tensor, int which, bool heads_first)
{
    if (shapes[which].min_rank == 0)
        attention_lift_sequence(tensor, heads_first);
    else
        lift_leading(tensor, shapes[which].rank);
}

static bool get_tensor(attention_problem *p, int which, const char *name)
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
        attention_lift_sequence(tensor, p->heads_first);
    else if (which == LOG_SUM_EXP && tensor->rank == 2)
        insert_dim(tensor, 1); /* [B,T]: one head */
    else
        lift_leading(tensor, shape->rank);
    if (tensor->dtype == ATT_F64 && which != MASK && which != OUT)
        p->result = ATT_F64;
    return true;
}

static bool get_tensors(attention_problem *p, const char *const *names)
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

static bool get_words(attention_problem *p)
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
static bool get_window(attention_problem *p)
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
static bool get_list(attention_problem *p, int slot, int which, const char *name, int64_t expected,
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
static bool get_lists(attention_problem *p)
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
static bool get_blocks(attention_problem *p)
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

static bool get_mask(attention_problem *p)
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

static bool get_numbers(attention_problem *p)
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
            got = core_int64(&seeds[i], given[DROPOUT_SEED + i],
                             attention_forward_names[DROPOUT_SEED + i]);
    options->dropout_seed = (uint64_t)seeds[0];
    options->dropout_step = (uint64_t)seeds[1];
    options->dropout_layer = (uint64_t)seeds[2];
    return got;
}

/* ---- rows: only some of the queries, which keep their positions */

static bool get_rows(attention_problem *p)
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

static void apply_rows(attention_problem *p)
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

/* Fills the problem from the arguments; attention_problem_free() in any case. */
bool attention_problem_get(attention_problem *p, const char *const *names)
{
    p->options = (att_attention_options)ATT_INIT(att_attention_options);
    if (!(get_tensors(p, names) && get_words(p) && get_numbers(p) && get_window(p) &&
          get_lists(p) && get_blocks(p) && get_mask(p) && get_rows(p)))
        return false;
    apply_rows(p);
    return true;
}

void attention_problem_free(attention_problem *p)
{
    for (int i = 0; i < TENSORS; i++)
        if (p->used[i])
            core_input_release(&p->in[i]);
    for (int i = 0; i < LISTS; i++)
        PyMem_Free(p->lists[i]);
    PyMem_Free(p->blocks);
}
