/* The GIL around calls of the library, signals during them, and their errors as exceptions. */
#include "core.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static PyObject *error_type, *file_error_type, *unsupported_type;

/* The call that this thread is inside of: a callback may make another one. */
static _Thread_local core_call *current;

void core_enter(core_call *call)
{
    PyEval_RestoreThread(call->saved);
}

void core_leave(core_call *call)
{
    call->saved = PyEval_SaveThread();
}

/* The library calls this on the thread that made the call, at least every 0.1 s. */
static bool check_signals(void *context, const att_progress *progress)
{
    (void)progress;
    core_call *call = context;
    core_enter(call);
    bool go_on = !PyErr_Occurred() && PyErr_CheckSignals() == 0;
    core_leave(call);
    return go_on;
}

void core_begin(core_call *call)
{
    call->outer = current;
    current = call;
    att_callback_set(check_signals, call);
    core_leave(call);
}

bool core_end(core_call *call, att_status status, const att_error *err)
{
    core_enter(call);
    current = call->outer;
    att_callback_set(current ? check_signals : NULL, current);
    if (PyErr_Occurred())
        return false;
    if (status == ATT_OK)
        return true;
    core_raise(status, err);
    return false;
}

/* "place:line:column: message", as the program prints it, then the excerpt. */
static PyObject *describe(const att_error *err)
{
    char place[300] = "";
    if (err->place[0] && err->line > 0 && err->column > 0)
        snprintf(place, sizeof place, "%s:%d:%d: ", err->place, err->line, err->column);
    else if (err->place[0] && err->line > 0)
        snprintf(place, sizeof place, "%s:%d: ", err->place, err->line);
    else if (err->place[0])
        snprintf(place, sizeof place, "%s: ", err->place);
    else if (err->line > 0)
        snprintf(place, sizeof place, "line %d: ", err->line);
    char text[sizeof place + sizeof err->message + sizeof err->excerpt + 2];
    int length = snprintf(text, sizeof text, "%s%s%s%s", place, err->message,
                          err->excerpt[0] ? "\n" : "", err->excerpt);
    return PyUnicode_DecodeUTF8(text, length, "replace");
}

static bool set_text(PyObject *object, const char *name, const char *text)
{
    PyObject *value = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    bool set = value && PyObject_SetAttrString(object, name, value) == 0;
    Py_XDECREF(value);
    return set;
}

static bool set_number(PyObject *object, const char *name, long number)
{
    PyObject *value = PyLong_FromLong(number);
    bool set = value && PyObject_SetAttrString(object, name, value) == 0;
    Py_XDECREF(value);
    return set;
}

void core_raise(att_status status, const att_error *err)
{
    if (status == ATT_NO_MEMORY) {
        PyErr_SetString(PyExc_MemoryError, err->message);
        return;
    }
    if (status == ATT_CANCELLED) {
        /* Only an exception cancels; a callback that caught it does not undo the cancelling. */
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        return;
    }
    PyObject *type = status == ATT_SYSTEM        ? file_error_type
                     : status == ATT_UNSUPPORTED ? unsupported_type
                                                 : error_type;
    PyObject *text = describe(err);
    PyObject *error = text ? PyObject_CallFunctionObjArgs(type, text, NULL) : NULL;
    if (error && set_text(error, "message", err->message) && set_text(error, "file", err->place) &&
        set_text(error, "excerpt", err->excerpt) && set_number(error, "line", err->line) &&
        set_number(error, "column", err->column))
        PyErr_SetObject(type, error);
    Py_XDECREF(text);
    Py_XDECREF(error);
}

void core_bad_input(const char *place, const char *format, ...)
{
    att_error err = { .status = ATT_BAD_INPUT };
    va_list arguments;
    va_start(arguments, format);
    snprintf(err.place, sizeof err.place, "%s", place);
    vsnprintf(err.message, sizeof err.message, format, arguments);
    va_end(arguments);
    core_raise(ATT_BAD_INPUT, &err);
}

/* A new exception class that is also an instance of a standard one. */
static PyObject *new_error(PyObject *module, const char *name, PyObject *base, PyObject *standard,
                           const char *doc)
{
    char full_name[64];
    snprintf(full_name, sizeof full_name, "attend.%s", name);
    PyObject *bases = base ? PyTuple_Pack(2, base, standard) : PyTuple_Pack(1, standard);
    PyObject *type = bases ? PyErr_NewExceptionWithDoc(full_name, doc, bases, NULL) : NULL;
    Py_XDECREF(bases);
    if (type && PyModule_AddObjectRef(module, name, type) < 0)
        Py_CLEAR(type);
    return type;
}

/* Class attributes are the values of an error that was made without a place. */
static bool set_defaults(PyObject *type)
{
    return set_text(type, "message", "") && set_text(type, "file", "") &&
           set_text(type, "excerpt", "") && set_number(type, "line", 0) &&
           set_number(type, "column", 0);
}

bool core_errors_init(PyObject *module)
{
    error_type = new_error(
        module, "Error", NULL, PyExc_ValueError,
        "Bad input: a file, text or argument that cannot be used as it is.\n\n"
        "`file` names the file, argument or tensor; `line` and `column` count from 1 and are 0\n"
        "where they mean nothing; `message` says what was expected; `excerpt` has the line with a\n"
        "caret below.\n\n"
        ">>> try:\n"
        "...     attend.Sheet(\"a = [1 2] * [3 4]\")\n"
        "... except attend.Error as error:\n"
        "...     print(error.line, error.column > 0)\n"
        "1 True\n");
    if (!error_type || !set_defaults(error_type))
        return false;
    file_error_type = new_error(module, "FileError", error_type, PyExc_OSError,
                                "The operating system refused to read, write or rename a file.\n\n"
                                ">>> issubclass(attend.FileError, OSError)\nTrue\n");
    unsupported_type =
        new_error(module, "UnsupportedError", error_type, PyExc_NotImplementedError,
                  "This build lacks the library that the feature needs.\n\n"
                  ">>> issubclass(attend.UnsupportedError, NotImplementedError)\nTrue\n");
    return file_error_type && unsupported_type;
}
