/* An Array as a DLPack capsule. The capsule owns a reference to the Array; whoever consumes it
 * takes the reference over and calls the deleter, on any thread.
 *
 * A read-only Array is exported as a copy: DLPack before 1.0 has no flag for it, and consumers such
 * as PyTorch do not look at the flag of 1.0. Whoever asks for copy=False gets its memory, flagged.
 */
#include "core.h"

#include "dlpack.h"

#include <stdlib.h>
#include <string.h>

/* Both kinds of capsule hold the same things after their own header. */
typedef struct export_unversioned {
    dlpack_managed managed; /* first: consumers get a pointer to it */
    int64_t shape[ATT_MAX_RANK], strides[ATT_MAX_RANK];
} export_unversioned;
typedef struct export_versioned {
    dlpack_versioned managed;
    int64_t shape[ATT_MAX_RANK], strides[ATT_MAX_RANK];
} export_versioned;

static void drop(void *array)
{
    if (!Py_IsInitialized())
        return; /* a consumer that outlives the interpreter: the memory stays */
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF((PyObject *)array);
    PyGILState_Release(state);
}

static void delete_unversioned(dlpack_managed *self)
{
    drop(self->context);
    free(self);
}

static void delete_versioned(dlpack_versioned *self)
{
    drop(self->context);
    free(self);
}

/* A capsule that nobody consumed deletes itself; a consumed one has another name. */
static void destroy_unversioned(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        dlpack_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
        managed->deleter(managed);
    }
}

static void destroy_versioned(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        dlpack_versioned *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        managed->deleter(managed);
    }
}

static void describe(dlpack_tensor *out, const att_tensor *tensor, int64_t *shape, int64_t *strides)
{
    size_t bytes = (size_t)tensor->rank * sizeof *shape;
    memcpy(shape, tensor->shape, bytes);
    memcpy(strides, tensor->stride, bytes);
    *out = (dlpack_tensor){
        .data = tensor->data,
        .device_type = DLPACK_CPU,
        .ndim = tensor->rank,
        .code = tensor->dtype == ATT_BF16 ? DLPACK_BFLOAT : DLPACK_FLOAT,
        .bits = tensor->dtype == ATT_F32   ? 32
                : tensor->dtype == ATT_F64 ? 64
                                           : 16,
        .lanes = 1,
        .shape = shape,
        .strides = strides,
    };
}

static PyObject *export_versioned_capsule(PyObject *self, bool copied)
{
    export_versioned *made = calloc(1, sizeof *made);
    if (!made)
        return PyErr_NoMemory();
    describe(&made->managed.tensor, core_array_tensor(self), made->shape, made->strides);
    made->managed.major = 1;
    made->managed.flags =
        (core_array_read_only(self) ? DLPACK_READ_ONLY : 0u) | (copied ? DLPACK_IS_COPIED : 0u);
    made->managed.context = self;
    made->managed.deleter = delete_versioned;
    PyObject *capsule = PyCapsule_New(made, "dltensor_versioned", destroy_versioned);
    if (capsule)
        Py_INCREF(self);
    else
        free(made);
    return capsule;
}

static PyObject *export_unversioned_capsule(PyObject *self)
{
    if (core_array_read_only(self)) {
        PyErr_SetString(PyExc_BufferError, "this attend.Array is read-only, which DLPack can say "
                                           "from version 1.0 on only: expected copy=None or True");
        return NULL;
    }
    export_unversioned *made = calloc(1, sizeof *made);
    if (!made)
        return PyErr_NoMemory();
    describe(&made->managed.tensor, core_array_tensor(self), made->shape, made->strides);
    made->managed.context = self;
    made->managed.deleter = delete_unversioned;
    PyObject *capsule = PyCapsule_New(made, "dltensor", destroy_unversioned);
    if (capsule)
        Py_INCREF(self);
    else
        free(made);
    return capsule;
}

PyObject *core_array_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords)
{
    enum { STREAM, MAX_VERSION, DEVICE, COPY, ARGUMENTS };
    static const char *const names[] = { "stream", "max_version", "dl_device", "copy", NULL };
    PyObject *given[ARGUMENTS] = { NULL };
    if (!core_arguments(given, "__dlpack__", names, 1, 0, args, count, keywords))
        return NULL;
    bool copy = core_array_read_only(self);
    if (given[COPY] && !core_bool(&copy, given[COPY], "copy"))
        return NULL;
    int device = DLPACK_CPU, device_id = 0;
    if (given[DEVICE] && !PyArg_ParseTuple(given[DEVICE], "ii", &device, &device_id))
        return NULL;
    if (device != DLPACK_CPU) {
        PyErr_SetString(PyExc_BufferError, "an attend.Array is in the memory of the CPU");
        return NULL;
    }
    int major = 0, minor = 0;
    if (given[MAX_VERSION] && !PyArg_ParseTuple(given[MAX_VERSION], "ii", &major, &minor))
        return NULL;
    PyObject *array = copy ? core_array_copy(self) : self;
    if (!array)
        return NULL;
    PyObject *capsule =
        major >= 1 ? export_versioned_capsule(array, copy) : export_unversioned_capsule(array);
    if (copy)
        Py_DECREF(array);
    return capsule;
}
