/* attend.Array: memory of the library as a Python object, through the buffer protocol and DLPack. A
 * part of an array (a[0], a[:, 1:3]) is another Array that keeps the whole one alive. */
#include "core.h"

#include <stdio.h>
#include <string.h>

typedef struct core_array {
    PyObject_HEAD att_tensor tensor;
    PyObject *base; /* the Array or model that owns the memory, or NULL */
    bool read_only;
    Py_ssize_t shape[ATT_MAX_RANK], strides[ATT_MAX_RANK]; /* for the buffer protocol, in bytes */
} core_array;

PyTypeObject *core_array_type;

static const struct dtype_row {
    const char *name, *format; /* NULL: the buffer protocol does not know it */
    att_dtype dtype;
    int size;
} dtypes[] = {
    { "float32", "f", ATT_F32, 4 },
    { "float64", "d", ATT_F64, 8 },
    { "float16", "e", ATT_F16, 2 },
    { "bfloat16", NULL, ATT_BF16, 2 },
};

static const char *const dtype_words[] = { "float32", "float64", "float16", "bfloat16", NULL };

static const struct dtype_row *dtype_row(att_dtype dtype)
{
    return &dtypes[dtype - ATT_F32];
}

const char *core_dtype_name(att_dtype dtype)
{
    return dtype_row(dtype)->name;
}

att_tensor *core_array_tensor(PyObject *array)
{
    return &((core_array *)array)->tensor;
}

bool core_array_read_only(PyObject *array)
{
    return ((core_array *)array)->read_only;
}

/* Takes `tensor` over; `base` is borrowed. */
static PyObject *array_new(att_tensor *tensor, PyObject *base, bool read_only)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(core_array_type, Py_tp_alloc);
    core_array *array = (core_array *)allocate(core_array_type, 0);
    if (!array) {
        att_tensor_free(tensor);
        return NULL;
    }
    array->tensor = *tensor;
    array->base = base;
    Py_XINCREF(base);
    array->read_only = read_only;
    for (int i = 0; i < tensor->rank; i++) {
        array->shape[i] = (Py_ssize_t)tensor->shape[i];
        array->strides[i] = (Py_ssize_t)tensor->stride[i] * dtype_row(tensor->dtype)->size;
    }
    return (PyObject *)array;
}

PyObject *core_array_take(att_tensor *tensor, bool read_only)
{
    return array_new(tensor, NULL, read_only);
}

PyObject *core_array_view(att_tensor *tensor, PyObject *owner)
{
    return array_new(tensor, owner, true);
}

/* Signals are handled meanwhile: filling new memory of gigabytes takes seconds. */
PyObject *core_array_zeros(att_dtype dtype, int rank, const int64_t *shape)
{
    att_tensor tensor;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_tensor_new(&tensor, dtype, rank, shape, &err);
    if (core_end(&call, status, &err))
        return core_array_take(&tensor, false);
    att_tensor_free(&tensor);
    return NULL;
}

static PyObject *array_copy(const void *values, att_dtype dtype, int rank, const int64_t *shape)
{
    if (!values)
        Py_RETURN_NONE;
    PyObject *array = core_array_zeros(dtype, rank, shape);
    if (array) {
        att_tensor *tensor = core_array_tensor(array);
        size_t bytes = (size_t)att_tensor_count(tensor) * (size_t)dtype_row(dtype)->size;
        if (bytes)
            memcpy(tensor->data, values, bytes);
    }
    return array;
}

PyObject *core_array_doubles(const double *values, int rank, const int64_t *shape)
{
    return array_copy(values, ATT_F64, rank, shape);
}

PyObject *core_array_floats(const float *values, int rank, const int64_t *shape)
{
    return array_copy(values, ATT_F32, rank, shape);
}

