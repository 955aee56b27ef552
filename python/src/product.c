/* Matrix products, packed matrices, and the machine. */
#include "core.h"

#include <string.h>

static const char *const activations[] = {
    "none", "relu", "gelu", "silu", "tanh", "sigmoid", NULL
};

#define PACKED "attend.packed_matrix"

typedef struct product {
    core_input a, b, bias, out;
    const att_packed_matrix *packed;
    int64_t columns;
    att_matmul_options options;
} product;

/* The broadcast shape of the product. */
static bool product_shape(const product *p, int64_t *shape, int *rank)
{
    const att_tensor *a = &p->a.tensor, *b = &p->b.tensor;
    int b_rank = p->packed ? 2 : b->rank;
    if (a->rank < 2 || b_rank < 2) {
        core_bad_input(a->rank < 2 ? "a" : "b", "expected at least 2 dimensions, found %d",
                       a->rank < 2 ? a->rank : b_rank);
        return false;
    }
    *rank = a->rank > b_rank ? a->rank : b_rank;
    for (int i = 0; i < *rank - 2; i++) {
        int ia = i - (*rank - a->rank), ib = i - (*rank - b_rank);
        int64_t left = ia < 0 ? 1 : a->shape[ia], right = ib < 0 ? 1 : b->shape[ib];
        shape[i] = left == 1 ? right : left;
    }
    shape[*rank - 2] = a->shape[a->rank - 2];
    shape[*rank - 1] = p->packed ? p->columns : b->shape[b_rank - 1];
    return true;
}

static PyObject *multiply(product *p, PyObject *out)
{
    int64_t shape[ATT_MAX_RANK];
    int rank;
    if (!product_shape(p, shape, &rank))
        return NULL;
    att_tensor c;
    if (out) {
        Py_INCREF(out);
        c = p->out.tensor;
    } else {
        out = core_array_zeros(ATT_F32, rank, shape);
        if (!out)
            return NULL;
        c = *core_array_tensor(out);
        c.owned = NULL;
    }
    core_call call;
    att_error err = { 0 };
    core_begin(&call);
    att_status status = p->packed
                            ? att_matmul_packed(&c, &p->a.tensor, p->packed, &p->options, &err)
                            : att_matmul(&c, &p->a.tensor, &p->b.tensor, &p->options, &err);
    if (!core_end(&call, status, &err))
        Py_CLEAR(out);
    return out;
}

static PyObject *matmul(PyObject *module, PyObject *const *args, Py_ssize_t count,
                        PyObject *keywords)
{
    (void)module;
    enum { A, B, BIAS, ACTIVATION, ADD, OUT, COLUMNS, ARGUMENTS };
    static const char *const names[] = { "a",   "b",   "bias",    "activation",
                                         "add", "out", "columns", NULL };
    PyObject *given[ARGUMENTS] = { NULL };
    if (!core_arguments(given, "matmul", names, 2, 2, args, count, keywords))
        return NULL;
    product p = { .options = ATT_INIT(att_matmul_options) };
    int activation =
        given[ACTIVATION] ? core_choice(given[ACTIVATION], "activation", activations) : 0;
    if (activation < 0)
        return NULL;
    p.options.activation = (att_activation)activation;
    bool packed = PyCapsule_CheckExact(given[B]);
    if (packed)
        p.packed = core_pointer(given[B], PACKED);
    PyObject *result = NULL;
    if ((!packed || (p.packed && core_int64(&p.columns, given[COLUMNS], "columns"))) &&
        (!given[ADD] || core_bool(&p.options.add, given[ADD], "add")) &&
        core_input_get(&p.a, given[A], "a", CORE_F32_ONLY) &&
        (packed || core_input_get(&p.b, given[B], "b", CORE_F32_ONLY)) &&
        (!given[BIAS] || core_input_get(&p.bias, given[BIAS], "bias", CORE_F32_ONLY)) &&
        (!given[OUT] || core_input_get(&p.out, given[OUT], "out", CORE_F32_ONLY | CORE_WRITABLE))) {
        p.options.bias = given[BIAS] ? &p.bias.tensor : NULL;
        result = multiply(&p, given[OUT]);
    }
    core_input_release(&p.a);
    core_input_release(&p.b);
    core_input_release(&p.bias);
    core_input_release(&p.out);
    return result;
}

static void free_packed(void *packed)
{
    att_packed_matrix_free(packed);
}

/* (capsule, shape of b) */
static PyObject *pack(PyObject *module, PyObject *b)
{
    (void)module;
    core_input input;
    if (!core_input_get(&input, b, "b", CORE_F32_ONLY))
        return NULL;
    att_packed_matrix *packed = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_packed_matrix_new(&packed, &input.tensor, &err);
    bool made = core_end(&call, status, &err);
    long long depth = input.tensor.shape[0], columns = input.tensor.shape[1];
    core_input_release(&input);
    if (!made) {
        att_packed_matrix_free(packed);
        return NULL;
    }
    PyObject *capsule = core_capsule(packed, PACKED, free_packed);
    return capsule ? Py_BuildValue("N(LL)", capsule, depth, columns) : NULL;
}

static PyObject *threads(PyObject *module, PyObject *args)
{
    (void)module;
    int count = -1;
    if (!PyArg_ParseTuple(args, "|i:threads", &count))
        return NULL;
    if (PyTuple_Size(args) > 0) {
        if (count < 0) {
            core_bad_input("count", "expected 0 (all) or more threads, found %d", count);
            return NULL;
        }
        att_threads_set(count);
    }
    return PyLong_FromLong(att_threads_get());
}

static PyObject *cpu_name(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_FromString(att_cpu_name());
}

static const char threads_doc[] =
    "threads(count=…)\n--\n\n"
    "The number of threads of later calls, and sets it: 0 for as many as the process may use.\n\n"
    "Not to be changed while another thread is inside a call. Results do not depend on it.\n\n"
    ">>> before = attend.threads()\n"
    ">>> attend.threads(2)\n"
    "2\n"
    ">>> attend.threads(before) == before\n"
    "True\n";

static const char cpu_name_doc[] =
    "cpu_name()\n--\n\n"
    "The instruction set in use.\n\n"
    ">>> attend.cpu_name() in (\"scalar\", \"avx2\", \"avx512\", \"neon\")\n"
    "True\n";

PyMethodDef core_product_methods[] = {
    { "matmul", CORE_FAST(matmul), METH_FASTCALL | METH_KEYWORDS, NULL },
    { "pack", pack, METH_O, NULL },
    { "threads", threads, METH_VARARGS, threads_doc },
    { "cpu_name", cpu_name, METH_NOARGS, cpu_name_doc },
    { NULL, NULL, 0, NULL },
};
