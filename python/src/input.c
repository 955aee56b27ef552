/* Arrays of other libraries as tensors, without a copy: the buffer protocol first, then DLPack. The
 * object stays locked (buffer) or referenced (capsule) until core_input_release(). */
#include "core.h"

#include "dlpack.h"

#include <string.h>

static PyObject *dlpack_name, *dlpack_device_name, *version_names, *version;

static bool intern(void)
{
    if (version)
        return true;
    dlpack_name = PyUnicode_InternFromString("__dlpack__");
    dlpack_device_name = PyUnicode_InternFromString("__dlpack_device__");
    version_names = Py_BuildValue("{s:(ii)}", "max_version", 1, 0);
    version = PyTuple_New(0);
    return dlpack_name && dlpack_device_name && version_names && version;
}

static bool wrong_elements(const char *name, unsigned kinds, const char *found)
{
    core_bad_input(name, "expected elements of %s, found %s",
                   kinds & CORE_BYTES      ? "bool or uint8"
                   : kinds & CORE_F32_ONLY ? "float32"
                   : kinds & CORE_HALVES   ? "float32, float64, float16 or bfloat16"
                                           : "float32 or float64",
                   found);
    return false;
}

/* Elements of `bytes` bytes that a kind takes; `dtype` 0 for bytes. */
static bool accept(att_tensor *tensor, unsigned kinds, int dtype)
{
    tensor->dtype = dtype ? (att_dtype)dtype : ATT_F32;
    if (kinds & CORE_BYTES)
        return dtype == 0;
    if (kinds & CORE_F32_ONLY)
        return dtype == ATT_F32;
    bool half = dtype == ATT_F16 || dtype == ATT_BF16;
    return dtype != 0 && (!half || (kinds & CORE_HALVES));
}

static bool check_rank(const char *name, int rank)
{
    if (rank <= ATT_MAX_RANK)
        return true;
    core_bad_input(name, "expected at most %d dimensions, found %d", ATT_MAX_RANK, rank);
    return false;
}

static bool check_alignment(const char *name, const void *data, size_t size)
{
    if ((uintptr_t)data % size == 0)
        return true;
    core_bad_input(name, "expected elements at addresses that are multiples of their size (%zu)",
                   size);
    return false;
}

/* ---- the buffer protocol */

/* The att_dtype of a format of the struct module; 0 for bytes, -1 for others. */
static int format_dtype(const char *format)
{
    if (!format)
        return 0;
    if (*format == '@' || *format == '=' || (*format == '<' && PY_LITTLE_ENDIAN) ||
        (*format == '>' && !PY_LITTLE_ENDIAN))
        format++;
    if (format[0] == '\0' || format[1] != '\0')
        return -1;
    switch (*format) {
    case 'f':
        return ATT_F32;
    case 'd':
        return ATT_F64;
    case 'e':
        return ATT_F16;
    case '?':
    case 'B':
    case 'b':
        return 0;
    default:
        return -1;
    }
}

static bool from_view(core_input *out, const char *name, unsigned kinds)
{
    const Py_buffer *view = &out->view;
    int dtype = format_dtype(view->format);
    if (dtype < 0 || !accept(&out->tensor, kinds, dtype)) {
        char found[80];
        PyOS_snprintf(found, sizeof found, "the format \"%.40s\"",
                      view->format ? view->format : "B");
        return wrong_elements(name, kinds, found);
    }
    if (!check_rank(name, view->ndim) || !check_alignment(name, view->buf, (size_t)view->itemsize))
        return false;
    out->tensor.data = view->buf;
    out->tensor.rank = view->ndim;
    for (int i = 0; i < view->ndim; i++) {
        if (view->strides[i] % view->itemsize != 0) {
            core_bad_input(name,
                           "expected strides of whole elements, found %lld bytes in dimension %d, "
                           "whose elements have %lld",
                           (long long)view->strides[i], i, (long long)view->itemsize);
            return false;
        }
        out->tensor.shape[i] = view->shape[i];
        out->tensor.stride[i] = view->strides[i] / view->itemsize;
    }
    return true;
}

/* Chains the exception that is set below an attend.Error that names the argument; others than
 * Exception (KeyboardInterrupt) and MemoryError stay as they are. */
static void chain(const char *name, const char *what)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError))
        return;
    PyObject *type, *cause, *traceback, *error_type, *error, *error_traceback;
    PyErr_Fetch(&type, &cause, &traceback);
    PyErr_NormalizeException(&type, &cause, &traceback);
    if (traceback)
        PyException_SetTraceback(cause, traceback);
    PyObject *text = PyObject_Str(cause);
    const char *words = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    PyErr_Clear();
    core_bad_input(name, "%s: %.500s", what, words ? words : "");
    Py_XDECREF(text);
    PyErr_Fetch(&error_type, &error, &error_traceback);
    PyErr_NormalizeException(&error_type, &error, &error_traceback);
    PyException_SetCause(error, cause); /* steals cause */
    PyErr_Restore(error_type, error, error_traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
}

static bool from_buffer(core_input *out, PyObject *object, const char *name, unsigned kinds)
{
    int flags = kinds & CORE_WRITABLE ? PyBUF_RECORDS : PyBUF_RECORDS_RO;
    if (PyObject_GetBuffer(object, &out->view, flags) < 0) {
        out->view.obj = NULL;
        chain(name, kinds & CORE_WRITABLE ? "expected an array that can be written"
                                          : "its buffer cannot be used");
        return false;
    }
    return from_view(out, name, kinds);
}

/* ---- DLPack */