static void array_dealloc(PyObject *self)
{
    core_array *array = (core_array *)self;
    PyTypeObject *type = Py_TYPE(self);
    att_tensor_free(&array->tensor);
    Py_CLEAR(array->base);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---- making one from Python values */

static bool sequence_shape(PyObject *data, int64_t *shape, int *rank)
{
    PyObject *item = data;
    Py_INCREF(item);
    *rank = 0;
    while (PySequence_Check(item) && !PyUnicode_Check(item)) {
        Py_ssize_t size = PySequence_Size(item);
        if (size < 0 || *rank == ATT_MAX_RANK) {
            if (size >= 0)
                core_bad_input("data", "expected at most %d dimensions", ATT_MAX_RANK);
            Py_DECREF(item);
            return false;
        }
        shape[(*rank)++] = size;
        if (size == 0)
            break;
        PyObject *first = PySequence_GetItem(item, 0);
        Py_DECREF(item);
        if (!first)
            return false;
        item = first;
    }
    Py_DECREF(item);
    return true;
}

/* Fills dimension `dim` on from nested sequences. */
static bool fill(att_tensor *tensor, PyObject *data, int dim, int64_t *index)
{
    if (dim == tensor->rank) {
        double value;
        if (!core_double(&value, data, "data"))
            return false;
        att_tensor_set(tensor, index, value);
        return true;
    }
    Py_ssize_t size = PySequence_Check(data) ? PySequence_Size(data) : -1;
    if (size != (Py_ssize_t)tensor->shape[dim]) {
        PyErr_Clear();
        core_bad_input("data", "expected nested sequences of equal lengths, %lld in dimension %d",
                       (long long)tensor->shape[dim], dim);
        return false;
    }
    for (index[dim] = 0; index[dim] < size; index[dim]++) {
        PyObject *item = PySequence_GetItem(data, (Py_ssize_t)index[dim]);
        bool filled = item && fill(tensor, item, dim + 1, index);
        Py_XDECREF(item);
        if (!filled)
            return false;
    }
    return true;
}

PyObject *core_array_copy(PyObject *array)
{
    att_tensor copy, *tensor = core_array_tensor(array);
    att_error err;
    att_status status = att_tensor_copy(&copy, tensor, tensor->dtype, &err);
    if (!status)
        return core_array_take(&copy, false);
    core_raise(status, &err);
    return NULL;
}

/* A copy of an array of any kind, converted. */
static PyObject *converted(PyObject *data, att_dtype dtype)
{
    core_input input;
    if (!core_input_get(&input, data, "data", CORE_FLOATS | CORE_HALVES))
        return NULL;
    att_tensor copy;
    att_error err;
    att_status status = att_tensor_copy(&copy, &input.tensor, dtype, &err);
    core_input_release(&input);
    if (status) {
        core_raise(status, &err);
        return NULL;
    }
    return core_array_take(&copy, false);
}

static PyObject *array_make(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)type;
    static char *names[] = { "data", "dtype", NULL };
    PyObject *data, *word = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O:Array", names, &data, &word))
        return NULL;
    int choice = word ? core_choice(word, "dtype", dtype_words) : 0;
    if (choice < 0)
        return NULL;
    att_dtype dtype = dtypes[choice].dtype;
    if (PyObject_CheckBuffer(data) || PyObject_HasAttrString(data, "__dlpack__"))
        return converted(data, dtype);
    int64_t shape[ATT_MAX_RANK], index[ATT_MAX_RANK] = { 0 };
    int rank;
    if (!sequence_shape(data, shape, &rank))
        return NULL;
    PyObject *array = core_array_zeros(dtype, rank, shape);
    if (array && !fill(core_array_tensor(array), data, 0, index))
        Py_CLEAR(array);
    return array;
}

/* ---- the buffer protocol */

