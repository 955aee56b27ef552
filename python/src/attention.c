/* attend.attention() and attend.attention_backward(). */
#include "attention_problem.h"

#include <string.h>

/* ---- forward */

enum { RESULT_SCORES, RESULT_WEIGHTS, RESULT_LSE, RESULT_TOTALS, RESULT_ENTROPY, RESULTS };
static const char *const result_names[] = { "scores",     "weights", "log_sum_exp",
                                            "key_totals", "entropy", NULL };

/* The results asked for, in order; -1 with an exception. */
static int wanted_results(const attention_problem *p, int *wanted)
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
static PyObject *result_zeros(const attention_problem *p, const int64_t *shape, int rank)
{
    int64_t kept[ATT_MAX_RANK];
    int count = 0;
    for (int i = 0; i < rank; i++)
        if (!(i == 0 && p->rank == 2) && !(i == 1 && p->rank < 4))
            kept[count++] = shape[i];
    return core_array_zeros(p->result, count, kept);
}

/* A result [B,H,T|S,(S)] in the caller's rank; *view is the full one. */
static PyObject *new_result(const attention_problem *p, int which, att_tensor *view)
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
static PyObject *new_sequence(const attention_problem *p, int64_t rows, int64_t heads,
                              int64_t width, att_tensor *view)
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
        attention_lift_sequence(view, p->heads_first);
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
static bool out_is_apart(const attention_problem *p)
{
    uintptr_t low, high, other_low, other_high;
    extent(&p->tensor[OUT], &low, &high);
    for (int i = 0; i < OUT; i++) {
        if (!p->used[i])
            continue;
        extent(&p->tensor[i], &other_low, &other_high);
        if (low < other_high && other_low < high) {
            core_bad_input("out", "expected memory of its own, found an overlap with %s",
                           attention_forward_names[i]);
            return false;
        }
    }
    return true;
}

static bool run_forward(attention_problem *p, const att_attention_outputs *out)
{
    core_call call;
    att_error err = { 0 };
    core_begin(&call);
    att_status status = att_attention_forward(&p->options, &p->inputs, out, NULL, &err);
    return core_end(&call, status, &err);
}

/* The output, or a tuple of it and what `returns` names. */
static PyObject *forward(attention_problem *p)
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
    attention_problem p;
    memset(&p.given, 0, sizeof p.given);
    memset(&p.used, 0, sizeof p.used);
    memset(&p.lists, 0, sizeof p.lists);
    p.inputs = (att_attention_inputs){ 0 };
    p.blocks = NULL;
    p.heads_first = false;
    p.first_row = 0;
    if (!core_arguments(p.given, "attention", attention_forward_names, 3, 3, args, count, keywords))
        return NULL;
    PyObject *out = attention_problem_get(&p, attention_forward_names) ? forward(&p) : NULL;
    attention_problem_free(&p);
    return out;
}

/* ---- backward */

static const char *const grad_names[] = { "query",   "key",      "value",   "score_w",
                                          "score_u", "score_b",  "score_v", "bias",
                                          "alibi",   "relative", NULL };
static const int grad_inputs[] = { QUERY,   KEY,     VALUE, SCORE_W, SCORE_U,
                                   SCORE_B, SCORE_V, BIAS,  ALIBI,   RELATIVE };
enum { GRADS = 10 };

static bool wanted_grads(const attention_problem *p, bool *wanted)
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
static PyObject *new_grad(const attention_problem *p, int which, att_tensor *view)
{
    const att_tensor *given = &p->in[which].tensor;
    PyObject *array = core_array_zeros(p->result, given->rank, given->shape);
    if (!array)
        return NULL;
    *view = *core_array_tensor(array);
    view->owned = NULL;
    attention_lift(view, which, p->heads_first);
    return array;
}

static PyObject *backward(attention_problem *p)
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
    attention_problem p;
    memset(&p, 0, sizeof p);
    if (!core_arguments(p.given, "attention_backward", attention_backward_names, 4, 4, args, count,
                        keywords))
        return NULL;
    PyObject *out = attention_problem_get(&p, attention_backward_names) ? backward(&p) : NULL;
    attention_problem_free(&p);
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