static bool on_cpu(PyObject *object, const char *name)
{
    PyObject *device = PyObject_CallMethodObjArgs(object, dlpack_device_name, NULL);
    int type = 0, id = 0;
    if (!device || !PyTuple_Check(device) || !PyArg_ParseTuple(device, "ii", &type, &id)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "expected a tuple of two integers");
        Py_XDECREF(device);
        chain(name, "its __dlpack_device__ failed");
        return false;
    }
    Py_DECREF(device);
    if (type == DLPACK_CPU || type == DLPACK_CUDA_HOST)
        return true;
    core_bad_input(name, "expected an array in the memory of the CPU, found device type %d", type);
    return false;
}

/* The capsule: versioned where the producer knows that. */
static PyObject *request(PyObject *object, const char *name)
{
    PyObject *method = PyObject_GetAttr(object, dlpack_name);
    PyObject *capsule = method ? PyObject_Call(method, version, version_names) : NULL;
    if (method && !capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear(); /* a producer from before DLPack 1.0 */
        capsule = PyObject_CallNoArgs(method);
    }
    Py_XDECREF(method);
    if (!capsule)
        chain(name, "its __dlpack__ failed");
    return capsule;
}

/* The att_dtype of an element type of DLPack; 0 for bytes, -1 for others. */
static int dlpack_dtype(const dlpack_tensor *tensor)
{
    if (tensor->lanes != 1)
        return -1;
    if (tensor->code == DLPACK_FLOAT)
        return tensor->bits == 32   ? ATT_F32
               : tensor->bits == 64 ? ATT_F64
               : tensor->bits == 16 ? ATT_F16
                                    : -1;
    if (tensor->code == DLPACK_BFLOAT && tensor->bits == 16)
        return ATT_BF16;
    bool byte =
        tensor->code == DLPACK_BOOL || tensor->code == DLPACK_UINT || tensor->code == DLPACK_INT;
    return byte && tensor->bits == 8 ? 0 : -1;
}

static bool from_dlpack_tensor(core_input *out, const dlpack_tensor *in, const char *name,
                               unsigned kinds)
{
    int dtype = dlpack_dtype(in);
    if (dtype < 0 || !accept(&out->tensor, kinds, dtype)) {
        char found[80];
        PyOS_snprintf(found, sizeof found, "DLPack type %d of %d bits", in->code, in->bits);
        return wrong_elements(name, kinds, found);
    }
    char *data = in->data ? (char *)in->data + in->byte_offset : NULL;
    if (in->ndim < 0 || !check_rank(name, in->ndim) || !check_alignment(name, data, in->bits / 8u))
        return false;
    int64_t shape[ATT_MAX_RANK] = { 0 };
    if (in->ndim > 0)
        memcpy(shape, in->shape, (size_t)in->ndim * sizeof *shape);
    att_dtype type = out->tensor.dtype;
    out->tensor = att_tensor_view(data, type, in->ndim, shape);
    if (out->tensor.rank != in->ndim) {
        core_bad_input(name, "the number of its elements overflows");
        return false;
    }
    if (in->strides && in->ndim > 0)
        memcpy(out->tensor.stride, in->strides, (size_t)in->ndim * sizeof *shape);
    return true;
}

static bool from_dlpack(core_input *out, PyObject *object, const char *name, unsigned kinds)
{
    if (!intern() || !on_cpu(object, name))
        return false;
    out->owner = request(object, name);
    if (!out->owner)
        return false;
    /* The capsule is not consumed: its own destructor releases the array, when we drop it. */
    if (PyCapsule_IsValid(out->owner, "dltensor_versioned")) {
        dlpack_versioned *versioned = PyCapsule_GetPointer(out->owner, "dltensor_versioned");
        if (versioned->major != 1) {
            core_bad_input(name, "expected DLPack of version 1, found %u", versioned->major);
            return false;
        }
        if ((kinds & CORE_WRITABLE) && (versioned->flags & DLPACK_READ_ONLY)) {
            core_bad_input(name, "expected an array that can be written, found a read-only one");
            return false;
        }
        return from_dlpack_tensor(out, &versioned->tensor, name, kinds);
    }
    if (PyCapsule_IsValid(out->owner, "dltensor")) {
        dlpack_managed *managed = PyCapsule_GetPointer(out->owner, "dltensor");
        return from_dlpack_tensor(out, &managed->tensor, name, kinds);
    }
    core_bad_input(name, "its __dlpack__ returned no DLPack capsule");
    return false;
}

bool core_input_get(core_input *out, PyObject *object, const char *name, unsigned kinds)
{
    out->tensor = (att_tensor){ 0 };
    out->view.obj = NULL;
    out->owner = NULL;
    bool got;
    if (PyObject_CheckBuffer(object) &&
        !(Py_TYPE(object) == core_array_type && core_array_tensor(object)->dtype == ATT_BF16)) {
        got = from_buffer(out, object, name, kinds);
    } else if (PyObject_HasAttrString(object, "__dlpack__")) {
        got = from_dlpack(out, object, name, kinds);
    } else {
        PyErr_Format(PyExc_TypeError,
                     "%s: expected an array with the buffer protocol or __dlpack__ (attend.Array, "
                     "numpy.ndarray, torch.Tensor, array.array), found %R",
                     name, Py_TYPE(object));
        got = false;
    }
    if (!got)
        core_input_release(out);
    return got;
}

void core_input_release(core_input *input)
{
    if (input->view.obj)
        PyBuffer_Release(&input->view);
    Py_CLEAR(input->owner);
    input->view.obj = NULL;
}