static int array_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    core_array *array = (core_array *)self;
    const struct dtype_row *row = dtype_row(array->tensor.dtype);
    view->obj = NULL;
    if ((flags & PyBUF_WRITABLE) && array->read_only) {
        PyErr_SetString(PyExc_BufferError, "this attend.Array is read-only");
        return -1;
    }
    if (!row->format) {
        PyErr_SetString(PyExc_BufferError,
                        "the buffer protocol has no bfloat16: use DLPack or convert");
        return -1;
    }
    *view = (Py_buffer){
        .buf = array->tensor.data,
        .len = (Py_ssize_t)att_tensor_count(&array->tensor) * row->size,
        .itemsize = row->size,
        .readonly = array->read_only,
        .ndim = array->tensor.rank,
        .format = (flags & PyBUF_FORMAT) ? (char *)row->format : NULL,
        .shape = array->shape,
        .strides = array->strides,
    };
    bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    bool want_c = !strided || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
    bool want_f = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS;
    bool want_any = (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
    if ((want_c && !PyBuffer_IsContiguous(view, 'C')) ||
        (want_f && !PyBuffer_IsContiguous(view, 'F')) ||
        (want_any && !PyBuffer_IsContiguous(view, 'A'))) {
        PyErr_SetString(PyExc_BufferError, "this attend.Array is not contiguous");
        return -1;
    }
    if (!strided)
        view->strides = NULL;
    if (!(flags & PyBUF_ND))
        view->shape = NULL;
    view->obj = self;
    Py_INCREF(self);
    return 0;
}

/* ---- parts */

static bool apply_slice(att_tensor *view, int dim, PyObject *slice, char **data, Py_ssize_t bytes)
{
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0)
        return false;
    Py_ssize_t count = PySlice_AdjustIndices((Py_ssize_t)view->shape[dim], &start, &stop, step);
    if (count > 0)
        *data += start * (Py_ssize_t)view->stride[dim] * bytes;
    view->shape[dim] = count;
    view->stride[dim] *= step;
    return true;
}

static bool apply_index(att_tensor *view, int dim, PyObject *index, char **data, Py_ssize_t bytes)
{
    int64_t at;
    if (!core_int64(&at, index, "index"))
        return false;
    int64_t wrapped = at < 0 ? at + view->shape[dim] : at;
    if (wrapped < 0 || wrapped >= view->shape[dim]) {
        PyErr_Format(PyExc_IndexError, "index %lld is out of range for dimension %d of size %lld",
                     (long long)at, dim, (long long)view->shape[dim]);
        return false;
    }
    *data += (Py_ssize_t)wrapped * (Py_ssize_t)view->stride[dim] * bytes;
    view->rank--;
    for (int i = dim; i < view->rank; i++) {
        view->shape[i] = view->shape[i + 1];
        view->stride[i] = view->stride[i + 1];
    }
    return true;
}

static PyObject *array_subscript(PyObject *self, PyObject *key)
{
    core_array *array = (core_array *)self;
    att_tensor view = array->tensor;
    view.owned = NULL;
    char *data = view.data;
    Py_ssize_t bytes = dtype_row(view.dtype)->size;
    bool several = PyTuple_Check(key);
    Py_ssize_t count = several ? PyTuple_Size(key) : 1;
    if (count > view.rank) {
        PyErr_Format(PyExc_IndexError, "%zd indices for an array of %d dimensions", count,
                     view.rank);
        return NULL;
    }
    int dim = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = several ? PyTuple_GetItem(key, i) : key;
        bool slice = PySlice_Check(item);
        if (!(slice ? apply_slice : apply_index)(&view, dim, item, &data, bytes))
            return NULL;
        dim += slice;
    }
    view.data = data;
    if (view.rank == 0)
        return PyFloat_FromDouble(att_tensor_get(&view, (int64_t[1]){ 0 }));
    return array_new(&view, array->base ? array->base : self, array->read_only);
}

static Py_ssize_t array_length(PyObject *self)
{
    att_tensor *tensor = core_array_tensor(self);
    if (tensor->rank > 0)
        return (Py_ssize_t)tensor->shape[0];
    PyErr_SetString(PyExc_TypeError, "an array without dimensions has no length");
    return -1;
}

static PyObject *array_item(PyObject *self, Py_ssize_t index)
{
    PyObject *key = PyLong_FromSsize_t(index);
    PyObject *item = key ? array_subscript(self, key) : NULL;
    Py_XDECREF(key);
    return item;
}

/* ---- showing */

static PyObject *to_list(const att_tensor *tensor, int dim, int64_t *index)
{
    if (dim == tensor->rank)
        return PyFloat_FromDouble(att_tensor_get(tensor, index));
    PyObject *list = PyList_New((Py_ssize_t)tensor->shape[dim]);
    for (index[dim] = 0; list && index[dim] < tensor->shape[dim]; index[dim]++) {
        PyObject *item = to_list(tensor, dim + 1, index);
        if (!item || PyList_SetItem(list, (Py_ssize_t)index[dim], item) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *array_tolist(PyObject *self, PyObject *unused)
{
    (void)unused;
    int64_t index[ATT_MAX_RANK] = { 0 };
    return to_list(core_array_tensor(self), 0, index);
}

/* Appends elements with 6 digits, nested in brackets. */
static void write_elements(att_string *out, const att_tensor *tensor, int dim, int64_t *index)
{
    if (dim == tensor->rank) {
        char number[40];
        int length = snprintf(number, sizeof number, "%.6g", att_tensor_get(tensor, index));
        att_string_append(out, number, (size_t)length);
        return;
    }
    att_string_append(out, "[", 1);
    for (index[dim] = 0; index[dim] < tensor->shape[dim]; index[dim]++) {
        if (index[dim] > 0)
            att_string_append(out, ", ", 2);
        write_elements(out, tensor, dim + 1, index);
    }
    att_string_append(out, "]", 1);
}

static PyObject *array_repr(PyObject *self)
{
    enum { SHOWN = 64 }; /* elements; a larger array shows its shape */
    att_tensor *tensor = core_array_tensor(self);
    int64_t index[ATT_MAX_RANK] = { 0 }, count = att_tensor_count(tensor);
    if (count < 0 || count > SHOWN) {
        PyObject *shape = PyObject_GetAttrString(self, "shape");
        PyObject *text = shape ? PyUnicode_FromFormat("Array(shape=%R, dtype='%s')", shape,
                                                      core_dtype_name(tensor->dtype))
                               : NULL;
        Py_XDECREF(shape);
        return text;
    }
    att_string elements = { 0 };
    write_elements(&elements, tensor, 0, index);
    PyObject *text =
        PyUnicode_FromFormat("Array(%s, dtype='%s')", elements.data ? elements.data : "",
                             core_dtype_name(tensor->dtype));
    att_string_free(&elements);
    return text;
}

/* ---- attributes */

static PyObject *sizes_tuple(const Py_ssize_t *sizes, int rank)
{
    PyObject *tuple = PyTuple_New(rank);
    for (int i = 0; tuple && i < rank; i++) {
        PyObject *size = PyLong_FromSsize_t(sizes[i]);
        if (!size || PyTuple_SetItem(tuple, i, size) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *get_shape(PyObject *self, void *unused)
{
    (void)unused;
    return sizes_tuple(((core_array *)self)->shape, core_array_tensor(self)->rank);
}

static PyObject *get_strides(PyObject *self, void *unused)
{
    (void)unused;
    return sizes_tuple(((core_array *)self)->strides, core_array_tensor(self)->rank);
}

static PyObject *get_dtype(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(core_dtype_name(core_array_tensor(self)->dtype));
}

static PyObject *get_ndim(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(core_array_tensor(self)->rank);
}

static PyObject *get_size(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(att_tensor_count(core_array_tensor(self)));
}

static PyObject *get_readonly(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((core_array *)self)->read_only);
}

static PyObject *dlpack_device(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return Py_BuildValue("(ii)", 1, 0); /* kDLCPU */
}

static PyObject *call_module(const char *module_name, const char *function, PyObject *self)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *out = module ? PyObject_CallMethod(module, function, "O", self) : NULL;
    Py_XDECREF(module);
    return out;
}

static PyObject *array_numpy(PyObject *self, PyObject *unused)
{
    (void)unused;
    return call_module("numpy", "asarray", self);
}

/* __array__(dtype=None, copy=None): NumPy takes the buffer where it can; this is for those who ask
 * by name. */
static PyObject *array_array(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "dtype", "copy", NULL };
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OO:__array__", names, &dtype, &copy))
        return NULL;
    PyObject *out = array_numpy(self, NULL);
    const char *method = dtype != Py_None ? "astype" : copy == Py_True ? "copy" : NULL;
    if (out && method) {
        PyObject *made = dtype != Py_None ? PyObject_CallMethod(out, method, "O", dtype)
                                          : PyObject_CallMethod(out, method, NULL);
        Py_DECREF(out);
        out = made;
    }
    return out;
}

static PyObject *array_torch(PyObject *self, PyObject *unused)
{
    (void)unused;
    return call_module("torch", "from_dlpack", self);
}

/* zeros(shape, dtype) */
static PyObject *zeros(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *sizes, *word;
    size_t rank;
    if (!PyArg_ParseTuple(args, "OO:zeros", &sizes, &word))
        return NULL;
    int dtype = core_choice(word, "dtype", dtype_words);
    int64_t *shape = dtype < 0 ? NULL : core_integers(sizes, "shape", &rank);
    if (!shape)
        return NULL;
    PyObject *array = core_array_zeros(dtypes[dtype].dtype, (int)rank, shape);
    PyMem_Free(shape);
    return array;
}

PyMethodDef core_array_functions[] = {
    { "zeros", zeros, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyMethodDef array_methods[] = {
    { "tolist", array_tolist, METH_NOARGS, "The elements as nested lists of float." },
    { "numpy", array_numpy, METH_NOARGS, "The same memory as a numpy.ndarray." },
    { "torch", array_torch, METH_NOARGS,
      "The same memory as a torch.Tensor; of a read-only array, a copy." },
    { "__array__", CORE_FAST(array_array), METH_VARARGS | METH_KEYWORDS, "A numpy.ndarray." },
    { "__dlpack__", CORE_FAST(core_array_dlpack), METH_FASTCALL | METH_KEYWORDS,
      "The memory as a DLPack capsule." },
    { "__dlpack_device__", dlpack_device, METH_NOARGS, "The CPU." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef array_getters[] = {
    { "shape", get_shape, NULL, "The size of each dimension.", NULL },
    { "strides", get_strides, NULL, "The step of each dimension, in bytes.", NULL },
    { "dtype", get_dtype, NULL, "\"float32\", \"float64\", \"float16\" or \"bfloat16\".", NULL },
    { "ndim", get_ndim, NULL, "The number of dimensions.", NULL },
    { "size", get_size, NULL, "The number of elements.", NULL },
    { "readonly", get_readonly, NULL, "Whether the memory may not be written.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static const char array_doc[] =
    "Array(data, dtype='float32')\n--\n\n"
    "An array in the library's memory.\n\n"
    "Results are Arrays. `numpy.asarray(a)`, `memoryview(a)` and `torch.from_dlpack(a)` share its\n"
    "memory, which lives as long as anybody uses it. `data` is nested sequences of numbers, or an\n"
    "array of another library, which is copied.\n\n"
    ">>> a = attend.Array([[1, 2, 3], [4, 5, 6]])\n"
    ">>> a.shape, a.dtype, a[1, 2]\n"
    "((2, 3), 'float32', 6.0)\n"
    ">>> a[:, 1]\n"
    "Array([2, 5], dtype='float32')\n"
    ">>> memoryview(a).tolist()\n"
    "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]\n";

bool core_array_init(PyObject *module)
{
    PyType_Slot slots[] = {
        { Py_tp_doc, (void *)array_doc },
        { Py_tp_new, CORE_FAST(array_make) },
        { Py_tp_dealloc, CORE_FAST(array_dealloc) },
        { Py_tp_repr, CORE_FAST(array_repr) },
        { Py_tp_methods, array_methods },
        { Py_tp_getset, array_getters },
        { Py_mp_subscript, CORE_FAST(array_subscript) },
        { Py_mp_length, CORE_FAST(array_length) },
        { Py_sq_item, CORE_FAST(array_item) },
        { Py_sq_length, CORE_FAST(array_length) },
        { Py_bf_getbuffer, CORE_FAST(array_getbuffer) },
        { 0, NULL },
    };
    PyType_Spec spec = {
        .name = "attend.Array",
        .basicsize = sizeof(core_array),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
        .slots = slots,
    };
    core_array_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return core_array_type &&
           PyModule_AddObjectRef(module, "Array", (PyObject *)core_array_type) == 0;
}
